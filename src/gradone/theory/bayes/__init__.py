"""Message passing and the limits of what can be learned from n = O(d) samples."""

"""Figures on message passing, thresholds and classes of targets."""

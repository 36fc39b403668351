"""Two-layer networks trained by gradient descent in many small steps."""

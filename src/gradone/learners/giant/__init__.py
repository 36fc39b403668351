"""Two-layer networks trained by a few large gradient steps."""

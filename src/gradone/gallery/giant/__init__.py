"""Figures on giant gradient steps."""

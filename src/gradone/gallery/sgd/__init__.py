"""Figures on gradient descent in many small steps."""

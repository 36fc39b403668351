"""Conditional moments given the label, and some known directions: what thresholds ask for."""

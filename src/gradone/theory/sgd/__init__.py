"""Gradient descent in many small steps: one pass over the data, and data that is seen again."""

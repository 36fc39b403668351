"""The web lab: a page on which theory and simulation meet. It shows; it contains no science."""

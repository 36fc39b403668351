"""Hierarchical targets, and what layers learn of them."""

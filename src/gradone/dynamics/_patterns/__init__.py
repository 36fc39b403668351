"""Patterns of the compiled chains: what is the same for every student and target."""

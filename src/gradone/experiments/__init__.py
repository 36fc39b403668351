"""Simulations: learners on samples of a target, and what is measured of them."""

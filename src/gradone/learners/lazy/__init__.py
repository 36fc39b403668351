"""Learners whose features do not move: random features and kernels."""

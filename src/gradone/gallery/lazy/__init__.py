"""Figures on random features, kernels and scaling laws."""

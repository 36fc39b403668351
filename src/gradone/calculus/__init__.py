"""Gaussian calculus: expectations, Hermite coefficients and tensors, spectra, solvers."""

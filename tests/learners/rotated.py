"""Data with hidden directions that no axis knows, drawn without the package under test."""

import numpy as np


def rotated(function, *, n, d, r, seed):
    """Gaussian X (n, d), y = function(z1, ..., zr) and the orthonormal directions (r, d)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = np.linalg.qr(rng.standard_normal((d, d))[:, :r])[0].T
    return X, function(*(X @ W.T).T), W


def cosines(directions, W):
    """Cosines of the principal angles between two row spaces, largest first."""
    found, true = (np.linalg.qr(np.asarray(rows, float).T)[0] for rows in (directions, W))
    return np.linalg.svd(found.T @ true, compute_uv=False)


def he3(z):
    return z**3 - 3 * z


def sign_product(z1, z2):
    return np.sign(z1 * z2)


def product_plus_linear(z1, z2, z3):
    return z1 * z2 + z3


def staircase(z1, z2, z3):
    return z1**2 - 1 + np.sign(z1 * z2 * z3)

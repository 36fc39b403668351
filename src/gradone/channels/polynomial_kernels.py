"""A polynomial of a few variables as tables, in compiled code."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def value_of(exponents: np.ndarray, coefficients: np.ndarray, x: np.ndarray) -> float:
    """Value at one point x (k,) of the polynomial with exponents (terms, k)."""
    total = 0.0
    for m in range(len(coefficients)):
        term = coefficients[m]
        for a in range(len(x)):
            for _ in range(exponents[m, a]):
                term *= x[a]
        total += term
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def gradient_of(
    exponents: np.ndarray, coefficients: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """Gradient at one point, written to `out` (k,)."""
    k = len(x)
    for b in range(k):
        out[b] = 0.0
    for m in range(len(coefficients)):
        for b in range(k):
            if exponents[m, b] == 0:
                continue
            term = coefficients[m] * exponents[m, b]
            for a in range(k):
                for _ in range(exponents[m, a] - (1 if a == b else 0)):
                    term *= x[a]
            out[b] += term

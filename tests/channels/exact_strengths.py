"""Integrals from which strengths of queries of two variables follow without slices."""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.legendre import leggauss


def normal(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def on_panels(edges, count=10):
    """Nodes and weights of Gauss-Legendre rules between edges."""
    edges = np.unique(edges)
    t, w = leggauss(count)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * t).ravel(), (half[:, None] * w).ravel()


def strength(moments, density, weights, order):
    """Largest eigenvalue of order 1 or 2 from integrals of features of (a, b) at values of y."""
    gram = (np.array(moments) * weights / density) @ np.array(moments).T
    if order == 1:
        return float(np.linalg.eigvalsh(gram)[-1])
    # Features a^2 - 1, ab, b^2 - 1 are the entries of G; M -> E[G M G] on all 2 x 2 matrices.
    place = np.array([[0, 1], [1, 2]])
    entries = gram[place[:, :, None, None], place]  # E[G_ij G_kl]
    operator = np.einsum("ijkl->iljk", entries).reshape(4, 4)
    return float(np.linalg.eigvals(operator).real.max())

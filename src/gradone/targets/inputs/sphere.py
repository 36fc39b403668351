"""Inputs on the sphere."""

from __future__ import annotations

import math

import numpy as np

from ._law import LAWS, Law


@LAWS.add("sphere")
class Sphere(Law):
    r"""Rows uniform on the sphere of radius :math:`\sqrt d`.

    Examples
    --------
    >>> from gradone import Target, inputs
    >>> s = Target("z").sample(n=3, d=16, inputs=inputs.sphere())
    >>> (s.X**2).sum(axis=1).round(12)
    array([16., 16., 16.])
    """

    is_rotation_invariant = True
    arguments = {}

    def cumulants(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis (r,), the same in all directions: 0 and -6/(d + 2)."""
        return np.zeros(len(W)), np.full(len(W), -6 / (W.shape[1] + 2))

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d)."""
        rng.standard_normal(out=out)
        out *= math.sqrt(out.shape[1]) / np.linalg.norm(out, axis=1, keepdims=True)

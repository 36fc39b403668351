"""Inputs in a box."""

from __future__ import annotations

import math

import numpy as np

from ...calculus.line import gauss_legendre
from ._law import LAWS, Law, Rule

_SIDE = math.sqrt(3.0)


@LAWS.add("uniform")
class Uniform(Law):
    r"""Independent coordinates, uniform on :math:`[-\sqrt3, \sqrt3]`.

    Examples
    --------
    >>> points, weights = Uniform().rule(20)
    >>> round(float(weights @ points[:, 0] ** 4), 12)  # 3 - 1.2
    1.8
    """

    is_product = True
    arguments = {}

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d)."""
        rng.random(out=out)
        out -= 0.5
        out *= 2 * _SIDE

    def rule(self, count: int) -> Rule:
        """Gauss-Legendre nodes on either side of zero, where targets break most often."""
        t, weights = gauss_legendre(max(2, count // 2))
        half = _SIDE * t
        return np.concatenate([-half, half])[:, None], np.tile(weights / 2, 2)

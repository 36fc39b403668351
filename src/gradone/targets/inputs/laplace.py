"""Inputs with exponential tails."""

from __future__ import annotations

import math

import numpy as np

from ._law import LAWS, Law, Rule

_SCALE = math.sqrt(0.5)


@LAWS.add("laplace")
class Laplace(Law):
    r"""Independent coordinates of the density :math:`e^{-\sqrt2|x|}/\sqrt2`.

    Examples
    --------
    >>> points, weights = Laplace().rule(20)
    >>> round(float(weights @ points[:, 0] ** 4), 9)  # 3 + 3
    6.0
    """

    is_product = True
    arguments = {}

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d)."""
        out[...] = rng.laplace(0.0, _SCALE, out.shape)

    def rule(self, count: int) -> Rule:
        """Gauss-Laguerre nodes on either side of zero."""
        t, weights = np.polynomial.laguerre.laggauss(max(2, count // 2))
        half = _SCALE * t
        return np.concatenate([-half, half])[:, None], np.tile(weights / 2, 2)

"""Inputs on the cube."""

from __future__ import annotations

import numpy as np

from ._law import LAWS, Law, Rule


@LAWS.add("rademacher")
class Rademacher(Law):
    """Independent signs: the corners of the cube.

    Examples
    --------
    >>> from gradone import Target, inputs
    >>> s = Target("z1*z2").sample(n=500, d=20, inputs=inputs.rademacher(), directions="axes")
    >>> np.unique(s.X), np.unique(s.y)
    (array([-1.,  1.]), array([-1.,  1.]))
    """

    is_product = True
    arguments = {}

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d)."""
        out[...] = rng.integers(0, 2, out.shape, dtype=np.int8)
        out *= 2.0
        out -= 1.0

    def rule(self, count: int) -> Rule:
        """The two values of a coordinate."""
        return np.array([[-1.0], [1.0]]), np.array([0.5, 0.5])

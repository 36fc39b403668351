"""Prior means that a symmetry of the target makes equivalent are visited once."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from ..targets.language.expression import Expression
from ..targets.language.structure import parity


@lru_cache(maxsize=64)
def sign_symmetries(expression: Expression) -> tuple[tuple[int, ...], ...]:
    """Changes of sign of the variables that change at most the sign of the output.

    They form a group; each is a tuple of 1 and -1, the identity comes first.

    Examples
    --------
    >>> sign_symmetries(Expression("z1*z2"))
    ((1, 1), (1, -1), (-1, 1), (-1, -1))
    >>> sign_symmetries(Expression("sign(z1*z2 + 1)"))
    ((1, 1), (-1, -1))
    """
    patterns = itertools.product((1, -1), repeat=expression.r)
    return tuple(
        s for s in patterns if parity(expression.tree, [i for i, e in enumerate(s, 1) if e < 0])
    )


def invariances(expression: Expression, M: np.ndarray) -> np.ndarray:
    """Sign symmetries of the target that leave M as it is, (k, r)."""
    signs = np.array(sign_symmetries(expression))
    changed = np.abs(signs[:, :, None] * M * signs[:, None, :] - M).max(axis=(1, 2))
    return signs[changed == 0]


def fold(
    signs: np.ndarray, omega: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One node of each orbit of a rule that is symmetric under a group of signs.

    Its weight is that of the orbit, so averages of what is invariant are unchanged.

    Examples
    --------
    >>> pair = np.array([[1], [-1]])
    >>> fold(pair, np.array([[-1.0], [0.0], [1.0]]), np.array([0.25, 0.5, 0.25]))[1].tolist()
    [0.5, 0.5]
    """
    kept, fixed = np.ones(len(omega), dtype=bool), np.zeros(len(omega))
    for s in signs:
        difference = omega - s * omega
        first = np.take_along_axis(difference, (difference != 0).argmax(axis=1)[:, None], axis=1)
        kept &= first[:, 0] >= 0  # the largest of its orbit, in the order of the coordinates
        fixed += first[:, 0] == 0
    return omega[kept], (weights * len(signs) / fixed)[kept]


def symmetrized(signs: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Mean of a matrix over a group of signs: entries that a sign reverses vanish."""
    return (J + J.T) / 2 * (signs[:, :, None] * signs[:, None, :]).mean(axis=0)

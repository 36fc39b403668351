"""Prior means that a symmetry of the target makes equivalent are visited once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..targets.language.expression import Expression
from ..targets.language.structure import parity


@lru_cache(maxsize=64)
def sign_symmetries(expression: Expression) -> tuple[tuple[int, ...], bool]:
    """Axes whose change of sign changes at most the sign of the output; whether all together do.

    Examples
    --------
    >>> sign_symmetries(Expression("z1*z2**3")), sign_symmetries(Expression("sign(z1*z2 + 1)"))
    (((0, 1), True), ((), True))
    """
    r, tree = expression.r, expression.tree
    single = tuple(i for i in range(r) if parity(tree, [i + 1]))
    return single, parity(tree, range(1, r + 1)) is not None


def folded_axes(expression: Expression, M: np.ndarray) -> tuple[int, ...]:
    """Axes along which what state evolution averages at M is even."""
    off = np.abs(M - np.diag(np.diag(M))).max(axis=0)
    return tuple(i for i in sign_symmetries(expression)[0] if off[i] == 0)


def halve(omega: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One of omega and -omega for each pair of a symmetric rule, with twice the weight.

    Examples
    --------
    >>> halve(np.array([[-1.0], [0.0], [1.0]]), np.array([0.25, 0.5, 0.25]))[1].tolist()
    [0.5, 0.5]
    """
    # The first coordinate that is not zero decides.
    first = np.take_along_axis(omega, (omega != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    kept, factor = first >= 0, np.where(first > 0, 2.0, 1.0)
    return omega[kept], (weights * factor)[kept]


def zero_by_symmetry(J: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Covariance with the entries that vanish by symmetry set to zero."""
    J = (J + J.T) / 2
    for i in axes:
        diagonal = J[i, i]
        J[i, :] = J[:, i] = 0.0
        J[i, i] = diagonal
    return J

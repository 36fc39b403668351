"""Prior means that a symmetry of the target makes equivalent are visited once."""

from __future__ import annotations

import numpy as np

from ...targets.language.expression import Expression
from ...targets.signed_permutations import Symmetries, symmetries

_SAME = 1e-10  # coordinates and overlaps closer than this differ by rounding


def invariances(
    expression: Expression, M: np.ndarray, directions: np.ndarray | None = None
) -> Symmetries:
    """Symmetries of the target that leave M, and a rule along directions, as they are.

    The directions are the rows of an invertible matrix, the eigenvectors of M if they are not
    given. Each goes to one of them, or to its negative.
    """
    group = symmetries(expression)
    if len(group.maps) == 1:
        return group
    D = np.linalg.eigh(M)[1].T if directions is None else directions
    share = np.abs(D @ group.maps @ np.linalg.inv(D))
    whole = np.minimum(share, np.abs(1 - share)) < _SAME
    moved = np.abs(group.maps @ M @ group.maps.swapaxes(1, 2) - M)
    kept = (whole & (moved < _SAME)).all(axis=(1, 2))
    return Symmetries(group.maps[kept], group.keeps[kept])


def fold(maps: np.ndarray, omega: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One node of each orbit of a rule that is symmetric under a group of maps.

    Its weight is that of the orbit, so averages of what is invariant are unchanged.

    Examples
    --------
    >>> pair = np.array([[[1.0]], [[-1.0]]])
    >>> fold(pair, np.array([[-1.0], [0.0], [1.0]]), np.array([0.25, 0.5, 0.25]))[1].tolist()
    [0.5, 0.5]
    """
    if len(maps) == 1:
        return omega, weights
    # The largest of its orbit, in the order of the coordinates; each map leaves fewer for the next.
    for S in maps[1:]:
        kept = _leading(omega - omega @ S.T) > -_SAME
        omega, weights = omega[kept], weights[kept]
    fixed = (np.abs(_leading(omega - omega @ maps.swapaxes(1, 2))) <= _SAME).sum(axis=0)
    return omega, weights * len(maps) / fixed


def _leading(vectors: np.ndarray) -> np.ndarray:
    """First coordinate of every vector that is not zero."""
    first = vectors[..., 0]
    for column in np.moveaxis(vectors[..., 1:], -1, 0):
        first = np.where(np.abs(first) > _SAME, first, column)
    return first


def symmetrized(maps: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Mean of a symmetric matrix over a group of maps: entries that a sign reverses vanish."""
    J = (J + J.T) / 2
    return J if len(maps) == 1 else (maps.swapaxes(1, 2) @ J @ maps).mean(axis=0)


def equivariant(group: Symmetries, omega: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Output functions (m, k, r) at prior means (m, r), each as symmetric as its prior mean.

    A map that keeps a prior mean and the label keeps g; rules inside the channel keep it up to
    their error only, which would be taken for overlap in directions that are not learned.

    Examples
    --------
    >>> swap = Symmetries(np.array([np.eye(2), np.eye(2)[::-1]]), np.array([True, True]))
    >>> equivariant(swap, np.array([[0.3, 0.3]]), np.array([[[1.0, 1.5]]])).tolist()
    [[[1.25, 1.25]]]
    """
    maps = group.maps[group.keeps]
    if len(maps) == 1:
        return g
    stays = np.abs(omega - omega @ maps.swapaxes(1, 2)).max(axis=2) <= _SAME  # (k, m)
    some = stays[1:].any(axis=0)
    if some.any():
        projectors = (
            np.einsum("km,kij->mij", stays[:, some], maps)
            / stays[:, some].sum(axis=0)[:, None, None]
        )
        g[some] = g[some] @ projectors.swapaxes(1, 2)
    return g

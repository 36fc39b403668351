r"""Points that are used again in other orientations.

Turned by an orthogonal matrix Q the points of a Gaussian are points of the same Gaussian with the
same weights, and their Hermite features are known:
:math:`\mathrm{he}_\gamma(Qz) = \sum_\beta E_{\beta\gamma}\,\mathrm{he}_\beta(z)` over
:math:`|\beta| = |\gamma|`. Sums of features may be turned instead of the features.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...calculus.embedding import embedding

_SEED = 161803


class Turn(NamedTuple):
    """An orthogonal matrix, and what it does to the features: he(Qz) = action @ he(z)."""

    matrix: np.ndarray
    action: np.ndarray

    @property
    def is_identity(self) -> bool:
        """Whether nothing is turned."""
        return bool((self.matrix == np.eye(len(self.matrix))).all())


@lru_cache(maxsize=32)
def turns(r: int, orders: tuple[int, ...], count: int) -> tuple[Turn, ...]:
    """The identity and `count` - 1 random orientations.

    The first feature is that of order 0; those of each order follow, as in ``order_indices``.

    Examples
    --------
    >>> matrix, action = turns(2, (2,), 2)[1]
    >>> features = lambda x, y: [1, (x * x - 1) / 2**0.5, x * y, (y * y - 1) / 2**0.5]
    >>> np.allclose(features(*matrix @ [0.3, -1.2]), action @ features(0.3, -1.2))
    True
    """
    rng = np.random.default_rng([_SEED, r])
    matrices = [np.eye(r), *(_random_orientation(r, rng) for _ in range(1, count))]
    return tuple(Turn(matrix, _action(matrix, orders)) for matrix in matrices)


def _random_orientation(r: int, rng: np.random.Generator) -> np.ndarray:
    q, triangle = np.linalg.qr(rng.standard_normal((r, r)))
    return q * np.sign(np.diag(triangle))  # else all of them would be reflections


def _action(matrix: np.ndarray, orders: tuple[int, ...]) -> np.ndarray:
    blocks = [np.ones((1, 1)), *(embedding(matrix, k).T for k in orders)]
    size = sum(map(len, blocks))
    action, start = np.zeros((size, size)), 0
    for block in blocks:
        stop = start + len(block)
        action[start:stop, start:stop] = block
        start = stop
    action.setflags(write=False)
    return action

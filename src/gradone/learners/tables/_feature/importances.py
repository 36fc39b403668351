r"""How much a prediction rests on each column.

.. math:: T_g = \tfrac12\, \overline{|f(x) - f(x_{-g}, x'_g)|^2}    [FR-9]

where the entries of the columns g are those of another row x'. For independent columns this is the
total Sobol index times the variance of the prediction: what g explains alone and together with
others. Nothing is differentiated, so that trees count as smooth functions do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .rows import Rows

_MOST_ROWS, _FEWEST_ROWS = 2000, 100
_PREDICTIONS = 50_000


def some_rows(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn by their weights, fewer if there are many columns, (m, d)."""
    d = max(rows.X.shape[1], 1)
    count = int(np.clip(_PREDICTIONS // d, _FEWEST_ROWS, _MOST_ROWS))
    drawn = rng.choice(len(rows), count, p=rows.weights / rows.weights.sum())
    return np.asarray(rows.X[drawn])


def importances(
    predict: Callable[[np.ndarray], np.ndarray], X: np.ndarray, groups: Sequence[np.ndarray]
) -> np.ndarray:
    """Shares (groups,) of the sum of [FR-9], zero if the prediction does not vary.

    Parameters
    ----------
    predict : callable
        Inputs (m, d) to predictions (m, q).
    X : ndarray (m, d)
        Rows of training in random order.
    groups : sequence of ndarray of int
        Columns that are replaced together.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> importances(lambda X: 2 * X[:, :1] + X[:, 1:2], X, [[0], [1], [2]]).round(1)
    array([0.8, 0.2, 0. ])
    """
    others = np.roll(X, 1, axis=0)
    plain, found = predict(X), np.zeros(len(groups))
    for place, group in enumerate(groups):
        moved = X.copy()
        moved[:, group] = others[:, group]
        found[place] = 0.5 * np.mean((predict(moved) - plain) ** 2) if len(group) else 0.0
    total = found.sum()
    return np.asarray(found / total if total else found)

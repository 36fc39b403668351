r"""Columns that matter, before directions are looked for among them.

Boosted trees get every column twice, the second time with its rows shuffled. A column is kept if
it takes away more of the error than the best of the shuffled ones does by chance; the choice
counts only if a kernel on the columns that are kept predicts better rows that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .kernel_choice import left_out_errors
from .machine import Kernel, median_distance, squared_distances
from .rows import Rows
from .trees import fit_trees

_ROUNDS = 20
_PENALTIES = 10.0 ** np.arange(-4, 1.01, 1.0)
_ROWS, _TREE_ROWS = 300, 1500
_FEWEST = 4  # columns among which nothing is left out
_GATE = 1.0  # paired standard errors


@dataclass(frozen=True)
class OnColumns:
    """A member that is a function of some of the columns."""

    member: Callable[[np.ndarray], np.ndarray]
    columns: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        return self.member(X[:, self.columns])


def screened(rows: Rows, kernel: Kernel, sample: np.ndarray) -> np.ndarray | None:
    """Columns for smooth functions, or None where all of them serve as well.

    A rotated function of a few directions has a little of each in every column, so that no column
    stands out: the kernel on all columns then wins, and all are kept.

    Parameters
    ----------
    rows : Rows
        Training rows.
    kernel : Kernel
        One that suits all columns.
    sample : ndarray of int
        Rows in random order.
    """
    d = rows.X.shape[1]
    if d < _FEWEST:
        return None
    seen = rows.part(np.sort(sample[:_TREE_ROWS]))
    shuffled = seen.X[np.random.default_rng(0).permutation(len(seen))]
    both = Rows(np.hstack([seen.X, shuffled]), seen.Y, seen.weights)
    taken = fit_trees(both, rounds=_ROUNDS).importances(2 * d)
    kept = np.flatnonzero(taken[:d] > taken[d:].max())
    if not 0 < len(kept) < d:
        return None
    some = rows.part(np.sort(sample[:_ROWS]))
    factor = kernel.bandwidth / median_distance(rows.X, sample)
    found = []
    for columns in (np.arange(d), kept):
        X = some.X[:, columns]
        suited = Kernel(kernel.smooth, factor * median_distance(rows.X[:, columns], sample))
        errors = left_out_errors(some, suited(squared_distances(X, X)), _PENALTIES).errors
        found.append(errors[errors.mean(axis=1).argmin()])
    gain = found[0] - found[1]
    return kept if gain.mean() > _GATE * gain.std() / np.sqrt(len(some)) else None

r"""Columns that matter, before directions are looked for among them.

Boosted trees get every column twice, the second time with its rows shuffled. A smooth function
keeps a column if it takes away more of the error than the best of the shuffled ones does by
chance; trees, which mind a few columns too many less than one too few, if it takes away more than
nine in ten of them. The choice counts only if a kernel on the columns that are kept predicts
better rows that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .kernel_choice import Choice, suited_errors
from .machine import Kernel, median_distance
from .rows import Rows
from .trees import fit_trees

_ROUNDS, _DEPTH = 24, 6
_TREE_ROWS = 1500
_FOR_TREES = 0.9  # quantile of what shuffled columns take away
_FEWEST = 4  # columns among which nothing is left out
_GATE = 1.5  # paired standard errors


@dataclass(frozen=True)
class OnColumns:
    """A member that is a function of some of the columns."""

    member: Callable[[np.ndarray], np.ndarray]
    columns: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        return self.member(X[:, self.columns])


@dataclass(frozen=True)
class Kept:
    """Columns that are not left out.

    Parameters
    ----------
    smooth : ndarray of int
        For smooth functions.
    trees : ndarray of int
        For trees: these and some more.
    """

    smooth: np.ndarray
    trees: np.ndarray


def screened(rows: Rows, chosen: Choice, sample: np.ndarray, judges: np.ndarray) -> Kept | None:
    """Columns that matter, or None where all of them serve smooth functions as well.

    A rotated function of a few directions has a little of each in every column, so that no column
    stands out: the kernel on all columns then wins, and all are kept.

    Parameters
    ----------
    rows : Rows
        Training rows.
    chosen : Choice
        Kernel that suits all columns.
    sample : ndarray of int
        Rows in random order.
    judges : ndarray of int
        Those that have chosen the kernel.
    """
    d = rows.X.shape[1]
    if d < _FEWEST:
        return None
    seen = rows.part(np.sort(sample[:_TREE_ROWS]))
    shuffled = seen.X[np.random.default_rng(0).permutation(len(seen))]
    both = Rows(np.hstack([seen.X, shuffled]), seen.Y, seen.weights)
    taken = fit_trees(both, _ROUNDS, depth=_DEPTH).importances(2 * d)
    kept = np.flatnonzero(taken[:d] > taken[d:].max())
    if not 0 < len(kept) < d:
        return None
    few, kernel = rows.columns(kept), chosen.kernel
    nearer = median_distance(few.X, sample) / median_distance(rows.X, sample)
    suited = Kernel(kernel.smooth, kernel.bandwidth * nearer)
    gain = chosen.errors - suited_errors(few.part(np.sort(judges)), suited)
    if gain.mean() <= _GATE * gain.std() / np.sqrt(len(gain)):
        return None
    return Kept(kept, np.flatnonzero(taken[:d] > np.quantile(taken[d:], _FOR_TREES)))

"""Which kernel, bandwidth and penalty suit a table: exact leave-one-out errors on some rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .machine import Kernel, median_distance, squared_distances
from .rows import Rows

_SMOOTH, _ROUGH = (0.35, 0.7, 1.4, 2.8), (0.5, 2.0, 8.0)  # bandwidths over the median distance
_PENALTIES = 10.0 ** np.arange(-5, 1.51, 0.5)
_STANDARD_ERRORS = 0.6


@dataclass(frozen=True)
class LeftOut:
    """Errors of kernel ridge regression at every row that was left out, for many penalties."""

    errors: np.ndarray
    """(penalties, n) squares, mean over labels, times the weights."""
    freedom: np.ndarray
    """(penalties,) effective degrees of freedom."""


def left_out_errors(rows: Rows, gram: np.ndarray, penalties: np.ndarray) -> LeftOut:
    r"""Leave-one-out errors :math:`[(K + \lambda)^{-1} Y]_i / [(K + \lambda)^{-1}]_{ii}`.

    Parameters
    ----------
    rows : Rows
        Training rows.
    gram : ndarray (n, n)
        Their kernel; overwritten.
    penalties : ndarray
        Values of :math:`\\lambda`.
    """
    root = rows.root
    gram *= root
    gram *= root.T
    values, axes = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    inner = axes.T @ ((rows.Y - rows.mean(rows.Y)) * root)
    inverse = 1 / (values[:, None] + penalties)
    squares = np.zeros((len(penalties), len(rows)))
    for labels in inner.T:
        squares += ((axes @ (inverse * labels[:, None])) ** 2).T
    errors = squares / inner.shape[1] / ((axes**2 @ inverse) ** 2).T
    return LeftOut(errors, values @ inverse)


def chosen_kernel(rows: Rows, sample: np.ndarray) -> tuple[Kernel, float]:
    """Kernel and penalty: the plainest among those that are as good as the best.

    Among the settings within 0.6 paired standard errors of the best, the one with the fewest
    effective degrees of freedom.

    Parameters
    ----------
    rows : Rows
        Training rows.
    sample : ndarray of int
        Those that choose, in random order.
    """
    some = rows.part(np.sort(sample))
    squares = squared_distances(some.X, some.X)
    unit = median_distance(rows.X, sample)
    settings: list[tuple[Kernel, float]] = []
    errors, freedom = [], []
    for smooth, factors in ((True, _SMOOTH), (False, _ROUGH)):
        for factor in factors:
            kernel = Kernel(smooth, factor * unit)
            found = left_out_errors(some, kernel(squares.copy()), _PENALTIES)
            errors.append(found.errors)
            freedom.append(found.freedom)
            settings += [(kernel, float(penalty)) for penalty in _PENALTIES]
    table, used = np.concatenate(errors), np.concatenate(freedom)
    best = table.mean(axis=1).argmin()
    excess = table - table[best]
    noise = excess.std(axis=1) / np.sqrt(len(some))
    as_good = excess.mean(axis=1) <= _STANDARD_ERRORS * noise
    return settings[int(np.where(as_good, used, np.inf).argmin())]

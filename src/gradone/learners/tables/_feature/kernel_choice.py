"""Which kernel, bandwidth and penalty suit a table: exact leave-one-out errors on some rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from .machine import Kernel, median_distance, squared_distances
from .rows import Rows

_SMOOTH, _ROUGH = (2.8, 1.4, 0.7, 0.35), (8.0, 2.0, 0.5)  # bandwidths over the median distance
_PENALTIES = 10.0 ** np.arange(-5, 1.51, 0.5)
_STANDARD_ERRORS = 0.6
_NO_NARROWER = 1.0  # standard errors by which a bandwidth is worse than one before it


@dataclass(frozen=True)
class LeftOut:
    """Errors of kernel ridge regression at every row that was left out, for many penalties."""

    errors: np.ndarray
    """(penalties, n) squares, mean over labels, times the weights."""
    freedom: np.ndarray
    """(penalties,) effective degrees of freedom."""

    @property
    def least(self) -> np.ndarray:
        """Errors (n,) at the penalty where their mean is smallest."""
        return np.asarray(self.errors[self.errors.mean(axis=1).argmin()])


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
    values, axes = eigh(gram.T, driver="evd", overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0.0)
    inner = axes.T @ ((rows.Y - rows.mean(rows.Y)) * root)
    inverse = 1 / (values[:, None] + penalties)
    squares = np.zeros((len(penalties), len(rows)))
    for labels in inner.T:
        squares += ((axes @ (inverse * labels[:, None])) ** 2).T
    errors = squares / inner.shape[1] / ((axes**2 @ inverse) ** 2).T
    return LeftOut(errors, values @ inverse)


@dataclass(frozen=True)
class Choice:
    """A kernel, and what it does to the rows that have chosen it.

    Parameters
    ----------
    kernel, penalty : Kernel, float
        Of the regression.
    errors : ndarray (n,)
        Leave-one-out errors at the penalty that suits this kernel best.
    """

    kernel: Kernel
    penalty: float
    errors: np.ndarray


def chosen_kernel(rows: Rows, sample: np.ndarray) -> Choice:
    """Kernel and penalty: the plainest among those that are as good as the best.

    Bandwidths are tried from the widest on, until one is clearly worse than another before it.
    Among the settings within 0.6 paired standard errors of the best, the one with the fewest
    effective degrees of freedom is taken.

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
    tried: list[tuple[Kernel, LeftOut]] = []
    for smooth, factors in ((True, _SMOOTH), (False, _ROUGH)):
        least: np.ndarray | None = None
        for factor in factors:
            kernel = Kernel(smooth, factor * unit)
            left = left_out_errors(some, kernel(squares.copy()), _PENALTIES)
            tried.append((kernel, left))
            error = left.least
            if least is not None and _excess(error, least) > _NO_NARROWER:
                break
            least = error if least is None or error.mean() < least.mean() else least
    table = np.concatenate([left.errors for _, left in tried])
    used = np.concatenate([left.freedom for _, left in tried])
    as_good = _excess(table, table[table.mean(axis=1).argmin()]) <= _STANDARD_ERRORS
    place, penalty = divmod(int(np.where(as_good, used, np.inf).argmin()), len(_PENALTIES))
    kernel, left = tried[place]
    return Choice(kernel, float(_PENALTIES[penalty]), left.least)


def suited_errors(rows: Rows, kernel: Kernel) -> np.ndarray:
    """Leave-one-out errors (n,) of a kernel at the penalty that suits it best."""
    return left_out_errors(rows, kernel(squared_distances(rows.X, rows.X)), _PENALTIES).least


def _excess(errors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How much larger errors (.., n) are than others (n,), in paired standard errors."""
    difference = errors - others
    noise = difference.std(axis=-1) / np.sqrt(len(others))
    return np.asarray(difference.mean(axis=-1) / np.maximum(noise, 1e-300))

"""Final functions of the learned coordinates: a smooth one, and a rough one for jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .kernel_choice import left_out_errors
from .machine import Kernel, KernelMember, fit_kernel, some_centers, squared_distances
from .rows import Rows
from .smoother import Smoother, SmootherFit

_BANDWIDTHS = (0.7, 3.0)  # over the root of the mean square of the coordinates
_PENALTIES = 10.0 ** np.arange(-4, 1.01, 0.5)
_ROWS = 150
_CENTERS = 3000  # more than elsewhere: jumps need them


@dataclass(frozen=True)
class RoughMember:
    """Laplace kernel regression on learned coordinates, on top of a linear function.

    Parameters
    ----------
    smoother : Smoother
        Gives the coordinates and the linear function.
    kernel : KernelMember
        Function of the coordinates.
    """

    smoother: Smoother
    kernel: KernelMember

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        return np.asarray(self.kernel(X @ self.smoother.B) + X @ self.smoother.slopes)


def smooth_readout(rows: Rows, B: np.ndarray, landmarks: np.ndarray) -> Smoother:
    """The smoother on the directions B with more landmarks than in the search."""
    return SmootherFit(rows, B, landmarks).smoother()


def rough_readout(rows: Rows, smoother: Smoother, sample: np.ndarray) -> RoughMember:
    """Laplace kernel regression on the coordinates of a smoother, beside its linear function.

    Parameters
    ----------
    rows : Rows
        Training rows.
    smoother : Smoother
        Directions, and the linear function that is taken off first.
    sample : ndarray of int
        Rows in random order; 150 of them choose bandwidth and penalty.
    """
    Z = rows.X @ smoother.B
    on_coordinates = Rows(Z, rows.Y - rows.X @ smoother.slopes, rows.weights)
    some = on_coordinates.part(np.sort(sample[:_ROWS]))
    squares = squared_distances(some.X, some.X)
    unit = float(np.sqrt((Z**2).sum(axis=1).mean()))
    best: tuple[float, Kernel, float] | None = None
    for factor in _BANDWIDTHS:
        kernel = Kernel(False, factor * unit)
        scores = left_out_errors(some, kernel(squares.copy()), _PENALTIES).errors.mean(axis=1)
        place = int(scores.argmin())
        if best is None or scores[place] < best[0]:
            best = float(scores[place]), kernel, float(_PENALTIES[place])
    assert best is not None
    _, kernel, penalty = best
    centers = some_centers(len(rows), sample, _CENTERS)
    fitted = fit_kernel(on_coordinates, kernel, penalty, np.eye(Z.shape[1]), centers)
    return RoughMember(smoother, fitted)

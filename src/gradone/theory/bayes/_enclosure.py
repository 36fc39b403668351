r"""How far a fixed point may lie from the one that was found, given the error of the map.

A map that preserves order and is off by a relative error of the information,

.. math:: J_\pm = J \pm |\delta J|, \qquad T_\pm(M) = \alpha J_\pm (I + \alpha J_\pm)^{-1},

has its fixed point between :math:`M_-` and :math:`M_+` if :math:`T_+(M_+) \le M_+` and
:math:`T_-(M_-) \ge M_-`. Close to a transition, where an iteration hardly contracts, the interval
is much wider than the error of the map.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._climb import climb, within

_SAME = 1e-3  # odds of overlaps that are closer than this, as a share of them, get one interval
_BEYOND = 1.05  # of a guess of an interval
_LEFT = 0.02  # of the residual, where the search for an end stops
_ROUNDING = 1e-9


def enclosure(
    step: Callable[[np.ndarray, int], np.ndarray], M: np.ndarray, errors: np.ndarray
) -> list[np.ndarray]:
    """Upper and lower end of an interval that holds the fixed points of all maps within the error.

    Parameters
    ----------
    step : callable
        The map at a matrix, made larger or smaller by its error (1 or -1).
    M : array (r, r)
        Fixed point.
    errors : array (r,)
        First guesses of its errors along its eigenvectors, by ascending eigenvalues. An end that
        the map does not move inwards is replaced by the fixed point that the iteration of the
        larger or smaller map reaches from M.

    Examples
    --------
    A map of slope 0.9 that is off by 0.001, at a guess that takes its slope for 0:

    >>> guess = np.array([0.001])
    >>> ends = enclosure(lambda M, sign: 0.9 * M + 0.05 + 0.001 * sign, np.eye(1) / 2, guess)
    >>> [round(float(end.item()), 4) for end in ends]
    [0.5105, 0.4895]
    """
    overlaps, Q = np.linalg.eigh(M)
    seen = overlaps > 0
    # Logarithms of odds m / (1 - m): neither end leaves the matrices between 0 and I.
    odds = np.log(overlaps[seen] / (1 - overlaps[seen]))
    same = np.abs(odds[:, None] - odds) < _SAME
    shifts = errors[seen] / (overlaps[seen] * (1 - overlaps[seen]))
    shifts = _BEYOND * np.where(same, shifts, 0.0).max(axis=1, initial=0.0)

    def end(sign: int) -> np.ndarray:
        moved = Q[:, seen] / (1 + np.exp(-odds - sign * shifts)) @ Q[:, seen].T
        if np.linalg.eigvalsh(sign * (moved - step(moved, sign)))[0] >= -_ROUNDING:
            return moved
        tolerance = _LEFT * float(np.abs(step(M, sign) - M).max())
        reached = climb(lambda at: step(at, sign), M, tolerance=tolerance).M
        return within(M + _BEYOND * (reached - M))

    return [end(1), end(-1)]

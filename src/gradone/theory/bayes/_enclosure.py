r"""How far a fixed point may lie from the one that was found, given the error of the map.

A map that preserves order and is off by a relative error of the information,

.. math:: J_\pm = J \pm |\delta J|, \qquad T_\pm(M) = \alpha J_\pm (I + \alpha J_\pm)^{-1},

has its fixed point between :math:`M_-` and :math:`M_+` if :math:`T_+(M_+) \le M_+` and
:math:`T_-(M_-) \ge M_-`. Close to a transition, where an iteration hardly contracts, the interval
is much wider than the error of the map.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_SAME = 1e-6  # overlaps closer than this get one interval
_DOUBLINGS = 40


class Enclosure(NamedTuple):
    """An interval that the map, with its error, maps into itself."""

    error: float
    """Largest distance of its middle half from the fixed point."""
    ends: tuple[np.ndarray, np.ndarray]
    """Overlap matrices at its ends, the larger one first."""


def enclosure(
    step: Callable[[np.ndarray, int], np.ndarray], M: np.ndarray, errors: np.ndarray
) -> Enclosure:
    """Interval around a fixed point that holds all fixed points of maps within the error.

    Parameters
    ----------
    step : callable
        The map at a matrix, made larger or smaller by its error (1 or -1).
    M : array (r, r)
        Fixed point.
    errors : array (r,)
        First guesses of its errors along its eigenvectors, by ascending eigenvalues; they are
        doubled until the interval is wide enough.

    Examples
    --------
    A map of slope 0.9 that is off by 0.001, at a guess that takes its slope for 0:

    >>> found = enclosure(lambda M, sign: 0.9 * M + 0.05 + 0.001 * sign, np.eye(1) / 2, [0.001])
    >>> 0.01 / 2 < found.error < 0.01 * 2
    True
    """
    overlaps, Q = np.linalg.eigh(M)
    same = np.abs(overlaps[:, None] - overlaps) < _SAME
    guesses = np.where(same, errors, 0.0).max(axis=1)
    # In units in which neither end leaves the matrices between 0 and I.
    missing = 1 - overlaps
    shifts = np.divide(guesses, overlaps * missing, where=overlaps > 0, out=np.zeros(len(M)))

    def shifted(factor: float) -> np.ndarray:
        odds = np.exp(np.minimum(factor * shifts, 50.0))
        return (Q * (overlaps * odds / (overlaps * odds + missing))) @ Q.T

    error, ends = 0.0, []
    for sign in (1, -1):
        for doubling in range(_DOUBLINGS):
            end = shifted(2.0 * sign * 2**doubling)
            if np.linalg.eigvalsh(sign * (end - step(end, sign)))[0] >= -1e-9:
                break
        ends.append(end)
        error = max(error, float(np.abs(shifted(sign * 2.0**doubling) - M).max()))
    return Enclosure(error, (ends[0], ends[1]))

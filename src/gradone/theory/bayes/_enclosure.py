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

_SAME = 1e-6  # overlaps closer than this get one interval
_FIRST, _FACTOR = 1.05, 1.4  # of the guesses: what is tried first, and how it is widened
_WIDENINGS = 80  # then the ends are 0 and I
_ROUNDING = 1e-9


def enclosure(
    step: Callable[[np.ndarray, int], np.ndarray], M: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower end of an interval that holds the fixed points of all maps within the error.

    Parameters
    ----------
    step : callable
        The map at a matrix, made larger or smaller by its error (1 or -1).
    M : array (r, r)
        Fixed point.
    errors : array (r,)
        First guesses of its errors along its eigenvectors, by ascending eigenvalues; they are
        widened until the interval is mapped into itself.

    Examples
    --------
    A map of slope 0.9 that is off by 0.001, at a guess that takes its slope for 0:

    >>> ends = enclosure(lambda M, sign: 0.9 * M + 0.05 + 0.001 * sign, np.eye(1) / 2, [0.001])
    >>> [round(float(end.item()), 3) for end in ends]
    [0.511, 0.489]
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

    ends = []
    for sign in (1, -1):
        for widening in range(_WIDENINGS):
            end = shifted(sign * _FIRST * _FACTOR**widening)
            if np.linalg.eigvalsh(sign * (end - step(end, sign)))[0] >= -_ROUNDING:
                break
        ends.append(end)
    return ends[0], ends[1]

"""Axes that a smoother does not need are taken out again."""

from __future__ import annotations

import numpy as np

from .refine import Refined, refined
from .rows import Rows

_LEAST = 0.005
_STEPS = 4
_HOPELESS = 1.1  # times the score, after two steps


def price(rows: Rows) -> float:
    """Share of the error that a direction must take away: 0.5 %, and d/n.

    The corrected score knows of the d numbers of a direction that were fitted, but not that it
    is the best of many that were proposed.
    """
    n, d = rows.X.shape
    return _LEAST + d / n


def pruned(found: Refined) -> Refined:
    """The same with as few axes as possible.

    The coordinates are turned so that the derivatives along them are uncorrelated, the axis with
    the smallest is dropped, and the others are refined. This is kept, and tried again, if the
    corrected score grows by less than a direction must bring (:func:`price`).

    Parameters
    ----------
    found : Refined
        Directions to start from.
    """
    while found.fit.B.shape[1] > 1:
        fit = found.fit
        gradients = fit.gradients()
        slopes = np.einsum("nkq,nlq->kl", gradients, gradients)
        axes = np.linalg.eigh(slopes)[1][:, 1:]  # in increasing order
        fewer = refined(fit.at(fit.B @ axes), _STEPS, hopeless=_HOPELESS * found.score)
        if fewer.score > (1 + price(fit.rows)) * found.score:
            return found
        found = fewer
    return found

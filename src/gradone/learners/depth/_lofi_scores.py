"""Functions of the labels whose moments with features are taken."""

from __future__ import annotations

import numpy as np

from ._directions import rank_scores


def number_scores(y: np.ndarray) -> np.ndarray:
    """Scores (n, 1 or 2) of numbers: Gaussian scores of the ranks, and their squares.

    The squares are made orthogonal to 1 and to the first scores; all have variance 1. Labels of two
    values have no second score: every function of them is linear in the first.

    Examples
    --------
    >>> number_scores(np.array([0.0, 1.0, 0.0, 1.0])).shape
    (4, 1)
    >>> T = number_scores(np.arange(9.0))
    >>> (T.T @ T / 9).round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    first = rank_scores(y)
    first /= first.std() or 1.0
    squares = first**2 - 1
    squares -= first * float(np.mean(first * squares))
    spread = float(squares.std())
    if spread < 1e-6:
        return first[:, None]
    return np.column_stack([first, squares / spread])


def class_scores(which: np.ndarray, count: int) -> np.ndarray:
    """Scores (n, 1 or count) of classes: each against the rest; of two classes one is enough.

    Examples
    --------
    >>> class_scores(np.array([0, 1, 1, 0]), 2).ravel()
    array([-1.,  1.,  1., -1.])
    """
    member = (which[:, None] == np.arange(count)).astype(float)
    if count == 2:
        member = member[:, 1:]
    centred = member - member.mean(axis=0)
    spread = centred.std(axis=0)
    scores: np.ndarray = centred / np.where(spread > 0, spread, 1.0)
    return scores

"""Ridge regression with the penalty of the smallest leave-one-out error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rows import Rows

PENALTIES = np.logspace(-4, 2, 13)
"""Penalties over the number of rows."""


@dataclass(frozen=True)
class LinearMember:
    """Linear function of the inputs.

    Parameters
    ----------
    coefficients : ndarray (d, q)
        Slopes.
    constant : ndarray (q,)
        Value at 0.
    """

    coefficients: np.ndarray
    constant: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        return np.asarray(X @ self.coefficients + self.constant)


@dataclass(frozen=True)
class RidgeFit:
    """A ridge regression, and how well it predicts rows that it has not seen."""

    member: LinearMember
    residuals: np.ndarray
    """(n, q), times the roots of the weights."""
    room: np.ndarray
    """(n,) one minus the leverage of each row."""
    score: float
    """Mean square leave-one-out error."""

    def left_out(self, rows: Rows) -> np.ndarray:
        """Predictions (n, q) of each row by the others."""
        return np.asarray(rows.Y - self.residuals / rows.root / self.room[:, None])


def fit_ridge(rows: Rows) -> RidgeFit:
    r"""Ridge regression.

    .. math:: b = (X^\top X + \lambda n)^{-1} X^\top Y, \qquad
              e_i = \frac{y_i - f(x_i)}{1 - h_i}, \quad
              h_i = x_i^\top (X^\top X + \lambda n)^{-1} x_i + \frac1n

    of centred columns, with the penalty that makes the mean of :math:`e_i^2` smallest.

    Parameters
    ----------
    rows : Rows
        Training rows.
    """
    Y = rows.centered(rows.Y)
    left, singular, right = np.linalg.svd(rows.centered(rows.X), full_matrices=False)
    inner, squares = left.T @ Y, singular**2
    constant_share = rows.weights / rows.weights.sum()
    best: tuple[float, np.ndarray, np.ndarray, np.ndarray] | None = None
    for penalty in PENALTIES * rows.weights.sum():
        shares = squares / (squares + penalty)
        residuals = Y - left @ (shares[:, None] * inner)
        room = np.maximum(1 - left**2 @ shares - constant_share, 1e-3)
        squares_left = (residuals / room[:, None]) ** 2
        score = float(squares_left.sum() / (rows.weights.sum() * Y.shape[1]))
        if best is None or score < best[0]:
            scaled = (shares / np.maximum(singular, 1e-300))[:, None] * inner
            best = score, residuals, room, right.T @ scaled
    assert best is not None
    score, residuals, room, slopes = best
    constant = rows.mean(rows.Y) - rows.mean(rows.X) @ slopes
    return RidgeFit(LinearMember(slopes, constant), residuals, room, score)

"""Ridge regression on features that are made block by block, for many ridges and labels at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._standardize import chunk_rows, row_blocks

Features = Callable[[np.ndarray], np.ndarray]

_RIDGES = 10.0 ** np.arange(-5.0, 2.01, 0.5)  # in units of the mean eigenvalue


@dataclass(frozen=True)
class RidgePath:
    """Linear functions of features, one for every ridge and every label.

    Parameters
    ----------
    features : callable
        Features (n, q) of rows (n, m).
    coefficients : ndarray (R, q, s)
        For every ridge, feature and label.
    constants : ndarray (R, s)
        Constants.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> path = RidgePath.of(lambda rows: np.hstack([rows, rows**2]), x, 3 * x**2 - x + 1)
    >>> path(np.array([[2.0]]))[0, 0].round(3)
    array([11.])
    """

    features: Features
    coefficients: np.ndarray
    constants: np.ndarray

    @classmethod
    def of(cls, features: Features, X: np.ndarray, T: np.ndarray) -> RidgePath:
        """Fits of labels T (n, s) at rows X (n, m); without features they are the mean labels."""
        n, s = T.shape
        q = features(X[:1]).shape[1]
        gram, right, sums = np.zeros((q, q)), np.zeros((q, s)), np.zeros(q)
        for part in row_blocks(n, chunk_rows(3 * q, X.itemsize)):
            F = features(X[part])
            gram += F.T @ F
            right += F.T @ T[part].astype(F.dtype)
            sums += F.sum(axis=0)
        means, label_means = sums / n, T.mean(axis=0)
        gram -= n * np.outer(means, means)
        right -= n * np.outer(means, label_means)
        values, vectors = np.linalg.eigh(gram)
        unit = float(values.mean()) if q else 1.0
        damped = np.maximum(values, 0.0) + (_RIDGES * (unit or 1.0))[:, None]
        coefficients = vectors @ ((vectors.T @ right) / damped[:, :, None])
        return cls(features, coefficients, label_means - means @ coefficients)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n, R, s)."""
        R, q, s = self.coefficients.shape
        out = np.empty((len(X), R, s))
        flat = np.moveaxis(self.coefficients, 1, 0).reshape(q, R * s).astype(X.dtype)
        for part in row_blocks(len(X), chunk_rows(3 * q, X.itemsize)):
            out[part] = (self.features(X[part]) @ flat).reshape(-1, R, s) + self.constants
        return out

    def at(self, ridges: np.ndarray) -> Readout:
        """The function with the given ridge (a number of it) for each label."""
        labels = np.arange(len(ridges))
        return Readout(
            self.features,
            self.coefficients[ridges, :, labels].T,
            self.constants[ridges, labels],
        )


@dataclass(frozen=True)
class Readout:
    """A linear function of features.

    Parameters
    ----------
    features : callable
        Features (n, q) of rows (n, m).
    coefficients, constants : ndarray (q, s), (s,)
        Of the outputs.
    """

    features: Features
    coefficients: np.ndarray
    constants: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n, s)."""
        out = np.empty((len(X), len(self.constants)))
        c = self.coefficients.astype(X.dtype)
        for part in row_blocks(len(X), chunk_rows(3 * len(c), X.itemsize)):
            out[part] = self.features(X[part]) @ c + self.constants
        return out


def cross_fitted(
    features: list[Features], X: np.ndarray, T: np.ndarray, fold: np.ndarray
) -> tuple[list[Readout], np.ndarray, np.ndarray]:
    """Readouts fitted without one fold each, and their outputs and errors on the fold left out.

    The ridge of each label is the one with the smallest error over all folds. The errors (s,) are
    those squares, summed.

    Parameters
    ----------
    features : list of callable
        For each fold, the features of the fit that has not seen it.
    X, T : ndarray (n, m), (n, s)
        Rows and labels.
    fold : ndarray (n,)
        Number of the fold of each row.
    """
    paths, outputs = [], []
    total = np.zeros(())
    for j, made in enumerate(features):
        mine = fold == j
        path = RidgePath.of(made, X[~mine], T[~mine])
        outputs.append(path(X[mine]))
        paths.append(path)
        total = total + ((outputs[-1] - T[mine, None]) ** 2).sum(axis=0)
    best = np.argmin(total, axis=0)
    fitted = np.empty(T.shape)
    for j, values in enumerate(outputs):
        fitted[fold == j] = values[:, best, np.arange(T.shape[1])]
    return [path.at(best) for path in paths], fitted, total.min(axis=0)

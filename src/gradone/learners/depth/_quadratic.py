r"""Ridge regression with the quadratic kernel, in the space of the forms instead of the samples.

With :math:`K(x, x') = (x \cdot x')^2 + x \cdot x'` and a free constant the fit is a form,

.. math:: \min_{A, b, c} \sum_\mu (y_\mu - f(x_\mu))^2 + \lambda\,(|A|_F^2 + |b|^2), \qquad
          f(x) = x^\top A x + b \cdot x + c.    [LW-7]

The normal equations are never written down: their product with a form costs n d^2 operations and
the memory of the form. The Krylov space of a few such products contains the solutions for all
:math:`\lambda` at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._standardize import chunk_rows, row_blocks
from ..lazy._validation import ridge_candidates
from ._data import SplitData

_DIMENSION = 20  # of the Krylov space: errors of the fit are known to 1e-4
_SMALL = 1e-7  # the space is complete when a new product adds less than this share
_PER_DECADE = 2


@dataclass(frozen=True)
class QuadraticForm:
    r"""A function :math:`x^\top A x + b \cdot x + c`.

    Parameters
    ----------
    matrix : ndarray (d, d)
        A, symmetric.
    slope : ndarray (d,)
        b.
    constant : float
        c.

    Examples
    --------
    >>> form = QuadraticForm(np.diag([1.0, -1.0]), np.array([0.0, 2.0]), 0.5)
    >>> form(np.array([[3.0, 1.0]]))
    array([10.5])
    """

    matrix: np.ndarray
    slope: np.ndarray
    constant: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Values (n,)."""
        bent = np.einsum("nd,nd->n", X @ self.matrix.astype(X.dtype), X)
        values: np.ndarray = bent + X @ self.slope.astype(X.dtype) + X.dtype.type(self.constant)
        return values


def quadratic_fit(data: SplitData) -> tuple[QuadraticForm, float, float]:
    """Fit of the rows to learn from, its ridge, and what the rows held out would bring.

    The rows held out choose the ridge. The last number is the factor by which the error is
    expected to fall if they are fitted as well: they are a fifth of all, and it falls so if a fifth
    of the others is added.
    """
    space = KrylovSpace.of(data.X, data.y)
    ridges = ridge_candidates(space.unit, per_decade=_PER_DECADE)
    forms = space.fitted(ridges)
    errors = [data.held_out_mse(form) for form in forms]
    best = int(np.argmin(errors))
    some = max(1, round(0.8 * len(data.y)))
    fewer = KrylovSpace.of(data.X[:some], data.y[:some]).fitted([ridges[best]])[0]
    before = data.held_out_mse(fewer)
    return forms[best], ridges[best], min(errors[best] / before, 1.0) if before else 1.0


def quadratic_refit(data: SplitData, ridge: float) -> QuadraticForm:
    """Fit of all rows, those held out as well."""
    X, y = np.concatenate([data.X, data.X_held]), np.concatenate([data.y, data.y_held])
    return KrylovSpace.of(X, y).fitted([ridge])[0]


@dataclass(frozen=True)
class KrylovSpace:
    """Forms on which the normal equations of [LW-7] are tridiagonal.

    Parameters
    ----------
    basis : ndarray (k, d * (d + 1))
        Orthonormal forms: matrix, then slope.
    system : ndarray (k, k)
        The normal equations on them, without the ridge.
    right : float
        Length of their right side, which lies along the first form.
    means : ndarray (k,)
        Mean values of the forms over the rows.
    label_mean : float
        Mean label.
    unit : float
        Mean eigenvalue of the normal equations.
    """

    basis: np.ndarray
    system: np.ndarray
    right: float
    means: np.ndarray
    label_mean: float
    unit: float

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> KrylovSpace:
        """Krylov space of rows and labels."""
        n, d = X.shape
        blocks = row_blocks(n, chunk_rows(3 * d, X.itemsize))
        label_mean = float(np.mean(y, dtype=np.float64))

        def transposed(t: np.ndarray) -> np.ndarray:
            """Sum of t times (x x^T, x)."""
            form = np.zeros(d * (d + 1))
            for part in blocks:
                weighted = X[part] * t[part, None].astype(X.dtype)
                form[: d * d] += (X[part].T @ weighted).ravel()
                form[d * d :] += weighted.sum(axis=0)
            return form

        def values(form: np.ndarray) -> np.ndarray:
            """Values of a form without a constant."""
            bare = QuadraticForm(form[: d * d].reshape(d, d), form[d * d :], 0.0)
            return np.concatenate([bare(X[part]) for part in blocks]).astype(np.float64)

        start = transposed(y - label_mean)
        right = float(np.linalg.norm(start))
        basis: list[np.ndarray] = []
        system, means = np.zeros((_DIMENSION, _DIMENSION)), []
        new, size = start, right
        while len(basis) < _DIMENSION and size > _SMALL * right:
            basis.append(new / size)
            f = values(basis[-1])
            means.append(float(f.mean()))
            new = transposed(f - means[-1])
            k = len(basis)
            for _ in range(2):  # twice is enough for orthogonality
                shares = np.array(basis) @ new
                system[:k, k - 1] += shares
                new = new - shares @ np.array(basis)
            size = float(np.linalg.norm(new))
        k = len(basis)
        squares = np.einsum("nd,nd->n", X, X).astype(np.float64)
        return cls(
            np.array(basis).reshape(k, d * (d + 1)),
            np.triu(system[:k, :k]) + np.triu(system[:k, :k], 1).T,
            right,
            np.array(means),
            label_mean,
            float(np.sum(squares**2 + squares)) / min(n, d * (d + 3) // 2) or 1.0,
        )

    def fitted(self, ridges: Sequence[float]) -> list[QuadraticForm]:
        """The fit for every value of the ridge."""
        k, columns = self.basis.shape
        d = round((columns + 0.25) ** 0.5 - 0.5)
        forms = []
        for ridge in ridges:
            a = np.zeros(k)
            if k:
                a = np.linalg.solve(self.system + ridge * np.eye(k), self.right * np.eye(k)[0])
            form = a @ self.basis
            constant = self.label_mean - float(a @ self.means)
            forms.append(QuadraticForm(form[: d * d].reshape(d, d), form[d * d :], constant))
        return forms

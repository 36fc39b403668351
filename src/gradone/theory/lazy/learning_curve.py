"""Learning curves of real tables, predicted from second moments alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.axes import axis_values
from ...base.errors import BadData, OutOfRegime
from ..predict import settled
from ._points import Point, points_curve
from .gaussian_covariates import ANSWERS, LABELS, known_choice, known_loss, ridge_values

if TYPE_CHECKING:
    import xarray as xr

    from ._covariate_fits import CovariateModel

_BLOCKS = 10
_QUANTILE = 3.2498  # of Student's t with 9 degrees of freedom, two-sided 99 %
_SMALLEST = 20
LOSSES = ("square", "logistic", "hinge")
CAVEAT = (
    "The prediction is that of Gaussian features with the same covariances. Real features are not "
    "Gaussian: expect the error to be 1 to 20 % larger than predicted when the table has fewer "
    "than ten rows for each feature or heavy tails; the intervals do not count this."
)


def learning_curve(
    features: Any,
    y: Any,
    *,
    n: Any,
    ridge: Any,
    loss: str = "square",
    on_failure: Literal["raise", "mark"] = "raise",
) -> xr.Dataset:
    r"""Predicted error of a penalized linear fit to n rows of a table, for any n.

    The covariances of a table of N rows,

    .. math:: \Omega = \frac1N\sum_i v_i v_i^\top, \qquad c = \frac1N\sum_i v_i y_i, \qquad
              \rho = \frac1N\sum_i y_i^2                                                 [LC-1]

    (features and labels centered), enter :func:`gaussian_covariates`. Nothing is fitted.

    Parameters
    ----------
    features : array or data frame (N, p)
        Features as they enter the linear predictor: columns of the table, or of any transformer.
    y : array (N,)
        Numbers for the square loss; else two values of any kind.
    n : number or array
        Rows to train on. The prediction is about new rows of the population that the table is a
        sample of, so n should be much smaller than N, or N much larger than p.
    ridge : number or array
        Penalty as in scikit-learn's ``Ridge(alpha=ridge)``, or ``LogisticRegression(C=1/ridge)``,
        on these columns.
    loss : {"square", "logistic", "hinge"}
        Loss of the fit.
    on_failure : {"raise", "mark"}
        What to do with points at which the fixed point was not reached: raise, or NaN there.

    Returns
    -------
    xarray.Dataset
        Over (n, ridge), as :func:`gaussian_covariates`. ``q_err`` is the half-width of a 99 %
        interval for the sampling of the table (jackknife over ten blocks of rows).
        ``attrs["caveat"]`` says what it does not cover.

    Notes
    -----
    Squares need no more than second moments. For the other losses the labels are taken as the sign
    of a Gaussian field whose mean and covariances reproduce the share of the classes and the
    covariances of the labels, :math:`\mathbb{E}[vy] = 2\varphi(\tau)\,\mathbb{E}[v\nu]` with
    :math:`P(y = 1) = \Phi(\tau)` [LC-2]. Classes that are well separated clusters are no such
    field: they are refused.

    References
    ----------
    Loureiro et al. 2021, arXiv:2102.08127.

    Examples
    --------
    >>> import gradone as gd
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = gd.theory.learning_curve(X, y, n=[50, 200], ridge=0.1)
    >>> found.test_mse.values.ravel().round()
    array([3382., 3005.])
    """
    known_loss(loss, LOSSES)
    known_choice(on_failure)
    X = _matrix(features)
    labels = _numbers(y, len(X)) if loss == "square" else _signs(y, len(X))
    axes = {"n": axis_values("n", n), "ridge": ridge_values(ridge, loss)}
    whole = _moments(X, labels, loss)
    if whole.share > 1:
        raise OutOfRegime(
            "these labels are more predictable than the sign of a Gaussian field can be (a linear "
            f"fit explains {whole.share:.3g} of the variance that such a field would have): the "
            "classes are clusters, and a prediction for this loss would be far too large. Use "
            "loss='square', which holds for labels of any kind"
        )
    # Which rows a block holds must not depend on the order of the table, which may be sorted.
    block = np.random.default_rng(0).permutation(len(X)) % _BLOCKS
    parts = [_moments(X[block != i], labels[block != i], loss) for i in range(_BLOCKS)]
    found = points_curve(
        _JackknifedPoint(whole, parts, loss),
        axes,
        source="theory:learning_curve",
        target=f"a table of {X.shape[0]} rows and {X.shape[1]} features",
        params={"loss": loss, "rows": X.shape[0], "features": X.shape[1]},
        answers=ANSWERS,
        labels=LABELS,
    )
    found = found.drop_vars([v for v in ("excess_mse", "excess_mse_err") if v in found])
    return settled(found.assign_attrs(caveat=CAVEAT), "learning_curve", on_failure)


@dataclass(frozen=True)
class _Moments:
    """Second moments of a table [LC-1]."""

    model: CovariateModel
    mean: float
    share: float
    """Share of the field's variance that the features explain; cut at 1 in the model."""

    def point(self, loss: Any) -> Callable[..., Point]:
        from ._covariate_fits import LabelFit, SquareFit

        if loss == "square":
            return SquareFit(self.model, 0.0)
        return LabelFit(self.model, loss, 0.0, self.mean)


class _JackknifedPoint:
    """Prediction of a table, with its error from tables without a tenth of the rows."""

    def __init__(self, whole: _Moments, parts: list[_Moments], loss: str) -> None:
        self._whole = whole.point(loss)
        self._parts = [part.point(loss) for part in parts]

    def __call__(self, n: float, ridge: float) -> Point:
        whole: Point = self._whole(n=n, ridge=ridge)
        if whole.status:
            return whole
        parts: list[Point] = [part(n=n, ridge=ridge) for part in self._parts]
        quantities = {}
        for name, (value, error) in whole.quantities.items():
            left_out = np.array([part.quantities[name][0] for part in parts if not part.status])
            if len(left_out) < len(parts) or not np.isfinite(left_out).all():
                quantities[name] = value, math.inf
                continue
            # Variance of the jackknife: (B - 1)/B times the sum of squares.
            spread = math.sqrt((_BLOCKS - 1) * float(np.var(left_out)))
            quantities[name] = value, error + _QUANTILE * spread
        return Point(quantities)


def _moments(X: np.ndarray, y: np.ndarray, loss: str) -> _Moments:
    """Second moments along the eigenvectors of the features' covariance [LC-1]."""
    from scipy.special import ndtri

    from ._covariate_fits import CovariateModel

    rows, columns = X.shape
    X = X - X.mean(axis=0)
    centered = y - y.mean()
    if columns <= rows:
        omega, U = np.linalg.eigh(X.T @ X / rows)
        c = U.T @ (X.T @ centered) / rows
    else:  # the other Gram matrix has the same eigenvalues
        omega, U = np.linalg.eigh(X @ X.T / rows)
        c = np.sqrt(np.maximum(omega, 0) / rows) * (U.T @ centered)
    seen = omega > 1e-12 * omega[-1]
    omega, c = omega[seen], c[seen]
    if loss == "square":
        return _Moments(CovariateModel(omega, c**2, float(centered @ centered / rows)), 0.0, 0.0)
    mean = float(ndtri(np.mean(y > 0)))
    c = c / (2 * math.exp(-mean * mean / 2) / math.sqrt(2 * math.pi))  # [LC-2]
    share = float((c**2 / omega).sum())
    return _Moments(CovariateModel(omega, c**2 / max(share, 1.0), 1.0), mean, share)


def moments_of_table(features: np.ndarray, y: np.ndarray) -> CovariateModel:
    """Second moments [LC-1] of features (N, p) and real labels, both centered.

    Examples
    --------
    >>> X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    >>> moments_of_table(X, 2 * X[:, 0]).covariances2
    array([4.])
    """
    return _moments(features, y, "square").model


def _matrix(features: Any) -> np.ndarray:
    """Features as a matrix of finite numbers."""
    try:
        X = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadData(
            "features must be numbers: encode text columns first, for example with scikit-learn's "
            "OneHotEncoder"
        ) from None
    if X.ndim != 2 or X.shape[0] < _SMALLEST or X.shape[1] < 1:
        raise BadData(
            f"features must have one row for each of at least {_SMALLEST} samples and one column "
            f"for each feature, got shape {X.shape}"
        )
    if not np.isfinite(X).all():
        row, column = (int(i[0]) for i in np.nonzero(~np.isfinite(X)))
        raise BadData(
            f"features contain {X[row, column]} at row {row}, column {column}: remove or fill it"
        )
    if (X == X[0]).all():
        raise BadData("all features are constant: nothing can be learned from them")
    return X


def _numbers(y: Any, rows: int) -> np.ndarray:
    """Labels of a regression."""
    try:
        labels = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadData(
            "labels of the square loss are numbers; for two classes use loss='logistic'"
        ) from None
    if labels.shape != (rows,):
        raise BadData(f"y must have one label for each of the {rows} rows, got {labels.shape}")
    if not np.isfinite(labels).all():
        place = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise BadData(f"y contains {labels[place]} at row {place}: remove this row")
    if (labels == labels[0]).all():
        raise BadData(f"all labels are {labels[0]:g}: there is nothing to learn")
    return labels


def _signs(y: Any, rows: int) -> np.ndarray:
    """Labels of two classes as -1 and 1, the larger class value as 1."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise BadData(f"y must have one label for each of the {rows} rows, got {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        place = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise BadData(f"y contains {labels[place]} at row {place}: remove this row")
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        raise BadData(
            f"a classification needs labels of two classes, got {len(classes)}: "
            f"{', '.join(map(str, classes[:5]))}"
        )
    if np.bincount(index).min() < 2 * _BLOCKS:
        raise BadData(
            f"each class needs at least {2 * _BLOCKS} rows, got {np.bincount(index).min()} rows of "
            f"'{classes[np.bincount(index).argmin()]}'"
        )
    return 2.0 * index - 1

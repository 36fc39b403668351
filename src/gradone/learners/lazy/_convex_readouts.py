"""Readouts of random features for a convex loss, primal or dual."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .._feature_map import FeatureMap
from ._convex_fit import Fitted, newton_fit
from ._convex_losses import Hinge, Huber, Logistic
from ._design import Design, FeatureDesign
from ._feature_ridge import DualFeatures, Readout
from ._hinge_fit import hinge_fit
from ._ridge_system import RidgeSystem

Loss = Logistic | Huber | Hinge


def convex_readouts(
    features: FeatureMap,
    X: np.ndarray,
    Y: np.ndarray,
    ridges: Sequence[float],
    *,
    loss: Loss,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    chunk_size: int | None = None,
) -> list[Readout]:
    r"""Readouts, one for each value of the ridge; each output is fitted on its own.

    With fewer rows than features the features are replaced by coordinates of the rows in the
    space that they span, from the eigenvectors of the kernel :math:`\Phi\Phi^\top/p`: the norm of
    the coefficients, and with it the problem, stays the same.

    Parameters
    ----------
    features : FeatureMap
        The features.
    X : ndarray (n, d)
        Inputs.
    Y : ndarray (n, k)
        Labels, in float64.
    ridges : sequence of float
        Positive values of the ridge.
    loss : Logistic, Huber or Hinge
        The loss.
    fit_intercept : bool
        Whether the outputs have a free constant.
    tol, max_iter : float, int
        Gap at which Newton's method stops, and its most steps.
    chunk_size : int, optional
        Rows of a block; chosen by size if None.
    """
    # With a free constant only differences of the labels count; equal ones then have no loss.
    center = np.zeros(Y.shape[1])
    if fit_intercept and isinstance(loss, Huber):
        center = np.median(Y, axis=0)
        Y = Y - center
    design, pull = _design(features, X, fit_intercept, chunk_size)
    found: list[Readout] = [None] * len(ridges)  # type: ignore[list-item]
    last: list[np.ndarray | None] = [None] * Y.shape[1]
    # From the strongest ridge to the weakest: each solution is a good start for the next.
    for place in np.argsort(ridges)[::-1].tolist():
        fits = []
        for j, y in enumerate(Y.T):
            fit = _fit(design, np.ascontiguousarray(y), loss, ridges[place], tol, max_iter, last[j])
            last[j] = fit.theta
            fits.append(fit)
        theta = np.column_stack([fit.theta for fit in fits])
        outputs = np.column_stack([fit.outputs for fit in fits])
        coefficients, intercept = pull(theta)
        found[place] = Readout(
            coefficients,
            intercept + center,
            train_mse=np.mean((Y - outputs) ** 2, axis=0),
            train_loss=np.mean(loss.value(Y, outputs), axis=0),
            gap=max(fit.gap for fit in fits),
            n_iter=max(fit.n_iter for fit in fits),
            converged=all(fit.gap <= tol for fit in fits),
        )
    return found


def _fit(
    design: Design,
    y: np.ndarray,
    loss: Loss,
    ridge: float,
    tol: float,
    max_iter: int,
    start: np.ndarray | None,
) -> Fitted:
    if isinstance(loss, Hinge):  # an interior point gains nothing from a start at the border
        return hinge_fit(design, y, ridge, tol=tol, max_iter=max_iter)
    return newton_fit(design, y, loss, ridge, tol=tol, max_iter=max_iter, start=start)


Pull = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _design(
    features: FeatureMap, X: np.ndarray, fit_intercept: bool, chunk_size: int | None
) -> tuple[Design, Pull]:
    """Rows of the model, and its coefficients (m, k) as readout (p, k) and intercept (k,)."""
    n, p = len(X), features.width
    if n >= p:
        design = FeatureDesign(
            features, X, has_intercept=fit_intercept, chunk_size=chunk_size
        ).held()

        def split(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return theta[:p], theta[p:].sum(axis=0)

        return design, split
    dual = DualFeatures(features, X, centred=fit_intercept)
    system = RidgeSystem(dual.gram(), np.empty((n, 0)))
    values, vectors = system.spectrum
    kept = values > system.rounding
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    m = len(roots)
    matrix = np.ones((n, m + fit_intercept))
    matrix[:, :m] = vectors * roots

    def pulled(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a = dual.pull(vectors @ (theta[:m] / roots[:, None]))
        return a, theta[m:].sum(axis=0) - dual.means @ a / math.sqrt(p)

    return Design(matrix, has_intercept=fit_intercept), pulled

"""Generalized linear models on Gaussian features of any covariance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.axes import axis_values
from ...base.errors import BadData, did_you_mean
from .._inputs import like_vector, nonnegative, number, positive, spectrum_values
from ..predict import settled
from ._points import Point, points_curve

if TYPE_CHECKING:
    import xarray as xr

    from ._covariate_fits import CovariateModel

LOSSES = ("square", "huber", "logistic", "hinge")
_LARGEST_MEAN = 6.0
LABELS = {
    "overlap": (r"m", "covariance of the output with the field of the labels"),
    "norm": (r"q", "variance of the output"),
    "response": (r"V", "response of the output to a sample"),
    "intercept": (r"b", "intercept"),
}
ANSWERS = (
    *("excess_mse", "test_mse", "train_mse", "zero_one_error", "train_loss"),
    *LABELS,
    "effective_ridge",
)


def gaussian_covariates(
    *,
    eigenvalues: Any,
    coefficients: Any,
    rho: float,
    n: Any,
    ridge: Any,
    noise: float = 0.0,
    loss: str = "square",
    delta: float = 1.0,
    flips: float = 0.0,
    mean: float = 0.0,
    outliers: tuple[float, float] | None = None,
    on_failure: Literal["raise", "mark"] = "raise",
) -> xr.Dataset:
    r"""Errors of a penalized linear fit to Gaussian features of any covariance.

    Features v have the covariance :math:`\Omega = U\,\mathrm{diag}(\omega_i)\,U^\top`. The labels
    depend on a Gaussian field :math:`\nu` of variance :math:`\rho` whose covariance with the
    features is c along their eigenvectors. The fit minimizes
    :math:`\sum_{i\le n}(y_i - \langle w, v_i\rangle)^2 + \lambda|w|^2`, or
    :math:`\sum_i \ell(y_i, \langle w, v_i\rangle) + \frac\lambda2|w|^2`. For the square loss

    .. math:: \kappa\Big(n - \sum_i\frac{\omega_i}{\omega_i+\kappa}\Big) = \lambda, \qquad
              E_\mathrm{test} = \frac{\rho - \sum_i\frac{c_i^2}{\omega_i+\kappa}
              - \kappa\sum_i\frac{c_i^2}{(\omega_i+\kappa)^2} + \Delta}
              {1 - \frac1n\sum_i\big(\frac{\omega_i}{\omega_i+\kappa}\big)^2}           [CV-1]

    and :math:`E_\mathrm{train} = (\lambda/n\kappa)^2 E_\mathrm{test}`. Other losses solve the
    fixed point [EM-1] of three scalars with

    .. math:: \mathrm{df}_j = \sum_i\Big(\frac{\omega_i}{\omega_i+\kappa}\Big)^j, \qquad
              A = \sum_i\frac{c_i^2}{\rho(\omega_i+\kappa)}, \qquad
              A_2 = \sum_i\frac{c_i^2\,\omega_i}{\rho(\omega_i+\kappa)^2}.              [CV-2]

    Parameters
    ----------
    eigenvalues : array (p,)
        :math:`\omega_i \ge 0`.
    coefficients : array (p,)
        :math:`c_i = \mathbb{E}[v_i\nu]`, neither squared nor divided by :math:`\omega_i`; their
        signs do not matter.
    rho : float
        :math:`\mathbb{E}\nu^2`, at least :math:`\sum_i c_i^2/\omega_i`: the rest is the part of
        the labels that no linear function of the features explains.
    n : number or array
        Samples.
    ridge : number or array
        Penalty :math:`\lambda`, of features that enter the predictor as they are: random features
        are :math:`v = \varphi/\sqrt{\mathrm{width}}`. Zero only for the square loss.
    noise : float
        Variance of additive Gaussian label noise (square, Huber).
    loss : {"square", "huber", "logistic", "hinge"}
        Square and Huber: :math:`y = \nu` + noise; of the labels of the square loss only the second
        moments :math:`c = \mathbb{E}[vy]`, :math:`\rho = \mathbb{E}y^2` matter. Logistic and hinge:
        :math:`y = \mathrm{sign}(\nu + \mathrm{mean})`.
    delta : float
        Residual from which the Huber loss is linear.
    flips : float
        Probability that a label +-1 is the other one, in training and in new samples.
    mean : float
        Mean of the field of the labels +-1. An intercept is fitted without penalty; it vanishes if
        the mean does.
    outliers : (float, float), optional
        Share of the samples whose noise has another variance, and this variance (Huber).
    on_failure : {"raise", "mark"}
        What to do with points at which the fixed point was not reached: raise, or NaN there.

    Returns
    -------
    xarray.Dataset
        Over (n, ridge): ``excess_mse``, ``test_mse`` (square, Huber) and ``train_mse`` (square);
        ``zero_one_error`` (logistic, hinge); ``train_loss``, ``overlap``
        :math:`m = \mathbb{E}[\nu f]`, ``norm`` :math:`q = \mathbb{E}f^2`, ``response`` V and the
        ``intercept`` of losses other than squares; ``effective_ridge`` :math:`\kappa`.

    Raises
    ------
    NotConverged
        If some fixed point was not reached and `on_failure` is ``"raise"``; ``last`` holds the
        last iterates.

    Notes
    -----
    Exact for n and p large and in proportion; errors are those of solver and quadrature, not of
    finite sizes. A published solver writes :math:`\langle w, v\rangle/\sqrt p`: its penalty is
    ours divided by p.

    References
    ----------
    Loureiro et al. 2021, arXiv:2102.08127.

    Examples
    --------
    >>> import numpy as np
    >>> import gradone as gd
    >>> spectrum = np.repeat([4.0, 1.0, 0.25, 0.0625], 50)
    >>> c = np.sqrt(np.repeat([0.008, 0.002, 0.001, 0.0002], 50))
    >>> found = gd.theory.gaussian_covariates(
    ...     eigenvalues=spectrum, coefficients=c, rho=1.0, n=[100, 400], ridge=0.5, noise=0.1)
    >>> found.excess_mse.values.ravel().round(5)
    array([2.23102, 0.95411])
    """
    known_loss(loss, LOSSES)
    known_choice(on_failure)
    model = covariate_model(eigenvalues, coefficients, rho)
    axes = {"n": axis_values("n", n), "ridge": ridge_values(ridge, loss)}
    found = points_curve(
        _fit(model, loss, noise, delta, flips, mean, outliers),
        axes,
        source="theory:gaussian_covariates",
        target=f"a field on {len(model.eigenvalues)} Gaussian features",
        params={"loss": loss, "rho": model.rho, "noise": noise, "delta": delta, "flips": flips,
                "mean": mean, "outliers": outliers},
        answers=ANSWERS,
        labels=LABELS,
    )  # fmt: skip
    return settled(found, "gaussian_covariates", on_failure)


def known_loss(loss: str, known: tuple[str, ...]) -> None:
    """Refuse the name of a loss that is not among the known ones."""
    if loss not in known:
        raise BadData(
            f"unknown loss {loss!r}. Known: {', '.join(known)}.{did_you_mean(str(loss), known)}"
        )


def known_choice(on_failure: str) -> None:
    """Refuse what is not a way to treat failures."""
    if on_failure not in ("raise", "mark"):
        raise BadData(f"on_failure must be 'raise' or 'mark', got {on_failure!r}")


def ridge_values(ridge: Any, loss: str) -> np.ndarray:
    """Penalties, checked: zero is a limit that the square loss has.

    Examples
    --------
    >>> ridge_values(0.0, "hinge")
    Traceback (most recent call last):
    gradone.base.errors.BadData: ridge must be > 0 for the loss 'hinge', got 0: ...
    """
    values = axis_values("ridge", ridge, zero=True)
    if loss != "square" and not values.all():
        raise BadData(
            f"ridge must be > 0 for the loss '{loss}', got 0: without it the weights grow without "
            "end when the data can be fitted. Use a small one such as 1e-6."
        )
    return values


def covariate_model(eigenvalues: Any, coefficients: Any, rho: Any) -> CovariateModel:
    """Model of checked numbers.

    Examples
    --------
    >>> covariate_model([1.0, 4.0], [1.0, 1.0], 1.0)
    Traceback (most recent call last):
    gradone.base.errors.BadData: coefficients and rho do not belong together: ...
    """
    from ._covariate_fits import CovariateModel

    omega = spectrum_values(eigenvalues)
    c = like_vector("coefficients", coefficients, "eigenvalues", len(omega))
    rho = positive("rho", rho)
    seen = omega > 0
    explained = float((c[seen] ** 2 / omega[seen]).sum())
    if (c[~seen] ** 2 > 1e-12 * rho * omega.max()).any():
        explained = math.inf
    if explained > rho * (1 + 1e-9):
        raise BadData(
            "coefficients and rho do not belong together: the sum of coefficients^2/eigenvalues is "
            f"{explained:.6g}, more than rho = {rho:g}. Coefficients are covariances E[v_i y] of a "
            "feature and the label, rho is E[y^2]"
        )
    return CovariateModel(omega[seen], c[seen] ** 2, rho)


def _fit(
    model: CovariateModel,
    loss: Any,
    noise: float,
    delta: float,
    flips: float,
    mean: float,
    outliers: tuple[float, float] | None,
) -> Callable[..., Point]:
    """Function of n and ridge, with parameters that are right and have a meaning together."""
    from ._covariate_fits import HuberFit, LabelFit, SquareFit

    noise = nonnegative("noise", noise, what="a variance")
    flips = nonnegative("flips", flips, what="a probability")
    labels = loss in ("logistic", "hinge")
    if noise and labels:
        raise BadData(
            f"labels +-1 carry no additive noise, got noise = {noise:g} with loss='{loss}': add it "
            "to rho (noise of the field), or use flips=... (wrong labels)"
        )
    if flips and (not labels or flips >= 0.5):
        raise BadData(
            "flips are a probability below 1/2 for the losses 'logistic' and 'hinge', got "
            f"{flips:g} with loss='{loss}'"
        )
    if outliers is not None:
        if loss != "huber" or np.shape(outliers) != (2,) or not 0 <= outliers[0] <= 1:
            raise BadData(
                "outliers are (share in [0, 1], variance >= 0) and for the loss 'huber', got "
                f"{outliers!r} with loss='{loss}'"
            )
        outliers = float(outliers[0]), nonnegative("the variance of outliers", outliers[1])
    if loss == "square":
        return SquareFit(model, noise)
    if loss == "huber":
        return HuberFit(model, noise, positive("delta", delta), outliers)
    mean = number("mean", mean)
    if abs(mean) > _LARGEST_MEAN * math.sqrt(model.rho):
        raise BadData(
            f"mean = {mean:g} is more than {_LARGEST_MEAN:g} standard deviations of the field: all "
            "labels would be of one class"
        )
    return LabelFit(model, loss, flips, mean)

"""Convex losses on Gaussian features of any covariance: one point of a learning curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ...targets.target import Target
from ._deterministic_equivalents import Spectrum, equivalents, with_errors
from ._erm_huber import HuberOutput, Noise
from ._erm_labels import TwoLabels
from ._erm_margin import MarginOutput
from ._erm_solve import Learned, learn
from ._features_points import label_error
from ._features_spectrum import Sums
from ._points import Point


@dataclass(frozen=True)
class CovariateModel:
    """Gaussian features and a Gaussian field, by all that matters of them.

    Parameters
    ----------
    eigenvalues : ndarray (p,)
        Of the features' covariance, positive.
    covariances2 : ndarray (p,)
        Squared covariances of the field with the features along the eigenvectors.
    rho : float
        Variance of the field.
    """

    eigenvalues: np.ndarray
    covariances2: np.ndarray
    rho: float

    @cached_property
    def levels(self) -> Spectrum:
        """The same as kernel levels; what the features do not explain is a level at zero."""
        weights = self.covariances2 / self.eigenvalues
        unexplained = max(self.rho - float(weights.sum()), 0.0)
        return Spectrum(
            np.append(self.eigenvalues, 0.0),
            np.append(weights, unexplained),
            np.ones(len(weights) + 1),
        )

    def sums(self, kappa: float) -> Sums:
        """Sums over the spectrum at an effective ridge [CV-2]."""
        inverse = 1 / (self.eigenvalues + kappa)
        share, covariances2 = self.eigenvalues * inverse, self.covariances2 / self.rho
        return Sums(
            share.sum(), share @ share, covariances2 @ inverse, covariances2 @ (share * inverse)
        )


@dataclass(frozen=True)
class SquareFit:
    """Fit of squares [CV-1]: kernel regression [DF-3] whose levels are the eigenvalues."""

    model: CovariateModel
    noise: float

    def __call__(self, n: float, ridge: float) -> Point:
        """Quantities at one point, with their errors."""
        found = with_errors(
            *equivalents(self.model.levels, n=n, width=math.inf, ridge=ridge, noise=self.noise)
        )
        return Point(found | {"effective_ridge": found["nu2"]})


@dataclass(frozen=True)
class HuberFit:
    """Fit of the Huber loss to the field with additive noise."""

    model: CovariateModel
    noise: float
    delta: float
    outliers: tuple[float, float] | None

    @cached_property
    def parts(self) -> list[tuple[float, float]]:
        """Shares and variances of the components of the noise."""
        if self.outliers is None:
            return [(1.0, self.noise)]
        share, variance = self.outliers
        return [(1 - share, self.noise), (share, variance)]

    def __call__(self, n: float, ridge: float) -> Point:
        """Quantities at one point, with their errors."""
        # In units of the field's standard deviation s: outputs scale with s, losses with s^2, and
        # the penalty stays as it is.
        rho = self.model.rho
        output = HuberOutput(
            Target("z"),
            self.delta / math.sqrt(rho),
            [Noise(share, variance / rho) for share, variance in self.parts],
        )
        found = learn(output, self.model.sums, samples=n, ridge=ridge, free_bias=False)
        noise = sum(share * variance for share, variance in self.parts)
        q, m = found.field.q, float(found.field.m[0])
        excess = rho * (1 + q - 2 * m)
        error = rho * (found.error.q + 2 * float(found.error.m[0]) + 1e-15 * (1 + q))
        return Point(
            {
                "excess_mse": (excess, error),
                "test_mse": (excess + noise, error),
                "train_loss": (rho * found.averages.loss, rho * found.loss_error),
            }
            | _common(found, rho, rho),
            _status(found),
        )


@dataclass(frozen=True)
class LabelFit:
    """Fit of a loss of the margin to labels +-1, the sign of the field plus a mean."""

    model: CovariateModel
    loss: Literal["logistic", "hinge"]
    flips: float
    mean: float

    @cached_property
    def labels(self) -> TwoLabels:
        """Law of the label, given the field in units of its standard deviation."""
        shift = self.mean / math.sqrt(self.model.rho)
        return TwoLabels(Target(f"sign(z + ({shift:.17f}))" if shift else "sign(z)"), self.flips)

    def __call__(self, n: float, ridge: float) -> Point:
        """Quantities at one point, with their errors."""
        output = MarginOutput(self.labels, self.loss)
        found = learn(output, self.model.sums, samples=n, ridge=ridge, free_bias=self.mean != 0)
        field, error = found.field, found.error
        shift = error.q + 2 * float(error.m[0]) * field.q / max(abs(float(field.m[0])), 1e-8)
        wrong, wrong_error = label_error(self.labels, field, 0.0, shift)
        return Point(
            {
                "zero_one_error": (wrong, wrong_error + error.b),
                "train_loss": (found.averages.loss, found.loss_error),
                "intercept": (field.b, error.b),
            }
            | _common(found, math.sqrt(self.model.rho), 1.0),
            _status(found),
        )


def _common(found: Learned, overlap: float, norm: float) -> dict[str, tuple[float, float]]:
    """Order parameters, in the units of overlap and norm."""
    (V, q, m, _), error = found.field, found.error
    return {
        "overlap": (overlap * float(m[0]), overlap * float(error.m[0])),
        "norm": (norm * q, norm * error.q),
        "response": (V, error.V),
        "effective_ridge": (found.kappa, found.kappa * error.V / V),
    }


def _status(found: Learned) -> str:
    if found.converged:
        return ""
    return (
        f"the fixed point was not reached after {found.n_iter} steps, residual "
        f"{found.residual:.1e}; use a larger ridge"
    )

"""The first stage of the layered learners: directions from corrected label-weighted moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.errors import BadData, number_of
from ._correction import Corrected, corrected_moments
from ._directions import LabelSpectrum, moments_spectrum, whitening_axes
from ._gaussian_features import GaussianFeatures
from ._moments import Moments
from ._ridge_path import Readout
from ._selection import one_after_the_other

ROUNDS = 5
"""Rounds of the correction."""

_LEAST_ROWS = 100
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class FirstStage:
    """Directions of whitened inputs that some weights of the labels depend on.

    Parameters
    ----------
    axes : ndarray (m, d)
        Whitened coordinate j of an input x is ``axes[j] @ (x - mean)``.
    """

    axes: np.ndarray

    def lift(self, X: np.ndarray) -> np.ndarray:
        """The whitened rows themselves."""
        return X

    def spectra(self, moments: Moments) -> list[LabelSpectrum]:
        """Spectrum of every weight."""
        return [moments_spectrum(moments, self.axes, i) for i in range(len(moments.first))]

    def find(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal directions (k, m) that stand out for some weight, and their weights (k,)."""
        return one_after_the_other(moments, self._found)

    def _found(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        return moments_spectrum(moments, self.axes).found

    def known(
        self, basis: np.ndarray, weights: np.ndarray, rng: np.random.Generator
    ) -> GaussianFeatures:
        """Functions of the directions found."""
        return GaussianFeatures.of(basis, weights, rng)

    def gaps(self, X: np.ndarray, features: GaussianFeatures, fit: Readout) -> np.ndarray:
        """For each fit f with the moment M: f (z^T M z - tr M) - |M|^2, and f times the rest of u.

        z are the coordinates along the directions, whitened once more: the whitening of all rows
        has made the covariance of these depend on those that have chosen the directions. The rest
        is the square of the other coordinates.
        """
        basis = features.basis
        along = (X @ basis.T.astype(X.dtype)).astype(np.float64)
        rest = np.einsum("nm,nm->n", X, X) - np.einsum("nk,nk->n", along, along)
        centred = along - along.mean(axis=0)
        variances, principal = np.linalg.eigh(centred.T @ centred / len(X))
        Z = centred @ (principal / np.sqrt(np.maximum(variances, _LEAST_VARIANCE))) @ principal.T
        columns, outputs = [], fit((Z @ basis).astype(X.dtype))
        for f, c in zip((outputs - outputs.mean(axis=0)).T, fit.coefficients.T, strict=True):
            M = basis @ features.moment(c) @ basis.T
            bent = np.einsum("nk,nk->n", Z @ M, Z) - np.trace(M)
            columns += [f * bent - np.sum(M**2), f * (rest - rest.mean())]
        return np.column_stack(columns)


@dataclass(frozen=True)
class Directions:
    """What the first stage has found.

    Parameters
    ----------
    mean : ndarray (d,)
        Of the inputs.
    stage : FirstStage
        Whitening, and how directions are found.
    corrected : Corrected
        Moments, and the shares of the weights that the rounds leave unexplained.
    """

    mean: np.ndarray
    stage: FirstStage
    corrected: Corrected

    @property
    def spectra(self) -> list[LabelSpectrum]:
        """Spectrum of every weight."""
        return self.stage.spectra(self.corrected.moments)


def first_stage(
    X: np.ndarray, T: np.ndarray, rng: np.random.Generator, *, rounds: int = ROUNDS
) -> Directions:
    """Directions of the inputs, from moments that are corrected [LW-8] where that is possible.

    Parameters
    ----------
    X : ndarray (n, d)
        Inputs.
    T : ndarray (n, s)
        Functions of the labels with mean 0.
    rng : Generator
        Of the correction.
    rounds : int
        Rounds of the correction.
    """
    mean, axes = whitening_axes(X)
    if not len(axes) or (T.min(axis=0) == T.max(axis=0)).all():
        what = "inputs" if not len(axes) else "labels"
        raise BadData(
            f"the {what} of the {number_of(len(T), 'row')} to learn from are all equal: "
            "nothing depends on anything. Use more rows, and columns that vary."
        )
    stage = FirstStage(axes)
    U = (X - mean.astype(X.dtype)) @ axes.T.astype(X.dtype)
    worth = len(X) >= _LEAST_ROWS and len(stage.find(Moments.of(U, T))[0])
    found = corrected_moments(stage, U, T, rng, rounds=rounds if worth else 0)
    return Directions(mean, stage, found)


def label_spectrum(
    X: np.ndarray, t: np.ndarray, rng: np.random.Generator, *, rounds: int = ROUNDS
) -> tuple[LabelSpectrum, list[float]]:
    """Spectrum of the label-weighted covariance of the rows, and what rounds leave unexplained.

    Parameters
    ----------
    X : ndarray (n, d)
        Inputs.
    t : ndarray (n,)
        Weights: functions of the labels with mean 0.
    rng : Generator
        Of the correction.
    rounds : int
        Rounds of the correction; 0 is the plain spectrum.
    """
    found = first_stage(X, t[:, None], rng, rounds=rounds)
    return found.spectra[0], [float(share[0]) for share in found.corrected.shares]

"""Layers of filters: what a layer computes of the features below, and how it is found.

Every layer is learned from rows and *scores* of their labels. Its values on those rows are returned
along with it, since what is fitted is evaluated there by fits that have not seen the row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ._correction import corrected_moments
from ._first_stage import first_stage
from ._hermite import hermite_products
from ._lofi_products import ProductStage
from ._lofi_ramps import Ramps
from ._ridge_path import Readout, cross_fitted
from ._selection import Spectrum

_FOLDS = 4


class Layer(Protocol):
    """Features of rows.

    `weights` (k,) says how much each of them counts, `filters` (k, P) and `spectra` where they
    come from.
    """

    @property
    def weights(self) -> np.ndarray:
        """Sizes (k,)."""

    @property
    def filters(self) -> np.ndarray:
        """Filters (k, P)."""

    @property
    def spectra(self) -> list[Spectrum]:
        """For each score."""

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features (n, k)."""


@dataclass(frozen=True)
class Directions:
    """Coordinates along directions of the inputs.

    Parameters
    ----------
    mean : ndarray (d,)
        Of the inputs.
    filters : ndarray (k, d)
        Coordinate j is ``filters[j] @ (x - mean)``, of variance 1.
    weights : ndarray (k,)
        How well the directions are known.
    spectra : list of Spectrum
        For each score.
    shares : ndarray (rounds, s)
        Shares of the scores that were left unexplained.
    """

    mean: np.ndarray
    filters: np.ndarray
    weights: np.ndarray
    spectra: list[Spectrum]
    shares: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The filters, as rows of a first layer (k, d)."""
        return self.filters

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, k)."""
        found: np.ndarray = (X - self.mean.astype(X.dtype)) @ self.filters.T.astype(X.dtype)
        return found


def directions_layer(
    X: np.ndarray, T: np.ndarray, rounds: int, keep: int | None, rng: np.random.Generator
) -> tuple[Directions, np.ndarray]:
    """Directions of the inputs that stand out, or those `keep` that do so most."""
    found = first_stage(X, T, rng, rounds=rounds)
    stage, moments = found.stage, found.corrected.moments
    spectra = [
        Spectrum.of(second, noise)
        for second, noise in zip(moments.second, moments.noise.T, strict=True)
    ]
    basis, weights = stage.find(moments)
    if keep is not None and len(basis) < keep:
        rows = np.concatenate([basis, *(spectrum.vectors[:keep] for spectrum in spectra)])
        basis = np.linalg.qr(rows.T)[0].T[:keep]
        weights = np.ones(len(basis))
    shares = np.array(found.corrected.shares).reshape(-1, T.shape[1])
    layer = Directions(found.mean, basis @ stage.axes, weights, spectra, shares)
    return layer, layer(X)


@dataclass(frozen=True)
class Products:
    """Quadratic functions of the features below, and the fit of the labels by these.

    Parameters
    ----------
    filters : ndarray (k, P)
        Of the products of degree one and two.
    weights : ndarray (k + 1,)
        How well they are known; the last is the fit.
    spectra : list of Spectrum
        For each score.
    fits : list of Readout
        Fits of the scores, each without one fold; their mean is the last feature.
    """

    filters: np.ndarray
    weights: np.ndarray
    spectra: list[Spectrum]
    fits: list[Readout]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features (n, k + 1) of the coordinates below."""
        return self.joined(X, np.mean([fit(X)[:, 0] for fit in self.fits], axis=0))

    def joined(self, Z: np.ndarray, fitted: np.ndarray) -> np.ndarray:
        """Features with given values of the fit."""
        quadratic = hermite_products(Z, 2) @ self.filters.T.astype(Z.dtype)
        return np.column_stack([quadratic, fitted.astype(Z.dtype)])


def products_layer(
    Z: np.ndarray, T: np.ndarray, weights: np.ndarray, gaussian: bool, rng: np.random.Generator
) -> tuple[Products, np.ndarray]:
    """Filters of products of coordinates Z (n, k), whose law may be Gaussian."""
    stage = ProductStage.of(weights, gaussian, rng)
    found = corrected_moments(stage, Z, T, rng, rounds=1, start=False)
    moments = found.moments
    filters, known = stage.find(moments)
    spectra = [
        Spectrum.of(second, noise)
        for second, noise in zip(moments.second, moments.noise.T, strict=True)
    ]
    layer = Products(filters, np.append(known, 1.0), spectra, found.fits)
    return layer, layer.joined(Z, found.fitted[:, 0])


@dataclass(frozen=True)
class Fitted:
    """The features below, and the fit of the labels by ramps of them.

    Parameters
    ----------
    fits : list of Readout
        Fits of the first score, each without one fold; their mean is the last feature.
    width : int
        Number of features below that are kept.
    weights : ndarray (width + 1,)
        Those below, and 1.
    """

    fits: list[Readout]
    width: int
    weights: np.ndarray
    filters: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    spectra: list[Spectrum] = field(default_factory=list)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features (n, width + 1) of those below."""
        return self.joined(X, np.mean([fit(X)[:, 0] for fit in self.fits], axis=0))

    def joined(self, H: np.ndarray, fitted: np.ndarray) -> np.ndarray:
        """Features with given values of the fit."""
        return np.column_stack([H[:, : self.width], fitted.astype(H.dtype)])


def fitted_layer(
    H: np.ndarray,
    T: np.ndarray,
    blocks: list[np.ndarray],
    count: int,
    rng: np.random.Generator,
) -> tuple[Fitted, np.ndarray]:
    """The fit of the first score by ramps of rows H (n, k), whose first block stays."""
    fold = rng.permutation(len(H)) % _FOLDS
    ramps = Ramps.of(H, blocks, count, rng)
    fits, fitted, _ = cross_fitted([ramps] * _FOLDS, H, T[:, :1], fold)
    layer = Fitted(fits, len(blocks[0]), np.append(blocks[0], 1.0))
    return layer, layer.joined(H, fitted[:, 0])

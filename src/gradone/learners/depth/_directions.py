r"""First layers from the label-weighted covariance of the inputs.

.. math:: C = \frac1n \sum_\mu t_\mu u_\mu u_\mu^\top,    [LW-1]

with the Gaussian score t of the rank of the label, centred, and whitened inputs u. One step of
gradient descent with the correlation loss and a quadratic activation multiplies the rows of a first
layer by C. Without signal the eigenvalues fill an interval whose ends the labels alone determine;
those beyond it belong to the directions that the label depends on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ._moments import Moments

_CHANCE = 1e-3  # that a linear part of pure noise is taken for a direction
_HIDDEN_FROM, _HIDDEN_WEIGHT = 0.85, 0.3  # eigenvalue over edge, weight of a row along it
_SHARE_OF_SPREAD = 1e-9  # directions in which the inputs vary less than this do not vary


def rank_scores(y: np.ndarray) -> np.ndarray:
    r"""Gaussian scores :math:`\Phi^{-1}((\text{rank} - 1/2)/n)` of labels, centred.

    Equal labels share the mean of their scores. Any increasing function of the labels has the same.

    Examples
    --------
    >>> rank_scores(np.array([5.0, -1.0, 700.0])).round(3) + 0.0
    array([ 0.   , -0.967,  0.967])
    """
    from scipy.special import ndtri

    _, which, counts = np.unique(y, return_inverse=True, return_counts=True)
    scores = ndtri((np.arange(len(y)) + 0.5) / len(y))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    means = np.add.reduceat(scores, starts) / counts
    centred: np.ndarray = means[which] - scores.mean()
    return centred


def bulk_edge(t: np.ndarray, alpha: float) -> float:
    r"""Largest eigenvalue of [LW-1] for labels that do not depend on the inputs.

    .. math:: x(w) = w \left(\frac1\alpha + \overline{\frac{t}{w - t}}\right), \qquad
              \overline{\frac{t^2}{(w - t)^2}} = \frac1\alpha, \quad w > \max t    [LW-2]

    Parameters
    ----------
    t : ndarray (n,)
        Weights. All 0: there is no bulk, and no eigenvalue to be compared with its infinite edge.
    alpha : float
        Rows over dimensions.

    Examples
    --------
    >>> round(bulk_edge(np.array([-1.0, 1.0]), 2.0), 5)
    1.6651
    """
    from scipy.optimize import brentq

    top, spread = float(t.max()), math.sqrt(alpha * float(np.mean(t**2)))
    if not spread:
        return math.inf

    def excess(gap: float) -> float:
        return float(np.mean((t / (top + gap - t)) ** 2)) * alpha - 1

    # At the upper end every denominator is at least `spread`; at the lower end the term of the
    # largest label alone is 1, or if it is 0 or less every denominator exceeds |t|.
    low = 1e-9 * spread + max(top, 0.0) * math.sqrt(alpha / len(t)) / 2
    w = top + (brentq(excess, low, spread, rtol=1e-10) if excess(low) > 0 else low)
    return w * (1 / alpha + float(np.mean(t / (w - t))))


def overlaps(ratios: np.ndarray) -> np.ndarray:
    r"""Overlaps of eigenvectors with the directions of weak signals, from their eigenvalues.

    .. math:: q = \sqrt{1 - \ell^{-2}}, \qquad \ell = \rho + \sqrt{\rho^2 - 1}    [LW-4]

    for an eigenvalue of :math:`\rho` edges, and 0 below the edge.

    Examples
    --------
    >>> overlaps(np.array([0.5, 1.25])).round(3)
    array([0.   , 0.866])
    """
    above = np.maximum(ratios, 1.0)
    found: np.ndarray = np.sqrt(1 - (above + np.sqrt(above**2 - 1)) ** -2)
    return found


@dataclass(frozen=True)
class LabelSpectrum:
    """Spectrum of the label-weighted covariance, and what stands out of it.

    Parameters
    ----------
    values : ndarray (m,)
        Eigenvalues of C.
    vectors : ndarray (m, m)
        Eigenvectors in whitened coordinates, as rows.
    ratios : ndarray (m,)
        Eigenvalues over the edge of the bulk on their side.
    linear : ndarray (m,) or None
        Unit direction of the linear part of the scores, if more than chance lies beside the
        eigenvectors that stand out.
    axes : ndarray (m, d)
        Whitened coordinate j of an input x is ``axes[j] @ x``.
    """

    values: np.ndarray
    vectors: np.ndarray
    ratios: np.ndarray
    linear: np.ndarray | None
    axes: np.ndarray

    @property
    def outside(self) -> np.ndarray:
        r"""Indices of the eigenvalues beyond :math:`1 + m^{-2/3}` times the edge, largest first."""
        order = np.argsort(-self.ratios)
        chosen: np.ndarray = order[self.ratios[order] > 1 + len(self.values) ** (-2 / 3)]
        return chosen

    @property
    def basis(self) -> np.ndarray:
        """Orthonormal rows (k, m) that span what was found, in whitened coordinates."""
        return self.found[0]

    @property
    def found(self) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal rows (k, m) that span what was found, and how well each is known (k,)."""
        rows, weights = self.vectors[self.outside], overlaps(self.ratios[self.outside])
        if self.linear is None:
            return rows, weights
        rest = self.linear - rows.T @ (rows @ self.linear)
        size = float(np.linalg.norm(rest))
        if size < 1e-6:
            return rows, weights
        return np.concatenate([rows, rest[None] / size]), np.append(weights, 1.0)

    def weighted_rows(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Gaussian rows (count, d) with more weight on the directions that are better known.

        The weight of a direction is its overlap [LW-4]. Close below the edge some directions hide
        among the others: a little weight brings them in, and training chooses.
        """
        weight = overlaps(self.ratios)
        weight = np.maximum(weight, np.where(self.ratios > _HIDDEN_FROM, _HIDDEN_WEIGHT, 0.0))
        rows = (rng.standard_normal((count, len(weight))) * weight) @ self.vectors
        if self.linear is not None:
            rows += rng.standard_normal((count, 1)) * self.linear
        elif not weight.any():
            rows = rng.standard_normal(rows.shape)
        return _unit(rows) @ self.axes

    def rows_like(
        self, sensitivity: np.ndarray, count: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Gaussian rows (count, d) with a given covariance (d, d), each of unit variance."""
        values, vectors = np.linalg.eigh(sensitivity.astype(np.float64))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        rows = rng.standard_normal((count, len(values))) @ root.T
        # The axes make whitened coordinates: their inverse measures rows in units of the inputs.
        spread = np.linalg.norm(rows @ np.linalg.pinv(self.axes), axis=1, keepdims=True)
        scaled: np.ndarray = rows / np.where(spread > 0, spread, 1.0)
        return scaled

    def power_rows(self, count: int, rng: np.random.Generator) -> np.ndarray:
        r"""Rows (count, d) after :math:`\lceil 2 \log m \rceil` projected gradient steps.

        .. math:: v \leftarrow v + \eta\, s\, (I - v v^\top) C v, \quad v \leftarrow v/|v|,
                  \qquad \eta = 1/\|C\|    [LW-3]

        from random rows with random signs s of their second layer.
        """
        m = len(self.values)
        v = _unit(rng.standard_normal((count, m)))
        signed = rng.choice([-1.0, 1.0], (count, 1)) * self.values / (abs(self.values).max() or 1.0)
        for _ in range(math.ceil(2 * math.log(m)) if m > 1 else 0):
            v = _unit(v * (1 + signed - (signed * v**2).sum(axis=1, keepdims=True)))
        rows: np.ndarray = v @ self.vectors @ self.axes
        return rows


def whitening_axes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d,) of the rows, and axes (m, d) on which they are white: ``axes @ (x - mean)``."""
    mean = X.mean(axis=0, dtype=np.float64)
    covariance = (X.T @ X).astype(np.float64) / len(X) - np.outer(mean, mean)
    variances, principal = np.linalg.eigh(covariance)
    varies = variances > max(_SHARE_OF_SPREAD, variances[-1] * 1e-6)
    return mean, (principal[:, varies] / np.sqrt(variances[varies])).T


def moments_spectrum(moments: Moments, axes: np.ndarray, which: int = 0) -> LabelSpectrum:
    """Spectrum of label-weighted moments of whitened inputs, against the noise in them.

    Parameters
    ----------
    moments : Moments
        Plain or corrected.
    axes : ndarray (m, d)
        Whitened coordinate j of an input x is ``axes[j] @ x``.
    which : int
        Number of the weight.
    """
    from scipy.special import chdtri

    noise = moments.noise[:, which]
    values, vectors = np.linalg.eigh(moments.second[which])
    n, m = len(noise), len(values)
    upper, lower = bulk_edge(noise, n / m), bulk_edge(-noise, n / m)
    ratios = np.where(values > 0, values / upper, -values / lower)
    found = LabelSpectrum(values, vectors.T, ratios, None, axes)
    linear = moments.first[which]
    # Along directions that are known already what is left of the labels varies more than chance.
    beside = linear - found.basis.T @ (found.basis @ linear)
    free = m - len(found.basis)
    chance = float(np.mean(noise**2)) * chdtri(free, _CHANCE) if free else math.inf
    if n * float(beside @ beside) <= chance:
        return found
    return replace(found, linear=linear / np.linalg.norm(linear))


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length one."""
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit

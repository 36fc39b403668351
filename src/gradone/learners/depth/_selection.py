"""Which eigenvectors of label-weighted moments are kept: those beyond the edges of the bulk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._directions import bulk_edge, overlaps
from ._moments import Moments


@dataclass(frozen=True)
class Spectrum:
    """Spectrum of one label-weighted second moment, the eigenvalues furthest outside first.

    Parameters
    ----------
    values : ndarray (m,)
        Eigenvalues.
    vectors : ndarray (m, m)
        Eigenvectors, as rows.
    edges : tuple of float
        Lower and upper end of the bulk.
    """

    values: np.ndarray
    vectors: np.ndarray
    edges: tuple[float, float]

    @classmethod
    def of(cls, second: np.ndarray, noise: np.ndarray) -> Spectrum:
        """Spectrum of a second moment (m, m) with the noise (n,) in it."""
        values, vectors = np.linalg.eigh(second)
        alpha = len(noise) / len(values)
        edges = -bulk_edge(-noise, alpha), bulk_edge(noise, alpha)
        order = np.argsort(-_ratios(values, edges))
        return cls(values[order], vectors.T[order], edges)

    @property
    def ratios(self) -> np.ndarray:
        """Eigenvalues over the edge of their side."""
        return _ratios(self.values, self.edges)


def _ratios(values: np.ndarray, edges: tuple[float, float]) -> np.ndarray:
    low, high = edges
    return np.where(values > 0, values / high, values / low)


Rule = Callable[[Moments], tuple[np.ndarray, np.ndarray]]


def one_after_the_other(moments: Moments, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal directions (k, m) that stand out for some weight, and their weights (k,).

    Each weight of the labels adds what stands out of its moments *beside* the directions that the
    weights before it have shown: two noisy copies of one direction are not two directions.

    Parameters
    ----------
    moments : Moments
        For all weights.
    rule : callable
        Directions that stand out of the moments of a single weight, and their weights.
    """
    m = moments.first.shape[1]
    basis, weights = np.zeros((0, m)), np.zeros(0)
    for which in range(len(moments.first)):
        rest = _complement(basis)
        if not len(rest):
            break
        inside = Moments(
            rest @ moments.second[[which]] @ rest.T,
            moments.first[[which]] @ rest.T,
            moments.noise[:, [which]],
        )
        rows, known = rule(inside)
        basis, weights = np.concatenate([basis, rows @ rest]), np.append(weights, known)
    return basis, weights


def _complement(basis: np.ndarray) -> np.ndarray:
    """Orthonormal rows (m - k, m) beside orthonormal rows (k, m)."""
    k, m = basis.shape
    if not k:
        return np.eye(m)
    rest: np.ndarray = np.linalg.qr(basis.T, mode="complete")[0][:, k:].T
    return rest


def outside(margin: float, most: int) -> Rule:
    r"""Rule that keeps at most so many eigenvectors, beyond :math:`1 + c\,m^{-2/3}` edges."""

    def rule(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        spectrum = Spectrum.of(moments.second[0], moments.noise[:, 0])
        ratios = spectrum.ratios[:most]
        kept = ratios > 1 + margin * len(spectrum.values) ** (-2 / 3)
        return spectrum.vectors[:most][kept], overlaps(ratios[kept])

    return rule

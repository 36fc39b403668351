r"""Labels with noise of a target of two variables, as means over its labels without noise.

.. math:: Z(y) = \int N(y - u; \Delta)\, Z_0(u)\, du                                       [NL-1]

and in the same way every moment of the posterior. A panel of labels without noise interpolates
:math:`Z_0`, and the integral over it is done however narrow the noise is.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..calculus.line import gauss_legendre
from .shared_labels import SharedLabels, inner_label, place_of

_FAR = 7.0  # standard deviations of the noise beyond which it is none
_EDGES = np.array([-6.0, -3.0, -1.5, 0.0, 1.5, 3.0, 6.0])  # of panels around a critical label
_SHORTEST = 0.8  # panel, in standard deviations of the noise
_NODES = 8  # of a panel of labels with noise
_INNER = 28  # of the part of a panel without noise that a label with noise sees


class NoisyLabels:
    """Rule over labels with noise, and what they see of the labels without.

    Parameters
    ----------
    shared : SharedLabels
        Labels without noise.
    noise : float
        Its variance.

    Attributes
    ----------
    rule : array (labels, 3)
        Weight and place of each label, and zero.
    kernel : array (labels, labels without noise and atoms)
        Matrix from moments without noise to those with it.

    Examples
    --------
    The labels of z1*z2 have mean square one, and the noise adds to it.

    >>> from gradone.targets.language.expression import Expression
    >>> shared = SharedLabels(Expression("z1*z2"))
    >>> noisy = NoisyLabels(shared, 0.25)
    >>> curves = shared.curves(1.0)
    >>> mass = curves.weight * np.exp(-(curves.x**2).sum(axis=0) / 2) / (2 * np.pi)
    >>> weight, y, _ = noisy.rule.T
    >>> round(float((weight * y**2) @ noisy.kernel @ curves.by_label(mass)), 3)
    1.25
    """

    def __init__(self, shared: SharedLabels, noise: float) -> None:
        y, weight = self._labels(shared, math.sqrt(noise))
        self.rule = np.stack([weight, y, np.zeros(len(y))], axis=1)
        away = y[:, None] - shared.atoms.values
        of_atoms = np.exp(-(away**2) / (2 * noise)) / math.sqrt(2 * math.pi * noise)
        self.kernel = np.concatenate([self._kernel(shared, y, noise), of_atoms], axis=1)

    @staticmethod
    def _labels(shared: SharedLabels, width: float) -> tuple[np.ndarray, np.ndarray]:
        """Labels and weights: on panels without noise, and on its scale next to critical ones."""
        ends = shared.relabeled.label(shared.panels[:2])
        critical = shared.relabeled.label(shared.critical)
        ends = ends[np.isfinite(ends)]
        first, last = ends.min(), ends.max()
        edges = np.concatenate(
            [
                ends,
                np.add.outer(critical, width * _EDGES).ravel(),
                first - width * np.array([_FAR, 3.0]),
                last + width * np.array([3.0, _FAR]),
            ]
        )
        edges = np.sort(edges[np.isfinite(edges)])
        kept = [edges[0]]
        for edge in edges[1:]:
            if edge > kept[-1] + _SHORTEST * width:
                kept.append(edge)
        t, w = gauss_legendre(_NODES)
        low, length = np.array(kept[:-1])[:, None], np.diff(kept)[:, None]
        return (low + length * t).ravel(), (length * w).ravel()

    @staticmethod
    def _kernel(shared: SharedLabels, y: np.ndarray, noise: float) -> np.ndarray:
        """What labels (n,) with noise see of the labels (k,) without: weights (n, k)."""
        low, high, kind = shared.panels
        kind = kind.astype(np.int64)
        ends = shared.relabeled.label(np.stack([low, high]))
        least, most = ends.min(axis=0), ends.max(axis=0)
        reach = _FAR * math.sqrt(noise)
        begin, end = np.maximum(y[:, None] - reach, least), np.minimum(y[:, None] + reach, most)
        i, p = np.nonzero(begin <= end)  # equal on a panel on which labels saturate
        begin, end = begin[i, p], end[i, p]
        # At the ends of a panel the inverse function may be infinite.
        first, last = np.where(ends[0] < ends[1], [low, high], [high, low])[:, p]
        inner = np.stack(
            [
                np.where(begin <= least[p], first, shared.relabeled(begin)[0]),
                np.where(end >= most[p], last, shared.relabeled(end)[0]),
            ]
        )
        panel = low[p], high[p], kind[p]
        a, b = np.sort(place_of(inner, *panel), axis=0)
        t, w = gauss_legendre(_INNER)
        t = a[:, None] + (b - a)[:, None] * t
        seen = shared.relabeled.label(inner_label(t, *(column[:, None] for column in panel)))
        density = np.exp(-((y[i, None] - seen) ** 2) / (2 * noise)) * (b - a)[:, None] * w
        nodes, weights = gauss_legendre(shared.nodes)
        degree = shared.nodes - 1
        legendre = np.polynomial.legendre.legvander
        coefficients = np.einsum("am,amn->an", density, legendre(2 * t - 1, degree))
        values = coefficients @ np.linalg.inv(legendre(2 * nodes - 1, degree)) / weights
        kernel = np.zeros((len(y), len(low), shared.nodes))
        kernel[i, p] = values / math.sqrt(2 * math.pi * noise)
        return kernel.reshape(len(y), -1) * shared.weight


@lru_cache(maxsize=6)
def noisy_labels(shared: SharedLabels, noise: float) -> NoisyLabels:
    """Labels with noise, kept for other overlaps."""
    return NoisyLabels(shared, noise)

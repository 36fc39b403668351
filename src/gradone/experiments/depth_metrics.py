r"""What a deep network has found of a hierarchical target, measured while it learns.

With first-layer rows :math:`w_j`, hidden directions :math:`W^\star` (K, d), inputs :math:`h_i(x)`
of the second hidden layer and true features :math:`h^\star_m(x)`, all of them centered,

.. math::
    M_W = \Big(\frac1p\sum_j \frac{|W^\star w_j|^2}{|w_j|^2}\Big)^{1/2}, \qquad
    M_h[m] = \Big(\frac{1}{p_2}\sum_i \mathrm{corr}(h_i, h^\star_m)^2\Big)^{1/2}.       [ME-2]

Random rows have :math:`M_W = \sqrt{K/d}`, and N fresh samples show :math:`M_h = 1/\sqrt N` of a
function that has nothing to do with the features. Everything is measured at the moment it is asked
for, and sums over samples are kept instead of samples: no iterate is ever stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.errors import BadData
from ..base.seeds import stream
from ..targets.activation import Activation
from ..targets.hierarchical import HierarchicalTarget
from ..targets.sampled import whole_number

_CHUNK_NUMBERS = 2**22


class Overlap(NamedTuple):
    """An overlap, the size of its fluctuations, and what chance alone would give."""

    value: np.ndarray
    error: np.ndarray
    chance: float


def row_overlap(rows: Any, W_star: np.ndarray, *, branches: int = 1) -> Overlap:
    """Overlap M_W of first-layer rows (p, d) with each branch of hidden directions [ME-2].

    Parameters
    ----------
    rows : array (p, d)
        Weights of the first layer; rows of length 0 do not count.
    W_star : ndarray (branches * D, d)
        Hidden directions, orthonormal, branch after branch.
    branches : int
        One number for each of as many branches; 1 takes all directions together.

    Examples
    --------
    >>> rows = np.array([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    >>> found = row_overlap(rows, np.eye(1, 4))
    >>> found.value.round(3), found.chance
    (array([0.6]), 0.5)
    """
    unit = _unit_rows(rows, W_star.shape[1])
    inside = np.square(unit @ W_star.T).reshape(len(unit), branches, len(W_star) // branches)
    inside = inside.sum(axis=2)
    value = np.sqrt(inside.mean(axis=0)) if len(unit) else np.zeros(branches)
    chance = math.sqrt(len(W_star) / (branches * W_star.shape[1]))
    return Overlap(value, np.zeros(branches), chance)


def effective_dimension(rows: Any) -> float:
    r"""Dimension of the space in which unit rows would be uniform with the same mutual cosines.

    .. math:: \Big(\mathbb{E}_{j \ne k} \cos^2(w_j, w_k)\Big)^{-1}                      [ME-3]

    It is d for random rows and D for rows that are uniform in D directions; the pairs j = k, which
    would bias it towards the number of rows, are left out.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((4000, 6)) @ np.eye(6, 50)
    >>> round(effective_dimension(rows), 1)
    6.0
    """
    array = np.asarray(to_numpy(rows), np.float64)
    unit = _unit_rows(array, array.shape[-1])
    p, d = unit.shape
    if p < 2:
        raise BadData(f"an effective dimension needs two rows that are not 0, got {p}")
    square = float(np.square(unit.T @ unit if d < p else unit @ unit.T).sum())
    return 1 / max((square - p) / (p * (p - 1)), 1 / d)


def _unit_rows(rows: Any, d: int) -> np.ndarray:
    array = np.asarray(to_numpy(rows), np.float64)
    if array.ndim != 2 or array.shape[1] != d:
        raise BadData(f"rows must have the shape (p, {d}), got {array.shape}")
    lengths = np.linalg.norm(array, axis=1)
    return np.asarray(array[lengths > 0] / lengths[lengths > 0, None])


@dataclass
class FeatureOverlap:
    """Overlap M_h of neurons with true features, from sums over as many samples as one likes.

    Examples
    --------
    >>> h = np.random.default_rng(0).standard_normal((1000, 1))
    >>> online = FeatureOverlap()
    >>> for part in np.split(h, 4):
    ...     online.add(5 - 3 * part, part)
    >>> online.overlap().value.round(12)
    array([1.])
    """

    samples: int = 0
    _means: Any = 0.0
    _moments: Any = 0.0
    _neurons: int = 0

    def add(self, neurons: np.ndarray, features: np.ndarray) -> None:
        """Take note of the neurons (rows, p) and true features (rows, r) of some samples."""
        both = np.concatenate([neurons, features], axis=1).astype(np.float64)
        n, total = len(both), self.samples + len(both)
        means = both.mean(axis=0)
        gap, centered = means - self._means, both - means
        # Moments about the mean of all: sums of squares would cancel for neurons with large means.
        moments = centered.T @ centered + np.outer(gap, gap) * (self.samples * n / total)
        self._moments = self._moments + moments
        self._means = self._means + gap * (n / total)
        self.samples, self._neurons = total, neurons.shape[1]

    def correlations(self) -> np.ndarray:
        """Correlations (p, r) of neurons and features; 0 for a neuron that is constant."""
        if self.samples < 2:
            raise BadData("no correlation without samples: add two or more")
        variances = np.diagonal(self._moments)
        scale = np.sqrt(variances)
        constant = variances <= 1e-20 * (variances + self.samples * np.square(self._means))
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=~constant)
        matrix = self._moments * np.outer(inverse, inverse)
        return np.asarray(matrix[: self._neurons, self._neurons :])

    def overlap(self) -> Overlap:
        """Root mean square of the correlations over the neurons, for each feature [ME-2]."""
        value = np.sqrt(np.square(self.correlations()).mean(axis=0))
        chance = 1 / math.sqrt(self.samples)
        return Overlap(value, np.maximum(1 - value**2, 0.0) * chance, chance)


def measure_features(
    target: HierarchicalTarget,
    neurons: Callable[[np.ndarray], Any],
    *,
    d: int,
    level: int = -1,
    test_samples: int = 4096,
    seed: int = 0,
    replicate: int = 0,
    dtype: Any = np.float64,
) -> Overlap:
    """Overlap M_h of neurons with the features of a target, on fresh samples.

    Parameters
    ----------
    target : hierarchical target
        What was learned.
    neurons : callable
        Inputs (rows, d) to what enters the neurons of a layer, (rows, p).
    d, test_samples : int
        Input dimension, number of fresh samples.
    level : int
        Level of the features; -1 is the topmost one.
    seed, replicate : int
        Address of the data that the network was fitted on.
    dtype : dtype
        Of the inputs that `neurons` sees.

    Examples
    --------
    >>> from gradone import Sight
    >>> t = Sight(outer="tanh(h)", inner="He2(z)", exponent=0.5)
    >>> h = t.realization(16).h
    >>> measure_features(t, lambda X: 2 + h(X), d=16).value.round(9)
    array([1.])
    """
    online = FeatureOverlap()
    chunk = max(1, min(test_samples, _CHUNK_NUMBERS // d))
    address: dict[str, Any] = {"seed": seed, "replicate": replicate, "dtype": dtype}
    for part in target.stream(test_samples, d, chunk=chunk, role="test", **address):
        found = np.asarray(to_numpy(neurons(part.X)))
        if found.ndim != 2 or len(found) != part.n or not np.isfinite(found).all():
            raise BadData(f"neurons must give finite numbers ({part.n}, p), got {found.shape}")
        online.add(found, part.features[level])
    return online.overlap()


def gram_spectrum(
    rows: Any,
    activation: str = "relu(z)",
    *,
    bias_range: float = 1.0,
    n: int = 2000,
    seed: int = 0,
) -> np.ndarray:
    r"""Eigenvalues of the conjugate kernel K/n of a first layer on fresh inputs, largest first.

    .. math:: K = \frac1p \sigma(XW^\top + b)\,\sigma(XW^\top + b)^\top, \qquad
              b_j \sim U(-B, B)                                                         [ME-4]

    Parameters
    ----------
    rows : array (p, d)
        Weights of the first layer; each is divided by its length.
    activation : str
        Activation.
    bias_range : float
        Half-width B of the biases.
    n, seed : int
        Number n of inputs; address of inputs and biases.

    Notes
    -----
    ``gradone.theory.gram_levels`` predicts them for rows that are uniform in a subspace.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((300, 3)) @ np.eye(3, 40)
    >>> values = gram_spectrum(rows, n=300)
    >>> len(values), bool(values[3] > 5 * values[4])  # degree 0, three of degree 1, a gap
    (300, True)
    """
    array = np.asarray(to_numpy(rows), np.float64)
    unit = _unit_rows(array, array.shape[-1])
    p, d = unit.shape
    n = whole_number("n", n, least=2)
    sigma = Activation(activation)
    X = stream(seed, "test", d=d, part="gram").standard_normal((n, d))
    b = stream(seed, "init", p=p, part="gram").uniform(-bias_range, bias_range, p)
    features = np.asarray(sigma(X @ unit.T + b)) / math.sqrt(n * p)
    gram = features.T @ features if p < n else features @ features.T
    return np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)

r"""What is measured of a trained network, each in bounded memory.

The average gradient outer product of the predictions and its alignment with the first layer are

.. math:: G = \frac1m\sum_i \nabla\hat f(x_i)\nabla\hat f(x_i)^\top, \qquad
          \rho = \frac{\langle G, W^\top W\rangle}{\|G\|_F\,\|W^\top W\|_F}.           [PR-1]

Directions of a matrix of rows (gradients, or weights) stand out if a singular value exceeds those
of the same rows with the entries of each permuted and given random signs: this keeps the size of
every row and takes away what they share [PR-2]. The label-weighted spectrum of a layer is that of
:math:`\frac1n\sum_i t_i\,\phi_i\phi_i^\top` for whitened features and standardized labels t; its
edges are the extreme eigenvalues when t is permuted [PR-3].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...experiments.watch import kernel_alignment

_CHUNK_NUMBERS = 2**21  # of features or gradients that are computed at once
_PERMUTED = 40  # spectra with permuted entries
_LABELS_PERMUTED = 19
_COORDINATES = 256  # leading principal coordinates of a layer
_FOLDS = 5
_RIDGES = np.logspace(-4, 3, 15)


def in_chunks(function: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """A function of rows, some of them at a time."""
    rows = max(1, _CHUNK_NUMBERS // max(X.shape[1], 512))
    return np.concatenate([function(X[i : i + rows]) for i in range(0, len(X), rows)])


@dataclass(frozen=True)
class Standing:
    """Singular values of a matrix of rows, and those that stand out [PR-2].

    Parameters
    ----------
    values : ndarray
        Squared singular values, divided by the number of rows, the largest first.
    edge : float
        What chance reaches.
    directions : ndarray (k, d)
        Right singular vectors of the values above the edge.
    """

    values: np.ndarray
    edge: float
    directions: np.ndarray

    @property
    def count(self) -> int:
        """Number of directions that stand out."""
        return len(self.directions)


def standing_out(rows: np.ndarray, rng: np.random.Generator) -> Standing:
    """Directions that rows (p, d) share beyond chance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> W = rng.standard_normal((300, 40))
    >>> standing_out(W, rng).count, standing_out(W + rng.standard_normal((300, 1)), rng).count
    (0, 1)
    """
    p, d = rows.shape
    gram = rows.T @ rows / p
    values, vectors = np.linalg.eigh(gram)
    null = 0.0
    for _ in range(_PERMUTED):
        mixed = rng.permuted(rows, axis=1) * rng.choice([-1.0, 1.0], rows.shape)
        null = max(null, float(np.linalg.eigvalsh(mixed.T @ mixed / p)[-1]))
    # Beyond the largest of so many the next one lies by the width of the edge.
    edge = null * (1 + 0.5 * min(p, d) ** (-2 / 3))
    above = values > edge
    return Standing(values[::-1], edge, vectors[:, above][:, ::-1].T)


@dataclass(frozen=True)
class Layer:
    """One layer, as data see it.

    Parameters
    ----------
    name : str
        Its name in the network.
    width : int
        Number of its neurons.
    linear_r2, linear_r2_err : float
        Share of the variance of the labels that a linear readout explains on rows left out, and
        its standard error over the folds.
    effective_dimension : float
        (Tr C)^2/Tr C^2 of the covariance C of the features.
    alignment, alignment_before : float
        Kernel alignment with the labels, after and before training; NaN if before is not known.
    extremes : tuple of float
        Smallest and largest eigenvalue of the label-weighted spectrum [PR-3].
    edges : tuple of float
        What permuted labels reach.
    outside : int
        Number of eigenvalues beyond these edges.
    """

    name: str
    width: int
    linear_r2: float
    linear_r2_err: float
    effective_dimension: float
    alignment: float
    alignment_before: float
    extremes: tuple[float, float]
    edges: tuple[float, float]
    outside: int


def measure_layer(
    name: str,
    features: np.ndarray,
    y: np.ndarray,
    before: np.ndarray | None,
    rng: np.random.Generator,
) -> Layer:
    """What the features (n, width) of a layer say about labels (n,)."""
    n, width = features.shape
    centered = features - features.mean(axis=0)
    # The smaller of the two Gram matrices has all nonzero eigenvalues.
    small = centered.T @ centered / n if width <= n else centered @ centered.T / n
    values, vectors = np.linalg.eigh(small)
    values = np.maximum(values, 0.0)
    kept = np.flatnonzero(values > 1e-8 * values[-1])[-min(_COORDINATES, n // 4) :]
    if width <= n:
        coordinates = centered @ vectors[:, kept] / np.sqrt(values[kept])
    else:
        coordinates = vectors[:, kept] * np.sqrt(n)
    trace, square = float(values.sum()), float((values**2).sum())
    low, high, edges, outside = _label_spectrum(coordinates, y, rng)
    r2, error = _linear_r2(coordinates * np.sqrt(values[kept]), y)
    return Layer(
        name, width, r2, error,
        trace**2 / square if square else 0.0,
        kernel_alignment(features, y),
        float("nan") if before is None else kernel_alignment(before, y),
        (low, high), edges, outside,
    )  # fmt: skip


def _label_spectrum(
    coordinates: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[float, float, tuple[float, float], int]:
    t = (y - y.mean()) / (y.std() or 1.0)

    def spectrum(weights: np.ndarray) -> np.ndarray:
        return np.linalg.eigvalsh((coordinates * weights[:, None]).T @ coordinates / len(weights))

    found = spectrum(t)
    null = np.array([spectrum(rng.permutation(t))[[0, -1]] for _ in range(_LABELS_PERMUTED)])
    edges = (float(null[:, 0].min()), float(null[:, 1].max()))
    outside = int(np.sum((found < edges[0]) | (found > edges[1])))
    return float(found[0]), float(found[-1]), edges, outside


def _linear_r2(features: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Share of variance that ridge regression explains out of fold, the best of some ridges."""
    n = len(y)
    folds = np.arange(n) % _FOLDS
    scores = np.zeros((_FOLDS, len(_RIDGES)))
    spread = float(np.var(y)) or 1.0
    for fold in range(_FOLDS):
        train, test = folds != fold, folds == fold
        mean, center = features[train].mean(axis=0), float(y[train].mean())
        A, b = features[train] - mean, y[train] - center
        values, vectors = np.linalg.eigh(A.T @ A / len(b))
        c = vectors.T @ (A.T @ b) / len(b)
        projected = (features[test] - mean) @ vectors
        scale = float(values[-1]) or 1.0
        for i, ridge in enumerate(_RIDGES):
            error = y[test] - center - projected @ (c / (np.maximum(values, 0) + ridge * scale))
            scores[fold, i] = 1 - float(np.mean(error**2)) / spread
    best = int(scores.mean(axis=0).argmax())
    return float(scores[:, best].mean()), float(scores[:, best].std(ddof=1) / np.sqrt(_FOLDS))


def stability(gradients: np.ndarray, k: int) -> float:
    """Mean squared cosine between the leading k directions of two halves of the gradients."""
    halves = [part.T @ part for part in (gradients[::2], gradients[1::2])]
    first, second = (np.linalg.eigh(half)[1][:, -k:] for half in halves)
    return float(((first.T @ second) ** 2).sum() / k)

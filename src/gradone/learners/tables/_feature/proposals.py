r"""Directions that the moments of the inputs given the residual propose, given those known.

With functions :math:`T_b` of the residual (and of the known coordinates) and inputs u that are
whitened and orthogonal to the known directions,

.. math:: m_b = \overline{T_b u}, \qquad A_b = \overline{T_b\, u u^\top}.    [FR-4]

A direction that is invisible alone may be visible given others, through their coordinates in
:math:`T_b`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .rows import Rows

_CLIP = 5.0
_SAME = 0.98
_MOST_LABELS = 3

Candidate = tuple[str, np.ndarray]


def proposals(
    rows: Rows, B: np.ndarray, signals: Sequence[np.ndarray], extra: Iterable[Candidate] = ()
) -> list[Candidate]:
    """Candidates for the next direction, or the next two: their name, and columns (d, 1 or 2).

    Parameters
    ----------
    rows : Rows
        Training rows.
    B : ndarray (d, k)
        Directions that are known.
    signals : sequence of ndarray (n, q)
        Residuals whose moments are taken.
    extra : iterable of (name, ndarray (d, c))
        Directions proposed by others.

    Returns
    -------
    list of (str, ndarray)
        Columns with unit variance, without repetitions.
    """
    n, d = rows.X.shape
    covariance = (rows.X * rows.weights[:, None]).T @ rows.X / rows.weights.sum()
    shrinkage = 0.2 * min(0.5, d / n) + 0.001
    values, axes = np.linalg.eigh(
        (1 - shrinkage) * covariance + shrinkage * np.eye(d) * np.trace(covariance) / d
    )
    whiten = axes / np.sqrt(values) @ axes.T
    unwhiten = axes * np.sqrt(values) @ axes.T
    known = np.linalg.qr(unwhiten @ B)[0] if B.shape[1] else np.zeros((d, 0))
    U = rows.X @ whiten
    U -= (U @ known) @ known.T
    T = _weights(rows, rows.X @ B, signals)
    kept: list[tuple[str, np.ndarray, np.ndarray]] = []
    for name, vectors in [*_from_moments(U, T), *((n, unwhiten @ v) for n, v in extra)]:
        vectors = vectors - known @ (known.T @ vectors)
        length = np.linalg.norm(vectors, axis=0)
        if (length < 1e-8).any() or vectors.shape[1] > d - known.shape[1]:
            continue
        span = np.linalg.qr(vectors)[0]
        if any(_overlap(span, other) > _SAME for _, _, other in kept):
            continue
        columns = whiten @ span
        spread = np.sqrt(np.maximum(np.einsum("ij,ik,kj->j", columns, covariance, columns), 0.0))
        if (spread > 1e-8).all():
            kept.append((name, columns / spread, span))
    return [(name, columns) for name, columns, _ in kept]


def _overlap(span: np.ndarray, other: np.ndarray) -> float:
    if span.shape != other.shape:
        return 0.0
    inner = span.T @ other  # its determinant, without the checks around one of two rows
    return float(abs(inner[0, 0] if len(inner) == 1 else np.subtract(*(inner[0] * inner[1, ::-1]))))


def _weights(rows: Rows, Z: np.ndarray, signals: Sequence[np.ndarray]) -> np.ndarray:
    """Functions (n, b) of the residual and of the known coordinates: centred, variance 1."""
    Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-12)
    columns: list[np.ndarray] = []
    for signal in signals:
        for e in _leading(signal).T:
            columns += _of_residual(e, Z)
    T = np.stack(columns, axis=1)
    for _ in range(2):  # once more after clipping
        T = T - T.mean(axis=0)
        T = np.clip(T / np.maximum(T.std(axis=0), 1e-12), -_CLIP, _CLIP)
    return np.asarray((T - T.mean(axis=0)) * rows.weights[:, None])


def _leading(signal: np.ndarray) -> np.ndarray:
    """Leading principal components of residuals (n, q)."""
    if signal.shape[1] <= 1:
        return signal
    left, singular, _ = np.linalg.svd(signal - signal.mean(axis=0), full_matrices=False)
    return np.asarray(left * singular)[:, :_MOST_LABELS]


def _of_residual(e: np.ndarray, Z: np.ndarray) -> Iterator[np.ndarray]:
    rank = np.empty(len(e))
    rank[np.argsort(e, kind="stable")] = (np.arange(len(e)) + 0.5) / len(e)
    yield from (e, np.abs(e), rank)
    yield from (np.cos(order * np.pi * rank) for order in (2, 3, 4))
    for i, z in enumerate(Z.T):
        yield from (e * z, e * np.sign(z), e * (z**2 - 1), np.abs(e) * z)
        yield from (e * np.sign(z * other) for other in Z.T[:i])


def _from_moments(U: np.ndarray, T: np.ndarray) -> Iterator[Candidate]:
    n, d = U.shape
    first = U.T @ T / n
    left = np.linalg.svd(first, full_matrices=False)[0]
    yield from (("first moment", left[:, i : i + 1]) for i in range(min(2, left.shape[1])))
    for b in np.argsort(-np.linalg.norm(first, axis=0), kind="stable")[:2]:
        yield "first moment", first[:, b : b + 1]
    second = np.stack([(U * column[:, None]).T @ U / n for column in T.T])
    axes = np.linalg.eigh(np.einsum("bij,bjk->ik", second, second))[1][:, ::-1]
    yield from _leading_axes("second moment", axes, 2)
    values, vectors = np.linalg.eigh(second)
    sizes = np.abs(values)
    telling = sizes.max(axis=1) / np.maximum(np.median(sizes, axis=1), 1e-300)
    for b in np.argsort(-telling, kind="stable")[:2]:
        order = np.argsort(-sizes[b], kind="stable")
        yield from _leading_axes("second moment", vectors[b][:, order], 1)


def _leading_axes(name: str, axes: np.ndarray, singles: int) -> Iterator[Candidate]:
    """The first columns one by one, and the first two together."""
    yield from ((name, axes[:, i : i + 1]) for i in range(min(singles, axes.shape[1])))
    if axes.shape[1] > 1:
        yield f"{name}, pair", axes[:, :2]


def metric_candidates(name: str, root: np.ndarray) -> Iterator[Candidate]:
    """Candidates from the root (d, k) of a metric: its three largest axes and the first two."""
    left = np.linalg.svd(root, full_matrices=False)[0]
    yield from _leading_axes(name, left, 3)

r"""Inputs whose covariance has a few eigenvalues: a frame for each, which share the coefficients.

With :math:`\Sigma = \sum_k s_k P_k`, projections on :math:`d_k = f_k d` dimensions and hidden
directions :math:`W^\star_k W^{\star\top}_k = T_k`, :math:`\sum_k s_k T_k = I`,

.. math:: z = \sum_k \sqrt{s_k}\,N_k u^\star_k, \qquad N_k N_k^\top = T_k, \qquad
          \lambda = \sum_k \sqrt{s_k}\,(M_k u^\star_k + L_k u_k). \qquad [SG-8]

A block of fewer dimensions than its frame would need keeps its coordinates as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import BadData
from ..targets.covariance import read_covariance
from ..targets.student import Start
from ._start import semidefinite_factor


@dataclass(frozen=True)
class Block:
    """One eigenvalue.

    Parameters
    ----------
    eigenvalue : float
        s, the variance of its coordinates.
    size : int
        Its number of dimensions.
    signal : ndarray (r, raw)
        N: the hidden directions on the raw coordinates.
    free : int or None
        Degrees of freedom outside the frame; None if all its coordinates are raw.
    """

    eigenvalue: float
    size: int
    signal: np.ndarray
    free: int | None


class Blocks:
    """All eigenvalues of the covariance of the inputs, for a target and a number of rows.

    Parameters
    ----------
    covariance : mapping
        See :func:`gradone.targets.covariance.read_covariance`.
    d, r, rows : int
        Dimension of the inputs, of the target, and rows of the state.
    """

    def __init__(self, covariance: Mapping[str, Any], *, d: int, r: int, rows: int) -> None:
        s, f, matrices = read_covariance(covariance, r)
        sizes = np.round(f * d).astype(int)
        if np.abs(sizes - f * d).max() > 1e-6:
            raise BadData(
                f"covariance: fractions times d must be whole numbers, got {(f * d).tolist()}"
            )
        self.total = np.sum(matrices, axis=0)
        self.fractions = f
        self.parts = [
            _block(float(x), int(size), T, r, rows)
            for x, size, T in zip(s, sizes, matrices, strict=True)
        ]
        self.regular = [part for part in self.parts if part.free is not None]
        self.raw = sum(part.signal.shape[1] for part in self.parts)
        self.mix = np.concatenate([part.signal for part in self.parts], axis=1)

    def scales(self, rows: int) -> np.ndarray:
        """Roots of the eigenvalues of the coordinates of a sample."""
        raw = [np.full(p.signal.shape[1], math.sqrt(p.eigenvalue)) for p in self.parts]
        return np.concatenate(raw + [np.full(rows, math.sqrt(p.eigenvalue)) for p in self.regular])

    def start(
        self, start: Start, *, width: int, r: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Raw coordinates (width, raw) of the first weights, and factors of the regular blocks."""
        if start == "random":
            raw = rng.standard_normal((width, self.raw))
            factors = []
            for part in self.regular:
                L = np.tril(rng.standard_normal((width, width)), -1)
                np.fill_diagonal(L, np.sqrt(rng.chisquare(part.size - r - np.arange(width))))
                factors.append(L)
            norms = np.sqrt((raw**2).sum(1) + sum((L**2).sum(1) for L in factors))[:, None]
            return raw / norms, [L / norms for L in factors]
        M, Q = (np.zeros((width, r)), np.eye(width)) if isinstance(start, str) else start
        A = M @ np.linalg.inv(self.total)
        rest = semidefinite_factor(Q - A @ self.total @ A.T, scale=np.diag(Q))
        pieces, factors = [], []
        for part, share in zip(self.parts, self.fractions, strict=True):
            piece = A @ part.signal
            if part.free is None:  # coordinates of vectors that are spread over all of them
                spread = rng.standard_normal((width, part.size)) / math.sqrt(part.size)
                piece = piece + math.sqrt(share) * rest @ spread
            else:
                factors.append(math.sqrt(share) * rest)
            pieces.append(piece)
        return np.concatenate(pieces, axis=1), factors

    def overlaps(self, M: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Overlaps (..., block, rows, r) and products (..., block, rows, rows) of all rows."""
        overlaps, products, first, block = [], [], 0, 0
        for part in self.parts:
            piece = M[..., first : first + part.signal.shape[1]]
            first += part.signal.shape[1]
            product = piece @ np.swapaxes(piece, -1, -2)
            if part.free is not None:
                L = columns[..., block, :, :]
                product = product + np.swapaxes(L, -1, -2) @ L
                block += 1
            overlaps.append(piece @ part.signal.T)
            products.append(product)
        return np.stack(overlaps, axis=-3), np.stack(products, axis=-3)

    @property
    def eigenvalues(self) -> np.ndarray:
        """One for each block."""
        return np.array([part.eigenvalue for part in self.parts])


def _block(eigenvalue: float, size: int, T: np.ndarray, r: int, rows: int) -> Block:
    values, axes = np.linalg.eigh(T)
    signal = axes * np.sqrt(np.maximum(values, 0.0))
    if size >= r + rows:
        return Block(eigenvalue, size, signal, size - r - rows)
    rank = int((values > 1e-12).sum())
    if rank > size:
        raise BadData(
            f"covariance: a block of {size} dimensions cannot hold a signal of rank {rank}"
        )
    kept = np.zeros((r, size))
    kept[:, : min(size, r)] = signal[:, ::-1][:, : min(size, r)]
    return Block(eigenvalue, size, kept, None)

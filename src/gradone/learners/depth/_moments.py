"""Label-weighted moments of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._standardize import chunk_rows, row_blocks


@dataclass(frozen=True)
class Moments:
    """Label-weighted moments of features, for several weights.

    Parameters
    ----------
    second : ndarray (s, m, m)
        Mean of t (u u^T - 1).
    first : ndarray (s, m)
        Mean of t u.
    noise : ndarray (n, s)
        What is left of the weights: its law makes the bulk.
    """

    second: np.ndarray
    first: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, U: np.ndarray, T: np.ndarray) -> Moments:
        """Plain moments of rows U (n, m) with weights T (n, s), whose means go."""
        T = T - T.mean(axis=0)
        (n, m), s = U.shape, T.shape[1]
        second, first = np.zeros((s, m, m)), np.zeros((s, m))
        for part in row_blocks(n, chunk_rows(2 * m, U.itemsize)):
            for i, t in enumerate(T[part].T.astype(U.dtype)):
                weighted = U[part] * t[:, None]
                second[i] += weighted.T @ U[part]
                first[i] += weighted.sum(axis=0)
        return cls(second / n, first / n, T)

    @classmethod
    def joined(cls, parts: list[Moments]) -> Moments:
        """Moments of several sets of rows together."""
        sizes = np.array([len(part.noise) for part in parts], float)
        shares = (sizes / sizes.sum()).tolist()
        pairs = list(zip(shares, parts, strict=True))
        return cls(
            np.sum([share * part.second for share, part in pairs], axis=0),
            np.sum([share * part.first for share, part in pairs], axis=0),
            np.concatenate([part.noise for part in parts]),
        )

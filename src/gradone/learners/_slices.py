"""Smooth slices: the functions of the label that label-conditional moments are weighted with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..base.errors import BadData
from ._permutation_test import permuted

MAX_CLASSES = 10
"""Labels with at most this many values are classes; more are an ordered quantity."""
COSINES = 6


def slice_weights(
    y: np.ndarray, *, n_slices: int | None = None, row_weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Orthonormal functions of the label at every sample, (n, q).

    The indicators of the classes when y is text or has at most 10 values, else the cosines
    :math:`\cos(k \pi u_i)`, k = 1 ... 6, of the rank :math:`u_i \in (0, 1)` of the label, or the
    indicators of slices of equal size; centred, and made orthonormal in the mean over samples.
    Nothing but the order of the labels (their equality, for classes) counts, so a monotone
    relabeling changes nothing.

    Parameters
    ----------
    y : ndarray (n,)
        Labels, not all equal.
    n_slices : int, optional
        Number of slices of labels that are not classes; None for the cosines.
    row_weights : ndarray (n,), optional
        Weights of the samples, with mean 1.

    Examples
    --------
    >>> weights = slice_weights(np.array([0.0, 1.0, 1.0, 0.0]))
    >>> weights.shape, abs(weights[:, 0])
    ((4, 1), array([1., 1., 1., 1.]))
    """
    values, which = np.unique(y, return_inverse=True)
    counts = np.bincount(which, row_weights)
    if len(values) <= MAX_CLASSES or y.dtype.kind not in "biuf":
        if len(values) > max(MAX_CLASSES, len(y) // 2):
            raise BadData(
                f"y has {len(values)} different labels of type {y.dtype} in {len(y)} rows: each "
                "would be a class of its own. Give numbers, or labels that repeat."
            )
        functions = (which[:, None] == np.arange(len(values))).astype(float)
    else:
        # Middle of the ranks that equal labels share: they are never parted.
        middle = (np.cumsum(counts) - counts / 2) / len(y)
        if n_slices is None:
            functions = np.cos(np.pi * np.outer(middle, np.arange(1, COSINES + 1)))[which]
        else:
            slices = np.minimum(middle * n_slices, n_slices - 1).astype(int)
            functions = (slices[which, None] == np.arange(n_slices)).astype(float)
    return orthonormal(functions, row_weights)


def orthonormal(functions: np.ndarray, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Functions (n, q) centred and made orthonormal in the mean over samples; fewer if dependent.

    Examples
    --------
    >>> orthonormal(np.array([[1.0, 1.0], [3.0, 3.0]])).shape
    (2, 1)
    """
    n = len(functions)
    root = np.ones(n) if row_weights is None else np.sqrt(row_weights)
    functions = (functions - (root**2 @ functions) / n) * root[:, None]
    left, singular, _ = np.linalg.svd(functions, full_matrices=False)
    kept = left[:, singular > 1e-8 * singular[0]] * np.sqrt(n)
    return kept if row_weights is None else kept / root[:, None]


def permuted_slices(
    y: np.ndarray,
    functions: np.ndarray,
    count: int,
    rng: np.random.Generator,
    *,
    numbers: int,
    n_slices: int | None = None,
    row_weights: np.ndarray | None = None,
) -> Iterator[list[np.ndarray]]:
    """Functions of labels that are permuted among rows, as :func:`permuted` gives them.

    Rows keep their weights, so that with weights the slices of permuted labels are made anew.

    Parameters
    ----------
    y : ndarray (n,)
        Labels.
    functions : ndarray (n, q)
        Their functions, from :func:`slice_weights`.
    count : int
        Number of permutations.
    rng : Generator
        Draws them.
    numbers : int
        Numbers that are computed for each function.
    n_slices, row_weights
        As of :func:`slice_weights`.
    """
    if row_weights is None:
        yield from permuted(functions, count, rng, numbers=numbers)
        return
    rows = np.arange(len(y))[:, None]
    for orders in permuted(rows, count, rng, numbers=numbers * functions.shape[1]):
        yield [
            slice_weights(y[order[:, 0]], n_slices=n_slices, row_weights=row_weights)
            for order in orders
        ]

"""Smooth slices: the functions of the label that label-conditional moments are weighted with."""

from __future__ import annotations

import numpy as np

MAX_CLASSES = 10
"""Labels with at most this many values are classes; more are an ordered quantity."""
COSINES = 6


def slice_weights(y: np.ndarray) -> np.ndarray:
    r"""Orthonormal functions of the label at every sample, (n, q).

    The indicators of the classes when y is text or has at most 10 values, else the cosines
    :math:`\cos(k \pi u_i)`, k = 1 ... 6, of the rank :math:`u_i \in (0, 1)` of the label; centred,
    and made orthonormal in the mean over samples. Nothing but the order of the labels (their
    equality, for classes) counts, so a monotone relabeling changes nothing.

    Parameters
    ----------
    y : ndarray (n,)
        Labels, not all equal.

    Examples
    --------
    >>> weights = slice_weights(np.array([0.0, 1.0, 1.0, 0.0]))
    >>> weights.shape, abs(weights[:, 0])
    ((4, 1), array([1., 1., 1., 1.]))
    """
    values, which, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(values) <= MAX_CLASSES or y.dtype.kind not in "biuf":
        functions = (which[:, None] == np.arange(len(values))).astype(float)
    else:
        # Middle of the ranks that equal labels share.
        middle = (np.cumsum(counts) - counts / 2) / len(y)
        functions = np.cos(np.pi * np.outer(middle, np.arange(1, COSINES + 1)))[which]
    functions -= functions.mean(axis=0)
    left, singular, _ = np.linalg.svd(functions, full_matrices=False)
    return left[:, singular > 1e-8 * singular[0]] * np.sqrt(len(y))

"""What a finder of directions found, and what it says about it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """Directions among the standardized features, and how they were found."""

    directions: np.ndarray
    """(k, d) rows that span them; those of first order come first."""
    eigenvalues: np.ndarray
    """(k,) eigenvalue that each was found with."""
    first_order_rank: int
    """Number of directions that the first order shows."""
    second_order_rank: int
    """Number of directions that the second order shows."""
    p_values: tuple[float, float] | None
    """Of both orders, where a test was made."""
    diagnosis: str
    """The same in words."""


def counted(first: int, second: int) -> str:
    """How many directions there are, and which order shows them.

    Examples
    --------
    >>> counted(1, 2)
    '3 directions are visible, 2 of them only to second order.'
    >>> counted(1, 0)
    '1 direction is visible to first order (trivial).'
    """
    total = first + second
    if total == 1:
        order = "visible only to second order" if second else "visible to first order (trivial)"
        return f"1 direction is {order}."
    if not second:
        return f"{total} directions are visible to first order (trivial)."
    if not first:
        return f"{total} directions are visible only to second order."
    return f"{total} directions are visible, {second} of them only to second order."


def few_rows(n: int, d: int) -> str:
    """Sentence to add when there are not more samples than features, else nothing.

    Examples
    --------
    >>> few_rows(20, 10)
    ''
    """
    if n > d:
        return ""
    return (
        f" There are not more samples than features (n = {n}, d = {d}): the covariance is known "
        "only through its shrinkage, and weak directions cannot be seen."
    )


def orthonormal_rows(vectors: np.ndarray) -> np.ndarray:
    """Gram-Schmidt from the first row on; the largest entry of every row is positive.

    Examples
    --------
    >>> orthonormal_rows(np.array([[0.0, -2.0], [1.0, 1.0]])) + 0.0
    array([[0., 1.],
           [1., 0.]])
    """
    rows = np.linalg.qr(vectors.T)[0].T
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1, keepdims=True), axis=1)
    return rows * np.where(largest < 0, -1.0, 1.0)

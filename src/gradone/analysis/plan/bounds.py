r"""Lower bounds on the samples that statistical-query learners need.

For the family :math:`\mathrm{He}_k(\langle u, x\rangle)/\sqrt{k!}`, with :math:`e^{c\epsilon^2 d}`
unit vectors whose overlaps are below :math:`\epsilon`, q correlation queries of tolerance
:math:`\tau` succeed only if

.. math:: \tau^2 \le \min_\epsilon\big[\epsilon^k + 2 q\,e^{-c\,\epsilon^2 d}\big],
          \qquad n \ge 1/\tau^2.    \qquad [AN-6]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...base.errors import BadData

UNION_BOUND = 0.25  # the constant c that random unit vectors and a union bound give


def csq_tolerance(d: int, k: int, *, queries: float, constant: float = UNION_BOUND) -> float:
    r"""Largest :math:`\tau^2` at which correlation queries can fail to find the direction [AN-6].

    Parameters
    ----------
    d, k : int
        Input dimension; order of the lowest Hermite term (information or leap exponent).
    queries : float
        Number of queries q.
    constant : float
        The constant c.

    Examples
    --------
    >>> f"{csq_tolerance(10_000, 4, queries=1e8):.3e}"
    '1.601e-04'
    """
    if d < 1 or k < 1 or not queries > 0 or not constant > 0:
        raise BadData(
            f"d, k, queries and constant must be positive, got {d}, {k}, {queries}, {constant}"
        )
    low, high = math.log(1e-12), 0.0
    for _ in range(6):  # the sum has one minimum where its second part stops mattering: zoom in
        grid = np.linspace(low, high, 400)
        eps = np.exp(grid)
        values = eps**k + 2 * queries * np.exp(-constant * eps**2 * d)
        best = int(values.argmin())
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(min(values.min(), 1.0))


@dataclass(frozen=True)
class Bound:
    r"""Lower bound on the samples for a class of algorithms.

    Parameters
    ----------
    name : str
        The class of algorithms.
    order : int
        The exponent of the target that enters.
    exponent : float
        Scaling :math:`d^{\max(1, k/2)}`, up to constants and logarithms.
    samples : float, optional
        The bound with its constants [AN-6], where one is known; far below the scaling at sizes of
        practice.
    note : str
        What was assumed.
    """

    name: str
    order: int
    exponent: float
    samples: float | None = None
    note: str = ""


def csq_bound(d: int, k: int, *, queries: float | None = None) -> Bound:
    """Bound for correlation queries, and so for one-pass SGD; by default with d**2 queries.

    Examples
    --------
    >>> bound = csq_bound(10_000, 4)
    >>> bound.exponent, f"{bound.samples:.3g}"
    (2.0, '6.25e+03')
    """
    queries = float(d) ** 2 if queries is None else queries
    tolerance = csq_tolerance(d, k, queries=queries)
    note = f"{queries:,.0f} queries, c = {UNION_BOUND}"
    return Bound("CSQ", k, max(1.0, k / 2), 1 / tolerance, note)


def sq_bound(k: int) -> Bound:
    """Bound for any statistical queries, with the generative exponent k; scaling only."""
    return Bound("SQ", k, max(1.0, k / 2), None, "up to constants and logarithms")

"""Choice of the ridge on rows that are held out."""

from __future__ import annotations

import numpy as np

_SHARE = 0.2  # of the rows
_DECADES = (-5.0, 3.0)  # of the ridge around the mean eigenvalue of the kernel


def held_out_rows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit and rows to compare with, sorted; at least one of each if n > 1.

    Examples
    --------
    >>> used, fresh = held_out_rows(10, np.random.default_rng(0))
    >>> len(used), len(fresh)
    (8, 2)
    """
    order = rng.permutation(n)
    count = max(1, round(_SHARE * n))
    return np.sort(order[count:]), np.sort(order[:count])


def ridge_candidates(unit: float, *, per_decade: int) -> list[float]:
    """Values of the ridge to choose from, around the typical eigenvalue `unit` of the kernel.

    Examples
    --------
    >>> [round(value, 6) for value in ridge_candidates(1.0, per_decade=1)][:3]
    [1e-05, 0.0001, 0.001]
    """
    low, high = _DECADES
    exponents = np.linspace(low, high, round((high - low) * per_decade) + 1)
    found: list[float] = (unit * 10.0**exponents).tolist()
    return found

"""Second layers before the step: the values that the readout weights take, and their shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import BadData
from ...calculus.grid import gauss_hermite


@dataclass(frozen=True)
class ReadoutLaw:
    """Law of the readout weights at the start, with finitely many values.

    Parameters
    ----------
    values, shares : ndarray (J,)
        The values u and the share of the neurons that have each.
    """

    values: np.ndarray
    shares: np.ndarray

    @property
    def mean(self) -> float:
        """Mean of the readout weights."""
        return float(self.shares @ self.values)

    def folded(self) -> ReadoutLaw:
        """Law of the absolute values, which is all that counts if the activation is odd."""
        values, place = np.unique(np.abs(self.values), return_inverse=True)
        return ReadoutLaw(values, np.bincount(place, weights=self.shares))


def readout_law(readout: Any, *, nodes: int = 24, name: str = "readout") -> ReadoutLaw:
    """Second layer as users give it: a name, or the share of each value.

    Parameters
    ----------
    readout : {"ones", "signs", "gaussian"} or mapping
        ``{value: share}``; shares sum to one.
    nodes : int
        Number of values that stand for ``"gaussian"``.
    name : str
        What the error messages call it.

    Examples
    --------
    >>> readout_law({-1.0: 0.3, 1.0: 0.3, 2.0: 0.4}).mean
    0.8
    >>> readout_law("signs").folded().values
    array([1.])
    """
    if isinstance(readout, Mapping):
        return _from_shares(readout, name)
    if readout == "ones":
        return ReadoutLaw(np.ones(1), np.ones(1))
    if readout == "signs":
        return ReadoutLaw(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    if readout == "gaussian":
        return ReadoutLaw(*gauss_hermite(nodes))
    raise BadData(
        f"{name} must be 'ones', 'signs', 'gaussian' or a mapping of values to shares such as "
        f"{{-1: 0.5, 2: 0.5}}, got {readout!r}"
    )


def _from_shares(readout: Mapping[Any, Any], name: str) -> ReadoutLaw:
    try:
        values = np.array([float(value) for value in readout])
        shares = np.array([float(share) for share in readout.values()])
    except (TypeError, ValueError):
        values = shares = np.array([math.nan])
    if not (len(values) and np.isfinite(values).all() and np.any(values != 0)):
        raise BadData(f"the values of {name} must be finite numbers, not all zero, got {readout}")
    if not ((shares > 0).all() and abs(shares.sum() - 1) < 1e-9):
        raise BadData(f"the shares of {name} must be positive and sum to one, got {readout}")
    return ReadoutLaw(values, shares)

"""Distribution of the labels of a target: atoms and a histogram of the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import BadData
from ..base.estimate import Estimate
from .channel import Atom

# A value that this share of the labels takes is an atom. A continuous law repeats no value, but
# saturated functions such as tanh repeat 1 when they are rounded.
_ATOM = 1e-2
_TAIL = 5e-3  # what the histogram leaves out on each side
_SAME = 1e-9  # relative distance of two values that differ by rounding only
_NORMAL_99 = 2.5758293035489004


@dataclass(frozen=True, eq=False)
class Distribution:
    """Atoms of the labels and a histogram of the others.

    Parameters
    ----------
    n : int
        Number of labels in the histogram, atoms included.
    atoms : tuple of Atom
        Values that are taken with positive probability, and that probability.
    edges : ndarray (bins + 1,)
        Edges of the histogram; empty if there are atoms only.
    shares : ndarray (bins,)
        Probability of each bin, atoms left out.
    outside : float
        Probability left and right of the histogram.
    """

    n: int
    atoms: tuple[Atom, ...]
    edges: np.ndarray
    shares: np.ndarray
    outside: float

    @property
    def is_discrete(self) -> bool:
        """Whether the labels take the values of the atoms only."""
        return not self.edges.size

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists."""
        return {
            "n": self.n,
            "atoms": [
                {"value": value, "probability": p.value, "error": p.error, "kind": p.kind}
                for value, p in self.atoms
            ],
            "edges": self.edges.tolist(),
            "shares": self.shares.tolist(),
            "outside": self.outside,
        }


def distribution(
    y: np.ndarray, *, atoms: Sequence[Atom] | None = None, bins: int = 64
) -> Distribution:
    """Atoms and histogram of a sample of labels.

    Parameters
    ----------
    y : ndarray (n,)
        Labels.
    atoms : sequence of Atom, optional
        The atoms where they are known; by default the values that repeat in the sample.
    bins : int
        Number of bins; they cover at least 99 % of the labels that are not atoms.

    Examples
    --------
    >>> z = np.linspace(-3, 3, 20_001)
    >>> found = distribution(np.maximum(z, 0.0))
    >>> [(a.value, round(a.probability.value, 3)) for a in found.atoms], found.shares.size
    ([(0.0, 0.5)], 64)
    """
    n = len(y)
    if not n:
        raise BadData("a distribution needs at least one label")
    known = tuple(_repeated(y) if atoms is None else atoms)
    is_atom = np.zeros(n, dtype=bool)
    for atom in known:
        is_atom |= np.abs(y - atom.value) <= _SAME * max(abs(atom.value), 1e-3)
    rest = y[~is_atom]
    if not rest.size:
        return Distribution(n, known, np.empty(0), np.empty(0), 0.0)
    inside, edges = np.histogram(rest, bins=bins, range=_round_limits(rest))
    return Distribution(n, known, edges, inside / n, float((rest.size - inside.sum()) / n))


def _round_limits(y: np.ndarray) -> tuple[float, float]:
    """Round numbers that enclose all but the tails."""
    low, high = (float(q) for q in np.quantile(y, [_TAIL, 1 - _TAIL]))
    if low == high:
        return low - 0.5, high + 0.5
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _repeated(y: np.ndarray) -> list[Atom]:
    """Values that a sample repeats."""
    n, y = len(y), np.sort(y)
    # Values of one atom may differ in their last bits; neighbors are told apart relatively, so
    # that a function flat around 0, such as z**12, does not look like an atom.
    starts = np.flatnonzero(np.diff(y, prepend=-np.inf) > 1e-14 * np.abs(y))
    counts = np.diff(starts, append=n)
    often = counts > max(1, _ATOM * n)
    found = []
    for value, share in zip(y[starts[often]].tolist(), (counts[often] / n).tolist(), strict=True):
        error = _NORMAL_99 * math.sqrt(share * (1 - share) / n)
        found.append(Atom(value, Estimate(share, error, "monte_carlo")))
    return found

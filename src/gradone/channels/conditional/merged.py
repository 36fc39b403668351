r"""How much may be hidden where different labels round to the same number.

Where a label moves by less than its rounding error, a computation sees one label c in place of
many. By Jensen's inequality that hides something of the matrices [OG-1], at most

.. math:: \mathbb{E}[\mathrm{Var}(\mathrm{he}_\beta(z)\,|\,c)\, \mathbb{1}\{z \in M\}],
          \qquad [ME-1]

with M the set of such places: nothing where all of them are close to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...calculus.embedding import order_indices
from ...calculus.hermite import hermite_table
from ...targets.language.pieces import Pieces
from ...targets.language.polynomials import polynomial_of
from ...targets.language.rounding import with_rounding
from ...targets.language.structure import is_piecewise_constant
from ...targets.language.tree import Node
from .gram import OutputGram
from .label import Grams
from .slice_points import wide_points

_STEP = 1e-2  # places closer than this need not be told apart
_ROUNDINGS = 10.0
_GRID, _REACH, _POINTS = 4001, 9.0, 1 << 12


def with_merged_labels(grams: Grams, label: Node, unknown: Sequence[int], r: int) -> Grams:
    """Matrices T_k of a label without noise whose errors cover labels that were merged [ME-1].

    Parameters
    ----------
    grams : dict
        Order to matrix over the first of the unknown variables.
    label : Node
        A function of r variables.
    unknown : sequence of int
        Variables that are not known, in increasing order; latent ones come last.
    r : int
        Number of variables.
    """
    if polynomial_of(label, r) is not None or is_piecewise_constant(label):
        return grams
    z, weight = _points(r)
    direction = np.random.default_rng(2718).standard_normal(z.shape)
    moved = z + _STEP * np.where(np.isin(np.arange(1, r + 1), unknown)[:, None], direction, 0.0)
    value, error = (
        np.broadcast_to(x, weight.shape) for x in with_rounding(label, lambda i: z[i - 1])
    )
    after, _ = with_rounding(label, lambda i: moved[i - 1])
    is_merged = np.abs(after - value) < _ROUNDINGS * error
    if is_merged.any():  # true constants are one label
        at = np.flatnonzero(is_merged)
        is_merged[at] = np.isnan(Pieces(label, r).constants(z[:, at].T))
    if not is_merged.any():
        return grams
    groups = _groups(value[is_merged], _ROUNDINGS * error[is_merged])
    at, weight = z[:, is_merged], weight[is_merged]
    return {k: _widened(gram, k, at, weight, groups, unknown) for k, gram in grams.items()}


def _groups(value: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Number of the label that each place is seen to have: values that overlap are one."""
    order = np.argsort(value)
    top = np.maximum.accumulate((value + width)[order])
    is_new = np.append(False, (value - width)[order][1:] > top[:-1])
    groups = np.empty(len(value), dtype=np.int64)
    groups[order] = np.cumsum(is_new)
    return groups


@lru_cache(maxsize=8)
def _points(r: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (r, n) that see the tails as well, and weights whose sum is one."""
    if r == 1:
        z = np.linspace(-_REACH, _REACH, _GRID)
        weight = np.exp(-0.5 * z * z)
        return z[None], weight / weight.sum()
    cloud = wide_points(r, _POINTS, range(1), 0)
    return cloud.z, cloud.weight / cloud.weight.sum()


def _widened(
    gram: OutputGram,
    k: int,
    z: np.ndarray,
    weight: np.ndarray,
    groups: np.ndarray,
    unknown: Sequence[int],
) -> OutputGram:
    q = next(q for q in range(1, len(unknown) + 1) if len(order_indices(q, k)) == len(gram.value))
    tables = [hermite_table(z[i - 1], k) for i in unknown[:q]]
    rows = [
        np.prod([table[b] for table, b in zip(tables, beta, strict=True)], axis=0)
        for beta in order_indices(q, k)
    ]
    mass = np.bincount(groups, weight)
    means = [(np.bincount(groups, weight * row) / mass)[groups] for row in rows]
    gaps = [row - mean for row, mean in zip(rows, means, strict=True)]
    hidden = np.sqrt(np.array([weight @ gap**2 for gap in gaps]))
    return OutputGram(gram.value, gram.bias + np.outer(hidden, hidden), gram.replicates)

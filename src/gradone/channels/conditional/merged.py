r"""How much may be hidden where different labels round to the same number.

Where a label moves by less than its rounding error, a computation sees one label c in place of
many. By Jensen's inequality that hides something of the matrices [OG-1], by the law of total
variance at most

.. math:: \mathbb{E}[\mathrm{Var}(\mathrm{he}_\beta(z)\,|\,c, z_U)\, \mathbb{1}\{z \in M\}],
          \qquad [MC-1]

with M the set of such places: nothing where all of them are close to each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...calculus.cells import SAME
from ...calculus.embedding import order_indices
from ...calculus.hermite import hermite_table
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.pieces import Pieces
from ...targets.language.polynomials import polynomial_of
from ...targets.language.rounding import ROUNDINGS, with_rounding
from ...targets.language.structure import is_piecewise_constant
from ...targets.language.tree import Node, variables
from .gram import OutputGram
from .label import Grams
from .slice_points import wide_points, wide_weight
from .slicing import DIGITS

_STEP = 1e-2  # places closer than this need not be told apart
_REACH, _POINTS, _TOGETHER = 9.0, 1 << 12, 1 << 6
_CROOKED = 0.00071307  # no typed function jumps at one of the points, where its value is not known


def with_merged_labels(grams: Grams, label: Node, unknown: Sequence[int], r: int) -> Grams:
    """Matrices T_k of a label without noise whose errors cover labels that were merged [MC-1].

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
    if polynomial_of(label, r) is not None:  # flat only around points, where all places are close
        return grams
    z, weight, node = _places(r, tuple(sorted(set(variables(label)) - set(unknown))))
    direction = np.random.default_rng(2718).standard_normal(z.shape)
    moved = z + _STEP * np.where(np.isin(np.arange(1, r + 1), unknown)[:, None], direction, 0.0)
    value, error = (
        np.broadcast_to(x, weight.shape) for x in with_rounding(label, lambda i: z[i - 1])
    )
    after = evaluate_columns(label, lambda i: moved[i - 1])
    size = np.abs(value)
    width = np.maximum(
        ROUNDINGS * error,
        SAME * size.max() if is_piecewise_constant(label) else DIGITS * size,
    )
    flat = np.flatnonzero(np.abs(after - value) <= width)
    constant = Pieces(label, r).same_constants(z[:, flat].T) if len(flat) else flat
    groups = _groups(value[flat], width[flat], node[flat])
    is_merged = _differ(groups, constant)
    if not is_merged.any():
        return grams
    at, groups = flat[is_merged], groups[is_merged]
    z, weight = z[:, at], weight[at]
    return {k: _widened(gram, k, z, weight, groups, unknown) for k, gram in grams.items()}


def _differ(groups: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Which places are seen to have a label that is not one true constant."""
    least, most = np.full((2, int(groups.max(initial=0)) + 1), -1)
    np.maximum.at(most, groups, constant)
    least[groups] = most[groups]
    np.minimum.at(least, groups, constant)
    return ((least < most) | (most < 0))[groups]


def _groups(value: np.ndarray, width: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Number of the label that each place is seen to have: values that overlap are one."""
    order = np.lexsort((value, node))
    low, high, node = (value - width)[order], (value + width)[order], node[order]
    is_new = np.append(True, np.diff(node) > 0)
    for first, last in itertools.pairwise([*np.flatnonzero(is_new), len(node)]):
        top = np.maximum.accumulate(high[first:last])
        is_new[first + 1 : last] = low[first + 1 : last] > top[:-1]
    groups = np.empty(len(value), dtype=np.int64)
    groups[order] = np.cumsum(is_new) - 1
    return groups


@lru_cache(maxsize=8)
def _places(r: int, known: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (r, n) that see the tails as well, weights whose sum is one, and what is known.

    Many points share the values of the known variables: only their labels are compared.
    """
    node = np.zeros(_POINTS, dtype=np.int64)
    if r == 1:
        z = np.linspace(-_REACH, _REACH, _POINTS)[None] + _CROOKED
        weight = np.exp(-0.5 * z[0] ** 2)
    else:
        z = wide_points(r, _POINTS, range(1), 0).z.copy()
        if known:
            node = np.arange(_POINTS) // _TOGETHER
            rows = [i - 1 for i in known]
            z[rows] = z[rows][:, node]  # the first of the sequence, which are spread evenly
        weight = wide_weight(z)
    return z, weight / weight.sum(), node


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
    rows = np.array(
        [
            np.prod([table[b] for table, b in zip(tables, beta, strict=True)], axis=0)
            for beta in order_indices(q, k)
        ]
    )
    # Compared with the mean over the others of its label: a place alone shows no variance.
    others = np.bincount(groups, weight)[groups] - weight
    sums = np.array([np.bincount(groups, weight * row)[groups] for row in rows]) - weight * rows
    is_alone = others <= 1e-9 * weight
    gaps = rows - np.where(is_alone, 0.0, sums / np.where(is_alone, 1.0, others))
    hidden = np.sqrt(gaps**2 @ weight)
    return OutputGram(gram.value, gram.bias + np.outer(hidden, hidden), gram.replicates)

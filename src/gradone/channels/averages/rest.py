r"""What is left of a target once some of its directions are known.

Given :math:`z_1 = c`, the label of ``He2(z1) + sign(z1*z2*z3)`` is an affine function of
``sign(z2*z3)``, whatever c is: what labels tell about the other directions is what the smaller
target tells.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...base.errors import GradoneError
from ...base.seeds import stream
from ...targets.language.expression import Expression
from ...targets.language.functions import call, substitute
from ...targets.language.tree import (
    Call,
    Node,
    Number,
    Product,
    Sum,
    Variable,
    add,
    is_constant,
    multiply,
    negate,
    number,
    variables,
)
from ...targets.target import Target
from ..relabeling import without_relabeling

_VALUES = np.array([-17, -11, -8, -5, -3, -1, 2, 4, 6, 9, 13, 19]) / 8  # of what is known
_PROBES = 64  # points at which labels are compared
_ROUNDING = 1e-9


class Rest(NamedTuple):
    """What a target is, given some of its directions, up to an affine map of the label."""

    target: Target
    axes: np.ndarray
    """Variables of the original target that its variables are, counted from 0."""
    scale: float
    """Mean square of the slope of the affine map."""


def rest_given(target: Target, known: np.ndarray) -> Rest | None:
    """What is left given the directions `known` (k, r); None if it depends on their values.

    Examples
    --------
    >>> rest = rest_given(Target("He2(z1) + 2*sign(z1*z2*z3)"), np.eye(3)[:1])
    >>> rest.target.text, rest.axes.tolist(), round(rest.scale, 6)
    ('sign(z1*z2)', [1, 2], 4.0)
    """
    is_axis = np.abs(np.abs(known) - 1) < _ROUNDING
    if target.noise or target.q or (is_axis.sum(axis=1) != 1).any():
        return None
    chosen = is_axis.any(axis=0)
    known_axes, axes = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    for plane in target.joint.breaks[0]:
        if plane.offset and not np.any(np.array(plane.normal)[axes]):
            return None  # the label may be another one beyond
    try:
        trees = {_bare(_at(target.joint.tree, known_axes, row)) for row in _values(len(known_axes))}
        tree = trees.pop()
        if trees or variables(tree) != tuple(int(a) + 1 for a in axes):
            return None
        left = Target.of(Expression.from_tree(_renumbered(tree, axes), r=len(axes)))
        scale = _scale(target, left, known_axes, axes)
    except GradoneError:
        return None
    return None if scale is None else Rest(left, axes, scale)


def _values(k: int) -> np.ndarray:
    """Values (n, k) of k known variables; each goes through all values, in another order."""
    n = len(_VALUES)
    return np.array([[_VALUES[(5**j * i) % n] for j in range(k)] for i in range(n)])


def _bare(node: Node) -> Node:
    """Formula without its invertible outer functions, a label up to its sign and scale."""
    while True:
        inner = without_relabeling(node).inner
        match inner:
            case Call(name="sign", arguments=(Product(factors=(first, *factors)),)) if is_constant(
                first
            ):
                inner = call("sign", multiply(factors))
            case Sum(terms=(Product(factors=(Number() as first, *_)), *_)):
                inner = add((multiply((number(1 / first.value), inner)),))
            case _:
                pass
        if inner == node:
            return node
        node = inner


def _scale(target: Target, left: Target, known: np.ndarray, axes: np.ndarray) -> float | None:
    """Mean square slope of the label as a function of the smaller one; None if not affine."""
    rng = stream(0, "data", given=target.r)
    probes = np.round(rng.standard_normal((_PROBES, len(axes))), 3)
    inner = np.asarray(left.expression(probes))
    low, high = int(inner.argmin()), int(inner.argmax())
    gap = float(inner[high] - inner[low])
    if not gap:
        return None
    z = np.empty((_PROBES, _PROBES, target.r))
    z[:, :, known], z[:, :, axes] = rng.standard_normal((_PROBES, 1, len(known))), probes
    y = np.asarray(target.expression(z))
    slope = (y[:, high] - y[:, low]) / gap
    expected = y[:, [low]] + slope[:, None] * (inner - inner[low])
    if np.abs(y - expected).max() > _ROUNDING * (1 + np.abs(y).max()):
        return None
    # The slope as a function of what is known: its mean square is an exact integral.
    at = [_at(target.joint.tree, axes, probes[i]) for i in (high, low)]
    difference = add((at[0], negate(at[1])))
    of_known = Expression.from_tree(_renumbered(difference, known), r=len(known))
    return float(of_known.second_moment()) / gap**2


def _at(tree: Node, axes: np.ndarray, point: np.ndarray) -> Node:
    """Formula with the coordinates of a point in place of some variables."""
    values: dict[Node, Node] = {
        Variable("z", int(axis) + 1): number(Fraction(float(x)))
        for axis, x in zip(axes, point, strict=True)
    }
    return substitute(tree, values)


def _renumbered(tree: Node, axes: np.ndarray) -> Node:
    """Formula whose variables are the given ones, counted from 1 on."""
    values: dict[Node, Node] = {
        Variable("z", int(a) + 1): Variable("z", k + 1) for k, a in enumerate(axes)
    }
    return substitute(tree, values)

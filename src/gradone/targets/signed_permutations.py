"""Signed permutations of its variables under which a target changes its sign at most."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .language.expression import Expression
from .language.functions import substitute
from .language.structure import parity
from .language.tree import Node, Variable


class Symmetries(NamedTuple):
    """Group of maps that permute the variables and change their signs, the identity first."""

    maps: np.ndarray
    """(k, r, r) signed permutation matrices."""
    keeps: np.ndarray
    """(k,) whether the output stays as it is; if not, it changes its sign."""


@lru_cache(maxsize=64)
def symmetries(expression: Expression) -> Symmetries:
    """Signed permutations of the variables that change at most the sign of the output.

    Those that follow from the form of the expression: its changes of sign times its permutations.

    Examples
    --------
    >>> found = symmetries(Expression("z1*z2"))
    >>> len(found.maps), int(found.keeps.sum())
    (8, 4)
    >>> symmetries(Expression("sign(z1*z2 + z1 + 1)")).maps.tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    return symmetries_of(expression.tree, expression.r)


def symmetries_of(tree: Node, r: int) -> Symmetries:
    """The same of a formula of r variables."""
    z = [Variable("z", i + 1) for i in range(r)]
    turns = [
        order
        for order in itertools.permutations(range(r))
        if substitute(tree, {z[i]: z[j] for i, j in enumerate(order) if i != j}) == tree
    ]
    flips = [
        (signs, behavior)
        for signs in itertools.product((1.0, -1.0), repeat=r)
        if (behavior := parity(tree, [i for i, s in enumerate(signs, 1) if s < 0]))
    ]
    pairs = list(itertools.product(turns, flips))
    return Symmetries(
        np.array([np.diag(signs)[list(order)] for order, (signs, _) in pairs]),
        np.array([behavior == "even" for _, (_, behavior) in pairs]),
    )

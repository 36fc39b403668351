r"""Exact zeros from symmetry.

If the target does not change under an orthogonal map g that leaves the known directions alone,
the conditional tensors :math:`D_k(y, z_U)` are invariant under g, so they lie in the range of the
mean of its action over the group: what lies outside vanishes exactly, whatever noise says.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from ...calculus.embedding import embedding
from ...targets.language.expression import Expression
from ...targets.language.functions import FUNCTIONS, substitute
from ...targets.language.levels import with_visible_symmetry
from ...targets.language.tree import Call, Node, Variable, negate, nodes
from ...targets.subspace import Subspace
from .gram import OutputGram

_MAX_PERMUTED = 4


@lru_cache(maxsize=64)
def symmetry_groups(f: Expression) -> tuple[tuple[np.ndarray, ...], ...]:
    """Groups of orthogonal matrices under which a target is proven not to change.

    Changes of sign of several variables together, and permutations of variables.

    Examples
    --------
    >>> flips, permutations = symmetry_groups(Expression("sign(z1*z2)"))
    >>> len(flips), len(permutations)
    (2, 2)
    """
    variables = range(1, f.r + 1)
    flips = [
        np.diag([-1.0 if i in flipped else 1.0 for i in variables])
        for size in range(f.r + 1)
        for flipped in itertools.combinations(variables, size)
        if _is_even(f, flipped)
    ]
    permutations = [np.eye(f.r)]
    if f.r <= _MAX_PERMUTED:
        for order in itertools.permutations(variables):
            values: dict[Node, Node] = {
                Variable(f.letter, i): Variable(f.letter, j)
                for i, j in zip(variables, order, strict=True)
            }
            if order != tuple(variables) and substitute(f.tree, values) == f.tree:
                permutations.append(np.eye(f.r)[[j - 1 for j in order]])
    return tuple(flips), tuple(permutations)


def _is_even(f: Expression, flipped: tuple[int, ...]) -> bool:
    """Whether a target does not change with the signs of some variables, as its form shows."""
    found = f.parity(*flipped)
    hides = any(isinstance(p, Call) and FUNCTIONS[p.name].parity == "none" for p in nodes(f.tree))
    if found is not None or not hides:  # sums of odd functions show what they are
        return found == "even"
    values: dict[Node, Node] = {
        Variable(f.letter, i): negate(Variable(f.letter, i)) for i in flipped
    }
    return with_visible_symmetry(substitute(f.tree, values)) == with_visible_symmetry(f.tree)


def unknown(known: Subspace, latent: int) -> Subspace:
    """Directions that are still to be learned: latent variables, the last ones, are not."""
    rest = known.complement()
    if not latent:
        return rest
    basis = np.vstack([known.basis, np.eye(known.r)[known.r - latent :]])
    return Subspace.span(basis, known.r).complement()


def _projectors(f: Expression, known: Subspace, k: int, latent: int) -> list[np.ndarray]:
    """Means of the action on tensors of order k, over each group of maps that fix the known.

    Maps that mix directions with latent variables say nothing about the directions alone.
    """
    complement, r = unknown(known, latent).basis, f.r - latent
    found = []
    for group in symmetry_groups(f):
        fixing = [
            g
            for g in group
            if np.allclose(known.basis @ g, known.basis, atol=1e-9) and not g[:r, r:].any()
        ]
        if len(fixing) > 1:
            actions = [embedding(complement @ g @ complement.T, k) for g in fixing]
            found.append(np.mean(actions, axis=0))
    return found


def vanishes(f: Expression, known: Subspace, k: int, latent: int = 0) -> bool:
    """Whether symmetry leaves nothing of T_k.

    Examples
    --------
    >>> f = Expression("z1*z2")
    >>> [vanishes(f, Subspace.zero(2), k) for k in (1, 2, 3)]
    [True, False, True]
    """
    return any(np.abs(p).max() < 1e-12 for p in _projectors(f, known, k, latent))


def invariant_part(
    gram: OutputGram, f: Expression, known: Subspace, k: int, latent: int = 0
) -> OutputGram:
    """T_k on the complement of a known subspace, with exact zeros where symmetry demands them."""
    for projector in _projectors(f, known, k, latent):
        gram = gram.mapped(projector)
    return gram

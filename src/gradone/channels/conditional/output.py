r"""What the output reveals about the hidden directions, nothing being known yet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...calculus.embedding import embedding, order_indices
from ...targets.frame import typed_frame
from ...targets.language.expression import Expression
from ...targets.language.latent import without_added_noise
from ...targets.language.tree import Variable
from ...targets.subspace import Subspace
from ..rules import conditional_moments
from .gram import OutputGram
from .label import POINTS, Grams, Label
from .labels import simpler_label
from .symmetry import invariant_part, vanishes


def output_grams(
    expression: Expression,
    noise: float,
    orders: Sequence[int],
    *,
    points: int = POINTS,
    scramble: int = 0,
    latent: int = 0,
) -> Grams:
    """Matrices T_k of a target, nothing being known yet.

    Parameters
    ----------
    expression : Expression
        The noiseless target.
    noise : float
        Variance of the label noise.
    orders : sequence of int
        Values of k.
    points : int
        Function values for the method of slices.
    scramble : int
        Which points that method draws.
    latent : int
        How many of the last variables are latent noise: the label depends on them, T_k is about
        the others.
    """
    label = simpler_label(expression.tree, expression.variables, is_noisy=noise > 0).tree
    if latent:
        label, added = without_added_noise(label, _last_variables(expression, latent))
        noise += added
    if label is not expression.tree:
        expression = Expression.from_tree(label, letter=expression.letter, r=expression.r)
    whole = Label(expression, noise, latent, points, scramble)
    if latent and (found := conditional_moments(whole, orders)):
        return found
    found = _known_grams(whole._replace(latent=0), tuple(orders))
    return {k: _of_first(gram, expression.r, latent, k) for k, gram in found.items()}


def _last_variables(expression: Expression, latent: int) -> list[Variable]:
    first = expression.r - latent
    return [Variable(expression.letter, first + i) for i in range(1, latent + 1)]


def _of_first(gram: OutputGram, r: int, latent: int, k: int) -> OutputGram:
    """Block of T_k whose features contain no latent variable."""
    if not latent:
        return gram
    indices = order_indices(r, k)
    return gram.mapped(np.eye(len(indices))[~indices[:, r - latent :].any(axis=1)])


@lru_cache(maxsize=128)  # conditions that differ by a shift of the label are one problem
def _known_grams(label: Label, orders: tuple[int, ...]) -> Grams:
    r = label.f.r
    if _is_constant(label.f):
        return {k: no_gram(r, k) for k in orders}
    framed = typed_frame(label.f)
    f, nothing = framed.expression, Subspace.zero(framed.expression.r)
    # Orders 1 and 2 together share their points with all other targets.
    seen = orders if max(orders) <= 2 else [k for k in orders if not vanishes(f, nothing, k)]
    inner = {k: no_gram(f.r, k) for k in orders}
    if seen:
        inner |= conditional_moments(label._replace(f=f), seen) or {}
    inner = {k: invariant_part(gram, f, nothing, k) for k, gram in inner.items()}
    if np.array_equal(framed.rows, np.eye(r)):
        return inner
    # The target depends on the coordinates t = B z only.
    return {k: gram.mapped(embedding(framed.rows, k)) for k, gram in inner.items()}


def _is_constant(f: Expression) -> bool:
    """Whether a target varies by no more than the rounding of the numbers in it.

    Fixing known variables often leaves a constant plus terms that should have cancelled; without
    noise these would reveal everything.
    """
    if not f.variables:
        return True
    # Far out as well: a function may be constant except where z is large.
    cloud = np.random.default_rng(41).standard_normal((64, f.r))
    values = np.asarray(f(np.concatenate([cloud, 3 * cloud, 9 * cloud])))
    return bool(np.ptp(values) <= 1e-11 * max(1.0, float(np.abs(values).max())))


def no_gram(r: int, k: int) -> OutputGram:
    """T_k of a label that reveals nothing."""
    m = len(order_indices(r, k))
    return OutputGram(np.zeros((m, m)), 0.0)

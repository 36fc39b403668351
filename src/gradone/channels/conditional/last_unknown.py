r"""What the output reveals about the last direction, the others being known.

Every value :math:`z_U = u` leaves a function :math:`t \mapsto f(u, t)` of one variable. Their
breaks, extrema and roots are found for all values of u at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...calculus.monotone import Family
from ...targets.language.derivative import derivative
from ...targets.language.expression import Expression
from ...targets.language.moving import moving_breaks, values_at
from ...targets.language.rounding import with_rounding
from ...targets.language.structure import parity
from ...targets.language.tree import Node, variables
from .branches import family_grams
from .effort import Effort
from .gram import OutputGram
from .label import Grams
from .labels import simpler_label
from .noisy_line import noisy_family_grams

_OTHERWISE = 10_000  # roots that take as long as the other method for one row


def last_unknown_grams(
    f: Expression,
    noise: float,
    known: np.ndarray,
    orders: Sequence[int],
    otherwise: Callable[[np.ndarray, float], Grams],
    importance: np.ndarray | None = None,
    effort: Effort | None = None,
    *,
    is_even: bool = False,
) -> list[Grams]:
    r"""Matrices T_k (1 x 1) of the last variable of f for each row of `known`.

    Parameters
    ----------
    f : Expression
        The noiseless target, in coordinates whose first ones are known.
    noise : float
        Variance of the label noise.
    known : ndarray, shape (n, r - 1)
        Values of the known coordinates.
    orders : sequence of int
        Values of k.
    otherwise : callable
        Another method for one row and its importance: where the noise is too small to integrate
        over it, or the branches are too many.
    importance : ndarray, shape (n,), optional
        How much each row counts in the end: unimportant ones may have larger errors.
    effort : Effort, optional
        What may be spent, and which error does not matter.
    is_even : bool
        Whether f is known to be even in its last variable, beyond what its form shows.

    Examples
    --------
    Given :math:`z_1 \ne 0` the label :math:`z_1 z_2` determines :math:`z_2`:

    >>> f, known = Expression("z1*z2"), np.array([[0.3]])
    >>> found = last_unknown_grams(f, 0.0, known, [1], lambda u, importance: {})
    >>> round(float(found[0][1].value[0, 0]), 9)
    1.0
    """
    label = simpler_label(f.tree, (f.r,), is_noisy=noise > 0)
    with np.errstate(all="ignore"):
        factors = [values_at(part, known, np.zeros(len(known))) for part in label.factors]
    is_constant = ~np.all([np.ones(len(known)), *factors], axis=0)
    is_constant |= _hardly_varies(label.tree, known)
    moving = np.flatnonzero(~is_constant)
    weight = (np.ones(len(known)) if importance is None else importance)[moving]
    distinct = known[moving]
    if variables(label.tree) == (f.r,):  # the same function for every u
        distinct, weight = distinct[:1], np.ones(len(distinct[:1]))
    found: list[Grams] = []
    if len(moving):
        effort = effort or Effort()
        found = _grams(label.tree, noise, distinct, orders, otherwise, weight, effort, is_even)
        found *= len(moving) // len(distinct)
    result: list[Grams] = [{k: OutputGram(np.zeros((1, 1)), 0.0) for k in orders} for _ in known]
    for i, grams in zip(moving, found, strict=True):
        result[i] = grams
    return result


def _hardly_varies(tree: Node, known: np.ndarray) -> np.ndarray:
    """For which rows a label varies by no more than the rounding of the numbers in it."""
    # Far out as well: a function may be constant except where t is large.
    cloud = np.random.default_rng(41).standard_normal(64)
    t = np.concatenate([cloud, 3 * cloud, 9 * cloud])
    values = values_at(tree, known[:, None, :], np.broadcast_to(t, (len(known), len(t))))
    with np.errstate(invalid="ignore"):
        return np.ptp(values, axis=1) <= 1e-11 * np.maximum(1.0, np.abs(values).max(axis=1))


def _rounding_at(tree: Node, known: np.ndarray, t: np.ndarray) -> np.ndarray:
    last = known.shape[1] + 1
    return with_rounding(tree, lambda i: t if i == last else known[:, i - 1])[1]


def _grams(
    tree: Node,
    noise: float,
    known: np.ndarray,
    orders: Sequence[int],
    otherwise: Callable[[np.ndarray, float], Grams],
    importance: np.ndarray,
    effort: Effort,
    is_even: bool,
) -> list[Grams]:
    breaks = moving_breaks(tree, known)
    last = known.shape[1] + 1
    is_even = is_even or parity(tree, (last,)) == "even"
    g: Family = lambda i, t: values_at(tree, known[i], t)  # noqa: E731
    if noise:
        grams = noisy_family_grams(g, breaks, noise, orders, importance, tolerance=effort.tolerance)
    else:
        slope = derivative(tree, last)
        grams = family_grams(
            g,
            lambda i, t: values_at(slope, known[i], t),
            breaks,
            orders,
            importance,
            is_even=is_even,
            tolerance=effort.tolerance,
            budget=effort.budget,
            rounding=lambda i, t: _rounding_at(tree, known[i], t),
        )
    effort.budget.left -= _OTHERWISE * grams.count(None)
    found = [
        gram or otherwise(u, float(w)) for u, w, gram in zip(known, importance, grams, strict=True)
    ]
    if is_even:  # then the odd moments vanish exactly
        zero = OutputGram(np.zeros((1, 1)), 0.0)
        found = [{k: zero if k % 2 else gram for k, gram in grams.items()} for grams in found]
    return found

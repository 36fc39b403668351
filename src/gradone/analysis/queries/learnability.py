r"""Which directions efficient algorithms can learn, in which order, and from how much data.

The filtration of statistical queries (Troiani et al. 2024; Damian, Lee, Bruna 2025): starting from
U = {0}, find the smallest order k at which the output, together with the variables already known,
reveals something about the others,

.. math:: D_k(y, z_U) = \mathbb{E}[\mathrm{He}_k(z_\perp) \mid y, z_U], \qquad
          N_k = \mathbb{E}[D_{(1)} D_{(1)}^\top], \qquad [LE-1]

add the range of :math:`N_k` to U, and repeat. Order 1 is *trivial* (any :math:`n/d > 0`), order 2
*easy* (above a threshold), order 3 and more *hard* (never at n = O(d)).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...base.estimate import Estimate
from ...calculus.output_gram import OutputGram
from ...targets.language.expression import Expression
from ..frame import natural_frame
from ..subspace import Subspace
from .directions import revealed_directions
from .operators import is_nonzero, query_strength
from .output import conditional_grams
from .recovery import is_perfectly_recovered
from .stages import MAX_ORDER, Learnability, Stage

_MORE_POINTS = 1 << 23


@lru_cache(maxsize=64)
def learnability(expression: Expression, noise: float = 0.0) -> Learnability:
    r"""Stages in which the directions of a target can be learned by efficient algorithms [LE-1].

    Parameters
    ----------
    expression : Expression
        The noiseless target.
    noise : float
        Variance of the label noise.

    Returns
    -------
    Learnability
        Stages with their classes and thresholds.

    Notes
    -----
    Easy directions open at :math:`\alpha_c = 1/\lambda_{\max}(F)` with
    :math:`F(M) = \mathbb{E}[G M G]`, :math:`G = \mathbb{E}[z_\perp z_\perp^\top - I \mid y, z_U]`,
    on symmetric matrices with the Frobenius product; the directions are the range of the positive
    eigen-matrix.

    Examples
    --------
    >>> answer = learnability(Expression("sign(z1*z2)"))
    >>> answer.classes, round(float(answer.stages[0].threshold), 6)
    (('easy',), 2.467401)
    """
    framed = natural_frame(expression)
    f, rows = framed.expression, framed.rows
    known = Subspace.zero(len(rows))
    stages: list[Stage] = []
    threshold, undecided = Estimate(0.0), ""
    is_exact = True
    while known.dim < len(rows):
        found = _next(f, noise if is_exact else blurred_noise(f, noise), known, is_exact)
        if isinstance(found, str):
            undecided = found
            break
        order, new, strength, exact, reason = found
        is_exact = is_exact and exact
        if order == 2:
            alpha = _inverse(strength)
            threshold = alpha if alpha.value > threshold.value else threshold
        elif order > 2:
            threshold = Estimate(math.inf, note=f"order {order} > 2")
        is_bound = (
            order == 2
            and known.dim > 0
            and not is_perfectly_recovered(f, noise, known, threshold.value)
        )
        known = known + new
        stages.append(
            Stage(
                Subspace.span(known.basis @ rows, expression.r),
                Subspace.span(new.basis @ rows, expression.r),
                order,
                threshold,
                is_bound,
                reason,
            )
        )
    used = Subspace.span(rows, expression.r)
    notes = () if is_exact else ("a learned subspace was estimated, not derived",)
    return Learnability(tuple(stages), used.complement(), undecided, notes)


def _inverse(x: Estimate) -> Estimate:
    return Estimate(1 / x.value, x.error / x.value**2, x.kind)


def blurred_noise(f: Expression, noise: float) -> float:
    """Noise that hides what an error of the known subspace would reveal; it adds no information."""
    variance = f.second_moment().value - f.mean().value ** 2
    return max(noise, (0.03**2) * variance)


_Found = tuple[int, Subspace, Estimate, bool, str]


def _next(f: Expression, noise: float, known: Subspace, is_exact: bool) -> _Found | str:
    """Next step of the filtration, or why it cannot be said."""
    complement = known.complement()
    q = complement.dim
    vanished: list[str] = []
    # Orders 1 and 2 cost little more than one of them; higher ones are rarely needed.
    groups: list[tuple[int, ...]] = [(1, 2), *((k,) for k in range(3, _max_order(q) + 1))]
    if q == 1:  # and in one dimension all of them together
        groups = [(1, 2), tuple(range(3, MAX_ORDER + 1))]
    for orders in groups:
        grams = conditional_grams(f, noise, known, orders)
        for k in orders:
            gram, strength = grams[k], query_strength(grams[k], q, k)
            verdict = is_nonzero(strength, is_rough=not is_exact)
            if verdict is None and gram.kind == "monte_carlo":
                more = _MORE_POINTS if known.dim else _MORE_POINTS >> 2
                gram = conditional_grams(f, noise, known, [k], points=more)[k]
                strength = query_strength(gram, q, k)
                verdict = is_nonzero(strength, is_rough=not is_exact)
            if not verdict and known.dim == 0 and (seen := _correlation(f, noise, k)) is not None:
                gram, strength, verdict = seen, query_strength(seen, q, k), True
            size = f"{strength.value:.6g} ± {strength.error:.0e}"
            if verdict is None:
                return f"undecided: the strength of order {k}, {size}, is too close to zero"
            if verdict:
                new, is_derived = revealed_directions(gram, q, k, strength, f, complement)
                if not new.dim:
                    return f"undecided: order {k} reveals something, {size}, but no direction"
                given = "y and what is known" if known.dim else "y"
                found = f"E[He_{k}(z) | {given}] does not vanish: strength {size}"
                reason = "; ".join([*vanished, found])
                return k, new, strength, is_derived, reason
            vanished.append(
                f"order {k} vanishes by symmetry"
                if strength.error == 0
                else f"order {k} vanishes: strength {strength.value:.0e} ± {strength.error:.0e}"
            )
    return f"> {_max_order(q)}: " + "; ".join(vanished[-2:])


def _correlation(f: Expression, noise: float, k: int) -> OutputGram | None:
    """Lower bound of T_k from the label itself, if its Hermite tensor of order k is not zero.

    By Cauchy-Schwarz T_k >= a a^T / Var(y) with the Hermite coefficients a: what correlates with
    the label is revealed by it, however little.
    """
    expansion = f.hermite(k)
    energy = expansion.energy(k)
    variance = f.second_moment().value - f.mean().value ** 2 + noise
    if not energy.value > max(10 * energy.error, 1e-25 * variance):
        return None
    a = expansion.value[expansion.indices.sum(axis=1) == k]
    return OutputGram(np.outer(a, a) / variance, 0.0)


def _max_order(q: int) -> int:
    return {1: MAX_ORDER, 2: 8, 3: 6}.get(q, 4)

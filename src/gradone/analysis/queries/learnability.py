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

from ...base.budget import BudgetSpent, processor_budget
from ...base.estimate import Estimate
from ...channels.conditional.labels import relabeled
from ...targets.frame import natural_frame
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from ..correlation.leap import spent_note
from .directions import typed_subspace
from .next_stage import AT_LEAST, blurred_noise, next_stage, without_blur
from .recovery import is_perfectly_recovered
from .stages import Learnability, Stage

MAX_RANK = 5
QUERY_SECONDS = 10.0
_NEAR = 0.02  # an estimated subspace this close to typed directions is taken for theirs


def learnability(
    expression: Expression, noise: float = 0.0, latent: int = 0, budget: float = QUERY_SECONDS
) -> Learnability:
    r"""Stages in which the directions of a target can be learned by efficient algorithms [LE-1].

    Parameters
    ----------
    expression : Expression
        The noiseless target.
    noise : float
        Variance of the label noise.
    latent : int
        How many of the last variables are latent noise: the label depends on them, and no
        direction is to be learned.
    budget : float
        Seconds of processor time; stages that are not found by then are undecided.

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
    return _learnability(expression, noise, latent, budget)


@lru_cache(maxsize=64)
def _learnability(expression: Expression, noise: float, latent: int, budget: float) -> Learnability:
    stages: list[Stage] = []
    try:
        with processor_budget(budget):
            return _stages(expression, noise, latent, stages)
    except BudgetSpent:
        return Learnability(tuple(stages), Subspace.zero(expression.r - latent), spent_note(budget))


def _stages(expression: Expression, noise: float, latent: int, stages: list[Stage]) -> Learnability:
    """All stages, which are appended to `stages` as they are found."""
    r = expression.r - latent
    if not noise:
        expression = relabeled(expression)
    framed = natural_frame(expression, latent)
    if (rank := len(framed.rows)) > MAX_RANK:
        used = Subspace.span(framed.rows[: rank - latent, :r], r)
        return Learnability((), used.complement(), _too_many(rank, latent))
    f, rows = framed.expression, framed.rows[: len(framed.rows) - latent, :r]
    known = Subspace.zero(f.r)
    threshold, undecided = Estimate(0.0), ""
    is_exact = True
    while known.dim < len(rows):
        seen_noise = noise if is_exact else blurred_noise(f, noise)
        found = next_stage(f, seen_noise, known, is_exact=is_exact, latent=latent)
        if isinstance(found, str):
            undecided = found
            break
        strength = found.strength
        if found.order == 2:
            if not is_exact:
                strength = without_blur(f, noise, known, strength, latent)
            alpha = _inverse(strength)
            threshold = alpha if alpha.value > threshold.value else threshold
        elif found.order > 2:
            threshold = Estimate(math.inf, note=f"order {found.order} > 2")
        is_bound = (
            found.order == 2
            and known.dim > 0
            # Latent noise leaves a doubt, as label noise does.
            and (latent > 0 or not is_perfectly_recovered(f, noise, known, threshold.value))
        )
        known, is_exact = _extended(known, found.new, f, is_exact and found.is_exact)
        stages.append(
            Stage(
                _in_variables(known, rows),
                _in_variables(found.new, rows),
                found.order,
                threshold,
                is_bound,
                found.reason,
                strength,
            )
        )
    used = Subspace.span(rows, r)
    notes = () if is_exact else ("a learned subspace was estimated, not derived",)
    return Learnability(tuple(stages), used.complement(), undecided, notes)


def _too_many(rank: int, latent: int) -> str:
    directions = "directions and latent variables" if latent else "directions"
    return (
        f"undecided: the target depends on {rank} {directions}, and "
        f"conditional moments of more than {MAX_RANK} would cost about 10^{rank + 3} function "
        "values. Analyze a part of it with fewer variables"
    )


def _in_variables(found: Subspace, rows: np.ndarray) -> Subspace:
    """Subspace of z, from one of the coordinates of a frame and the latent variables behind."""
    return Subspace.span(found.basis[:, : len(rows)] @ rows, rows.shape[1])


def _inverse(x: Estimate) -> Estimate:
    if x.note == AT_LEAST:
        return Estimate(1 / x.value, 1 / x.value, x.kind, "at most")
    return Estimate(1 / x.value, x.error / x.value**2, x.kind)


def _extended(
    known: Subspace, new: Subspace, f: Expression, is_exact: bool
) -> tuple[Subspace, bool]:
    """All that is known now, and whether it is exact.

    Directions that were estimated one by one may span a plane of typed ones.
    """
    whole = known + new
    if is_exact:
        return whole, True
    typed = typed_subspace(whole, whole.dim, f, Subspace.span(np.eye(f.r)), _NEAR)
    return (whole, False) if typed is None else (typed, True)

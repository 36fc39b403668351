"""Rows of a plan for algorithms that use the label beyond correlations: reuse, AMP, spectral."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...base.estimate import Estimate
from ...targets.frame import natural_frame
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from ..queries.recovery import is_perfectly_recovered
from .case import Case
from .correlation_rows import (
    learned_here,
    plateau_or_reason,
    samples_of_leap,
    scaling,
    stages_text,
)
from .row import PlanRow, Sizes

if TYPE_CHECKING:
    from ..queries.stages import Learnability, Stage

_UNKNOWN = "unknown"
_PROPORTIONAL = 0.1  # fewer samples per dimension are not "a number proportional to d"


def reuse_row(case: Case) -> PlanRow:
    """Batches seen twice, or extra-gradient steps: the generative staircase."""
    expression, answer, sizes = case.expression, case.learnability, case.sizes
    stages = answer.stages
    orders = [stage.order for stage in stages]
    exponent = max((max(1.0, k - 1.0) for k in orders), default=math.inf)
    with_log = exponent == 1.0 and 2 in orders
    reached = Subspace.zero(expression.r)
    for stage in stages:
        if sizes.n < samples_of_leap(stage.order, sizes.d):
            break
        reached = stage.subspace
    cites = ("dandi2024reuse", "arnaboldi2024repetita")
    if not stages and not answer.is_complete:
        return _undecided("data reuse, extra-gradient", answer.undecided, cites)
    error, note = plateau_or_reason(expression, reached, sizes.kappa)
    notes = [stages_text(orders, "generative order"), note]
    if max(orders, default=0) > 2:
        notes.append("the power for order 3 and more is open")
    notes.append(answer.undecided)
    return PlanRow(
        "data reuse, extra-gradient",
        scaling(exponent, with_log),
        exponent,
        sizes.margin(exponent, with_log),
        repr(stages[-1].subspace) if stages else "nothing found",
        here=learned_here(expression, reached, sizes.kappa, error),
        reached=reached,
        plateau=error,
        with_log=with_log,
        note="; ".join(part for part in notes if part),
        cites=cites,
    )


def bounded_row(case: Case) -> PlanRow:
    """Normalized or clipped gradients, Huber or absolute loss: one pass, small batches.

    The push of a sample is not affine in its label, so that all statistical queries are open to it,
    not correlations alone; labels of two values have no other queries.
    """
    row = reuse_row(case)
    root = math.isqrt(case.sizes.d)
    small = (
        f"for batches well below sqrt(d) = {root}; larger ones average the gain away and keep the "
        "information exponent"
    )
    generic = (
        "with relu neurons of both signs; normalization loses an escape where the sign of the "
        "push does not depend on the field (labels of two values, slopes of one sign such as "
        "tanh's), gd.analysis.escape tells"
    )
    return replace(
        row,
        algorithm="normalized SGD, Huber loss",
        note="; ".join(part for part in (small, generic, row.note) if part),
        cites=("joshi2024queries", "arnaboldi2024repetita"),
    )


def amp_row(case: Case) -> PlanRow:
    """Bayes-AMP: every stage whose threshold n/d has passed."""
    expression, answer, sizes = case.expression, case.learnability, case.sizes
    opened = [s for s in answer.stages if math.isfinite(s.threshold.value)]
    alpha = sizes.n / sizes.d
    reached, is_sure = Subspace.zero(expression.r), True
    for stage in opened:
        if not _is_open(stage, alpha):
            break
        reached, is_sure = stage.subspace, is_sure and not stage.is_bound
    notes = []
    if any(stage.is_bound for stage in opened):
        notes.append("later thresholds are lower bounds: they assume the first stages are exact")
    if answer.never.dim:
        worst = max((s.order for s in answer.stages), default=0)
        power = f"; queries need d^{max(1.0, worst / 2):g}" if worst > 2 else ""
        notes.append(f"never at n ~ d: {answer.never!r}{power}")
    notes.append(answer.undecided)
    row = _threshold_row(
        "Bayes-AMP",
        answer,
        opened,
        reached,
        expression,
        sizes,
        "; ".join(part for part in notes if part),
        ("aubin2018committee", "troiani2024limits"),
    )
    if reached.dim and not _is_perfect(case, reached):
        # The overlap is below one: state evolution gives it, and the error that it leaves.
        row = replace(row, here="in part", plateau=None)
    return row if is_sure else replace(row, here=f"{row.here}, at best")


def _is_perfect(case: Case, reached: Subspace) -> bool:
    """Whether the directions that are open are also known perfectly with the data at hand."""
    target: Any = case.target
    if target.q:
        return False
    framed, rows = natural_frame(target.joint)
    known = Subspace.span(reached.basis @ rows.T, len(rows))
    return is_perfectly_recovered(framed, target.noise, known, case.sizes.n / case.sizes.d)


def spectral_row(case: Case) -> PlanRow:
    """Optimal spectral method: the first stage only."""
    expression, answer, sizes = case.expression, case.learnability, case.sizes
    first = [s for s in answer.stages[:1] if math.isfinite(s.threshold.value)]
    alpha = sizes.n / sizes.d
    is_open = bool(first) and _is_open(first[0], alpha)
    reached = first[0].subspace if is_open else Subspace.zero(expression.r)
    note = "weak recovery; a first stage of order 1 uses the mean of x given y"
    note = note if first else answer.undecided
    cites = ("mondelli2017weak", "defilippis2025spectral")
    row = _threshold_row("optimal spectral", answer, first, reached, expression, sizes, note, cites)
    if row.here == _UNKNOWN:
        return row
    # An overlap of unknown size leaves an error of unknown size.
    return replace(
        row,
        learns=f"weak overlap with {row.learns}" if first else row.learns,
        here="weak overlap" if reached.dim else "nothing",
        plateau=None if reached.dim else row.plateau,
        is_weak=True,
    )


def _undecided(name: str, note: str, cites: tuple[str, ...]) -> PlanRow:
    """Row of an algorithm about which the analysis could not say anything."""
    return PlanRow(name, _UNKNOWN, math.inf, -math.inf, _UNKNOWN, _UNKNOWN, note=note, cites=cites)


def _is_open(stage: Stage, alpha: float) -> bool:
    return alpha > (stage.threshold.value or _PROPORTIONAL)


def _threshold_row(
    name: str,
    answer: Learnability,
    opened: list[Stage],
    reached: Subspace,
    expression: Expression,
    sizes: Sizes,
    note: str,
    cites: tuple[str, ...],
) -> PlanRow:
    constant: Estimate | None = opened[-1].threshold if opened else None
    needs = "n >> d"
    if constant is not None:
        bound = " or more" if any(stage.is_bound for stage in opened) else ""
        needs = f"n > {constant.value:.4g} d{bound}" if constant.value else "n ~ d, any constant"
    if not opened and not answer.is_complete:
        return _undecided(name, note, cites)
    error, reason = plateau_or_reason(expression, reached, 0)
    return PlanRow(
        name,
        needs,
        1.0 if opened else math.inf,
        sizes.data_exponent - 1 if opened else -math.inf,
        repr(opened[-1].subspace) if opened else "nothing",
        here=learned_here(expression, reached, 0, error),
        reached=reached,
        plateau=error,
        constant=constant,
        note="; ".join(part for part in (note, reason) if part),
        cites=cites,
    )

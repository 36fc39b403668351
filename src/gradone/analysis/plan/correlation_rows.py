"""Rows of a plan for kernels, giant steps and one-pass SGD, which see correlations with y only."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...targets.frame import natural_frame
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from ..correlation.climbing import staircase_degrees
from ..correlation.hermite_blocks import HermiteBlocks
from ..correlation.hermite_terms import hermite_terms
from ..correlation.leap import giant_step_staircase
from ..correlation.plateau import plateau
from .case import Case
from .row import PlanRow, Sizes

_TABLE = (0, 1, 2)  # powers of d in the table of plateaus


def kernel_row(case: Case) -> PlanRow:
    r"""Kernels and random features: the degrees up to :math:`\kappa`, no direction."""
    expression, sizes = case.expression, case.sizes
    polynomial = expression.polynomial
    exponent = math.inf if polynomial is None else float(polynomial.degree)
    least = min(sizes.data_exponent, sizes.width_exponent)
    needs = "min(n, p) ~ d^k for degree k"
    if polynomial is not None:
        needs = f"min(n, p) ~ d^{polynomial.degree}"
    row = PlanRow(
        "kernel, random features",
        needs,
        exponent,
        least - exponent,
        "all" if polynomial is not None else "degree after degree, never all",
        steps=0,
        note="an activation whose k-th Hermite coefficient vanishes never learns degree k",
        cites=("ghorbani2019linearized", "mei2021hyper"),
    )
    return _with_table(_fitted(row, expression, Subspace.zero(expression.r), sizes), expression)


def giant_step_rows(case: Case) -> list[PlanRow]:
    """One giant step at its own scale, and T steps with n of order d."""
    expression, record, sizes = case.expression, case.record, case.sizes
    rows = []
    staircase = giant_step_staircase(expression)
    degrees = staircase_degrees(expression)
    cites = ("ba2022onestep", "dandi2023giant")
    order = record.information.value
    if order is not None and order > 1:
        new = record.steps[0].new
        row = PlanRow(
            "one giant step",
            f"{scaling(order)}, step ~ {_power((order - 1) / 2)}",
            float(order),
            sizes.data_exponent - order,
            f"range of C_{order}: {new!r}",
            note=f"the activation needs a Hermite coefficient of order {order}"
            + (", which relu lacks without biases" if order % 2 and order > 2 else ""),
            cites=cites,
        )
        row = _fitted(row, expression, _if(row.margin >= 0, new), sizes)
        rows.append(_with_table(row, expression, new) if order == 2 else row)
    for steps, reached in enumerate(staircase, start=1):
        row = PlanRow(
            "one giant step" if steps == 1 else f"{steps} giant steps",
            "n ~ d" if steps == 1 else "n ~ d in each step",
            1.0,
            sizes.data_exponent - 1,
            repr(reached),
            steps=steps,
            note=f"the activation needs the Hermite coefficients of orders "
            f"{', '.join(map(str, sorted(set(degrees[:steps]))))}, which "
            "gd.Student.for_target(target) has; relu without biases lacks 3, 5, ..., tanh the "
            "even ones",
            cites=cites,
        )
        known = _if(row.margin >= 0, reached)
        rows.append(_with_table(_fitted(row, expression, known, sizes), expression, reached))
    if not staircase:
        row = PlanRow(
            "giant steps with n ~ d",
            "no number of steps is enough",
            math.inf,
            -math.inf,
            "nothing: C_1 = 0",
            note=record.information.note,
            cites=cites,
        )
        rows.append(_fitted(row, expression, Subspace.zero(expression.r), sizes))
    return rows


def residual_row(case: Case) -> PlanRow | None:
    """Step on the residual of a linear fit: the range of the expected Hessian.

    Of directions that only the linear part shows the fit learns a linear function and no more.
    """
    expression, sizes = case.expression, case.sizes
    framed, frame = natural_frame(expression)
    try:
        blocks = HermiteBlocks(framed, 2)
    except OutOfRegime:
        return None
    zero = Subspace.zero(framed.r)
    parts, energies = [zero, zero], [blocks.energy(zero, k) for k in (1, 2)]
    for k, energy in enumerate(energies, 1):
        if energy.is_nonzero(blocks.variance):
            parts[k - 1] = Subspace.span(blocks.directions(zero, k)[0], framed.r)
    linear, hessian = (Subspace.span(p.basis[:, : len(frame)] @ frame, expression.r) for p in parts)
    r, is_any = len(frame), linear.dim + hessian.dim > 0
    missed = (
        "" if hessian.dim == r else f"; rank {hessian.dim} < {r}: the theorem asks for full rank"
    )
    polynomial = expression.polynomial
    degree = "deg" if polynomial is None else str(polynomial.degree)
    found = ([f"linear function of {linear!r}"] if linear.dim else []) + (
        [f"any function of {hessian!r}"] if hessian.dim else []
    )
    row = PlanRow(
        "residual step",
        _residual_needs(r, degree) if is_any else "no number of samples is enough",
        2.0 if is_any else math.inf,
        sizes.data_exponent - 2 if is_any else -math.inf,
        " and ".join(found) or "nothing: C_1 = C_2 = 0",
        constant=Estimate(float(r), note="up to a constant and logarithms"),
        note=f"range of C_2: {hessian!r}{missed}; with these features a second target on the same "
        "directions needs no power of d",
        cites=("damian2022representations",),
    )
    reached = _if(row.margin >= 0, hessian)
    row = _fitted(row, expression, reached, sizes)
    if sizes.kappa == 0 and sizes.data_exponent >= 1:  # no degree for the readout, but a linear fit
        row = _with_linear_fit(row, energies[0].estimate, linear, reached)
    return _with_table(row, expression, hessian) if is_any else row


def _with_linear_fit(
    row: PlanRow, energy: Estimate, linear: Subspace, reached: Subspace
) -> PlanRow:
    """Row of a readout of degree 0 with a linear fit beside it."""
    if row.plateau is None or not linear.dim:
        return row
    outside = 1 - float(np.sum((linear.basis @ reached.basis.T) ** 2))  # share of C_1 across U
    if outside < 1e-12:
        return row
    left = max(row.plateau.value - outside * energy.value, 0.0)
    error = Estimate(left, row.plateau.error + energy.error, row.plateau.kind)
    here = "linear part" if row.here == "nothing" else f"linear part; {row.here}"
    return replace(row, plateau=error, here="all" if _vanishes(error) else here)


def samples_of_leap(order: int, d: int) -> float:
    """Samples for a leap, constants aside: d, d log d, d^(k-1) for orders 1, 2, k."""
    return float(d) ** max(1.0, order - 1.0) * (math.log(d) if order == 2 else 1.0)


def _residual_needs(r: int, degree: str) -> str:
    return f"n ~ {r} d^2 + d {r}^{degree}" if r > 1 else "n ~ d^2"


_WHICH_START = (
    "; the constant depends on the start: gd.theory.hitting_time counts the steps from a favorable "
    "or a random one"
)


def sgd_row(case: Case) -> PlanRow:
    """One-pass SGD: d, d log d or d^(k-1) samples for a leap of order 1, 2 or k."""
    expression, record, sizes = case.expression, case.record, case.sizes
    orders = [step.order for step in record.steps]
    exponent = max((max(1.0, k - 1.0) for k in orders), default=math.inf)
    is_all = record.exponent.value is not None
    with_log = exponent == 1.0 and 2 in orders
    reached = Subspace.zero(expression.r)
    for step in record.steps:
        if sizes.n < samples_of_leap(step.order, sizes.d):
            break
        reached = step.learned
    row = PlanRow(
        "one-pass SGD",
        scaling(exponent, with_log) if is_all or orders else f"leap {record.exponent.note}",
        exponent,
        sizes.margin(exponent, with_log),
        repr(record.steps[-1].learned) if orders else "nothing found",
        with_log=with_log,
        note=stages_text(orders, "leap")
        + (_with_constant(sizes) if with_log else "")
        + (_WHICH_START if exponent > 1 and orders else "")
        + ("" if is_all else f"; not all: {record.exponent.note}"),
        cites=("benarous2021online", "abbe2023leap"),
    )
    return _fitted(row, expression, reached, sizes)


def stages_text(orders: list[int], name: str) -> str:
    """In how many stages directions are found, and the order of each.

    Examples
    --------
    >>> stages_text([2, 2], "leap"), stages_text([3], "leap"), stages_text([1, 2], "leap")
    ('2 stages, each of leap 2', 'one stage, of leap 3', '2 stages, of leap 1, 2')
    """
    if not orders:
        return "no stage was found"
    if len(orders) == 1:
        return f"one stage, of {name} {orders[0]}"
    if len(set(orders)) == 1:
        return f"{len(orders)} stages, each of {name} {orders[0]}"
    return f"{len(orders)} stages, of {name} {', '.join(map(str, orders))}"


def _with_constant(sizes: Sizes) -> str:
    """What d log d is here; its constant depends on the student."""
    needed = samples_of_leap(2, sizes.d)
    return f"; d log d = {needed:.0f} against n = {sizes.n}, up to a constant of the student"


def scaling(exponent: float, with_log: bool = False) -> str:
    """Number of samples as a power of d, as text."""
    if math.isinf(exponent):
        return "no power of d is enough"
    return f"n ~ {_power(exponent)}" + (" log d" if with_log else "")


def _power(exponent: float) -> str:
    return "d" if exponent == 1 else f"d^{exponent:g}"


def _if(condition: bool, subspace: Subspace) -> Subspace:
    return subspace if condition else Subspace.zero(subspace.r)


def _fitted(row: PlanRow, expression: Expression, reached: Subspace, sizes: Sizes) -> PlanRow:
    """Row with what a network with these directions, and a readout of degree kappa, learns."""
    error, note = plateau_or_reason(expression, reached, sizes.kappa)
    here = learned_here(expression, reached, sizes.kappa, error)
    note = "; ".join(part for part in (row.note, note) if part)
    return replace(row, here=here, reached=reached, plateau=error, note=note)


def _with_table(row: PlanRow, expression: Expression, reached: Subspace | None = None) -> PlanRow:
    """Row with the plateaus and terms at n and p of order 1, d and d^2."""
    known = Subspace.zero(expression.r) if reached is None else reached
    found = [plateau_or_reason(expression, known, kappa)[0] for kappa in _TABLE]
    if any(e is None for e in found):
        return row
    plateaus = tuple(e for e in found if e is not None)
    terms = tuple(
        learned_here(expression, known, kappa, e) for kappa, e in zip(_TABLE, plateaus, strict=True)
    )
    return replace(row, plateaus=plateaus, terms=terms)


def plateau_or_reason(
    expression: Expression, reached: Subspace, kappa: int
) -> tuple[Estimate | None, str]:
    """Plateau, or None with the reason why it is not computed."""
    try:
        return plateau(expression, reached, kappa), ""
    except OutOfRegime as reason:
        return None, f"no plateau: {reason}"


def learned_here(
    expression: Expression, reached: Subspace, kappa: int, error: Estimate | None
) -> str:
    """Hermite terms that are learned, or "all" if no error is left."""
    if error is not None and _vanishes(error):
        return "all"
    return hermite_terms(expression, reached, kappa)


def _vanishes(error: Estimate) -> bool:
    return error.value <= max(error.error, 1e-12)

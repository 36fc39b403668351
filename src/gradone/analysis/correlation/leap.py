r"""Leaps: in which order correlation queries, and online SGD, find the directions of a target.

U is the subspace learned so far, :math:`\{0\}` at first.

.. math:: D_k(z_U) = \mathbb{E}[y\,\mathrm{He}_k(z_\perp)\,|\,z_U], \qquad
          k_t = \min\{k \ge 1 : \mathbb{E}\|D_k\|^2 > 0\}, \qquad
          U \leftarrow U + \mathrm{range}\,\mathbb{E}[D_{(1)}D_{(1)}^\top]
          \qquad [AN-3]

with the mode-1 unfolding :math:`D_{(1)}`. The first :math:`k_t` is the information exponent, the
largest the leap exponent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import numpy as np

from ...base.budget import BudgetSpent, processor_budget
from ...base.estimate import Estimate
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from ..exponent import Energy, Exponent
from .filtration import ExactFiltration, NumericFiltration, snapped
from .plateau import plateau

MAX_ORDER = 12
LEAP_SECONDS = 5.0
_NOTHING = 1e-8  # share of the variance that a function may have in directions it does not use
_FEW, _SURELY = 512, 1e6  # points of a first look, and how far it must lie above that


@dataclass(frozen=True)
class LeapStep:
    r"""One step of the filtration [AN-3].

    Parameters
    ----------
    order : int
        The order :math:`k_t`.
    new, learned : Subspace
        Directions found in this step; all that are learned after it.
    strength : Estimate
        Energy :math:`|P_{U,=k} f|^2` that reveals them.
    note : str
        What was done to the directions, if anything.
    """

    order: int
    new: Subspace
    learned: Subspace
    strength: Estimate
    note: str = ""


@dataclass(frozen=True)
class LeapRecord:
    """Steps in which correlation queries learn the directions of a target.

    Parameters
    ----------
    steps : tuple of LeapStep
        The steps, in order.
    exponent : Exponent
        Leap exponent: the largest order of a step.
    unused : Subspace
        Directions that are never reached.
    information : Exponent
        Information exponent: the order of the first step.
    """

    steps: tuple[LeapStep, ...]
    exponent: Exponent
    unused: Subspace
    information: Exponent

    @property
    def orders(self) -> tuple[tuple[int, int], ...]:
        """Order of each step and the number of new directions."""
        return tuple((step.order, step.new.dim) for step in self.steps)


def information_exponent(expression: Expression, max_order: int = MAX_ORDER) -> Exponent:
    r"""Information exponent :math:`\min\{k \ge 1 : C_k \neq 0\}`, with its margin.

    Examples
    --------
    >>> information_exponent(Expression("He2(z1) + sign(z1*z2*z3)")).value
    2
    >>> information_exponent(Expression("He3(z)"))
    3 (|C_1|^2 = 0, |C_2|^2/2! = 0, exactly; |C_3|^2/3! = 6)
    """
    return leap_record(expression, max_order).information


def leap_record(
    expression: Expression, max_order: int = MAX_ORDER, budget: float = LEAP_SECONDS
) -> LeapRecord:
    """Filtration of a target by correlation queries [AN-3].

    Parameters
    ----------
    expression : Expression
        Function whose parts that do not separate have at most five variables.
    max_order : int
        Largest order that is looked at; also the largest total degree, which is lower for functions
        of four and more variables and for blocks of three and more that do not separate. An
        exponent that is not found is "> K" with the order that was reached.
    budget : float
        Seconds of processor time; what is not found by then is undecided.

    Examples
    --------
    >>> record = leap_record(Expression("He2(z1) + sign(z1*z2*z3)"))
    >>> record.orders, record.exponent.value, record.steps[0].learned
    (((2, 1), (2, 2)), 2, span(z1))
    """
    return _leap_record(expression, max_order, budget)


@lru_cache(maxsize=64)
def _leap_record(expression: Expression, max_order: int, budget: float) -> LeapRecord:
    steps: list[LeapStep] = []
    try:
        with processor_budget(budget):
            return _filtration(expression, max_order, steps)
    except BudgetSpent:
        spent = Exponent(None, spent_note(budget))
        learned = steps[-1].learned if steps else Subspace.zero(expression.r)
        first = Exponent(steps[0].order, "found before that") if steps else spent
        return LeapRecord(tuple(steps), _leap(steps, spent, True), learned.complement(), first)


def spent_note(budget: float) -> str:
    """Why something is undecided when a budget is spent."""
    return (
        f"undecided: {budget:g} seconds of processor time were spent on it; "
        "gd.analyze(target, budget=...) spends more"
    )


def giant_step_staircase(expression: Expression, order: int = 1) -> tuple[Subspace, ...]:
    """Subspaces learned by successive giant steps with n of order d^k: leaps of at most k [AN-3].

    Strictly increasing, without the zero subspace; empty if the target has no part of order k or
    less. A step learns the range of the lowest order that is visible, which leads the gradient.

    Parameters
    ----------
    expression : Expression
        The function.
    order : int
        The exponent k of the batch.

    Examples
    --------
    >>> giant_step_staircase(Expression("z1 + z1*z2 + z1*z3"))
    (span(z1), span(z1, z2 + z3))
    >>> giant_step_staircase(Expression("He2(z1) + sign(z1*z2*z3)"), 2)
    (span(z1), span(z1, z2, z3))
    """
    return staircase(leap_record(expression), order)


def staircase(record: LeapRecord, order: int = 1) -> tuple[Subspace, ...]:
    """Subspaces learned by leaps of at most a given order: those before the first larger one."""
    return tuple(step.learned for step in takewhile(lambda s: s.order <= order, record.steps))


def _filtration(expression: Expression, max_order: int, steps: list[LeapStep]) -> LeapRecord:
    """All steps, which are appended to `steps` as they are found."""
    r = expression.r
    polynomial = expression.polynomial
    engine: ExactFiltration | NumericFiltration
    if polynomial is not None:
        engine, rows = ExactFiltration(polynomial), np.eye(r)
        used = Subspace.span(expression.span, r)
    else:
        engine = NumericFiltration(expression, max_order)
        rows = engine.rows
        used = Subspace.span(rows, r)
    top = min(max_order, engine.degree)
    learned = Subspace.zero(len(rows))
    slack = 0.0
    first = last = Exponent(None, f"> {max_order}")
    if not expression.variables:  # the mean of a label with latent noise
        first = last = Exponent(None, "none: the mean of the label does not depend on z")
    while learned.dim < used.dim:
        order, seen = _lowest_order(engine, learned, top, slack)
        last = _verdict(order, seen, top, max_order, engine, learned)
        first = last if not steps else first
        if order is None:
            break
        vectors, sine = engine.directions(learned, order)
        new, note = snapped(vectors, sine, learned, expression, rows)
        # A direction that is off by an angle shows a share of its own energy elsewhere.
        slack += 0.0 if note.startswith("moved") else 10 * sine**2
        learned = learned + new
        steps.append(
            LeapStep(
                order,
                Subspace.span(new.basis @ rows, r),
                Subspace.span(learned.basis @ rows, r),
                seen[-1].estimate,
                note,
            )
        )
    whole = Subspace.span(learned.basis @ rows, r)
    is_open = last.value is None and max_order > 1 and not _is_all(expression, engine, whole, last)
    return LeapRecord(tuple(steps), _leap(steps, last, is_open), whole.complement(), first)


def _is_all(
    expression: Expression,
    engine: ExactFiltration | NumericFiltration,
    whole: Subspace,
    last: Exponent,
) -> bool:
    """Whether a function sees nothing of the directions that were not reached.

    The form of ``tanh(z1)*sign(z2)**2`` mentions z2, the function does not depend on it.
    """
    if not whole.dim:
        return False
    if isinstance(engine, ExactFiltration):  # what is left is the rounding of typed constants
        return last.note != f"> {MAX_ORDER}" or engine.degree <= MAX_ORDER
    if _visible_rest(expression, whole) > _SURELY * _NOTHING * engine.variance:
        return False
    rest = plateau(expression, whole, 0)
    return rest.value + rest.error <= _NOTHING * engine.variance


def _visible_rest(expression: Expression, whole: Subspace) -> float:
    """E[Var(f | z_U)] from a few points; by Markov, rarely many times the true value."""
    z, other = np.random.default_rng(577).standard_normal((2, _FEW, expression.r))
    gap = expression(z) - expression(other + (z - other) @ whole.projector)
    return float(np.mean(np.square(gap)) / 2)


def _lowest_order(
    engine: ExactFiltration | NumericFiltration, learned: Subspace, top: int, slack: float
) -> tuple[int | None, list[Energy]]:
    """Lowest order that is surely nonzero (None if there is none), and the energies looked at."""
    seen: list[Energy] = []
    for k in range(1, top + 1):
        seen.append(engine.energy(learned, k))
        verdict = seen[-1].is_nonzero(engine.variance, floor=engine.floor, slack=slack)
        if verdict is not False:
            is_clear = not any(energy.hides_behind(seen[-1]) for energy in seen[:-1])
            return (k if verdict and is_clear else None), seen
    return None, seen


def _verdict(
    order: int | None,
    seen: list[Energy],
    top: int,
    max_order: int,
    engine: ExactFiltration | NumericFiltration,
    learned: Subspace,
) -> Exponent:
    given = "" if not learned.dim else f" given {learned.dim} learned"

    def name(k: int) -> str:
        return (f"|C_{k}|^2" + (f"/{k}!" if k > 1 else "")) + given

    if order is not None:
        zeros = [f"{name(k)} = {energy!r}" for k, energy in enumerate(seen[:-1], start=1)]
        how = "treated as zero" if any(energy.high for energy in seen[:-1]) else "exactly"
        text = ", ".join(zeros) + f", {how}; " if zeros else ""
        return Exponent(order, text + f"{name(order)} = {seen[-1]!r}")
    hidden = next((k for k, e in enumerate(seen[:-1], 1) if e.hides_behind(seen[-1])), None)
    if len(seen) < top and hidden:
        return Exponent(
            None,
            f"undecided: {name(len(seen))} = {seen[-1]!r} is no larger than what "
            f"{name(hidden)} = {seen[hidden - 1]!r} may be",
        )
    if len(seen) < top or (seen and seen[-1].is_nonzero(engine.variance) is None):
        return Exponent(None, f"undecided: {name(len(seen))} = {seen[-1]!r}")
    if isinstance(engine, ExactFiltration):
        return Exponent(None, f"> {max_order if engine.degree < max_order else top}")
    if not any(energy.high for energy in seen):  # zeros by symmetry
        return Exponent(None, f"> {top}")
    largest = max(energy.high for energy in seen)
    return Exponent(
        None, f"> {top}, or too small to see: all are below {largest:.0e}, the first ones as well"
    )


def _leap(steps: list[LeapStep], last: Exponent, is_open: bool) -> Exponent:
    if not steps or is_open:
        reached = f"; learned before: {steps[-1].learned!r}" if steps else ""
        return Exponent(None, last.note + reached)
    value = max(step.order for step in steps)
    path = " < ".join(["{0}", *(repr(step.learned) for step in steps)])
    return Exponent(value, f"{path} by orders {', '.join(str(s.order) for s in steps)}")

"""Everything that can be said about a multi-index target before learning it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..base.errors import BadData
from ..base.estimate import Estimate
from ..targets.hierarchical import HierarchicalTarget
from ..targets.on_inputs import OnInputs
from ..targets.subspace import Subspace
from ..targets.target import Target
from .correlation.leap import LEAP_SECONDS, MAX_ORDER, LeapRecord, leap_record, staircase
from .queries.learnability import QUERY_SECONDS, learnability
from .queries.stages import Learnability, Stage

if TYPE_CHECKING:
    import xarray as xr

    from .analyze_hierarchical import HierarchicalAnalysis
    from .correlation.coordinates import CoordinateAnalysis

_ENERGY_DEGREE = 10
_WORST = ("trivial", "easy", "hard")
BUDGET = LEAP_SECONDS + QUERY_SECONDS


@dataclass(frozen=True, repr=False)
class Analysis:
    """Exponents, classes, staircases and thresholds of a target.

    Parameters
    ----------
    target : Target
        What was analyzed.
    leaps : LeapRecord
        Filtration by correlation queries.
    queries : Learnability
        Filtration by statistical queries.
    staircase : tuple of Subspace
        Subspaces learned by successive giant steps with n of order d.
    about_inputs : str
        What one must know if the target is on inputs of another law.

    Examples
    --------
    >>> a = analyze(Target("sign(z1*z2)"))
    >>> a.information_exponent, a.generative_exponent, a.learnability
    (2, 2, 'easy')
    """

    target: Target
    leaps: LeapRecord
    queries: Learnability
    staircase: tuple[Subspace, ...]
    about_inputs: str = ""

    @property
    def information_exponent(self) -> int | None:
        """Lowest order at which the label correlates with the directions; None: see notes."""
        return self.leaps.information.value

    @property
    def leap_exponent(self) -> int | None:
        """Largest order needed on the way to all directions; None: see notes."""
        return self.leaps.exponent.value

    @property
    def generative_exponent(self) -> int | None:
        """Lowest order at which any function of the label does; None: see notes."""
        return self.queries.generative_exponent.value

    @property
    def learnability(self) -> str | None:
        """Class of the worst direction used; None if it could not be decided."""
        if self.queries.undecided:
            return "hard" if self.queries.is_complete else None
        return max(self.classes, key=_WORST.index, default=None)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class of each stage of the grand staircase."""
        return self.queries.classes

    @property
    def grand_staircase(self) -> tuple[Stage, ...]:
        """Stages in which efficient algorithms can learn the directions."""
        return self.queries.stages

    @property
    def weak_threshold(self) -> Estimate:
        """Value of n/d above which the first direction is weakly recovered."""
        if not self.queries.stages:
            if not self.queries.is_complete:
                return Estimate(math.inf, math.inf, "monte_carlo", self.queries.undecided)
            return Estimate(math.inf, note="no direction is learnable at n = O(d)")
        return self.queries.stages[0].threshold

    @property
    def full_threshold(self) -> Estimate:
        """Value of n/d at which the last stage opens; infinite if some direction never does."""
        if not self.queries.is_complete:
            return Estimate(math.inf, math.inf, "monte_carlo", self.queries.undecided)
        if self.queries.never.dim or not self.queries.stages:
            return Estimate(math.inf, note=f"{self.queries.never} is never learned at n = O(d)")
        last = self.queries.stages[-1]
        note = (
            "this is a lower bound, because earlier directions are not known perfectly"
            if last.is_bound
            else ""
        )
        return Estimate(last.threshold.value, last.threshold.error, last.threshold.kind, note)

    @property
    def never(self) -> Subspace:
        """Directions that the target uses and that are never learned at n = O(d)."""
        return self.queries.never

    @property
    def unused(self) -> Subspace:
        """Directions that the target does not depend on."""
        return self.queries.unused

    def staircase_of_order(self, k: int) -> tuple[Subspace, ...]:
        r"""Subspaces learned by successive giant steps with n of order :math:`d^k` [AN-3].

        Each step learns the range of the lowest visible order, at most k, given what is known; its
        step size is of the order :math:`d^{(l-1)/2}` for a step of order l. The staircase of order
        one is ``staircase``. Several fresh steps of order two and more are a conjecture.

        References
        ----------
        dandi2023giant

        Examples
        --------
        >>> a = analyze("z1 + He2(z2) + z1*z3")
        >>> a.staircase
        (span(z1), span(z1, z3))
        >>> a.staircase_of_order(2)
        (span(z1), span(z1, z3), span(z1, z2, z3))
        """
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_ORDER:
            raise BadData(
                f"the order of a staircase is an integer from 1 to {MAX_ORDER}, got {k!r}"
            )
        return staircase(self.leaps, k)

    @cached_property
    def hermite_energy(self) -> xr.Dataset:
        """Energy per degree with errors, and what lies above, as a labeled curve."""
        return self.target.hermite(_ENERGY_DEGREE).to_curve(self.target.text)

    @cached_property
    def notes(self) -> dict[str, str]:
        """For every verdict, the quantity that vanished or did not."""
        notes = {
            "information_exponent": self.leaps.information.note,
            "leap_exponent": self.leaps.exponent.note,
            "generative_exponent": self.queries.generative_exponent.note,
        }
        for number, stage in enumerate(self.queries.stages, start=1):
            notes[f"stage {number}"] = stage.reason
        if self.queries.undecided:
            notes["filtration"] = self.queries.undecided
        if self.queries.notes:
            notes["subspaces"] = "; ".join(self.queries.notes)
        if self.about_inputs:
            notes["inputs"] = self.about_inputs
        return notes

    cites = (
        "benarous2021online",
        "abbe2023leap",
        "damian2024gaps",
        "damian2025leap",
        "troiani2024limits",
        "dandi2023giant",
    )

    def __repr__(self) -> str:
        return (
            f"Analysis({self.target!r}: information {self.information_exponent}, leap "
            f"{self.leap_exponent}, generative {self.generative_exponent}, {self.learnability})"
        )

    def summary(self, *, heading: bool = True) -> str:
        """One screen of text, with or without the target itself."""
        from .show import summary

        return summary(self, heading=heading)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        from .show import to_dict

        return to_dict(self)

    def _repr_html_(self) -> str:
        from .show import to_html

        return to_html(self)


def analyze(
    target: Target | HierarchicalTarget | OnInputs | str, *, budget: float = BUDGET
) -> Analysis | HierarchicalAnalysis | CoordinateAnalysis:
    """Exponents, learnability class, thresholds and staircases of a target.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        A text is read as a noiseless target.
    budget : float
        Seconds of processor time, a third of them for what correlations see; for hierarchical
        targets, half of them for the exponents. What is not known by then is undecided, and its
        note says so.

    Returns
    -------
    Analysis
        With ``summary()``, ``to_dict()`` and a view for notebooks. Hierarchical targets give a
        :class:`HierarchicalAnalysis`; targets on coordinates of other inputs
        (``target.on("rademacher", "axes")``) a :class:`.CoordinateAnalysis`.

    Raises
    ------
    OutOfRegime
        For parts of more than five variables that do not separate.
    TooLarge
        If the budget does not pay for the exponents of a hierarchical target.

    Notes
    -----
    For targets of more than five directions the exponents and staircases of correlations are
    found, the generative exponent and thresholds are left undecided.

    Cost: a tenth of a second for r <= 2, a quarter for what oscillates; a second or two for r = 3,
    a few for r = 4 without noise; at most a few hundred megabytes.

    References
    ----------
    benarous2021online, abbe2023leap, damian2024gaps, damian2025leap, troiani2024limits,
    dandi2023giant

    Examples
    --------
    >>> a = analyze("z**2")
    >>> round(float(a.weak_threshold), 6), a.staircase
    (0.5, ())
    """
    if not budget > 0:
        raise BadData(f"budget is a positive number of seconds, got {budget!r}")
    if isinstance(target, str):
        target = Target(target)
    if isinstance(target, OnInputs):
        from .correlation.coordinates import coordinate_analysis

        return (
            coordinate_analysis(target)
            if target.situation == "axes"
            else _on_inputs(target, analyze(target.twin, budget=budget))
        )
    if isinstance(target, HierarchicalTarget):
        from .analyze_hierarchical import analyze_hierarchical

        return analyze_hierarchical(target, budget)
    if not isinstance(target, Target):
        raise BadData(
            f"analyze takes a target or its text, got {type(target).__name__}; "
            'write gd.analyze("He2(z1) + z2")'
        )
    leaps = leap_record(target.regression, MAX_ORDER, budget * LEAP_SECONDS / BUDGET)
    queries = learnability(target.joint, target.noise, target.q, budget * QUERY_SECONDS / BUDGET)
    return Analysis(target, leaps, queries, staircase(leaps))


def _on_inputs(target: OnInputs, found: Any) -> Any:
    """Analysis of the target that stands for one on other inputs, with what that assumes."""
    if not isinstance(found, Analysis):
        return found
    return replace(found, about_inputs=target.assumption(found.leap_exponent))

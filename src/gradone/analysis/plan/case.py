"""A target and sizes, with what the rows of its plan have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...targets.hierarchy import HierarchicalTarget
from ...targets.sampled import Sampled
from ..correlation.leap import LeapRecord, leap_record
from .row import Sizes

if TYPE_CHECKING:
    import xarray as xr

    from ...targets.language.expression import Expression
    from ..queries.stages import Learnability


@dataclass(frozen=True)
class Case:
    """What a row of a plan is about.

    Parameters
    ----------
    target : Target or hierarchical target
        What is to be learned.
    sizes : Sizes
        d, n and width.
    with_theory : bool or mapping of str to Dataset
        Whether theories are asked for the error at these sizes, which takes seconds; or their
        answers at these sizes by algorithm, where they are known.

    Examples
    --------
    >>> from gradone import Target
    >>> Case(Target("He3(z)"), Sizes(d=100, n=500, width=100)).record.information.value
    3
    """

    target: Sampled
    sizes: Sizes
    with_theory: bool | Mapping[str, xr.Dataset] = False

    @property
    def is_deep(self) -> bool:
        """Whether the directions of the target grow with d."""
        return isinstance(self.target, HierarchicalTarget)

    @property
    def expression(self) -> Expression:
        """Mean label as a function of the directions, where their number is fixed."""
        target: Any = self.target
        expression: Expression = target.regression
        return expression

    @cached_property
    def record(self) -> LeapRecord:
        """What correlations with the label see, leap by leap."""
        return leap_record(self.expression)

    @cached_property
    def learnability(self) -> Learnability:
        """What queries beyond correlations see, stage by stage."""
        from ..queries.learnability import learnability

        target: Any = self.target
        return learnability(target.joint, target.noise, target.q)

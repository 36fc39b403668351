"""A label cut into its formulas, and what a rule for its posteriors is."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from ...base.errors import OutOfRegime
from ...targets.language.expression import Expression
from ...targets.language.structure import has_jumps
from .. import MAX_DIRECTIONS
from .formulas import Formula, formulas
from .regions import Regions
from .sums import Rule

# Steps between the lines in a region by the dimension; the first that is fine enough is used.
_ACROSS = {0: (1.0,), 1: (0.25, 0.125, 0.0625), 2: (0.5, 0.35, 0.25), 3: (0.7, 0.5)}
Steps = dict[int, tuple[float, ...]]


class FormulaLabel:
    """A function of k variables with independent noise.

    Parameters
    ----------
    expression : Expression
        The function.
    noise : float
        Variance of the label noise.
    resolution : int
        Number of times that every step is divided by two.
    exact : bool
        Whether rules may be used that cover some functions only; they are faster and as precise.
    """

    def __init__(
        self, expression: Expression, noise: float, resolution: int = 0, *, exact: bool = True
    ) -> None:
        if expression.r > MAX_DIRECTIONS:
            raise OutOfRegime(
                f"the posterior of z is an integral over {expression.r} variables, at most "
                f"{MAX_DIRECTIONS} can be done. Choose a target of fewer directions, or a learner "
                "that need not know the link, as SpectralDirections or GiantStep."
            )
        self.expression, self.noise = expression, noise
        self.resolution, self.exact = resolution, exact
        self.parts = formulas(expression)

    @cached_property
    def smooth(self) -> tuple[Formula, ...]:
        """Formulas between jumps; kinks do not matter to a lattice."""
        if has_jumps(self.expression.tree):
            return self.parts
        return (Formula(self.expression.tree, (), self.expression.r),)

    def steps(self, table: Steps, k: int) -> list[float]:
        """Steps of a lattice of dimension k, coarse ones first."""
        return [step / 2**self.resolution for step in table[k]]

    def across(self, *found: tuple[Regions, np.ndarray]) -> list[float]:
        """Steps between the lines in some regions; 0, the closed form, if all of them are flat."""
        k = max(regions.law(V).spread.shape[1] for regions, V in found)
        steps = self.steps(_ACROSS, max(k - 1, 0))
        is_flat = self.exact and all(regions.is_flat for regions, _ in found)
        return [0.0, *steps] if is_flat else steps


class SampleRule(Protocol):
    """A way to integrate over z given a label that it covers, and that is no atom."""

    is_geometric: bool
    """Whether halving a step squares the error."""
    is_enough: bool
    """Whether no other rule need be tried after its finest step."""

    def __init__(self, label: FormulaLabel) -> None: ...

    @staticmethod
    def covers(label: FormulaLabel) -> bool:
        """Whether the rule is meant for such a label."""
        ...

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules at the prior covariance V (k, k), coarse ones first."""
        ...

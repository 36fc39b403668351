"""The steps in which statistical queries reveal the directions of a target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...base.estimate import Estimate
from ...targets.subspace import Subspace
from ..exponent import Exponent

CLASSES = {1: "trivial", 2: "easy"}
MAX_ORDER = 12


@dataclass(frozen=True)
class Stage:
    r"""One step of the grand staircase.

    Parameters
    ----------
    subspace : Subspace
        Everything known after this step.
    new : Subspace
        What this step adds.
    order : int
        Order k of the query that reveals it: 1 trivial, 2 easy, 3 or more hard.
    threshold : Estimate
        Value of alpha = n/d above which it opens, the earlier directions being known perfectly;
        infinite for hard directions.
    is_bound : bool
        Whether algorithms may need more, because the earlier directions are not yet known
        perfectly at this alpha.
    reason : str
        The quantity that decided.
    strength : Estimate, optional
        Largest eigenvalue of the operator of this order, where it is known: for order 1 the largest
        :math:`\mathbb{E}[\mathbb{E}[\langle u, z\rangle\,|\,y, z_U]^2]` of a unit vector u.
    """

    subspace: Subspace
    new: Subspace
    order: int
    threshold: Estimate
    is_bound: bool
    reason: str
    strength: Estimate | None = None

    @property
    def learnability(self) -> str:
        """``"trivial"``, ``"easy"`` or ``"hard"``."""
        return CLASSES.get(self.order, "hard")

    @property
    def matters_at(self) -> Estimate:
        r"""Value of n/d from which on more than a trace is learned.

        That is the threshold for order 2. Of a direction of order 1 with strength s,
        :math:`\sum_i \mathbb{E}[z\,|\,y_i]\,x_i` has the squared cosine
        :math:`\alpha s/(1+\alpha s)`, which is one half at 1/s.
        """
        s = self.strength
        if self.order != 1 or s is None:
            return self.threshold
        return Estimate(1 / s.value, s.error / s.value**2, s.kind, s.note)


@dataclass(frozen=True)
class Learnability:
    """Answer of :func:`learnability`.

    Parameters
    ----------
    stages : tuple of Stage
        The filtration, in order.
    unused : Subspace
        Directions that the target does not depend on.
    undecided : str
        Why the filtration stopped early, or an empty text.
    """

    stages: tuple[Stage, ...]
    unused: Subspace
    undecided: str = ""
    notes: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """Class of each stage."""
        return tuple(stage.learnability for stage in self.stages)

    @property
    def generative_exponent(self) -> Exponent:
        """Smallest order at which anything is revealed: the order of the first stage."""
        if not self.stages:
            return Exponent(None, self.undecided or f"> {MAX_ORDER}")
        return Exponent(self.stages[0].order, self.stages[0].reason)

    @property
    def generative_leap(self) -> Exponent:
        """Largest order of all stages."""
        if self.undecided or not self.stages:
            return Exponent(None, self.undecided or f"> {MAX_ORDER}")
        worst = max(self.stages, key=lambda stage: stage.order)
        return Exponent(worst.order, worst.reason)

    @property
    def is_complete(self) -> bool:
        """Whether every direction was decided; orders above the largest one count as hard."""
        return not self.undecided or self.undecided.startswith(">")

    @property
    def never(self) -> Subspace:
        """Directions that the target uses and that are never learned at n = O(d)."""
        if not self.is_complete:
            return Subspace.zero(self.unused.r)
        open_ = Subspace.zero(self.unused.r)
        for stage in self.stages:
            if math.isfinite(stage.threshold.value):
                open_ = stage.subspace
        used = self.unused.complement()
        rest = used.basis - used.basis @ open_.projector
        return Subspace.span(rest[np.linalg.norm(rest, axis=1) > 1e-6], used.r)

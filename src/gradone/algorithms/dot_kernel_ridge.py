"""Kernels: networks whose first layer is frozen and infinitely wide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..analysis.plan import Case, PlanRow, kernel_row
from ..targets.hierarchy import HierarchicalTarget
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled
from ._card import ALGORITHMS, Picture, Shown
from ._depth import DepthCard, placed
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr

_EDGE = 1e-3  # the theory is drawn from both sides of each step


@ALGORITHMS.add("dot_kernel_ridge")
class KernelCard(DepthCard):
    """Kernel ridge regression: one degree after the other, and no direction."""

    label, color, family = "kernel", "#8A5A00", "lazy"
    theory, learner = "lazy", "dot_kernel_ridge"
    how = "The kernel has a frozen first layer."
    networks = ("lazy",)
    # Its features have every degree, and the ridge is chosen on a validation split.
    defaults = {"activation": "relu(z - 0.5)", "ridge": None}
    picture = Picture(
        "plateau",
        "A kernel learns degree by degree",
        "A kernel, or a network whose first layer is frozen, learns one degree after the other, "
        "and degree k takes n of order d^k samples. In a dimension as small as 30 the steps are "
        "rounded, and fluctuations of the norm of the inputs add to the error.",
        places=(1.0, 1.6, 1.3, 1.9, 2.2),  # the cost grows fast
        line=(0.0, _EDGE, *(k + e for k in (1, 2, 3) for e in (-_EDGE, _EDGE)), 3.5),
        d=30,  # the staircase needs n up to d^2.3
        settings={"standardize": False},
    )

    def shown(self, target: Sampled) -> Shown:
        """First for hierarchical targets; reports on others have a picture of it."""
        return "first" if isinstance(without_inputs(target), HierarchicalTarget) else "also"

    def theory_for(self, target: Sampled) -> str:
        """The theory of depth where directions grow with d: it has the errors at finite d."""
        return "depth" if isinstance(without_inputs(target), HierarchicalTarget) else "lazy"

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """The limit of many dimensions, except for hierarchical targets.

        A ridge of order one and the scales of the inputs do not move plateaus.
        """
        is_deep = isinstance(without_inputs(run.target), HierarchicalTarget)
        found = super().theory_arguments(run) if is_deep else {"kappa": run.kappa}
        apart = {"ridge", "standardize", *(("activation",) if is_deep else ())}
        given = {name: v for name, v in self.chosen(run).items() if name not in apart}
        return {name: v for name, v in found.items() if name not in apart} | given

    def along(self, curve: xr.Dataset, run: Run) -> xr.Dataset:
        """The error of the kernel."""
        if isinstance(without_inputs(run.target), HierarchicalTarget):
            return super().along(curve, run)
        return placed(curve, run)

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """Degrees up to the power of d of the samples and of the width."""
        return super().needs(case) if case.is_deep else [kernel_row(case)]

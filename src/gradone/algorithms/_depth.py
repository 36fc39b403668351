"""What the algorithms of the theory of depth share: each is one network of its curve."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..analysis.plan import Case, PlanRow, depth_row
from ..targets.hierarchical import QuadraticForms
from ..targets.sampled import Sampled
from ._card import Algorithm
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr


class DepthCard(Algorithm):
    """Algorithm whose error on hierarchical targets is a variable of the theory of depth."""

    family = "depth"
    theory = "depth"
    axis, kind = "kappa", "plateau"

    def missing_theory(self, target: Sampled, axis: str) -> str | None:
        """At finite d not all hierarchical targets are covered."""
        if isinstance(target, QuadraticForms):
            return (
                "at finite d it covers Sight, Might and Tree, and this target is a QuadraticForms"
            )
        return super().missing_theory(target, axis)

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """The errors at the dimension of the run, or in the limit."""
        found = {"kappa": run.kappa, "networks": self.networks[:1], **self.chosen(run)}
        return found if run.d is None else found | {"d": run.d}

    def along(self, curve: xr.Dataset, run: Run) -> xr.Dataset:
        """The error of this network alone."""
        name = f"{self.networks[0]}_excess_mse"
        if name not in curve:
            return placed(curve, run)
        flags = [flag for flag in ("converged", "status") if flag in curve]
        names = {name: "excess_mse", f"{name}_err": "excess_mse_err"}
        return placed(curve[[*names, *flags]].rename(names), run)

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """Rows of its networks."""
        found = [depth_row(case, network) for network in self.networks] if case.is_deep else []
        return [row for row in found if row is not None]


def placed(curve: xr.Dataset, run: Run) -> xr.Dataset:
    """Curve of a theory along kappa, on the axis of the run."""
    if run.axis == "kappa" or "kappa" not in curve.dims:
        return curve
    return curve.rename(kappa=run.axis).assign_coords({run.axis: run.places})

"""One giant gradient step on half of the samples, and a ridge readout on the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, cast

from ..analysis.plan import Case, PlanRow, giant_step_rows
from ..targets.sampled import Sampled
from ..targets.target import Target
from ..theory.giant._one_direction import directions_used
from ._card import ALGORITHMS, Algorithm, Shown, Slider, in_neurons
from ._run import Run

# What the formula of one step assumes of the network.
_AS_THEORY = {
    "readout": "ones",
    "symmetric": False,
    "bias_scale": 0.0,
    "fit_intercept": False,
    "standardize": False,
}


@ALGORITHMS.add("giant_step")
class GiantStepCard(Algorithm):
    """One step of order one on a large batch, then a readout on fresh samples."""

    label, color, family = "giant gradient step", "vermillion", "giant"
    theory, learner = "one_step", "giant_step"
    relatives = ("gradient_spike", "feature_spectrum")
    how = "The giant step uses half of the samples, and its readout the other half."
    defaults = {"width_ratio": 1.0, "ridge": 0.1, "step_size": 1.0, "activation": "tanh(z)"}
    sliders = (
        Slider("step_size", 0.1, 10.0),
        Slider("width_ratio", 0.1, 10.0, "width / d"),
        Slider("ridge", 1e-3, 10.0),
    )
    takes_many = False  # batch and readout grow together
    at_once = True
    test_samples = 16384

    def shown(self, target: Sampled) -> Shown:
        """First everywhere: it is the smallest step of feature learning."""
        return "first"

    def obstacle(self, target: Sampled) -> str | None:
        """Why its theory does not cover a target: of several directions the network makes two."""
        if reason := super().obstacle(target):
            return reason
        used = directions_used(cast(Target, target))
        if used == 1:
            return None
        return (
            f"the theory is about a single step, which finds one direction; the target depends on "
            f"{used} directions, and the network makes a second step for the others"
        )

    def compiled(self, target: Sampled) -> Iterable[Callable[[], object]]:
        """The resolvent of its theory."""
        kernels = "gradone.theory.giant._one_step_kernels"
        return [] if self.obstacle(target) else [lambda: import_module(kernels)]

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """Half of the samples for the step, half for the readout."""
        half = float(run.alpha[0]) / 2
        return {"batch_ratio": half, "readout_ratio": half, "readout": "ones", **self.chosen(run)}

    def learner_arguments(self, run: Run) -> dict[str, Any]:
        """The network of the theory where there is one; else two steps find more than one."""
        if self.obstacle(run.target):
            return {"width": 512, "steps": 2, "step_size": 2.0, **run.settings}
        return {**_AS_THEORY, **in_neurons(self.chosen(run), run)}

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """One step at the scale of the information exponent, and with n of order d."""
        return [] if case.is_deep else [row for row in giant_step_rows(case) if row.steps == 1]

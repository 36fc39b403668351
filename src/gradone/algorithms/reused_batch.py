"""Gradient descent on the same samples at every step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..analysis.plan import Case, PlanRow, reuse_row
from ..targets.training import read_training
from ._card import ALGORITHMS, Algorithm, Picture, Slider, as_gaussian
from ._run import Run

_LIMIT = 10_000  # dimension that stands for many
_OF_SOLVER = ("points", "seed")


@ALGORITHMS.add("reused_batch")
class ReusedBatchCard(Algorithm):
    """A few full-batch steps on n samples; from the second one on they have been seen."""

    label, color, family = "samples seen again", "purple", "sgd"
    theory = engine = learner = "reused_batch"
    prominence = "also"
    defaults = {"width": 2, "activation": "relu(z)", "steps": 6, "replicates": 4}
    sliders = (Slider("step_size", 0.05, 2.0, value=0.3),)
    takes_many = False  # theory chooses another step for each number of samples
    picture = Picture(
        "step",
        "Samples seen again",
        "Every step uses the same n = 4 d samples. From the second step on the network sees "
        "functions of the labels that it has made itself. The line is dynamical mean-field theory.",
        places=(4.0,),
    )

    def student(self, run: Run) -> dict[str, Any]:
        """The network, as settings or as one student."""
        given = run.settings if "student" in run.settings else self.chosen(run)
        apart = ("steps", "step_size", "replicates", *_OF_SOLVER)
        return {name: value for name, value in given.items() if name not in apart}

    def step_size(self, run: Run) -> float:
        """The step, as it was chosen or as the engine would; it depends on n/d alone."""
        given = self.chosen(run).get("step_size", "auto")
        if given != "auto":
            return float(given)
        from ..dynamics._auto_reuse import gentle_steps

        d = run.d or _LIMIT
        student = read_training(**self.student(run), batch_size=int(replace(run, d=d).n[0]))
        return gentle_steps(run.target, student, d)[0].eta  # type: ignore[arg-type]

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """Dynamical mean field with the steps of the engine."""
        steps = self.chosen(run)["steps"]
        found = {"alpha": run.alpha, "steps": steps, "step_size": self.step_size(run)}
        solver = {name: v for name, v in run.settings.items() if name in _OF_SOLVER}
        return {**found, **solver, **self.student(run)}

    def engine_arguments(self, run: Run) -> dict[str, Any]:
        """All steps are recorded."""
        given = self.chosen(run)
        steps = given["steps"]
        return {
            **self.student(run),
            "d": run.dimension,
            "n": int(run.n[0]),
            "steps": steps,
            "step_size": given.get("step_size", "auto"),
            "init": "orthogonal",
            "record": np.arange(steps + 1),
            "replicates": given["replicates"],
            "seed": run.seed,
            "progress": False,
        }

    def learner_arguments(self, run: Run) -> dict[str, Any]:
        """The same steps of the same network; without a theory the learner chooses their size."""
        given = {"steps": self.chosen(run)["steps"], **self.student(run)}
        if self.obstacle(run.target):
            return given | {k: v for k, v in run.settings.items() if k == "step_size"}
        run = as_gaussian(run)
        width, r = given["width"], run.target.r  # type: ignore[attr-defined]
        start = {"M": np.zeros((width, r)).tolist(), "Q": np.eye(width).tolist()}
        step = {"step_size": self.step_size(run)}
        return {"init": start, "standardize": False, **step, **given}

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """The generative staircase, for batches seen twice and extra-gradient steps."""
        return [] if case.is_deep else [reuse_row(case)]

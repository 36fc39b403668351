"""What the algorithms of a few neurons share: their start, and one pass of SGD by a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.errors import BadData
from ..base.seeds import stream
from ..targets.sampled import Sampled
from ..targets.student import Student
from ..targets.target import Target
from ..targets.training import read_training
from ._card import Algorithm, Slider, as_gaussian
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr


def lucky_start(target: Target, d: int, *, width: int = 2, seed: int = 0) -> dict[str, Any]:
    r"""Overlaps of a lucky start in dimension d: of random sign, :math:`3/\sqrt d`.

    Random neurons have :math:`1/\sqrt d`, but there the noise of the samples is as large as the
    overlaps, and no flow without noise tells when they escape.

    Examples
    --------
    >>> from gradone import Target
    >>> np.abs(lucky_start(Target("z1*z2"), 900)["M"]).tolist()
    [[0.1, 0.1], [0.1, 0.1]]
    """
    rng = stream(seed, "init", d=d, width=width, r=target.r)
    size = min(3 / math.sqrt(d), 0.5 / math.sqrt(target.r))  # the rows must fit into unit neurons
    M = size * rng.choice([-1.0, 1.0], (width, target.r))
    return {"M": M.tolist(), "Q": np.eye(width).tolist()}


_NOT_STUDENT = frozenset("step_size inner_step_size overlap points record replicates".split())

_NETWORK = tuple(one.name for one in fields(Student) if one.name != "init")


class OnePassCard(Algorithm):
    """SGD that sees each sample in one step only; n = time d."""

    rule: ClassVar[str]
    """How the step looks at its sample."""
    update: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Loss and optimizer, where they are not those of plain SGD."""
    family = "sgd"
    theory, engine, learner = "sgd_flow", "sgd", "online_sgd"
    prominence = "also"
    # Step sizes of the sliders are in units of the flow, times d; without them theory chooses.
    defaults = {"width": 2, "activation": "relu(z)", "points": 8192, "replicates": 8}
    sliders: ClassVar[tuple[Slider, ...]] = (
        Slider("step_size", 0.02, 1.0, "step size times d", 0.1),
        Slider("overlap", 0.003, 0.3, "overlap at the start", 0.1),
    )
    axis = "time"
    at_once = True

    def compiled(self, target: Sampled) -> Iterable[Callable[[], object]]:
        """The chain of its order parameters."""
        if not isinstance(target, Target):
            return []
        from ..dynamics._compile import compiled_chain

        student = read_training(optimizers=True, **self.student(Run(target)))
        return [lambda: compiled_chain(student, target)]

    def unit(self, d: int) -> float:
        """Step of a simulation that is one in the units of the flow."""
        return 1 / d

    def chosen(self, run: Run) -> dict[str, Any]:
        """Settings of a run; a student that is given takes the place of the card's network."""
        given = dict(run.settings)
        student = given.pop("student", None)
        if student is None:
            return {**self.defaults, **given}
        read_training(student, **{k: v for k, v in given.items() if k in _NETWORK})
        if not (isinstance(student.init, str) and student.init == "random"):
            raise BadData(
                f"'{self.name}' starts from an overlap: give overlap=..., and a student without "
                f"init=...; gd.predict(target, '{self.theory}', ...) takes any start"
            )
        return {**self.defaults, **{name: getattr(student, name) for name in _NETWORK}, **given}

    def student(self, run: Run) -> dict[str, Any]:
        """The network and its rule, as flow and engine take them."""
        given = {name: v for name, v in self.chosen(run).items() if name not in _NOT_STUDENT}
        return {**given, "rule": self.rule, **self.update}

    def start(self, run: Run) -> dict[str, Any]:
        """Overlaps and norms at the start: of the size that was chosen, or lucky ones."""
        target: Any = run.target
        given = self.chosen(run)
        d, seed = run.d, run.seed
        if "overlap" in given:
            d, seed = max(2, round(9 / given["overlap"] ** 2)), 0
        return lucky_start(target, d or run.dimension, width=given["width"], seed=seed)

    def steps(self, run: Run) -> dict[str, float]:
        """Step sizes in units of the flow, as they were chosen or as theory has them."""
        given = self.chosen(run)
        if "step_size" in given:
            names = ("step_size", "inner_step_size")
            return {name: given[name] for name in names if name in given}
        from ..dynamics._auto import chosen_steps

        d, target = run.dimension, run.target
        training = read_training(optimizers=True, **self.student(run))
        student, _, _ = chosen_steps(target, training, d)  # type: ignore[arg-type]
        found = {"step_size": student.eta / self.unit(d)}
        if student.inner_step_size is not None:
            found["inner_step_size"] = student.inner_step_size / self.unit(d)
        return found

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """The flow at the times of the run."""
        given = {"time": run.alpha, "points": self.chosen(run)["points"], "init": self.start(run)}
        return {**given, **self.student(run), **self.steps(run)}

    def engine_arguments(self, run: Run) -> dict[str, Any]:
        """Each of n samples once; without places as long as the first direction needs."""
        given, d = self.chosen(run), run.dimension
        marks: Any = given.get("record", 60)
        found: dict[str, Any] = {"d": d, "init": self.start(run), "seed": run.seed}
        if len(run.places):
            marks = np.unique(np.maximum(np.round(run.alpha * d), 1)).astype(np.int64)
            found["steps"] = int(marks[-1])
        if "step_size" in given:
            found |= {name: value * self.unit(d) for name, value in self.steps(run).items()}
        found |= {"record": marks, "replicates": given["replicates"], "progress": False}
        return {**found, **self.student(run)}

    def learner_arguments(self, run: Run) -> dict[str, Any]:
        """The same network from the same start; what has no theory takes steps of its own."""
        if self.obstacle(run.target):
            return self.student(run)
        run = as_gaussian(run)
        unit = self.unit(run.dimension)
        steps = {name: step * unit for name, step in self.steps(run).items()}
        return {"init": self.start(run), "standardize": False, **self.student(run), **steps}

    def along(self, curve: xr.Dataset, run: Run) -> xr.Dataset:
        """Time is the number of samples per dimension."""
        if run.axis == "time":
            return curve
        if "step" in curve.dims:
            curve = curve.swap_dims(step="time").drop_vars("step")
        return curve.rename(time=run.axis).assign_coords({run.axis: run.places})

"""A very wide network, trained by small steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from ..targets.on_inputs import OnInputs
from ._card import ALGORITHMS, Algorithm, Slider
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr

_STEPS = 10  # steps in which a simulation sees d samples
_OF_RUN = ("gamma", "width", "replicates", "record", "points")
_LONG = 14.0  # time in which a leap of order two is left for any d that is simulated
_OF_NETWORK = ("activation", "bias", "train_readout")


@ALGORITHMS.add("mean_field")
class MeanFieldCard(Algorithm):
    r"""One pass of SGD of a two-layer network with readouts :math:`\pm 1/N` at large width N.

    A neuron moves by :math:`\eta` times N times its gradient. From batches of b samples the noise
    of the steps is :math:`\gamma = \eta d/b`, and after n samples in all the flow is at the time
    :math:`\eta n/b = \gamma\,n/d`. The limit of the theory is that of small :math:`\gamma`.
    """

    label, color, family = "very wide network", "#3F51B5", "sgd"
    theory = "mean_field"
    engine, learner = "sgd", "online_sgd"
    prominence = "also"
    how = "The very wide network has 64 ReLU neurons and is at the time 0.1 n/d of its flow."
    defaults = {"gamma": 0.1, "width": 64, "activation": "relu(z)", "replicates": 4}
    sliders = (Slider("gamma", 0.01, 0.3, "time of the flow for each n / d"),)
    own_clock = "time"
    neurons = 32
    at_once = True

    def times(self, run: Run) -> np.ndarray:
        """Times of the flow at the places of a run."""
        if not len(run.places):
            return np.geomspace(0.05, _LONG, self.chosen(run).get("record", 60))
        if run.axis == "time":
            return run.places
        return np.asarray(self.chosen(run)["gamma"] * run.alpha)

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """The flow, from a start in the dimension of the run."""
        given = {name: v for name, v in self.chosen(run).items() if name not in _OF_RUN}
        own = getattr(run.target.inputs, "dimension", None) if _has_inputs(run) else None
        start = {} if run.d is None or run.d == own else {"d": run.d}
        if "points" in run.settings:  # a picture of particles: as many as there are neurons
            given["particles"] = self.neurons
        return {"time": self.times(run), **start, **given}

    def training(self, run: Run) -> dict[str, Any]:
        """Network and steps of a simulation."""
        given, d = self.chosen(run), run.dimension
        width, rate = given["width"], given.get("train_readout", 1.0)
        if other := [name for name in run.settings if name not in (*_OF_RUN, *_OF_NETWORK)]:
            raise BadData(
                f"simulations of '{self.name}' have no '{other[0]}'; they have "
                f"{', '.join((*_OF_RUN, *_OF_NETWORK))}"
            )
        if not (isinstance(width, int) and width >= 2 and width % 2 == 0):
            raise BadData(f"width must be an even number of neurons, got {width!r}")
        batch = max(1, round(d / _STEPS))
        step = given["gamma"] * batch / d
        return {
            "width": width,
            "activation": given["activation"],
            "bias": given.get("bias", 0.0),
            "readout": (np.tile([1.0, -1.0], width // 2) / width).tolist(),
            "step_size": step * width,
            "train_readout": rate * step / width if rate else None,
            "batch_size": batch,
        }

    def engine_arguments(self, run: Run) -> dict[str, Any]:
        """One pass, recorded at the places of the run."""
        steps = self._steps(run)
        return {
            **self.training(run), "d": run.dimension, "steps": int(steps.max()),
            "record": np.unique(steps).tolist(), "init": "random", "seed": run.seed,
            "replicates": self.chosen(run)["replicates"], "progress": False,
        }  # fmt: skip

    def watched(self, run: Run) -> xr.Dataset:
        """What the engine records, along the time of the flow."""
        found = super().watched(run)
        training = self.training(run)
        return found.assign_coords(time=found.step * (training["step_size"] / training["width"]))

    def learner_arguments(self, run: Run) -> dict[str, Any]:
        """The same steps on data, whose columns are used as they are."""
        return {**self.training(run), "standardize": False, "shuffle": False}

    def along(self, curve: xr.Dataset, run: Run) -> xr.Dataset:
        """The time of the flow is gamma times the samples per dimension."""
        if "step" in curve.dims:
            found = curve.sel(step=self._steps(run)).drop_vars("time", errors="ignore")
            return found.rename(step=run.axis).assign_coords({run.axis: run.places})
        if run.axis == "time":
            return curve
        return curve.rename(time=run.axis).assign_coords({run.axis: run.places})

    def _steps(self, run: Run) -> np.ndarray:
        """Steps of a simulation until each place."""
        training = self.training(run)
        eta = training["step_size"] / training["width"]
        return np.maximum(np.round(self.times(run) / eta), 1).astype(np.int64)


def _has_inputs(run: Run) -> bool:
    return isinstance(run.target, OnInputs)

"""A staircase in time: SGD learns one direction after the other, each through the one before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts import Axis, Chart, Panels, average, line, points
from ...dynamics import sgd
from ...theory.predict import predict
from .._checks import agrees
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = "z1 + He3(z1)*z2 + He3(z2)*z3"
_LAST = 4000  # steps / d
SIZES: dict[Size, dict[str, int]] = {
    "small": {"d": 500, "replicates": 8, "points": 2048},
    "paper": {"d": 2000, "replicates": 32, "points": 16384},
}
_COLORS = ("blue", "vermillion", "green")
_MARKERS = ("circle", "square", "triangle")


def student(unit: float) -> dict[str, Any]:
    """Eight neurons with biases on the sphere, and a readout that learns; steps times `unit`."""
    return {
        "width": 8,
        "activation": "relu(z)",
        "geometry": "spherical",
        "readout": [0.3, -0.3] * 4,
        "bias": [0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9, 1.2],
        "step_size": 0.05 * unit,
        "train_readout": 0.02 * unit,
    }


def simulated(d: int, replicates: int) -> xr.Dataset:
    """Exact one-pass simulation, from neurons without overlap."""
    run = sgd(
        TARGET,
        d=d,
        steps=_LAST * d,
        init="orthogonal",
        record=np.geomspace(d, _LAST * d, 19).astype(int),
        replicates=replicates,
        progress=False,
        **student(1 / d),
    )
    return run.drop_vars([key for key in run.data_vars if not str(key).startswith("recovery")])


def flow(nodes: int) -> xr.Dataset:
    """The limit of large dimension."""
    times = np.geomspace(1, _LAST, 60)
    found = predict(TARGET, "sgd_flow", time=times, points=nodes, **student(1.0))
    return found.drop_vars([key for key in found.data_vars if not str(key).startswith("recovery")])


@FIGURES.add("sgd-staircase")
class SgdStaircase(GalleryFigure):
    """A staircase in time: SGD learns one direction after the other, through the one before."""

    title = "A staircase in time"
    sentence = (
        "One pass of SGD on $h_1 + \\mathrm{He}_3(h_1) h_2 + \\mathrm{He}_3(h_2) h_3$ finds $h_1$ "
        "first; only then is $h_2$ visible, and only then $h_3$, which in finite dimension some "
        "runs find later than the limit."
    )
    cites = ("abbe2022merged", "abbe2023leap", "saad1995online")
    budget = {"small": 100.0, "paper": 1200.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Recovery of each direction against time, simulated and in the limit."""
        given = SIZES[size]
        return {
            "limit": memo(flow, given["points"]),
            "simulation": memo(simulated, given["d"], given["replicates"]),
        }

    def draw(self, data: Data) -> Chart | Panels:
        """Three steps."""
        limit, runs = data["limit"], data["simulation"]
        mean, error = average(runs, "recovery")
        d = round(float(runs.step.values[-1] / runs.time.values[-1]))
        series = []
        for k, color in enumerate(_COLORS):
            R = limit.recovery.values[:, k]
            series.append(line(f"$h_{k + 1}$, theory", limit.time.values, R, color=color))
        for k, (color, marker) in enumerate(zip(_COLORS, _MARKERS, strict=True)):
            series.append(
                points(
                    f"$h_{k + 1}$, simulation, $d = {d}$",
                    runs.time.values,
                    mean.values[:, k],
                    error.values[:, k],
                    color=color,
                    marker=marker,
                )
            )
        return Chart(
            self.title,
            Axis("steps / $d$", "log"),
            Axis("recovery of the direction", range=(0, 1.05)),
            tuple(series),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """The order of the steps, and the agreement of the first two with the limit."""
        runs, limit = data["simulation"], data["limit"]
        mean, error = average(runs, "recovery")
        steps = [float(runs.time[int(np.argmax(mean.values[:, k] > 0.4))]) for k in range(3)]
        found = [
            Claim(
                "the directions are learned one after the other",
                bool(4 * steps[0] < steps[1] < steps[2] / 4 and (mean.values[-1] > 0.4).all()),
                "recovery 0.4 at times " + ", ".join(f"{time:.0f}" for time in steps),
            )
        ]
        late = runs.time.values > 20  # before, neurons that know nothing have the size of chance
        d = float(runs.step.values[-1] / runs.time.values[-1])
        for k in (0, 1):
            found.append(
                agrees(
                    f"direction {k + 1} follows the limit",
                    (runs.time[late], mean[late, k], error[late, k]),
                    (limit.time, limit.recovery[:, k]),
                    slack=math.sqrt(8 / d),  # recovery of neurons that know nothing
                )
            )
        return found

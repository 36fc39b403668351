"""Very wide networks climb a staircase in a time that does not depend on d, and wait at saddles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...charts import Axis, Chart, Panels, average, line, points
from ...dynamics import sgd
from ...targets.student import Student
from ...theory.predict import predict
from .._checks import agrees
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

STAIRCASE, LEAP = "z1 + z1*z2", "z1*z2"
_STEP = 0.05  # of the clock of the flow, in the simulation
_LAST = 5.0
_WAITS = (1e2, 1e4, 1e6)
_LEVEL = 0.9  # risk below which the saddle counts as left
SIZES: dict[Size, dict[str, int]] = {
    "small": {"d": 500, "width": 32, "batch": 2000, "replicates": 4},
    "paper": {"d": 2000, "width": 64, "batch": 8000, "replicates": 16},
}
_COLORS = ("blue", "vermillion", "green")
_MARKERS = ("circle", "square", "triangle")


def simulated(d: int, width: int, batch: int, replicates: int) -> xr.Dataset:
    """Mean overlap of the neurons of a wide network, mirrored by the sign of their readout."""
    signs = [1.0, -1.0] * (width // 2)
    student = Student(width=width, readout=[sign / width for sign in signs], init="orthogonal")
    steps = round(_LAST / _STEP)
    run = sgd(
        STAIRCASE,
        student,
        d=d,
        steps=steps,
        step_size=_STEP * width,
        batch_size=batch,
        record=np.arange(0, steps + 1, 10),
        replicates=replicates,
        progress=False,
    )
    # A negative readout mirrors z1 and leaves z2 as it is.
    mirror = np.stack([signs, np.ones(width)], axis=1)
    ordered = run.overlap.transpose(..., "neuron", "direction")
    overlap = ordered.copy(data=ordered.values * mirror).mean("neuron")
    found = overlap.to_dataset(name="overlap").assign_coords(time=run.step * _STEP)
    found["overlap_err"] = overlap * 0.0
    return found.assign_attrs(run.attrs)


def flow(activation: str = "relu(z)") -> xr.Dataset:
    """The limit of infinite width and dimension, with a fixed readout."""
    times = np.linspace(0, _LAST, 51)
    return predict(STAIRCASE, "mean_field", time=times, activation=activation, train_readout=0.0)


def waiting(d: float) -> xr.Dataset:
    """Test error of a leap of order two from a start in dimension d."""
    found = predict(LEAP, "mean_field", time=np.linspace(0, 24, 97), d=d, particles=128)
    return found.drop_vars([v for v in found.data_vars if not str(v).startswith("test_mse")])


@FIGURES.add("mean-field-staircase")
class MeanFieldStaircase(GalleryFigure):
    """Very wide networks climb a staircase in finite time, and wait at saddles."""

    title = "Very wide networks"
    sentence = (
        "A wide network learns $z_1$ and through it $z_2$ of $z_1 + z_1 z_2$ in a time that does "
        "not depend on the dimension (a). The leap $z_1 z_2$ is a saddle, which it leaves after a "
        "time that grows with the logarithm of $d$ (b)."
    )
    cites = ("mei2018meanfield", "chizat2018global", "abbe2022merged")
    budget = {"small": 60.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlaps of the staircase, simulated and in the limit; errors of the leap."""
        return {
            "limit": memo(flow),
            "simulation": memo(simulated, *SIZES[size].values()),
            **{f"leap {d:.0e}": memo(waiting, d) for d in _WAITS},
        }

    def draw(self, data: Data) -> Chart | Panels:
        """Overlaps against time, and the errors of the leap."""
        limit, runs = data["limit"], data["simulation"]
        mean, error = average(runs, "overlap")
        u = limit.overlap.values[:, 1]
        names = ("$z_1$", "$z_2$")
        stairs = [
            line(f"{name}, theory", limit.time.values, u[:, k], color=_COLORS[k])
            for k, name in enumerate(names)
        ]
        stairs += [
            points(
                f"{name}, simulation",
                runs.time.values,
                mean.values[:, k],
                error.values[:, k],
                color=_COLORS[k],
                marker=_MARKERS[k],
            )
            for k, name in enumerate(names)
        ]
        leaps = [
            line(
                f"$d = 10^{round(math.log10(d))}$, theory",
                data[f"leap {d:.0e}"].time.values,
                data[f"leap {d:.0e}"].test_mse.values,
                color=color,
            )
            for d, color in zip(_WAITS, _COLORS, strict=True)
        ]
        return Panels(
            self.title,
            (
                Chart(
                    "$z_1 + z_1 z_2$",
                    Axis("time of the flow"),
                    Axis("overlap $u$ of the neurons", range=(0, 1.8)),
                    tuple(stairs),
                ),
                Chart(
                    "$z_1 z_2$",
                    Axis("time of the flow"),
                    Axis("test error", range=(0, 1.1)),
                    tuple(leaps),
                ),
            ),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """The simulation follows the limit, and the saddle is left after ln d / (2 lambda)."""
        runs, limit = data["simulation"], data["limit"]
        mean, error = average(runs, "overlap")
        late = runs.time.values > 0
        found = [
            agrees(
                f"the overlap with z{k + 1} follows the limit",
                (runs.time[late], mean[late, k], error[late, k]),
                (limit.time, limit.overlap[:, 1, k]),
                slack=_STEP / 2,  # half a step of the clock: Euler's rule instead of a flow
            )
            for k in (0, 1)
        ]
        escapes = [
            float(np.interp(-_LEVEL, -curve.test_mse.values, curve.time.values))
            for curve in (data[f"leap {d:.0e}"] for d in _WAITS)
        ]
        slope = (escapes[2] - escapes[1]) / math.log(_WAITS[2] / _WAITS[1])
        exact = math.sqrt(2 * math.pi) / 2
        found.append(
            Claim(
                "the time at the saddle grows by sqrt(2 pi)/2 for each unit of ln d",
                abs(slope / exact - 1) < 0.01,
                f"{slope:.4f} between d = 1e4 and 1e6, against {exact:.4f}",
            )
        )
        return found

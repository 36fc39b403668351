"""Figure: second layers of several values give the readout more functions of the spike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, average, line, points
from ...targets.target import Target
from ...theory.predict import predict
from .._checks import STANDARD_ERRORS, agrees, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from ._one_step import one_step

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Target("sin(z)")
# Second layers with the mean square 1; each value u gives the readout the function mu_0(u .).
READOUTS: dict[str, tuple[Any, str]] = {
    "one value": ("ones", "orange"),
    "two values": ({0.34: 0.5, 1.37: 0.5}, "vermillion"),
    "four values": ({0.15: 0.25, 0.4: 0.25, 0.87: 0.25, 1.74: 0.25}, "blue"),
    "Gaussian": ("gaussian", "green"),
}
STUDENT: dict[str, Any] = {"activation": "tanh(z)", "ridge": 0.1}
BATCH_RATIO, WIDTH_RATIO, STEP = 20.0, 1.0, 2.0
READOUT_RATIOS = (1.0, 4.0, 12.0)
SIZES: dict[Size, tuple[int, int]] = {"small": (240, 10), "paper": (800, 24)}  # d, replicates
_TEST = 16_000


def measured(name: str, readout_ratio: float, d: int, replicates: int) -> xr.Dataset:
    """Error on fresh samples in each replicate."""
    values, layer = np.empty(replicates), READOUTS[name][0]
    if isinstance(layer, dict):  # values with equal shares
        layer = np.resize(list(layer), round(WIDTH_RATIO * d))
    for replicate in range(replicates):
        learner, sample = one_step(
            TARGET, d=d, batch_ratio=BATCH_RATIO, width_ratio=WIDTH_RATIO, step_size=STEP,
            readout_ratio=readout_ratio, replicate=replicate, readout=layer, **STUDENT,
        )  # fmt: skip
        fresh = TARGET.sample(_TEST, d, seed=1, replicate=replicate, dtype="float32").X
        labels = TARGET(fresh.astype(float) @ sample.W_star.T)  # in the frame of the sample
        values[replicate] = np.mean((learner.predict(fresh) - labels) ** 2)
    return curve(
        {"test_mse": ("replicate", values), "test_mse_err": ("replicate", 0 * values)},
        {"replicate": np.arange(replicates)},
        source="simulation:giant_step",
        target=TARGET.text,
        params={"d": d, "readout_ratio": readout_ratio},
        seed=0,
    )


def predicted(name: str, d: int) -> xr.Dataset:
    """The same in the limit of large d, with the terms of finite width."""
    return predict(
        TARGET, "one_step", readout_ratio=np.geomspace(0.8, 15.0, 25), batch_ratio=BATCH_RATIO,
        width_ratio=WIDTH_RATIO, step_size=STEP, width=WIDTH_RATIO * d, readout=READOUTS[name][0],
        **STUDENT,
    )  # fmt: skip


@FIGURES.add("richer-basis")
class RicherBasis(GalleryFigure):
    """Test error after one step for second layers of one, two and four values, and Gaussian."""

    title = "A richer basis of features"
    sentence = (
        r"After one giant step a second layer with values $u$ offers the functions $\mu_0(u\cdot)$ "
        "of the spike to the readout. With several values, or Gaussian ones, of the same mean "
        "square the test error is lower than with one."
    )
    cites = ("dandi2024spectrum", "cui2024asymptotics")
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Predicted and measured errors by the samples of the readout."""
        import xarray as xr

        d, replicates = SIZES[size]
        found = {}
        for name in READOUTS:
            found[f"{name} theory"] = memo(predicted, name, d)
            runs = [memo(measured, name, ratio, d, replicates) for ratio in READOUT_RATIOS]
            joined = xr.concat(runs, dim="readout_ratio", combine_attrs="override")
            joined = joined.assign_coords(readout_ratio=list(READOUT_RATIOS))
            found[f"{name} simulation"] = joined
        return found

    def draw(self, data: Data) -> Chart:
        """All second layers over the samples of the readout."""
        series = []
        for name, (_, color) in READOUTS.items():
            theory = data[f"{name} theory"]
            mean, error = average(data[f"{name} simulation"], "test_mse")
            x, y = theory.readout_ratio.values, theory.test_mse.values.ravel()
            series += [
                line(f"theory, {name}", x, y, color=color),
                points("", mean.readout_ratio.values, mean.values, error.values, color=color),
            ]
        d = setting(data["one value simulation"], "d")
        series.append(points(f"simulation, $d = {d}$", [], [], color="gray"))
        return Chart(
            self.title,
            Axis(r"samples of the readout per dimension $\alpha$", "log"),
            Axis("test error", "log"),
            tuple(series),
            caption=self.sentence,
            legend="below",
        )

    def claims(self, data: Data) -> list[Claim]:
        """Errors are those of theory, and one value is the worst."""
        found, last = [], {}
        for name in READOUTS:
            theory, runs = data[f"{name} theory"], data[f"{name} simulation"]
            mean, error = average(runs, "test_mse")
            found.append(
                agrees(
                    f"{name}: the error is that of theory within five standard errors and 15/d of "
                    "its value",
                    (mean.readout_ratio, mean, error),
                    (theory.readout_ratio, theory.test_mse.values.ravel()),
                    slack=0.0,
                    relative=15 / setting(runs, "d"),
                )
            )
            last[name] = float(mean[-1]), STANDARD_ERRORS * float(error[-1])
        worst, spread = last.pop("one value")
        texts = [f"{name} {value:.4f}" for name, (value, _) in last.items()]
        found.append(
            Claim(
                "at the largest number of samples one value leaves the largest error",
                all(value + its < worst - spread for value, its in last.values()),
                f"one value {worst:.4f}, {', '.join(texts)}",
            )
        )
        return found

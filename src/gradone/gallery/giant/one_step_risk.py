"""One giant step beats every linear function, and random features do not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, hline, line, ordered_colors, points
from ...targets.target import Target
from ...theory import risk_bounds
from ...theory.predict import predict
from .._checks import agrees, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from ._one_step import one_step

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = "sin(z)"
ACTIVATION = "tanh(z)"
RIDGE = 0.1
# (step size, batch ratio) of each curve, by panel.
PANELS = {
    "steps": ((0.0, 20.0), (1.0, 20.0), (3.0, 20.0)),
    "batches": ((3.0, 2.0), (3.0, 5.0), (3.0, 20.0)),
}
READOUT_RATIOS = (0.5, 1.0, 1.6, 2.5, 4.0)
SIZES: dict[Size, tuple[int, int]] = {"small": (300, 8), "paper": (1000, 16)}  # d, replicates


def measured(
    step: float, batch_ratio: float, readout_ratio: float, d: int, replicates: int
) -> xr.Dataset:
    """Error on fresh samples in each run."""
    target = Target(TARGET)
    values = np.empty(replicates)
    for replicate in range(replicates):
        learner, sample = one_step(
            target,
            d=d,
            batch_ratio=batch_ratio,
            width_ratio=1.0,
            step_size=step,
            readout_ratio=readout_ratio,
            replicate=replicate,
            activation=ACTIVATION,
            readout="ones",
            ridge=RIDGE,
            fit_intercept=False,
        )
        # Rows of another seed, in the frame of the sample.
        fresh = target.sample(4000, d, seed=1, replicate=replicate, dtype="float32").X
        z = fresh.astype(float) @ sample.W_star.T
        values[replicate] = np.mean((learner.predict(fresh) - target(z)) ** 2)
    return curve(
        {"excess_mse": ("replicate", values), "excess_mse_err": ("replicate", 0 * values)},
        {"replicate": np.arange(replicates)},
        source="simulation:giant_step",
        target=TARGET,
        params={
            "d": d,
            "step_size": step,
            "batch_ratio": batch_ratio,
            "readout_ratio": readout_ratio,
        },
        seed=0,
    )


def predicted(step: float, batch_ratio: float, width: int) -> xr.Dataset:
    """The same by the theory of one step, with its terms of finite width."""
    return predict(
        TARGET,
        "one_step",
        readout_ratio=np.geomspace(0.4, 5.0, 40),
        step_size=step,
        batch_ratio=batch_ratio,
        activation=ACTIVATION,
        width_ratio=1.0,
        ridge=RIDGE,
        width=float(width),
        readout="ones",
    )


@FIGURES.add("one-step-risk")
class OneStepRisk(GalleryFigure):
    """One giant step beats every linear function, and random features do not."""

    title = "Risk after one giant step"
    sentence = (
        "Random features, the step $s = 0$, stay above the best linear function however many "
        "samples there are; one giant step crosses that barrier, the further the larger the step "
        "(a) and its batch (b), down to bounds that the shape of the activation sets."
    )
    cites = ("cui2024asymptotics", "ba2022onestep")
    budget = {"small": 100.0, "paper": 1500.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Errors for each pair of step and batch; the barrier and the bounds."""
        import xarray as xr

        d, replicates = SIZES[size]
        found = {}
        for step, batch in sorted({pair for pairs in PANELS.values() for pair in pairs}):
            runs = [
                memo(measured, step, batch, readout_ratio, d, replicates)
                for readout_ratio in READOUT_RATIOS
            ]
            joined = xr.concat(runs, dim="readout_ratio", combine_attrs="override")
            found[f"simulation {step:g} {batch:g}"] = joined.assign_coords(
                readout_ratio=list(READOUT_RATIOS)
            )
            found[f"theory {step:g} {batch:g}"] = memo(predicted, step, batch, d)
        found["levels"] = levels(float(found["theory 3 20"].spike.values.flat[0]))
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Several steps, and several batches."""
        barrier, lower, upper = (
            float(data["levels"][name]) for name in ("barrier", "lower", "upper")
        )
        charts = []
        for panel, pairs in PANELS.items():
            series = [
                hline("best linear function", barrier, color="black"),
                hline("bounds of a large batch", [lower, upper], color="gray", dash="dashdot"),
            ]
            for (step, batch), color in zip(pairs, ordered_colors(len(pairs)), strict=True):
                theory = data[f"theory {step:g} {batch:g}"]
                mean, error = average(data[f"simulation {step:g} {batch:g}"], "excess_mse")
                name = f"$s = {step:g}$" if panel == "steps" else f"$n_0 = {batch:g} d$"
                x = theory.readout_ratio.values
                y = theory.excess_mse.values.reshape(len(x))
                series += [
                    line(f"{name}, theory", x, y, color=color),
                    points("", READOUT_RATIOS, mean.values, error.values, color=color),
                ]
            series.append(points("simulation", [], [], color="gray"))
            title = "batch $n_0 = 20 d$" if panel == "steps" else "step $s = 3$"
            x_axis = Axis(r"samples of the readout per dimension $\alpha$", range=(0, 5))
            y_axis = Axis("excess risk", "log", (1e-3, 1))
            charts.append(Chart(title, x_axis, y_axis, tuple(series), legend="below"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Points on lines; who crosses the barrier."""
        found, last = [], {}
        for key in (key for key in data if key.startswith("simulation")):
            step, batch = key.split()[1:]
            theory = data[f"theory {step} {batch}"]
            mean, error = average(data[key], "excess_mse")
            d = setting(data[key], "d")
            last[float(step), float(batch)] = float(mean.values[-1])
            found.append(
                agrees(
                    f"the risk after a step {step} with a batch of {batch} d follows the theory",
                    (READOUT_RATIOS, mean.values, error.values),
                    (theory.readout_ratio, theory.excess_mse.values.reshape(-1)),
                    slack=0.0,
                    relative=8 / d,
                )
            )
        barrier, lower = (float(data["levels"][name]) for name in ("barrier", "lower"))
        found.append(
            Claim(
                "random features stay above the best linear function, a giant step does not",
                last[0.0, 20.0] > barrier > last[3.0, 20.0] > lower,
                f"{last[0.0, 20.0]:.4f} > {barrier:.4f} > {last[3.0, 20.0]:.4f} > {lower:.4f}",
            )
        )
        batches = [last[pair] for pair in PANELS["batches"]]
        found.append(
            Claim(
                "a larger batch gives a smaller risk",
                batches == sorted(batches, reverse=True),
                ", ".join(f"{value:.4f}" for value in batches),
            )
        )
        return found


def levels(spike: float) -> xr.Dataset:
    """Risk of the best linear function, and the bounds for a spike along the direction."""
    bounds = risk_bounds(TARGET, ACTIVATION, spike)
    # E[sin(z)^2] - E[sin(z) z]^2
    barrier = (1 - math.exp(-2)) / 2 - math.exp(-1)
    values: dict[str, tuple[tuple[()], float]] = {}
    for name, value, error in (
        ("barrier", barrier, 1e-15),
        ("lower", bounds.lower.value, bounds.lower.error),
        ("upper", bounds.upper.value, bounds.upper.error),
    ):
        values |= {name: ((), value), f"{name}_err": ((), error)}
    return curve(values, {}, source="theory:one_step", target=TARGET, params={"spike": spike})

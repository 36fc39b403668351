"""What a giant step learns, term by term: the theory of one step and the plateaus of the plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.plan import plan
from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, hline, line, points
from ...targets.target import Target
from ...theory.predict import predict
from .._checks import STANDARD_ERRORS, agrees, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from ._one_step import one_step

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# The step finds z1. Given z1 the second term is linear in what is left, or it is not.
TARGETS = {
    "learned": "z1 + He2(z1)*z2/sqrt(2)",
    "left": "z1 + z1*He2(z2)/sqrt(2)",
}
_TERMS = {"learned": "He2(z1)*z2", "left": "z1*He2(z2)"}
# An odd activation and no term of degree two: the step then has one spike, as the theory wants.
STUDENT: dict[str, Any] = {"activation": "sin(z)", "readout": "gaussian", "ridge": 1.0}
BATCH_RATIO, WIDTH_RATIO, STEP = 32.0, 4.0, 1.5
READOUT_RATIOS = (2.0, 8.0, 32.0)
_STEPS = {0: "random features", 1: "one giant step"}
_COLORS = {0: "orange", 1: "vermillion"}
_TEST = 16_000
SIZES: dict[Size, tuple[int, int]] = {"small": (256, 6), "paper": (512, 16)}  # d, replicates


def measured(name: str, steps: int, readout_ratio: float, d: int, replicates: int) -> xr.Dataset:
    """Error on fresh samples in each replicate; without a step, of random features."""
    target, values = Target(TARGETS[name]), np.empty(replicates)
    for replicate in range(replicates):
        learner, sample = one_step(
            target, d=d, batch_ratio=BATCH_RATIO, width_ratio=WIDTH_RATIO, step_size=STEP * steps,
            readout_ratio=readout_ratio, replicate=replicate, **STUDENT,
        )  # fmt: skip
        # Rows of another seed, in the frame of the sample.
        fresh = target.sample(_TEST, d, seed=1, replicate=replicate, dtype="float32").X
        labels = target(fresh.astype(float) @ sample.W_star.T)
        values[replicate] = np.mean((learner.predict(fresh) - labels) ** 2)
    return curve(
        {"excess_mse": ("replicate", values), "excess_mse_err": ("replicate", 0 * values)},
        {"replicate": np.arange(replicates)},
        source="simulation:giant_step",
        target=TARGETS[name],
        params={"d": d, "steps": steps, "readout_ratio": readout_ratio},
        seed=0,
    )


def predicted(name: str, steps: int, d: int) -> xr.Dataset:
    """The same in the limit of large d, with the terms of finite width."""
    return predict(
        Target(TARGETS[name]),
        "one_step",
        readout_ratio=np.geomspace(1.5, 200.0, 31),
        batch_ratio=BATCH_RATIO,
        width_ratio=WIDTH_RATIO,
        step_size=STEP * steps,
        width=WIDTH_RATIO * d if steps else math.inf,
        **STUDENT,
    )


def planned(name: str) -> xr.Dataset:
    """Plateaus of the plan without a step and with one, when n/d and p/d grow after d."""
    rows = {row.steps: row for row in plan(Target(TARGETS[name])).staircase}
    values = [float(rows[t].plateaus[1]) for t in _STEPS]
    return curve(
        {"excess_mse": ("step", values), "excess_mse_err": ("step", np.full(len(values), 1e-6))},
        {"step": list(_STEPS)},
        source="analysis:plan",
        target=TARGETS[name],
    )


@FIGURES.add("learned-terms")
class LearnedTerms(GalleryFigure):
    """What a giant step learns, term by term: the theory of one step and plateaus of the plan."""

    title = "What a giant step learns, term by term"
    sentence = (
        "One giant step finds $z_1$, and the readout then learns what is linear in the other "
        "directions: it goes below the best linear function where the second term is "
        r"$\mathrm{He}_2(z_1)z_2$ (a), and never where it is $z_1\mathrm{He}_2(z_2)$ (b). Lines: "
        "theory for $4d$ neurons; dotted: what is left when $n/d$ and the width grow as well."
    )
    cites = ("dandi2023giant", "cui2024asymptotics")
    budget = {"small": 100.0, "paper": 1500.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Predicted and measured errors by the samples of the readout, and the plateaus."""
        import xarray as xr

        d, replicates = SIZES[size]
        found = {}
        for name in TARGETS:
            for t in _STEPS:
                runs = [memo(measured, name, t, n, d, replicates) for n in READOUT_RATIOS]
                joined = xr.concat(runs, dim="readout_ratio", combine_attrs="override")
                joined = joined.assign_coords(readout_ratio=list(READOUT_RATIOS))
                found[f"{name} {t} simulation"] = joined
                found[f"{name} {t} theory"] = memo(predicted, name, t, d)
            found[f"{name} plan"] = planned(name)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """One panel for each target."""
        titles = {
            "learned": r"$z_1 + \mathrm{He}_2(z_1) z_2/\sqrt{2}$",
            "left": r"$z_1 + z_1 \mathrm{He}_2(z_2)/\sqrt{2}$",
        }
        d, charts = setting(data["learned 0 simulation"], "d"), []
        for name, title in titles.items():
            series = []
            for t, words in _STEPS.items():
                theory, color = data[f"{name} {t} theory"], _COLORS[t]
                mean, error = average(data[f"{name} {t} simulation"], "excess_mse")
                x, level = theory.readout_ratio.values, float(data[f"{name} plan"].excess_mse[t])
                series += [
                    line(f"{words}, theory", x, theory.excess_mse.values.ravel(), color=color),
                    points("", mean.readout_ratio.values, mean.values, error.values, color=color),
                    hline("", level, color=color),
                ]
            series += [
                points(f"simulation, $d = {d}$", [], [], color="gray"),
                line("limit of large $n/d$ and $p/d$", [], [], color="gray", dash="dot"),
            ]
            x_axis = Axis("samples of the readout per dimension $n/d$", "log")
            y_axis = Axis("excess error", range=(-0.05, None))
            charts.append(Chart(title, x_axis, y_axis, tuple(series), legend="below"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Errors are those of the theory, and on the sides of the barrier that the plan says."""
        found = []
        for name, term in _TERMS.items():
            for t, words in _STEPS.items():
                runs, theory = data[f"{name} {t} simulation"], data[f"{name} {t} theory"]
                mean, error = average(runs, "excess_mse")
                allowed = 8 / setting(runs, "d")  # corrections to the limit are of the order of 1/d
                found.append(
                    agrees(
                        f"{words} on the target with {term}: the error is within five standard "
                        f"errors and 8/d = {allowed:.3f} of the theory",
                        (mean.readout_ratio, mean, error),
                        (theory.readout_ratio, theory.excess_mse.values.ravel()),
                        slack=allowed,
                    )
                )
            barrier, level = data[f"{name} plan"].excess_mse.values
            last, spread = float(mean[-1]), STANDARD_ERRORS * float(error[-1])
            if level < barrier:
                text = f"one step goes below {barrier:.2f}, the best of a linear function, and"
                text += f" towards {level:.2f}: {term} is learned"
                holds = last + spread < barrier
            else:
                text = f"one step stays above {level:.2f}, the best of a linear function: {term}"
                text += " is not learned"
                holds = last + spread > level
            found.append(Claim(text, holds, f"{last:.3f} +- {spread:.3f} at n = 32 d"))
        return found

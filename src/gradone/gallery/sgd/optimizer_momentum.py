"""Momentum at equal effective step: the same flow, the same exponent, the same best constant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, line, ordered_colors, points
from ...dynamics import sgd
from ...theory.predict import predict
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET, GAMMA, D = "z + He2(z)/2", 0.5, 1000
START = {"M": [[0.1]]}
TIMES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
# Memory of the buffer: nothing, ten updates, and kappa of 1 - beta = kappa/d.
RULES: dict[str, dict[str, float]] = {
    "plain": {},
    "momentum 0.9": {"momentum": 0.9},
    "$1-\\beta = 4/d$": {"momentum_rate": 4.0},
    "$1-\\beta = 1/d$": {"momentum_rate": 1.0},
}
HARD = "He3(z)/2.449489742783178"
DIMENSIONS = (32, 64, 128)
HARD_RULES = {"plain": 0.0, "momentum 0.9": 0.9}
_HARD_GAMMA, _HORIZON, _LEVEL = 0.3, 4.0, 0.5
REPLICATES: dict[Size, tuple[int, int]] = {"small": (24, 120), "paper": (96, 480)}


def simulated(rule: str, replicates: int) -> xr.Dataset:
    """Mean overlap of the engine at the times, with its standard error."""
    memory = 1 - RULES[rule].get("momentum", 0.0)
    if "momentum_rate" in RULES[rule]:
        memory = RULES[rule]["momentum_rate"] / D
    steps = [round(time * D) for time in TIMES]
    run = sgd(
        TARGET, d=D, width=1, steps=steps[-1], step_size=GAMMA * memory / D, momentum=1 - memory,
        init=START, record=steps, replicates=replicates, progress=False,
    )  # fmt: skip
    m = run.overlap.values[:, :, 0, 0]
    values = {
        "overlap": ("time", m.mean(axis=0)),
        "overlap_err": ("time", m.std(axis=0, ddof=1) / math.sqrt(replicates)),
    }
    return curve(values, {"time": list(TIMES)}, source="simulation:sgd", target=TARGET, seed=0)


def limit(rule: str) -> xr.Dataset:
    """Overlap of the flow at the times."""
    settings: dict[str, Any] = dict(RULES[rule])
    step = GAMMA * (1 - settings.get("momentum", 0.0))
    flow = predict(
        TARGET, "sgd_flow", time=list(TIMES), width=1, step_size=step, init=START, **settings
    )
    values = {name: ("time", flow[name].values[:, 0, 0]) for name in ("overlap",)}
    values["overlap_err"] = ("time", flow.overlap_err.values[:, 0, 0])
    return curve(values, {"time": list(TIMES)}, source="theory:sgd_flow", target=TARGET)


def hard(rule: str, d: int, replicates: int) -> xr.Dataset:
    """Median logarithm of steps/d^2 in which a matched neuron finds He3, with its error."""
    memory = 1 - HARD_RULES[rule]
    steps = round(_HORIZON * d * d)
    run = sgd(
        HARD, d=d, width=1, activation=HARD, steps=steps, step_size=_HARD_GAMMA * memory / d,
        momentum=1 - memory, loss="correlation", geometry="projected", init={"M": [[d**-0.5]]},
        record=np.unique(np.geomspace(d, steps, 400).astype(int)), replicates=replicates,
        progress=False,
    )  # fmt: skip
    reached = run.overlap.values[:, :, 0, 0] >= _LEVEL
    # Runs that do not come have the longest times: a median needs no more of them than that.
    times = np.where(reached.any(axis=1), run.step.values[reached.argmax(axis=1)], np.inf)
    ranks = np.sort(np.log(times / d**2))
    n = len(ranks)
    low, high = (ranks[int(n / 2 + sign * math.sqrt(n) / 2)] for sign in (-1, 1))
    values = {"median": ((), np.median(ranks)), "median_err": ((), (high - low) / 2)}
    return curve(values, {}, source="simulation:sgd", target=HARD, params={"d": d}, seed=0)


@FIGURES.add("optimizer-momentum")
class OptimizerMomentum(GalleryFigure):
    """Momentum at equal effective step: the same flow, the same exponent."""

    title = "Momentum at equal effective step"
    sentence = (
        "With the step divided by $1-\\beta$ a momentum of 0.9 follows the flow of plain SGD; a "
        "buffer that remembers a part of $d$ updates lags behind, as its own flow says. On "
        "$\\mathrm{He}_3$ the steps of a matched neuron grow as $d^2$ with momentum as without."
    )
    cites = ("jagannath2025momentum", "benarous2021online")
    budget = {"small": 60.0, "paper": 300.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlaps over time for each memory, and times to find He3."""
        easy, many = REPLICATES[size]
        found = {}
        for rule in RULES:
            found[f"simulation {rule}"] = memo(simulated, rule, easy)
            found[f"theory {rule}"] = memo(limit, rule)
        for rule in HARD_RULES:
            runs = [memo(hard, rule, d, many) for d in DIMENSIONS]
            values = {
                name: ("d", np.array([run[name].item() for run in runs]))
                for name in ("median", "median_err")
            }
            found[f"hard {rule}"] = curve(
                values, {"d": list(DIMENSIONS)}, source="simulation:sgd", target=HARD
            )
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Overlaps over time, and medians against the dimension."""
        series = []
        for rule, color in zip(RULES, ordered_colors(len(RULES)), strict=True):
            theory, runs = data[f"theory {rule}"], data[f"simulation {rule}"]
            series += [
                line(f"{rule}, theory", theory.time.values, theory.overlap.values, color=color),
                points(
                    "", runs.time.values, runs.overlap.values, runs.overlap_err.values, color=color
                ),
            ]
        series.append(points("simulation", [], [], color="gray"))
        medians = []
        for (rule, shift), color in zip(
            {"plain": 0.97, "momentum 0.9": 1.03}.items(), ordered_colors(len(RULES)), strict=False
        ):
            runs = data[f"hard {rule}"]
            value = np.exp(runs["median"].values)
            error = value * runs.median_err.values
            medians.append(
                points(f"{rule}, simulation", shift * runs.d.values, value, error, color=color)
            )
        return Panels(
            self.title,
            (
                Chart(
                    "$z + \\mathrm{He}_2(z)/2$, relu, $d = 1000$", Axis("time = steps/d"),
                    Axis("overlap"), tuple(series),
                ),
                Chart(
                    "$\\mathrm{He}_3$, matched", Axis("dimension $d$", "log"),
                    Axis("median steps/$d^2$ to overlap 1/2", range=(0, 1)), tuple(medians),
                ),
            ),
            caption=self.sentence,
        )  # fmt: skip

    def claims(self, data: Data) -> list[Claim]:
        """Agreement with the flows, the same times, the same exponent."""
        found = []
        for rule in RULES:
            theory, runs = data[f"theory {rule}"], data[f"simulation {rule}"]
            gap = np.abs(runs.overlap.values - theory.overlap.values)
            allowed = 4 * runs.overlap_err.values + theory.overlap_err.values + 5 / D
            found.append(
                Claim(
                    f"the overlap with '{rule}' is that of its flow",
                    bool((gap < allowed).all()),
                    f"largest gap {gap.max():.4f}, allowed there {allowed[gap.argmax()]:.4f}",
                )
            )
        plain, slow = (data[f"theory {rule}"].overlap.values for rule in (*RULES,)[::3])
        found.append(
            Claim(
                "a buffer of d updates lags behind at first",
                bool((slow[1:5] < plain[1:5] - 0.05).all()),
                f"{slow[4]:.3f} against {plain[4]:.3f} at time {TIMES[4]:g}",
            )
        )
        one, two = (data[f"hard {rule}"] for rule in HARD_RULES)
        gap = np.abs(one["median"].values - two["median"].values)
        error = np.hypot(one.median_err.values, two.median_err.values)
        found.append(
            Claim(
                "momentum does not change the time to find He3",
                bool((gap < 4 * error).all()),
                f"ratio of the medians {np.exp(gap.max()):.2f} at most, "
                f"{np.exp(4 * error.min()):.2f} allowed",
            )
        )
        for rule in HARD_RULES:
            runs = data[f"hard {rule}"]
            first, last = runs["median"].values[[0, -1]]
            slope = 2 + (last - first) / math.log(DIMENSIONS[-1] / DIMENSIONS[0])
            error = np.hypot(*runs.median_err.values[[0, -1]]) / math.log(4)
            found.append(
                Claim(
                    f"the steps of '{rule}' grow as the square of d",
                    bool(abs(slope - 2) < 4 * error < 1),
                    f"power {slope:.2f} +- {error:.2f}",
                )
            )
        return found

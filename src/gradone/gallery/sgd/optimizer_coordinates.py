"""Signs, RMSprop and Adam against the flows of spread-out directions."""

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

TARGET, D = "He3(z)", 800
GAMMA = 0.3
TIMES = (1.0, 2.0, 4.0, 7.0, 10.0)
RULES: dict[str, dict[str, Any]] = {
    "signs": {"optimizer": "sign"},
    "RMSprop, 0.9": {"optimizer": "rmsprop", "betas": (0.9, 0.9)},
    "RMSprop, 0.99": {"optimizer": "rmsprop", "betas": (0.9, 0.99)},
    "Adam, 0.8, 0.9": {"optimizer": "adam", "betas": (0.8, 0.9)},
}
REPLICATES: dict[Size, int] = {"small": 12, "paper": 64}
_STUDENT: dict[str, Any] = {
    "width": 1, "activation": "relu(z)", "loss": "correlation", "geometry": "projected",
    "init": "orthogonal",
}  # fmt: skip


def simulated(rule: str, method: str, replicates: int) -> xr.Dataset:
    """Mean size of the overlap at the times, in d dimensions or by the effective chain."""
    steps = [round(time * D) for time in TIMES]
    run = sgd(
        TARGET, d=D, steps=steps[-1], step_size=GAMMA / D, record=steps, replicates=replicates,
        method=method, progress=False, **_STUDENT, **RULES[rule],
    )  # fmt: skip
    m = -run.overlap.values[:, :, 0, 0]  # a relu turns away from the direction of He3
    values = {
        "overlap": ("time", m.mean(axis=0)),
        "overlap_err": ("time", m.std(axis=0, ddof=1) / math.sqrt(replicates)),
    }
    return curve(values, {"time": list(TIMES)}, source="simulation:sgd", target=TARGET, seed=0)


def limit(rule: str) -> xr.Dataset:
    """The flow at the times."""
    flow = predict(TARGET, "sgd_flow", time=list(TIMES), step_size=GAMMA, **_STUDENT, **RULES[rule])
    values = {
        "overlap": ("time", -flow.overlap.values[:, 0, 0]),
        "overlap_err": ("time", flow.overlap_err.values[:, 0, 0]),
    }
    return curve(values, {"time": list(TIMES)}, source="theory:sgd_flow", target=TARGET)


@FIGURES.add("optimizer-coordinates")
class OptimizerCoordinates(GalleryFigure):
    """Signs, RMSprop and Adam against the flows of spread-out directions."""

    title = "He3, coordinate by coordinate"
    sentence = (
        "Signs, RMSprop and Adam with a short memory find $\\mathrm{He}_3$ with one relu neuron in "
        "$O(d)$ steps of one sample each, as their flows for spread-out directions say; the longer "
        "the second memory, the weaker the push. Crosses: signs by the effective chain."
    )
    cites = ("joshi2024queries", "xiao2024sign")
    budget = {"small": 60.0, "paper": 300.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlaps over time for each rule, simulated and in the limit."""
        found = {}
        for rule in RULES:
            found[f"simulation {rule}"] = memo(simulated, rule, "direct", REPLICATES[size])
            found[f"theory {rule}"] = memo(limit, rule)
        found["effective signs"] = memo(simulated, "signs", "effective", 4 * REPLICATES[size])
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Overlaps over time."""
        series = []
        colors = ordered_colors(len(RULES))
        for rule, color in zip(RULES, colors, strict=True):
            theory, runs = data[f"theory {rule}"], data[f"simulation {rule}"]
            series += [
                line(f"{rule}, theory", theory.time.values, theory.overlap.values, color=color),
                points(
                    "", runs.time.values, runs.overlap.values, runs.overlap_err.values, color=color
                ),
            ]
        series.append(points("simulation", [], [], color="gray"))
        chain = data["effective signs"]
        series.append(
            points(
                "signs, effective simulation", chain.time.values, chain.overlap.values,
                chain.overlap_err.values, color=colors[0], marker="cross",
            )
        )  # fmt: skip
        return Chart(
            self.title, Axis("time = steps/d"), Axis("size of the overlap", range=(0, 0.8)),
            tuple(series), caption=self.sentence,
        )  # fmt: skip

    def claims(self, data: Data) -> list[Claim]:
        """Agreement with the flows, the escape, and the price of a long memory."""
        found = []
        pairs = [(f"simulation {rule}", f"theory {rule}") for rule in RULES]
        for one, two in [*pairs, ("effective signs", "theory signs")]:
            runs, theory = data[one], data[two]
            gap = np.abs(runs.overlap.values - theory.overlap.values)
            allowed = 4 * runs.overlap_err.values + theory.overlap_err.values + 5 / D
            found.append(
                Claim(
                    f"the overlaps of '{one}' are those of the flow",
                    bool((gap < allowed).all()),
                    f"largest gap {gap.max():.4f}, allowed there {allowed[gap.argmax()]:.4f}",
                )
            )
        last = {rule: float(data[f"simulation {rule}"].overlap[-1]) for rule in RULES}
        found.append(
            Claim(
                "all of them leave an information exponent of 3 in 10 d steps",
                min(last.values()) > 0.15,
                ", ".join(f"{rule} {value:.2f}" for rule, value in last.items()),
            )
        )
        found.append(
            Claim(
                "a long second memory weakens the push",
                last["RMSprop, 0.99"] < 0.8 * last["RMSprop, 0.9"],
                f"{last['RMSprop, 0.99']:.2f} against {last['RMSprop, 0.9']:.2f}",
            )
        )
        return found

"""Which optimizers leave the information exponent without repeating data: He3 under six rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, line, points
from ...dynamics import sgd
from ...theory.predict import predict
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = "He3(z)"
TIME = 15.0
GAMMA = 0.3
BLIND = ("plain", "momentum 0.9")
"""Rules whose push is affine in the label."""
RULES: dict[str, dict[str, Any]] = {
    "plain": {"loss": "correlation"},
    "momentum 0.9": {"loss": "correlation", "momentum": 0.9},
    "normalized": {"loss": "correlation", "optimizer": "normalized"},
    "clipped": {"loss": "correlation", "clip_norm": 1.0},
    "Huber loss": {"loss": "huber"},
    "absolute loss": {"loss": "absolute"},
}
COLORS = ("black", "orange", "blue", "vermillion", "green", "purple")
DIMENSIONS = (256, 1024, 4096)
REPLICATES: dict[Size, int] = {"small": 16, "paper": 64}


def in_dimension(settings: dict[str, Any], d: int) -> dict[str, Any]:
    """Settings of a simulation, from those of the flow."""
    found = dict(settings)
    step = GAMMA * (1 - settings.get("momentum", 0.0))
    found["step_size"] = step / (math.sqrt(d) if "optimizer" in settings else d)
    if "clip_norm" in settings:
        found["clip_norm"] = settings["clip_norm"] * math.sqrt(d)
    return found


def simulated(rule: str, d: int, replicates: int) -> xr.Dataset:
    """Size of the overlap of one relu neuron with the direction, from none, after 15 d steps."""
    steps = round(TIME * d)
    run = sgd(
        TARGET, d=d, width=1, steps=steps, init="orthogonal", geometry="projected",
        record=[steps], replicates=replicates, progress=False, **in_dimension(RULES[rule], d),
    )  # fmt: skip
    found = np.abs(run.overlap.values[:, 0, 0, 0])
    error = found.std(ddof=1) / math.sqrt(len(found))
    return curve(
        {"overlap": ((), found.mean()), "overlap_err": ((), error)}, {},
        source="simulation:sgd", target=TARGET, params={"d": d, "rule": rule}, seed=0,
    )  # fmt: skip


def limit(rule: str) -> xr.Dataset:
    """The same in the limit of large d."""
    settings = dict(RULES[rule])
    step = GAMMA * (1 - settings.get("momentum", 0.0))
    flow = predict(
        TARGET, "sgd_flow", time=[TIME], width=1, step_size=step, init="orthogonal",
        geometry="projected", **settings,
    )  # fmt: skip
    value, error = abs(flow.overlap.item()), flow.overlap_err.item()
    return curve(
        {"overlap": ((), value), "overlap_err": ((), error)}, {},
        source="theory:sgd_flow", target=TARGET, params={"rule": rule},
    )  # fmt: skip


@FIGURES.add("optimizer-escape")
class OptimizerEscape(GalleryFigure):
    """Which optimizers leave the information exponent without repeating data: He3, six rules."""

    title = r"$\mathrm{He}_3$ under six optimizers"
    sentence = (
        "One relu neuron sees each sample of $\\mathrm{He}_3$ once. Plain SGD, with momentum or "
        "without, keeps an overlap that vanishes with $d$; normalized or clipped gradients, Huber "
        "and absolute loss find the direction in $15\\,d$ steps, as their flows say. Points of the "
        "same dimension stand side by side."
    )
    cites = ("joshi2024queries", "arnaboldi2024repetita")
    budget = {"small": 60.0, "paper": 300.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlaps by dimension for each rule, and their limits."""
        found = {}
        for rule in RULES:
            runs = [memo(simulated, rule, d, REPLICATES[size]) for d in DIMENSIONS]
            found[f"simulation {rule}"] = _by_dimension(runs, "simulation:sgd")
            found[f"theory {rule}"] = _by_dimension(
                [memo(limit, rule)] * len(DIMENSIONS), "theory:sgd_flow"
            )
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Overlaps against the dimension."""
        series = []
        for k, (rule, color) in enumerate(zip(RULES, COLORS, strict=True)):
            theory, runs = data[f"theory {rule}"], data[f"simulation {rule}"]
            x = theory.d.values
            aside = x * 1.06 ** (k - 2.5)
            series += [
                line(rule, x, theory.overlap.values, color=color),
                points("", aside, runs.overlap.values, runs.overlap_err.values, color=color),
            ]
        series += [
            line("theory", [], [], color="gray"),
            points("simulation", [], [], color="gray"),
        ]
        return Chart(
            self.title, Axis("dimension $d$", "log"),
            Axis("size of the overlap after $15\\,d$ steps", range=(-0.02, 1)), tuple(series),
            caption=self.sentence, legend="right",
        )  # fmt: skip

    def claims(self, data: Data) -> list[Claim]:
        """Who finds the direction, at which dimensions, and the agreement with the flows."""
        found = []
        for rule in RULES:
            theory, runs = data[f"theory {rule}"], data[f"simulation {rule}"]
            y, d = runs.overlap.values, runs.d.values
            if rule in BLIND:
                ratio = y[-1] / y[0]
                found.append(
                    Claim(
                        f"the overlap of the rule '{rule}' vanishes with d",
                        bool((y < 6 / np.sqrt(d)).all() and ratio < 0.6),
                        f"{y[-1]:.3f} at d = {d[-1]}, {ratio:.2f} of that at d = {d[0]}",
                    )
                )
                continue
            gap = np.abs(y - theory.overlap.values)
            found.append(
                Claim(
                    f"the rule '{rule}' finds He3 in 15 d steps, as its flow says",
                    bool((gap < 4 * runs.overlap_err.values + 5 / d).all() and y.min() > 0.4),
                    f"{y.min():.3f} at least, largest gap {gap.max():.3f}",
                )
            )
        return found


def _by_dimension(runs: list[xr.Dataset], source: str) -> xr.Dataset:
    values = {
        name: ("d", np.array([run[name].item() for run in runs]))
        for name in ("overlap", "overlap_err")
    }
    return curve(values, {"d": list(DIMENSIONS)}, source=source, target=TARGET)

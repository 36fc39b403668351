"""The gain of normalized gradients dies with the batch, and may change its sign on the way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, line, ordered_colors, points
from ...dynamics import sgd
from ...theory.predict import predict
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

STUDENTS = {"relu": "relu(z)", "matched": "He3(z)/2.449489742783178"}
TARGETS = {"relu": "He3(z)", "matched": "He3(z)/2.449489742783178"}
BATCHES = (1, 2, 4, 16, 64)
LIMITS = (1, 2, 4)
"""Batches for which the limit is computed: its integrals are over whole batches."""
_STILL = 1e-7  # a step so small that the neuron stays where it is
_D = 4000
SAMPLES: dict[Size, int] = {"small": 1 << 17, "paper": 1 << 20}
_RUNS = 16


def simulated(student: str, batch: int, samples: int) -> xr.Dataset:
    """Mean push of a normalized gradient along the direction, at a neuron that knows nothing."""
    steps = samples // batch
    run = sgd(
        TARGETS[student], d=_D, width=1, activation=STUDENTS[student], optimizer="normalized",
        loss="correlation", batch_size=batch, steps=steps, step_size=_STILL, init="orthogonal",
        record=[steps], replicates=_RUNS, progress=False,
    )  # fmt: skip
    push = run.overlap.values[:, 0, 0, 0] * math.sqrt(_D) / (_STILL * steps)
    return curve(
        {"push": ((), push.mean()), "push_err": ((), push.std(ddof=1) / math.sqrt(_RUNS))}, {},
        source="simulation:sgd", target=TARGETS[student], params={"batch": batch, "d": _D}, seed=0,
    )  # fmt: skip


def limit(student: str, batch: int) -> xr.Dataset:
    """The same in the limit of large d: the slope of the flow where it starts."""
    time, step = 1e-3, 1e-3
    flow = predict(
        TARGETS[student], "sgd_flow", time=[time], width=1, activation=STUDENTS[student],
        optimizer="normalized", loss="correlation", batch_size=batch, step_size=step,
        init="orthogonal",
    )  # fmt: skip
    value, error = (flow[name].item() / (time * step) for name in ("overlap", "overlap_err"))
    return curve(
        {"push": ((), value), "push_err": ((), error)}, {},
        source="theory:sgd_flow", target=TARGETS[student], params={"batch": batch},
    )  # fmt: skip


@FIGURES.add("optimizer-batches")
class OptimizerBatches(GalleryFigure):
    """The gain of normalized gradients dies with the batch, and may change its sign on the way."""

    title = r"Normalized gradients on $\mathrm{He}_3$"
    sentence = (
        "Normalized gradients push a neuron that knows nothing along the direction of "
        "$\\mathrm{He}_3$. Per sample the push of a relu dies with the batch; that of a neuron "
        "with the activation of the target changes its sign between 4 and 64 samples. The limit "
        "is an integral over whole batches, known for up to four samples."
    )
    cites = ("joshi2024queries", "arnaboldi2024batch")
    budget = {"small": 100.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Pushes by batch size, simulated and in the limit."""
        found = {}
        for student in STUDENTS:
            runs = [memo(simulated, student, b, SAMPLES[size]) for b in BATCHES]
            found[f"simulation {student}"] = _by_batch(runs, BATCHES, "simulation:sgd", student)
            exact = [memo(limit, student, b) for b in LIMITS]
            found[f"theory {student}"] = _by_batch(exact, LIMITS, "theory:sgd_flow", student)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Pushes against the batch size."""
        series = []
        for student, color in zip(STUDENTS, ordered_colors(len(STUDENTS)), strict=True):
            theory, runs = data[f"theory {student}"], data[f"simulation {student}"]
            series += [
                line(student, theory.n.values, theory.push.values, color=color),
                points("", runs.n.values, runs.push.values, runs.push_err.values, color=color),
            ]
        series += [
            line("theory", [], [], color="gray"),
            points(f"simulation, $d = {_D}$", [], [], color="gray"),
        ]
        y = Axis("push of one update along the direction")
        return Chart(
            self.title, Axis("batch size", "log"), y, tuple(series), caption=self.sentence,
            legend="below",
        )  # fmt: skip

    def claims(self, data: Data) -> list[Claim]:
        """The signs, the loss for each sample, and the agreement with the limit."""
        found = []
        for student in STUDENTS:
            theory, runs = data[f"theory {student}"], data[f"simulation {student}"]
            gap = np.abs(runs.push.values[: len(LIMITS)] - theory.push.values)
            allowed = 4 * runs.push_err.values[: len(LIMITS)] + theory.push_err.values + 0.005
            found.append(
                Claim(
                    f"the push of the {student} student is that of the limit",
                    bool((gap < allowed).all()),
                    f"largest gap {gap.max():.4f}, allowed {allowed.min():.4f}",
                )
            )
        relu, matched = (data[f"simulation {student}"] for student in STUDENTS)
        each = np.abs(relu.push.values) / relu.n.values
        found.append(
            Claim(
                "per sample the push of the relu dies with the batch",
                bool((np.diff(each) < 0).all() and each[-1] < 0.1 * each[0]),
                f"{each[0]:.3f} at one sample, {each[-1]:.4f} at {BATCHES[-1]}",
            )
        )
        push, error = matched.push.values, matched.push_err.values
        found.append(
            Claim(
                "the push of the matched student changes its sign with the batch",
                bool(push[0] > 4 * error[0] and push[-1] < -4 * error[-1]),
                f"{push[0]:+.3f} at one sample, {push[-1]:+.3f} at {BATCHES[-1]}",
            )
        )
        return found


def _by_batch(
    runs: list[xr.Dataset], batches: tuple[int, ...], source: str, student: str
) -> xr.Dataset:
    values = {
        name: ("n", np.array([run[name].item() for run in runs])) for name in ("push", "push_err")
    }
    return curve(values, {"n": list(batches)}, source=source, target=TARGETS[student])

"""How long one-pass SGD needs: d, d log d and d^2 steps for information exponents 1, 2, 3."""

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

LINKS = {1: "z", 2: "He2(z)/1.4142135623730951", 3: "He3(z)/2.449489742783178"}
"""Links of unit variance, by information exponent; the student knows the link."""

# Overlap at the start, in units of 1/sqrt(d): from 1 the laws of orders 2 and 3 are so broad that
# a few runs do not tell their medians; from 2 and 3 the drift is stronger than the noise.
STARTS = {1: 1.0, 2: 2.0, 3: 3.0}
_GAMMA = 0.3
_LONGEST = {1: 2.4, 2: 1.3, 3: 0.62}  # in the units below
RUNS: dict[Size, dict[int, dict[int, int]]] = {
    "small": {
        1: {10**3: 16, 10**4: 16, 10**5: 16, 10**6: 8},
        2: {10**3: 32, 10**4: 32, 10**5: 16, 10**6: 4},
        3: {512: 48, 2048: 24, 8192: 4},
    },
    "paper": {
        1: {10**3: 48, 10**4: 48, 10**5: 48, 10**6: 48},
        2: {10**3: 48, 10**4: 48, 10**5: 48, 10**6: 48},
        3: {512: 96, 2048: 96, 8192: 48},
    },
}


def unit(order: int, d: int) -> float:
    """Steps that the literature promises, up to a constant."""
    return {1: d, 2: d * math.log(d), 3: d**2}[order]


def step_size(order: int, d: int) -> float:
    """Step for which the noise stays below the drift: the smaller the harder the start."""
    return _GAMMA / d if order < 3 else _GAMMA * d**-1.5


def simulated_times(order: int, d: int, replicates: int) -> xr.Dataset:
    """Steps from the start to overlap 1/2 on the sphere, correlation loss, for each run."""
    longest = int(_LONGEST[order] * unit(order, d))
    grid = np.unique(np.linspace(0, longest, 1500).astype(int))
    run = sgd(
        LINKS[order],
        d=d,
        width=1,
        activation=LINKS[order],
        steps=longest,
        step_size=step_size(order, d),
        loss="correlation",
        geometry="spherical",
        record=grid,
        init={"M": [[STARTS[order] / math.sqrt(d)]]},
        replicates=replicates,
        progress=False,
    )
    passed = np.abs(run.overlap.values[:, :, 0, 0]) > 0.5
    times = np.where(passed.any(axis=1), grid[passed.argmax(axis=1)], np.nan)
    return curve(
        {"steps": ("replicate", times), "steps_err": ("replicate", np.full(len(times), grid[1]))},
        {"replicate": run.replicate.values},
        source="simulation:sgd",
        target=LINKS[order],
        params={"d": d, "order": order, "step_size": step_size(order, d)},
        seed=0,
    )


def predicted_time(order: int, d: int) -> xr.Dataset:
    """Steps to overlap 1/2 along the flow of the limit, from the same start."""
    tau = np.linspace(0, _LONGEST[order] * unit(order, d) / d, 1500)[1:]
    flow = predict(
        LINKS[order],
        "sgd_flow",
        time=tau,
        width=1,
        activation=LINKS[order],
        step_size=step_size(order, d) * d,
        loss="correlation",
        geometry="spherical",
        init={"M": [[STARTS[order] / math.sqrt(d)]], "Q": [[1.0]]},
    )
    m = np.abs(flow.overlap.values[:, 0, 0])
    steps = d * float(np.interp(0.5, m, tau)) if m[-1] > 0.5 else math.nan
    return curve(
        {"steps": ((), steps), "steps_err": ((), d * (tau[1] - tau[0]))},
        {},
        source="theory:sgd_flow",
        target=LINKS[order],
        params={"d": d, "order": order, "step_size": step_size(order, d)},
    )


@FIGURES.add("sgd-exponents")
class SgdExponents(GalleryFigure):
    """How long one-pass SGD needs: d, d log d and d^2 steps for information exponents 1, 2, 3."""

    title = "Hitting times of one-pass SGD"
    sentence = (
        "One neuron on the sphere leaves its random start after about $d$, $d \\log d$ and $d^2$ "
        "steps when the first Hermite coefficient of the link is that of degree 1, 2 or 3: the "
        "medians of exact simulations follow the flow of the limit."
    )
    cites = ("benarous2021online", "arnaboldi2023escaping")
    budget = {"small": 100.0, "paper": 1500.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Median steps by dimension, simulated and predicted, one pair of curves for each order."""
        found = {}
        for order, runs in RUNS[size].items():
            times = [memo(simulated_times, order, d, count).steps for d, count in runs.items()]
            found[f"simulation {order}"] = _medians(order, list(runs), times)
            steps = [float(memo(predicted_time, order, d).steps) for d in runs]
            found[f"theory {order}"] = curve(
                {"steps": ("d", steps), "steps_err": ("d", 0.01 * np.array(steps))},
                {"d": list(runs)},
                source="theory:sgd_flow",
                target=LINKS[order],
            )
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Steps against d, and steps in the unit of each order."""
        plain, scaled = [], []
        for order, color in zip(LINKS, ordered_colors(len(LINKS)), strict=True):
            theory, simulation = data[f"theory {order}"], data[f"simulation {order}"]
            d, name = theory.d.values, f"exponent {order}"
            units = np.array([unit(order, int(size)) for size in d])
            y, yerr = simulation.steps.values, simulation.steps_err.values
            plain += [
                line(name, d, theory.steps.values, color=color),
                points("", d, y, yerr, color=color),
            ]
            words = {1: "$d$", 2: r"$d \log d$", 3: "$d^2$"}[order]
            scaled += [
                line(f"steps / {words}", d, theory.steps.values / units, color=color),
                points("", d, y / units, yerr / units, color=color),
            ]
        keys = (line("theory", [], [], color="gray"), points("simulation", [], [], color="gray"))
        x = Axis("dimension $d$", "log")
        return Panels(
            self.title,
            (
                Chart(
                    "steps",
                    x,
                    Axis("steps to overlap 1/2", "log"),
                    (*plain, *keys),
                    legend="below",
                ),
                Chart(
                    "in the unit of each exponent",
                    x,
                    Axis("steps to overlap 1/2, in units", range=(0, None)),
                    (*scaled, *keys),
                    legend="below",
                ),
            ),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """The exponents, and the agreement with the flow."""
        found = []
        for order in LINKS:
            theory, simulation = data[f"theory {order}"], data[f"simulation {order}"]
            d, steps = simulation.d.values, simulation.steps.values
            units = np.array([unit(order, int(size)) for size in d])
            slope = float(np.polyfit(np.log(d), np.log(steps / units), 1)[0])
            words = {1: "d", 2: "d log d", 3: "d^2"}[order]
            found.append(
                Claim(
                    f"information exponent {order} takes {words} steps",
                    bool(np.isfinite(slope) and abs(slope) < 0.15),
                    f"further exponent {slope:+.3f}",
                )
            )
            gap = steps / theory.steps.values - 1
            found.append(
                Claim(
                    f"the medians of order {order} follow the flow",
                    bool((np.abs(gap) < 4 * simulation.steps_err.values / steps + 0.1).all()),
                    f"largest relative gap {np.abs(gap).max():.3f}",
                )
            )
        return found


def _medians(order: int, sizes: list[int], times: list[xr.DataArray]) -> xr.Dataset:
    """Medians with their errors, which are 1.25 times those of means."""
    medians, errors = [], []
    for runs in times:
        steps = runs.values
        # A run that did not arrive took longer than all others.
        medians.append(np.median(np.nan_to_num(steps, nan=np.inf)))
        errors.append(1.25 * np.nanstd(steps, ddof=1) / math.sqrt(len(steps)))
    return curve(
        {"steps": ("d", np.array(medians)), "steps_err": ("d", np.array(errors))},
        {"d": sizes},
        source="simulation:sgd",
        target=LINKS[order],
        seed=0,
    )

"""Steps that a parity needs with repetition: d log d for two directions, d^2 for three."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...base.errors import NotConverged
from ...base.estimate import Estimate
from ...charts import Axis, Chart, Panels, line, ordered_colors, points
from ...dynamics import sgd
from ...targets.student import Student
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from .._verdict import median_of, slope_of

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# The step of three directions is smaller, so that its noise stays below the drift at the start.
SETTINGS: dict[int, dict[str, Any]] = {
    2: {
        "target": "sign(z1*z2)", "activation": "He2(z)/sqrt(2)", "start": [0.5**0.5] * 2,
        "power": 1.0, "scale": 0.1, "budget": 200.0, "level": 0.4, "rho": 0.05,
    },
    3: {
        "target": "sign(z1*z2*z3)", "activation": "He3(z)/sqrt(6)", "start": [3**-0.5] * 3,
        "power": 1.5, "scale": 0.07, "budget": 120.0, "level": 0.4, "rho": 0.02,
    },
}  # fmt: skip
"""Parity, student and rule, by the number r of directions; overlaps start at d^(-1/2)."""

RUNS: dict[Size, dict[int, tuple[list[int], int]]] = {
    "small": {2: ([64, 256, 1024, 4096], 24), 3: ([32, 64, 128, 256], 24)},
    "paper": {2: ([64, 256, 1024, 4096, 16384], 64), 3: ([32, 64, 128, 256, 512], 64)},
}


def escape_steps(
    d: int,
    replicates: int,
    *,
    target: str,
    activation: str,
    start: list[float],
    power: float,
    scale: float,
    budget: float,
    level: float,
    rho: float = 0.0,
) -> xr.Dataset:
    """Steps to a given recovery of one direction, for each run of the engine.

    Runs start at ``start / sqrt(d)`` and make steps of size ``scale * d**-power``, at most
    ``budget * d**(2 * power - 1)`` of them; `rho` is d times the inner step of the extra-gradient.
    """
    student: dict[str, Any] = {"width": 1, "activation": activation, "readout": [1.0]}
    first = np.array([start]) / np.sqrt(d)
    rule: dict[str, Any] = {"rule": "extragradient", "inner_step_size": rho / d} if rho else {}
    run = sgd(
        target,
        Student(**student, init={"M": first.tolist()}),
        d=d,
        steps=round(budget * d ** (2 * power - 1)),
        step_size=scale * d**-power,
        replicates=replicates,
        loss="correlation",
        geometry="spherical",
        record=500,
        progress=False,
        **rule,
    )
    reached = run.recovery.max("direction").transpose("replicate", "step").values >= level
    if reached.any(-1).mean() < 0.8:
        raise NotConverged(f"few runs at d = {d} have escaped; raise the budget of steps")
    times = np.maximum(run.step.values[reached.argmax(-1)], 1.0)
    times = np.where(reached.any(-1), times, np.inf)
    spacing = float(np.diff(run.step.values).max())
    return curve(
        {"steps": ("replicate", times), "steps_err": ("replicate", np.full(replicates, spacing))},
        {"replicate": run.replicate.values},
        source="simulation:sgd",
        target=target,
        params={"d": d, "step_size": scale * d**-power, "inner_step_size": rho / d},
        seed=0,
    )


def promised(r: int, d: np.ndarray) -> np.ndarray:
    """Steps that the literature promises, up to a constant: d^(r-1), with a logarithm for r = 2.

    Examples
    --------
    >>> promised(3, np.array([10.0]))
    array([100.])
    """
    steps: np.ndarray = d * np.log(d) if r == 2 else d ** (r - 1.0)
    return steps


@FIGURES.add("parity-exponents")
class ParityExponents(GalleryFigure):
    """Steps that a parity needs with repetition: d log d for two directions, d^2 for three."""

    title = "Parities with repetition"
    sentence = (
        "The parity of $r$ directions needs about $d^{r-1}$ samples also where every sample is "
        "used twice (extra-gradient): the label has two values, and no function of it helps. "
        "Medians of runs of the engine, and lines of the promised power through the largest size."
    )
    cites = ("arnaboldi2024repetita", "troiani2024limits")
    budget = {"small": 90.0, "paper": 1500.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Medians of the logarithms of the steps, by dimension."""
        found = {}
        for r, (sizes, replicates) in RUNS[size].items():
            runs = [memo(escape_steps, d, replicates, **SETTINGS[r]).steps.values for d in sizes]
            medians = [median_of(np.log(one)) for one in runs]
            values = np.exp([one.value for one in medians])
            errors = np.array([one.error for one in medians]) * values
            found[f"simulation {r}"] = curve(
                {"steps": ("d", values), "steps_err": ("d", errors)},
                {"d": sizes},
                source="simulation:sgd",
                target=SETTINGS[r]["target"],
                seed=0,
            )
            d = np.geomspace(sizes[0], sizes[-1], 60)
            line_ = promised(r, d)
            found[f"theory {r}"] = curve(
                {
                    "steps": ("d", line_ * values[-1] / line_[-1]),
                    "steps_err": ("d", line_ * errors[-1] / line_[-1]),
                },
                {"d": d},
                source="theory:escape",
                target=SETTINGS[r]["target"],
            )
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Steps against d."""
        series: list[Any] = []
        for r, color in zip(SETTINGS, ordered_colors(len(SETTINGS)), strict=True):
            theory, runs = data[f"theory {r}"], data[f"simulation {r}"]
            slope = fitted(runs)
            words = r"$d \log d$" if r == 2 else "$d^2$"
            name = f"$r = {r}$: {words}, fitted power {slope.value:.2f} ± {slope.error:.2f}"
            series += [
                line(name, theory.d.values, theory.steps.values, color=color),
                points("", runs.d.values, runs.steps.values, runs.steps_err.values, color=color),
            ]
        keys = (line("theory", [], [], color="gray"), points("simulation", [], [], color="gray"))
        return Chart(
            self.title,
            Axis("dimension $d$", "log"),
            Axis("samples to recovery 0.4", "log"),
            (*series, *keys),
            legend="below",
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """The fitted powers, beside those of the promise over the same sizes."""
        found = []
        for r in SETTINGS:
            theory, runs = data[f"theory {r}"], data[f"simulation {r}"]
            slope, d = fitted(runs), runs.d.values
            line_ = np.exp(np.interp(np.log(d), np.log(theory.d.values), np.log(theory.steps)))
            expected = float(np.polyfit(np.log(d), np.log(line_), 1)[0])
            found.append(
                Claim(
                    f"a parity of {r} needs the power {expected:.2f} of d between these sizes",
                    abs(slope.value - expected) < 2 * slope.error + 0.1,
                    f"{slope.value:.3f} ± {slope.error:.3f}",
                )
            )
        return found


def fitted(runs: xr.Dataset) -> Estimate:
    """Power of d through the medians, with its error."""
    pairs = zip(runs.steps.values, runs.steps_err.values, strict=True)
    logs = [Estimate(float(np.log(t)), float(e / t), "monte_carlo") for t, e in pairs]
    return slope_of(np.log(runs.d.values), logs)

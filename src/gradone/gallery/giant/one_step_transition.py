"""One giant step finds a direction of leading order l with n of the order of d^l samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, line, ordered_colors, points
from ...learners import LEARNERS
from ...targets.target import Target
from ...theory import first_step_overlap
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo


@dataclass(frozen=True)
class Leap:
    """A target of leading order l, and a student that sees it."""

    target: str
    activation: str
    step_size: float
    d: int
    samples: tuple[int, ...]


LEAPS = {
    1: Leap("z1 + He2(z2)/2", "relu(z)", 4.0, 1024, (32, 181, 1024, 5793, 32768)),
    2: Leap("He2(z1)/2 + z1*z2", "relu(z)", 4.0, 256, (256, 1024, 4096, 16384, 65536, 262144)),
    3: Leap("z1*He2(z2)", "z + He2(z)/2 + He3(z)/6", 2.0, 48, (333, 2304, 15963, 110592, 442368)),
}
_WIDTH = 64
_REPLICATES: dict[Size, int] = {"small": 4, "paper": 16}


def measured(leap: int, n: int, replicates: int) -> xr.Dataset:
    """Root mean squares of the neurons' part in the subspace, and of their norm, in each run."""
    case = LEAPS[leap]
    target = Target(case.target)
    inside, total = [], []
    for replicate in range(replicates):
        # Two more rows, for the readout, which is not looked at.
        sample = target.sample(n + 2, case.d, seed=0, replicate=replicate, dtype="float32")
        learner = LEARNERS["giant_step"](
            _WIDTH,
            activation=case.activation,
            step_size=case.step_size,
            leap=leap,
            batch_size=n,
            readout="signs",
            bias_scale=0.0,
            ridge=1.0,
            standardize=False,
            shuffle=False,
            random_state=replicate,
        ).fit(sample.X, sample.y)
        weights = learner.weights_.astype(float)
        inside.append(((weights @ sample.W_star.T) ** 2).sum(axis=1).mean())
        total.append((weights**2).sum(axis=1).mean())
    values = np.sqrt(np.array(inside) / np.array(total))
    return curve(
        {
            "subspace_overlap": ("replicate", values),
            "subspace_overlap_err": ("replicate", np.zeros(replicates)),
        },
        {"replicate": np.arange(replicates)},
        source="simulation:giant_step",
        target=case.target,
        params={"d": case.d, "n": n, "width": _WIDTH, "step_size": case.step_size},
        seed=0,
    )


def predicted(leap: int) -> xr.Dataset:
    """The same by the leading order in 1/d, between the numbers of samples of the runs."""
    case = LEAPS[leap]
    n = np.unique(np.geomspace(case.samples[0], case.samples[-1], 40).astype(int))
    return first_step_overlap(
        case.target,
        d=case.d,
        n=n,
        step_size=case.step_size,
        activation=case.activation,
        readout="signs",
    )


@FIGURES.add("one-step-transition")
class OneStepTransition(GalleryFigure):
    """One giant step finds a direction of leading order l with n of the order of d^l samples."""

    title = "What one giant step finds"
    sentence = (
        "The share of the neurons that lies in the subspace of the target rises from chance to "
        "almost one as the batch of a single giant step passes $d^{\\ell}$ samples, where $\\ell$ "
        "is the leading order of the target."
    )
    cites = ("dandi2023giant", "damian2022representations")
    budget = {"small": 100.0, "paper": 400.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlap against the exponent of n for each order, simulated and predicted."""
        found = {}
        for leap, case in LEAPS.items():
            runs = [memo(measured, leap, n, _REPLICATES[size]) for n in case.samples]
            values = np.stack([run.subspace_overlap.values for run in runs], axis=1)
            found[f"simulation {leap}"] = curve(
                {
                    "subspace_overlap": (("replicate", "n"), values),
                    "subspace_overlap_err": (("replicate", "n"), np.zeros_like(values)),
                },
                {"replicate": np.arange(len(values)), "n": list(case.samples)},
                source="simulation:giant_step",
                target=case.target,
                params={"d": case.d, "width": _WIDTH, "step_size": case.step_size},
                seed=0,
            )
            found[f"theory {leap}"] = memo(predicted, leap)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Overlap against log n / log d."""
        series = []
        for (leap, case), color in zip(LEAPS.items(), ordered_colors(len(LEAPS)), strict=True):
            theory, (mean, error) = data[f"theory {leap}"], _averages(data, leap)
            name, scale = f"$\\ell = {leap}$, $d = {case.d}$, theory", math.log(case.d)
            x = np.log(theory.n.values) / scale
            series.append(line(name, x, theory.subspace_overlap.values, color=color))
            series.append(points("", np.log(case.samples) / scale, mean, error, color=color))
        series.append(points("simulation", [], [], color="gray"))
        return Chart(
            self.title,
            Axis(r"$\log n / \log d$"),
            Axis("share of the neurons in the subspace", range=(0, 1)),
            tuple(series),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """The exponent of each order, and the agreement with the formula."""
        found = []
        for leap, case in LEAPS.items():
            theory, (mean, error) = data[f"theory {leap}"], _averages(data, leap)
            line_at = np.interp(
                np.log(case.samples), np.log(theory.n.values), theory.subspace_overlap.values
            )
            gap = np.abs(mean - line_at)
            # The formula keeps the leading order in 1/d.
            allowed = 5 * error + 2 / case.d
            found.append(
                Claim(
                    f"one step at order {leap} follows its formula",
                    bool((gap < allowed).all()),
                    f"largest gap {gap.max():.3f}, allowed {allowed[gap.argmax()]:.3f}",
                )
            )
            level = (mean[0] + mean[-1]) / 2
            half = float(np.interp(level, mean, np.log(case.samples))) / math.log(case.d)
            found.append(
                Claim(
                    f"the transition of order {leap} is at n of the order of d^{leap}",
                    abs(half - leap) < 0.5,
                    f"midway at log n / log d = {half:.2f}",
                )
            )
        return found


def _averages(data: Data, leap: int) -> tuple[np.ndarray, np.ndarray]:
    values = data[f"simulation {leap}"].subspace_overlap.values
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))

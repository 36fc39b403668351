"""What the second step adds: one sum of directions, or the whole span, as the couplings tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, legend_of, line, points
from ...learners import LEARNERS
from ...targets.target import Target
from ...theory.predict import predict
from .._checks import setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGETS = {
    "sum": "z1 + z1*(z2 + z3)/1.4142135623730951",
    "span": "z1 + He2(z1)*z2/1.4142135623730951 + z1*z3",
}
STEPS = 3
BATCH_RATIO = 32.0
_STEP_SIZE = 2.0
SIZES: dict[Size, tuple[int, int, int]] = {  # d, width, replicates
    "small": (512, 256, 4),
    "paper": (1024, 256, 16),
}
_NAMES = ("$z_1$", "$z_2, z_3$: first axis", "$z_2, z_3$: second axis")
_COLORS = ("blue", "vermillion", "green")


def principal(C: np.ndarray) -> np.ndarray:
    """Root mean squares along z1 and along the principal axes of the plane z2, z3.

    Parameters
    ----------
    C : array (3, 3)
        Mean of the outer products of the neurons' overlaps.
    """
    plane = np.maximum(np.linalg.eigvalsh(C[1:, 1:])[::-1], 0.0)
    return np.sqrt(np.array([C[0, 0], *plane]))


def measured(name: str, d: int, width: int, replicates: int) -> xr.Dataset:
    """Share of the neurons along the axes after each step, a fresh batch for each."""
    n = round(BATCH_RATIO * d)
    values = np.empty((replicates, STEPS, 3))
    for replicate in range(replicates):
        sample = Target(TARGETS[name]).sample(
            STEPS * n + 2, d, seed=0, replicate=replicate, dtype="float32"
        )
        learner = LEARNERS["giant_step"](
            width,
            steps=STEPS,
            step_size=_STEP_SIZE,
            batch_size=n,
            readout="signs",
            ridge=1.0,
            standardize=False,
            shuffle=False,
            keep_weights=True,
            random_state=replicate,
        ).fit(sample.X, sample.y)
        for step, weights in enumerate(learner.weights_history_):
            M = weights @ sample.W_star.T
            values[replicate, step] = principal(M.T @ M / (weights**2).sum())
    dims = ("replicate", "step", "direction")
    return curve(
        {"share": (dims, values), "share_err": (dims, np.zeros_like(values))},
        {
            "replicate": np.arange(replicates),
            "step": np.arange(1, STEPS + 1),
            "direction": [1, 2, 3],
        },
        source="simulation:giant_step",
        target=TARGETS[name],
        params={"d": d, "n": n, "width": width, "step_size": _STEP_SIZE},
        seed=0,
    )


def limit(name: str) -> xr.Dataset:
    """The same in the limit of large dimension."""
    given: dict[str, Any] = {"batch_ratio": BATCH_RATIO, "step_size": _STEP_SIZE, "steps": STEPS}
    found = predict(TARGETS[name], "giant_steps", readout="signs", bias_scale=1.0, **given)
    found = found.isel(batch_ratio=0)
    M, P = found.overlap.values, found.share.values
    norms = (P * found.norm.values**2).sum(axis=1)
    values = np.array(
        [principal(np.einsum("c,ci,cj->ij", P, m, m) / q) for m, q in zip(M, norms, strict=True)]
    )
    dims = ("step", "direction")
    return curve(
        {"share": (dims, values), "share_err": (dims, np.zeros_like(values))},
        {"step": found.step.values, "direction": [1, 2, 3]},
        source="theory:giant_steps",
        target=TARGETS[name],
        params={"batch_ratio": BATCH_RATIO, "step_size": _STEP_SIZE},
    )


@FIGURES.add("staircase-steps")
class StaircaseSteps(GalleryFigure):
    """What the second step adds: one sum of directions, or the whole span."""

    title = "Directions of the second step"
    sentence = (
        "Both targets show $z_1$ to the first giant step. Coupled by $z_1(z_2 + z_3)$ the second "
        "step adds the one direction $z_2 + z_3$ and nothing ever adds the other (a); coupled by "
        "two different functions of $z_1$, it adds the whole plane (b)."
    )
    cites = ("dandi2023giant", "abbe2022merged")
    budget = {"small": 100.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Shares along the axes after every step for both targets, with their limits."""
        found = {}
        for name in TARGETS:
            found[f"{name} simulation"] = memo(measured, name, *SIZES[size])
            found[f"{name} limit"] = memo(limit, name)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """One panel for each target."""
        titles = {
            "sum": "$z_1 + z_1 (z_2 + z_3)/\\sqrt{2}$",
            "span": "$z_1 + \\mathrm{He}_2(z_1) z_2/\\sqrt{2} + z_1 z_3$",
        }
        charts = []
        for name, title in titles.items():
            theory = data[f"{name} limit"]
            mean, error = average(data[f"{name} simulation"], "share")
            series = []
            for k, (word, color) in enumerate(zip(_NAMES, _COLORS, strict=True)):
                steps = data[f"{name} simulation"].step.values
                series += [
                    line(word, theory.step.values, theory.share.values[:, k], color=color),
                    points("", steps, mean.values[:, k], error.values[:, k], color=color),
                ]
            x = Axis("giant steps", ticks=tuple((t, str(t)) for t in range(STEPS + 1)))
            y = Axis("share of the neurons", range=(0, 1))
            key = legend_of({}, {}, (True, False))
            charts.append(Chart(title, x, y, (*series, *key), legend="below"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """One new direction against two, and the agreement with the limit."""
        found = []
        for name in TARGETS:
            runs, theory = data[f"{name} simulation"], data[f"{name} limit"]
            mean, error = average(runs, "share")
            d = setting(runs, "d")
            # Noise adds the square of 1/sqrt(d) to that of an axis.
            expected = np.sqrt(theory.share.values[1:] ** 2 + (theory.share.values[1:] == 0) / d)
            gap = np.abs(mean.values - expected)
            allowed = 5 * error.values + 2 / math.sqrt(d)
            found.append(
                Claim(
                    f"the steps on the target with the {name} follow the limit",
                    bool((gap < allowed).all()),
                    f"largest gap {gap.max():.3f}, allowed {allowed.flat[gap.argmax()]:.3f}",
                )
            )
        second = {name: average(data[f"{name} simulation"], "share")[0].values for name in TARGETS}
        chance = 1 / math.sqrt(setting(data["sum simulation"], "d"))
        found.append(
            Claim(
                "the sum shows one new direction, the span two",
                bool(second["sum"][-1, 2] < chance and second["span"][-1, 2] > 1.5 * chance),
                f"second axis {second['sum'][-1, 2]:.3f} against {second['span'][-1, 2]:.3f}, "
                f"chance {chance:.3f}",
            )
        )
        found.append(
            Claim(
                "the first step shows z1 alone",
                bool(all(values[0, 1] < 2 * chance for values in second.values())),
                ", ".join(f"{values[0, 1]:.3f}" for values in second.values()),
            )
        )
        return found

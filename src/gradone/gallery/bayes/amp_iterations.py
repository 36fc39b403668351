"""Figure: iterations of message passing to half of its overlap, against the dimension."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.analyze import analyze
from ...base.curves import curve
from ...base.seeds import stream
from ...charts import Axis, Chart, line, points
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from .._verdict import median_of, slope_of

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# P(y = 1 | z) is a step at each edge, up or down, from a level: closed forms for the iteration.
LABELS = {
    "sign(z)": (0.0, ((0.0, 1.0),)),
    "step(abs(z) - 1)": (1.0, ((-1.0, -1.0), (1.0, 1.0))),
}
FORMULAS = {"sign(z)": r"\operatorname{sign}(z)", "step(abs(z) - 1)": "1[|z|>1]"}
CASES = {"trivial": ("sign(z)", 2.0, "green"), "easy": ("step(abs(z) - 1)", 4.0, "blue")}
SIZES: dict[Size, tuple[tuple[int, int], ...]] = {  # dimensions, and runs in each
    "small": ((50, 300), (100, 300), (200, 300), (400, 200), (800, 150)),
    "paper": ((50, 1000), (200, 1000), (800, 500), (3200, 200)),
}
_MOST = 30  # iterations


def half_overlap(target: str, alpha: float, d: int, replicates: int) -> xr.Dataset:
    r"""Iterations of Bayes-AMP [AMP-1] from a random start to half of its last overlap.

    The iteration is written out here, without damping: a learner brakes while its start looks
    random. Between two iterations the logarithm of the overlap is interpolated, since it grows
    by a constant factor; a run that learns nothing takes for ever.
    """
    counts, n = np.full(replicates, math.inf), round(alpha * d)
    for replicate in range(replicates):
        rng = stream(0, "init", d=d, replicate=replicate)
        X = rng.standard_normal((n, d)) / math.sqrt(d)
        truth = rng.standard_normal(d)
        truth *= math.sqrt(d) / np.linalg.norm(truth)
        z = X @ truth
        y = z > 0 if target == "sign(z)" else np.abs(z) > 1
        overlap = np.abs(_overlaps(X, y, truth, LABELS[target], rng))
        if overlap[-1] < 0.5:
            continue
        at = int(np.argmax(overlap >= overlap[-1] / 2))
        low, high = np.log(overlap[at - 1 : at + 1]) if at else (0.0, 0.0)
        counts[replicate] = at - 1 + (math.log(overlap[-1] / 2) - low) / (high - low) if at else 0.0
    return curve(
        {
            "iterations": ("replicate", counts),
            "iterations_err": ("replicate", np.zeros(replicates)),
        },
        {"replicate": np.arange(replicates)},
        source="simulation:bayes_amp",
        target=target,
        params={"d": d, "alpha": alpha},
        seed=0,
    )


def _overlaps(
    X: np.ndarray, y: np.ndarray, truth: np.ndarray,
    label: tuple[float, tuple[tuple[float, float], ...]], rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Overlap of the iterate with the truth, before the first iteration and after each."""
    from scipy.special import ndtr

    level, edges = label
    d = X.shape[1]
    w = rng.standard_normal((d,)) / math.sqrt(d)
    S = np.zeros(len(X))
    V, found = 1 - float(w @ w) / d, [float(w @ truth) / d]
    for _ in range(_MOST):
        omega = X @ w - S
        one, first, second = np.full(len(X), level), np.zeros(len(X)), np.zeros(len(X))
        for edge, sign in edges:
            u = (omega - edge) / math.sqrt(V)
            bell = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
            one += sign * ndtr(u)
            first += sign * bell / math.sqrt(V)
            second -= sign * u * bell / V
        evidence = np.maximum(np.where(y, one, 1 - one), 1e-12)
        side = np.where(y, 1.0, -1.0)
        g = side * first / evidence
        A = max(float(np.sum(g**2 - side * second / evidence)) / d, 0.0)
        w, S, V = (X.T @ g + w * A) / (1 + A), g / (1 + A), max(1 / (1 + A), 1e-6)
        found.append(float(w @ truth) / d)
    return np.array(found)


def growth(target: str, alpha: float, sizes: list[int]) -> xr.Dataset:
    """Iterations beyond those in the smallest dimension, by the linear stage of state evolution.

    The overlap starts at the order of 1/d and grows by alpha/alpha_c in each iteration.
    """
    known: Any = analyze(target)
    threshold = float(known.weak_threshold.value)
    rate = 1 / math.log(alpha / threshold) if threshold > 0 else 0.0
    values = rate * np.log(np.array(sizes) / sizes[0])
    return curve(
        {"iterations": ("d", values), "iterations_err": ("d", np.zeros(len(sizes)))},
        {"d": sizes},
        source="theory:linear_stage",
        target=target,
        params={"alpha": alpha},
    )


@FIGURES.add("amp-iterations")
class AmpIterations(GalleryFigure):
    """Iterations of message passing to half overlap, for a trivial and for an easy direction."""

    title = "Iterations of message passing"
    sentence = (
        "From a random start message passing learns a trivial direction in one iteration at any "
        r"dimension. An easy one needs of the order of $\log d$: its overlap of the order of $1/d$ "
        r"grows by $\alpha/\alpha_c$ in each iteration. Points are medians over runs; lines have "
        r"the slope $1/\ln(\alpha/\alpha_c)$ of theory and the level of the points."
    )
    cites = ("troiani2024limits",)
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Runs in every dimension, and the growth that theory predicts."""
        found = {}
        for name, (target, alpha, _) in CASES.items():
            sizes = [d for d, _ in SIZES[size]]
            found[f"{name} theory"] = memo(growth, target, alpha, sizes)
            for d, replicates in SIZES[size]:
                found[f"{name} {d}"] = memo(half_overlap, target, alpha, d, replicates)
        return found

    def draw(self, data: Data) -> Chart:
        """Both targets over the dimension."""
        series = []
        for name, (target, alpha, color) in CASES.items():
            theory = data[f"{name} theory"]
            x, rise = theory.d.values, theory.iterations.values
            medians = [median_of(data[f"{name} {d}"].iterations.values) for d in x]
            y = np.array([one.value for one in medians])
            label = f"{name}: ${FORMULAS[target]}$, $\\alpha={alpha:g}$"
            errors = [one.error / 2.576 for one in medians]  # standard errors
            series += [
                line(f"theory, {name}", x, rise + np.mean(y - rise), color=color),
                points(f"simulation, {label}", x, y, errors, color=color),
            ]
        return Chart(
            self.title,
            Axis("dimension $d$", "log"),
            Axis("iterations to half overlap", range=(0, None)),
            tuple(series),
            caption=self.sentence,
            legend="below",
        )

    def claims(self, data: Data) -> list[Claim]:
        """The growth with log d is that of theory."""
        found = []
        for name in CASES:
            theory = data[f"{name} theory"]
            x = np.log(theory.d.values)
            medians = [median_of(data[f"{name} {d}"].iterations.values) for d in theory.d.values]
            slope = slope_of(x, medians)
            expected = float(theory.iterations[-1]) / (x[-1] - x[0])
            allowed = 2 * slope.error + 0.1
            found.append(
                Claim(
                    f"{name}: iterations grow by {expected:.2f} for each unit of log d",
                    abs(slope.value - expected) <= allowed,
                    f"{slope.value:.2f}, allowed {allowed:.2f} around it",
                )
            )
        return found

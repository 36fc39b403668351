"""Figure: how hard targets are for one-pass SGD and for the best efficient algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.analyze import analyze
from ...base.curves import curve
from ...charts import CYCLE, PALETTE, Axis, Chart, Panels, line, points, vline
from ...targets.target import Target
from ...theory.predict import predict
from .._checks import mean_and_error, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# Target, its label, and where the label stands beside the point: to the right and up.
TARGETS = {
    "tanh(z)": (r"$\tanh z$", 0.24, 0.17),
    "z1 + z1*z2 + z1*z2*z3": (r"$z_1+z_1z_2+z_1z_2z_3$", 0.62, -0.2),
    "He3(z)": (r"$\mathrm{He}_3(z)$", 0.30, 0.2),
    "z1 + He3(z2)": (r"$z_1+\mathrm{He}_3(z_2)$", 0.45, -0.2),
    "z**2": (r"$z^2$", -0.02, 0.22),
    "z1*z2": (r"$z_1z_2$", 0.10, -0.22),
    "step(abs(z) - 1)": (r"$\mathbb{1}_{|z|>1}$", 0.10, 0.24),
    "sign(z1*z2)": (r"$\operatorname{sign}(z_1z_2)$", -0.25, 0.22),
    "z1**2 + sign(z1*z2*z3)": (r"$z_1^2+\operatorname{sign}(z_1z_2z_3)$", -0.35, -0.24),
    "z1*z2*z3": (r"$z_1z_2z_3$", 0.12, 0.22),
    "He4(z1) + sign(z1*z2*z3)": (
        r"$\mathrm{He}_4(z_1)+\operatorname{sign}(z_1z_2z_3)$",
        -0.5,
        -0.24,
    ),
    "He4(z)": (r"$\mathrm{He}_4(z)$", 0.28, 0.2),
    "sign(z1*z2*z3)": (r"$\operatorname{sign}(z_1z_2z_3)$", -0.1, 0.2),
    "z**2*exp(-z**2)": (r"$z^2e^{-z^2}$", 0.0, 0.22),
}
CLASSES = {"trivial": "green", "easy": "blue", "hard": "vermillion"}
HARD = 3.4  # where targets without a threshold stand on the axis
EASY = ("z**2", "He4(z)", "step(abs(z) - 1)", "z1*z2", "sign(z1*z2)")
# At the threshold itself the iteration would take for ever.
GRID = (0.4, 0.7, 0.95, *np.linspace(1.03, 1.7, 12), *np.linspace(1.8, 3.1, 12))
RATIOS = (0.5, 0.75, 1.25, 1.5, 2.0, 2.5, 3.0)
SIZES = {"small": (600, 8), "paper": (4000, 24)}


def exponents(targets: list[str]) -> xr.Dataset:
    """Leap exponent, generative exponent and last threshold of some targets."""
    found: list[Any] = [analyze(Target(text)) for text in targets]
    values = {
        "leap": [a.leap_exponent for a in found],
        "generative": [a.generative_exponent for a in found],
        "weak_threshold": [a.weak_threshold.value for a in found],
        "full_threshold": [a.full_threshold.value for a in found],
    }
    arrays = {name: ("source", np.array(column, dtype=float)) for name, column in values.items()}
    errors = {f"{name}_err": ("source", np.zeros(len(found))) for name in values}
    for name in ("weak_threshold", "full_threshold"):
        errors[f"{name}_err"] = ("source", np.array([getattr(a, name).error for a in found]))
    return curve(
        arrays | errors,
        {"source": targets},
        source="theory:exponents",
        target="; ".join(targets),
    )


@FIGURES.add("learnability-map")
class LearnabilityMap(GalleryFigure):
    """Targets by leap exponent and threshold, and the spectral method through their thresholds."""

    title = "What is hard, and for whom"
    sentence = (
        "The exponent that slows down one-pass SGD says little about the samples that are needed: "
        r"$\mathrm{He}_3$ is trivial, $\mathrm{He}_4$ almost as easy as $z^2$, a parity of three "
        "is hard unless another term reveals one of its directions; an easy target is learned once "
        r"$\alpha$ exceeds its threshold."
    )
    cites = ("troiani2024limits", "damian2024gaps", "abbe2023leap", "defilippis2025spectral")
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Analyses of all targets; state evolution and spectral method of the easy ones."""
        d, replicates = SIZES[size]
        found = {"analysis": memo(exponents, list(TARGETS))}
        for text in EASY:
            threshold = float(found["analysis"].weak_threshold.sel(source=text))
            grid = [round(ratio * threshold, 4) for ratio in GRID]
            found[f"theory {text}"] = memo(predict, text, "bayes_amp", alpha=grid)
            found[f"spectral {text}"] = memo.simulate(
                text,
                "spectral_directions",
                d=d,
                alpha=[round(ratio * threshold, 4) for ratio in RATIOS],
                replicates=replicates,
                channel=Target(text),
            )
        return found

    def draw(self, data: Data) -> Panels:
        """Map on the left, thresholds on the right."""
        return Panels(self.title, (_map(data["analysis"]), _thresholds(data)), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Known exponents and thresholds; the spectral method starts to work at the threshold."""
        table = data["analysis"].to_dataframe()
        full, leap = table.full_threshold, table.leap
        known = {"z**2": 0.5, "sign(z1*z2)": np.pi**2 / 4, "He3(z)": 0.0, "sign(z1*z2*z3)": np.inf}
        right = [np.isclose(full[text], value, atol=2e-3) for text, value in known.items()]
        below, above, order = [], [], []
        for text in EASY:
            threshold = table.weak_threshold[text]
            ratio, cosine, _ = _cosines(data[f"spectral {text}"], threshold)
            below.append(cosine[ratio <= 0.8].max())
            above.append(cosine[ratio >= 2.0].min())
            theory = data[f"theory {text}"]
            overlap = _overlap(theory)
            order.append(float(theory.alpha[int(np.argmax(overlap > 1e-3))]) / threshold)
        return [
            Claim(
                "z^2 opens at 1/2, sign(z1 z2) at pi^2/4, He3 at once, the parity of three never",
                bool(all(right)),
                ", ".join(f"{text}: {full[text]:.4g}" for text in known),
            ),
            Claim(
                "the order of the leap exponents is not that of the thresholds",
                bool(leap["He3(z)"] > leap["z**2"] and full["He3(z)"] < full["z**2"]),
                f"He3: leap {leap['He3(z)']:.0f}, threshold {full['He3(z)']:g}; "
                f"z^2: leap {leap['z**2']:.0f}, threshold {full['z**2']:g}",
            ),
            Claim(
                "a term that reveals z1 makes the parity of three learnable",
                bool(np.isfinite(full["z1**2 + sign(z1*z2*z3)"])),
                f"threshold {full['z1**2 + sign(z1*z2*z3)']:.4g}",
            ),
            Claim(
                "state evolution leaves zero at the threshold of each easy target",
                bool(all(1.0 <= place <= 1.15 for place in order)),
                "first overlaps at " + ", ".join(f"{place:.2f}" for place in order),
            ),
            Claim(
                "the spectral method finds nothing at 0.8 times the threshold, something at twice",
                bool(max(below) < 0.05 and min(above) > 0.1),
                f"squared cosines up to {max(below):.3f} below, from {min(above):.2f} above",
            ),
        ]


def _map(table: xr.Dataset) -> Chart:
    series = []
    hard = ~np.isfinite(table.full_threshold.values)
    kinds = np.where(hard, "hard", np.where(table.full_threshold.values == 0, "trivial", "easy"))
    x = np.where(hard, HARD, table.full_threshold.values)
    names = {"trivial": "trivial: any $n/d$", "easy": "easy: above a threshold", "hard": "hard"}
    for kind, color in CLASSES.items():
        chosen = kinds == kind
        dots = points(names[kind], x[chosen], table.leap.values[chosen], color=color, size=5)
        series.append(dots)
    for i, text in enumerate(table.source.values):
        label, right, up = TARGETS[str(text)]
        place = ([x[i] + right], [table.leap.values[i] + up])
        series.append(points("", *place, text=[label], marker="none"))
    ticks = (*((k / 2, f"{k / 2:g}") for k in range(6)), (HARD, r"$\infty$"))
    return Chart(
        "targets by exponent and threshold",
        Axis(
            r"last threshold of the best efficient algorithm, $n/d$", range=(-0.3, 3.9), ticks=ticks
        ),
        Axis(
            "leap exponent of one-pass SGD",
            range=(0.5, 4.6),
            ticks=tuple((k, str(k)) for k in range(1, 5)),
        ),
        tuple(series),
        legend="below",
    )


def _thresholds(data: Data) -> Chart:
    series = [vline("", 1.0)]
    dots = []
    for text, color in zip(EASY, CYCLE, strict=False):
        threshold = float(data["analysis"].weak_threshold.sel(source=text))
        theory = data[f"theory {text}"]
        ratio, cosine, error = _cosines(data[f"spectral {text}"], threshold)
        label = TARGETS[text][0]
        series.append(line(label, theory.alpha / threshold, _overlap(theory), color=color))
        dots.append(points("", ratio, cosine, error, color=color, size=3.5))
    d = setting(data[f"spectral {EASY[0]}"], "d")
    lines = line("theory: Bayes-AMP", [], [], color=PALETTE["gray"])
    note = points(f"simulation: spectral, $d={d}$", [], [], color=PALETTE["gray"], size=3.5)
    return Chart(
        "learned above its threshold",
        Axis(r"$\alpha/\alpha_c$", range=(0.4, 3.1)),
        Axis("squared cosine", range=(-0.03, 1.05)),
        (*series, *dots, lines, note),
        legend="below",
    )


def _overlap(theory: xr.Dataset) -> np.ndarray:
    matrices = theory.overlap.values
    return np.diagonal(matrices, axis1=1, axis2=2).mean(-1)


def _cosines(runs: xr.Dataset, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sample sizes in units of the threshold, mean squared cosines and their standard errors."""
    mean, error = mean_and_error(runs.cosine2.mean("direction2").values, axis=1)
    return runs.alpha.values / threshold, mean, error

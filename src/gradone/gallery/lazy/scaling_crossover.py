"""Figure: errors of kernels on power-law data cross over from the noiseless to the noisy decay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ...base.curves import curve
from ...base.seeds import stream
from ...charts import CYCLE, Axis, Chart, line, points
from ...theory.lazy.power_law import power_law
from ...theory.lazy.random_feature_ridge import random_feature_ridge
from ...theory.lazy.scaling_law import scaling_law
from .._checks import agrees, mean_and_error
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

CAPACITY, SOURCE, NOISE = 2.0, 0.75, 1e-7
TERMS = 6000  # basis functions of the simulations; the theory has all of them


class Setting(NamedTuple):
    """A ridge n^(1-l), or the best one at each n, and where slopes are measured around the knee."""

    label: str
    ridge_exponent: float | None
    before: tuple[float, float]
    after: tuple[float, float]

    def predicted(self) -> tuple[float, float]:
        """Powers of n in the noiseless and in the noisy decay."""
        chosen = self.ridge_exponent
        decay: float | Literal["best"] = "best" if chosen is None else chosen
        quiet, noisy = (
            scaling_law(capacity=CAPACITY, source=SOURCE, ridge_exponent=decay, noise=noise)
            for noise in (0.0, NOISE)
        )
        return quiet.rate, noisy.rate


SETTINGS = {
    "best": Setting("best ridge", None, (30, 80), (1e6, 1e7)),
    "small": Setting("ridge $n^{-2}$", 3.0, (30, 80), (1e5, 1e6)),
    "middle": Setting("ridge $n^{-1/4}$", 1.25, (1e3, 1e4), (1e7, 3e7)),
}
SIZES = {
    "small": ((50, 100, 200, 400, 800, 1600), 12),
    "paper": ((50, 100, 200, 400, 800, 1600, 3200), 50),
}


def ridge_at(name: str, n: float) -> float:
    """Penalty of a setting at n samples."""
    decay = SETTINGS[name].ridge_exponent
    if decay is not None:
        return n ** (1 - decay)
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log_ridge: np.log(_error(n, math.exp(log_ridge))),
        bounds=(-2 * math.log(n), math.log(n)),
        method="bounded",
    )
    return math.exp(found.x)


def _error(n: float, ridge: float) -> float:
    levels = power_law(capacity=CAPACITY, source=SOURCE)
    found = random_feature_ridge(**levels, n=n, width=math.inf, ridge=ridge, noise=NOISE)
    return found.excess_mse.item()


def theory(name: str, samples: list[float]) -> xr.Dataset:
    """Excess errors of kernel ridge regression by deterministic equivalents."""
    found = [_error(n, ridge_at(name, n)) for n in samples]
    values = {"excess_mse": ("n", found), "excess_mse_err": ("n", np.zeros(len(found)))}
    return _curve(values, {"n": samples}, f"theory:random_feature_ridge {name}")


def simulation(n: int, replicates: int) -> xr.Dataset:
    r"""Excess errors of kernel fits in which all basis functions are independent Gaussians.

    The error follows from the coefficients of the fit and needs no test samples.
    """
    levels = power_law(capacity=CAPACITY, source=SOURCE, terms=TERMS)
    eta, b = levels["eigenvalues"], levels["coefficients"]
    whole = power_law(capacity=CAPACITY, source=SOURCE)
    # Functions beyond the last one, many more than samples, are a ridge of the size of their trace.
    rest = float(whole["multiplicities"] @ whole["eigenvalues"] - eta.sum())
    ridges = [rest + ridge_at(name, n) for name in SETTINGS]
    found = np.empty((1, replicates, len(ridges)))
    for replicate in range(replicates):
        rng = stream(0, "data", n=n, replicate=replicate)
        psi = rng.standard_normal((n, TERMS))
        y = psi @ b + math.sqrt(NOISE) * rng.standard_normal(n)
        kernel = (psi * eta) @ psi.T
        for i, ridge in enumerate(ridges):
            weights = np.linalg.solve(kernel + ridge * np.eye(n), y)
            found[0, replicate, i] = np.sum((b - eta * (psi.T @ weights)) ** 2)
    dims = ("n", "replicate", "target")
    values = {"excess_mse": (dims, found), "excess_mse_err": (dims, np.zeros_like(found))}
    coords = {"n": [n], "replicate": np.arange(replicates), "target": list(SETTINGS)}
    return _curve(values, coords, "simulation:kernel_ridge", seed=0)


def _curve(values: dict, coords: dict, source: str, seed: int | None = None) -> xr.Dataset:  # type: ignore[type-arg]
    params = {"capacity": CAPACITY, "source": SOURCE, "noise": NOISE, "terms": TERMS}
    return curve(values, coords, source=source, target="power law", params=params, seed=seed)


@FIGURES.add("scaling-crossover")
class ScalingCrossover(GalleryFigure):
    """Excess error against the number of samples, with little noise and three choices of ridge."""

    title = "From the noiseless to the noisy decay"
    sentence = (
        "With little noise the error of a kernel first falls as if there were none, and from a "
        "number of samples on that depends on the ridge as noise lets it: not at all with a ridge "
        "that is too small, and like $n^{-2ar/(1+2ar)}$ with the best one. Eigenvalues $k^{-a}$, "
        "$a=2$, source $r=3/4$, noise $10^{-7}$; dashed lines have the predicted slopes."
    )
    cites = ("cui2021crossover", "defilippis2024rfrr")
    budget = {"small": 60.0, "paper": 1800.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Deterministic equivalents and Gaussian simulations along three choices of ridge."""
        import xarray as xr

        samples, replicates = SIZES[size]
        ends = {n for one in SETTINGS.values() for n in (*one.before, *one.after)}
        fine = sorted({*samples, *ends, *np.geomspace(30, 3e7, 60).tolist()})
        found = {}
        for name in SETTINGS:
            found[f"theory {name}"] = memo(theory, name, fine)
        found["runs"] = xr.concat([memo(simulation, n, replicates) for n in samples], dim="n")
        return found

    def draw(self, data: Data) -> Chart:
        """Learning curves with the predicted slopes on both sides of the knee."""
        lines, dots, guides = [], [], []
        for (name, one), color in zip(SETTINGS.items(), CYCLE, strict=False):
            curve = data[f"theory {name}"]
            quiet, noisy = (f"n^{{-{rate:.3g}}}" if rate else "n^0" for rate in one.predicted())
            label = f"{one.label}: ${quiet}$, then ${noisy}$"
            # The best ridge lies under another one at first: a wide line, and hollow points.
            wide = {"width": 3.0} if name == "best" else {}
            look = {"marker": "square", "hollow": True, "size": 6.0} if wide else {"size": 3.0}
            lines.append(line(label, curve.n, curve.excess_mse, color=color, **wide))
            dots.append(points("", *_points(data["runs"], name), color=color, **look))
            beside = 3.0 if name == "middle" else 0.35
            for ends, rate in zip((one.before, one.after), one.predicted(), strict=True):
                n = np.geomspace(*ends, 2)
                guide = beside * float(curve.excess_mse.sel(n=ends[0])) * (n / n[0]) ** -rate
                guides.append(line("", n, guide, color=color, dash="dash", width=0.9))
        notes = (
            line("theory", [], [], color="gray"),
            points("simulation", [], [], color="gray", size=3.5),
            line("predicted slope", [], [], color="gray", dash="dash", width=0.9),
        )
        return Chart(
            self.title,
            Axis("samples $n$", "log", (25, 4e7)),
            Axis("excess error", "log"),
            (*lines, *guides, *dots, *notes),
            caption=self.sentence,
            legend="below",
        )

    def claims(self, data: Data) -> list[Claim]:
        """Agreement with the simulations, and the slopes on both sides of the knee."""
        found = []
        for name, one in SETTINGS.items():
            curve = data[f"theory {name}"]
            found.append(
                agrees(
                    f"simulations follow the theory: {one.label}",
                    _points(data["runs"], name),
                    (curve.n, curve.excess_mse),
                    slack=0.0,
                    relative=0.05,
                )
            )
            sides = zip(("before", "after"), (one.before, one.after), one.predicted(), strict=True)
            for side, ends, rate in sides:
                logs = np.interp(np.log(ends), np.log(curve.n), np.log(curve.excess_mse))
                slope = -np.diff(logs)[0] / np.diff(np.log(ends))[0]
                found.append(
                    Claim(
                        f"{one.label}: the slope {side} the knee is the predicted one",
                        abs(slope - rate) < 0.1,
                        f"{slope:.3f}, predicted {rate:.3f}",
                    )
                )
        return found


def _points(runs: xr.Dataset, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return runs.n.values, *mean_and_error(runs.excess_mse.sel(target=name).values, axis=1)

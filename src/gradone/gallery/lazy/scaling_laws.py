"""Figure: rates of random features on power-law data, and their phase diagram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...base.curves import curve
from ...base.seeds import stream
from ...charts import CYCLE, Axis, Chart, Panels, heat, line, points
from ...theory.lazy.power_law import power_law
from ...theory.lazy.random_feature_ridge import random_feature_ridge
from ...theory.lazy.scaling_law import phase_diagram, scaling_law
from .._checks import agrees, mean_and_error
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

CAPACITY, SOURCE, NOISE = 1.5, 0.4, 0.1
TERMS = 6000  # basis functions of the simulations; the theory has all of them
BEST = scaling_law(capacity=CAPACITY, source=SOURCE, noise=NOISE)


class Setting(NamedTuple):
    """How the ridge and the width follow the number of samples: n^(1-l) and factor n^q."""

    label: str
    ridge_exponent: float
    width_exponent: float
    factor: float = 1.0

    def at(self, n: float) -> tuple[int, float]:
        """Width and ridge at n samples."""
        return round(self.factor * n**self.width_exponent), n ** (1 - self.ridge_exponent)


SETTINGS = {
    "best": Setting("best ridge, wide", BEST.optimal_ridge_exponent, 1.0),
    "narrow": Setting(r"best ridge, $p=4n^{1/4}$", BEST.optimal_ridge_exponent, 0.25, 4.0),
    "ridge": Setting("too much ridge", 0.3, 1.0),
    "noise": Setting("too little ridge", 1.2, 1.0),
}
# Region of the diagram to the exponents of ridge and width in its middle, and the height at which
# its name is written there; slopes are measured between these sizes.
REGIONS = {
    "ridge, bias": (0.32, 0.75),
    "ridge, noise": (1.05, 1.05),
    "width, noise": (1.6, 0.7),
    "width, bias": (1.3, 0.22),
    "samples": (1.75, 1.1),
}
FAR = (1e8, 1e9)
SIZES = {
    "small": ((50, 100, 200, 400, 800), 10),
    "paper": ((50, 100, 200, 400, 800, 1600, 3200), 50),
}


def theory(name: str, samples: list[int]) -> xr.Dataset:
    """Excess errors of the deterministic equivalents along one setting."""
    levels = power_law(capacity=CAPACITY, source=SOURCE)
    found = []
    for n in samples:
        width, ridge = SETTINGS[name].at(n)
        one = random_feature_ridge(**levels, n=n, width=width, ridge=ridge, noise=NOISE)
        found.append(float(one.excess_mse.squeeze()))
    values = {"excess_mse": ("n", found), "excess_mse_err": ("n", np.zeros(len(found)))}
    return _curve(values, {"n": samples}, f"theory:random_feature_ridge {name}")


def region_slopes() -> xr.Dataset:
    """Slopes of the deterministic equivalents in the middle of each region of the diagram."""
    levels = power_law(capacity=CAPACITY, source=SOURCE)
    found = []
    for decay, width in REGIONS.values():
        errors = [
            random_feature_ridge(
                **levels, n=n, width=n**width, ridge=n ** (1 - decay), noise=NOISE
            ).excess_mse.item()
            for n in FAR
        ]
        found.append(-np.diff(np.log(errors))[0] / np.diff(np.log(FAR))[0])
    values = {"rate": ("target", found), "rate_err": ("target", np.zeros(len(found)))}
    return _curve(values, {"target": list(REGIONS)}, "measured:slopes")


def simulation(name: str, n: int, replicates: int) -> xr.Dataset:
    r"""Excess errors of fits in which all basis functions are independent Gaussians.

    Features are :math:`\sum_k \sqrt{\eta_k}\,\psi_k(x)\varphi_k(w_j)/\sqrt p`; the error follows
    from the coefficients of the fit and needs no test samples.
    """
    levels = power_law(capacity=CAPACITY, source=SOURCE, terms=TERMS)
    root, b = np.sqrt(levels["eigenvalues"]), levels["coefficients"]
    (width, ridge), found = SETTINGS[name].at(n), []
    for replicate in range(replicates):
        rng = stream(0, "data", setting=name, n=n, replicate=replicate)
        psi = rng.standard_normal((n, TERMS))
        phi = rng.standard_normal((width, TERMS)) * root / math.sqrt(width)
        y = psi @ b + math.sqrt(NOISE) * rng.standard_normal(n)
        features = psi @ phi.T
        if width < n:
            gram = features.T @ features + ridge * np.eye(width)
            a = np.linalg.solve(gram, features.T @ y)
        else:
            gram = features @ features.T + ridge * np.eye(n)
            a = features.T @ np.linalg.solve(gram, y)
        found.append(float(np.sum((b - phi.T @ a) ** 2)))
    dims = ("n", "replicate")
    values = {"excess_mse": (dims, [found]), "excess_mse_err": (dims, np.zeros((1, replicates)))}
    coords = {"n": [n], "replicate": np.arange(replicates)}
    return _curve(values, coords, f"simulation:random_features {name}", seed=0)


def _curve(values: dict, coords: dict, source: str, seed: int | None = None) -> xr.Dataset:  # type: ignore[type-arg]
    params = {"capacity": CAPACITY, "source": SOURCE, "noise": NOISE, "terms": TERMS}
    return curve(values, coords, source=source, target="power law", params=params, seed=seed)


@FIGURES.add("scaling-laws")
class ScalingLaws(GalleryFigure):
    """Excess error against the number of samples, and its rate for all ridges and widths."""

    title = r"Scaling laws of random features: $\eta_k=k^{-3/2}$, $r=0.4$, noise"
    sentence = (
        "The exponent of the error depends on how ridge and width grow with the number of samples: "
        r"the best rate needs the right ridge and no more than $n^{q^\star}$ neurons (star; "
        "dashed: predicted slopes). Regions are named by what limits the error, with the slope "
        "that was measured there."
    )
    cites = ("defilippis2024rfrr", "rudi2016rf")
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Deterministic equivalents and Gaussian simulations along four settings; the diagram."""
        import xarray as xr

        samples, replicates = SIZES[size]
        fine = sorted({*samples, *np.geomspace(40, 1e6, 34).round().astype(int).tolist()})
        found = {}
        for name in SETTINGS:
            found[f"theory {name}"] = memo(theory, name, fine)
            runs = [memo(simulation, name, n, replicates) for n in samples]
            found[f"runs {name}"] = xr.concat(runs, dim="n")
        found["slopes"] = memo(region_slopes)
        found["diagram"] = phase_diagram(
            capacity=CAPACITY,
            source=SOURCE,
            noise=NOISE,
            ridge_exponent=np.linspace(0.02, 2.0, 100),
            width_exponent=np.linspace(0.02, 1.2, 60),
        )
        return found

    def draw(self, data: Data) -> Panels:
        """Learning curves on the left, phase diagram on the right."""
        lines, dots, slopes = [], [], []
        for (name, setting), color in zip(SETTINGS.items(), CYCLE, strict=False):
            curve = data[f"theory {name}"]
            rate = _rate(setting)
            label = f"{setting.label}: $n^{{-{rate:.2g}}}$" if rate else f"{setting.label}: flat"
            lines.append(line(label, curve.n, curve.excess_mse, color=color))
            dots.append(points("", *_points(data[f"runs {name}"]), color=color, size=3.5))
            n, last = curve.n.values[-12:], float(curve.excess_mse[-1])
            guide = 0.8 * last * (n / n[-1]) ** -rate
            slopes.append(line("", n, guide, color=color, dash="dash", width=0.9))
        notes = (
            line("theory", [], [], color="gray"),
            points("simulation", [], [], color="gray", size=3.5),
            line("predicted slope", [], [], color="gray", dash="dash", width=0.9),
        )
        left = Chart(
            "learning curves",
            Axis("samples $n$", "log", (40, 1.2e6)),
            Axis("excess error", "log"),
            (*lines, *slopes, *dots, *notes),
            legend="below",
        )
        right = _diagram(data["diagram"], data["slopes"])
        return Panels(self.title, (left, right), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Slopes, their order, the place of the optimum, and the agreement with simulations."""
        found = []
        slopes = {}
        for name, setting in SETTINGS.items():
            curve = data[f"theory {name}"]
            tail = curve.sel(n=curve.n >= 1e5)
            slopes[name] = -float(np.polyfit(np.log(tail.n), np.log(tail.excess_mse), 1)[0])
            found.append(
                agrees(
                    f"simulations follow the theory: {name}",
                    _points(data[f"runs {name}"]),
                    (curve.n, curve.excess_mse),
                    slack=0.0,
                    relative=0.08 if name == "narrow" else 0.05,
                )
            )
            # Bias and variance cross over slowly.
            found.append(
                Claim(
                    f"the slope is the predicted rate: {name}",
                    abs(slopes[name] - _rate(setting)) < 0.04,
                    f"{slopes[name]:.3f}, predicted {_rate(setting):.3f}",
                )
            )
        for region, (decay, width) in REGIONS.items():
            slope = float(data["slopes"].rate.sel(target=region))
            rate = _rate(Setting(region, decay, width))
            found.append(
                Claim(
                    f"the slope in the region '{region}' is that of its formula",
                    abs(slope - rate) < 0.03,
                    f"{slope:.3f}, predicted {rate:.3f}",
                )
            )
        rate = data["diagram"].rate
        best = float(rate.max())
        found.append(
            Claim(
                "no choice of ridge and width beats the optimal rate, which the diagram attains",
                abs(best - BEST.optimal_rate) < 0.01 and slopes["best"] == max(slopes.values()),
                f"largest rate {best:.3f}, optimal {BEST.optimal_rate:.3f}",
            )
        )
        return found


def _rate(setting: Setting) -> float:
    return scaling_law(
        capacity=CAPACITY,
        source=SOURCE,
        noise=NOISE,
        ridge_exponent=setting.ridge_exponent,
        width_exponent=setting.width_exponent,
    ).rate


def _points(runs: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return runs.n.values, *mean_and_error(runs.excess_mse.values, axis=1)


def _diagram(found: xr.Dataset, slopes: xr.Dataset) -> Chart:
    """Rates as colors, the regions with their measured slopes, the settings of the other panel."""
    decays, widths = found.ridge_exponent, found.width_exponent
    corner, balance = CAPACITY, BEST.minimal_width_exponent
    edges = (
        ([0, corner], [0, 1.0]), ([corner, corner], [1.0, 1.2]), ([corner, 2.0], [1.0, 1.0]),
        ([BEST.optimal_ridge_exponent] * 2, [balance, 1.2]),
        ([BEST.optimal_ridge_exponent, 2.0], [balance] * 2),
    )  # fmt: skip
    border = [line("", x, y, color="black", dash="dash", width=0.9) for x, y in edges]
    words = [
        points(
            "", [x], [y], marker="none", color="#FFFFFF",
            text=[f"{region}: {float(slopes.rate.sel(target=region)):.2f}"],
        )
        for region, (x, y) in REGIONS.items()
    ]  # fmt: skip
    marks = [
        points("", [one.ridge_exponent], [one.width_exponent], color=color, size=5.5)
        for one, color in zip(SETTINGS.values(), CYCLE, strict=False)
    ]
    star = points(
        "",
        [BEST.optimal_ridge_exponent],
        [BEST.minimal_width_exponent],
        color="black",
        marker="star",
        size=8,
    )
    return Chart(
        "rate of the excess error",
        Axis(r"ridge exponent $\ell$, $\lambda=n^{1-\ell}$", range=(0.01, 2.0)),
        Axis("width exponent $q$, $p=n^q$", range=(0.01, 1.2)),
        (
            heat(r"rate $\gamma$", decays, widths, found.rate.values.T),
            *border,
            *words,
            *marks,
            star,
        ),
        legend="none",
    )

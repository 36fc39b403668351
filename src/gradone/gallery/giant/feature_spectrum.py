"""Spectrum of the features before and after one giant step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, bar, line
from ...targets.target import Target
from ...theory.predict import predict
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from ._one_step import one_step

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = "sin(z)"
READOUT_RATIO, BATCH_RATIO, STEP_SIZE = 2.0, 8.0, 3.0
SIZES: dict[Size, int] = {"small": 1000, "paper": 3000}  # d, and the width
_BINS = np.linspace(0.0, 2.5, 51)


def measured(d: int) -> xr.Dataset:
    """Eigenvalues of the covariance of tanh features on new samples, before and after the step."""
    target = Target(TARGET)
    rng = np.random.default_rng(1)
    start = rng.standard_normal((d, d))
    start /= np.linalg.norm(start, axis=1)[:, None]
    learner, _ = one_step(
        target,
        d=d,
        batch_ratio=BATCH_RATIO,
        width_ratio=1.0,
        step_size=STEP_SIZE,
        activation="tanh(z)",
        readout="ones",
        init=start,
    )
    fresh = target.sample(round(READOUT_RATIO * d), d, seed=1, dtype="float32").X
    values = []
    for weights in (start.astype(np.float32), learner.weights_):
        features = np.tanh(fresh @ weights.T)
        values.append(np.linalg.eigvalsh((features.T @ features).astype(float) / len(fresh)))
    dims = ("step", "neuron")
    return curve(
        {"level": (dims, np.array(values)), "level_err": (dims, np.zeros((2, d)))},
        {"step": [0, 1], "neuron": np.arange(d)},
        source="simulation:giant_step",
        target=TARGET,
        params={
            "d": d,
            "readout_ratio": READOUT_RATIO,
            "batch_ratio": BATCH_RATIO,
            "step_size": STEP_SIZE,
        },
        seed=0,
    )


@FIGURES.add("feature-spectrum")
class FeatureSpectrumFigure(GalleryFigure):
    """Spectrum of the features before and after one giant step."""

    title = "Spectrum of the features, before and after one giant step"
    sentence = (
        "One giant step changes the bulk of the covariance of the features, and makes one outlier "
        "of the order of the width, far to the right of what is drawn."
    )
    cites = ("dandi2024spectrum", "cui2024asymptotics")
    budget = {"small": 60.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Eigenvalues, and the density that the theory predicts."""
        d = SIZES[size]
        theory = predict(
            TARGET,
            "feature_spectrum",
            readout_ratio=READOUT_RATIO,
            batch_ratio=BATCH_RATIO,
            step_size=STEP_SIZE,
            width=float(d),
            eigenvalue=np.linspace(0.0, 1.7, 400)[1:] ** 2,
            activation="tanh(z)",
        )
        return {"simulation": memo(measured, d), "theory": theory}

    def draw(self, data: Data) -> Chart | Panels:
        """One panel before and one after the step."""
        theory, runs = data["theory"].isel(readout_ratio=0), data["simulation"]
        middle = (_BINS[1:] + _BINS[:-1]) / 2
        charts = []
        for step, title in enumerate(("before", "after one giant step")):
            values = runs.level.values[step]
            share = np.histogram(values, _BINS)[0] / len(values) / (_BINS[1] - _BINS[0])
            shown = theory.eigenvalue.values < _BINS[-1]
            density = theory.density.values[step][shown]
            largest = float(theory.largest_eigenvalue.values[step])
            outside = "" if step == 0 else f", outlier at {values[-1]:.0f} (theory {largest:.0f})"
            charts.append(
                Chart(
                    title + outside,
                    Axis("eigenvalue", range=(0, 2.5)),
                    Axis("density", range=(0, 3)),
                    (
                        bar("simulation", middle, share, color="sky", width=1.0),
                        line("theory", theory.eigenvalue.values[shown], density, color="black"),
                    ),
                )
            )
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Distance of the spectra from the theory, and the outlier."""
        theory, runs = data["theory"].isel(readout_ratio=0), data["simulation"]
        shares = theory.share_below.values
        found = []
        gaps = {}
        for step in (0, 1):
            for expected in (0, 1):
                gaps[step, expected] = largest_gap(
                    runs.level.values[step], theory.eigenvalue.values, shares[expected]
                )
        for step, words in enumerate(("before", "after")):
            found.append(
                Claim(
                    f"the spectrum {words} the step is that of the theory",
                    gaps[step, step] < 0.02,
                    f"largest distance of the cumulative shares {gaps[step, step]:.4f}",
                )
            )
        found.append(
            Claim(
                "the step changes the bulk",
                gaps[1, 0] > 0.05,
                f"distance from the theory before the step {gaps[1, 0]:.3f}",
            )
        )
        values, edge = runs.level.values[1], float(theory.edge.values[1])
        largest = float(theory.largest_eigenvalue.values[1])
        found.append(
            Claim(
                "one eigenvalue leaves the bulk, where the theory says",
                bool((values > 1.1 * edge).sum() == 1 and abs(values[-1] / largest - 1) < 0.1),
                f"{values[-1]:.1f}, theory {largest:.1f}",
            )
        )
        return found


def largest_gap(eigenvalues: np.ndarray, positions: np.ndarray, share_below: np.ndarray) -> float:
    """Kolmogorov-Smirnov distance of eigenvalues and a cumulative share."""
    shares = np.interp(eigenvalues, positions, share_below)
    steps = np.arange(len(eigenvalues) + 1) / len(eigenvalues)
    return float(max(np.abs(steps[1:] - shares).max(), np.abs(steps[:-1] - shares).max()))

"""Spectrum of the features after one giant step, with equal and Gaussian readout weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, line, points
from ...theory.predict import predict
from .._checks import agrees, mean_and_error
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from .feature_spectrum import largest_gap

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET, ACTIVATION = "sin(z)", "z + sin(2*z)"
READOUT_RATIO, BATCH_RATIO, STEP_SIZE = 2.0, 8.0, 2.0
TAIL = 0.05  # share of the eigenvalues in the tail, as in the theory
RUNS: dict[Size, tuple[int, int]] = {"small": (600, 8), "paper": (2000, 8)}  # d and repetitions
NAMES = {"ones": "equal readout weights", "gaussian": "Gaussian readout weights"}


def measured(readout: str, d: int, replicates: int, step_size: float = STEP_SIZE) -> xr.Dataset:
    """Eigenvalues of the features' covariance after a real step: plain products of matrices."""
    levels = []
    for seed in range(replicates):
        rng = np.random.default_rng([seed, d])
        W = rng.standard_normal((d, d))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        a = np.ones(d) if readout == "ones" else rng.standard_normal(d)
        X = rng.standard_normal((round(BATCH_RATIO * d), d))
        slopes = 1 + 2 * np.cos(2 * X @ W.T)
        labels = np.sin(X[:, 0])
        moved = W + step_size * a[:, None] * ((slopes * labels[:, None]).T @ X) / len(X)
        fresh = rng.standard_normal((round(READOUT_RATIO * d), d)) @ moved.T
        features = fresh + np.sin(2 * fresh)
        levels.append(np.linalg.eigvalsh(features.T @ features / len(features)))
    dims = ("replicate", "neuron")
    return curve(
        {"level": (dims, np.array(levels)), "level_err": (dims, np.zeros((replicates, d)))},
        {"replicate": np.arange(replicates), "neuron": np.arange(d)},
        source="simulation:giant_step",
        target=TARGET,
        params={"d": d, "readout": readout, "batch_ratio": BATCH_RATIO, "step_size": step_size},
        seed=0,
    )


def predicted(readout: str, d: int) -> xr.Dataset:
    """The same by theory."""
    found = predict(
        TARGET, "feature_spectrum", readout_ratio=READOUT_RATIO, batch_ratio=BATCH_RATIO,
        step_size=STEP_SIZE, activation=ACTIVATION, readout=readout, width=float(d),
        eigenvalue=np.linspace(0.0, 4.0, 321)[1:] ** 2,
    )  # fmt: skip
    return found.isel(readout_ratio=0, step=1)


def tail_index(eigenvalues: np.ndarray) -> float:
    """Hill's index of the largest share ``TAIL`` of eigenvalues, which are in increasing order.

    Examples
    --------
    Of a density that falls like the power -4 it is 3:

    >>> round(tail_index((1 - np.arange(100_000) / 100_000) ** (-1 / 3)), 1)
    3.0
    """
    start = np.quantile(eigenvalues, 1 - TAIL)
    return float(1 / np.mean(np.log(eigenvalues[eigenvalues > start] / start)))


def bulk_of(eigenvalues: np.ndarray, theory: xr.Dataset) -> np.ndarray:
    """The eigenvalues without as many of the largest as the theory has outliers."""
    return eigenvalues[: len(eigenvalues) - int(theory.outliers)]


@FIGURES.add("spectrum-tail")
class SpectrumTail(GalleryFigure):
    """Spectrum of the features after one giant step, with equal and Gaussian readout weights."""

    title = "Tail of the spectrum after one giant step"
    sentence = (
        "With a Gaussian second layer the rows of the first one are stretched by different amounts "
        "in the step, and the bulk of the covariance of the features ends in a long tail instead "
        "of an edge; the outlier lies far to the right of what is drawn."
    )
    cites = ("dandi2024spectrum", "cui2024asymptotics")
    budget = {"small": 90.0, "paper": 900.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Eigenvalues of real steps, and the shares that the theory predicts."""
        d, replicates = RUNS[size]
        found = {}
        for readout in NAMES:
            found[f"simulation {readout}"] = memo(measured, readout, d, replicates)
            found[f"theory {readout}"] = memo(predicted, readout, d)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Density, and the share above each place on a logarithmic scale."""
        density: list[Any] = []
        above: list[Any] = []
        edges = np.linspace(0.0, 13.0, 40)
        middle = (edges[1:] + edges[:-1]) / 2
        for readout, color in zip(NAMES, ("sky", "vermillion"), strict=True):
            theory, runs = data[f"theory {readout}"], data[f"simulation {readout}"].level.values
            x, name = theory.eigenvalue.values, NAMES[readout]
            shown = (x < edges[-1]) & (theory.density.values > 1e-5)
            counts = np.array([np.histogram(one, edges)[0] for one in runs])
            share, error = mean_and_error(counts / runs.shape[1] / (edges[1] - edges[0]), 0)
            seen = share > 0
            density += [
                line(name, x[shown], theory.density.values[shown], color=color),
                points("", middle[seen], share[seen], error[seen], color=color),
            ]
            outliers = int(theory.outliers) / runs.shape[1]
            beyond = 1 - theory.share_below.values
            shown = (x < edges[-1]) & (x > 5) & (beyond > 1e-3)
            places = np.linspace(5.0, 12.0, 15)
            table = np.array([[np.mean(one > place) for place in places] for one in runs])
            share, error = mean_and_error(table - outliers, 0)
            seen = share > 5e-4
            above += [
                line(name, x[shown], beyond[shown], color=color),
                points("", places[seen], share[seen], error[seen], color=color),
            ]
        keys = (line("theory", [], [], color="gray"), points("simulation", [], [], color="gray"))
        return Panels(
            self.title,
            (
                Chart(
                    "bulk",
                    Axis("eigenvalue", range=(0, 13)),
                    Axis("density", "log", range=(1e-4, 1)),
                    (*density, *keys),
                    legend="below",
                ),
                Chart(
                    "tail",
                    Axis("eigenvalue", range=(5, 13)),
                    Axis("share of the bulk above", "log", range=(3e-4, 0.2)),
                    (*above, *keys),
                    legend="below",
                ),
            ),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """Distances from the theory, tail indices, and what lies beyond the edge."""
        found, indices = [], {}
        for readout, name in NAMES.items():
            theory, runs = data[f"theory {readout}"], data[f"simulation {readout}"].level.values
            bulks = [bulk_of(one, theory) for one in runs]
            places, shares = theory.eigenvalue.values, theory.share_below.values
            gap = float(np.mean([largest_gap(one, places, shares) for one in bulks]))
            found.append(
                Claim(
                    f"the bulk of {name} is that of the theory",
                    gap < 0.01,
                    f"mean distance of the cumulative shares {gap:.4f}",
                )
            )
            indices[readout] = np.array([tail_index(one) for one in bulks])
            mean, error = mean_and_error(indices[readout], 0)
            expected = theory.tail_index.item()
            found.append(
                agrees(
                    f"so is its tail index, {expected:.2f}",
                    ([0.0], [mean], [error]),
                    ([0.0], [expected]),
                    slack=0.0,
                    relative=0.03,
                )
            )
            tops, error = mean_and_error(runs[:, -1], 0)
            found.append(
                agrees(
                    f"and its outlier, {theory.largest_eigenvalue.item():.0f}",
                    ([0.0], [tops], [error]),
                    ([0.0], [theory.largest_eigenvalue.item()]),
                    slack=0.0,
                    relative=0.03,
                )
            )
        ratio, error = mean_and_error(indices["ones"] / indices["gaussian"], 0)
        found.append(
            Claim(
                "Gaussian readout weights have the longer tail",
                bool(ratio - 5 * error > 1),
                f"tail index smaller by a factor of {ratio:.3f}",
            )
        )
        return found

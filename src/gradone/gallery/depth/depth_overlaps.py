"""How a three-layer network learns: first the directions, then the feature made of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, line, points
from ...experiments.depth_metrics import measure_features, row_overlap
from ...learners import LEARNERS
from ...targets.hierarchical import Sight
from ...theory.predict import predict
from .._checks import setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
KAPPAS = (1.2, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1)
TRAINING_SHARE = 0.8  # the learner holds the other samples out, its first layer does not see them
SIZES: dict[Size, tuple[int, int]] = {"small": (64, 4), "paper": (128, 12)}  # d, replicates


def measured(kappa: float, d: int, replicates: int) -> xr.Dataset:
    """Squared overlaps of the first layer with the directions, of the second with the feature."""
    n = int(d**kappa)
    rows, features = [], []
    for replicate in range(replicates):
        sample = TARGET.sample(n, d, seed=0, replicate=replicate)
        learner = LEARNERS["layerwise"]("spectral", correction=False, random_state=replicate)
        learner.fit(sample.X, sample.y)
        rows.append(row_overlap(learner.weights_ / learner.scale_, sample.W_star).value[0])
        neurons = partial(learner.hidden, layer=2)
        second = measure_features(TARGET, neurons, d=d, seed=0, replicate=replicate)
        features.append(second.value[0])
    values: dict[str, tuple[str, np.ndarray]] = {}
    for name, found in (("row_overlap2", rows), ("feature_overlap2", features)):
        values[name] = ("replicate", np.square(found))
        values[f"{name}_err"] = ("replicate", np.zeros(replicates))
    return curve(
        values,
        {"replicate": np.arange(replicates)},
        source="simulation:layerwise",
        target=TARGET.text,
        params={"d": d, "n": n},
        seed=0,
    )


@FIGURES.add("depth-overlaps")
class DepthOverlaps(GalleryFigure):
    """How a three-layer network learns: first the directions, then the feature made of them."""

    title = "Directions first, then the feature"
    sentence = (
        "With more samples the first layer turns into the space of the $\\sqrt{d}$ hidden "
        "directions, as the theory of its spectrum predicts at finite $d$; the second layer then "
        "learns the feature $h$ that they make."
    )
    cites = ("dandi2025depth", "nichani2023three")
    budget = {"small": 100.0, "paper": 900.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlaps against log n / log d."""
        import xarray as xr

        d, replicates = SIZES[size]
        runs = [memo(measured, kappa, d, replicates) for kappa in KAPPAS]
        joined = xr.concat(runs, dim="kappa", combine_attrs="override")
        seen = np.log(TRAINING_SHARE * np.array([int(d**kappa) for kappa in KAPPAS])) / np.log(d)
        grid = np.linspace(seen[0], seen[-1], 25)
        theory = memo(predict, TARGET, "depth", kappa=grid.tolist(), d=d, whitened=True)
        return {
            "simulation": joined.assign_coords(kappa=seen),
            "theory": theory[["overlap2", "overlap2_err"]],
        }

    def draw(self, data: Data) -> Chart | Panels:
        """Both overlaps on one axis."""
        theory, runs = data["theory"], data["simulation"]
        series = [
            line("$M_W^2$, theory", theory.kappa.values, theory.overlap2.values, color="blue")
        ]
        for name, words, color, marker in (
            ("row_overlap2", "$M_W^2$, simulation: first layer", "blue", "circle"),
            ("feature_overlap2", "$M_h^2$, simulation: second layer", "vermillion", "square"),
        ):
            mean, error = average(runs, name)
            x = runs.kappa.values
            series.append(points(words, x, mean.values, error.values, color=color, marker=marker))
        d = setting(runs, "d")
        return Chart(
            f"{self.title}, $d = {d}$",
            Axis(r"$\log n / \log d$"),
            Axis("squared overlap", range=(0, 1.05)),
            tuple(series),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """Agreement of the first layer with its theory, and the order of the two."""
        theory, runs = data["theory"], data["simulation"]
        rows, error = average(runs, "row_overlap2")
        features, _ = average(runs, "feature_overlap2")
        kappa = runs.kappa.values
        expected = np.interp(kappa, theory.kappa.values, theory.overlap2.values)
        gap = np.abs(rows.values - expected)
        allowed = 0.04 + 3 * error.values
        halves = [float(np.interp(0.5, found.values, kappa)) for found in (rows, features)]
        return [
            Claim(
                "the first layer finds the directions as predicted",
                bool((gap < allowed).all()),
                f"largest gap {gap.max():.3f}, allowed {allowed[gap.argmax()]:.3f}",
            ),
            Claim(
                "the directions are found with fewer samples than the feature",
                halves[0] < halves[1] - 0.05,
                f"half at log n / log d = {halves[0]:.2f} and {halves[1]:.2f}",
            ),
            Claim(
                "both are found in the end",
                bool(rows[-1] > 0.85 and features[-1] > 0.6),
                f"{float(rows[-1]):.2f} and {float(features[-1]):.2f}",
            ),
        ]

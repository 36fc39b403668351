"""Figure: double descent of random features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts import Axis, Chart, Panels, line, ordered_colors, points, vline
from ...targets.target import Target
from ...theory.predict import predict
from .._checks import agrees, mean_and_error, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Target("tanh(z)", noise=0.2)
ACTIVATION = "relu(z)"
ALPHA = 2.0  # samples per dimension of the left panel
WIDTH = 2.0  # neurons per dimension of the right panel
RIDGES = (1e-4, 1e-2, 0.3)
WIDTHS = (0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 3.2, 4.8, 8.0)
SAMPLES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.2, 4.8, 8.0)
SIZES = {"small": (200, 16), "paper": (1000, 50)}
COLORS = ordered_colors(4)[:3]


@FIGURES.add("double-descent")
class DoubleDescent(GalleryFigure):
    """Test error of random features against the width, and against the number of samples."""

    title = r"Double descent of random features on $\tanh(z)$ + noise"
    sentence = (
        "With little ridge the test error peaks where there are as many neurons as samples and "
        "falls again beyond; a larger ridge removes the peak (lines: theory; points: simulation)."
    )
    cites = ("mei2019rf", "gerace2020rf", "hu2020universality")
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Theory on fine grids; fits that give all ridges at once."""
        d, replicates = SIZES[size]
        fine = np.geomspace(0.3, 10, 81).round(4)
        grid = sorted({*fine.tolist(), *WIDTHS, *SAMPLES})
        options: dict[str, Any] = {"activation": ACTIVATION, "ridge": list(RIDGES)}
        sizes: dict[str, Any] = {"d": d, "replicates": replicates, "test_samples": 2000}
        return {
            "theory width": memo(
                predict, TARGET, "random_features", alpha=ALPHA, width_ratio=grid, **options
            ),
            "theory samples": memo(
                predict, TARGET, "random_features", alpha=grid, width_ratio=WIDTH, **options
            ),
            "runs width": memo.simulate(
                TARGET,
                "random_features",
                alpha=[ALPHA],
                width_ratio=list(WIDTHS),
                **options,
                **sizes,
            ),
            "runs samples": memo.simulate(
                TARGET,
                "random_features",
                alpha=list(SAMPLES),
                width_ratio=WIDTH,
                **options,
                **sizes,
            ),
        }

    def draw(self, data: Data) -> Panels:
        """Width on the left, samples on the right."""
        charts = []
        for axis, other, title, label in (
            ("width", "alpha", f"$n={ALPHA:g}d$ samples", "neurons per dimension $p/d$"),
            ("samples", "width_ratio", f"$p={WIDTH:g}d$ neurons", "samples per dimension $n/d$"),
        ):
            theory, runs = data[f"theory {axis}"], data[f"runs {axis}"]
            series = [vline("$n=p$", ALPHA if axis == "width" else WIDTH)]
            dots = []
            for ridge, color in zip(RIDGES, COLORS, strict=True):
                x, y = _line(theory, other, ridge)
                series.append(line(rf"$\lambda={ridge:g}$, theory", x, y, color=color))
                dots.append(points("", *_points(runs, ridge), color=color, size=3.5))
            d = setting(runs, "d")
            note = points(f"simulation, $d={d}$", [], [], color="gray", size=3.5)
            charts.append(
                Chart(
                    title,
                    Axis(label, "log", (0.3, 10)),
                    Axis(r"test error $\mathbb{E}(y-\hat f)^2$", "log", (0.2, 8)),
                    (*series, *dots, note),
                    legend="upper left",
                )
            )
        return Panels(self.title, tuple(charts), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """The peak, its place, its disappearance, and the agreement with the theory."""
        found = []
        for axis, other, peak in (("width", "alpha", ALPHA), ("samples", "width_ratio", WIDTH)):
            theory, runs = data[f"theory {axis}"], data[f"runs {axis}"]
            x, little = _line(theory, other, RIDGES[0])
            x_runs, mean, _ = _points(runs, RIDGES[0])
            top, top_runs = float(x[np.argmax(little)]), float(x_runs[np.argmax(mean)])
            found.append(
                Claim(
                    f"with little ridge the error over the {axis} peaks at n = p",
                    abs(top / peak - 1) < 0.1 and top_runs == peak,
                    f"theory {top:.2f}, simulation {top_runs:.2f}, n = p at {peak:g}",
                )
            )
            # At the peak of an almost vanishing ridge single runs decide the mean.
            for ridge in RIDGES:
                places, error, spread = _points(runs, ridge)
                away = np.abs(places / peak - 1) > (0.3 if ridge == RIDGES[0] else 0.0)
                found.append(
                    agrees(
                        f"errors over the {axis} follow the theory at ridge {ridge:g}",
                        (places[away], error[away], spread[away]),
                        _line(theory, other, ridge),
                        slack=1 / setting(runs, "d"),
                        relative=0.03,
                    )
                )
        x, much = _line(data["theory width"], "alpha", RIDGES[-1])
        falls = bool((np.diff(much) < 1e-6).all())
        found.append(
            Claim("with a large ridge more neurons never hurt", falls, f"last {much[-1]:.3f}")
        )
        return found


def _line(theory: xr.Dataset, fixed: str, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Places and test errors of the theory at one ridge."""
    curve = theory.test_mse.isel({fixed: 0}).sel(ridge=ridge)
    return curve[curve.dims[0]].values, curve.values


def _points(runs: xr.Dataset, ridge: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, mean test errors and their standard errors at one ridge."""
    curve = runs.test_mse.sel(ridge=ridge).squeeze(drop=True)
    axis = next(str(dim) for dim in curve.dims if dim != "replicate")
    curve = curve.transpose(axis, "replicate")
    return curve[axis].values, *mean_and_error(curve.values, axis=1)

"""Figure: the two-parity is learned above a threshold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts import PALETTE, Axis, Chart, Panels, line, points, vline
from ...theory.predict import predict
from .._checks import agrees, diagonal, mean_and_error, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = "sign(z1*z2)"
THRESHOLD = math.pi**2 / 4
# Dimension and replicates; simulated n/d.
SIZES = {"small": (400, 8), "paper": (2000, 24)}
ALPHA = (1.0, 1.75, 2.25, 3.0, 3.5, 4.0, 4.5, 5.25, 6.0)
BLUE = PALETTE["blue"]


@FIGURES.add("parity-amp")
class ParityAmp(GalleryFigure):
    """Overlap and error of Bayes-AMP on the two-parity against n/d."""

    title = r"Learning the parity $\operatorname{sign}(z_1 z_2)$"
    sentence = (
        r"Below $\alpha_c=\pi^2/4$ the best known algorithm learns nothing of the two directions; "
        "above it both appear together, and message passing in finite dimension (points) follows "
        "state evolution (lines)."
    )
    cites = ("troiani2024limits", "aubin2018committee")
    budget = {"small": 100.0, "paper": 7200.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """State evolution on a fine grid, Bayes-AMP at nine sample sizes."""
        d, replicates = SIZES[size]
        grid = np.concatenate([np.linspace(0.5, 2.4, 9), np.linspace(2.45, 6.5, 46)])
        theory = memo(predict, TARGET, "bayes_amp", alpha=grid.round(4).tolist())
        settings: dict[str, Any] = {
            "start": "spectral",
            "max_iter": 250,
            "restarts": 0,
            "test_samples": 4096,
        }
        runs = memo.simulate(
            TARGET, "bayes_amp", d=d, alpha=ALPHA, replicates=replicates, **settings
        )
        return {"theory": theory, "amp": runs}

    def draw(self, data: Data) -> Panels:
        """Overlap on the left, share of wrong labels on the right."""
        theory, runs = data["theory"], data["amp"]
        d = setting(runs, "d")
        across = Axis(r"samples per dimension $\alpha=n/d$", range=(0.4, 6.6))
        threshold = vline(r"$\alpha_c=\pi^2/4$", THRESHOLD)
        alpha, overlap, error = _overlaps(runs)
        left = Chart(
            "overlap with the two directions",
            across,
            Axis(r"overlap $(q_{11}+q_{22})/2$", range=(-0.03, 1.0)),
            (
                threshold,
                line("theory", theory.alpha, diagonal(theory).mean(-1), color=BLUE),
                points(f"simulation, $d={d}$", alpha, overlap, error, color=BLUE),
            ),
        )
        wrong, spread = mean_and_error(runs.zero_one_error.values, axis=1)
        right = Chart(
            "test error",
            across,
            Axis(r"share of wrong labels $\mathbb{P}(\hat y\neq y)$", range=(0.1, 0.55)),
            (
                threshold,
                line("theory", theory.alpha, theory.zero_one_error, color=BLUE),
                points(f"simulation, $d={d}$", alpha, wrong, spread, color=BLUE),
            ),
            legend="upper right",
        )
        return Panels(self.title, (left, right), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """The threshold, and that message passing follows state evolution."""
        theory, runs = data["theory"], data["amp"]
        d = setting(runs, "d")
        predicted = diagonal(theory).mean(-1)
        alpha, overlap, error = _overlaps(runs)
        first = float(theory.alpha[int(np.argmax(predicted > 1e-4))])
        below = alpha < THRESHOLD
        # Near the threshold the transition of a finite system is round.
        away = np.abs(alpha / THRESHOLD - 1) > 0.3
        measured = (alpha[away], overlap[away], error[away])
        wrong, spread = mean_and_error(runs.zero_one_error.values, axis=1)
        return [
            Claim(
                "state evolution leaves zero at pi^2/4",
                bool(THRESHOLD <= first < THRESHOLD + 0.2),
                f"first overlap at alpha = {first:.3f}, threshold {THRESHOLD:.3f}",
            ),
            Claim(
                "Bayes-AMP learns nothing below the threshold",
                bool((overlap[below] < 3 / np.sqrt(d)).all()),
                f"largest overlap {overlap[below].max():.3f}",
            ),
            agrees(
                "overlaps of Bayes-AMP follow state evolution away from the threshold",
                measured,
                (theory.alpha, predicted),
                slack=1 / np.sqrt(d),
            ),
            agrees(
                "errors of Bayes-AMP follow state evolution away from the threshold",
                (alpha[away], wrong[away], spread[away]),
                (theory.alpha, theory.zero_one_error),
                slack=1 / np.sqrt(d),
            ),
        ]


def _overlaps(runs: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, mean aligned overlaps and their standard errors."""
    mean, error = mean_and_error(diagonal(runs, "overlap_aligned").mean(-1), axis=1)
    return runs.alpha.values, mean, error

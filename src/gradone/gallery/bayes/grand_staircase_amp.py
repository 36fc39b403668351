"""Figure: the grand staircase, a second threshold that the first one opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import PALETTE, Axis, Chart, Panels, line, points, vline
from ...theory.bayes.amp_thresholds import amp_thresholds
from ...theory.predict import predict
from .._checks import agrees, diagonal, mean_and_error, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = "z1**2 + sign(z1*z2*z3)"
SIZES = {"small": (250, 5), "paper": (2000, 24)}
ALPHA = (0.3, 0.9, 1.7, 2.1, 3.1, 3.75, 4.5, 5.5)
# Dense where the curves bend: at the two thresholds and where z1 becomes known perfectly.
GRID = (
    *(0.2, 0.55, 0.6, 0.7, 0.8, 0.95, 1.1, 1.2, 1.3, 1.38, 1.45, 1.5, 2.0, 2.45, 2.5, 2.6),
    *(2.8, 3.0, 3.2, 3.4, 3.6, 3.8, 4.0, 4.3, 4.6, 5.0, 5.4, 5.8),
)
FIRST, SECOND = PALETTE["blue"], PALETTE["vermillion"]


def thresholds(target: str) -> xr.Dataset:
    """Sample sizes at which the stages of state evolution open, as a curve over the stages."""
    found = amp_thresholds(target)
    values = [float(stage.threshold) for stage in found]
    errors = [float(stage.threshold.error) for stage in found]
    return curve(
        {"threshold": ("step", values), "threshold_err": ("step", errors)},
        {"step": np.arange(1, len(values) + 1)},
        source="theory:amp_thresholds",
        target=target,
    )


@FIGURES.add("grand-staircase-amp")
class GrandStaircaseAmp(GalleryFigure):
    """Overlaps and error of Bayes-AMP on a target that is learned in two stages."""

    title = r"A grand staircase: $z_1^2+\operatorname{sign}(z_1 z_2 z_3)$"
    sentence = (
        r"The parity alone is hard at $n=O(d)$, but once $z_1$ is known (first threshold) it is a "
        r"parity of $z_2, z_3$ with a known sign, which opens at the second threshold $\pi^2/4$."
    )
    cites = ("troiani2024limits",)
    budget = {"small": 100.0, "paper": 10800.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """State evolution, its thresholds, and Bayes-AMP at eight sample sizes."""
        d, replicates = SIZES[size]
        settings: dict[str, Any] = {
            "start": "spectral",
            "max_iter": 250,
            "restarts": 0,
            "test_samples": 4096,
        }
        runs = memo.simulate(
            TARGET, "bayes_amp", d=d, alpha=ALPHA, replicates=replicates, **settings
        )
        return {
            "theory": memo(predict, TARGET, "bayes_amp", alpha=list(GRID)),
            "thresholds": memo(thresholds, TARGET),
            "amp": runs,
        }

    def draw(self, data: Data) -> Panels:
        """Overlaps on the left, test error on the right."""
        theory, runs = data["theory"], data["amp"]
        d, marks = setting(runs, "d"), data["thresholds"].threshold.values
        across = Axis(r"samples per dimension $\alpha=n/d$", range=(0.0, 5.9))
        stairs = vline(r"thresholds of AMP", marks)
        overlaps, (mean, error) = diagonal(theory), _overlaps(runs)
        left = Chart(
            "overlaps with the directions",
            across,
            Axis(r"overlap $q_{kk}$", range=(-0.04, 1.06)),
            (
                stairs,
                line("$z_1$, theory", theory.alpha, overlaps[:, 0], color=FIRST),
                line("$z_2,z_3$, theory", theory.alpha, overlaps[:, 1:].mean(-1), color=SECOND),
                points(f"simulation, $d={d}$", runs.alpha, mean[:, 0], error[:, 0], color=FIRST),
                points("", runs.alpha, mean[:, 1], error[:, 1], color=SECOND, marker="square"),
            ),
            legend="lower right",
        )
        loss, spread = mean_and_error(runs.test_mse.values, axis=1)
        right = Chart(
            "test error",
            across,
            Axis(r"$\mathbb{E}(y-\hat f)^2$", range=(0.0, 3.4)),
            (
                stairs,
                line("theory", theory.alpha, theory.test_mse, color=FIRST),
                points(f"simulation, $d={d}$", runs.alpha, loss, spread, color=FIRST),
            ),
            legend="upper right",
        )
        return Panels(self.title, (left, right), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Two thresholds, their order, and that message passing follows state evolution."""
        theory, runs = data["theory"], data["amp"]
        d, (first, second) = setting(runs, "d"), data["thresholds"].threshold.values
        predicted, (mean, error) = diagonal(theory), _overlaps(runs)
        opens = [_opening(theory.alpha.values, predicted[:, k]) for k in (0, 1)]
        alpha = runs.alpha.values
        between = (alpha > 1.5) & (alpha < second)
        # Near the thresholds the transitions of a finite system are round.
        away = (np.abs(alpha / first - 1) > 0.3) & (np.abs(alpha / second - 1) > 0.14)
        slack = 1 / np.sqrt(d)
        return [
            Claim(
                "the second threshold is that of the parity of two, pi^2/4",
                bool(abs(second - np.pi**2 / 4) < 1e-4),
                f"thresholds {first:.4f} and {second:.4f}",
            ),
            Claim(
                "state evolution leaves zero at the two thresholds",
                bool(abs(opens[0] - first) < 0.1 and abs(opens[1] - second) < 0.1),
                f"first overlaps at {opens[0]:.2f} and {opens[1]:.2f}",
            ),
            Claim(
                "between the thresholds Bayes-AMP knows z1 alone",
                bool((mean[between, 0] > 0.8).all() and (mean[between, 1] < 3 * slack).all()),
                f"overlaps {mean[between, 0].min():.2f} and {mean[between, 1].max():.2f}",
            ),
            *(
                agrees(
                    f"overlaps of Bayes-AMP with {name} follow state evolution",
                    (alpha[away], mean[away, k], error[away, k]),
                    (theory.alpha, predicted[:, k]),
                    slack=slack,
                )
                for k, name in ((0, "z1"), (1, "z2 and z3"))
            ),
        ]


def _overlaps(runs: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Mean aligned overlaps with z1 and with the pair z2, z3, and their standard errors."""
    entries = diagonal(runs, "overlap_aligned")
    pairs = np.stack([entries[..., 0], entries[..., 1:].mean(-1)], axis=-1)
    return mean_and_error(pairs, axis=1)


def _opening(alpha: np.ndarray, overlap: np.ndarray) -> float:
    return float(alpha[int(np.argmax(overlap > 1e-4))])

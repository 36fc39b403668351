"""Figure: the Bayes-optimal potential below, inside and above a hard phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, line, points
from ...targets.target import Target
from ...theory import bayes_potential
from ...theory.predict import predict
from .._checks import STANDARD_ERRORS, diagonal, mean_and_error, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# A label of two values that oscillates: to know a little of the direction is worth nearly nothing.
TARGET = Target("sign(cos(2.3*z))")
WHERE = {2.0: "below", 3.0: "inside", 6.0: "above"}
SIZES: dict[Size, tuple[int, int]] = {"small": (200, 8), "paper": (1000, 16)}  # d, replicates


def potential(alpha: list[float], overlap: list[float]) -> xr.Dataset:
    """Free entropy over overlaps, in the form of a curve."""
    found = bayes_potential(TARGET, alpha=alpha, overlap=overlap)
    dims = ("alpha", "step")
    return curve(
        {
            "free_entropy": (dims, found.free_entropy.values),
            "free_entropy_err": (dims, found.free_entropy_err.values),
            "overlap": ("step", overlap),
            "overlap_err": ("step", np.zeros(len(overlap))),
        },
        {"alpha": alpha, "step": np.arange(len(overlap))},
        source="theory:bayes_potential",
        target=TARGET.text,
    )


@FIGURES.add("hard-phase")
class HardPhase(GalleryFigure):
    """Free entropy against the overlap, and where message passing ends."""

    title = "A hard phase: free entropy against the overlap"
    sentence = (
        "Hills of the free entropy are the fixed points of state evolution, and the highest one "
        r"(hollow) is Bayes-optimal. For $\operatorname{sign}(\cos 2.3z)$ it is at zero below 2.52 "
        "samples per dimension. Message passing (filled) climbs from zero and finds the other hill "
        "only above 4.63: in between the problem is hard."
    )
    cites = ("aubin2018committee", "maillard2020phase")
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Potential, optimum and runs of message passing at three amounts of data."""
        d, replicates = SIZES[size]
        grid = [*np.linspace(0, 0.9, 46).round(3).tolist(), *np.linspace(0.91, 0.995, 18).round(4)]
        alpha = list(WHERE)
        return {
            "potential": memo(potential, alpha, [float(q) for q in grid]),
            "optimum": memo(predict, TARGET, "bayes_optimal", alpha=alpha),
            "amp": memo.simulate(TARGET, "bayes_amp", d=d, alpha=alpha, replicates=replicates),
        }

    def draw(self, data: Data) -> Panels:
        """One panel for each amount of data."""
        theory, best, charts = data["potential"], data["optimum"], []
        d, ends = setting(data["amp"], "d"), _ends(data)
        x = theory.overlap.values
        for i, (alpha, words) in enumerate(WHERE.items()):
            y = theory.free_entropy.values[i]
            top, mean = float(diagonal(best)[i].item()), ends[i][0]
            series: list[Any] = [
                line("theory", x, y, color="blue"),
                points(
                    "optimum", [top], [np.interp(top, x, y)], color="blue", marker="square",
                    hollow=True, size=7.0,
                ),
                points(f"simulation, $d={d}$", [mean], [np.interp(mean, x, y)], color="blue"),
            ]  # fmt: skip
            charts.append(
                Chart(
                    rf"{words}: $\alpha = {alpha:g}$",
                    Axis("overlap $q$", range=(-0.03, 1.04)),
                    Axis(r"free entropy $\Phi(q) - \Phi(0)$" if not i else ""),
                    tuple(series),
                    legend="none" if i else "lower left",
                )
            )
        return Panels(self.title, tuple(charts), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Hills are fixed points; the optimum is the highest; message passing ends where it may."""
        theory, best, ends = data["potential"], data["optimum"], _ends(data)
        q, found = theory.overlap.values, []
        for i, words in enumerate(WHERE.values()):
            y = theory.free_entropy.values[i]
            top, fixed = float(q[np.argmax(y)]), float(diagonal(best)[i].item())
            found.append(
                Claim(
                    f"{words} the hard phase the highest hill is the Bayes-optimal fixed point",
                    abs(top - fixed) < 0.02,
                    f"hill at {top:.3f}, fixed point at {fixed:.3f}",
                )
            )
            mean, error = ends[i]
            expected = fixed if words == "above" else 0.0
            # The first hill is flat: a finite sample ends a few times d**(-1/2) from it.
            d = setting(data["amp"], "d")
            allowed = STANDARD_ERRORS * error + (2 / d if expected else 2 / np.sqrt(d))
            found.append(
                Claim(
                    f"{words} it message passing ends at {expected:.2f}",
                    abs(mean - expected) < allowed,
                    f"{mean:.3f} +- {STANDARD_ERRORS * error:.3f}",
                )
            )
        y = theory.free_entropy.values[1]
        valley = float(y[(q > 0.2) & (q < 0.7)].min())
        found.append(
            Claim(
                "inside, a valley lies between nothing and the optimum, and the optimum is higher",
                valley < 0 < float(y.max()),
                f"valley {valley:.3f}, hill {float(y.max()):.3f}",
            )
        )
        low, middle, high = (float(best[k]) for k in _EDGES)
        found.append(
            Claim(
                "the three amounts of data lie below, inside and above the hard phase",
                2.0 < low < middle < 3.0 < high < 6.0,
                f"spinodal {low:.3f}, information {middle:.3f}, algorithmic {high:.3f}",
            )
        )
        return found


_EDGES = ("alpha_spinodal", "alpha_it", "alpha_algorithmic")


def _ends(data: Data) -> list[tuple[float, float]]:
    """Mean overlap of message passing at each amount of data, and its standard error."""
    runs = np.abs(diagonal(data["amp"], "overlap_aligned"))[..., 0]
    means, errors = mean_and_error(runs, axis=1)
    return [(float(m), float(e)) for m, e in zip(means, errors, strict=True)]

"""Spectrum of the first layer's kernel before and after its directions are learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, Series, hline, points
from ...experiments.depth_metrics import gram_spectrum
from ...learners import LEARNERS
from ...targets.hierarchical import Sight
from ...theory import gram_levels
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
SIZES: dict[Size, int] = {"small": 64, "paper": 144}
_WIDTH, _SAMPLES = 600, 2000
_DEGREES = 2
_COLORS = ("blue", "vermillion", "green")


def spectra(d: int) -> xr.Dataset:
    """Eigenvalues of the kernel of random rows, and of rows in the directions that were found.

    With n = d^2.2 samples.
    """
    sample = TARGET.sample(int(d**2.2), d, seed=0)
    learner = LEARNERS["layerwise"]("spectral", random_state=0).fit(sample.X, sample.y)
    rng, found = np.random.default_rng(0), learner.directions_ / learner.scale_
    before = rng.standard_normal((_WIDTH, d))
    after = rng.standard_normal((_WIDTH, len(found))) @ found
    values = [gram_spectrum(rows, n=_SAMPLES)[:_WIDTH] for rows in (before, after)]
    dims = ("step", "neuron")
    return curve(
        {"level": (dims, np.array(values)), "level_err": (dims, np.zeros((2, _WIDTH)))},
        {"step": [0, 1], "neuron": np.arange(1, _WIDTH + 1)},
        source="simulation:layerwise",
        target=TARGET.text,
        params={"d": d, "n": len(sample.y)},
        seed=0,
    )


def levels(d: int) -> xr.Dataset:
    """Mean eigenvalue of each degree, for rows in d dimensions and in those of the target."""
    found, counts = np.empty((2, _DEGREES + 1)), np.empty((2, _DEGREES + 1))
    for step, q in enumerate((d, int(d**0.5))):
        for degree, level in enumerate(
            gram_levels("relu(z)", q, _DEGREES, n=_SAMPLES, width=_WIDTH)
        ):
            found[step, degree] = level.eigenvalue.value
            counts[step, degree] = level.multiplicity
    dims = ("step", "degree")
    return curve(
        {
            "level": (dims, found),
            "level_err": (dims, 0.05 * found),
            "multiplicity": (dims, counts),
            "multiplicity_err": (dims, np.zeros_like(counts)),
        },
        {"step": [0, 1], "degree": np.arange(_DEGREES + 1)},
        source="theory:gram_levels",
        target=TARGET.text,
        params={"d": d},
    )


@FIGURES.add("kernel-spectrum-depth")
class KernelSpectrumDepth(GalleryFigure):
    """Spectrum of the first layer's kernel before and after its directions are learned."""

    title = "Spectrum of the kernel of the first layer"
    sentence = (
        "Random rows make levels whose degree $k$ has about $d^k/k!$ eigenvalues, and that of "
        "degree two is lost in the bulk; after the first stage the rows lie in the "
        "$D = \\sqrt{d}$ hidden directions, and the levels of the few polynomials of these split."
    )
    cites = ("dandi2025depth",)
    budget = {"small": 60.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Spectra before and after, and the predicted levels."""
        d = SIZES[size]
        return {"simulation": memo(spectra, d), "theory": levels(d)}

    def draw(self, data: Data) -> Chart | Panels:
        """Eigenvalues by their rank, before and after."""
        runs, theory = data["simulation"], data["theory"]
        charts = []
        for step, title in enumerate(("before", "after the first stage")):
            values = runs.level.values[step, :200]
            series: list[Series] = [
                hline(f"degree {k}, theory", float(theory.level[step, k]), color=color, dash="dash")
                for k, color in enumerate(_COLORS)
                # A level with more members than there are neurons cannot be seen.
                if theory.multiplicity[step, k] < _WIDTH / 2
            ]
            rank = np.arange(1, len(values) + 1)
            series.append(points("simulation", rank, values, color="black", size=2.5))
            x, y = Axis("rank", "log"), Axis("eigenvalue of $K/n$", "log", (1e-5, 2))
            charts.append(Chart(title, x, y, tuple(series), legend="lower left"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Levels at their places, and the gap after the second degree."""
        runs, theory = data["simulation"].level.values, data["theory"]
        found = []
        d, D = (int(theory.multiplicity[step, 1]) for step in (0, 1))
        for step, (q, words) in enumerate(((d, "before"), (D, "after"))):
            mean, expected = float(runs[step, 1 : 1 + q].mean()), float(theory.level[step, 1])
            found.append(
                Claim(
                    f"the level of degree one {words} the first stage is where the theory says",
                    abs(mean / expected - 1) < 0.15,
                    f"{mean:.5f}, theory {expected:.5f}",
                )
            )
        # Of the degrees up to two; the norm of the input has one more of degree zero.
        last = int(theory.multiplicity[1].sum()) + 1
        gaps = [float(runs[step, last - 1] / runs[step, last]) for step in (0, 1)]
        found.append(
            Claim(
                "the quadratic polynomials of the directions split off, and did not before",
                gaps[1] > 1.5 * gaps[0],
                f"ratio across the gap {gaps[0]:.2f} before, {gaps[1]:.2f} after",
            )
        )
        return found

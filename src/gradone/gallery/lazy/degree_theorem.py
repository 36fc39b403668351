"""Figure: from d^kappa samples a kernel learns the polynomials of degree kappa; three targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...charts import Axis, Chart, Panels, line, points
from ...theory.predict import predict
from .._checks import agrees
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from .lazy_staircase import ACTIVATION, RIDGE, errors, points_of

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# Target to its title and to the errors that it keeps at kappa = 0.5, 1.5, 2.5 and 3.5, from the
# weights of its Hermite coefficients.
TARGETS = {
    "z1 + He2(z2)/sqrt(2)": (r"$z_1+\mathrm{He}_2(z_2)/\sqrt{2}$", (2.0, 1.0, 0.0, 0.0)),
    "sign(z1*z2)": (
        r"$\mathrm{sign}(z_1z_2)$",
        (1.0, 1.0, 1 - (2 / np.pi) ** 2, 1 - (2 / np.pi) ** 2),
    ),
    "He2(z1) + sign(z1*z2*z3)": (
        r"$\mathrm{He}_2(z_1)+\mathrm{sign}(z_1z_2z_3)$",
        (3.0, 3.0, 1.0, 1 - (2 / np.pi) ** 3),
    ),
}
CORNERS = (0.4, 0.999, 1.0, 1.999, 2.0, 2.999, 3.0, 3.6)
D, FAR = 30, 1000
SAMPLES = (15, 30, 100, 300, 1000, 2000)
REPLICATES: dict[Size, int] = {"small": 4, "paper": 40}


@FIGURES.add("degree-theorem")
class DegreeTheorem(GalleryFigure):
    """Errors of a kernel on three targets: a degree for each power of the dimension."""

    title = r"What a kernel learns from $n=d^\kappa$ samples"
    sentence = (
        r"A kernel learns the best polynomial of degree $\kappa$ from $d^\kappa$ samples and "
        "nothing else of any target: steps in the limit, smooth curves at finite dimension "
        "(lines: theory; points: simulation)."
    )
    cites = ("ghorbani2019linearized", "mei2021hyper", "defilippis2024rfrr")
    budget = {"small": 100.0, "paper": 1200.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Theory in the limit and at two dimensions, and kernel ridge regression."""
        import xarray as xr

        options = {"activation": ACTIVATION, "ridge": RIDGE}
        kappa = np.linspace(0.4, 3.6, 65).round(4).tolist()
        found = {}
        for text in TARGETS:
            found[f"limit {text}"] = memo(predict, text, "lazy", kappa=list(CORNERS))
            for d in (D, FAR):
                found[f"theory {d} {text}"] = memo(
                    predict, text, "lazy", kappa=kappa, d=d, **options
                )
            runs = [memo(errors, D, n, None, REPLICATES[size], text) for n in SAMPLES]
            found[f"kernel {text}"] = xr.concat(runs, dim="n")
        return found

    def draw(self, data: Data) -> Panels:
        """One panel for each target."""
        charts: list[Chart] = []
        for text, (title, _) in TARGETS.items():
            limit = data[f"limit {text}"]
            series = [
                line(
                    r"theory, limit", limit.kappa, limit.excess_mse,
                    color="black", dash="dot", width=1.1,
                )
            ]  # fmt: skip
            for d, color in ((FAR, "orange"), (D, "blue")):
                theory = data[f"theory {d} {text}"]
                series.append(
                    line(f"theory, $d={d}$", theory.kappa, theory.excess_mse, color=color)
                )
            dots = points_of(data[f"kernel {text}"], "n", D)
            series.append(points(f"simulation, $d={D}$", *dots, color="blue"))
            x = Axis(r"$\kappa=\log n/\log d$", range=(0.4, 3.6))
            y = Axis(r"test error $\mathbb{E}(y-\hat f)^2$", range=(0.0, None))
            charts.append(
                Chart(title, x, y, tuple(series), legend="none" if charts else "upper right")
            )
        return Panels(self.title, tuple(charts), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Plateaus are the weights of the degrees, and finite dimensions follow the theory."""
        found = []
        for text, (_, plateaus) in TARGETS.items():
            levels = data[f"limit {text}"].excess_mse.values[::2]
            found.append(
                Claim(
                    f"{text}: what is left is the weight of the higher degrees",
                    bool(np.allclose(levels, plateaus, atol=1e-5)),
                    ", ".join(f"{level:.4f}" for level in levels),
                )
            )
            theory = data[f"theory {D} {text}"]
            found.append(
                agrees(
                    f"{text}: kernel ridge regression follows the theory at d = {D}",
                    points_of(data[f"kernel {text}"], "n", D),
                    (theory.kappa, theory.excess_mse),
                    slack=1 / D,
                    relative=0.05,
                )
            )
        return found

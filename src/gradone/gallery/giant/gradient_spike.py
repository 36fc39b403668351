"""The spike of the first gradient leaves the bulk at a threshold, and then points to the target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, line, points, vline
from ...targets.target import Target
from ...theory.predict import predict
from .._checks import setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from ._one_step import one_step

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Target("z + (z**2 - 1)/2", noise=0.25)
BATCH_RATIO, WIDTH_RATIO = 2.0, 1.5
STEPS = (0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 3.6)
SIZES: dict[Size, tuple[int, int]] = {"small": (500, 8), "paper": (2000, 16)}  # d, replicates
_VALUES = ("singular_value", "cosine2", "cosine2_neurons")


def measured(step: float, d: int, replicates: int) -> xr.Dataset:
    """Largest singular value of the weights, and squared cosines of its vectors, in each run."""
    from scipy.sparse.linalg import svds

    found = np.empty((3, replicates))
    for replicate in range(replicates):
        learner, sample = one_step(
            TARGET,
            d=d,
            batch_ratio=BATCH_RATIO,
            width_ratio=WIDTH_RATIO,
            step_size=step / math.sqrt(round(WIDTH_RATIO * d)),
            replicate=replicate,
            activation="tanh(z)",
            readout="gaussian",
            init="gaussian",
        )
        left, values, right = svds(learner.weights_.astype(float), k=1, random_state=0)
        a = learner.initial_readout_
        along = float(right[0] @ sample.W_star[0]) ** 2
        found[:, replicate] = values[0], along, (left[:, 0] @ a) ** 2 / (a @ a)
    quantities: dict[str, tuple[str, np.ndarray]] = {}
    for name, row in zip(_VALUES, found, strict=True):
        quantities |= {name: ("replicate", row), f"{name}_err": ("replicate", np.zeros(replicates))}
    return curve(
        quantities,
        {"replicate": np.arange(replicates)},
        source="simulation:giant_step",
        target=TARGET.text,
        params={"d": d, "step_size": step, "batch_ratio": BATCH_RATIO, "width_ratio": WIDTH_RATIO},
        seed=0,
    )


@FIGURES.add("gradient-spike")
class GradientSpikeFigure(GalleryFigure):
    """The spike of the first gradient leaves the bulk at a threshold, and points to the target."""

    title = "The first gradient as a spike in the weights"
    sentence = (
        "Above a critical step the largest singular value of the weights leaves the bulk, and from "
        "there on its vector has an overlap with the direction of the target."
    )
    cites = ("ba2022onestep",)
    budget = {"small": 100.0, "paper": 1500.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Singular value and cosines against the step, simulated and predicted."""
        import xarray as xr

        runs = [memo(measured, step, *SIZES[size]) for step in STEPS]
        joined = xr.concat(runs, dim="step_size", combine_attrs="override")
        theory = predict(
            TARGET,
            "gradient_spike",
            step_size=np.linspace(0.05, 3.8, 151),
            batch_ratio=BATCH_RATIO,
            width_ratio=WIDTH_RATIO,
            activation="tanh(z)",
            readout="gaussian",
            scaling="small",
        )
        return {"simulation": joined.assign_coords(step_size=list(STEPS)), "theory": theory}

    def draw(self, data: Data) -> Chart | Panels:
        """The singular value, and the cosines."""
        theory, runs = data["theory"], data["simulation"]
        threshold = float(theory.threshold.values.flat[0])
        x = Axis(r"step size $\eta$")
        mean, error = average(runs, "singular_value")
        grid = theory.step_size.values
        first = (
            vline("threshold", threshold),
            line("edge of the bulk", grid, theory.bulk_edge.values, color="gray", dash="dash"),
            line("largest, theory", grid, theory.singular_value.values, color="vermillion"),
            points("simulation", STEPS, mean.values, error.values, color="vermillion"),
        )
        second = [vline("", threshold)]
        for name, words, color in (
            ("cosine2", "with the target", "blue"),
            ("cosine2_neurons", "with the second layer", "green"),
        ):
            mean, error = average(runs, name)
            second += [
                line(f"{words}, theory", grid, theory[name].values, color=color),
                points("", STEPS, mean.values, error.values, color=color),
            ]
        return Panels(
            self.title,
            (
                Chart("", x, Axis("singular value"), first),
                Chart("", x, Axis("squared cosine", range=(0, 1)), tuple(second)),
            ),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """Agreement away from the threshold, and the transition."""
        theory, runs = data["theory"], data["simulation"]
        threshold, d = float(theory.threshold.values.flat[0]), setting(runs, "d")
        steps = np.array(STEPS)
        found = []
        for name in _VALUES:
            mean, error = average(runs, name)
            # At the edge fluctuations are of order d^(-2/3), above it corrections of order 1/d.
            slack = np.where(steps < 1.2 * threshold, 3 * d ** (-2 / 3), 4 / d)
            gap = np.abs(mean.values - np.interp(steps, theory.step_size, theory[name]))
            allowed = 5 * error.values + slack
            found.append(
                Claim(
                    f"the {name} follows the theory",
                    bool((gap < allowed).all()),
                    f"largest gap {gap.max():.3f}, allowed {allowed[gap.argmax()]:.3f}",
                )
            )
        mean, _ = average(runs, "cosine2")
        below, above = mean.values[steps < 0.9 * threshold], mean.values[steps > 1.4 * threshold]
        found.append(
            Claim(
                "the direction of the target appears above the threshold",
                bool(below.max() < 0.1 < above.min()),
                f"threshold {threshold:.2f}: at most {below.max():.3f} below, at least "
                f"{above.min():.3f} above",
            )
        )
        return found

"""Two steps on the same batch find a direction that one step misses, as DMFT predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts import Axis, Chart, Panels, Series, average, hline, legend_of, line, points
from ...dynamics import reused_batch
from ...theory.predict import predict
from .._checks import agrees
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

ALPHA = 3.0
# Two neurons of opposite readout on a target of two directions; one neuron on a single index.
PROBLEMS: dict[str, dict[str, Any]] = {
    "two": {
        "target": "tanh(z1 + He3(z2))", "width": 2, "readout": [0.5**0.5, -(0.5**0.5)],
        "step_size": 0.6, "steps": 6,
    },
    "tanh": {"target": "tanh(z)", "width": 1, "readout": [1.0], "step_size": 0.3, "steps": 4},
    "He3": {"target": "He3(z)", "width": 1, "readout": [1.0], "step_size": 0.3, "steps": 4},
}  # fmt: skip
SIZES: dict[Size, tuple[int, int, int]] = {  # d, replicates, points of each net of DMFT
    "small": (20_000, 24, 2**16),
    "paper": (100_000, 40, 2**17),
}


def student(name: str) -> dict[str, Any]:
    """Arguments that theory and simulation share."""
    given = {key: value for key, value in PROBLEMS[name].items() if key != "target"}
    return {"alpha": ALPHA, "activation": "relu(z)", "init": "orthogonal", **given}


def simulated(name: str, d: int, replicates: int) -> xr.Dataset:
    """Gradient descent on one data set, exact at dimension d."""
    run = reused_batch(
        PROBLEMS[name]["target"],
        d=d,
        record=np.arange(PROBLEMS[name]["steps"] + 1),
        replicates=replicates,
        test_samples=1024,
        progress=False,
        **student(name),
    )
    return run.drop_vars([key for key in run.data_vars if not str(key).startswith("overlap")])


def mean_field(name: str, points: int) -> xr.Dataset:
    """Dynamical mean-field theory of the same descent."""
    found = predict(PROBLEMS[name]["target"], "reused_batch", points=points, **student(name))
    return found.drop_vars([key for key in found.data_vars if not str(key).startswith("overlap")])


@FIGURES.add("reused-batch")
class ReusedBatchFigure(GalleryFigure):
    """Two steps on the same batch find a direction that one step misses, as DMFT predicts."""

    title = "Reusing a batch"
    sentence = (
        "With $n = 3d$ samples the first gradient sees only what has information exponent one; the "
        "second one, on the same samples, also has an overlap with the direction of "
        "$\\mathrm{He}_3$. Lines are dynamical mean-field theory."
    )
    cites = ("dandi2024reuse",)
    budget = {"small": 100.0, "paper": 900.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlaps against iterations for each problem, simulated and by mean-field theory."""
        d, replicates, points = SIZES[size]
        found = {}
        for name in PROBLEMS:
            found[f"{name} simulation"] = memo(simulated, name, d, replicates)
            found[f"{name} theory"] = memo(mean_field, name, points)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Two directions at once, and one neuron on one direction."""
        two = _series(data, "two", ("$z_1$", "$z_2$"), ("blue", "vermillion"))
        one = (
            *_series(data, "tanh", (r"$\tanh(z)$",), ("blue",)),
            *_series(data, "He3", (r"$\mathrm{He}_3(z)$",), ("vermillion",)),
        )
        x, y = Axis("iterations"), Axis("overlap of the first neuron")
        zero, key = hline("", 0.0), legend_of({}, {}, (True, False))
        return Panels(
            self.title,
            (
                Chart(r"$\tanh(z_1 + \mathrm{He}_3(z_2))$, two neurons", x, y, (zero, *two, *key)),
                Chart("single index, one neuron", x, y, (zero, *one, *key)),
            ),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """Theory on simulation everywhere; He3 invisible to one iteration, visible to two."""
        found = []
        for name in PROBLEMS:
            mean, error = _first_neuron(data[f"{name} simulation"])
            theory = data[f"{name} theory"].isel(alpha=0).overlap.values[:, 0]
            for k in range(mean.shape[1]):
                steps = np.arange(len(mean))
                found.append(
                    agrees(
                        f"direction {k + 1} of {PROBLEMS[name]['target']} follows the theory",
                        (steps, mean[:, k], error[:, k]),
                        (steps, theory[:, k]),
                        slack=2e-3,
                    )
                )
        mean, error = _first_neuron(data["He3 simulation"])
        found.append(
            Claim(
                "one iteration does not see He3, two do",
                bool(abs(mean[1, 0]) < 5 * error[1, 0] and abs(mean[2, 0]) > 5 * error[2, 0]),
                f"overlap {mean[1, 0]:+.4f}({error[1, 0]:.4f}), then "
                f"{mean[2, 0]:+.4f}({error[2, 0]:.4f})",
            )
        )
        return found


def _first_neuron(runs: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps (step, direction) of the first neuron, and their errors."""
    mean, error = average(runs, "overlap")
    return mean.values[:, 0], error.values[:, 0]


def _series(
    data: Data, name: str, words: tuple[str, ...], colors: tuple[str, ...]
) -> tuple[Series, ...]:
    mean, error = _first_neuron(data[f"{name} simulation"])
    theory = data[f"{name} theory"].isel(alpha=0).overlap.values[:, 0]
    steps, found = np.arange(len(mean)), []
    for k, (word, color) in enumerate(zip(words, colors, strict=True)):
        found += [
            line(word, steps, theory[:, k], color=color),
            points("", steps, mean[:, k], error[:, k], color=color),
        ]
    return tuple(found)

"""Neurons in the plane of the target during six giant steps: one target escapes, one is stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Legend, Panels, line, ordered_colors, points
from ...learners import LEARNERS
from ...targets.target import Target
from ...theory.predict import predict
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# With v = (z1 + z2)/sqrt(2) and w = (z1 - z2)/sqrt(2): the first target is v/sqrt(2) + v w, whose
# w is coupled to v; the other is sqrt(2) v + v^2 + w^2 - 2, whose w is not.
TARGETS = {
    "escapes": "(z1 + z1**2 + z2 - z2**2)/2",
    "stuck": "z1 + z2 + He2(z1) + He2(z2)",
}
STEPS = 6
BATCH_RATIO = 16.0
_STEP_SIZE = 2.0
SIZES: dict[Size, tuple[int, int]] = {"small": (512, 128), "paper": (1024, 256)}  # d, width
_ROTATION = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)


def neurons(name: str, d: int, width: int) -> xr.Dataset:
    """Overlaps of the neurons with v and w after every step, each with a fresh batch."""
    n = round(BATCH_RATIO * d)
    sample = Target(TARGETS[name]).sample(STEPS * n + n, d, seed=0, dtype="float32")
    learner = LEARNERS["giant_step"](
        width,
        steps=STEPS,
        step_size=_STEP_SIZE,
        batch_size=n,
        readout="signs",
        bias_scale=0.0,
        ridge=1.0,
        standardize=False,
        shuffle=False,
        keep_weights=True,
        random_state=0,
    ).fit(sample.X, sample.y)
    overlaps = learner.weights_history_ @ (_ROTATION @ sample.W_star).T
    dims = ("step", "neuron", "direction")
    return curve(
        {"overlap": (dims, overlaps), "overlap_err": (dims, np.zeros_like(overlaps))},
        {"step": np.arange(1, STEPS + 1), "neuron": np.arange(width), "direction": [1, 2]},
        source="simulation:giant_step",
        target=TARGETS[name],
        params={"d": d, "n": n, "width": width, "step_size": _STEP_SIZE},
        seed=0,
    )


def limit(name: str) -> xr.Dataset:
    """Overlaps of the classes a = 1 and a = -1 with v and w in the limit."""
    given: dict[str, Any] = {"batch_ratio": BATCH_RATIO, "step_size": _STEP_SIZE, "steps": STEPS}
    found = predict(TARGETS[name], "giant_steps", readout="signs", bias_scale=0.0, **given)
    M = found.overlap.isel(batch_ratio=0).values @ _ROTATION.T
    dims = ("step", "neuron", "direction")
    return curve(
        {"overlap": (dims, M), "overlap_err": (dims, np.zeros_like(M))},
        {"step": found.step.values, "neuron": found.neuron.values, "direction": [1, 2]},
        source="theory:giant_steps",
        target=TARGETS[name],
        params={"batch_ratio": BATCH_RATIO, "step_size": _STEP_SIZE},
    )


@FIGURES.add("gradient-orientation")
class GradientOrientation(GalleryFigure):
    """Neurons in the plane of the target during six giant steps: one target escapes, one is stuck.

    Both targets contain v in first order. The second direction w of the first one is coupled to v,
    and the second gradient finds it; that of the other is not, and no step does.
    """

    title = "Neurons in the plane of the target, steps 1 to 6"
    sentence = (
        "The first giant step moves all neurons along $v$, the direction of first order; the "
        "following ones leave it for $w$ where $w$ is coupled to $v$ (a), and stay on it where it "
        "is not (b). Lines are the limit of large dimension."
    )
    cites = ("dandi2023giant", "abbe2022merged")
    budget = {"small": 100.0, "paper": 300.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Overlaps after every step for both targets, with their limits."""
        d, width = SIZES[size]
        found = {}
        for name in TARGETS:
            found[f"{name} neurons"] = memo(neurons, name, d, width)
            found[f"{name} limit"] = memo(limit, name)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """One panel for each target."""
        titles = {"escapes": "$v/\\sqrt{2} + v w$", "stuck": "$\\sqrt{2} v + v^2 + w^2 - 2$"}
        charts = []
        for name, title in titles.items():
            runs, theory = data[f"{name} neurons"].overlap, data[f"{name} limit"].overlap
            series = []
            for step, color in enumerate(ordered_colors(STEPS), start=1):
                v, w = runs.sel(step=step).values.T
                word = f"step {step}, simulation" if step == 1 else f"step {step}"
                series.append(points(word, v, w, color=color, size=2.0, opacity=0.6))
            for j, readout in enumerate(("$a = -1$", "$a = 1$")):
                dash = "dash" if j == 0 else "solid"
                v, w = theory.values[:, j].T
                series.append(line(f"theory, {readout}", v, w, color="black", dash=dash, width=1.0))
            x = Axis("overlap with $v$")
            y = Axis("overlap with $w$", range=(-1, 2.2))
            legend: Legend = "none" if name == "escapes" else "right"
            charts.append(Chart(title, x, y, tuple(series), legend=legend))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Where the classes of neurons are after the last step."""
        found = []
        for name in TARGETS:
            runs, theory = data[f"{name} neurons"].overlap, data[f"{name} limit"].overlap
            last = runs.sel(step=STEPS).values
            # Neurons of one readout move together; the sign of their overlap with v tells it.
            means = np.array([last[last[:, 0] < 0].mean(axis=0), last[last[:, 0] > 0].mean(axis=0)])
            expected = theory.values[-1]
            gap = float(np.abs(means - expected).max())
            found.append(
                Claim(
                    f"the classes of the target that {_words(name)} are where the limit says",
                    gap < 0.2,
                    f"largest gap {gap:.3f} of {np.abs(expected).max():.2f}",
                )
            )
            ratio = np.abs(means[:, 1]) / np.abs(means[:, 0])
            holds = ratio.min() > 0.3 if name == "escapes" else ratio.max() < 0.1
            found.append(
                Claim(
                    f"the target that {_words(name)} does so",
                    bool(holds),
                    f"overlap with w over that with v: {ratio[0]:.2f}, {ratio[1]:.2f}",
                )
            )
        first = data["escapes neurons"].overlap.sel(step=1).values
        found.append(
            Claim(
                "the first step sees v alone",
                bool(np.abs(first[:, 1]).mean() < 0.2 * np.abs(first[:, 0]).mean()),
                f"mean overlaps {np.abs(first[:, 0]).mean():.3f}, {np.abs(first[:, 1]).mean():.3f}",
            )
        )
        return found


def _words(name: str) -> str:
    return {"escapes": "escapes", "stuck": "is stuck"}[name]

r"""Giant steps one after the other: how much of each gradient lies in the target.

For the classes c of neurons with one second-layer weight, and the cosines of their t-th gradients
with the hidden directions,

.. math:: C_t = \sqrt{\overline{\textstyle\sum_k \cos^2(G_{c,t}, w^\star_k)}^{\,c}}.     [GP-1]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.plan import Case, PlanRow, giant_step_rows
from ..base.curves import curve
from ..base.seeds import stream
from ..targets.sampled import Sampled
from ._card import ALGORITHMS, Algorithm, Picture
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr

_STEPS = 2  # gradients that are looked at
_NEURONS: dict[str, Any] = {"readout": "signs", "bias_scale": 0.0}
_LABELS = {"gradient_share": ("C", "cosine of the gradient with the target's directions")}


@ALGORITHMS.add("giant_steps")
class GiantStepsCard(Algorithm):
    """Several giant steps on fresh batches, each of n/2 samples."""

    label, color, family = "giant steps, one after the other", "vermillion", "giant"
    theory = "giant_steps"
    prominence = "asked"
    defaults = {"step_size": 1.5, "activation": "relu(z)", "points": 4096, "replicates": 2}
    axis, kind = "batch_ratio", "gradient"
    picture = Picture(
        "gradient",
        "Giant gradient steps",
        "The curves show how much of the gradient of a neuron lies in the hidden directions, at "
        "the first giant step and at the second. The staircase of the target decides what the "
        "second step adds. In a finite dimension chance alone gives a cosine of about √(r/d).",
        places=(8.0, 1.0, 4.0, 2.0),
        line=(0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0),
    )

    def missing_theory(self, target: Sampled, axis: str) -> str | None:
        """It has no readout whose error could be compared."""
        reason = "it describes single neurons during the steps, without a readout"
        return self.obstacle(target) or reason

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """The steps before the last gradient."""
        given = self.chosen(run)
        given.pop("replicates")
        ratio = run.places if run.axis == "batch_ratio" else run.alpha / _STEPS
        return {"batch_ratio": ratio, "steps": _STEPS - 1, **_NEURONS, **given}

    def shares(self, found: xr.Dataset) -> xr.Dataset:
        """Shares C_t of the gradients in the limit of large d [GP-1].

        Examples
        --------
        The first gradient does not see z2, the second does:

        >>> from gradone import Target
        >>> card = GiantStepsCard()
        >>> limit = card.predicted(Run(Target("z1 + z1*z2"), "batch_ratio", [8.0]))
        >>> card.shares(limit).gradient_share.values.round(2)
        array([[0.82, 0.77]])
        """
        dims = ("batch_ratio", "step", "neuron", "direction")
        cosines = found["gradient_cosine"].transpose(*dims).values
        errors = found["gradient_cosine_err"].transpose(*dims).values
        weights = found["share"].values
        squares, spread = (cosines**2).sum(-1) @ weights, np.abs(errors).sum(-1) @ weights
        places = found["batch_ratio"].values
        return _as_curve(
            np.sqrt(squares), spread, places, "theory:giant_steps", found.attrs["target"]
        )

    def watched(self, run: Run) -> xr.Dataset:
        """Shares C_t of the gradients of a network on data, each step on fresh samples."""
        from ..learners import GiantStep

        given, d = self.chosen(run), run.dimension
        width, n = 2 * max(d // 8, 2), int(run.n[0])
        runs = []
        for replicate in range(given["replicates"]):
            sample = run.target.sample(_STEPS * n + 2, d, seed=run.seed, replicate=replicate)
            rng = stream(run.seed, "init", d=d, replicate=replicate, learner="giant_step")
            start = rng.standard_normal((width // 2, d))
            start /= np.linalg.norm(start, axis=1)[:, None]
            learner = GiantStep(
                width,
                steps=_STEPS,
                step_size=given["step_size"],
                activation=given["activation"],
                batch_size=n,
                init=start,
                **_NEURONS,
                ridge=1.0,
                standardize=False,
                shuffle=False,
                keep_weights=True,
                random_state=rng,
            ).fit(sample.X, sample.y)
            weights = np.concatenate([np.vstack([start, start])[None], learner.weights_history_])
            changes = np.diff(weights, axis=0)
            lengths = np.linalg.norm(changes, axis=-1)
            cosines = changes @ sample.W_star.T / np.maximum(lengths, 1e-300)[..., None]
            classes = [cosines[:, learner.initial_readout_ == a].mean(1) for a in (1.0, -1.0)]
            runs.append(np.sqrt(np.mean([(each**2).sum(-1) for each in classes], axis=0)))
        values, count = np.array(runs), len(runs)
        error = values.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(_STEPS)
        text = run.target.text  # type: ignore[attr-defined]
        source = "simulation:giant_steps"
        return _as_curve(values.mean(0)[None], error[None], run.places, source, text, d=d)

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """Two and more steps with n of order d, or the reason why none is enough."""
        return [] if case.is_deep else [row for row in giant_step_rows(case) if row.steps != 1]


def _as_curve(
    values: np.ndarray, errors: np.ndarray, places: np.ndarray, source: str, text: str, **more: int
) -> xr.Dataset:
    dims = ("batch_ratio", "step")
    return curve(
        {"gradient_share": (dims, values), "gradient_share_err": (dims, errors)},
        {"batch_ratio": np.asarray(places, float), "step": np.arange(1, _STEPS + 1)},
        source=source,
        target=text,
        params=more,
        labels=_LABELS,
    )

"""What giant steps learn, term by term: the plateaus of the plan against measured errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.plan import plan
from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, bar, points
from ...learners import LEARNERS
from ...targets.target import Target
from .._checks import agrees, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGETS = {
    "escapes": "(z1 + z1**2 + z2 - z2**2)/2",
    "stuck": "z1 + z2 + He2(z1) + He2(z2)",
}
VARIANCES = {"escapes": 1.5, "stuck": 6.0}
STEPS = (0, 1, 2, 3)
_WORDS = {"escapes": "that escapes", "stuck": "that is stuck"}
_IN_PART = ("escapes", 1)  # all is within reach, and 2 d neurons do not reach it
# Share of the variance: 32 d samples and 2 d neurons are not a limit, and no theory says how much
# they leave. Chosen after runs at d = 256 (at most 0.11): a regression, which the claim says.
_ALLOWED = 0.15
_BATCH, _READOUT = 32, 32  # samples of a step and of the readout, per dimension
SIZES: dict[Size, tuple[int, int, int]] = {  # d, width, replicates
    "small": (256, 512, 8),
    "paper": (512, 1024, 16),
}


def measured(name: str, steps: int, d: int, width: int, replicates: int) -> xr.Dataset:
    """Error on fresh samples after some giant steps; without any, of random features."""
    target = Target(TARGETS[name])
    values = np.empty(replicates)
    for replicate in range(replicates):
        address: dict[str, Any] = {"replicate": replicate, "dtype": "float32"}
        sample = target.sample((_BATCH * steps + _READOUT) * d, d, seed=0, **address)
        if steps:
            learner = LEARNERS["giant_step"](
                width,
                steps=steps,
                step_size=2.0,
                batch_size=_BATCH * d,
                standardize=False,
                shuffle=False,
                random_state=replicate,
            )
        else:
            learner = LEARNERS["random_features"](
                width, activation="relu(z)", ridge=None, random_state=replicate
            )
        learner.fit(sample.X, sample.y)
        # Rows of another seed, in the frame of the sample.
        fresh = target.sample(8000, d, seed=1, **address).X
        labels = target(fresh.astype(float) @ sample.W_star.T)
        values[replicate] = np.mean((learner.predict(fresh) - labels) ** 2)
    return curve(
        {"excess_mse": ("replicate", values), "excess_mse_err": ("replicate", 0 * values)},
        {"replicate": np.arange(replicates)},
        source="simulation:giant_step",
        target=TARGETS[name],
        params={"d": d, "width": width, "steps": steps},
        seed=0,
    )


def planned(name: str, d: int, width: int) -> xr.Dataset:
    """Plateaus of the plan with n and the width of the order of d, after each number of steps.

    Steps beyond the last one that adds a direction change nothing.
    """
    target = Target(TARGETS[name])
    found = plan(target, d=d, n=_READOUT * d, width=width)
    levels = {row.steps: row.plateaus[1] for row in found.rows if row.steps is not None}
    values = [float(levels[min(t, max(levels))]) for t in STEPS]
    return curve(
        {"excess_mse": ("step", values), "excess_mse_err": ("step", np.full(len(values), 1e-6))},
        {"step": list(STEPS)},
        source="analysis:plan",
        target=TARGETS[name],
        params={"d": d, "width": width},
    )


@FIGURES.add("learned-terms")
class LearnedTerms(GalleryFigure):
    """What giant steps learn, term by term: the plateaus of the plan against measured errors."""

    title = "What giant steps learn, planned and measured"
    sentence = (
        "Bars (none: zero) are what the plan leaves when $d$, then $n/d$ and $p/d$ grow; points "
        "are measured with $32d$ samples a step and $2d$ neurons, far from these limits: after one "
        "step a third to two thirds of the coupled target (a) are still left, and the next steps "
        "do the rest. That without coupling (b) stays near its plateau."
    )
    cites = ("dandi2023giant",)
    budget = {"small": 100.0, "paper": 900.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Planned and measured errors by the number of steps."""
        import xarray as xr

        d, width, replicates = SIZES[size]
        found = {}
        for name in TARGETS:
            runs = [memo(measured, name, t, d, width, replicates) for t in STEPS]
            joined = xr.concat(runs, dim="step", combine_attrs="override")
            found[f"{name} simulation"] = joined.assign_coords(step=list(STEPS))
            found[f"{name} plan"] = planned(name, d, width)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """One panel for each target."""
        titles = {
            "escapes": "$(z_1 + z_1^2 + z_2 - z_2^2)/2$",
            "stuck": r"$z_1 + z_2 + \mathrm{He}_2(z_1) + \mathrm{He}_2(z_2)$",
        }
        charts = []
        for name, title in titles.items():
            mean, error = average(data[f"{name} simulation"], "excess_mse")
            level = data[f"{name} plan"].excess_mse.values
            x = Axis("giant steps", ticks=tuple((t, str(t)) for t in STEPS))
            d = setting(data[f"{name} simulation"], "d")
            series = (
                bar("plan, in the limit", STEPS, level, color="sky"),
                points(f"simulation, $d = {d}$", STEPS, mean.values, error.values, color="black"),
            )
            charts.append(Chart(title, x, Axis("excess error", range=(0, None)), series))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Errors are near the plateaus, but for the one step that few neurons cannot use up."""
        found, mean = [], {}
        for name, words in _WORDS.items():
            errors, spread = (
                one.values for one in average(data[f"{name} simulation"], "excess_mse")
            )
            level, mean[name] = data[f"{name} plan"].excess_mse.values, errors
            at = [t for t in STEPS if (name, t) != _IN_PART]
            allowed = _ALLOWED * VARIANCES[name]
            text = (
                f"regression, not theory: the errors of the target {words} have stayed within "
                f"{allowed:.2g} of the plan, 15 % of its variance"
            )
            if len(at) < len(STEPS):
                text += ", but for one step"
            measured = (at, errors[at], spread[at])
            found.append(agrees(text, measured, (STEPS, level), slack=allowed))
        name, t = _IN_PART
        before, after = mean[name][t - 1], mean[name][t]
        planned = data[f"{name} plan"].excess_mse.values[t]
        found.append(
            Claim(
                "regression, not theory: one step has left between a third and two thirds of what "
                f"random features leave of the coupled target; the plan leaves {planned:.2f}",
                bool(before / 3 < after < 2 * before / 3),
                f"{before:.2f} before, {after:.2f} after",
            )
        )
        found.append(
            Claim(
                "two steps learn the coupled target, three do not learn the other",
                bool(mean["escapes"][2] < 0.25 and mean["stuck"][3] > 0.7 * 2),
                f"{mean['escapes'][2]:.2f} against {mean['stuck'][3]:.2f}",
            )
        )
        return found

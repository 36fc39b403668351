"""One pass climbs the first staircase, and a second look at each sample climbs the second."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts import Axis, Chart, Panels, average, line, points
from ...dynamics import sgd
from ...theory.predict import predict
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# d times the step, d times the inner step where a sample is seen twice, and the last time in units
# of d log d. The activations have the coefficients of degree 3 that a relu lacks.
PROBLEMS: dict[str, dict[str, Any]] = {
    "standard": {
        "target": "He2(z1) + sign(z1*z2*z3)", "activation": "tanh(z + 0.2)",
        "gamma": 0.1, "rho": None, "last": 200,
    },
    "control": {
        "target": "sign(z1*z2*z3)", "activation": "tanh(z + 0.2)",
        "gamma": 0.1, "rho": None, "last": 200,
    },
    "grand": {
        "target": "He4(z1) + sign(z1*z2*z3)", "activation": "tanh(z)",
        "gamma": 0.03, "rho": -0.1, "last": 200,
    },
    "grand, one pass": {
        "target": "He4(z1) + sign(z1*z2*z3)", "activation": "tanh(z)",
        "gamma": 0.03, "rho": None, "last": 200,
    },
}  # fmt: skip
SIZES: dict[Size, tuple[int, int]] = {"small": (512, 12), "paper": (2048, 24)}  # d, replicates
_COLORS = {0: "blue", 1: "vermillion"}
_NAMES = {0: "$z_1$", 1: "$z_2, z_3$"}


def student(name: str, d: int, unit: float) -> dict[str, Any]:
    """Four neurons on the sphere, with the correlation loss and the overlaps of chance at d.

    The steps are given in multiples of `unit`.
    """
    problem = PROBLEMS[name]
    M = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [1, 1, -1]]) / math.sqrt(d)
    found = {
        "width": 4,
        "activation": problem["activation"],
        "step_size": problem["gamma"] * unit,
        "loss": "correlation",
        "geometry": "spherical",
        "init": {"M": M.tolist(), "Q": np.eye(4).tolist()},
    }
    if problem["rho"] is not None:
        found |= {"rule": "extragradient", "inner_step_size": problem["rho"] * unit}
    return found


def simulated(name: str, d: int, replicates: int) -> xr.Dataset:
    """Exact simulation."""
    steps = int(PROBLEMS[name]["last"] * d * math.log(d))
    run = sgd(
        PROBLEMS[name]["target"],
        d=d,
        steps=steps,
        record=np.linspace(0, steps, 21).astype(int),
        replicates=replicates,
        progress=False,
        **student(name, d, 1 / d),
    )
    return run.drop_vars([key for key in run.data_vars if not str(key).startswith("recovery")])


def flow(name: str, d: int) -> xr.Dataset:
    """The limit of large dimension, from the start that it has at d."""
    found = predict(
        PROBLEMS[name]["target"],
        "sgd_flow",
        time=np.linspace(0, PROBLEMS[name]["last"] * math.log(d), 81)[1:],
        points=16384,
        **student(name, d, 1.0),
    )
    return found.drop_vars([key for key in found.data_vars if not str(key).startswith("recovery")])


def groups(run: xr.Dataset) -> xr.Dataset:
    """Recovery of z1, and that of the pair z2, z3 together (root mean square)."""
    R = run.recovery.values
    pair = np.sqrt((R[..., 1] ** 2 + R[..., 2] ** 2) / 2)
    values = np.stack([R[..., 0], pair], axis=-1)
    dims = run.recovery.dims
    return run.isel(direction=[0, 1]).assign(
        recovery=(dims, values), recovery_err=(dims, np.zeros_like(values))
    )


@FIGURES.add("standard-and-grand-staircase")
class StandardAndGrandStaircase(GalleryFigure):
    """One pass climbs the first staircase, and a second look at each sample climbs the second."""

    title = "The standard and the grand staircase"
    sentence = (
        "One pass learns $z_1$ from $\\mathrm{He}_2(z_1)$ and then, through it, $z_2$ and $z_3$ of "
        "$\\mathrm{sign}(z_1 z_2 z_3)$, which alone is never learned; with $\\mathrm{He}_4(z_1)$ "
        "the first step is too high for one pass, but not for a second look at each sample. In "
        "finite dimension noise helps to leave the start: in (a) earlier than in the limit."
    )
    cites = ("abbe2023leap", "arnaboldi2024repetita", "troiani2024limits")
    budget = {"small": 100.0, "paper": 900.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Recovery of the directions against time for each problem."""
        d, replicates = SIZES[size]
        found = {name: groups(memo(simulated, name, d, replicates)) for name in PROBLEMS}
        for name in ("standard", "grand"):
            found[f"{name} limit"] = groups(memo(flow, name, d))
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """One panel for each staircase; hollow marks are what does not climb."""
        pairs = (("standard", "control"), ("grand", "grand, one pass"))
        titles = (
            r"$\mathrm{He}_2(z_1) + \mathrm{sign}(z_1 z_2 z_3)$, one pass",
            r"$\mathrm{He}_4(z_1) + \mathrm{sign}(z_1 z_2 z_3)$, extra-gradient",
        )
        others = ("control", "one pass")
        charts = []
        for (name, other), title, words in zip(pairs, titles, others, strict=True):
            unit = math.log(_dimension(data[name]))
            limit = data[f"{name} limit"]
            series = [
                line(
                    f"{_NAMES[group]}, theory",
                    limit.time.values / unit,
                    limit.recovery.values[:, group],
                    color=color,
                    dash="dash" if group else "solid",
                )
                for group, color in _COLORS.items()
            ]
            for key, suffix in ((name, ", simulation"), (other, f", {words}, simulation")):
                mean, error = average(data[key], "recovery")
                time = data[key].time.values / unit
                for group, color in _COLORS.items():
                    series.append(
                        points(
                            f"{_NAMES[group]}{suffix}",
                            time,
                            mean.values[:, group],
                            error.values[:, group],
                            color=color,
                            hollow=key == other,
                            marker="square" if group else "circle",
                        )
                    )
            y = Axis("recovery", range=(0, 1))
            x = Axis(r"steps / $(d \log d)$")
            charts.append(Chart(title, x, y, tuple(series), legend="below"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """What is climbed, in which order, and what is not."""
        final = {name: average(data[name], "recovery")[0].values[-1] for name in PROBLEMS}
        found = []
        for name in ("standard", "grand"):
            mean = average(data[name], "recovery")[0].values
            first, second = (int(np.argmax(mean[:, k] > 0.5 * mean[-1, k])) for k in (0, 1))
            found.append(
                Claim(
                    f"the {name} staircase is climbed, z1 first",
                    bool(final[name][0] > 0.6 and final[name][1] > 0.35 and first < second),
                    f"recovery {final[name][0]:.2f} and {final[name][1]:.2f}, half of it at times "
                    f"{first} and {second} of {len(mean) - 1}",
                )
            )
            ends = np.abs(final[name] - data[f"{name} limit"].recovery.values[-1])
            found.append(
                Claim(
                    f"the {name} staircase ends where its limit does",
                    bool(ends.max() < 0.1),
                    f"gaps {ends[0]:.3f} and {ends[1]:.3f}",
                )
            )
        for name, words in (("control", "sign(z1*z2*z3) alone"), ("grand, one pass", "He4")):
            found.append(
                Claim(
                    f"one pass does not learn the target with {words}",
                    bool((final[name] < 0.3).all()),
                    f"recovery {final[name][0]:.2f} and {final[name][1]:.2f}",
                )
            )
        return found


def _dimension(run: xr.Dataset) -> int:
    """Dimension of a run: the steps of one unit of time."""
    return round(float(run.step.values[-1] / run.time.values[-1]))

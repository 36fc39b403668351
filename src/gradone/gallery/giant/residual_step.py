"""Features from one gradient of the residual need less data than a kernel, and transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, hline, points
from ...learners import LEARNERS
from ...targets.target import Target
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

FIRST = "(z1*z2 + He3(z1)/sqrt(6) + He4(z2)/sqrt(24))/sqrt(3)"
"""A target of variance one without a linear part; its quadratic part has a third of it."""
OTHER = "(He2(z1)/sqrt(2) + z1*He2(z2)/2 + z1*z2/sqrt(2))/sqrt(2)"
"""Another one of variance one, of the same two directions."""
D = 64
SAMPLES = (1024, 2048, 4096, 8192, 16384)
KERNEL_SAMPLES = (1024, 2048, 4096)
FEW = (100, 200, 400, 800, 1600)
_SOURCE_SAMPLES = 32768
_WIDTH, _TEST = 512, 20_000
_REPLICATES: dict[Size, int] = {"small": 4, "paper": 12}
_COLORS = {"residual_step": "purple", "dot_kernel_ridge": "orange"}
_NAMES = {"residual_step": "one step on the residual", "dot_kernel_ridge": "kernel"}


def new_learner(name: str, replicate: int) -> Any:
    """Unfitted learner: the network, or the kernel of the same network without a step."""
    if name == "residual_step":
        return LEARNERS[name](_WIDTH, random_state=replicate)
    return LEARNERS[name](activation="relu(z)", random_state=replicate)


def _error(learner: Any, target: Target, W_star: np.ndarray, replicate: int) -> float:
    """Mean square error on rows of another seed, in the frame of the sample."""
    rows = target.sample(_TEST, D, seed=1, replicate=replicate, dtype="float32").X
    labels = target(rows.astype(float) @ W_star.T)
    return float(np.mean((learner.predict(rows) - labels) ** 2))


def direct(name: str, n: int, replicates: int) -> xr.Dataset:
    """Error on the first target from n samples."""
    target, errors = Target(FIRST), []
    for replicate in range(replicates):
        sample = target.sample(n, D, seed=0, replicate=replicate, dtype="float32")
        learner = new_learner(name, replicate).fit(sample.X, sample.y)
        errors.append(_error(learner, target, sample.W_star, replicate))
    return _curve(errors, name, FIRST, n)


def transferred(name: str, n: int, replicates: int) -> xr.Dataset:
    """Error on the other target from n samples: features of the first one, or none."""
    first, other, errors = Target(FIRST), Target(OTHER), []
    for replicate in range(replicates):
        few = other.sample(n, D, seed=2, replicate=replicate, dtype="float32")
        if name == "residual_step":
            source = first.sample(_SOURCE_SAMPLES, D, seed=0, replicate=replicate, dtype="float32")
            # The few samples are of the other target in the frame of the first.
            labels = other(few.X.astype(float) @ source.W_star.T)
            learner = new_learner(name, replicate).fit(source.X, source.y)
            learner, frame = learner.refit_readout(few.X, labels), source.W_star
        else:
            learner, frame = new_learner(name, replicate).fit(few.X, few.y), few.W_star
        errors.append(_error(learner, other, frame, replicate))
    return _curve(errors, name, OTHER, n)


def _curve(errors: list[float], name: str, target: str, n: int) -> xr.Dataset:
    return curve(
        {
            "test_mse": ("replicate", np.array(errors)),
            "test_mse_err": ("replicate", np.zeros(len(errors))),
        },
        {"replicate": np.arange(len(errors))},
        source=f"simulation:{name}",
        target=target,
        params={"d": D, "n": n, "width": _WIDTH},
        seed=0,
    )


@FIGURES.add("residual-step")
class ResidualStepFigure(GalleryFigure):
    """Features from one gradient of the residual need less data than a kernel, and transfer."""

    title = "Features from one gradient of the residual"
    sentence = (
        "One gradient step on what a linear fit leaves finds both directions of the target with "
        "$n$ of the order of $d^2$, where the kernel of the same network learns a quadratic at "
        "best (a); the features then serve another target from a few hundred samples (b)."
    )
    cites = ("damian2022representations",)
    budget = {"small": 100.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Errors against samples on the first target and, transferred, on the other."""
        import xarray as xr

        count, found = _REPLICATES[size], {}
        for name in _COLORS:
            samples = SAMPLES if name == "residual_step" else KERNEL_SAMPLES
            for words, function, sizes in (("direct", direct, samples), ("few", transferred, FEW)):
                runs = [memo(function, name, n, count) for n in sizes]
                joined = xr.concat(runs, dim="n", combine_attrs="override")
                found[f"{words} {name}"] = joined.assign_coords(n=list(sizes))
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Direct and transferred."""
        charts = []
        for words, title, level in (
            ("direct", "the first target, $d = 64$", 2 / 3),
            ("few", "another target of the same directions", None),
        ):
            series = [] if level is None else [hline("best quadratic function, theory", level)]
            for name, color in _COLORS.items():
                mean, error = average(data[f"{words} {name}"], "test_mse")
                features = name == "residual_step" and words == "few"
                label = "features of the first target" if features else _NAMES[name]
                series.append(
                    points(
                        f"{label}, simulation",
                        mean.n.values,
                        mean.values,
                        error.values,
                        color=color,
                    )
                )
            x, y = Axis("samples $n$", "log"), Axis("test error", range=(0, 1.15))
            charts.append(Chart(title, x, y, tuple(series), legend="below"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Who learns what from how much."""
        mean = {key: average(runs, "test_mse")[0] for key, runs in data.items()}
        moved, kernel = mean["direct residual_step"], mean["direct dot_kernel_ridge"]
        few, alone = mean["few residual_step"], mean["few dot_kernel_ridge"]
        return [
            Claim(
                "the step learns more than any quadratic function, the kernel less",
                bool(moved[-1] < 0.45 and kernel.min() > 2 / 3),
                f"{float(moved[-1]):.3f} against {float(kernel.min()):.3f}, quadratic 0.667",
            ),
            Claim(
                "with d^2/2 samples and more the step beats the kernel",
                bool((moved.sel(n=list(KERNEL_SAMPLES)).values < kernel.values)[1:].all()),
                ", ".join(
                    f"{a:.2f} < {b:.2f}" for a, b in zip(moved.values, kernel.values, strict=False)
                ),
            ),
            Claim(
                "features of one target serve another from few samples",
                bool(few.sel(n=400) < 0.4 and alone.sel(n=400) > 0.7),
                f"400 samples: {float(few.sel(n=400)):.3f} against {float(alone.sel(n=400)):.3f}",
            ),
        ]

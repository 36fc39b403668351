"""Three layers need fewer samples than two, and two fewer than a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, line, points
from ...learners import LEARNERS
from ...targets.hierarchical import Sight
from ...theory.predict import predict
from .._checks import agrees, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
_FEWER = (1.2, 1.4, 1.6, 1.8, 2.0)
KAPPAS = {"kernel": _FEWER, "two": (*_FEWER, 2.2), "three": (*_FEWER, 2.2)}
SIZES: dict[Size, tuple[int, int]] = {"small": (64, 4), "paper": (128, 8)}  # d, replicates
_TEST = 10_000
_NAMES = {"kernel": "kernel", "two": "two layers", "three": "three layers"}
_WITH_ARTICLE = {**_NAMES, "kernel": "the kernel"}
# What the theory says of itself, from measurements that others have published.
_ALLOWED = {"kernel": 0.01, "two": 0.04, "three": 0.035}
_WIDTHS = {"two": (600,), "three": (600, 50)}
_COLORS = {"kernel": "orange", "two": "green", "three": "blue"}
# Two and three layers are one below the threshold: squares that can be seen behind the circles.
_LOOKS: dict[str, dict[str, Any]] = {
    "kernel": {"marker": "triangle"},
    "two": {"marker": "square", "hollow": True, "size": 6.5},
    "three": {"size": 3.5},
}
_THEORY = {"kernel": "lazy", "two": "two_layer", "three": "three_layer"}


def measured(name: str, kappa: float, d: int, replicates: int) -> xr.Dataset:
    """Error on fresh samples in each replicate, each with a target of its own."""
    n, errors = int(d**kappa), []
    for replicate in range(replicates):
        sample = TARGET.sample(n + _TEST, d, seed=0, replicate=replicate)
        if name == "kernel":  # (x.x')^2 + x.x' + 1, which learns what any kernel can from d^2
            learner = LEARNERS["dot_kernel_ridge"](
                "polynomial", coefficients=(1.0, d, d**2), ridge=None, random_state=replicate
            )
        else:  # in closed form, as the theory has them; networks in practice train on
            learner = LEARNERS["layerwise"](
                "spectral", widths=_WIDTHS[name], correction=False, random_state=replicate
            )
        learner.fit(sample.X[:n], sample.y[:n])
        errors.append(np.mean((learner.predict(sample.X[n:]) - sample.y[n:]) ** 2))
    return curve(
        {
            "excess_mse": ("replicate", np.array(errors)),
            "excess_mse_err": ("replicate", np.zeros(replicates)),
        },
        {"replicate": np.arange(replicates)},
        source=f"simulation:{name}",
        target=TARGET.text,
        params={"d": d, "n": n},
        seed=0,
    )


@FIGURES.add("depth-advantage")
class DepthAdvantage(GalleryFigure):
    """Three layers need fewer samples than two, and two fewer than a kernel."""

    title = "The advantage of depth"
    sentence = (
        "On a target with a hidden feature, three layers learn from fewer samples than two, and "
        "these from fewer than a kernel. Lines are theory, for this dimension (a) and in the limit "
        "(b), where three layers are done at $n = d^{3/2}$; points are networks whose layers are "
        "found one after the other in closed form."
    )
    cites = ("dandi2025depth", "nichani2023three")
    budget = {"small": 100.0, "paper": 1500.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Errors of the three learners against log n / log d, and the predictions."""
        import xarray as xr

        d, replicates = SIZES[size]
        found = {}
        for name in _NAMES:
            runs = [memo(measured, name, kappa, d, replicates) for kappa in KAPPAS[name]]
            joined = xr.concat(runs, dim="kappa", combine_attrs="override")
            found[name] = joined.assign_coords(kappa=list(KAPPAS[name]))
        fine = np.linspace(1.2, 2.2, 21).tolist()
        found["finite"] = memo(predict, TARGET, "depth", kappa=fine, d=d, whitened=True)
        found["limit"] = memo(predict, TARGET, "depth", kappa=np.linspace(1.0, 3.2, 221).tolist())
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Finite dimension with measurements, and the limit."""
        finite, limit = [], []
        for name, words in _NAMES.items():
            color = _COLORS[name]
            mean, error = average(data[name], "excess_mse")
            variable = f"{_THEORY[name]}_excess_mse"
            finite += [
                line(
                    f"{words}, theory",
                    data["finite"].kappa,
                    data["finite"][variable].values,
                    color=color,
                ),
                points(
                    f"{words}, simulation",
                    mean.kappa.values,
                    mean.values,
                    error.values,
                    color=color,
                    **_LOOKS[name],
                ),
            ]
            x = data["limit"].kappa.values
            limit.append(line(f"{words}, theory", x, data["limit"][variable].values, color=color))
        d = setting(data["three"], "d")
        x_axis, y_axis = Axis(r"$\log n / \log d$"), Axis("excess error", range=(0, None))
        return Panels(
            self.title,
            (
                Chart(f"$d = {d}$", x_axis, y_axis, tuple(finite), legend="below"),
                Chart("limit of large $d$", x_axis, y_axis, tuple(limit), legend="below"),
            ),
            caption=self.sentence,
        )

    def claims(self, data: Data) -> list[Claim]:
        """The ordering, and the agreement with the predictions of finite dimension."""
        found, last, finite = [], {}, data["finite"]
        for name, slack in _ALLOWED.items():
            mean, error = average(data[name], "excess_mse")
            last[name] = float(mean.sel(kappa=2.0))
            found.append(
                agrees(
                    f"the error of {_WITH_ARTICLE[name]} is within five standard errors and "
                    f"{slack} of the theory, which is what it says of itself",
                    (mean.kappa, mean, error),
                    (finite.kappa, finite[f"{_THEORY[name]}_excess_mse"]),
                    slack=slack,
                )
            )
        found.append(
            Claim(
                "at n = d^2 three layers are better than two, and two than the kernel",
                last["three"] < last["two"] < last["kernel"],
                " < ".join(f"{last[name]:.3f}" for name in ("three", "two", "kernel")),
            )
        )
        limit = data["limit"]
        done = float(limit.kappa[int(np.argmax(limit.three_layer_excess_mse.values < 1e-6))])
        found.append(
            Claim(
                "in the limit three layers are done at n = d^1.5",
                abs(done - 1.5) < 0.02,
                f"log n / log d = {done:.2f}",
            )
        )
        return found

"""Kernel, two and three layers on targets of several hidden features, and on a tree of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, Series, average, line, points
from ...learners import LEARNERS
from ...targets.hierarchical import Might, Tree
from ...theory.predict import predict
from .._checks import agrees, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TITLES = {"branches": "three branches", "tree": "tree of two levels"}
_NAMES = {"kernel": "kernel", "two": "two layers", "three": "three layers", "four": "four layers"}
_COLORS = {"kernel": "orange", "two": "green", "three": "blue", "four": "vermillion"}
_MARKERS = {"kernel": "triangle", "two": "square", "three": "circle", "four": "diamond"}
# Networks that choose to be less deep have one error: their marks lie inside each other.
_MARKS = {"kernel": 5.0, "two": 5.5, "three": 3.0, "four": 8.5}
_THEORY = {"kernel": "lazy", "two": "two_layer"}
_ALLOWED = {"kernel": 0.01, "two": 0.04}  # what the theory says of itself
_WIDTHS = {"two": (600,), "three": (600, 50), "four": (600, 200, 50)}
_PENALTIES = (0.01, 0.1, 1.0, 10.0)
_TEST = 4000
SIZES: dict[Size, tuple[int, tuple[int, ...], int]] = {  # d, samples, replicates
    "small": (36, (300, 1000, 3000, 10_000), 3),
    "paper": (64, (1000, 3000, 10_000, 30_000), 8),
}


def target(case: str, d: int) -> Might | Tree:
    """Three branches of about d^0.4 directions each, or d/3 directions below four features."""
    if case == "branches":
        return Might("tanh(3*h)", "He2(z)/2 + He3(z)/6", branches=3, exponent=0.4)
    widths = (d // 12 * 4, 4)
    upper = f"0.7*z + {math.sqrt((1 - 0.7**2) / 2):.12g}*He2(z)"
    return Tree(
        "tanh(1.5*h)",
        ["He2(z)/sqrt(2)", upper],
        [math.log(width + 0.5) / math.log(d) for width in widths],
        signs=([1.0] * widths[0], [1.0, -1.0] * (widths[1] // 2)),
    )


def quadratic_fit(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predictions of the best polynomial of degree two, with a penalty chosen on a fifth."""
    first, second = np.triu_indices(X.shape[1])

    def features(rows: np.ndarray) -> np.ndarray:
        return np.hstack([rows, rows[:, first] * rows[:, second]])

    F, G, cut = features(X), features(new), len(y) * 4 // 5
    mean, scale, level = F.mean(0), F.std(0), y.mean()
    F, G, y = (F - mean) / scale, (G - mean) / scale, y - level

    def weights(rows: int, penalty: float) -> np.ndarray:
        gram = F[:rows].T @ F[:rows] + penalty * rows * np.eye(F.shape[1])
        found: np.ndarray = np.linalg.solve(gram, F[:rows].T @ y[:rows])
        return found

    held = [np.mean((F[cut:] @ weights(cut, one) - y[cut:]) ** 2) for one in _PENALTIES]
    prediction: np.ndarray = level + G @ weights(len(y), _PENALTIES[int(np.argmin(held))])
    return prediction


def measured(case: str, name: str, n: int, d: int, replicates: int) -> xr.Dataset:
    """Error on fresh samples in each replicate, each with a target of its own."""
    known, errors = target(case, d), []
    for replicate in range(replicates):
        sample = known.sample(n + _TEST, d, seed=0, replicate=replicate)
        X, y, new = sample.X[:n], sample.y[:n], sample.X[n:]
        if name == "kernel":
            prediction = quadratic_fit(X, y, new)
        else:
            learner = LEARNERS["layerwise"](
                "spectral", widths=_WIDTHS[name], correction=False, random_state=replicate
            )
            prediction = learner.fit(X, y).predict(new)
        errors.append(np.mean((prediction - sample.y[n:]) ** 2))
    return curve(
        {
            "excess_mse": ("replicate", np.array(errors)),
            "excess_mse_err": ("replicate", np.zeros(replicates)),
        },
        {"replicate": np.arange(replicates)},
        source=f"simulation:{name}",
        target=known.text,
        params={"d": d, "n": n},
        seed=0,
    )


@FIGURES.add("depth-branches")
class DepthBranches(GalleryFigure):
    """Kernel, two and three layers on targets of several hidden features, and on a tree of them."""

    title = "Depth on several features and on a tree"
    sentence = (
        "Three layers also pay on a target of three hidden features and on a tree of them, once "
        "their second layer tells the features apart; a fourth layer adds nothing above four "
        "features (points: networks in closed form; lines: theory of the kernel and of two layers "
        "at this dimension)."
    )
    cites = ("dandi2025depth",)
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Errors of the learners against log n / log d, and predictions at this dimension."""
        import xarray as xr

        d, samples, replicates = SIZES[size]
        kappas = [math.log(n) / math.log(d) for n in samples]
        found = {}
        for case in TITLES:
            for name in _names(case):
                runs = [memo(measured, case, name, n, d, replicates) for n in samples]
                joined = xr.concat(runs, dim="kappa", combine_attrs="override")
                found[f"{case} {name}"] = joined.assign_coords(kappa=kappas)
            grid = sorted({*kappas, *np.linspace(kappas[0], kappas[-1], 7)[1:-1].tolist()})
            found[f"{case} theory"] = memo(
                predict, target(case, d), "depth", kappa=grid, d=d, whitened=True
            )
        return found

    def draw(self, data: Data) -> Panels:
        """One panel for each target."""
        charts = []
        for case, title in TITLES.items():
            series: list[Series] = []
            theory = data[f"{case} theory"]
            for name in sorted(_names(case), key=lambda one: -_MARKS[one]):
                color = _COLORS[name]
                mean, error = average(data[f"{case} {name}"], "excess_mse")
                mark = _MARKERS[name]
                series.append(
                    points(
                        f"{_NAMES[name]}, simulation",
                        mean.kappa.values,
                        mean.values,
                        error.values,
                        color=color,
                        marker=mark,
                        size=_MARKS[name],
                        hollow=name in ("two", "four"),
                    )
                )
                if name in _THEORY:
                    values = theory[f"{_THEORY[name]}_excess_mse"].values
                    words = f"{_NAMES[name]}, theory"
                    series.append(line(words, theory.kappa.values, values, color=color))
            d = setting(data[f"{case} two"], "d")
            x, y = Axis(r"$\log n / \log d$"), Axis("excess error", range=(0, None))
            charts.append(Chart(f"{title}, $d = {d}$", x, y, tuple(series), legend="below"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Theory of two; three layers win, and a fourth adds nothing above four features."""
        found = []
        for case, title in TITLES.items():
            last = {
                name: average(data[f"{case} {name}"], "excess_mse")[0].values[-1]
                for name in _names(case)
            }
            numbers = ", ".join(f"{name} {value:.3f}" for name, value in last.items())
            found.append(
                Claim(
                    f"{title}: three layers leave less than two thirds of what two layers leave",
                    bool(last["three"] < 2 / 3 * min(last["two"], last["kernel"])),
                    numbers,
                )
            )
            theory = data[f"{case} theory"]
            for name, slack in _ALLOWED.items():
                mean, error = average(data[f"{case} {name}"], "excess_mse")
                found.append(
                    agrees(
                        f"{title}: the error of the {_NAMES[name]} is that of the theory, within "
                        f"five standard errors and {slack}",
                        (mean.kappa, mean, error),
                        (theory.kappa, theory[f"{_THEORY[name]}_excess_mse"]),
                        slack=slack,
                    )
                )
        three, four = (
            average(data[f"tree {name}"], "excess_mse")[0].values[-1] for name in ("three", "four")
        )
        found.append(
            Claim(
                "the fourth layer moves the error by less than a tenth",
                bool(abs(four / three - 1) < 0.1),
                f"{four:.4f} against {three:.4f}",
            )
        )
        return found


def _names(case: str) -> tuple[str, ...]:
    return ("kernel", "two", "three") if case == "branches" else tuple(_NAMES)

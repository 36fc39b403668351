"""Figure: without feature learning a degree is learned for each power of the dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...base.seeds import stream
from ...charts import Axis, Chart, Panels, line, ordered_colors, points
from ...learners.lazy.dot_kernel_ridge import DotKernelRidge
from ...learners.lazy.random_features import RandomFeatures
from ...targets.target import Target
from ...theory.predict import predict
from .._checks import agrees, mean_and_error
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = "z1 + He2(z2)/sqrt(2) + He3(z3)/sqrt(6)"
ACTIVATION = "exp(z)"  # it contains every degree
RIDGE = 0.1
TEST = 4000
DIMENSIONS = (30, 100, 1000)
CORNERS = (0.4, 0.999, 1.0, 1.999, 2.0, 2.999, 3.0, 3.6)
SAMPLES = {30: (15, 30, 100, 300, 1000, 2500), 100: (30, 100, 300, 1000, 2500)}
WIDTHS = (8, 30, 100, 300, 1000, 2500)
ROWS = 2500  # samples of the random features
REPLICATES = {"small": 6, "paper": 40}
COLORS = dict(zip(DIMENSIONS, ordered_colors(4), strict=False))


def errors(d: int, n: int, width: int | None, replicates: int, text: str = TARGET) -> xr.Dataset:
    """Test errors of the kernel, or of random features, on inputs uniform on the sphere.

    The theory at finite dimension is that of the sphere; Gaussian inputs have fluctuating norms
    besides, which at d = 30 still matter.
    """
    target, found = Target(text), []
    options: dict[str, Any] = {"activation": ACTIVATION, "ridge": RIDGE, "standardize": False}
    learner: Any
    for replicate in range(replicates):
        rng = stream(0, "data", d=d, replicate=replicate)
        X = rng.standard_normal((n + TEST, d))
        X *= np.sqrt(d) / np.linalg.norm(X, axis=1, keepdims=True)
        y = target(X[:, : target.r])
        if width is None:
            learner = DotKernelRidge(**options)
        else:
            start = stream(0, "init", d=d, replicate=replicate)
            learner = RandomFeatures(width, init="random", random_state=start, **options)
        wrong = learner.fit(X[:n], y[:n]).predict(X[n:]) - y[n:]
        found.append([np.mean(wrong**2), np.std(wrong**2) / np.sqrt(TEST)])
    values, deviations = np.array(found).T
    name = "dot_kernel_ridge" if width is None else "random_features"
    dims = ("n", "width", "replicate")
    shape = (1, 1, replicates)
    return curve(
        {
            "test_mse": (dims, values.reshape(shape)),
            "test_mse_err": (dims, deviations.reshape(shape)),
        },
        {"n": [n], "width": [width or 0], "replicate": np.arange(replicates)},
        source=f"simulation:{name}",
        target=text,
        params={"d": d, "activation": ACTIVATION, "ridge": RIDGE},
        seed=0,
    )


@FIGURES.add("lazy-staircase")
class LazyStaircase(GalleryFigure):
    """Test error of kernels and random features against the exponent of samples or neurons."""

    title = r"Lazy staircase of $z_1+\mathrm{He}_2(z_2)/\sqrt{2}+\mathrm{He}_3(z_3)/\sqrt{6}$"
    sentence = (
        r"With a fixed first layer the degree $k$ of a target is learned from $d^k$ samples and "
        r"$d^k$ neurons, whatever its directions: plateaus at integer exponents, which sharpen as "
        "the dimension grows (lines: theory at each dimension; points: simulation)."
    )
    cites = ("ghorbani2019linearized", "mei2021hyper", "defilippis2024rfrr")
    budget = {"small": 100.0, "paper": 1200.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Theory at three dimensions and in the limit; kernels and random features."""
        import xarray as xr

        replicates, options = REPLICATES[size], {"activation": ACTIVATION, "ridge": RIDGE}
        kappa = np.linspace(0.4, 3.6, 65).round(4).tolist()
        found = {"limit": memo(predict, TARGET, "lazy", kappa=list(CORNERS))}
        for d in DIMENSIONS:
            found[f"theory {d}"] = memo(predict, TARGET, "lazy", kappa=kappa, d=d, **options)
        for d, samples in SAMPLES.items():
            runs = [memo(errors, d, n, None, replicates) for n in samples]
            found[f"kernel {d}"] = xr.concat(runs, dim="n")
        found["features"] = xr.concat(
            [memo(errors, 30, ROWS, width, replicates) for width in WIDTHS], dim="width"
        )
        exponent = [float(np.log(ROWS) / np.log(30))]
        widths = sorted({*WIDTHS, *np.geomspace(6, 4000, 40).round().astype(int).tolist()})
        lines = [
            memo(predict, TARGET, "lazy", kappa=exponent, d=30, width=width, **options)
            for width in widths
        ]
        found["theory features"] = xr.concat(
            [one.expand_dims(width=[width]) for one, width in zip(lines, widths, strict=True)],
            dim="width",
        ).isel(kappa=0, drop=True)
        return found

    def draw(self, data: Data) -> Panels:
        """Kernels on the left, random features on the right."""
        limit = data["limit"]
        y = Axis(r"test error $\mathbb{E}(y-\hat f)^2$", range=(0.0, 3.4))
        steps = line(
            r"$d\to\infty$, theory",
            limit.kappa,
            limit.excess_mse,
            color="black",
            dash="dot",
            width=1.1,
        )
        lines, dots = [steps], []
        for d in DIMENSIONS:
            theory = data[f"theory {d}"]
            lines.append(line(f"$d={d}$, theory", theory.kappa, theory.excess_mse, color=COLORS[d]))
            if d in SAMPLES:
                dots.append(points("", *points_of(data[f"kernel {d}"], "n", d), color=COLORS[d]))
        left = Chart(
            "kernel ridge regression",
            Axis(r"$\log n/\log d$", range=(0.4, 3.6)),
            y,
            (*lines, *dots, points("simulation", [], [], color="gray")),
            legend="lower left",
        )
        theory, place = data["theory features"], np.log(30)
        right = Chart(
            f"random features, $n={ROWS}$",
            Axis(r"$\log p/\log d$", range=(0.4, 2.5)),
            y,
            (
                line(
                    "$d=30$, theory",
                    np.log(theory.width) / place,
                    theory.excess_mse,
                    color=COLORS[30],
                ),
                points("simulation", *points_of(data["features"], "width", 30), color=COLORS[30]),
            ),
            legend="lower left",
        )
        return Panels(self.title, (left, right), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Plateaus, their sharpening, and that finite dimensions follow the theory."""
        limit = data["limit"]
        levels = limit.excess_mse.values[::2]
        middle = [
            float(data[f"theory {d}"].excess_mse.sel(kappa=2.4, method="nearest"))
            for d in DIMENSIONS
        ]
        theory = data["theory features"]
        return [
            Claim(
                "each degree carries one third: plateaus at 3, 2, 1, 0",
                bool(np.allclose(levels, [3, 2, 1, 0], atol=1e-6)),
                ", ".join(f"{level:.4f}" for level in levels),
            ),
            Claim(
                "the plateau of degree two, 1, is approached from below as d grows",
                bool(middle[0] < middle[1] < middle[2] <= 1.05),
                ", ".join(f"{value:.2f}" for value in middle),
            ),
            *(
                agrees(
                    f"kernel ridge regression follows the theory at d = {d}",
                    points_of(data[f"kernel {d}"], "n", d),
                    (data[f"theory {d}"].kappa, data[f"theory {d}"].excess_mse),
                    slack=1 / d,
                    relative=0.05,
                )
                for d in SAMPLES
            ),
            agrees(
                "random features follow the theory in their width",
                points_of(data["features"], "width", 30),
                (np.log(theory.width) / np.log(30), theory.excess_mse),
                slack=1 / 30,
                relative=0.05,
            ),
        ]


def points_of(runs: xr.Dataset, axis: str, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exponents, mean test errors and their standard errors."""
    values = runs.test_mse.transpose(axis, "replicate", ...).values.squeeze(-1)
    return np.log(runs[axis].values) / np.log(d), *mean_and_error(values, axis=1)

"""Figure: features that are not Gaussian learn like Gaussian ones with the same covariances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...base.seeds import stream
from ...charts import PALETTE, Axis, Chart, Panels, line, points
from ...targets.target import Target
from ...theory.lazy.learning_curve import learning_curve
from ...theory.predict import predict
from .._checks import agrees, mean_and_error, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Target("sign(z)", noise=0.0)
ACTIVATIONS = {"relu(z)": ("ReLU", "blue"), "sign(z)": ("sign", "vermillion")}
# E s(z), E z s(z), E s(z)^2.
MOMENTS = {
    "relu(z)": (1 / math.sqrt(2 * math.pi), 0.5, 0.5),
    "sign(z)": (0.0, math.sqrt(2 / math.pi), 1.0),
}
WIDTH, RIDGE = 1.5, 0.2
ALPHA = (0.4, 0.8, 1.2, 1.6, 2.2, 3.0, 4.0, 6.0)
SIZES = {"small": (200, 16), "paper": (1000, 50)}
ROWS = (20, 40, 80, 160, 320, 640)
TABLE_RIDGE = 10.0
SPLITS = {"small": 40, "paper": 200}


def surrogate(activation: str, d: int, alpha: float, replicates: int) -> xr.Dataset:
    r"""Test errors of ridge regression on the Gaussian features that stand for nonlinear ones.

    .. math:: \phi(x) \to \mu_1 W x + \mu_\star \xi, \qquad \xi \sim N(0, I)

    with the mean of the features left to the intercept. Nothing here applies an activation.
    """
    mean, first, square = MOMENTS[activation]
    rest = math.sqrt(square - mean**2 - first**2)
    n, p, found = round(alpha * d), round(WIDTH * d), []
    for replicate in range(replicates):
        rng = stream(0, "surrogate", d=d, replicate=replicate)
        W = rng.standard_normal((p, d)) / math.sqrt(d)
        X = rng.standard_normal((n + 2000, d))
        features = (first * X @ W.T + rest * rng.standard_normal((n + 2000, p))) / math.sqrt(p)
        y = TARGET(X[:, :1])
        center, level = features[:n].mean(0), y[:n].mean()
        F = features[:n] - center
        a = np.linalg.solve(F.T @ F + RIDGE * np.eye(p), F.T @ (y[:n] - level))
        found.append(np.mean(((features[n:] - center) @ a + level - y[n:]) ** 2))
    return _runs("test_mse", "alpha", alpha, found, "surrogate", TARGET.text, {"d": d})


def table_errors(n: int, splits: int) -> xr.Dataset:
    """Test errors of ridge regression on n rows of a real table, measured on the other rows."""
    X, y = _table()
    found = []
    for split in range(splits):
        rows = stream(0, "data", replicate=split).permutation(len(X))
        train, test = rows[:n], rows[n:]
        center, level = X[train].mean(0), y[train].mean()
        F = X[train] - center
        a = np.linalg.solve(F.T @ F + TABLE_RIDGE * np.eye(X.shape[1]), F.T @ (y[train] - level))
        found.append(np.mean(((X[test] - center) @ a + level - y[test]) ** 2))
    return _runs("test_mse", "n", n, found, "ridge", "parity of handwritten digits", {"ridge": 10})


def table_theory(samples: list[int]) -> xr.Dataset:
    """Learning curve predicted from the covariances of the table."""
    X, y = _table()
    return learning_curve(X, y, n=samples, ridge=TABLE_RIDGE)


def _table() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits: is the digit even? Pixels are of unit variance."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    X = X[:, X.std(0) > 0.1]
    return (X - X.mean(0)) / X.std(0), np.where(digit % 2 == 0, 1.0, -1.0)


def _runs(
    name: str, axis: str, place: float, found: list[Any], source: str, target: str, params: Any
) -> xr.Dataset:
    dims = (axis, "replicate")
    return curve(
        {name: (dims, [found]), f"{name}_err": (dims, np.zeros((1, len(found))))},
        {axis: [place], "replicate": np.arange(len(found))},
        source=f"simulation:{source}",
        target=target,
        params=params,
        seed=0,
    )


@FIGURES.add("gaussian-equivalence")
class GaussianEquivalence(GalleryFigure):
    """Test errors of nonlinear features, of their Gaussian surrogates, and of a real table."""

    title = "Gaussian equivalence"
    sentence = (
        "Nonlinear random features (filled) and Gaussian features with the same covariances "
        "(hollow) have the same test error, which theory computes from these covariances alone; "
        "the same formula predicts the learning curve of a real table of images."
    )
    cites = ("goldt2020get", "hu2020universality", "loureiro2021curves", "gerace2020rf")
    budget = {"small": 100.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Theory, nonlinear and Gaussian features; theory and fits of a table."""
        import xarray as xr

        d, replicates = SIZES[size]
        grid = sorted({*ALPHA, *np.geomspace(0.3, 7, 40).round(4).tolist()})
        found = {}
        for name in ACTIVATIONS:
            options: dict[str, Any] = {"activation": name, "ridge": RIDGE, "width_ratio": WIDTH}
            found[f"theory {name}"] = memo(
                predict, TARGET, "random_features", alpha=grid, **options
            )
            sizes: dict[str, Any] = {"d": d, "replicates": replicates, "test_samples": 2000}
            found[f"features {name}"] = memo.simulate(
                TARGET, "random_features", alpha=ALPHA, **options, **sizes
            )
            runs = [memo(surrogate, name, d, alpha, replicates) for alpha in ALPHA]
            found[f"surrogate {name}"] = xr.concat(runs, dim="alpha")
        fine = sorted({*ROWS, *np.geomspace(16, 800, 30).round().astype(int).tolist()})
        found["theory table"] = memo(table_theory, fine)
        found["table"] = xr.concat([memo(table_errors, n, SPLITS[size]) for n in ROWS], dim="n")
        return found

    def draw(self, data: Data) -> Panels:
        """Random features on the left, the table on the right."""
        lines, filled, hollow = [], [], []
        for name, (label, color) in ACTIVATIONS.items():
            theory = data[f"theory {name}"].squeeze()
            lines.append(line(f"{label}, theory", theory.alpha, theory.test_mse, color=color))
            filled.append(points("", *_points(data[f"features {name}"], "alpha"), color=color))
            place = _points(data[f"surrogate {name}"], "alpha")
            hollow.append(points("", *place, color=color, marker="square", hollow=True, size=6.5))
        d = setting(data["features relu(z)"], "d")
        notes = (
            points(f"simulation: features, $d={d}$", [], [], color="gray"),
            points(
                "simulation: Gaussian features",
                [],
                [],
                color="gray",
                marker="square",
                hollow=True,
                size=6.5,
            ),
        )
        left = Chart(
            f"random features, $p={WIDTH:g}d$, labels $\\operatorname{{sign}}(z)$",
            Axis(r"samples per dimension $\alpha=n/d$", "log", (0.3, 7)),
            Axis(r"test error $\mathbb{E}(y-\hat f)^2$", range=(0.4, 1.15)),
            (*lines, *hollow, *filled, *notes),
            legend="lower left",
        )
        theory, color = data["theory table"].squeeze(), PALETTE["green"]
        right = Chart(
            "ridge regression on images of digits",
            Axis("training rows $n$", "log", (15, 900)),
            Axis("test error (even or odd digit)", range=(0.25, 0.75)),
            (
                line("theory from covariances", theory.n, theory.test_mse, color=color),
                points("measured", *_points(data["table"], "n"), color=color),
            ),
            legend="upper right",
        )
        return Panels(self.title, (left, right), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Both kinds of features follow the theory and each other; so does the table, nearly."""
        found = []
        for name in ACTIVATIONS:
            theory = data[f"theory {name}"].squeeze()
            d = setting(data[f"features {name}"], "d")
            both = {
                kind: _points(data[f"{kind} {name}"], "alpha") for kind in ("features", "surrogate")
            }
            for kind, measured in both.items():
                found.append(
                    agrees(
                        f"{kind} of {name} follow the theory",
                        measured,
                        (theory.alpha, theory.test_mse),
                        slack=2 / d,
                    )
                )
            (_, one, e1), (_, other, e2) = both.values()
            gap = np.abs(one - other) / np.hypot(e1, e2)
            found.append(
                Claim(
                    f"nonlinear and Gaussian features of {name} have the same error",
                    bool(gap.max() < 5),
                    f"largest difference {gap.max():.1f} standard errors",
                )
            )
        theory = data["theory table"].squeeze()
        found.append(
            agrees(
                "the covariances of a table predict its learning curve within a tenth",
                _points(data["table"], "n"),
                (theory.n, theory.test_mse),
                slack=0.0,
                relative=0.1,
            )
        )
        return found


def _points(runs: xr.Dataset, axis: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = runs.test_mse.squeeze(drop=True).transpose(axis, "replicate").values
    return runs[axis].values, *mean_and_error(values, axis=1)

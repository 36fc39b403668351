"""Figure: after a giant step features are Gaussian given the spike, and not Gaussian as a whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...base.seeds import stream
from ...charts import Axis, Chart, Panels, average, line, points
from ...targets.target import Target
from ...theory import conditional_equivalent
from ...theory.predict import predict
from .._checks import STANDARD_ERRORS, agrees, setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from ._one_step import one_step

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET = Target("sin(z)")
ACTIVATION = "tanh(z)"
BATCH_RATIO, WIDTH_RATIO, STEP, RIDGE = 20.0, 1.0, 3.0, 0.1
READOUT_RATIOS = (0.5, 0.8, 1.6, 3.0, 6.0)
SIZES: dict[Size, tuple[int, int]] = {"small": (200, 16), "paper": (800, 24)}  # d, replicates
KINDS = {
    "conditional": ("Gaussian given the spike", "square", True),
    "unconditional": ("Gaussian as a whole", "triangle", True),
    "features": ("features after the step", "circle", False),
}
ERRORS = {"test_mse": "test error", "train_mse": "training error"}
_TEST = 4000


def measured(readout_ratio: float, d: int, replicates: int) -> xr.Dataset:
    """Errors of the same ridge readout on features of a real step and on their two surrogates."""
    n, found = round(readout_ratio * d), np.empty((len(KINDS), 2, replicates))
    for replicate in range(replicates):
        learner, sample = one_step(
            TARGET, d=d, batch_ratio=BATCH_RATIO, width_ratio=WIDTH_RATIO, step_size=STEP,
            activation=ACTIVATION, readout="ones", replicate=replicate,
        )  # fmt: skip
        batch = round(BATCH_RATIO * d)
        direction = sample.X[:batch].T @ sample.y[:batch]  # the spike that all neurons share
        direction = (direction / np.linalg.norm(direction)).astype(float)
        rng = stream(0, "surrogate", d=d, replicate=replicate)
        X = rng.standard_normal((n + _TEST, d))
        y = TARGET(X @ sample.W_star.T)
        features = _features(X, learner.weights_.astype(float), direction, rng)
        for i, kind in enumerate(KINDS):
            found[i, :, replicate] = _errors(features[kind], y, n)
    values: dict[str, Any] = {}
    for j, name in enumerate(ERRORS):
        dims = ("source", "replicate")
        values |= {name: (dims, found[:, j]), f"{name}_err": (dims, np.zeros_like(found[:, j]))}
    return curve(
        values,
        {"source": list(KINDS), "replicate": np.arange(replicates)},
        source="simulation:giant_step",
        target=TARGET.text,
        params={"d": d, "readout_ratio": readout_ratio},
        seed=0,
    )


def _features(
    X: np.ndarray, W: np.ndarray, direction: np.ndarray, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    r"""Features of inputs, and Gaussian ones with their moments given the spike and as a whole.

    .. math:: \phi_k \to \mu_0(\kappa) + \mu_1(\kappa)\langle w_k - r v, x\rangle
              + \mu_\star(\kappa)\,\xi_k, \qquad \kappa = \langle v, x\rangle                [OS-3]

    and, with the mean and the covariance of this over :math:`\kappa` as well, a linear function.
    """
    strength = float((W @ direction).mean())
    rest = W - strength * direction
    scale = float(np.mean(np.sum(rest**2, axis=1)))
    kappa, own = X @ direction, X @ rest.T
    grid = np.linspace(-7, 7, 1401)
    table = conditional_equivalent(ACTIVATION, grid, spike=strength, scale=scale)
    weight = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    mu_0, mu_1, mu_star = (table[name].values for name in ("mu_0", "mu_1", "mu_star"))
    noise = rng.standard_normal(own.shape)
    at = [np.interp(kappa, grid, mu)[:, None] for mu in (mu_0, mu_1, mu_star)]

    mean, slope, first = weight @ mu_0, weight @ (grid * mu_0), weight @ mu_1
    shared = math.sqrt(max(weight @ mu_0**2 - mean**2 - slope**2, 0.0))
    other = math.sqrt(max(weight @ mu_1**2 - first**2, 0.0))
    common = mean + slope * kappa + shared * rng.standard_normal(len(X))
    again = rng.standard_normal(X.shape) @ rest.T  # what the slope's spread adds to the covariance
    return {
        "features": np.tanh(X @ W.T),
        "conditional": at[0] + at[1] * own + at[2] * noise,
        "unconditional": common[:, None]
        + first * own
        + other * again
        + math.sqrt(weight @ mu_star**2) * noise,
    }


def _errors(features: np.ndarray, y: np.ndarray, n: int) -> tuple[float, float]:
    """Test and training error of ridge regression on the first n rows."""
    F = features / math.sqrt(features.shape[1])
    a = np.linalg.solve(F[:n].T @ F[:n] + RIDGE * np.eye(F.shape[1]), F[:n].T @ y[:n])
    squares = (F @ a - y) ** 2
    return float(squares[n:].mean()), float(squares[:n].mean())


@FIGURES.add("conditional-equivalence")
class ConditionalEquivalence(GalleryFigure):
    """Errors of features after a giant step, of Gaussian ones given the spike, and of Gaussian."""

    title = "Conditional Gaussian equivalence"
    sentence = (
        "After a giant step the features learn like Gaussian ones whose mean, slope and noise "
        r"depend on the projection $\kappa$ on the spike (squares): test and training errors agree "
        "with each other and with theory. Gaussian features with the same covariance as a whole "
        "(triangles) learn only a linear function of the spike."
    )
    cites = ("dandi2024spectrum", "cui2024asymptotics")
    budget = {"small": 60.0, "paper": 3600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Theory over the samples of the readout; three kinds of features."""
        import xarray as xr

        d, replicates = SIZES[size]
        runs = [memo(measured, ratio, d, replicates) for ratio in READOUT_RATIOS]
        joined = xr.concat(runs, dim="readout_ratio", combine_attrs="override")
        theory = memo(
            predict, TARGET, "one_step", readout_ratio=np.geomspace(0.4, 7.5, 31),
            batch_ratio=BATCH_RATIO, width_ratio=WIDTH_RATIO, step_size=STEP, ridge=RIDGE,
            activation=ACTIVATION, readout="ones", width=WIDTH_RATIO * d,
        )  # fmt: skip
        joined = joined.assign_coords(readout_ratio=list(READOUT_RATIOS))
        return {"theory": theory, "simulation": joined}

    def draw(self, data: Data) -> Panels:
        """Test error on the left, training error on the right."""
        theory, runs, charts = data["theory"], data["simulation"], []
        d = setting(runs, "d")
        for name, words in ERRORS.items():
            curve_of = theory[name].values.ravel()
            series = [line("theory", theory.readout_ratio.values, curve_of, color="vermillion")]
            mean, error = average(runs, name)
            for kind, (label, marker, hollow) in KINDS.items():
                one, its = mean.sel(source=kind), error.sel(source=kind)
                color = "gray" if kind == "unconditional" else "vermillion"
                style: dict[str, Any] = {"marker": marker, "hollow": hollow, "size": 6.5}
                style = style if hollow else {}
                series.append(
                    points(
                        f"simulation, {label}, $d = {d}$"
                        if kind == "features"
                        else f"simulation, {label}",
                        one.readout_ratio.values,
                        one.values,
                        its.values,
                        color=color,
                        **style,
                    )  # fmt: skip
                )
            x_axis = Axis(r"samples of the readout per dimension $\alpha$", "log", (0.4, 7.5))
            y_axis = Axis(words, "log")
            charts.append(Chart(words, x_axis, y_axis, tuple(series), legend="below"))
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Features and conditional surrogate follow the theory; the other one does not."""
        theory, runs, found = data["theory"], data["simulation"], []
        x = runs.readout_ratio.values
        for name, words in ERRORS.items():
            curve_of = theory.readout_ratio.values, theory[name].values.ravel()
            mean, error = average(runs, name)
            for kind in ("features", "conditional"):
                found.append(
                    agrees(
                        f"{words} of the {KINDS[kind][0].replace('Gaussian', 'features Gaussian')}"
                        " follows the theory, within 10/d of its value",
                        (x, mean.sel(source=kind).values, error.sel(source=kind).values),
                        curve_of,
                        slack=0.0,
                        relative=10 / setting(runs, "d"),
                    )
                )
        # Gaussian features know z through a linear function: the rest of sin is noise to them.
        barrier = float(np.exp(-1) * (np.sinh(1) - 1))
        mean, error = average(runs, "test_mse")
        low = mean.sel(source="unconditional") - STANDARD_ERRORS * error.sel(source="unconditional")
        best = float(mean.sel(source="features").min())
        return [
            *found,
            Claim(
                "the test error of Gaussian features stays above that of the best linear function",
                bool((low > barrier).all()) and best < barrier,
                f"{float(low.min()):.3f} or more against {barrier:.3f}; features reach {best:.3f}",
            ),
        ]

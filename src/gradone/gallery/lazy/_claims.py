"""Measurements behind the claims on frozen features, kernels and scaling laws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.predict import predict
from ...base.estimate import Estimate
from ...experiments.simulate import simulate
from ...targets.activation import Activation
from ...targets.target import Target
from ...theory import (
    gaussian_covariates,
    learning_curve,
    power_law,
    random_feature_ridge,
    scaling_law,
)
from .._verdict import found, mean_of

if TYPE_CHECKING:
    import xarray as xr


def _name(quantity: str, at: float) -> str:
    return f"{quantity}_{at:g}".replace(".", "_")


def _only(curve: xr.Dataset, name: str) -> Estimate:
    error = f"{name}_err"
    return Estimate(
        float(curve[name].item()), float(curve[error].item()) if error in curve else 0.0
    )


def plateaus(target: str, kappa: list[float], **setting: Any) -> xr.Dataset:
    """Errors that a kernel keeps with d**kappa samples."""
    curve = predict(target, "lazy", kappa=kappa, **setting)
    pairs = zip(kappa, curve.excess_mse.values, curve.excess_mse_err.values, strict=True)
    return found(**{_name("mse", k): Estimate(float(v), float(e)) for k, v, e in pairs})


def random_features(target: str, noise: float = 0.0, **setting: Any) -> xr.Dataset:
    """Errors of random features in proportion to the dimension, from theory."""
    setting["width_ratio"] = float(setting.get("width_ratio", 1.0))
    curve = predict(Target(target, noise=noise), "random_features", **setting).squeeze(drop=True)
    numbers = {
        name: _only(curve, name)
        for name in ("test_mse", "excess_mse", "zero_one_error")
        if name in curve and curve[name].size == 1
    }
    return found(**numbers)


def random_features_run(
    target: str, noise: float, d: int, alpha: float, width_ratio: float, **setting: Any
) -> xr.Dataset:
    """Excess error of random features fitted to samples, beside theory: a ratio."""
    known = Target(target, noise=noise)
    replicates = setting.pop("replicates", 16)
    runs = simulate(
        known, "random_features", d=d, alpha=alpha, width_ratio=width_ratio,
        replicates=replicates, progress=False, seed=0, **setting,
    )  # fmt: skip
    theory = predict(
        known, "random_features", alpha=alpha, width_ratio=width_ratio, **setting
    ).excess_mse.item()
    measured = runs.excess_mse.values.reshape(-1)
    return found(ratio=mean_of(measured / theory), excess_mse=mean_of(measured))


def equivalent_activation(
    target: str, activation: str, other: str, d: int, alpha: float, **setting: Any
) -> xr.Dataset:
    """Ratio of the errors of two activations, each fitted to the same samples."""
    replicates = setting.pop("replicates", 16)
    errors = [
        simulate(
            target, "random_features", d=d, alpha=alpha, activation=one, replicates=replicates,
            progress=False, seed=0, **setting,
        ).excess_mse.values.reshape(-1)
        for one in (activation, other)
    ]  # fmt: skip
    return found(ratio=mean_of(errors[0] / errors[1]))


def peak(target: str, noise: float, alpha: float, width_ratio: list[float]) -> xr.Dataset:
    """Width at which the error without ridge is largest, and the error there."""
    curve = predict(
        Target(target, noise=noise), "random_features", alpha=alpha, width_ratio=width_ratio,
        ridge=0.0, activation="tanh(z)",
    ).excess_mse.squeeze(drop=True)  # fmt: skip
    return found(
        at=float(curve.width_ratio[int(np.argmax(curve.values))]), error=float(curve.max())
    )


def kernel(activation: str, correlation: float) -> xr.Dataset:
    """Kernel of an activation between two inputs of a given correlation."""
    one = Activation(activation)
    return found(kernel=one.covariance_with(one, correlation))


def moments(activation: str) -> xr.Dataset:
    """The three moments of an activation that random features see."""
    one = Activation(activation)
    mu0, mu1 = one.hermite(0), one.hermite(1)
    second = one.covariance_with(one, 1.0)
    rest = second.value - mu0.value**2 - mu1.value**2
    return found(mu_0=mu0, mu_1=mu1, mu_star=math.sqrt(max(rest, 0.0)))


def degree_theorem(
    target: str, d: int, kappa: list[float], activation: str, ridge: float
) -> xr.Dataset:
    """Kernel ridge regression on samples: errors at n = d**kappa, divided by finite-size theory."""
    from ...learners import DotKernelRidge

    known = Target(target)
    theory = predict(
        target, "lazy", kappa=kappa, d=d, activation=activation, ridge=ridge
    ).excess_mse
    numbers = {}
    for i, power in enumerate(kappa):
        n, errors = round(d**power), []
        for seed in range(48):
            sample = known.sample(n=n + 1000, d=d, seed=seed)
            # On the sphere, where the kernel has one eigenvalue for each degree.
            X = sample.X * np.sqrt(d) / np.linalg.norm(sample.X, axis=1, keepdims=True)
            y = known.mean(X @ sample.W_star.T)
            learner = DotKernelRidge(activation=activation, ridge=ridge, standardize=False)
            fit = learner.fit(X[:n], y[:n])
            errors.append(np.mean((fit.predict(X[n:]) - y[n:]) ** 2))
        numbers[_name("ratio", power)] = mean_of(np.array(errors) / float(theory[i]))
    return found(**numbers)


def exponents(capacity: float, source: float, noise: float, **setting: Any) -> xr.Dataset:
    """Rates of random-feature ridge regression with power-law spectra, in closed form."""
    law = scaling_law(capacity=capacity, source=source, noise=noise, **setting)
    return found(
        rate=float(law.rate), best=float(law.optimal_rate), width=float(law.minimal_width_exponent)
    )


def measured_slope(
    capacity: float, source: float, noise: float, ridge_exponent: float, width_exponent: float,
    n: list[float],
) -> xr.Dataset:  # fmt: skip
    """Slope of the excess error of the deterministic equivalents between two sample sizes."""
    levels = power_law(capacity=capacity, source=source)
    errors = [
        random_feature_ridge(
            **levels, n=one, width=one**width_exponent, ridge=one ** (1 - ridge_exponent),
            noise=noise,
        ).excess_mse.item()
        for one in n
    ]  # fmt: skip
    slope = -np.diff(np.log(errors)) / np.diff(np.log(n))
    return found(slope=float(slope[0]))


def covariates(n: list[int], ridge: float, noise: float, **setting: Any) -> xr.Dataset:
    """Errors of Gaussian covariates with a spectrum of four levels."""
    spectrum = np.repeat([4.0, 1.0, 0.25, 0.0625], 50)
    c = np.sqrt(np.repeat([0.008, 0.002, 0.001, 0.0002], 50))
    model = {"eigenvalues": spectrum, "coefficients": c, "rho": 1.0}
    curve = gaussian_covariates(**model, n=n, ridge=ridge, noise=noise, **setting)
    return found(
        **{f"mse_{m}": float(v) for m, v in zip(n, curve.excess_mse.values.ravel(), strict=True)}
    )


def digits(features: str, n: int, ridge: float = 1.0) -> xr.Dataset:
    """Error of fits to n digits, divided by the prediction from their covariance alone."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import Ridge

    X, y = load_digits(return_X_y=True)
    X = X - X.mean(0)
    X /= np.sqrt((X**2).mean())
    if features == "random":
        rng = np.random.default_rng(0)
        W = rng.standard_normal((X.shape[1], 400)) / np.sqrt(X.shape[1])
        X = np.tanh(X @ W) / np.sqrt(400)
        ridge = ridge / 100
    labels = np.where(y % 2, 1.0, -1.0)
    theory = learning_curve(X, labels, n=[n], ridge=ridge).test_mse.item()
    rng, errors = np.random.default_rng(1), []
    for _ in range(100):
        rows = rng.integers(len(X), size=n)
        fit = Ridge(alpha=ridge).fit(X[rows], labels[rows])
        errors.append(np.mean((fit.predict(X) - labels) ** 2))
    return found(ratio=mean_of(np.array(errors) / theory))


def images(
    name: str, features: str, n: int, most: int, replicates: int, ridge: float = 0.1
) -> xr.Dataset:
    """Error of fits to n images, divided by the prediction from the covariance of all of them."""
    from .image_learning_curves import measured, predicted

    theory = predicted(name, features, [n], most, ridge).test_mse.item()
    runs = measured(name, features, [n], most, replicates, ridge).test_mse.values[0]
    return found(ratio=mean_of(runs / theory))


def logistic_run(
    d: int, alpha: float, width_ratio: float, ridge: float, replicates: int
) -> xr.Dataset:
    """Share of wrong labels of scikit-learn's fits on random features erf(<w, x>), by their loss.

    Labels are signs of z1 + z2/2; ``square`` is ridge regression, the other one logistic.
    """
    from scipy.special import erf
    from sklearn.linear_model import LogisticRegression, Ridge

    n, width = round(alpha * d), round(width_ratio * d)
    errors: dict[str, list[float]] = {"zero_one_error": [], "square": []}
    for seed in range(replicates):
        rng = np.random.default_rng([seed, d])
        W = rng.standard_normal((d, width)) / np.sqrt(d)
        X = rng.standard_normal((n + 8000, d))
        features, y = erf(X @ W) / np.sqrt(width), np.sign(X[:, 0] + X[:, 1] / 2)
        logistic = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-6, max_iter=1000)
        square = Ridge(alpha=ridge, fit_intercept=False)
        for name, fit in (("zero_one_error", logistic), ("square", square)):
            signs = np.sign(fit.fit(features[:n], y[:n]).predict(features[n:]))
            errors[name].append(np.mean(signs != y[n:]))
    return found(**{name: mean_of(values) for name, values in errors.items()})

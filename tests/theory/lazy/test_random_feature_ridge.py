"""Deterministic equivalents: reference values, limits, and ridge regression on drawn features."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

import gradone as gd
from gradone.theory import power_law, random_feature_ridge

INF = math.inf
REFERENCE = [  # capacity, source, n, width, ridge, noise, values
    (1.5, 0.4, 300, 200, 0.01, 0.1, {
        "nu1": 8.7441477e-5, "nu2": 1.21766101e-3, "upsilon": 0.576214785, "chi": 730.394842,
        "bias": 0.0285236198, "variance": 0.135968591}),
    (2.0, 0.75, 400, 400, 0.1, 0.05, {
        "nu1": 3.11200178e-4, "nu2": 3.87382203e-4, "bias": 8.23408262e-5,
        "variance": 6.12909437e-3, "train_mse": 0.0362764699}),
    (1.2, 0.3, 300, 100, 1.0, 0.1, {
        "nu1": 4.54665434e-3, "nu2": 0.0227994527, "bias": 0.271178469, "variance": 0.0277026022,
        "train_mse": 0.214396179}),
    (1.5, 0.4, 300, INF, 0.01, 0.1, {
        "nu2": 6.11208415e-4, "bias": 2.98007148e-3, "variance": 0.0590222789}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("capacity", "source", "n", "width", "ridge", "noise", "values"), REFERENCE
)
def test_reference_values(capacity, source, n, width, ridge, noise, values):
    levels = power_law(capacity=capacity, source=source, terms=4000)
    found = random_feature_ridge(**levels, n=n, width=width, ridge=ridge, noise=noise)
    for name, value in values.items():
        assert found[name].item() == pytest.approx(value, rel=1e-8), name
        assert found[f"{name}_err"].item() < 1e-10 * value
    assert found.excess_mse.item() == pytest.approx((found.bias + found.variance).item())
    assert found.test_mse.item() == pytest.approx(found.excess_mse.item() + noise)


def test_reference_values_of_an_infinite_power_law():
    found = random_feature_ridge(
        **power_law(capacity=1.5, source=0.4), n=1e4, width=1e3, ridge=1.0, noise=0.1
    )
    values = {"nu1": 1.0629465e-4, "nu2": 2.6064649e-4, "bias": 2.6184732e-3,
              "variance": 4.0745638e-3}  # fmt: skip
    for name, value in values.items():  # known to about 1e-6, by a midpoint rule for the tail
        assert found[name].item() == pytest.approx(value, rel=3e-6), name


def test_the_tail_of_a_power_law_is_a_long_sum():
    """Would catch: a wrong end of the exact part, members of the tail without their spacing."""
    given = {"n": 50, "width": 70, "ridge": 1e-4, "noise": 0.0}
    exponents = {"capacity": 3.0, "source": 0.2}
    whole, long, short = (
        random_feature_ridge(**power_law(**exponents, terms=terms), **given)
        for terms in (INF, 300_000, 2000)
    )
    # Beyond 300,000 nothing is learned: that weight of the target counts as noise.
    beyond = 300_000**-1.2 / 1.2 / (1 - whole.upsilon.item())
    assert whole.excess_mse.item() - long.excess_mse.item() == pytest.approx(beyond, rel=1e-2)
    assert whole.excess_mse.item() - short.excess_mse.item() > 100 * beyond


@pytest.mark.stat
@pytest.mark.parametrize(
    ("n", "width", "ridge"), [(150, 80, 0.01), (80, 150, 0.001), (120, 120, 0.1)]
)
def test_drawn_features_agree(rng, n, width, ridge):
    """Would catch: chi left out (n < width), Upsilon of the kernel, 1/sqrt(width) forgotten.

    The allowance of 2 % stands for corrections of relative order 1/n.
    """
    levels = power_law(capacity=1.3, source=0.5, terms=400)
    root, b, noise = np.sqrt(levels["eigenvalues"]), levels["coefficients"], 0.1
    found = random_feature_ridge(**levels, n=n, width=width, ridge=ridge, noise=noise)
    runs = []
    for _ in range(60):
        x, w = rng.standard_normal((n, 400)), rng.standard_normal((width, 400)) * root
        phi = x @ w.T / np.sqrt(width)
        y = x @ b + np.sqrt(noise) * rng.standard_normal(n)
        a = np.linalg.solve(phi.T @ phi + ridge * np.eye(width), phi.T @ y)
        gap = b - w.T @ a / np.sqrt(width)
        runs.append([gap @ gap, np.mean((y - phi @ a) ** 2)])
    for name, column in zip(["excess_mse", "train_mse"], np.array(runs).T, strict=True):
        spread = column.std(ddof=1) / np.sqrt(len(column))
        value = found[name].item()
        assert abs(column.mean() - value) < student.isf(5e-7, 59) * spread + 0.02 * value, name


def test_multiplicities_are_repeated_levels(rng):
    eta, b = rng.random(6), rng.standard_normal(6)
    counts = np.array([1, 4, 2, 7, 3, 9])
    given = {"n": [5, 40], "width": [8, INF], "ridge": [0.0, 0.3], "noise": 0.2}
    short = random_feature_ridge(eigenvalues=eta, coefficients=b, multiplicities=counts, **given)
    long = random_feature_ridge(
        eigenvalues=np.repeat(eta, counts), coefficients=np.repeat(b, counts), **given
    )
    np.testing.assert_allclose(short.excess_mse.values, long.excess_mse.values, rtol=1e-10)


def test_infinite_width_is_the_limit_of_large_ones():
    levels = power_law(capacity=1.5, source=0.6, terms=500)
    found = random_feature_ridge(**levels, n=60, width=[1e7, INF], ridge=0.02, noise=0.1)
    wide, kernel = found.test_mse.values.ravel()
    assert wide == pytest.approx(kernel, rel=1e-4)
    assert found.nu1.sel(width=INF).item() == found.nu2.sel(width=INF).item()


def test_infinite_width_is_a_fit_to_gaussian_features():
    eta, b = np.array([2.0, 0.5, 0.1, 0.0]), np.array([0.3, -1.0, 0.4, 0.6])
    given = {"n": [2.5, 9], "ridge": [0.0, 0.7], "noise": 0.3}
    kernel = random_feature_ridge(eigenvalues=eta, coefficients=b, width=INF, **given)
    linear = gd.theory.gaussian_covariates(
        eigenvalues=eta, coefficients=np.sqrt(eta) * b, rho=float(b @ b), **given
    )
    for name in ("test_mse", "train_mse"):
        np.testing.assert_allclose(kernel[name].squeeze(), linear[name], rtol=1e-10)


def test_the_target_outside_the_kernel_is_noise_that_stays():
    given = {"n": 40, "width": 25, "ridge": 0.1}
    eta, b = np.linspace(1, 0.1, 50), np.full(50, 0.2)
    outside = random_feature_ridge(
        eigenvalues=[*eta, 0.0], coefficients=[*b, 0.5], noise=0.1, **given
    )
    noise = random_feature_ridge(eigenvalues=eta, coefficients=b, noise=0.1 + 0.25, **given)
    assert outside.test_mse.item() == pytest.approx(noise.test_mse.item(), rel=1e-12)
    assert outside.excess_mse.item() == pytest.approx(noise.excess_mse.item() + 0.25, rel=1e-12)


def test_ridgeless_limits_and_the_peak():
    levels = power_law(capacity=1.5, source=0.4, terms=1000)
    given = {"n": 100, "width": [30, 99.5, 100, 100.5, 400], "noise": 0.1}
    found = random_feature_ridge(**levels, ridge=[0.0, 1e-11], **given)
    ridgeless, tiny = found.test_mse.isel(ridge=0).squeeze(), found.test_mse.isel(ridge=1).squeeze()
    assert np.isinf(ridgeless.sel(width=100).item())
    assert np.isfinite(tiny.values).all()
    assert float(tiny.sel(width=100)) == float(tiny.max()) > 1e3
    np.testing.assert_allclose(ridgeless.sel(width=[30, 400]), tiny.sel(width=[30, 400]), rtol=1e-6)
    # The variance of least squares on fewer features than samples: p/(n - p).
    assert found.variance.sel(width=30, ridge=0).item() == pytest.approx(0.1 * 30 / 70, rel=1e-12)
    assert found.train_mse.sel(width=400, ridge=0).item() == 0


def test_isotropic_kernels_have_a_quadratic_equation(rng):
    """nu (1 - k/(n (1 + nu))) = ridge/n for k equal levels of size one, infinite width."""
    k, n, ridge = 30.0, 50.0, 4.0
    found = random_feature_ridge(
        eigenvalues=[1.0], coefficients=[1.0], multiplicities=[k], n=n, width=INF, ridge=ridge
    )
    roots = np.roots([1.0, 1 - (k + ridge) / n, -ridge / n])
    assert found.nu2.item() == pytest.approx(roots.max(), rel=1e-12)


@pytest.mark.parametrize(("n", "theory"), [(150, 1.6731), (420, 0.5205), (1400, 0.1419)])
def test_the_quadratic_kernel_by_its_spectrum(n, theory):
    """<x,x'>^2 + <x,x'> + 1 at d = 25, target z1 + z2 z3 + sin(2 z4)/2, ridge 0.01 n."""
    d = 25
    block = np.linalg.eigvalsh([[d + 1, np.sqrt(2 * d)], [np.sqrt(2 * d), 2]])
    sine = math.exp(-2)  # coefficient of z4
    rest = (1 - math.exp(-8)) / 8 - sine**2
    found = random_feature_ridge(
        eigenvalues=[1.0, 1.0, 1.0, 2.0, 2.0, *block, 0.0],
        coefficients=[1.0, sine, 0.0, 1.0, 0.0, 0.0, 0.0, math.sqrt(rest)],
        multiplicities=[1, 1, d - 2, 1, d * (d + 1) // 2 - 2, 1, 1, 1],
        n=n, width=INF, ridge=0.01 * n,
    )  # fmt: skip
    assert found.excess_mse.item() == pytest.approx(theory, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ridge": -1.0}, "ridge must be finite numbers >= 0, got -1.0"),
        ({"eigenvalues": [1.0, -0.5]}, "eigenvalues must be >= 0, got -0.5 at position 1"),
        ({"eigenvalues": [1.0, np.nan]}, "got nan at position 1"),
        ({"eigenvalues": "power"}, "eigenvalues must be a sequence of numbers"),
        ({"coefficients": [1.0, 1.0, 1.0]}, "coefficients has 3 entries and eigenvalues 2"),
        ({"multiplicities": [1]}, "multiplicities has 1 entries and eigenvalues 2"),
        ({"multiplicities": [1, 0]}, "multiplicities must be > 0, got 0 at position 1"),
        ({"width": -1}, "width must be numbers > 0, got -1"),
        ({"n": INF}, "n must be finite numbers > 0, got inf"),
        ({"noise": np.nan}, "noise must be a finite number >= 0"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"eigenvalues": [1.0, 0.5], "coefficients": [1.0, 0.2], "n": 10, "width": 5,
             "ridge": 0.1}  # fmt: skip
    with pytest.raises(gd.BadData, match=message):
        random_feature_ridge(**(given | change))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"capacity": 1.0, "source": 0.5}, "capacity must be > 1, got 1"),
        ({"capacity": 2.0, "source": 0.0}, "source must be a finite number > 0"),
        ({"capacity": 2.0, "source": 0.5, "terms": 2.5}, "terms must be an integer or inf"),
        ({"capacity": True, "source": 0.5}, "capacity must be a finite number > 0, got True"),
    ],
)
def test_bad_power_laws_are_refused(given, message):
    with pytest.raises(gd.BadData, match=message):
        power_law(**given)

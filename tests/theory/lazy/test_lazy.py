"""The polynomial staircase: plateaus in closed form, the curve at finite d against simulations."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

import gradone as gd
from gradone.theory.lazy._levels import level_dimension, sphere_levels, target_levels


def plateau(text, kappa, **parameters):
    return gd.predict(text, "lazy", kappa=kappa, **parameters).excess_mse.values


def test_plateaus_are_the_weights_that_are_left():
    parity = 1 - (2 / math.pi) ** 3
    text = "He2(z1) + sign(z1*z2*z3)"
    assert plateau(text, [0.5, 1.5, 2.5, 3.5]) == pytest.approx([3, 3, 1, parity], abs=1e-8)
    assert plateau("tanh(z)", [1.5, 3.5]) == pytest.approx([0.0274153260, 0.0053817264], abs=1e-8)
    assert plateau("relu(z)", [1.5, 2.5]) == pytest.approx([0.0908450569, 0.0112675854], abs=1e-8)
    assert plateau("sin(z)", [1.5, 3.5]) == pytest.approx([0.0644529172, 0.0031396770], abs=1e-8)
    assert plateau("z1 + tanh(z1*z2)", [2.5]) == pytest.approx([0.0489658813], abs=1e-8)
    assert plateau("z1 + 2*z2 + z1*z2 + 3*z2**2", [0.0, 0.5, 1.5, 2.0]) == pytest.approx(
        [24, 24, 19, 0], abs=1e-10
    )


def test_noise_is_added_to_the_test_error_only():
    found = gd.predict(gd.Target("z1*z2", noise=0.3), "lazy", kappa=[1.5, 2.5])
    assert found.excess_mse.values == pytest.approx([1.0, 0.0])
    assert found.test_mse.values == pytest.approx([1.3, 0.3])


@pytest.mark.parametrize(
    ("activation", "left"),
    # Degrees 0 to 4 of a target with weight 1 in each but the constant 4: what is never learned.
    [("relu(z)", 1), ("tanh(z)", 2), ("relu(z - 0.5)", 0), ("He2(z)", 3), ("He3(z) + z", 2)],
)
def test_degrees_that_the_activation_does_not_contain_are_never_learned(activation, left):
    text = "2 + z1 + He2(z2)/sqrt(2) + He3(z3)/sqrt(6) + He4(z4)/sqrt(24)"
    assert plateau(text, [4.5], activation=activation) == pytest.approx([left], abs=1e-9)
    has_mean = activation not in ("tanh(z)", "He2(z)", "He3(z) + z")
    without = plateau(text, [4.5], activation=activation, fit_intercept=False)
    assert without == pytest.approx([left + (0 if has_mean else 4)], abs=1e-9)


def test_hierarchical_targets_have_plateaus():
    target = gd.Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6", exponent=0.7)
    assert plateau(target, [1.8]) == pytest.approx([0.693922], abs=1e-6)
    with pytest.raises(gd.OutOfRegime, match="leave d out"):
        plateau(target, [1.8], d=30, activation="relu(z)")


def test_levels_of_the_sphere():
    """The kernel sum_k eta_k N_k Q_k(t), summed at t = 1 and at t = 0, is the arc-cosine kernel."""
    d = 12
    eta, N, rest = sphere_levels(gd.Activation("relu(z)"), d)
    assert float(eta @ N + rest) == pytest.approx(0.5, rel=1e-12)
    before, here, at_zero = 0.0, 1.0, 0.0
    for k in range(len(N)):
        at_zero += eta[k] * N[k] * here
        before, here = here, -k * before / (k + d - 2)
    assert at_zero == pytest.approx(1 / (2 * math.pi), abs=1e-7)
    assert (eta[3::2] == 0).all()
    assert [level_dimension(5, k) for k in (0, 1, 2, 3)] == [1, 5, 14, 30]


def test_level_weights_tend_to_hermite_weights():
    """w_k = c_k^2/k!; at d = 4000 they differ by 1/d."""
    activation = gd.Activation("max(z - 0.5, 0)")
    eta, N, _ = sphere_levels(activation, 4000)
    hermite = [activation.hermite(k).value ** 2 / math.factorial(k) for k in range(4)]
    assert eta[:4] * N[:4] == pytest.approx(hermite, rel=5e-3)


def test_target_weights_on_the_sphere():
    """Second moments by hand: z^2 - 1 has 2 (d - 1)/(d + 2), z1 z2 has d/(d + 2)."""
    d = 30
    assert target_levels(gd.Target("He2(z)"), d, 4).weights[2] == pytest.approx(2 * 29 / 32)
    product = target_levels(gd.Target("z1*z2"), d, 4)
    assert product.weights[2] == pytest.approx(30 / 32)
    # The two squares of a sum are correlated on the sphere: E[z1^2 z2^2] = d/(d + 2).
    both = target_levels(gd.Target("He2(z1) + He2(z2)"), d, 4).weights[2]
    assert both == pytest.approx(2 * 2 * 29 / 32 + 2 * (30 / 32 - 1))


def test_the_curve_at_finite_dimension_has_its_reference_values():
    n = np.array([10, 30, 116, 324, 900, 1776])
    found = gd.predict(
        "z1 + He2(z2)/sqrt(2) + sin(2*z3)", "lazy", kappa=np.log(n) / np.log(30), d=30,
        activation="max(z - 0.5, 0)", ridge=1e-3,
    )  # fmt: skip
    reference = [2.3867, 2.0950, 1.5330, 1.1264, 0.7197, 0.5282]
    assert found.excess_mse.values == pytest.approx(reference, rel=1e-3)
    assert found.excess_mse_err.values.max() < 1e-9


def test_the_curve_tends_to_the_plateaus():
    setting = dict(kappa=[1.5, 2.5], activation="relu(z - 0.5)", ridge=1e-3)
    target = gd.Target("z1 + He2(z2)/sqrt(2) + He3(z3)/sqrt(6)", noise=0.2)
    limit = gd.predict(target, "lazy", **setting).excess_mse.values
    gaps = [
        np.abs(gd.predict(target, "lazy", d=d, **setting).excess_mse.values - limit)
        for d in (30, 300, 3000)
    ]
    assert limit == pytest.approx([2.0, 1.0])
    assert (gaps[2] < gaps[1]).all()
    assert (gaps[1] < gaps[0]).all()
    assert (gaps[2] < 0.1).all()


def test_width_limits_as_samples_do():
    """With p = d^1.5 features the degree 2 is not learned from any number of samples."""
    target, d = "z1 + He2(z2)/sqrt(2)", 400
    setting = dict(kappa=[3.0], activation="relu(z - 0.5)", d=d)
    narrow = gd.predict(target, "lazy", width=d**1.5, **setting).excess_mse.item()
    wide = gd.predict(target, "lazy", width=1e9, **setting).excess_mse.item()
    assert narrow == pytest.approx(1.0, abs=0.1)
    assert wide < 0.05


@pytest.mark.stat
def test_the_curve_is_that_of_kernel_ridge_regression_on_the_sphere():
    """Arc-cosine kernel at d = 20, 24 draws, exact kernel matrix.

    Would catch: ridge times n, weights of the Gaussian instead of the sphere (0.1 too high), noise
    left out. Deterministic equivalents have relative errors of order 1/n.
    """
    d, noise, ridge, sizes, replicates = 20, 0.1, 0.05, (20, 100, 400), 24
    errors = {n: [] for n in sizes}

    def kernel(A, B):
        t = np.clip(A @ B.T / d, -1, 1)
        return (np.sqrt(1 - t**2) + t * (math.pi - np.arccos(t))) / (2 * math.pi)

    def labels(X):
        return X[:, 0] + (X[:, 1] ** 2 - 1) / math.sqrt(2)

    for seed in range(replicates):
        rng = np.random.default_rng([61, seed])
        X = rng.standard_normal((max(sizes) + 800, d))
        X *= math.sqrt(d) / np.linalg.norm(X, axis=1, keepdims=True)
        test, X = X[:800], X[800:]
        y = labels(X) + math.sqrt(noise) * rng.standard_normal(len(X))
        for n in sizes:
            a = np.linalg.solve(kernel(X[:n], X[:n]) + ridge * np.eye(n), y[:n])
            errors[n].append(np.mean((labels(test) - kernel(test, X[:n]) @ a) ** 2))
    found = gd.predict(
        gd.Target("z1 + He2(z2)/sqrt(2)", noise=noise), "lazy", kappa=np.log(sizes) / np.log(d),
        d=d, activation="relu(z)", ridge=ridge, fit_intercept=False,
    )  # fmt: skip
    for n, theory in zip(sizes, found.excess_mse.values, strict=True):
        spread = np.std(errors[n], ddof=1) / math.sqrt(replicates)
        allowed = student.isf(5e-7, replicates - 1) * spread + theory / n
        assert abs(np.mean(errors[n]) - theory) < allowed
        assert allowed < 0.35 * theory


def test_bad_input_is_refused():
    def refuse(match, error=gd.BadData, **bad):
        with pytest.raises(error, match=match):
            gd.predict("z1*z2", "lazy", **({"kappa": [1.0]} | bad))

    refuse("needs the features", d=30)
    refuse("ridge must be a finite number >= 0", d=30, activation="relu(z)", ridge=-1.0)
    refuse("d must", d=2, activation="relu(z)")
    refuse("width must be", d=30, activation="relu(z)", width=0)
    refuse("kappa must be finite numbers >= 0", kappa=[-1.0])
    refuse("leave d out", gd.OutOfRegime, kappa=[9.0], d=1000, activation="relu(z)")
    refuse("at most 12", kappa=[13.0], activation="relu(z)")

"""Flipped labels fitted by squares: latent noise, closed forms, a direct simulation."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

import gradone as gd

POINTS = {"alpha": [1.0, 3.0], "width_ratio": 1.5, "ridge": 0.1, "activation": "tanh(z)"}


@pytest.mark.parametrize("label", ["sign(z)", "sign(z**2 - 1)", "sign(z1 + z2 + 0.3)"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_flips_are_latent_noise(label, fit_intercept):
    """Would catch: the mean of an unbalanced label left unflipped, noise 4p in place of 4p(1-p)."""
    p, options = 0.1, POINTS | {"fit_intercept": fit_intercept}
    found = gd.predict(label, "random_features", flips=p, **options)
    latent = gd.predict(f"{label}*sign(xi + {-ndtri(p):.17f})", "random_features", **options)
    for name in ("test_mse", "excess_mse", "train_mse", "norm", "overlap", "intercept"):
        np.testing.assert_allclose(found[name], latent[name], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.test_mse - found.excess_mse, 4 * p * (1 - p), atol=1e-12)


def test_labels_zero_and_one_are_signs_of_half_the_size():
    """Would catch: values taken as +1 and -1. Everything quadratic is a quarter."""
    signs = gd.predict("sign(z)", "random_features", flips=0.2, **POINTS)
    bits = gd.predict("(1 + sign(z))/2", "random_features", flips=0.2, **POINTS)
    for name in ("test_mse", "excess_mse", "train_mse", "norm"):
        np.testing.assert_allclose(4 * bits[name], signs[name], atol=1e-12)
    np.testing.assert_allclose(bits.intercept, 0.5, atol=1e-12)
    np.testing.assert_allclose(bits.zero_one_error, signs.zero_one_error, atol=1e-10)


def test_wrong_labels_are_those_of_two_correlated_gaussians():
    """P(wrong) = p + (1 - 2p) arccos(m / sqrt(q)) / pi for sign(z)."""
    found = gd.predict("sign(z)", "random_features", flips=0.2, **POINTS).squeeze()
    angle = np.arccos(found.overlap.squeeze() / np.sqrt(found.norm)) / math.pi
    np.testing.assert_allclose(found.zero_one_error, 0.2 + 0.6 * angle, atol=1e-10)


@pytest.mark.stat
def test_ridge_on_flipped_labels_in_numpy():
    """d = 300, 16 draws: errors of new and of training labels within 5 standard errors + 2 %."""
    d, n, width, ridge, p = 300, 600, 450, 0.1, 0.15
    target = gd.Target(f"sign(z)*sign(xi + {-ndtri(p):.17f})")
    rows = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        s = target.sample(n=n + 2000, d=d, seed=seed)
        W = rng.standard_normal((width, d)) / math.sqrt(d)
        F = np.tanh(s.X @ W.T) / math.sqrt(width)
        F, new, y, y_new = F[:n], F[n:], s.y[:n], s.y[n:]
        a = np.linalg.solve(F.T @ F + ridge * np.eye(width), F.T @ y)
        fit, test = F @ a, new @ a
        rows.append(
            [
                np.mean((y_new - test) ** 2),
                np.mean((y - fit) ** 2),
                np.mean(y_new * test < 0),
                np.mean(y * fit < 0),
            ]
        )
    found = gd.predict(
        "sign(z)", "random_features", flips=p, alpha=n / d, width_ratio=width / d, ridge=ridge,
        activation="tanh(z)",
    ).squeeze()  # fmt: skip
    names = ("test_mse", "train_mse", "zero_one_error", "train_zero_one_error")
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / 4
    for name, value, error in zip(names, mean, spread, strict=True):
        assert abs(float(found[name]) - value) < 5 * error + 0.02 * value, name

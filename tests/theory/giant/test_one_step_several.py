"""One giant step on targets of several directions, of which it learns one."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.theory.giant._one_step_labels import labels_given

from .direct_step import within

SETTING = {
    "readout_ratio": 4.0, "batch_ratio": 20.0, "step_size": 4.0, "ridge": 0.1,
    "activation": "tanh(z)", "readout": "ones",
}  # fmt: skip


def wave(z):
    """Factor of z2 that is even in the spike, as the slope of tanh is: the readout sees it."""
    return (np.cos(2 * z[:, 0]) - np.exp(-2)) * z[:, 1]


TARGETS = {
    "z1 + (cos(2*z1) - exp(-2))*z2": (lambda z: z[:, 0] + wave(z)),
    "sin(z1) + He3(z2)/6": (lambda z: np.sin(z[:, 0]) + (z[:, 1] ** 3 - 3 * z[:, 1]) / 6),
    "sin(z1) + (cos(2*z1) - exp(-2))*z2 + sin(z1)*z2*z3": (
        lambda z: np.sin(z[:, 0]) + wave(z) + np.sin(z[:, 0]) * z[:, 1] * z[:, 2]
    ),
    "sign(z1) + (cos(2*z1) - exp(-2))*z2": (lambda z: np.sign(z[:, 0]) + wave(z)),
}
SMALL = list(TARGETS)[::2]


def network_errors(rng, link, d):
    """Test and training error of a network that makes the step, by plain matrix products."""
    W = rng.standard_normal((d, d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    batch, fresh, new = (rng.standard_normal((n, d)) for n in (20 * d, 4 * d, 4000))
    values = np.tanh(batch @ W.T)
    residual = link(batch) - values.mean(axis=1)
    W = W + 4.0 * ((1 - values**2) * residual[:, None]).T @ batch / len(batch)
    F = np.tanh(fresh @ W.T) / math.sqrt(d)
    a = np.linalg.solve(F.T @ F + 0.1 * np.eye(d), F.T @ link(fresh))
    miss = link(new) - np.tanh(new @ W.T) @ a / math.sqrt(d)
    return np.mean(miss**2), np.mean((link(fresh) - F @ a) ** 2)


def test_a_rotation_of_the_directions_changes_nothing():
    plain, turned = (
        gd.predict(text, "one_step", **SETTING).test_mse.item()
        for text in ("z1 + z1*z2", "(z1 + z2)/sqrt(2) + (z1 + z2)*(z1 - z2)/2")
    )
    assert turned == pytest.approx(plain, rel=1e-9)


def test_what_no_feature_sees_is_noise():
    """Given the spike, He2(z2) has no mean and no slope: only its energy counts."""
    parts = [gd.Target("sin(z1) + 0.5*He2(z2)"), gd.Target("sin(z)", noise=0.5)]
    one, other = (gd.predict(t, "one_step", **SETTING) for t in parts)
    assert one.test_mse.item() == pytest.approx(other.test_mse.item(), rel=1e-9)
    assert one.train_mse.item() == pytest.approx(other.train_mse.item(), rel=1e-9)
    assert one.alignment.item() == pytest.approx(other.alignment.item(), rel=1e-12)


def test_a_linear_part_across_two_axes_is_one_direction():
    one, other = (
        gd.predict(text, "one_step", **SETTING).test_mse.item()
        for text in ("z1 + z2", "sqrt(2)*z1")
    )
    assert one == pytest.approx(other, rel=1e-9)


def test_jumps_are_covered_within_the_stated_error():
    """A parity across the spike is noise of variance one; a cloud integrates its jumps."""
    found = gd.predict("sin(z1) + sign(z2*z3)", "one_step", **SETTING)
    noise = gd.predict(gd.Target("sin(z)", noise=1.0), "one_step", **SETTING)
    error = abs(found.test_mse.item() - noise.test_mse.item())
    assert error <= 3 * found.test_mse_err.item() + 1e-9
    assert found.test_mse_err.item() < 0.01


def test_labels_given_the_spike_by_hand():
    """y = z1 + z1 z2: E[y] = E[y x_2] = gamma kappa, E[y x_1] = sqrt(1 - gamma^2)."""
    kappa = np.array([-1.0, 0.0, 2.0])
    found = labels_given(gd.Target("z1 + z1*z2", noise=0.1), 0.6, kappa, 1)
    np.testing.assert_allclose(found.mean, 0.6 * kappa, atol=1e-12)
    np.testing.assert_allclose(found.slopes, [[0.8] * 3, 0.6 * kappa], atol=1e-12)
    np.testing.assert_allclose(found.square, 2 * ((0.6 * kappa) ** 2 + 0.64) + 0.1, atol=1e-12)


def test_noise_inside_the_link_is_averaged():
    inside = gd.predict("sin(z1) + z2*xi", "one_step", **SETTING).test_mse.item()
    outside = gd.predict(gd.Target("sin(z)", noise=1.0), "one_step", **SETTING).test_mse.item()
    assert inside == pytest.approx(outside, rel=1e-9)


def test_the_algorithm_of_two_steps_is_not_shown_beside_the_theory_of_one():
    with pytest.raises(gd.OutOfRegime, match="depends on 2 directions.*second step"):
        gd.predict("z1 + z1*z2", "giant_step", alpha=[2.0])


@pytest.mark.stat
@pytest.mark.parametrize("text", SMALL)
def test_networks_follow_the_theory(rng, text):
    """Would catch: the slopes h_k beside the spike left out (16 % in the first case)."""
    check(rng, text, d=200, runs=16)


@pytest.mark.slow
@pytest.mark.parametrize("text", TARGETS)
def test_large_networks_follow_the_theory(rng, text):
    check(rng, text, d=1000, runs=16)


def check(rng, text, d, runs):
    theory = gd.predict(text, "one_step", width=d, **SETTING)
    test, train = np.array([network_errors(rng, TARGETS[text], d) for _ in range(runs)]).T
    # Relative corrections of order 1/d, as for one direction.
    for found, name in ((test, "test_mse"), (train, "train_mse")):
        value, error = theory[name].item(), theory[f"{name}_err"].item()
        assert within(found, value, 5 / d * value + error)

"""Latent noise in the theories: the mean label is the link, and its variance is noise."""

import numpy as np
import pytest

import gradone as gd
from gradone.learners import GiantStep
from gradone.theory._registry import THEORIES, obstacle

PROBIT = gd.Target("sign(z + sqrt(0.5)*xi)")


def test_random_features_see_the_mean_and_the_variance_of_probit_labels():
    """Reference: erf(z) with the noise 0.53544; simulated at d = 300: 0.9466(44), 0.8369(38)."""
    setting = {"alpha": [2, 4], "width_ratio": 1.0, "ridge": 0.1, "activation": "tanh(z)"}
    found = gd.predict(PROBIT, "random_features", **setting)
    assert found.test_mse.values.ravel() == pytest.approx([0.9589, 0.8316], abs=1e-4)
    assert found.attrs["target"] == PROBIT.text
    with pytest.raises(gd.OutOfRegime, match="loss='square'"):
        gd.predict(PROBIT, "random_features", loss="logistic", **setting)


def test_kernels_leave_the_conditional_variance():
    found = gd.predict(PROBIT, "lazy", kappa=[0, 1])
    assert found.test_mse.values == pytest.approx([1.0, 1 - 0.4244131816], abs=1e-9)
    with pytest.raises(gd.OutOfRegime, match="same mean for every z"):
        gd.predict("z*xi", "lazy", kappa=[1])


def one_step(target):
    found = gd.predict(
        target,
        "one_step",
        readout_ratio=2.0,
        batch_ratio=2.0,
        step_size=1.0,
        ridge=0.1,
        width_ratio=1.0,
        activation="tanh(z)",
        readout="ones",
    )
    return float(found.excess_mse.squeeze())


@pytest.mark.stat
def test_after_a_giant_step_noise_that_depends_on_z_is_not_its_mean():
    """Noise z*xi against noise of the same mean variance: the features know z by now.

    Would catch: the mean variance in place of that given the spike, three errors away or more.
    """
    target, d, runs = gd.Target("z + z*xi"), 400, 16
    found = []
    for k in range(runs):
        sample, fresh = (
            target.sample(4 * d, d, replicate=k),
            target.sample(4000, d, replicate=k, role="test"),
        )
        learner = GiantStep(
            d, step_size=1.0, ridge=0.1, activation="tanh(z)", random_state=k, batch_size=2 * d,
            readout="ones", fit_intercept=False, symmetric=False, bias_scale=0.0,
            standardize=False, shuffle=False,
        ).fit(sample.X, sample.y)  # fmt: skip
        z = fresh.X @ sample.W_star[0]
        found.append(np.mean((learner.predict(fresh.X) - z) ** 2))
    error = np.std(found, ddof=1) / np.sqrt(runs)
    known, averaged = one_step(target), one_step(target.averaged)
    assert abs(np.mean(found) - known) < 7.9 * error
    assert abs(averaged - known) > 3 * error


def test_giant_steps_in_the_limit_of_much_data_follow_the_mean():
    noisy, mean = gd.Target("z1 + z1*z2*(1 + xi)"), gd.Target("z1 + z1*z2")
    setting = {
        "batch_ratio": 1e6,
        "step_size": 1.0,
        "steps": 2,
        "activation": "relu(z)",
        "bias": 0.5,
    }
    a, b = (
        gd.predict(t, "giant_steps", **setting, readout="signs", bias_scale=0.0).overlap
        for t in (noisy, mean)
    )
    assert np.allclose(a, b, atol=2e-2)


def test_every_theory_covers_latent_noise_or_refuses_it():
    """No theory may take the mean for the label without saying so in its class."""
    target = gd.Target("sign(z + 0.5*xi)")
    for name in THEORIES:
        theory = THEORIES[name]()
        reason = obstacle(theory, target)
        if gd.Target in theory.kinds and not theory.latent:
            assert reason == "the target has latent noise inside its formula"

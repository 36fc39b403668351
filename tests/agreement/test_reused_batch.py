"""Dynamical mean field against the exact engine at finite n and d; they share no formula."""

import numpy as np
import pytest

import gradone as gd

STUDENT = dict(
    width=2, activation="relu(z)", readout=[0.5**0.5, -(0.5**0.5)], step_size=0.6, steps=4
)
# t-quantile of 1e-6 for 16 runs, in standard errors; a 99 % half-width is 2.95 of them.
QUANTILE, HALF_WIDTH = 7.9, 2.95


def compare(target, *, d, alpha, **student):
    """Largest gap of the means over 16 runs from the limit, in units of what is allowed."""
    run = gd.dynamics.reused_batch(
        target, d=d, alpha=alpha, init="orthogonal", replicates=16, progress=False, **student
    )
    limit = gd.predict(target, "reused_batch", alpha=alpha, init="orthogonal", **student)
    worst = 0.0
    for name in ("overlap", "norm", "train_mse", "test_mse"):
        simulated, predicted = run[name].values[:, 1:], limit[name].values[0, 1:]
        error = np.hypot(
            simulated.std(axis=0, ddof=1) / 4, limit[f"{name}_err"].values[0, 1:] / HALF_WIDTH
        )
        # Order parameters of a run deviate by O(1/sqrt(d)), their means by O(1/d) only.
        allowed = QUANTILE * error + 10 / d
        worst = max(worst, float((abs(simulated.mean(axis=0) - predicted) / allowed).max()))
    return worst


@pytest.mark.stat
@pytest.mark.parametrize(
    ("target", "alpha", "more"),
    [
        (gd.Target("tanh(z1 + He3(z2))"), 3.0, {}),
        (gd.Target("tanh(z1)", noise=0.5), 1.0, {"weight_decay": 0.3}),
        (gd.Target("He2(z1)/2 + z2"), 2.0, {"loss": "correlation", "activation": "tanh(z + 0.5)"}),
        (gd.Target("tanh(z1)"), 2.0, {"train_readout": 0.5, "train_bias": 0.3}),
    ],
)
def test_limit_agrees_with_runs_at_finite_dimension(target, alpha, more):
    """Would catch: noise drawn anew at each step, memory dropped, no decay of the memory."""
    assert compare(target, d=20_000, alpha=alpha, **(STUDENT | more)) < 1


@pytest.mark.slow
def test_limit_agrees_with_runs_at_large_dimension():
    """The setting of the published comparison, at d = 1e5."""
    assert compare("tanh(z1 + He3(z2))", d=100_000, alpha=3.0, **(STUDENT | {"steps": 6})) < 1


@pytest.mark.stat
def test_many_steps_on_few_samples():
    """Twenty steps at alpha = 1/2, where the network learns its samples by heart."""
    more = {"steps": 20, "width": 1, "readout": [1.0], "activation": "tanh(z)"}
    assert compare("tanh(z1)", d=4000, alpha=0.5, **(STUDENT | more)) < 1

"""Means of one update at finite d, against the exact formulas, integrated here."""

import numpy as np
import pytest
from scipy.stats import t as student_t

import gradone as gd

D, ETA, REPLICATES, SAMPLES = 20, 0.05, 6000, 400_000
TARGET = gd.Target("He2(z1) + z1*z2", noise=0.2)
M0 = np.array([[0.4, -0.2], [0.1, 0.3]])
L0 = np.array([[0.8, 0.0], [0.2, 0.6]])
READOUT = np.array([1.0, -0.5])


def push(samples):
    """phi_j, fields and coordinates of fresh samples."""
    rng = np.random.default_rng(17)
    x = rng.standard_normal((samples, 4))
    field = x[:, :2] @ M0.T + x[:, 2:] @ L0.T
    noise = np.sqrt(TARGET.noise) * rng.standard_normal(samples)
    output = np.tanh(field + 0.3)
    e = x[:, 0] ** 2 - 1 + x[:, 0] * x[:, 1] + noise - output @ READOUT
    return READOUT * e[:, None] * (1 - output**2), field, x


@pytest.mark.stat
@pytest.mark.parametrize("batch_size", [1, 6])
def test_mean_of_one_update(batch_size):
    r"""E[dM] = eta E[phi z], E[dQ] = eta (E[phi lambda] + T) + eta^2 {E[phi phi |x|^2]/b + ...}.

    Would catch: the second-order term without 1/b, or with d in place of |x|^2.
    """
    Q0 = M0 @ M0.T + L0 @ L0.T
    run = gd.dynamics.sgd(
        TARGET, d=D, width=2, activation="tanh(z + 0.3)", steps=1, step_size=ETA, readout=READOUT,
        batch_size=batch_size, init={"M": M0, "Q": Q0}, record=[1], replicates=REPLICATES, seed=4,
    )  # fmt: skip
    phi, field, x = push(SAMPLES)
    v = phi.T @ x / len(x)
    first = phi.T @ field / len(x)
    length2 = (x**2).sum(1) + D - 4
    second = (phi * length2[:, None]).T @ phi / len(x) / batch_size
    second += (1 - 1 / batch_size) * v @ v.T
    expected = {
        "overlap": M0 + ETA * v[:, :2],
        "norm": Q0 + ETA * (first + first.T) + ETA**2 * second,
    }
    quantile = student_t.ppf(1 - 1e-6 / 16, REPLICATES - 1)
    for name, value in expected.items():
        runs = run[name].values[:, 0]
        error = runs.std(0, ddof=1) / np.sqrt(REPLICATES)
        # The samples of the integral have the same spread or less.
        error = error * np.hypot(1, np.sqrt(REPLICATES * batch_size / SAMPLES))
        assert (abs(runs.mean(0) - value) < quantile * error).all(), name
    # Power: the second-order term is seen.
    without = expected["norm"] - ETA**2 * second
    assert (abs(run.norm.values[:, 0].mean(0) - without) > quantile * error).any()

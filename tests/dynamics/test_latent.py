"""Latent noise in the engines: drawn for every sample, seen by nobody, exact in law."""

import math

import numpy as np
import pytest
from scipy import stats

import gradone as gd
from gradone.analysis import escape


def direct(target, d, steps, eta, replicates, seed=5):
    """Overlap and squared norm of one relu neuron trained by plain SGD on whole vectors."""
    rng = np.random.default_rng(seed)
    w = np.zeros((replicates, d))
    w[:, 0], w[:, 1] = 0.6, 0.8
    for _ in range(steps):
        x = rng.standard_normal((replicates, d))
        y = target(x[:, :1], rng.standard_normal((replicates, target.q)))
        field = (w * x).sum(axis=1)
        e = y - np.maximum(field, 0)
        w += eta * (e * (field > 0))[:, None] * x
    return w[:, 0], (w**2).sum(axis=1)


@pytest.mark.stat
def test_the_chain_has_the_law_of_sgd_on_vectors():
    """Would catch: the mean label in place of the label, or one noise for all samples.

    With the mean z in place of z + z*xi the squared norm after 40 steps is 1.0 instead of 1.6.
    """
    target, d, steps, eta, runs = gd.Target("z + z*xi"), 20, 40, 0.06, 2000
    M, Q = direct(target, d, steps, eta, runs)
    run = gd.dynamics.sgd(
        target, d=d, width=1, steps=steps, step_size=eta, record=[steps], replicates=runs,
        readout=[1.0], init={"M": [[0.6]], "Q": [[1.0]]},
    )  # fmt: skip
    for found, known in ((run.overlap, M), (run.norm, Q)):
        assert stats.ks_2samp(found.values.ravel(), known).pvalue > 1e-6


@pytest.mark.parametrize("batch", [1, 8])
def test_the_flow_is_the_limit_of_the_chain(batch):
    """Label sign(z1 z2 + xi/2): the means of both are the same within the errors."""
    init = {"M": [[0.3, 0.3], [0.3, -0.3]], "Q": np.eye(2)}
    student = {"width": 2, "readout": [1.0, -1.0], "init": init}
    target, d = gd.Target("sign(z1*z2 + xi/2)"), 1000
    flow = gd.predict(
        target, "sgd_flow", time=[2.0 / batch], step_size=0.3 * batch, batch_size=batch, **student
    )
    run = gd.dynamics.sgd(
        target, d=d, steps=2 * d // batch, step_size=0.3 * batch / d, batch_size=batch,
        record=[2 * d // batch], replicates=24, **student,
    )  # fmt: skip
    M = run.overlap.values[:, 0]
    error = M.std(axis=0, ddof=1) / math.sqrt(24)
    gap = np.abs(M.mean(axis=0) - flow.overlap.values[0])
    assert (gap < 7 * error + flow.overlap_err.values[0] + 2 / d).all()


def test_noise_enters_a_second_look_before_it_is_averaged():
    """An extra-gradient step sees z*xi, whose mean is zero: rules that look twice are nonlinear."""
    target = gd.Target("z*xi")
    assert escape(target, "relu(z)").scaling == "stuck"
    stage = escape(target, "tanh(z)", rule="sam", inner_step=0.3, loss="correlation")
    assert stage.scaling == "d log d"
    rng = np.random.default_rng(0)
    u, z, xi = rng.standard_normal((3, 400_000))
    y = z * xi

    def push(field):
        return y / np.cosh(field) ** 2

    growth = push(u - 0.3 * push(u)) * u * (z * z - 1)
    spread = growth.std() / math.sqrt(len(u))
    assert stage.K[0, 0] == pytest.approx(growth.mean(), abs=5 * spread)


def test_the_plain_escape_is_that_of_the_mean_with_the_square_of_the_label():
    target = gd.Target("z + z*xi")
    found = escape(target, "tanh(z)", loss="correlation")
    mean = escape(gd.Target("z"), "tanh(z)", loss="correlation")
    assert found.v == pytest.approx(mean.v)
    assert found.variance.value == pytest.approx(2 * mean.variance.value)


def test_reuse_agrees_with_its_effective_process():
    """The second pass over the same labels, noise and all."""
    target = gd.Target("z + z*xi")
    settings = {"width": 1, "step_size": 0.3, "steps": 3, "activation": "tanh(z)"}
    theory = gd.predict(target, "reused_batch", alpha=3.0, **settings)
    run = gd.dynamics.reused_batch(
        target, d=1500, alpha=3.0, replicates=16, init="orthogonal", **settings
    )
    found = run.overlap.values[:, -1, 0, 0]
    error = found.std(ddof=1) / 4
    known = float(theory.overlap.isel(step=-1).squeeze())
    assert abs(found.mean() - known) < 7.9 * error + float(
        theory.overlap_err.isel(step=-1).squeeze()
    )
    test_error = run.test_mse.values[:, -1]
    known = float(theory.test_mse.isel(step=-1).squeeze())
    assert test_error.mean() == pytest.approx(known, rel=0.03)

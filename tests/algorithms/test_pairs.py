"""Theory and simulation of one algorithm, with the arguments that its card makes of one run."""

import json

import numpy as np
import pytest

import gradone as gd
from gradone.algorithms import ALGORITHMS, Run
from gradone.base.replicates import mean_over_replicates
from gradone.experiments._common_quantities import common_quantities


@pytest.mark.stat
@pytest.mark.parametrize(
    "name",
    [
        *("sgd", "extragradient"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("normalized_sgd", "momentum_sgd", "sign_sgd")
        ),
    ],
)
def test_exact_sgd_follows_its_flow(name):
    """Would catch: a step or a time that is wrong by a factor of two, which moves the first
    recovery from 0.42 to 0.57 or 0.70."""
    card = ALGORITHMS[name]()
    run = Run(gd.Target("tanh(z)"), "alpha", [2.0, 5.0, 10.0], 1000, 0, {"replicates": 12})
    made, flow = card.simulated(run), card.predicted(run)
    measured = mean_over_replicates(made).recovery.isel(direction=0).values
    np.testing.assert_array_equal(flow.alpha.values, made.alpha.values)
    np.testing.assert_allclose(flow.recovery.isel(direction=0).values, measured, atol=0.04)


@pytest.mark.stat
def test_exact_reuse_follows_its_mean_field():
    card = ALGORITHMS["reused_batch"]()
    run = Run(gd.Target("tanh(z)"), "alpha", [4.0], 1000, 0, {"replicates": 12})
    theory = common_quantities(card.predicted(run), "alpha").cosine2.item()
    measured = common_quantities(card.simulated(run), "alpha").cosine2.item()
    assert theory == pytest.approx(measured, abs=0.03)


@pytest.mark.stat
def test_giant_steps_of_a_network_follow_their_limit():
    """Would catch: twice the samples, which moves the shares from 0.71 and 0.64 to 0.82 and 0.77;
    the gap allowed is 1/width."""
    card = ALGORITHMS["giant_steps"]()
    run = Run(gd.Target("z1 + z1*z2"), "batch_ratio", [4.0], 200, 0, {"replicates": 12})
    limit = card.shares(card.predicted(run)).gradient_share.values[0]
    made = card.watched(run)
    gap = np.abs(made.gradient_share.values[0] - limit)
    assert (gap < 8 * made.gradient_share_err.values[0] + 1 / 50).all()
    assert (8 * made.gradient_share_err.values[0] + 1 / 50 < 0.1).all()


@pytest.mark.parametrize(
    "name",
    [
        *("sgd", "extragradient", "reused_batch"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("normalized_sgd", "huber_sgd", "momentum_sgd", "sign_sgd")
        ),
    ],
)
def test_a_theory_has_the_step_that_its_engine_chooses(name):
    """The engine chooses for itself; the card asks the same theory of the escape."""
    card = ALGORITHMS[name]()
    run = Run(gd.Target("z1 + He2(z1)"), "alpha", [3.0], 200, 0, {"replicates": 1})
    made = json.loads(card.watched(run).attrs["params"])
    asked = card.theory_arguments(run)
    # The flow counts in samples per dimension; steps of given length have the root of it.
    units = {"reused_batch": 1, "normalized_sgd": np.sqrt(200)}.get(name, 200)
    assert asked["step_size"] == pytest.approx(made["step_size"] * units)
    if "inner_step_size" in asked:
        assert asked["inner_step_size"] == pytest.approx(made["inner_step_size"] * units)


@pytest.mark.stat
def test_a_wide_network_follows_its_mean_field():
    """Would catch: a time that is wrong by a factor of two, which moves u_1 from 0.87 to 0.46."""
    card = ALGORITHMS["mean_field"]()
    settings = {"gamma": 0.05, "width": 32, "replicates": 4}
    run = Run(gd.Target("z1 + z1*z2"), "alpha", [20.0, 40.0], 300, 0, settings)
    made, flow = card.simulated(run), card.predicted(run)
    signs = np.tile([1.0, -1.0], 16)
    u = made.overlap.transpose("alpha", "replicate", "neuron", "direction").values
    limit = flow.overlap.values
    measured = np.stack([(u[..., 0] * signs).mean((1, 2)), u[..., 1].mean((1, 2))])
    first = (limit[..., 0] * np.sign(flow.readout.values)).mean(1)
    np.testing.assert_allclose(measured, [first, limit[..., 1].mean(1)], atol=0.06)

"""Optimizers of the exact engine: identities between them, what they refuse, what is chosen."""

import math

import numpy as np
import pytest

import gradone as gd

# Targets and students of this file are those of test_optimizer_law: they are compiled once.
CURVED = "He3(z1) + z1*z2"
COMMON = {"d": 60, "width": 3, "activation": "tanh(z + 0.3)", "steps": 40, "step_size": 1e-3,
          "replicates": 2, "record": [0, 10, 40], "progress": False}  # fmt: skip


def run(target=CURVED, **changes):
    return gd.dynamics.sgd(target, **COMMON | changes)


def assert_same(one, two, tolerance=1e-12):
    for name in ("overlap", "norm"):
        np.testing.assert_allclose(one[name], two[name], rtol=0, atol=tolerance)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.usefixtures("plain_python")
def test_a_clip_that_never_acts_is_plain_sgd(size):
    """The stacked chain and today's, on the same random numbers, are the same numbers."""
    assert_same(run(batch_size=size, clip_norm=1e9), run(batch_size=size))
    assert run(clip_norm=math.inf).equals(run())


@pytest.mark.usefixtures("plain_python")
def test_muon_of_one_sample_is_the_normalized_step():
    assert_same(run(optimizer="muon", step_size=0.02), run(optimizer="normalized", step_size=0.02))
    alone = {"width": 1, "step_size": 0.02, "batch_size": 4}
    assert_same(run(optimizer="muon", **alone), run(optimizer="normalized", **alone))


@pytest.mark.usefixtures("plain_python")
def test_a_constant_schedule_is_plain_sgd():
    assert_same(run(schedule="1 + 0*t"), run())


@pytest.mark.slow
def test_the_formula_of_the_square_loss_is_plain_sgd():
    np.testing.assert_allclose(run(loss="(y - f)^2/2").norm, run().norm, atol=1e-12)


@pytest.mark.usefixtures("plain_python")
def test_a_schedule_is_the_product_of_its_steps():
    """Half of the run at twice the step, then at the step itself."""
    whole = run(schedule="1 + step(0.5 - t)", clip_norm=1e9, record=[20, 40])
    first = run(steps=20, step_size=2e-3, record=[20])
    np.testing.assert_allclose(whole.overlap[:, 0], first.overlap[:, 0], atol=1e-12)


@pytest.mark.usefixtures("plain_python")
def test_a_step_of_muon_has_orthonormal_rows():
    """From M = 0, Q = I: W moves by eta times a matrix with orthonormal rows."""
    after = run(
        optimizer="muon", init="orthogonal", steps=1, batch_size=20, step_size=0.5, record=[1],
        momentum=0.5,
    )  # fmt: skip
    Q, C = after.norm.values[:, 0], after.buffer_product.values[:, 0]
    # With V = G after the first step: W = I + eta P G, and W V^T = E + eta (G G^T)^(1/2).
    H = after.buffer_norm.values[:, 0]
    sizes, axes = np.linalg.eigh(H)
    root = (axes * np.sqrt(sizes)[:, None]) @ axes.swapaxes(1, 2)
    inverse = (axes / np.sqrt(sizes)[:, None]) @ axes.swapaxes(1, 2)
    cross = inverse @ (C - 0.5 * root).swapaxes(1, 2)  # P G W0^T
    expected = np.eye(3) * 1.25 + 0.5 * (cross + cross.swapaxes(1, 2))
    np.testing.assert_allclose(Q, expected, atol=1e-10)


@pytest.mark.slow
def test_degenerate_starts_and_dead_neurons_give_numbers():
    """Copies of a neuron, and steps in which no relu is on."""
    start = {"M": [[1.0], [1.0]], "Q": [[1.0, 1.0], [1.0, 1.0]]}
    for settings in ({"optimizer": "muon"}, {"optimizer": "normalized", "momentum": 0.5}):
        found = gd.dynamics.sgd(
            "z1", d=20, width=2, activation="relu(z)", init=start, steps=200, step_size=0.01,
            replicates=2, record=[200], progress=False, **settings,
        )  # fmt: skip
        assert np.isfinite(found.norm).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": "muon", "rule": "k_steps"}, "'muon' is simulated for rule='plain' only"),
        (
            {"optimizer": "muon", "momentum": 0.5, "rule": "k_steps"},
            "'muon' and momentum are simulated for rule='plain' only",
        ),
        ({"loss": "logistic"}, r"logistic loss needs labels -1 and 1: write sign\(...\)"),
        ({"loss": "smooth_hinge"}, "smooth_hinge loss needs labels -1 and 1"),
        ({"momentum": 1.0}, r"momentum must be a number in \[0, 1\), got 1.0"),
        ({"momentum": -0.1}, r"momentum must be a number in \[0, 1\)"),
        ({"nesterov": True}, "nesterov=True needs momentum > 0"),
        (
            {"nesterov": "ahead", "momentum": 0.5},
            "True, False or 'look_ahead', got 'ahead'",
        ),
        (
            {"nesterov": "look_ahead", "momentum": 0.5, "optimizer": "muon"},
            "goes along the buffer, and 'muon' does not; use nesterov=True",
        ),
        ({"momentum": 0.5, "weight_decay": 1e3}, r"step_size \* weight_decay must be below 1"),
        ({"momentum": 0.5, "d": 7}, r"d must be at least r \+ 2 width = 2 \+ 6 with momentum"),
        ({"momentum": 0.5, "geometry": "spherical"}, "the buffer is not transported; use geometry"),
        ({"clip_norm": 0.0}, "clip_norm must be a number > 0"),
        ({"clip": "sample"}, "clip='sample' needs clip_norm"),
        ({"clip": "all", "clip_norm": 1.0}, "unknown clip 'all'"),
        ({"optimizer": "addam"}, "unknown optimizer 'addam'.*Did you mean 'adam'"),
        ({"loss_scale": 2.0}, "loss_scale has no meaning for the loss 'square'"),
        ({"loss": "f*"}, "the loss 'f\\*', with z1 for y and z2 for f"),
        ({"loss": "z1 - f"}, "a function of the label y and the output f, not of z1"),
        ({"schedule": "t - 1"}, "must be finite and not negative"),
        ({"schedule": "z2*t"}, "is a function of t = step/steps alone"),
        ({"orthogonalize": "qr"}, "unknown orthogonalize 'qr'"),
    ],
)
def test_what_has_no_meaning_is_refused(changes, message):
    with pytest.raises(gd.BadData, match=message):
        run(**changes)


def test_coordinatewise_optimizers_have_no_exact_reduction():
    with pytest.raises(gd.OutOfRegime, match="'sign' treats coordinates separately: no exact red"):
        run(optimizer="sign")
    with pytest.raises(gd.BadData, match="'muon' has an exact reduction"):
        run(optimizer="muon", method="direct")


@pytest.mark.slow
def test_steps_are_chosen_for_every_optimizer():
    """Normalized gradients find He3 with a relu, for which plain SGD is blind."""
    found = gd.dynamics.sgd(
        "He3(z)", width=1, activation="relu(z)", d=300, optimizer="normalized", loss="correlation",
        geometry="projected", replicates=4, progress=False,
    )  # fmt: skip
    assert "Chosen: step_size" in found.attrs["notes"]
    assert float(found.recovery.isel(step=-1).mean()) > 0.5


def test_divergence_names_the_step_and_the_quantity():
    with pytest.raises(gd.NotConverged, match="the readout of replicate . diverged at step"):
        run(train_readout=50.0, clip_norm=1.0, momentum=0.5, steps=400)

"""Order parameters of one giant step: reference values, and what they must satisfy."""

import pytest

import gradone as gd

SPIKED = {
    "readout_ratio": 1.6, "batch_ratio": 20.0, "step_size": 3.0, "activation": "tanh(z)",
    "readout": "ones",
}  # fmt: skip


def test_reference_values():
    """Values of an independent solver of the published equations of one block."""
    found = gd.theory.order_parameters("sin(z)", variant="spiked", **SPIKED)
    numbers = [x.item() for x in (found.m, found.zeta, found.psi, found.q1, found.q2)]
    expected = [1.1196766, 0.0579858, 0.1554190, 0.0619625, 0.0684296]
    assert numbers == pytest.approx(expected, abs=1e-6)
    assert found.error < 1e-7
    assert (found.B, found.shares.tolist()) == (0.0, [1.0])
    assert found.test_mse.value == pytest.approx(0.0373113, abs=1e-6)
    real = gd.theory.order_parameters("sin(z)", **SPIKED)
    assert real.B == pytest.approx(-0.6807555, abs=1e-6)


@pytest.mark.parametrize("readout", ["ones", {1.0: 0.5, -2.0: 0.5}])
def test_the_norm_is_the_slope_of_the_loss_in_the_ridge(readout):
    """Envelope theorem: the least value of alpha/beta train + lambda q2 has the slope q2.

    The left side knows the training error only. Would catch: a norm without its shares.
    """
    setting = {
        "readout_ratio": 2.0, "batch_ratio": 3.0, "step_size": 1.5, "width_ratio": 0.8,
        "activation": "tanh(z)", "readout": readout, "width": 500.0, "variant": "spiked",
    }  # fmt: skip

    def loss(ridge):
        train = gd.predict("sin(z)", "one_step", ridge=ridge, **setting).train_mse.item()
        found = gd.theory.order_parameters("sin(z)", ridge=ridge, **setting)
        norm = found.q2.sum()
        return 2.0 / 0.8 * train + ridge * norm, norm

    h = 1e-3
    (high, _), (low, _), (_, norm) = loss(0.1 + h), loss(0.1 - h), loss(0.1)
    assert norm > 0.01
    assert (high - low) / (2 * h) == pytest.approx(norm, rel=1e-4)


def test_what_it_does_not_cover():
    with pytest.raises(gd.OutOfRegime, match="depends on 2 directions"):
        gd.theory.order_parameters("z1*z2", **SPIKED)
    with pytest.raises(gd.OutOfRegime, match="no linear part"):
        gd.theory.order_parameters("sin(z)", **(SPIKED | {"activation": "cos(z)"}))

"""Hitting times against closed integrals, reference values and another method."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import gradone as gd
from gradone.analysis import escape
from gradone.theory import hitting_time

MATCHED = [  # target and activation, power of d in eta, in time, prefactor, d, time
    ("z", 1, 1, 1.0, 1_000, 0.6241),
    ("z", 1, 1, 1.0, 1_000_000, 0.6550),
    ("z", 1, 1, 0.3, 1_000, 1.8143),
    ("z", 1, 1, 0.3, 1_000_000, 1.9167),
    ("He2(z)/sqrt(2)", 1, 1, 0.1, 1_000, 15.53),
    ("He2(z)/sqrt(2)", 1, 1, 0.1, 10_000, 21.59),
    ("He2(z)/sqrt(2)", 1, 1, 0.3, 1_000, 6.03),
    ("He2(z)/sqrt(2)", 1, 1, 0.3, 10_000, 8.29),
    ("He3(z)/sqrt(6)", 1.5, 2, 0.3, 128, 1.0995),
    ("He3(z)/sqrt(6)", 1.5, 2, 0.3, 256, 1.1250),
]


@pytest.mark.parametrize(("text", "power", "time_power", "step", "d", "time"), MATCHED)
def test_matched_hermite_students(text, power, time_power, step, d, time):
    found = hitting_time(text, d=d, step_size=step * d**-power, activation=text, loss="correlation")
    assert found.value / d**time_power == pytest.approx(time, rel=1e-3)
    assert found.error < 1e-6 * found.value


def test_the_linear_case_is_an_integral_by_hand():
    d, gamma = 1000, 0.7
    expected = quad(lambda m: 1 / (gamma * (1 - m * m) - gamma**2 / 2 * m), d**-0.5, 0.4)[0]
    found = hitting_time(
        "z", d=d, step_size=gamma / d, activation="z", loss="correlation", threshold=0.4
    )
    assert found.value / d == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("loss", ["square", "correlation"])
@pytest.mark.parametrize(
    ("text", "noise", "activation", "readout"),
    [("tanh(z)", 0.3, "relu(z)", 1.0), ("sign(z)", 0.0, "tanh(z)", -0.7),
     ("He2(z) + z**3/9", 0.1, "relu(z + 0.3)", 1.2)],
)  # fmt: skip
def test_series_and_panels_agree(text, noise, activation, readout, loss):
    """Would catch: a missing cross term of V for the square loss, noise left out of V."""
    target, d, gamma = gd.Target(text, noise=noise), 2_000, 0.05
    found = hitting_time(
        target, d=d, step_size=gamma / d, activation=activation, loss=loss, readout=readout
    )
    stage = escape(target, activation, loss=loss, readout=readout)
    assert found.value == pytest.approx(stage.hitting_time(d, step_size=gamma).value, rel=1e-5)


def test_the_flow_reaches_the_threshold_at_that_time():
    d, gamma = 10_000, 0.2
    given = {"activation": "tanh(z)", "loss": "correlation"}
    time = hitting_time("sin(z)", d=d, step_size=gamma / d, **given).value / d
    state = gd.predict(
        "sin(z)", "sgd_flow", time=time, width=1, step_size=gamma, geometry="spherical",
        init={"M": [[1 / math.sqrt(d)]]}, **given,
    )  # fmt: skip
    assert float(state.overlap[0, 0, 0]) == pytest.approx(0.5, abs=1e-6)


def test_repeated_samples_need_fewer_steps():
    given = {"d": 10_000, "activation": "relu(z)", "step_size": 1e-5, "loss": "correlation"}
    assert hitting_time("He3(z)", **given).value == math.inf
    again = hitting_time("He3(z)", rule="extragradient", inner_step_size=1e-5, **given)
    assert 10_000 < again.value < 10_000_000
    state = gd.predict(
        "He3(z)", "sgd_flow", time=again.value / 10_000, width=1, step_size=0.1,
        rule="extragradient", inner_step_size=0.1, loss="correlation", geometry="spherical",
        init={"M": [[-0.01]]},
    )  # fmt: skip
    assert float(state.overlap[0, 0, 0]) == pytest.approx(-0.5, abs=1e-4)


def test_too_large_a_step_never_arrives():
    found = hitting_time(
        "He2(z)/sqrt(2)", d=1000, step_size=3e-3, activation="He2(z)/sqrt(2)", loss="correlation"
    )
    assert found.value == math.inf
    assert "stops growing near" in found.note


def test_the_step_of_the_linear_theory_arrives():
    assert np.isfinite(hitting_time("z1*z2", d=1000, activation="He2(z)", loss="correlation").value)


def test_bad_input():
    with pytest.raises(gd.BadData, match="threshold"):
        hitting_time("z", d=1000, threshold=0.01)
    with pytest.raises(gd.BadData, match="needs step_size"):
        hitting_time("z", d=1000, rule="extragradient")

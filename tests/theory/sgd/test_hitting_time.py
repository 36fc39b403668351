"""Hitting times against closed integrals, reference values and another method."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom

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
    with pytest.raises(gd.BadData, match="'favorable', 'random'"):
        hitting_time("z", d=1000, start="rand")
    with pytest.raises(gd.OutOfRegime, match=r"one linear form.*gd\.dynamics\.sgd"):
        hitting_time("z1*z2", d=1000, start="random")


# ---- random starts


def test_without_noise_the_median_is_that_of_the_flow():
    """Small steps: from 0 for order 1, from the median 0.6745/sqrt(d) of |m| for order 2."""
    d, gamma, given = 10**6, 1e-4, {"loss": "correlation", "start": "random"}
    found = hitting_time("z", d=d, step_size=gamma / d, activation="z", **given)
    assert found.value / d == pytest.approx(math.atanh(0.5) / gamma, rel=1e-3)
    he2, start = "He2(z)/sqrt(2)", 0.674490 / math.sqrt(d)
    found = hitting_time(he2, d=d, step_size=gamma / d, activation=he2, **given)
    flow = (math.log(0.5 / math.sqrt(0.75)) - math.log(start)) / (2 * gamma)
    assert found.value / d == pytest.approx(flow, rel=1e-3)


def test_the_law_of_order_three_has_a_limit_and_the_wrong_side_waits():
    """Would catch: a noise of the wrong power of d; starts on the wrong side that are reflected."""
    he3 = "He3(z)/sqrt(6)"
    given = {"activation": he3, "loss": "correlation", "start": "random"}
    limit = [
        hitting_time(he3, d=d, step_size=0.3 * d**-1.5, **given).value / d**2
        for d in (10**4, 10**6)
    ]
    assert limit[1] == pytest.approx(limit[0], rel=0.02)
    slow = hitting_time(he3, d=10**4, step_size=0.03 * 10**-6, **given).value / 10**8
    assert slow > 15 * limit[0]


def test_a_neuron_that_learns_nothing_stays_small():
    found = hitting_time(
        "He3(z)", d=1000, step_size=1e-5, activation="relu(z)", loss="correlation", start="random"
    )
    assert found.value == math.inf
    assert "stays small" in found.note
    assert hitting_time("z", d=16, threshold=0.5, start="random").value > 0
    assert hitting_time("z", d=4, threshold=0.55, start="random").value > 0


def engine_median(target, d, step_size, threshold, longest, replicates, **settings):
    """Median of the exact engine from random starts, with the bounds of a median at 1e-6."""
    grid = np.unique(np.linspace(0, longest, 2000).astype(int))
    run = gd.dynamics.sgd(
        target, d=d, width=1, steps=int(longest), step_size=step_size, geometry="spherical",
        record=grid, replicates=replicates, progress=False, **settings,
    )  # fmt: skip
    passed = abs(run.overlap.values[:, :, 0, 0]) >= threshold
    times = np.sort(np.where(passed.any(1), grid[passed.argmax(1)], np.inf))
    low, high = binom.ppf([5e-7, 1 - 5e-7], replicates, 0.5).astype(int)
    return times[low] - longest / 2000, times[min(high + 1, replicates - 1)]


def matched(order):
    return f"He{order}(z)/sqrt({math.factorial(order)})"


FAST = [
    ("z", "tanh(z)", 100, 0.5 / 100, 0.5, 1500, {}),
    (matched(3), matched(3), 32, 0.3 * 32**-1.5, 0.5, 500, {}),
]
LONG = [
    (matched(2), matched(2), 64, 0.3 / 64, 0.5, 4000, {}),
    (matched(2), matched(2), 500, 0.1 / 500, 0.5, 4000, {}),
    (matched(3), matched(3), 64, 0.3 * 64**-1.5, 0.5, 4000, {}),
    (matched(3), matched(3), 256, 0.3 * 256**-1.5, 0.5, 1000, {}),
    (matched(4), matched(4), 32, 0.1 * 32**-2, 0.5, 2000, {}),
    (matched(4), matched(4), 64, 0.3 * 64**-2, 0.5, 1000, {}),
    ("sign(z) + He3(z)/2", "tanh(z)", 100, 0.2 / 100, 0.7, 4000, {"loss": "square"}),
    ("abs(z)", matched(2), 200, 0.3 / 200, 0.5, 2000, {}),
    ("He3(z)", "relu(z)", 300, 0.1 / 300, 0.5, 1000,
     {"rule": "extragradient", "inner_step_size": 1e-3}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "activation", "d", "step_size", "threshold", "replicates", "settings"),
    [
        *(pytest.param(*case, marks=pytest.mark.stat) for case in FAST),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG),
    ],
)
def test_the_median_is_that_of_the_engine(
    target, activation, d, step_size, threshold, replicates, settings
):
    """The stated error covers the median of runs, which share no code with it."""
    target = gd.Target(target, noise=0.1)
    given = {"activation": activation, "loss": "correlation", "step_size": step_size, **settings}
    found = hitting_time(target, d=d, threshold=threshold, start="random", **given)
    low, high = engine_median(
        target, d, threshold=threshold, longest=1.8 * found.value, replicates=replicates, **given
    )
    assert low - found.error < found.value < high + found.error
    assert high - low + found.error < found.value  # the check has power

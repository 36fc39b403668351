"""Where the stages of Bayes-AMP open."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.theory import amp_thresholds

REFERENCE = [  # target, noise, thresholds, tolerances
    ("z**2", 0.0, [0.5], [1e-5]),
    ("He4(z)", 0.0, [0.644850], [1e-5]),
    ("sign(z1*z2)", 0.0, [math.pi**2 / 4], [1e-5]),
    ("z1*z2", 0.0, [0.593751], [1e-3]),
    ("z1*z2*z3", 0.0, [2.565180], [1.3e-3]),
    # G = a I + y/2 S with a = (|y| - 1)/2, S a swap and y a Laplace variable: E[a^2 + y^2/4] = 3/4.
    ("z1*z2 + z3*z4", 0.0, [4 / 3], [1e-3]),
    ("z**2", 0.1, [0.518066], [1e-4]),
    ("z**2", 1.0, [0.646591], [1e-4]),
    ("z1*z2", 0.1, [0.6610], [5e-4]),
    ("sign(z1) + sign(z2)", 0.0, [0.0, 2.05], [0.0, 0.02]),
    ("max(z1, z2)", 0.1, [0.0, 1.262], [0.0, 0.002]),
    pytest.param("relu(z1) + relu(z2)", 0.01, [0.0, 1.3595], [0.0, 0.003], marks=pytest.mark.stat),
    ("tanh(z1*z2) + 0.5*z3", 0.05, [0.0, 1.507], [0.0, 0.004]),
    pytest.param(
        "z1**2 + sign(z1*z2*z3)",
        0.0,
        [0.575166, math.pi**2 / 4],
        [1e-3, 1e-3],
        marks=pytest.mark.stat,
    ),
    ("sign(z1*z2*z3)", 0.0, [math.inf], [0.0]),
    ("tanh(z)", 0.0, [0.0], [0.0]),
]


@pytest.mark.parametrize(("text", "noise", "thresholds", "tolerances"), REFERENCE)
def test_thresholds_are_those_of_the_literature(text, noise, thresholds, tolerances):
    stages = amp_thresholds(gd.Target(text, noise=noise))
    assert len(stages) == len(thresholds)
    for stage, expected, tolerance in zip(stages, thresholds, tolerances, strict=True):
        if math.isinf(expected):
            assert math.isinf(stage.threshold.value)
        else:
            assert stage.threshold.value == pytest.approx(expected, abs=tolerance + 1e-12)
            assert stage.threshold.error <= max(tolerance, 1e-9)


@pytest.mark.parametrize("text", ["sign(z1) + sign(z2)", "sign(z1)*sign(z2 + z1)", "z1 + z1*z2"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_algorithms_need_at_least_what_perfect_knowledge_of_earlier_stages_allows(text, noise):
    """Would catch: conditioning on the wrong posterior width, a missing stage."""
    target = gd.Target(text, noise=noise)
    bounds = gd.analyze(target).grand_staircase
    for stage in amp_thresholds(target):
        bound = next(b for b in bounds if b.subspace.dim >= stage.subspace.dim)
        slack = stage.threshold.error + bound.threshold.error + 1e-4
        assert stage.threshold.value >= bound.threshold.value - slack


@pytest.mark.stat
def test_below_a_threshold_nothing_is_learned_and_above_it_something():
    target = gd.Target("sign(z1) + sign(z2)")
    specialization = amp_thresholds(target)[-1].threshold.value
    state = gd.predict(target, "bayes_amp", alpha=specialization * np.array([0.99, 1.02]))
    difference = np.array([1.0, -1.0]) / math.sqrt(2)
    below, above = (difference @ M @ difference for M in state.overlap.values)
    assert below == pytest.approx(0.0, abs=1e-9)
    assert above > 0.005


def test_directions_are_true_subspaces():
    stages = amp_thresholds("sign(z1) + sign(z2)")
    assert stages[0].subspace.contains([1.0, 1.0])
    assert stages[0].subspace.dim == 1
    assert stages[1].subspace.dim == 2
    assert [stage.learnability for stage in stages] == ["trivial", "easy"]


def test_bad_input():
    with pytest.raises(gd.OutOfRegime, match="5 directions"):
        amp_thresholds("z1*z2*z3*z4*z5")

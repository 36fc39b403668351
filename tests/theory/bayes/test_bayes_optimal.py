"""Branches, free entropies and the hard phase."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.channels.averages.general import ChannelAverages


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("sign(z1*z2)", 0.0),
        ("z1*z2", 0.1),
        ("max(z1, z2)", 0.1),
        pytest.param("relu(z1) + relu(z2)", 0.05, marks=pytest.mark.stat),
        ("z**2", 0.0),
        ("sign(z1 + z2**2 - 1)", 0.0),
    ],
)
def test_the_information_is_twice_the_gradient_of_the_mean_log_evidence(text, noise):
    """d Psi / dM = J / 2: the two halves of state evolution agree (a common misprint drops 1/2)."""
    target = gd.Target(text, noise=noise)
    channel = ChannelAverages(target)
    rng = np.random.default_rng(5)
    r = target.r
    Q, _ = np.linalg.qr(rng.standard_normal((r, r)))
    M = (Q * np.linspace(0.3, 0.55, r)) @ Q.T
    E = rng.standard_normal((r, r))
    E = (E + E.T) / np.linalg.norm(E + E.T)
    h = 0.05
    up, down, more, less = (channel.at(M + k * h * E).log_evidence for k in (1, -1, 2, -2))
    slope = (8 * (up - down) - (more - less)) / (12 * h)
    J = channel.at(M).information
    assert slope == pytest.approx(np.sum(J * E) / 2, abs=1e-3 * np.abs(J).max())


@pytest.mark.stat
def test_phase_retrieval_has_a_hard_phase_between_one_and_1128():
    best = gd.predict("z**2", "bayes_optimal", alpha=[0.9, 1.1, 1.2])
    assert float(best.alpha_it) == pytest.approx(1.0, abs=1e-9)
    assert float(best.alpha_algorithmic) == pytest.approx(1.128, abs=2e-3)
    assert best.is_hard.values.tolist() == [False, True, False]
    assert best.overlap.values.ravel() == pytest.approx([0.330772, 1.0, 1.0], abs=1e-4)
    assert best.branch_overlap.values[1, 0, 0, 0] == pytest.approx(0.6908, abs=2e-3)


@pytest.mark.stat
def test_the_parity_of_four_is_possible_but_hard():
    """Spinodal and information-theoretic threshold from a series of error functions.

    Would catch: memory that grows with the fourth power of the number of prior means.
    """
    best = gd.predict("sign(z1*z2*z3*z4)", "bayes_optimal", alpha=[14.0])
    assert float(best.alpha_spinodal) == pytest.approx(13.1601, abs=2e-4)
    assert float(best.alpha_it) == pytest.approx(15.7997, abs=float(best.alpha_it_err))
    assert float(best.alpha_it_err) < 2e-3


@pytest.mark.stat
def test_the_parity_of_three_is_possible_but_hard():
    best = gd.predict("sign(z1*z2*z3)", "bayes_optimal", alpha=[8.0, 9.0, 10.0])
    assert float(best.alpha_spinodal) == pytest.approx(8.720, abs=1e-3)
    assert float(best.alpha_it) == pytest.approx(9.567, abs=1e-3)
    assert math.isinf(best.alpha_algorithmic)
    assert best.is_hard.values.tolist() == [False, False, True]
    assert best.branch.size == 2
    entropy = best.branch_free_entropy.values
    assert entropy[1, 0] > entropy[1, 1]
    assert entropy[2, 0] < entropy[2, 1]


@pytest.mark.stat
def test_without_a_hard_phase_the_algorithm_is_optimal():
    best = gd.predict("sign(z1*z2)", "bayes_optimal", alpha=[4.0])
    assert not best.is_hard.any()
    assert math.isnan(best.alpha_it)
    state = gd.predict("sign(z1*z2)", "bayes_amp", alpha=[4.0])
    assert best.overlap.values == pytest.approx(state.overlap.values, abs=1e-5)


@pytest.mark.slow
def test_the_optimum_is_never_worse_than_the_algorithm():
    for text, noise in [("z**2", 0.01), ("z1*z2", 0.05)]:
        target = gd.Target(text, noise=noise)
        alpha = [0.8, 1.2]
        best = gd.predict(target, "bayes_optimal", alpha=alpha)
        state = gd.predict(target, "bayes_amp", alpha=alpha)
        assert (best.test_mse <= state.test_mse + 1e-5).all()

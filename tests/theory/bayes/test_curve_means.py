"""State evolution of noiseless targets of two variables, from labels that prior means share."""

import numpy as np
import pytest
from scipy.stats import norm

import gradone as gd
from gradone.channels import posterior_channel
from gradone.channels.shared_labels import NARROWEST, shared_labels
from gradone.theory.bayes import _curve_means, _curve_moments, _state_evolution
from gradone.theory.bayes._curve_means import (
    curve_means,
    lost_information,
    narrow_means,
    shared_labels_of,
)
from gradone.theory.bayes._fixed_points import StateEvolution
from gradone.theory.bayes._state_evolution import averages, growth_operator, overlap_step

M = np.array([[0.3, 0.05], [0.05, 0.4]])


def two_tangents_by_hand(M):
    """J(M), mean of log Z and error of labels of tanh(z1) + tanh(z2), M diagonal.

    Plain rules over prior means, labels y = +-2 tanh(e^u) and the difference t = z1 - z2, along
    which every level curve is smooth; z1 + z2 is found by halving.
    """
    v, nodes = 1 - np.diag(M), np.polynomial.hermite_e.hermegauss(14)
    u, du = np.linspace(-18, 2.15, 81, retstep=True)
    t, dt = np.linspace(-13, 13, 209, retstep=True)
    y, dy = 2 * np.tanh(np.exp(u)), 2 * du * np.exp(u) / np.cosh(np.exp(u)) ** 2
    y, dy = np.concatenate([-y, y]), np.concatenate([dy, dy])
    low, high = np.full((len(t), len(y)), -60.0), np.full((len(t), len(y)), 60.0)
    for _ in range(70):
        middle = (low + high) / 2
        too_far = np.tanh((middle + t[:, None]) / 2) + np.tanh((middle - t[:, None]) / 2) > y
        low, high = np.where(too_far, low, middle), np.where(too_far, middle, high)
    z = np.stack([low + t[:, None], low - t[:, None]]) / 2
    density = dt / (1 / np.cosh(z) ** 2).sum(axis=0)
    J, log_evidence, mse = np.zeros((2, 2)), 0.0, 0.0
    for a, wa in zip(*nodes, strict=True):
        for b, wb in zip(*nodes, strict=True):
            away = z - np.sqrt(np.diag(M))[:, None, None] * np.array([a, b])[:, None, None]
            spread = np.sqrt(v)[:, None, None]
            joint = density * norm.pdf(away, scale=spread).prod(axis=0)
            Z = joint.sum(axis=0)
            some = Z > 1e-200
            g = (away * joint).sum(axis=1)[:, some] / Z[some] / v[:, None]
            p = wa * wb / (2 * np.pi) * dy[some] * Z[some]
            J += (g * p) @ g.T
            log_evidence += p @ np.log(Z[some])
            mse += p @ (y[some] - (dy * Z) @ y) ** 2
    return J, log_evidence, mse


def test_averages_are_those_of_plain_integrals():
    """Two hyperbolic tangents, for which nothing is known in closed form.

    Would catch: a wrong weight of the curves, of labels or of prior means.
    """
    overlaps = np.diag([0.3, 0.5])
    J, log_evidence, mse = two_tangents_by_hand(overlaps)
    found = averages(posterior_channel(gd.Target("tanh(z1) + tanh(z2)")), overlaps, 1)
    np.testing.assert_allclose(found.information, J, atol=3e-5)
    assert found.log_evidence == pytest.approx(log_evidence, abs=3e-5)
    assert found.test_mse == pytest.approx(mse, abs=3e-5)


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("z1*z2", 0.0),
        ("relu(z1) + relu(z2)", 0.0),  # with an atom
        ("sign(z1)*z2", 0.0),
        ("tanh(z1*z2)", 0.0),  # relabeled
        ("z1**2 + z2**2", 0.0),
        ("z1**2 - z2**2", 0.05),
        ("relu(z1) + relu(z2)", 0.01),
        ("tanh(z1)*relu(z2)", 0.02),
        ("2*tanh(z1*z2**2) - 1", 0.1),  # labels saturate
        ("z1*z2", 0.01),
        ("z1*exp(-z2**2)", 0.01),  # labels are dense around zero
    ],
)
def test_averages_agree_with_those_over_the_labels_of_each_prior_mean(text, noise, monkeypatch):
    """The posterior of every label at every prior mean on its own, which shares no rule.

    With noise by Fourier transforms of the density of labels. Would catch: atoms left out, labels
    taken for those of the inner function, folded prior means that are not equivalent.
    """
    monkeypatch.setattr(_curve_means, "_SPREAD", 0.0)  # else a large noise is left to others
    channel = posterior_channel(gd.Target(text, noise=noise))
    assert shared_labels_of(channel, M) is not None
    shared = averages(channel, M, 1)
    growth = growth_operator(channel, np.diag([0.4, 0]), np.eye(2)[1:], 1)
    monkeypatch.setattr(_state_evolution, "means_of_shared_labels", lambda *_, **__: None)
    monkeypatch.setattr(_state_evolution, "shared_labels_of", lambda *_: None)
    own = averages(channel, M, 1)
    np.testing.assert_allclose(shared.information, own.information, atol=6e-5 if noise else 2e-5)
    assert shared.log_evidence == pytest.approx(own.log_evidence, abs=2e-5)
    assert shared.test_mse == pytest.approx(own.test_mse, rel=1e-4)
    np.testing.assert_allclose(
        growth, growth_operator(channel, np.diag([0.4, 0]), np.eye(2)[1:], 1), atol=3e-4
    )


@pytest.mark.parametrize("text", ["z1**2 - z2**2", "2*z1*z2 + z2"])
def test_narrow_posteriors_share_labels_with_little_noise(text, monkeypatch):
    """Would catch: panels of labels that are wider than what is likely at one prior mean."""
    channel, M = posterior_channel(gd.Target(text, noise=0.008)), np.diag([0.9, 0.94])
    assert shared_labels_of(channel, M) is not None
    shared = averages(channel, M, 1)
    monkeypatch.setattr(_state_evolution, "means_of_shared_labels", lambda *_, **__: None)
    monkeypatch.setattr(_state_evolution, "shared_labels_of", lambda *_: None)
    own = averages(channel, M, 1)
    np.testing.assert_allclose(shared.information, own.information, rtol=1e-4, atol=1e-4)
    assert shared.log_evidence == pytest.approx(own.log_evidence, abs=2e-5)
    assert shared.test_mse == pytest.approx(own.test_mse, abs=2e-4)


def with_noise_by_hand(f, noise, overlap):
    """J(M) of y = f(z) + noise at M = diag(overlap, 0), by sums over plain grids of z and y."""
    h, dy, step, width = 0.07, 0.3, 0.35, np.sqrt(1 - overlap)
    z1, z2 = np.meshgrid(*2 * [np.arange(-7, 7, h)], indexing="ij")
    label, weight = f(z1, z2), h**2 * norm.pdf(z2)
    y = np.arange(label[weight > 1e-9].min() - 3, label[weight > 1e-9].max() + 3, dy)
    J = np.zeros((2, 2))
    for node in step * np.arange(-14, 15):
        mean, chance = np.sqrt(overlap) * node, step * norm.pdf(node)
        mass = weight * norm.pdf(z1, mean, width)
        heavy = mass > 1e-11
        p, x1, x2 = mass[heavy], z1[heavy] - mean, z2[heavy]
        for label_y in y:
            density = p * np.exp(-((label_y - label[heavy]) ** 2) / (2 * noise))
            density /= np.sqrt(2 * np.pi * noise)
            Z = max(density.sum(), 1e-300)
            g = np.array([density @ x1 / width**2, density @ x2]) / Z
            J += chance * dy * Z * np.outer(g, g)
    return J


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "f"),
    [
        ("z1**2 - z2**2", lambda a, b: a**2 - b**2),
        ("tanh(z1) + tanh(2*z2)", lambda a, b: np.tanh(a) + np.tanh(2 * b)),
    ],
)
def test_labels_with_noise_are_those_of_plain_sums(text, f, monkeypatch):
    """Would catch: a noise of the wrong size, labels that lose weight at the ends of panels."""
    monkeypatch.setattr(_curve_means, "_SPREAD", 0.0)  # else so large a noise is left to others
    found = averages(posterior_channel(gd.Target(text, noise=0.3)), np.diag([0.4, 0.0]), 1)
    J = with_noise_by_hand(f, 0.3, 0.4)
    np.testing.assert_allclose(found.information, J, atol=2e-5)


def test_what_is_not_found_of_curves_is_not_passed_over():
    """Curves of sin(10 z1 z2) are closer together than what looks for them."""
    assert shared_labels(gd.Target("sin(10*z1*z2)").expression) is None
    share, rest = lost_information(posterior_channel(gd.Target("cos(4*z1)*z2")), M)
    assert share > 0
    assert 1e-4 < rest < 1e-2


def test_labels_that_are_far_more_frequent_than_others_are_resolved():
    """Small labels of z1*exp(-z2**2) are what tells z2.

    The fixed point by plain sums over z2 (step 0.01), log |y| (0.04) and prior means (0.3), for
    which J M^{-1} (I - M) = I to 1e-5. Would catch: a singular density that no panel is graded to.
    """
    found = gd.predict("z1*exp(-z2**2)", "bayes_amp", alpha=1)
    np.testing.assert_allclose(np.diag(found.overlap.values[0]), [0.655803, 0.143027], atol=1e-4)
    assert found.overlap_err.values.max() < 1e-4


@pytest.mark.parametrize(
    ("text", "varies"),
    [("z1*z2", 1.0), ("relu(z1) + relu(z2)", 0.75), ("z1*relu(z2)", 0.5), ("tanh(z1*z2)", 1.0)],
)
def test_a_narrow_posterior_is_known_along_the_gradient(text, varies):
    """The trace of V J is the probability that the label varies; curves agree on the way there."""
    shared = shared_labels(gd.Target(text).expression)
    V = np.array([[2.0, 0.5], [0.5, 1.0]]) * NARROWEST**2
    narrow = narrow_means(shared, np.eye(2) - V)
    assert np.trace(V @ narrow.information) == pytest.approx(varies, abs=1e-4)
    channel = posterior_channel(gd.Target(text))
    curves = curve_means(channel, shared, np.eye(2) - V, 0)
    np.testing.assert_allclose(V @ narrow.information, V @ curves.information, atol=3 * NARROWEST)
    assert narrow.test_mse == pytest.approx(curves.test_mse, abs=0.2 * NARROWEST)
    assert narrow.log_evidence == pytest.approx(curves.log_evidence, abs=3 * NARROWEST)


@pytest.mark.parametrize(
    ("text", "threshold"),
    [("z1*z2", 2.0), ("relu(z1) + relu(z2)", 8 / 3), ("z1*relu(z2)", 4.0)],
)
def test_perfect_recovery_needs_as_many_labels_that_vary_as_unknowns(text, threshold):
    """Stable from alpha = r/p on, where a label varies with probability p."""
    below, above = (
        gd.predict(text, "bayes_amp", alpha=factor * threshold) for factor in (0.9, 1.1)
    )
    assert float(below.overlap.values[0, 0, 0]) < 0.995
    np.testing.assert_allclose(above.overlap.values[0], np.eye(2), atol=1e-5)


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "noise", "alpha"),
    [
        ("z1*z2", 0.0, 1.3),
        ("z1**2 - z2**2", 0.0, 1.7),
        ("relu(z1) + relu(z2)", 0.0, 2.0),
        ("tanh(z1) + tanh(z2)", 0.0, 1.5),
        ("z1**2 + relu(z2)", 0.0, 1.3),
        ("exp(z1)*z2", 0.0, 1.2),
        ("abs(z1) + abs(z2)", 0.0, 1.7),
        ("z1**2 - z2**2", 0.01, 1.2),
        ("z1**2 + relu(z2)", 0.1, 1.2),
    ],
)
def test_stated_errors_cover_a_finer_rule(text, noise, alpha):
    """The map with the finest rules is at rest where the answer is, up to its error.

    Would catch: errors that leave out what rules over prior means or curves do not resolve.
    """
    evolution = StateEvolution(gd.Target(text, noise=noise))
    point = evolution.uninformed(alpha)
    assert point.converged
    assert point.error < 1e-4
    at = averages(evolution.channel(1), point.M, 3)
    moves = np.abs(overlap_step(at.information, alpha) - point.M).max() / (1 - point.rate)
    assert moves < point.error
    assert abs(at.test_mse - point.at.test_mse) < point.at_error.test_mse
    assert abs(at.log_evidence - point.at.log_evidence) < point.at_error.log_evidence


@pytest.mark.parametrize(
    "overlaps", [np.diag([0.3, 0.6]), np.diag([0.0, 0.5]), np.diag([0.01, 0.9])]
)
def test_nodes_may_be_taken_to_the_prior_means_next_to_them_only(overlaps, monkeypatch):
    """Would catch: a factor that is lost in a product along the prior means."""
    target = gd.Target("z1 + z1*z2")
    shared, channel = shared_labels(target.expression), posterior_channel(target)
    found = []
    for narrow in (0.0, 1.0):  # every node at every prior mean, and those next to it
        monkeypatch.setattr(_curve_moments, "_NARROW", narrow)
        found.append(curve_means(channel, shared, overlaps, 0, curvature=True))
    for dense, sparse in zip(*found, strict=True):
        np.testing.assert_allclose(dense, sparse, rtol=1e-6, atol=3e-7)

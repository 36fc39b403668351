"""Channels with latent noise: closed forms, and the same channel with the noise as a direction."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import gradone as gd
from gradone.channels.averages.latent import JointAverages, ProbabilityAverages
from gradone.channels.rules import channel_averages
from gradone.channels.samples.channel import SampleChannel
from gradone.channels.samples.probabilities import label_probabilities

RNG = np.random.default_rng(0)
N = 100
OMEGA, V = RNG.standard_normal((N, 1)), np.array([[0.4]])
SIGNS = np.sign(RNG.standard_normal(N))


def gaussian(x):
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


# ---- posteriors of single samples


def test_posterior_of_probit_labels():
    found = SampleChannel(gd.Target("sign(z + sqrt(0.5)*xi)")).posterior(SIGNS, OMEGA, V)
    width = math.sqrt(0.4 + 0.5)
    t = SIGNS * OMEGA[:, 0] / width
    assert np.allclose(found.log_z, np.log(ndtr(t)), atol=1e-4)
    assert np.allclose(found.g[:, 0], SIGNS * gaussian(t) / ndtr(t) / width, atol=1e-3)


def test_posterior_of_flipped_labels():
    """Z = p + (1 - 2p) Z_0, and its derivative over it."""
    p, c = 0.1, 1.2815515655446004
    channel = SampleChannel(gd.Target(f"sign(z)*sign(xi + {c})"))
    found = channel.posterior(SIGNS, OMEGA, V)
    t = SIGNS * OMEGA[:, 0] / math.sqrt(0.4)
    Z = p + (1 - 2 * p) * ndtr(t)
    assert np.allclose(np.exp(found.log_z), Z, atol=1e-9)
    known = SIGNS * (1 - 2 * p) * gaussian(t) / math.sqrt(0.4) / Z
    assert np.allclose(found.g[:, 0], known, atol=1e-9)
    assert np.allclose(channel.mean(OMEGA, V), (1 - 2 * p) * (2 * ndtr(OMEGA[:, 0] / 0.4**0.5) - 1))


def test_posterior_of_a_square_with_noise_inside():
    """g_out = (|tau| tanh(|tau| omega/W) - omega)/W with W = V + D: noise widens the prior."""
    y, W = RNG.standard_normal(N) ** 2, 0.4 + 0.25
    found = SampleChannel(gd.Target("(z + 0.5*xi)**2")).posterior(y, OMEGA, V)
    tau, omega = np.sqrt(y), OMEGA[:, 0]
    assert np.allclose(found.g[:, 0], (tau * np.tanh(tau * omega / W) - omega) / W, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "joint"),
    [("z*xi", "z1*z2"), ("z + z*xi", "z1 + z1*z2"), ("relu(z + xi)", "relu(z1 + z2)")],
)
def test_noise_is_a_direction_of_which_nothing_is_known(text, joint):
    """The z block of the target whose second direction has prior mean 0 and variance 1."""
    y = gd.Target(text).draw(OMEGA, RNG)
    one = SampleChannel(gd.Target(text)).posterior(y, OMEGA, V)
    two = SampleChannel(gd.Target(joint)).posterior(
        y, np.hstack([OMEGA, 0 * OMEGA]), np.diag([0.4, 1.0])
    )
    assert np.allclose(one.log_z, two.log_z, atol=1e-12)
    assert np.allclose(one.g[:, 0], two.g[:, 0], atol=1e-12)
    assert np.allclose(one.dg[:, 0, 0], two.dg[:, 0, 0], atol=1e-12)


def test_posterior_of_a_noisy_product_of_signs():
    """Z = E_{z1} Phi(y z1 w2/S), S^2 = D + V z1^2, by Gauss-Hermite nodes of its own."""
    D, spread = 0.09, 0.5
    omega = 0.7 * RNG.standard_normal((N, 2))
    target = gd.Target("sign(z1*z2 + 0.3*xi)")
    found = SampleChannel(target).posterior(SIGNS, omega, spread * np.eye(2))
    x, w = np.polynomial.hermite_e.hermegauss(200)
    z1 = omega[:, :1] + math.sqrt(spread) * x
    S = np.sqrt(D + spread * z1**2)
    t = SIGNS[:, None] * z1 * omega[:, 1:] / S
    Z = ndtr(t) @ w / w.sum()
    slope = (SIGNS[:, None] * z1 / S * gaussian(t)) @ w / w.sum()
    assert np.allclose(found.log_z, np.log(Z), atol=1e-3)
    assert np.allclose(found.g[:, 1], slope / Z, atol=2e-3)


def test_a_prior_mean_on_the_edge_of_a_region_is_half_in_it():
    """Would catch: an edge at +0 counted on one side by the mass and on the other by the tail."""
    channel = SampleChannel(gd.Target("sign(z)"))
    found = channel.posterior(np.array([-1.0, 1.0]), np.zeros((2, 1)), V)
    assert np.exp(found.log_z) == pytest.approx([0.5, 0.5], abs=1e-12)


def test_more_than_four_variables_are_refused_unless_the_noise_can_be_averaged_out():
    with pytest.raises(gd.OutOfRegime, match="5 variables"):
        SampleChannel(gd.Target("z1*xi1 + z2*xi2 + z1*z2*xi3"))
    labels = gd.Target("sign(z + xi1)*sign(xi2 + 2)*sign(xi3 + 2)*sign(xi4 + 2)*sign(xi5 + 2)")
    assert label_probabilities(labels) is not None
    SampleChannel(labels).posterior(np.ones(1), np.zeros((1, 1)), V)


# ---- averages for state evolution


@pytest.mark.parametrize("m", [0.0, 0.3, 0.8])
def test_information_of_probit_labels(m):
    """J(m) = E[phi(t)^2/(Phi(t) Phi(-t))]/(1 - m + D), t = sqrt(m) G/sqrt(1 - m + D)."""
    D = 0.5
    x, w = np.polynomial.hermite_e.hermegauss(80)
    width = 1 - m + D
    t = math.sqrt(m / width) * x
    known = float(w @ (gaussian(t) ** 2 / (ndtr(t) * ndtr(-t))) / w.sum() / width)
    channel = channel_averages(gd.Target("sign(z + sqrt(0.5)*xi)"))
    assert isinstance(channel, ProbabilityAverages)
    assert channel.at(np.array([[m]])).information[0, 0] == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize(
    "text", ["sign(z1*z2 + 0.5*xi)", "sign(z + 0.7*xi)", "sign(z)*sign(xi + 1)"]
)
def test_two_rules_for_few_labels_agree(text):
    """Probabilities given z, against slices of the label in r + q variables."""
    target = gd.Target(text)
    M = 0.4 * np.eye(target.r)
    one, other = ProbabilityAverages(target), JointAverages(target)
    (a, a_sources), (b, b_sources) = one.estimate(M), other.estimate(M)
    for k in range(3):
        error = sum(np.abs(s[k]) for s in (*a_sources, *b_sources))
        assert (np.abs(np.subtract(a[k], b[k])) <= 3 * np.max(error) + 1e-6).all()


def test_averages_of_noise_are_a_block_of_those_of_a_direction():
    """J of z*xi at m is the z1-z1 entry of J of z1*z2 at diag(m, 0)."""
    one = channel_averages(gd.Target("z*xi")).at(np.array([[0.3]]))
    two = channel_averages(gd.Target("z1*z2")).at(np.diag([0.3, 0.0]))
    assert one.information[0, 0] == pytest.approx(two.information[0, 0], rel=1e-12)
    assert one.log_evidence == pytest.approx(two.log_evidence, rel=1e-12)


def test_noise_of_the_index_shrinks_the_overlap():
    """J of (z + sqrt(D) xi)^2 is that of z^2 at m/(1 + D), over (1 + D)."""
    noisy = channel_averages(gd.Target("(z + 0.5*xi)**2")).at(np.array([[0.6]]))
    plain = channel_averages(gd.Target("z**2")).at(np.array([[0.6 / 1.25]]))
    assert noisy.information[0, 0] == pytest.approx(plain.information[0, 0] / 1.25, rel=1e-3)

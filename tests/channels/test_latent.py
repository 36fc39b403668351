"""Channels with latent noise: closed forms, and the same channel with the noise as a direction."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import gradone as gd
from gradone.channels.averages.moments import total
from gradone.channels.rules import channel_averages
from gradone.channels.samples.channel import SampleChannel

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


@pytest.mark.parametrize(
    "text", ["z1*xi1 + z2*xi2 + z1*z2*xi3", "sign(z1*z2 + xi1*xi2)*sign(xi3 + 2)"]
)
def test_more_than_four_variables_are_refused(text):
    with pytest.raises(gd.OutOfRegime, match="5 variables"):
        SampleChannel(gd.Target(text))
    with pytest.raises(gd.OutOfRegime, match="directions and latent variables"):
        gd.predict(text, "bayes_amp", alpha=[1.0])


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
    assert channel.at(np.array([[m]])).information[0, 0] == pytest.approx(known, rel=1e-6)


def information(margin, m, r):
    """J_11 and mean log evidence at M = m I, P(y | z) = Phi(y margin), by Gauss-Hermite nodes."""
    x, w = np.polynomial.hermite_e.hermegauss(64)
    grid = np.stack(np.meshgrid(*[x] * r, indexing="ij"), axis=-1).reshape(-1, r)
    weight = np.prod(np.meshgrid(*[w / w.sum()] * r, indexing="ij"), axis=0).ravel()
    J = evidence = 0.0
    for prior, share in zip(math.sqrt(m) * grid, weight, strict=True):
        inside = margin(prior + math.sqrt(1 - m) * grid)
        Z, rest = weight @ ndtr(inside), weight @ ndtr(-inside)
        slope = weight @ (ndtr(inside) * grid[:, 0]) / math.sqrt(1 - m)
        J += share * slope**2 * (1 / Z + 1 / rest)
        evidence += share * (Z * math.log(Z) + rest * math.log(rest))
    return J, evidence


@pytest.mark.parametrize(
    ("text", "margin", "m"),
    [
        ("sign(z1*z2 + 0.5*xi)", lambda z: z[:, 0] * z[:, 1] / 0.5, 0.4),
        ("sign(z + 0.7*xi)", lambda z: z[:, 0] / 0.7, 0.6),
        ("sign(z**2 - 1 + 0.8*xi)", lambda z: (z[:, 0] ** 2 - 1) / 0.8, 0.5),
    ],
)
def test_averages_of_few_labels_follow_from_their_probabilities(text, margin, m):
    """Would catch: a point of the cloud that counts for one label only."""
    target = gd.Target(text)
    found, sources = channel_averages(target).estimate(m * np.eye(target.r))
    J, evidence = information(margin, m, target.r)
    error = total(sources)
    assert error.information.max() < 1e-3 * J
    assert found.information[0, 0] == pytest.approx(J, abs=error.information.max() + 1e-7)
    assert found.log_evidence == pytest.approx(evidence, abs=error.log_evidence + 1e-7)


def test_averages_of_flipped_labels():
    """J = (1 - 2p)^2 E[phi(t)^2/(Z (1 - Z))]/V with Z = p + (1 - 2p) Phi(t): a box of the noise."""
    m, c = 0.6, 1.2815515655446004
    t = math.sqrt(m / (1 - m)) * np.linspace(-9, 9, 4001)
    w = np.exp(-(np.linspace(-9, 9, 4001) ** 2) / 2)
    Z = 0.1 + 0.8 * ndtr(t)
    known = float(w / w.sum() @ ((0.8 * gaussian(t)) ** 2 / (Z * (1 - Z)))) / (1 - m)
    channel = channel_averages(gd.Target(f"sign(z)*sign(xi + {c})"))
    assert channel.at(np.array([[m]])).information[0, 0] == pytest.approx(known, rel=1e-6)


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

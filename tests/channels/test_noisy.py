"""Posterior channels of labels with Gaussian noise or with a linear part."""

import math

import numpy as np
import pytest

from gradone import BadData, NotConverged, Target
from gradone.channels import posterior_channel
from gradone.channels.linear_part import linear_part
from gradone.targets.language.expression import Expression

NOISY = [
    ("z1**2", 0.1),
    ("z1*z2", 0.1),
    ("max(z1, z2)", 0.1),
    ("relu(z1) + relu(z2)", 0.05),
    ("tanh(z1*z2) + 0.5*z3", 0.05),
    ("z1*z2*z3", 0.3),
    ("z1*z2 + z3**2", 0.3),
    ("sign(z1*z2)", 0.5),
    ("sign(z1*z2) + z3/2", 0.2),
    ("z1*sign(z2)", 0.2),
    ("abs(z1) - 2*z2", 0.0),
    ("z1*z2 + z3", 0.0),
    ("sign(z1) + z2", 0.0),
    ("z1 + 2*z2", 0.3),
]


def covariance(r, rng):
    """Full covariance below the identity."""
    root = rng.standard_normal((r, r))
    return 0.25 * np.eye(r) + 0.1 * root @ root.T


def samples(text, noise, n, seed=0):
    """Channel with labels that may come out at random prior means."""
    target = Target(text, noise=noise)
    rng = np.random.default_rng(seed)
    V = covariance(target.r, rng)
    omega = 0.6 * rng.standard_normal((n, target.r))
    z = omega + rng.standard_normal((n, target.r)) @ np.linalg.cholesky(V).T
    return target, target(z) + math.sqrt(noise) * rng.standard_normal(n), omega, V


@pytest.mark.stat
@pytest.mark.parametrize(("text", "noise"), [case for case in NOISY if case[1]])
def test_posterior_agrees_with_weighted_draws(text, noise):
    """Would catch: the noise of the linear part left out, a covariance transposed."""
    target, y, omega, V = samples(text, noise, 3)
    got = posterior_channel(target, resolution=2).posterior(y, omega, V)
    rng = np.random.default_rng(1)
    n = 250_000
    for i in range(3):
        z = omega[i] + rng.standard_normal((n, target.r)) @ np.linalg.cholesky(V).T
        weight = np.exp(-((y[i] - target(z)) ** 2) / (2 * noise)) / math.sqrt(2 * math.pi * noise)
        evidence = weight.mean()
        assert abs(math.exp(got.log_z[i]) - evidence) < 5.5 * weight.std() / math.sqrt(n)
        mean = weight @ z / weight.sum()
        error = 5.5 * np.sqrt(((weight[:, None] * (z - mean)) ** 2).mean(axis=0) / n) / evidence
        assert (np.abs(omega[i] + V @ got.g[i] - mean) < error).all()
        products = (z - mean)[:, :, None] * (z - mean)[:, None, :]
        cov = np.einsum("n,nij->ij", weight, products) / weight.sum()
        spread = ((weight[:, None, None] * (products - cov)) ** 2).mean(axis=0)
        error = 5.5 * np.sqrt(spread / n) / evidence
        assert (np.abs(V + V @ got.dg[i] @ V - cov) < error).all()


# Integrals over two nonlinear directions cost more than tests/targets/posterior/test_identities.py
# can spend; the identities are checked here with fewer labels.
PLANE = [("relu(z1) + relu(z2)", 0.05), ("z1*z2*z3", 0.3), ("z1*z2 + z3**2", 0.3)]


@pytest.mark.parametrize(("text", "noise"), PLANE)
def test_output_function_is_the_gradient_of_the_evidence(text, noise):
    """Five-point formula; its step is not far below that of the lattice, whose error has kinks."""
    target, y, omega, V = samples(text, noise, 6)
    channel = posterior_channel(target, resolution=1)
    got, eps = channel.posterior(y, omega, V), 0.03
    for i in range(target.r):
        gradient, jacobian = np.zeros(6), np.zeros((6, target.r))
        for k, weight in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)):
            at = channel.posterior(y, omega + k * eps * np.eye(target.r)[i], V)
            gradient += weight * at.log_z / eps
            jacobian += weight * at.g / eps
        np.testing.assert_allclose(got.g[:, i], gradient, atol=3e-3 * np.abs(got.g).max())
        np.testing.assert_allclose(got.dg[:, i], jacobian, atol=1e-2 * np.abs(got.dg).max())


@pytest.mark.stat
@pytest.mark.parametrize(("text", "noise"), PLANE)
def test_outcomes_are_a_law_with_the_same_posterior(text, noise):
    """Mass 1, E[g] = 0, E[dg + g g^T] = 0, and the lattice of samples agrees with the panels."""
    target, _, omega, V = samples(text, noise, 2)
    out = posterior_channel(target, resolution=1).outcomes(omega, V)
    share = out.weight * np.exp(out.log_z)
    np.testing.assert_allclose(share.sum(axis=1), 1.0, atol=1e-6)
    size = np.sqrt((share[..., None] * out.g**2).sum(axis=(1, 2)).max())
    np.testing.assert_allclose(np.einsum("mk,mki->mi", share, out.g), 0.0, atol=1e-5 * size)
    fine = posterior_channel(target, resolution=2)
    for i in range(2):
        pick = share[i] > 1e-8
        y, prior = out.y[i, pick], np.tile(omega[i], (pick.sum(), 1))
        one = fine.posterior(y, prior, V)
        likely = share[i, pick] > 1e-4
        chance = out.weight[i, pick] * np.exp(one.log_z)
        np.testing.assert_allclose(chance, share[i, pick], atol=1e-4 * chance.max())
        np.testing.assert_allclose(out.g[i, pick][likely], one.g[likely], atol=1e-2 * size)
        outer = one.g[:, :, None] * one.g[:, None, :]
        balance = np.einsum("k,kij->ij", share[i, pick], one.dg + outer)
        np.testing.assert_allclose(balance, 0.0, atol=1e-3 * size**2)


@pytest.mark.parametrize(
    ("text", "noise"),
    [*PLANE, ("tanh(z1*z2) + 0.5*z3", 0.05), ("z1*z2", 0.1), ("relu(z1) + relu(z2)", 0.01)],
)
def test_default_step_keeps_its_promise(text, noise):
    """The default (single precision in the plane) against a quarter of the step in double."""
    target, y, omega, V = samples(text, noise, 120, seed=5)
    default = posterior_channel(target)
    coarse = default.posterior(y, omega, V)
    fine = posterior_channel(target, resolution=2).posterior(y, omega, V)
    for a, b in ((coarse.g, fine.g), (coarse.dg, fine.dg)):
        assert np.linalg.norm(a - b) < 1e-2 * np.linalg.norm(b)
    # The answer does not depend on the company of a sample.
    alone = default.posterior(y[7:8], omega[7:8], V)
    np.testing.assert_allclose(alone.g[0], coarse.g[7], atol=3e-2 * np.abs(fine.g).max())


def easy_operator(text, noise):
    """Matrix of M -> E[G M G] at omega = 0, V = I, in an orthonormal basis."""
    target = Target(text, noise=noise)
    channel, r = posterior_channel(target, resolution=2), target.r
    out = channel.outcomes(np.zeros((1, r)), np.eye(r))
    one = channel.posterior(out.y[0], np.zeros((out.y.shape[1], r)), np.eye(r))
    G = one.dg + one.g[:, :, None] * one.g[:, None, :]
    share = out.weight[0] * np.exp(out.log_z[0])
    return np.einsum("k,kab,kcd->acbd", share, G, G).reshape(r * r, r * r)


@pytest.mark.parametrize(
    ("text", "noise", "alpha", "tolerance"),
    [
        ("z1**2", 0.1, 0.518066, 1e-5),
        ("z1**2", 1.0, 0.646591, 1e-5),
        ("z1*z2", 0.1, 0.6610, 5e-4),
    ],
)
def test_easy_thresholds(text, noise, alpha, tolerance):
    """Values of direct integration and of a lattice without elimination."""
    assert abs(1 / np.linalg.eigvalsh(easy_operator(text, noise)).max() - alpha) < tolerance


@pytest.mark.parametrize(
    ("text", "noise", "value", "direction"),
    [
        ("max(z1, z2)", 0.1, 0.6435, [1, 1]),
        ("relu(z1) + relu(z2)", 0.01, 0.7458, [1, 1]),
        ("tanh(z1*z2) + 0.5*z3", 0.05, 0.4352, [0, 0, 1]),
    ],
)
def test_trivial_directions(text, noise, value, direction):
    r = len(direction)
    out = posterior_channel(Target(text, noise=noise)).outcomes(np.zeros((1, r)), np.eye(r))
    share = out.weight[0] * np.exp(out.log_z[0])
    N = np.einsum("k,ki,kj->ij", share, out.g[0], out.g[0])
    values, vectors = np.linalg.eigh(N)
    assert abs(values[-1] - value) < 5e-4
    assert abs(vectors[:, -1] @ direction) > (1 - 1e-6) * np.linalg.norm(direction)
    assert np.abs(values[:-1]).max() < 1e-6  # a rule that squares its own noise is above 1e-5


def gaussian_means(r, n):
    """Product rule for the mean over standard Gaussian vectors: nodes and weights."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    nodes = np.stack(np.meshgrid(*[x] * r, indexing="ij"), axis=-1).reshape(-1, r)
    weights = np.ones(1)
    for _ in range(r):
        weights = np.multiply.outer(weights, w / w.sum()).ravel()
    keep = weights > 1e-9
    return nodes[keep], weights[keep] / weights[keep].sum()


def information(channel, M, n):
    """J(M) = E[g g^T] and Psi(M) = E[log Z], for diagonal M or any for r = 2."""
    r = len(M)
    values, vectors = np.linalg.eigh(M)
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    nodes, weights = gaussian_means(r, n)
    out = channel.outcomes(nodes @ root, np.eye(r) - M)
    share = weights[:, None] * out.weight * np.exp(out.log_z)
    J = np.einsum("mk,mki,mkj->ij", share, out.g, out.g)
    return J, float((share * out.log_z).sum())


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "noise", "n"),
    [
        ("z1**2", 0.1, 40),
        ("z1*z2", 0.1, 20),
        ("max(z1, z2)", 0.1, 24),
        ("relu(z1) + relu(z2)", 0.01, 24),
        ("sign(z1*z2)", 0.5, 24),
        ("tanh(z1*z2) + 0.5*z3", 0.05, 10),
        ("z1*z2 + z3", 0.0, 10),
    ],
)
def test_free_entropy_has_the_slope_of_the_information(text, noise, n):
    """dPsi/dq = Tr J / 2 along M = q I."""
    target = Target(text, noise=noise)
    channel, q, eps = posterior_channel(target), 0.4, 0.01
    eye = np.eye(target.r)
    J, _ = information(channel, q * eye, n)
    high, low = (information(channel, (q + s * eps) * eye, n)[1] for s in (1, -1))
    assert abs((high - low) / (2 * eps) / (np.trace(J) / 2) - 1) < 1e-3


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "noise", "alpha", "direction", "m", "tolerance"),
    [
        ("z1*z2", 0.1, 1.0, None, 0.1382, 5e-4),
        ("z1*z2", 0.1, 1.5, None, 0.4080, 5e-4),
        ("max(z1, z2)", 0.1, 1.0, [1, 1], 0.4860, 1e-3),
        ("relu(z1) + relu(z2)", 0.01, 1.0, [1, 1], 0.5776, 1e-3),
    ],
)
def test_fixed_points_of_state_evolution(text, noise, alpha, direction, m, tolerance):
    """The map m -> alpha J / (1 + alpha J) crosses the diagonal within the tolerance."""
    channel = posterior_channel(Target(text, noise=noise))
    v = np.array([1.0, 0.0] if direction is None else direction)
    v = v / np.linalg.norm(v)
    gaps = []
    for value in (m - tolerance, m + tolerance):
        M = value * (np.eye(2) if direction is None else np.outer(v, v))
        J = v @ information(channel, M, 24)[0] @ v
        gaps.append(alpha * J / (1 + alpha * J) - value)
    assert gaps[0] > 0 > gaps[1]


@pytest.mark.parametrize("resolution", [0, 1])
@pytest.mark.parametrize("y", [60.0, 300.0])
def test_labels_far_away(y, resolution):
    """A label of 300 for z^2 lies 17 standard deviations out."""
    channel = posterior_channel(Target("z**2", noise=0.5), resolution=resolution)
    omega = np.array([[0.3], [-0.2]])
    got = channel.posterior(np.full(2, y), omega, np.array([[0.8]]))
    z = np.linspace(-25, 25, 400_001)
    for i in range(2):
        exponent = -((y - z**2) ** 2) / (2 * 0.5) - (z - omega[i, 0]) ** 2 / (2 * 0.8)
        weight = np.exp(exponent - exponent.max())
        mean = (weight * z).sum() / weight.sum()
        scale = math.log(2 * math.pi * math.sqrt(0.5 * 0.8))
        log_z = exponent.max() + math.log(weight.sum() * (z[1] - z[0])) - scale
        assert abs(got.log_z[i] - log_z) < 1e-3 * abs(log_z)
        assert abs(got.g[i, 0] - (mean - omega[i, 0]) / 0.8) < 2e-2 * abs(got.g[i, 0])


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_linear_target_in_closed_form(noise):
    target = Target("z1 - 2*z2 + 1", noise=noise)
    rng = np.random.default_rng(2)
    V, b = covariance(2, rng), np.array([1.0, -2.0])
    y, omega = rng.standard_normal(5), rng.standard_normal((5, 2))
    got = posterior_channel(target).posterior(y, omega, V)
    S = noise + b @ V @ b
    residual = y - 1 - omega @ b
    np.testing.assert_allclose(got.log_z, -(residual**2) / (2 * S) - math.log(2 * math.pi * S) / 2)
    np.testing.assert_allclose(got.g, np.outer(residual / S, b))
    np.testing.assert_allclose(got.dg, np.tile(-np.outer(b, b) / S, (5, 1, 1)), atol=1e-14)


@pytest.mark.parametrize(
    ("text", "k", "s"),
    [
        ("z1", 0, 1),
        ("z1*z2", 1, 1),
        ("z1*z2 + z3", 1, 2),
        ("max(z1, z2)", 1, 1),
        ("max(max(z1, z2), z3)", 2, 1),
        ("tanh(z1 + z2) + z1 - z2", 1, 1),
        ("z2*(z1 + z3)", 1, 1),
        ("z1*sign(z2)", 1, 1),
        ("sign(z1) + z2", 1, 1),
        ("relu(z1**2 + z2**2 - 1) + z3", 2, 1),
        ("tanh(z1 + z2)", 1, 0),
        ("relu(z1) + relu(z2)", 2, 0),
        ("sign(z1*z2)", 2, 0),
    ],
)
def test_linear_part_adds_up(text, k, s):
    expression = Expression(text)
    part = linear_part(expression)
    assert (part.k, part.s) == (k, s)
    z = np.random.default_rng(0).standard_normal((50, expression.r))
    inside = z @ part.frame.T
    h, beta = part(list(inside.T[:k]))
    total = h + sum(b * t for b, t in zip(beta, inside.T[k:], strict=True))
    np.testing.assert_allclose(np.broadcast_to(total, 50), expression(z), atol=1e-12)
    np.testing.assert_allclose(part.frame @ part.frame.T, np.eye(k + s), atol=1e-12)


@pytest.mark.parametrize("text", ["z1**2", "sign(z1*z2)"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_labels_must_be_finite(text, bad):
    channel = posterior_channel(Target(text, noise=0.1))
    channel.check_labels(np.array([0.0, -1e6]))
    with pytest.raises(BadData, match="in row 1 is not a finite number"):
        channel.check_labels(np.array([0.0, bad]))


def test_noise_that_is_too_small_is_refused():
    target = Target("sin(5*z1*z2) + z2**3", noise=1e-9)
    channel = posterior_channel(target)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((100, 2))
    with pytest.raises(NotConverged, match="the noise is too small"):
        channel.posterior(target(z), np.zeros((100, 2)), np.eye(2))
    with pytest.raises(NotConverged, match="the noise is too small"):
        channel.outcomes(np.zeros((1, 2)), np.eye(2))

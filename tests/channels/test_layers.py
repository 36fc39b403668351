"""Posterior of labels with little noise: thin layers around level sets."""

import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import exponnorm, norm, truncnorm

from gradone import OutOfRegime, Target
from gradone.base.seeds import stream
from gradone.channels import posterior_channel
from gradone.channels.layers import Layers

V2 = np.array([[0.4, 0.05], [0.05, 0.3]])


def draws(target, n, V):
    """Labels that come out at random prior means."""
    rng = stream(0, "test", text=target.text, noise=target.noise)
    omega = 0.8 * rng.standard_normal((n, target.r))
    z = omega + rng.standard_normal((n, target.r)) @ np.linalg.cholesky(V).T
    return target(z) + np.sqrt(target.noise) * rng.standard_normal(n), omega


def by_grid(target, y, omega, V, step=0.01, reach=6.0):
    """log Z, g and dg of one label, by a sum over a fine square grid."""
    L, inverse = np.linalg.cholesky(V), np.linalg.inv(V)
    u = np.arange(-reach, reach, step) + step / 2
    grid = np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)
    x = grid @ L.T
    weight = norm.pdf(y, target(omega + x), np.sqrt(target.noise))
    weight *= step**2 * norm.pdf(grid).prod(axis=1)
    Z = weight.sum()
    mean = weight @ x / Z
    covariance = (x.T * weight) @ x / Z - np.outer(mean, mean)
    return np.log(Z), inverse @ mean, inverse @ covariance @ inverse - inverse


@pytest.mark.parametrize("noise", [1e-4, 0.01, 1.0])
def test_sum_of_squares_in_closed_form(noise):
    """Its label is exponential plus Gaussian, and the part without noise a truncated Gaussian.

    Would catch: the noise as a deviation, or as a variable that is left in the moments.
    """
    y, n = np.array([-0.5 * noise**0.5, 0.01, 0.5, 2.0, 9.0]), 5
    found = Layers(Target("z1**2 + z2**2", noise=noise), 1).posterior(
        y, np.zeros((n, 2)), np.eye(2)
    )
    s = np.sqrt(noise)
    np.testing.assert_allclose(found.log_z, exponnorm.logpdf(y, 2 / s, scale=s), atol=1e-6)
    center = y - noise / 2
    u = truncnorm.mean(-center / s, np.inf, loc=center, scale=s)
    np.testing.assert_allclose(found.g, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.dg, (u / 2 - 1)[:, None, None] * np.eye(2), atol=1e-6)


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("relu(z1) + relu(z2)", 0.01),  # a constant where both are off
        ("abs(z1) - 2*abs(z2)", 0.005),
        ("z1**2 + sign(z2)", 0.02),
        ("He3(z1) + sign(z1*z2)", 0.1),  # the region changes where z1 does its sign
        ("relu(z1) + 2*relu(z2 - 1)", 0.05),
        ("z1**2 - z2**2 + z1*z2", 0.01),
        ("max(abs(z1), abs(z2))", 0.003),
    ],
)
def test_layers_are_those_of_a_fine_grid(text, noise):
    """Would catch: intervals that straddle a kink, layers left out, a region counted twice."""
    target = Target(text, noise=noise)
    y, omega = draws(target, 4, V2)
    found = Layers(target).posterior(y, omega, V2)
    for i in range(len(y)):
        log_z, g, dg = by_grid(target, y[i], omega[i], V2)
        # The grid itself misses a jump by its step.
        assert found.log_z[i] == pytest.approx(log_z, abs=5e-3)
        np.testing.assert_allclose(found.g[i], g, atol=5e-3 * (1 + np.abs(g).max()))
        np.testing.assert_allclose(found.dg[i], dg, atol=5e-3 * (1 + np.abs(dg).max()))


@pytest.mark.parametrize("noise", [0.001, 0.1])
def test_the_staircase_with_noise(noise):
    """He2(z1) + sign(z1*z2*z3) by an integral over z1; its gradient by differences.

    Would catch: the jump of the region at z1 = 0 inside of an interval.
    """
    target, V = Target("He2(z1) + sign(z1*z2*z3)", noise=noise), np.diag([0.5, 0.3, 0.6])
    y, omega = draws(target, 30, V)
    z = np.arange(-7, 7, 5e-4) + 2.5e-4

    def log_z(omega):
        e = erf(omega[:, 1:] / np.sqrt(2 * np.diag(V)[1:])).prod(axis=1)
        total = 0.0
        for s in (-1, 1):
            share = (1 + s * np.sign(z) * e[:, None]) / 2
            law = norm.pdf(y[:, None], z**2 - 1 + s, np.sqrt(noise))
            total = total + (law * share * norm.pdf(z, omega[:, :1], V[0, 0] ** 0.5)).sum(axis=1)
        return np.log(total * 5e-4)

    found = Layers(target).posterior(y, omega, V)
    np.testing.assert_allclose(found.log_z, log_z(omega), atol=2e-3)
    h = 1e-3 * np.eye(3)
    slope = [(log_z(omega + h[i]) - log_z(omega - h[i])) / 2e-3 for i in range(3)]
    np.testing.assert_allclose(found.g, np.stack(slope, axis=1), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize(
    ("text", "noise"), [("relu(z1) + relu(z2) + relu(z3)", 0.05), ("abs(z1) + abs(z2)", 0.02)]
)
def test_layers_are_where_a_finer_and_finer_lattice_ends(text, noise):
    """The lattice over all of z, which knows nothing of formulas and regions."""
    target = Target(text, noise=noise)
    V = 0.4 * np.eye(target.r) + 0.03
    y, omega = draws(target, 60, V)
    exact = Layers(target).posterior(y, omega, V).g
    channel = posterior_channel(target)
    channel._lattice_step = (V, 0.3)
    coarse = channel.posterior(y, omega, V).g
    channel._lattice_step = (V, 0.15)
    fine = channel.posterior(y, omega, V).g
    error, before = (np.linalg.norm(g - exact) / np.linalg.norm(exact) for g in (fine, coarse))
    assert error < 4e-3
    assert error < before / 2


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("z1**2 - z2**2", 0.01),
        ("z1**2 + z2**2 + z3**2", 0.001),
        ("relu(z1) + relu(z2)", 1e-4),
        ("He2(z1) + sign(z1*z2*z3)", 0.01),
    ],
)
def test_little_noise_is_no_obstacle(text, noise):
    """Where a lattice over z would need more nodes than there can be: g is the slope of log Z.

    Nodes move with omega, so differences are taken over more than the width of the layer.
    """
    target = Target(text, noise=noise)
    V = 0.9 * np.eye(target.r) + 0.02
    y, omega = draws(target, 40, V)
    channel = posterior_channel(target)
    found, h = channel.posterior(y, omega, V), 0.02
    for i in range(target.r):
        move = h * np.eye(target.r)[i]
        up, down = (channel.posterior(y, omega + s * move, V).log_z for s in (1, -1))
        assert np.linalg.norm((up - down) / (2 * h) - found.g[:, i]) < 0.02 * np.linalg.norm(
            found.g
        )


def test_a_linear_part_is_noise_enough():
    """Would catch: layers of no width where the label itself has no noise."""
    target, V = Target("relu(z1) + relu(z2) + z3/5"), 0.5 * np.eye(3)
    y, omega = draws(target, 40, V)
    with_noise = Target("relu(z1) + relu(z2)", noise=V[2, 2] / 25)
    found = posterior_channel(target).posterior(y, omega, V)
    other = Layers(with_noise).posterior(y - omega[:, 2] / 5, omega[:, :2], V[:2, :2])
    np.testing.assert_allclose(found.log_z, other.log_z, atol=0.02)
    assert np.linalg.norm(found.g[:, :2] - other.g) < 0.01 * np.linalg.norm(other.g)


def test_curved_formulas_of_several_forms_have_no_layers():
    with pytest.raises(OutOfRegime, match="depends on 2 directions at once"):
        Layers(Target("tanh(z1) + z2**2", noise=0.01))


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("z1*z2 + z3**2", 0.1),
        ("z1**2 - z2**2", 0.2),
        ("He2(z1) + sign(z2)", 0.3),
        ("relu(z1) + relu(z2)", 0.1),  # a constant where both are off
    ],
)
def test_outcomes_are_those_of_panels_over_z(text, noise):
    """Means over the label of g g^T and log Z, from nodes over z and Fourier transforms of labels.

    Would catch: labels beyond those without noise left out, weights of the inner label.
    """
    target = Target(text, noise=noise)
    V = 0.5 * np.eye(target.r) + 0.04
    omega = stream(0, "test", text=text).standard_normal((6, target.r))
    channel = posterior_channel(target)
    expected = channel._on_panels(omega, V, channel._chosen_panels(V) or [0.15] * channel.part.k)
    found = Layers(target, 1).outcomes(omega, V)

    def means(out):
        chance = out.weight * np.exp(out.log_z)
        J = np.einsum("mk,mki,mkj->mij", chance, out.g, out.g)
        return chance.sum(axis=1), J, np.sum(np.where(chance > 0, chance * out.log_z, 0), axis=1)

    np.testing.assert_allclose(means(found)[0], 1.0, atol=1e-5)
    for one, other in zip(means(found)[1:], means(expected)[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)

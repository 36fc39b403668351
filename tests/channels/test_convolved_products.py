"""Labels of products of independent variables, all at once."""

import numpy as np
import pytest

import gradone as gd
from gradone.base.seeds import stream
from gradone.channels import posterior_channel
from gradone.channels.convolved_products import ConvolvedProduct, is_diagonal

# Prior means in standard deviations: at zero, next to it, where log|z| is not yet Gaussian, far.
PLACES = np.array(
    [[0.0, 0.0, 0.0], [1.0, 0.0, 2.0], [3.0, -4.0, 5.0], [6.0, 6.5, 0.0], [-3.0, 300.0, 600.0]]
)


def probability(out):
    return out.weight * np.exp(out.log_z)


@pytest.mark.parametrize("powers", [(1, 1, 1), (1, 2, 1)])
@pytest.mark.parametrize("variance", [1.0, 1e-4])
def test_moments_of_the_label_in_closed_form(powers, variance):
    """Mass, mean and mean square of the label; mean and covariance of z, averaged over labels.

    Would catch: a lost sign of y, a wrong measure dy, labels that the window leaves out.
    """
    V, omega = variance * np.eye(3), np.sqrt(variance) * PLACES
    out = ConvolvedProduct(np.array(powers), -2.0).outcomes(omega, V, curvature=True)
    p = probability(out)
    m1, m2 = omega, omega**2 + variance
    m4 = omega**4 + 6 * omega**2 * variance + 3 * variance**2
    mean = -2 * np.where(np.array(powers) == 1, m1, m2).prod(axis=1)
    square = 4 * np.where(np.array(powers) == 1, m2, m4).prod(axis=1)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose((p * out.y).sum(axis=1), mean, atol=1e-5 * np.sqrt(square.max()))
    np.testing.assert_allclose((p * out.y**2).sum(axis=1) / square, 1.0, atol=2e-4)
    # E[g] = 0, and E[dg + g g^T] = 0: the second derivative of Z integrates to zero.
    first = np.einsum("mk,mki->mi", p, out.g) * np.sqrt(variance)
    np.testing.assert_allclose(first, 0.0, atol=1e-5)
    second = np.einsum("mk,mkij->mij", p, out.dg + out.g[..., None] * out.g[..., None, :])
    np.testing.assert_allclose(second * variance, 0.0, atol=1e-4)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_densities_by_direct_quadrature(place):
    """Z and the posterior means at single labels, from a plain double sum over z1 and z2."""
    V, omega = np.diag([0.5, 0.3, 0.8]), PLACES[place] * np.sqrt([0.5, 0.3, 0.8])
    out = ConvolvedProduct(np.array([1, 1, 1]), 1.0).outcomes(omega[None], V)
    p = probability(out)[0]
    likely = np.argsort(-p)[[0, 10, 20]]
    width = np.sqrt(np.diag(V))
    # z = width * u on both sides of zero, equidistant in log|u|, where 1/|z1 z2| is harmless.
    log_u = np.linspace(-22.0, np.log(16.0), 600)
    step = log_u[1] - log_u[0]
    u = np.concatenate([-np.exp(log_u), np.exp(log_u)])
    a = omega / width
    u1, u2 = (u[np.abs(u - a[i]) < 8] for i in (0, 1))
    for label in likely:
        y = out.y[0, label] / width.prod()
        u3 = y / np.multiply.outer(u1, u2)
        exponent = (u1[:, None] - a[0]) ** 2 + (u2 - a[1]) ** 2 + (u3 - a[2]) ** 2
        weight = np.exp(-exponent / 2) * step**2 / (2 * np.pi) ** 1.5
        Z = weight.sum()
        g = (
            np.array(
                [(weight * (x - c)).sum() for x, c in zip((u1[:, None], u2, u3), a, strict=True)]
            )
            / Z
        )
        assert out.log_z[0, label] == pytest.approx(np.log(Z / width.prod()), abs=2e-5)
        np.testing.assert_allclose(out.g[0, label] * width, g, atol=1e-4)


@pytest.mark.parametrize(("text", "tolerance"), [("z1*z2*z3", 1e-5), ("2*z1**2*z2", 1e-4)])
def test_agrees_with_the_posterior_at_single_labels(text, tolerance):
    """What integrals over level sets say at the same labels, which share no code with it.

    Would catch: g not divided by the variance, moments of the wrong variable.
    """
    target = gd.Target(text)
    r = target.r
    V, omega = np.diag([0.5, 0.3, 0.8])[:r, :r], np.array([0.4, -0.7, 1.1])[:r]
    channel = posterior_channel(target, resolution=1)
    out = channel.outcomes(omega[None], V, curvature=True)
    p = probability(out)[0]
    some = np.argsort(-p)[:60:12]
    found = channel.posterior(out.y[0, some], np.tile(omega, (len(some), 1)), V)
    np.testing.assert_allclose(out.log_z[0, some], found.log_z, atol=tolerance)
    np.testing.assert_allclose(out.g[0, some], found.g, atol=2 * tolerance)
    np.testing.assert_allclose(out.dg[0, some], found.dg, atol=10 * tolerance)


def test_information_agrees_with_the_rule_over_level_sets():
    """E[g g^T] where a covariance of 1e-9 between variables leaves the work to the other rule."""
    channel = posterior_channel(gd.Target("z1*z2*z3"))
    omega = np.array([[0.4, -0.7, 1.1], [0.0, 0.3, 0.5]])
    V = 0.6 * np.eye(3)
    almost = V + 1e-9 * (np.eye(3)[[1, 0, 2]] - np.diag([0, 0, 1.0]))
    assert is_diagonal(V)
    assert not is_diagonal(almost)
    J = []
    for covariance in (V, almost):
        out = channel.outcomes(omega, covariance)
        p = probability(out)
        J.append(np.einsum("mk,mki,mkj->mij", p / p.sum(axis=1)[:, None], out.g, out.g))
    np.testing.assert_allclose(J[0], J[1], atol=5e-5)


def test_a_finer_rule_changes_averages_by_less_than_its_error():
    """Information at both resolutions, in units of 1/V."""
    rng = stream(0, "test", what="convolved")
    omega, V = rng.standard_normal((12, 3)), 0.05 * np.eye(3)
    J = []
    for resolution in (0, 1):
        out = ConvolvedProduct(np.array([1, 1, 1]), 1.0, resolution).outcomes(omega, V)
        J.append(0.05 * np.einsum("mk,mki,mkj->mij", probability(out), out.g, out.g))
    assert np.abs(J[0] - J[1]).max() < 1e-5


def test_labels_of_an_invertible_function_of_a_product():
    """Mass and mean square of such a label, the latter against draws."""
    target = gd.Target("tanh(z1*z2*z3)")
    omega, V = np.array([[0.4, -0.7, 1.1]]), 0.5 * np.eye(3)
    out = posterior_channel(target).outcomes(omega, V)
    p = probability(out)[0]
    z = omega + np.sqrt(0.5) * stream(0, "test", what="tanh").standard_normal((400_000, 3))
    squares = np.tanh(z.prod(axis=1)) ** 2
    assert p.sum() == pytest.approx(1.0, abs=1e-6)
    sem = squares.std() / np.sqrt(len(squares))
    assert abs(p @ out.y[0] ** 2 - squares.mean()) < 5 * sem

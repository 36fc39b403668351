"""Level sets of quadratic functions and of products of three variables."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0
from scipy.stats import ncx2, norm

from gradone.base.seeds import stream
from gradone.channels.algebraic_levels import (
    linear_factors,
    product_levels,
    quadratic_levels,
)
from gradone.channels.level_set import LevelSet
from gradone.channels.smooth import Smooth
from gradone.targets.language.parser import parse

CORRELATED = np.array([[0.5, 0.2, -0.1], [0.2, 0.7, 0.15], [-0.1, 0.15, 0.4]])
ALMOST_SINGULAR = np.array([[0.5, 0.49, 0.1], [0.49, 0.5, 0.1], [0.1, 0.1, 0.3]])


def smooth(text, k):
    return Smooth(parse(text), np.eye(k))


def labels(f, n, C, wide=1.0):
    """Labels that come out at random prior means (k, n); rare ones if `wide` is large."""
    k = len(C)
    rng = stream(0, "test", what="levels", k=k, n=n)
    mean = 0.8 * rng.standard_normal((k, n))
    return f.value(mean + wide * np.linalg.cholesky(C) @ rng.standard_normal((k, n))), mean


def posterior(found, C):
    """Log evidence, and mean and covariance of x - mean in standard deviations of the prior."""
    inverse = np.linalg.inv(np.linalg.cholesky(C))
    mean = found.first / found.mass[:, None]
    lower = found.second / found.mass[:, None, None]
    second = lower + np.tril(lower, -1).transpose(0, 2, 1)
    covariance = inverse @ (second - mean[:, :, None] * mean[:, None, :]) @ inverse.T
    return found.log_scale + np.log(found.mass), mean @ inverse.T, covariance


def moments_on_grid(x, log_volume, C):
    """The same from nodes x (k, N) relative to the mean, with the logarithms of their volumes."""
    white = np.linalg.inv(np.linalg.cholesky(C)) @ x
    log_weight = log_volume - 0.5 * (white**2).sum(axis=0)
    weight = np.exp(log_weight - log_weight.max())
    mass = weight.sum()
    mean = white @ weight / mass
    second = (white * weight) @ white.T / mass
    constant = 0.5 * np.linalg.slogdet(2 * math.pi * C)[1]
    log_z = log_weight.max() + math.log(mass) - constant
    return log_z, mean, second - np.outer(mean, mean)


@pytest.mark.parametrize(("resolution", "tolerance"), [(0, 1e-4), (1, 1e-8)])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_sum_of_squares_in_closed_form(k, resolution, tolerance):
    """A noncentral chi-square, far into its tails.

    Would catch: a contour on the wrong side, a root on the wrong branch, a lost scale.
    """
    f = smooth("+".join(f"z{i + 1}**2" for i in range(k)), k)
    variance = 0.3
    y, mean = labels(f, 40, variance * np.eye(k), wide=3.0)

    def log_density(m):
        return ncx2.logpdf(y / variance, k, (m**2).sum(axis=0) / variance) - math.log(variance)

    found = quadratic_levels(f, y, mean, variance * np.eye(k), resolution)
    log_z, shift, _ = posterior(found, variance * np.eye(k))
    assert log_z.min() < -15
    np.testing.assert_allclose(log_z, log_density(mean), atol=tolerance)
    step = 1e-4
    for i in range(k):
        move = step * np.eye(k)[i][:, None]
        slope = (log_density(mean + move) - log_density(mean - move)) / (2 * step)
        np.testing.assert_allclose(shift[:, i], math.sqrt(variance) * slope, atol=tolerance + 1e-6)


def test_sum_of_two_products_is_a_laplace_variable():
    f = smooth("z1*z2 + z3*z4", 4)
    y = np.array([-30.0, -2.0, -0.1, 1e-6, 0.5, 8.0])
    found = quadratic_levels(f, y, np.zeros((4, 6)), np.eye(4), 1)
    log_z, shift, covariance = posterior(found, np.eye(4))
    np.testing.assert_allclose(log_z, -np.abs(y) - math.log(2), atol=1e-8)
    np.testing.assert_allclose(shift, 0.0, atol=1e-12)
    # All four have the same variance; E[z1 z2 | y] is half of y.
    np.testing.assert_allclose(covariance[:, 0, 1], y / 2, atol=1e-6)
    np.testing.assert_allclose(covariance[:, 2, 3], y / 2, atol=1e-6)
    np.testing.assert_allclose(covariance[:, 0, 0], covariance[:, 3, 3], rtol=1e-8)


@pytest.mark.parametrize("text", ["z1*z2", "z1**2 + z2**2/4", "z1**2 - 3*z2**2 + z1 + z1*z2"])
@pytest.mark.parametrize("C", [CORRELATED, ALMOST_SINGULAR], ids=["correlated", "almost singular"])
def test_quadratic_part_and_linear_part_against_a_grid(text, C):
    """z3 follows from the label and the others, on a plane grid fine enough to be exact."""
    f = smooth(f"{text} + z3", 3)
    y, mean = labels(f, 6, C)
    log_z, shift, covariance = posterior(quadratic_levels(f, y, mean, C), C)
    t = np.arange(-7.0, 7.0, 0.04)
    plane = np.linalg.cholesky(C[:2, :2]) @ np.stack(np.meshgrid(t, t)).reshape(2, -1)
    log_volume = np.full(plane.shape[1], math.log(0.04**2 * math.sqrt(np.linalg.det(C[:2, :2]))))
    for i in range(6):
        place = np.vstack([mean[:2, i, None] + plane, np.zeros(plane.shape[1])])
        last = y[i] - f.value(place) - mean[2, i]
        exact = moments_on_grid(np.vstack([plane, last]), log_volume, C)
        assert log_z[i] == pytest.approx(exact[0], abs=1e-4)
        np.testing.assert_allclose(shift[i], exact[1], atol=1e-4)
        np.testing.assert_allclose(covariance[i], exact[2], atol=3e-4)


@pytest.mark.parametrize(("resolution", "tolerance"), [(0, 3e-5), (1, 1e-6)])
@pytest.mark.parametrize(
    "C",
    [np.eye(3), CORRELATED, ALMOST_SINGULAR, np.diag([0.5, 0.02, 0.1])],
    ids=["identity", "correlated", "almost singular", "anisotropic"],
)
def test_product_of_three_against_a_grid(C, resolution, tolerance):
    """A grid in the logarithms of two factors, where the trapezoidal rule is exact."""
    f = smooth("z1*z2*z3", 3)
    y, mean = labels(f, 3, C)
    found = LevelSet(f, resolution).polynomial_moments(y, mean, C)
    log_z, shift, covariance = posterior(found, C)
    step = 0.04
    s = np.arange(-17.0, 2.5, step)
    size = np.exp(np.stack(np.meshgrid(s, s)).reshape(2, -1))
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    first, second = np.hstack([np.array(sign)[:, None] * size for sign in signs])
    for i in range(3):
        x = np.stack([first, second, y[i] / (first * second)]) - mean[:, i, None]
        exact = moments_on_grid(x, np.full(x.shape[1], 2 * math.log(step)), C)
        assert log_z[i] == pytest.approx(exact[0], abs=tolerance)
        np.testing.assert_allclose(shift[i], exact[1], atol=tolerance)
        np.testing.assert_allclose(covariance[i], exact[2], atol=tolerance)


def test_product_of_three_by_bessel_functions():
    """At omega = 0, V = I: the product of two has the density K0(|y|)/pi, with E[z1^2 | y] known.

    Labels from almost zero to rare ones. Would catch: a coarse rule where the level set is far
    out, which is off by 3 % in the variance at y = 6.
    """
    y = np.array([0.01, -0.1, 0.5, 2.0, -4.0, 6.0, 6.5, 7.0, 9.0, -12.0])
    found = product_levels(y, np.zeros((3, len(y))), np.eye(3))
    log_z, shift, covariance = posterior(found, np.eye(3))

    def weight(x, power, label):
        return 2 * x**power * norm.pdf(x) * k0(abs(label) / x) / (math.pi * x)

    for i, label in enumerate(y):
        Z, second = (quad(weight, 0, 20, args=(power, label))[0] for power in (0, 2))
        assert log_z[i] == pytest.approx(math.log(Z), abs=1e-6)
        np.testing.assert_allclose(covariance[i].diagonal(), second / Z, atol=1e-5)
    np.testing.assert_allclose(shift, 0.0, atol=1e-12)


def test_product_of_three_at_labels_that_are_hard_to_reach():
    """Far from a sharp prior, and across zero: g is the slope of log Z, dg that of g.

    Would catch: a search for the nearest point that ends in the wrong octant, whose lattice then
    misses the mass.
    """
    C, step = 0.02 * (np.eye(3) + 0.3), 1e-4
    mean = np.array([[0.8, 0.5, -1.0], [0.1, 0.9, 1.2], [0.3, 0.2, -0.4]]).T
    y = np.array([0.6, -0.5, -0.3])
    log_z, shift, covariance = posterior(product_levels(y, mean, C), C)
    assert log_z.max() < -5
    assert log_z.min() > -200
    L = np.linalg.cholesky(C)
    for i in range(3):
        move = step * L[:, i, None]
        up, down = (posterior(product_levels(y, mean + s * move, C), C) for s in (1, -1))
        np.testing.assert_allclose(shift[:, i], (up[0] - down[0]) / (2 * step), atol=1e-4)
        slope = (up[1] - down[1]) / (2 * step) + np.eye(3)[i]
        np.testing.assert_allclose(covariance[:, i], slope, atol=1e-4)


@pytest.mark.parametrize("text", ["z1*z2 + z3**2", "2*z1*z2*z3"])
@pytest.mark.parametrize(
    ("C", "tolerance"),
    [
        (CORRELATED, 1e-3),
        (1e-4 * np.eye(3), 1e-3),
        (np.diag([0.3, 0.3, 0.05]), 1e-3),
        (ALMOST_SINGULAR, 1e-2),
    ],
    ids=["correlated", "narrow", "anisotropic", "almost singular"],
)
def test_contours_agree_with_nodes_on_the_level_sets(text, C, tolerance):
    """Two methods that share nothing but the labels; the nodes are the less accurate ones."""
    f = smooth(text, 3)
    y, mean = labels(f, 3, C)
    levels = LevelSet(f, 1)
    log_z, shift, covariance = posterior(levels.polynomial_moments(y, mean, C), C)
    inverse = np.linalg.inv(np.linalg.cholesky(C))
    parts = levels.nodes(y, mean, C)
    sample = np.concatenate([part.sample for part in parts])
    weight = np.exp(np.concatenate([part.log_weight for part in parts]))
    x = inverse @ np.hstack([part.x for part in parts])
    for i in range(3):
        own, points = weight[sample == i], x[:, sample == i]
        assert log_z[i] == pytest.approx(math.log(own.sum()), abs=tolerance)
        center = points @ own / own.sum()
        np.testing.assert_allclose(shift[i], center, atol=2 * tolerance)
        second = (points * own) @ points.T / own.sum()
        np.testing.assert_allclose(
            covariance[i], second - np.outer(center, center), atol=5 * tolerance
        )


@pytest.mark.parametrize(
    ("text", "solved"), [("z1*z2**2 + z1*z2*z3", 0), ("(1 - z1)*z2*(z3 + z1/2)", 1)]
)
@pytest.mark.parametrize("C", [CORRELATED, ALMOST_SINGULAR], ids=["correlated", "almost singular"])
def test_product_of_three_forms_against_a_plane_grid(text, solved, C):
    """The variable in which f is linear follows from the others, on equidistant nodes.

    Would catch: moments of the factors taken for those of the variables, a Jacobian too many.
    """
    f = smooth(text, 3)
    y, mean = labels(f, 20, C)
    some = np.flatnonzero(np.abs(y) > 0.15)[:3]  # closer to zero the grid would have to be finer
    y, mean = y[some], mean[:, some]
    log_z, shift, covariance = posterior(LevelSet(f, 1).polynomial_moments(y, mean, C), C)
    step = 0.01
    others = np.stack(np.meshgrid(*[np.arange(-7, 7, step) + step / 2] * 2)).reshape(2, -1)
    slope = f.value(np.insert(others, solved, 1.0, axis=0))  # f is this times the variable
    for i in range(3):
        x = np.insert(others, solved, y[i] / slope, axis=0) - mean[:, i, None]
        exact = moments_on_grid(x, 2 * math.log(step) - np.log(np.abs(slope)), C)
        assert log_z[i] == pytest.approx(exact[0], abs=1e-5)
        np.testing.assert_allclose(shift[i], exact[1], atol=1e-5)
        np.testing.assert_allclose(covariance[i], exact[2], atol=1e-5)


def test_what_is_no_product_of_three_independent_forms_has_no_factors():
    for text in ("z1*z2*z3 + z1", "z1**2*z2*z3", "z1*(z2**2 + z3**2)", "z1*z2 + z3**3"):
        assert linear_factors(smooth(text, 3)) is None


def test_labels_that_a_definite_form_does_not_reach():
    f = smooth("z1**2 + 2*z2**2", 2)
    found = quadratic_levels(f, np.array([-0.5, 1e-12, 0.5]), np.zeros((2, 3)), np.eye(2))
    assert found.mass[0] == 0.0
    assert np.all(found.mass[1:] > 0)
    # Close to its minimum the form has the density of an ellipse, 1/(2 sqrt(2)).
    assert found.log_scale[1] + math.log(found.mass[1]) == pytest.approx(
        -math.log(2 * math.sqrt(2)), abs=1e-4
    )


def test_rotated_variables_change_nothing():
    """The contour sees eigenvalues only: a rotated form under a rotated prior has the same law."""
    angle = 0.7
    c, s = math.cos(angle), math.sin(angle)
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    f = smooth("z1**2 - z2**2 + z3**2 + z2", 3)
    turned = smooth(
        f"({c!r}*z1 + {s!r}*z2)**2 - ({c!r}*z2 - {s!r}*z1)**2 + z3**2 + {c!r}*z2 - {s!r}*z1", 3
    )
    y, mean = labels(f, 20, CORRELATED)
    one = quadratic_levels(f, y, mean, CORRELATED)
    two = quadratic_levels(turned, y, rotation @ mean, rotation @ CORRELATED @ rotation.T)
    log_z = [found.log_scale + np.log(found.mass) for found in (one, two)]
    np.testing.assert_allclose(log_z[0], log_z[1], atol=1e-9)
    first = [found.first / found.mass[:, None] for found in (one, two)]
    np.testing.assert_allclose(first[0] @ rotation.T, first[1], atol=1e-8)

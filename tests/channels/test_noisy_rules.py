"""Nodes and densities under the posterior channels of noisy labels."""

import numpy as np
import pytest
from scipy.special import ndtr

from gradone.calculus.integrand import Plane
from gradone.channels.lattice import panel_lattice
from gradone.channels.output_density import output_density
from gradone.channels.panels import panel_nodes


@pytest.mark.parametrize("varies", [False, True])
def test_densities_are_sums_of_gaussians(varies):
    """Splines and FFT for one variance, direct sums for several, against the plain formula."""
    rng = np.random.default_rng(0)
    owner = np.repeat([0, 1, 2], [40, 1, 25])
    weight = rng.random(len(owner))
    weight /= np.bincount(owner, weight)[owner]
    x, mean = rng.standard_normal((len(owner), 2)), 3 * rng.standard_normal(len(owner))
    mean[:5] = 1.25  # an atom
    variance = rng.uniform(0.1, 2.0, len(owner)) if varies else np.asarray(0.3)
    beta = [rng.standard_normal(len(owner)), 0.7] if varies else [0.7]
    got = output_density(owner, 3, weight, x, mean, variance, beta)
    for i in range(3):
        mine = owner == i
        distance = got.y[i, :, None] - mean[mine]
        D = np.broadcast_to(variance, owner.shape)[mine]
        bell = weight[mine] * np.exp(-(distance**2) / (2 * D)) / np.sqrt(2 * np.pi * D)
        pushes = [np.broadcast_to(b, owner.shape)[mine] * distance / D for b in beta]
        features = [np.broadcast_to(column, bell.shape) for column in x[mine].T] + pushes
        np.testing.assert_allclose(got.mass[i], bell.sum(axis=1), atol=2e-7)
        for a, feature in enumerate(features):
            expected = (bell * feature).sum(axis=1)
            np.testing.assert_allclose(got.features[i, :, a], expected, atol=1e-6)


# Breaks across and along the axes, and two that cross each other.
PLANES = [Plane((1.0, 0.0), 0.2), Plane((0.6, 0.8), 0.1), Plane((-0.8, 0.6), 0.0)]


def kinked(z):
    return abs(z[..., 0] - 0.2) + np.sign(0.6 * z[..., 0] + 0.8 * z[..., 1] - 0.1) * (
        1 + z[..., 0] * (0.6 * z[..., 1] - 0.8 * z[..., 0] > 0)
    )


def test_panels_end_at_the_breaks():
    """A function with jumps on three planes; the inner integral is known in closed form."""
    omega = np.array([[0.1, -0.4], [1.0, 0.3]])
    lower = np.array([[0.8, 0.0], [-0.3, 0.6]])
    nodes = panel_nodes(PLANES, omega, lower, [0.25, 0.25], 7.0)
    means = np.bincount(nodes.owner, nodes.weight * kinked(nodes.z))
    rows = panel_lattice(PLANES, omega, lower, 0.1, 7.0)
    again = (np.exp(rows.log_weight) * kinked(omega[:, None] + rows.x @ lower.T)).sum(axis=1)
    np.testing.assert_allclose(means, again, atol=1e-8)
    edges = np.linspace(-7, 7, 100_001)
    x = (edges[1:] + edges[:-1]) / 2
    share = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()
    for i, (first, second) in enumerate(omega):
        z = first + 0.8 * x

        def above(point, z2=second - 0.3 * x):
            return ndtr((z2 - point) / 0.6)

        jump, step = (0.1 - 0.6 * z) / 0.8, 0.8 * z / 0.6
        both = 2 * above(np.maximum(jump, step)) - above(step)
        exact = share @ (abs(z - 0.2) + 2 * above(jump) - 1 + z * both)
        assert abs(means[i] - exact) < 1e-7


@pytest.mark.parametrize("step", [0.5, 0.05, 0.004])
def test_panels_of_any_size_have_the_mean_of_a_kink(step):
    """E|z| in closed form, with the break inside, at the rim, and beyond the nodes.

    Would catch: a long panel whose rules do not join, a line without a break that is taken for one
    with, a weight that is not divided among the rules of a panel.
    """
    mean, deviation = np.array([0.3, -4.0, 6.9, 20.0]), 0.8
    nodes = panel_nodes([Plane((1.0,), 0.0)], mean[:, None], np.array([[deviation]]), [step], 8.0)
    found = np.bincount(nodes.owner, nodes.weight * np.abs(nodes.z[:, 0]))
    t = mean / deviation
    exact = mean * (2 * ndtr(t) - 1) + deviation * np.sqrt(2 / np.pi) * np.exp(-(t**2) / 2)
    assert found == pytest.approx(exact, abs=1e-11)

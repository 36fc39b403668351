"""Nested rules over prior means: moments, nesting, and averages by another rule."""

import numpy as np
import pytest

import gradone as gd
from gradone.channels import posterior_channel
from gradone.theory.bayes._fixed_points import StateEvolution
from gradone.theory.bayes._nested_means import nested_means, nesting_axes
from gradone.theory.bayes._prior_means import prior_means
from gradone.theory.bayes._state_evolution import averages, axes_of, mean_of, sums

TILTED = np.array([[0.8, 0.2], [0.2, 0.7]])
LITTLE = np.array([[0.45, 0.41], [0.41, 0.45]])  # overlaps 0.86 and 0.04
NARROW = np.array([[0.993, 0.002], [0.002, 0.998]])
RULES = [  # target, M; breaks in no, one, two and more directions
    ("tanh(z1*z2)", TILTED),
    ("abs(z1 - z2) + z1", TILTED),
    ("relu(z1) + relu(z2)", LITTLE),
    ("relu(z1) + relu(z2)", NARROW),
    ("relu(z1 + z2) - relu(z1 - 0.5*z2)", NARROW),
    ("relu(z1 - 1) + relu(z2) + relu(z1 + z2)", TILTED),
    ("relu(z1 - 1) + relu(z2) + relu(z1 + z2)", NARROW),
]


@pytest.mark.parametrize(("text", "M"), RULES)
def test_rules_have_the_moments_of_the_gaussian(text, M):
    """Second and fourth moments in closed form (Isserlis).

    Would catch: a weight without the density of the nodes, an axis with a wrong variance, a lattice
    that is too wide for a narrow Gaussian.
    """
    axes = nesting_axes(gd.Target(text).expression, M)
    omega, weights = nested_means(axes, M, 1)
    p = weights / weights.sum()
    assert np.einsum("m,mi,mj->ij", p, omega, omega) == pytest.approx(M, abs=2e-6)
    fourth = np.einsum("m,mi,mi,mj,mj->ij", p, omega, omega, omega, omega)
    assert fourth == pytest.approx(np.outer(np.diag(M), np.diag(M)) + 2 * M**2, abs=5e-5)


@pytest.mark.parametrize(("text", "M"), RULES)
def test_a_rule_contains_the_coarser_ones(text, M):
    axes = nesting_axes(gd.Target(text).expression, M)

    def nodes(resolution, **beyond):
        omega, weights = nested_means(axes, M, resolution, **beyond)
        return {tuple(node): w for node, w in zip(omega.round(9), weights, strict=True)}

    for resolution in (-2, -1, 0, 1):
        coarse, fine = nodes(resolution - 1), nodes(resolution)
        added = nodes(resolution, beyond=resolution - 1)
        assert set(coarse) | set(added) == set(fine)
        assert len(coarse) + len(added) == len(fine)
        assert all(fine[node] == pytest.approx(w) for node, w in coarse.items())


def test_one_direction_is_a_rule_along_it():
    direction = np.array([0.6, 0.0, 0.8])
    M = 0.7 * np.outer(direction, direction)
    axes = nesting_axes(gd.Target("relu(z1) + z2*z3").expression, M)
    omega, weights = nested_means(axes, M, 0)
    assert np.abs(omega - np.outer(omega @ direction, direction)).max() < 1e-12
    assert weights @ (omega @ direction) ** 4 / weights.sum() == pytest.approx(3 * 0.49, abs=1e-4)


def test_targets_with_curved_breaks_have_no_nested_rule():
    curved, plane = gd.Target("relu(z1**2 + z2 - 1)"), gd.Target("relu(z1 + z2 - 1)")
    assert nesting_axes(curved.expression, TILTED) is None
    assert nesting_axes(plane.expression, TILTED) is not None
    assert nesting_axes(gd.Target("relu(z1)*z2").expression, np.diag([0.5, 1 - 1e-6])) is None


def test_sums_over_what_is_added_make_up_the_whole():
    channel = posterior_channel(gd.Target("relu(z1)*z2", noise=0.1))
    whole = sums(channel, TILTED, 0)
    parts = sums(channel, TILTED, -2) + sums(channel, TILTED, 0, beyond=-2)
    assert parts == pytest.approx(whole, rel=1e-12)
    evolution = StateEvolution(channel.target)
    at = evolution.refined(TILTED, 0).rules
    assert len(at) == 5
    assert at[-1].information == pytest.approx(mean_of(whole).information, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "noise", "M"),
    [
        ("relu(z1)*z2", 0.1, TILTED),
        ("relu(z1 + z2) - relu(z1 - 0.5*z2)", 0.1, np.diag([0.9, 0.95])),
        ("relu(z1 - 1) + relu(z2) + relu(z1 + z2)", 0.1, TILTED),
        ("sign(z1) + 0.5*sign(z2)", 0.1, TILTED),
    ],
)
def test_averages_are_those_of_an_equidistant_rule(text, noise, M):
    """Against a fine equidistant rule along the eigenvectors of M, without symmetries.

    Would catch: nodes that are missing where the label tells most, a weight without the spacing,
    a folding by a symmetry that the axes do not have.
    """
    channel = posterior_channel(gd.Target(text, noise=noise))
    assert axes_of(channel, M) is not None
    omega, weights = prior_means(M, 1)
    out = channel.outcomes(omega, np.eye(2) - M)
    chance = out.weight * np.exp(out.log_z)
    chance *= (weights / chance.sum(axis=1))[:, None]
    J = np.einsum("mk,mki,mkj->ij", chance, out.g, out.g)
    log_evidence = float((chance * np.where(chance > 0, out.log_z, 0.0)).sum())
    found = averages(channel, M, 1)
    size = float(np.abs(J).max())
    assert np.abs(found.information - J).max() < 2e-5 * size
    assert found.log_evidence == pytest.approx(log_evidence, abs=2e-5)

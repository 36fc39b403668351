"""Symmetries and coarse climbs save work in state evolution, and change no answer."""

import numpy as np
import pytest

import gradone as gd
from gradone.channels import posterior_channel
from gradone.targets.signed_permutations import symmetries
from gradone.theory.bayes._climb import climb
from gradone.theory.bayes._finish import finish
from gradone.theory.bayes._fixed_points import StateEvolution
from gradone.theory.bayes._nested_means import nested_means, nesting_axes
from gradone.theory.bayes._state_evolution import averages

SWAPPED = np.array([[0.5, 0.2], [0.2, 0.5]])


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("sign(z1*z2)", 8),
        ("relu(z1) + relu(z2)", 2),
        ("z1*z2 + z2", 2),  # z1 + 1 is no symmetry, the sign of z2 is
        ("z1*z2*z3", 48),
        ("z1**2 + sign(z1*z2*z3)", 8),
        ("tanh(z1) + 2*tanh(z2)", 2),
    ],
)
def test_symmetries_change_at_most_the_sign_of_the_output(text, order):
    target = gd.Target(text)
    group = symmetries(target.expression)
    assert len(group.maps) == order
    z = np.random.default_rng(0).standard_normal((50, target.r))
    for S, keeps in zip(group.maps, group.keeps, strict=True):
        assert target(z @ S.T) == pytest.approx((1 if keeps else -1) * target(z), abs=1e-12)


@pytest.mark.parametrize(
    ("text", "noise", "M", "tolerance"),
    [
        ("sign(z1*z2)", 0.0, 0.4 * np.eye(2), 1e-7),
        ("max(z1, z2)", 0.1, SWAPPED, 1e-7),
        # Where the channel is not exact, an average over all prior means has half its error.
        ("sign(z1*z2)", 0.0, SWAPPED, 1e-5),
        ("sign(z1) + sign(z2)", 0.0, np.diag([0.5, 0.3]), 1e-7),
    ],
)
def test_folded_averages_are_those_of_all_prior_means(text, noise, M, tolerance):
    """Would catch: a weight of an orbit that is counted once too often, a map in place of its
    transpose, a permutation that does not keep M."""
    target = gd.Target(text, noise=noise)
    channel = posterior_channel(target)
    omega, weights = nested_means(nesting_axes(target.expression, M), M)
    weights /= weights.sum()
    out = channel.outcomes(omega, np.eye(2) - M)
    chance = out.weight * np.exp(out.log_z)
    chance *= (weights / chance.sum(axis=1))[:, None]
    J = np.einsum("mk,mki,mkj->ij", chance, out.g, out.g)
    found = averages(channel, M)
    assert found.information == pytest.approx(J, abs=tolerance)
    assert found.log_evidence == pytest.approx(np.sum(chance * out.log_z), abs=tolerance)


def test_a_direction_that_symmetry_forbids_has_exactly_no_information():
    M = np.full((2, 2), 0.3)
    J = averages(posterior_channel(gd.Target("relu(z1) + relu(z2)", noise=0.05)), M).information
    assert abs(J[0, 0] - J[0, 1]) < 1e-12 < J[0, 0]


@pytest.mark.parametrize(
    ("text", "alpha"),
    [
        ("sign(z1*z2)", 2.49),  # 1 % above the threshold, where the coarse climb is in doubt
        ("sign(z1*z2)", 4.0),
        ("sign(z1) + sign(z2)", 2.6),
        ("z**2", 1.12),  # just below the end of the hard phase
    ],
)
def test_a_coarse_climb_ends_where_a_full_one_does(text, alpha):
    evolution = StateEvolution(gd.Target(text))
    point = evolution.uninformed(alpha)
    full = finish(evolution, evolution._stairs(alpha, np.eye(evolution.r), None, 1e-7), alpha)
    assert point.converged
    assert point.M == pytest.approx(full.M, abs=point.error + full.error)


def test_a_bottleneck_on_the_way_is_reported():
    gap = 1e-3
    wide, narrow = (
        climb(
            lambda M, g=g: M + 0.3 * ((M - 0.5) ** 2 + g) * (0.9 - M) / 0.4, np.full((1, 1), 0.01)
        )
        for g in (0.3, gap)
    )
    assert wide.narrow > 0.03
    assert narrow.narrow == pytest.approx(0.3 * gap, rel=0.5)

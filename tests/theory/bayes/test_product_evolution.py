"""State evolution of a product of three variables: perfect recovery above alpha = 3."""

import itertools

import numpy as np
import pytest

import gradone as gd
from gradone.channels import posterior_channel
from gradone.theory.bayes._climb import climb
from gradone.theory.bayes._prior_means import prior_means
from gradone.theory.bayes._state_evolution import averages

PRODUCT = gd.Target("z1*z2*z3")


def information_at(omega, variance, step=0.2):
    """Mean of the three E[g_i^2] at a prior mean: laws of log|z_i| convolved by plain sums."""
    size = np.exp(np.arange(-22.0, 2.4, step))
    laws = []  # of each variable: sum and difference of both signs, with weights 1 and z - omega
    for w in omega:
        plus, minus = (
            step * size * np.exp(-((s * size - w) ** 2) / (2 * variance)) for s in (1, -1)
        )
        shift = plus * (size - w), minus * (-size - w)
        laws.append([(plus + minus, plus - minus), (shift[0] + shift[1], shift[0] - shift[1])])
    constant = (2 * np.pi * variance) ** -1.5
    moments = []
    for order in [(0, 0, 0), *np.eye(3, dtype=int)]:
        both = []
        for k in (0, 1):
            first, second, third = (laws[i][order[i]][k] for i in range(3))
            both.append(constant * np.convolve(np.convolve(first, second), third))
        moments.append(np.concatenate([both[0] + both[1], both[0] - both[1]]) / 2)
    Z = moments[0]
    seen = Z > 1e-13 * Z.max()
    return sum((m[seen] ** 2 / Z[seen]).sum() for m in moments[1:]) / (3 * variance**2)


@pytest.mark.parametrize("q", [0.3, 0.7])
def test_information_by_plain_sums(q):
    """J(M) at M = q I from an equidistant grid of prior means, one of each orbit.

    Would catch: a wrong measure of labels, a lost sign, a weight of an orbit that is off.
    """
    step = 0.4 * np.sqrt(1 - q)
    ladder = np.arange(0, int(5.5 / step) + 1)
    J = total = 0.0
    for place in itertools.combinations_with_replacement(ladder, 3):
        v = step * np.array(place)
        orbit = len(set(itertools.permutations(place))) * 2 ** np.count_nonzero(place)
        weight = orbit * np.exp(-(v @ v) / 2)
        if v @ v < 5.5**2:
            J, total = J + weight * information_at(np.sqrt(q) * v, 1 - q), total + weight
    found = averages(posterior_channel(PRODUCT), q * np.eye(3), 1).information
    assert found == pytest.approx(J / total * np.eye(3), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("overlaps", [(0.3, 0.3, 0.3), (0.6, 0.7, 0.8), (0.97, 0.97, 0.97)])
def test_the_information_is_twice_the_gradient_of_the_mean_log_evidence(overlaps):
    """d Psi / dM = J / 2, also where prior means are denser next to zero."""
    channel, M, h = posterior_channel(PRODUCT), np.diag(overlaps), 1e-3 * (1 - max(overlaps))
    up, down = (averages(channel, M + s * h * np.eye(3), 1, around=M) for s in (1, -1))
    J = averages(channel, M, 1).information
    assert (up.log_evidence - down.log_evidence) / (2 * h) == pytest.approx(
        np.trace(J) / 2, rel=1e-3
    )


def test_prior_means_that_are_denser_next_to_zero_are_as_good_as_equidistant_ones():
    """Where the latter resolve the posterior, with far more of them."""
    M, V = 0.8 * np.eye(3), 0.2 * np.eye(3)
    channel = posterior_channel(PRODUCT)
    found = []
    for graded in (False, True):
        omega, weights = prior_means(M, 0, graded=graded)
        kept = (omega[:, 0] >= omega[:, 1]) & (omega[:, 1] >= omega[:, 2]) & (omega[:, 2] >= 0)
        sizes = np.unique(np.sort(np.abs(omega), axis=1).round(9), axis=0, return_inverse=True)[1]
        orbit = np.bincount(sizes.ravel(), weights)[sizes.ravel()][kept]
        out = channel.outcomes(omega[kept], V)
        p = out.weight * np.exp(out.log_z)
        found.append(orbit @ (p[:, :, None] * out.g**2).sum(axis=(1, 2)) / 3)
        assert orbit.sum() == pytest.approx(1.0, abs=1e-12)
    assert found[1] == pytest.approx(found[0], rel=1e-3)
    assert averages(channel, M).information == pytest.approx(found[1] * np.eye(3), rel=1e-4)


@pytest.mark.parametrize("missing", [1e-2, 1e-3, 1e-4])
def test_a_label_fixes_one_of_three_coordinates(missing):
    """Next to M = I: J = n n^T / V along the gradient n of the product, 1/(3 V) on average."""
    M = (1 - missing) * np.eye(3)
    J = averages(posterior_channel(PRODUCT), M).information
    assert missing * J == pytest.approx(np.eye(3) / 3, abs=0.1 * missing + 2e-4)


def test_overlaps_are_the_same_for_all_three_and_solve_the_equation():
    """alpha = m/((1 - m) J(m)) between the threshold and perfect recovery."""
    state = gd.predict(PRODUCT, "bayes_amp", alpha=[2.0, 2.7])
    assert not state.overlap.values[0].any()
    M = state.overlap.values[1]
    m = M[0, 0]
    assert M == pytest.approx(m * np.eye(3), abs=1e-9)
    J = averages(posterior_channel(PRODUCT), M, 2).information[0, 0]
    assert m / ((1 - m) * J) == pytest.approx(2.7, rel=1e-5)
    assert state.overlap_err.values.max() < 1e-4


@pytest.mark.stat
def test_perfect_recovery_above_three_samples_per_dimension():
    """Each label fixes one of three coordinates, so 1 - m shrinks by 3/alpha per iteration."""
    state = gd.predict(PRODUCT, "bayes_amp", alpha=[3.2])
    assert state.converged.all()
    error = float(state.overlap_err.max())
    assert 1e-6 <= error < 1e-5  # the iteration stops short of one, by no more than this
    assert state.overlap.values[0] == pytest.approx(np.eye(3), abs=error)
    assert float(state.test_mse[0]) <= float(state.test_mse_err[0]) < 1e-4


def test_leaps_do_not_magnify_what_rounding_tells_apart():
    """A map that treats two directions alike, from a start that differs by rounding."""
    seen = []

    def step(M):
        seen.append(abs(M[0, 0] - M[1, 1]))
        m = np.trace(M) / 2
        return (1.02 * m / (1 + 0.02 * m)) * np.eye(2)

    climb(step, np.diag([1e-3, 1e-3 + 1e-16]))
    assert max(seen) < 1e-14

"""State evolution of a product of three variables: perfect recovery above alpha = 3."""

import itertools

import numpy as np
import pytest

import gradone as gd
from gradone.channels.averages.general import ChannelAverages
from gradone.channels.averages.moments import total
from gradone.theory.bayes._climb import climb

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
    J = weights = 0.0
    for place in itertools.combinations_with_replacement(ladder, 3):
        v = step * np.array(place)
        orbit = len(set(itertools.permutations(place))) * 2 ** np.count_nonzero(place)
        weight = orbit * np.exp(-(v @ v) / 2)
        if v @ v < 5.5**2:
            J, weights = J + weight * information_at(np.sqrt(q) * v, 1 - q), weights + weight
    found, sources = ChannelAverages(PRODUCT).estimate(q * np.eye(3))
    error = total(sources).information.max()
    assert np.abs(found.information - J / weights * np.eye(3)).max() < error < 0.02 * J / weights


@pytest.mark.parametrize("missing", [1e-2, 1e-3, 1e-4])
def test_a_label_fixes_one_of_three_coordinates(missing):
    """Next to M = I: J = n n^T / V along the gradient n of the product, 1/(3 V) on average."""
    M = (1 - missing) * np.eye(3)
    J = ChannelAverages(PRODUCT).at(M).information
    assert missing * J == pytest.approx(np.eye(3) / 3, abs=0.1 * missing + 6e-3)


def test_overlaps_are_the_same_for_all_three():
    state = gd.predict(PRODUCT, "bayes_amp", alpha=[2.0, 2.7])
    assert not state.overlap.values[0].any()
    M = state.overlap.values[1]
    assert M == pytest.approx(M[0, 0] * np.eye(3), abs=1e-9)
    assert M[0, 0] > 0.1


@pytest.mark.stat
def test_perfect_recovery_above_three_samples_per_dimension():
    """Each label fixes one of three coordinates, so 1 - m shrinks by 3/alpha per iteration."""
    state = gd.predict(PRODUCT, "bayes_amp", alpha=[3.2])
    assert state.converged.all()
    error = float(state.overlap_err.max())
    assert 1e-6 <= error < 1e-5  # the iteration stops short of one, by no more than this
    assert state.overlap.values[0] == pytest.approx(np.eye(3), abs=error)
    assert abs(float(state.test_mse[0])) <= float(state.test_mse_err[0]) < 1e-3


def test_leaps_do_not_magnify_what_rounding_tells_apart():
    """A map that treats two directions alike, from a start that differs by rounding."""
    seen = []

    def step(M):
        seen.append(abs(M[0, 0] - M[1, 1]))
        m = np.trace(M) / 2
        return (1.02 * m / (1 + 0.02 * m)) * np.eye(2)

    climb(step, np.diag([1e-3, 1e-3 + 1e-16]))
    assert max(seen) < 1e-14

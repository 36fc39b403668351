"""The monotone iteration ends where plain iteration would, and leaps over no fixed point."""

import numpy as np
import pytest

from gradone.theory.bayes._climb import climb


def one(m):
    return np.array([[m]])


def scalar(f):
    return lambda M: np.array([[f(M[0, 0])]])


def plain(f, m, steps=100_000):
    for _ in range(steps):
        m = f(m)
    return m


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99, -0.8])
def test_a_linear_map_is_solved(rate):
    found = climb(scalar(lambda m: 0.4 + rate * (m - 0.4)), one(0.01))
    assert found.converged
    assert found.M[0, 0] == pytest.approx(0.4, abs=2e-7 / (1 - rate))
    assert found.n_iter < 40


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-4])
def test_a_bottleneck_stops_the_climb_if_and_only_if_it_holds_a_fixed_point(gap):
    """m + (m - 0.5)^2 +- gap nearly touches the diagonal at 1/2; another fixed point is at 0.9.

    Would catch: an extrapolation through the bottleneck that ends at the upper fixed point.
    """

    def closed(m):
        return m + 0.3 * ((m - 0.5) ** 2 - gap) * (0.9 - m) / 0.4

    def open_(m):
        return m + 0.3 * ((m - 0.5) ** 2 + gap) * (0.9 - m) / 0.4

    below = climb(scalar(closed), one(0.01), tolerance=1e-9, max_iter=2000)
    assert below.M[0, 0] == pytest.approx(0.5 - np.sqrt(gap), abs=1e-4)
    above = climb(scalar(open_), one(0.01), tolerance=1e-9, max_iter=5000)
    assert above.M[0, 0] == pytest.approx(0.9, abs=1e-4)


@pytest.mark.parametrize("growth", [1.02, 1.2, 1.8])
def test_a_small_start_leaves_an_unstable_zero(growth):
    def f(m):
        return growth * m / (1 + m)

    found = climb(scalar(f), one(1e-3))
    assert found.M[0, 0] == pytest.approx(growth - 1, abs=1e-4)
    assert found.n_iter < 60


def test_an_informed_start_descends_to_the_largest_fixed_point():
    def f(m):
        return 1.05 * m / (1 + 0.05 * m + 0.2 * (m - 0.3) ** 2) if m > 0 else 0.0

    found = climb(scalar(f), one(0.99))
    assert found.M[0, 0] == pytest.approx(plain(f, 0.99), abs=1e-5)


def test_an_oscillating_mode_is_not_amplified():
    """Two directions of which the difference changes sign each time, with growth in common."""

    def step(M):
        mean, half = np.trace(M) / 2, (M[0, 0] - M[1, 1]) / 2
        up = 1.3 * mean / (1 + mean)
        return np.diag([up - 0.98 * half, up + 0.98 * half])

    found = climb(step, np.diag([1.0e-3, 1.1e-3]))
    assert found.converged
    assert found.M == pytest.approx(0.3 * np.eye(2), abs=1e-5)


def test_what_does_not_converge_says_so():
    found = climb(scalar(lambda m: 0.5 + 0.9999 * (m - 0.5)), one(0.1), tolerance=1e-12, max_iter=4)
    assert not found.converged
    assert found.residual > 1e-12


def test_a_leap_in_one_direction_does_not_reach_full_overlap():
    """One direction grows to 0.9 and has a basin of perfect recovery above 0.99.

    Would catch: leaps that are judged by the sum of the overlaps, where another direction waits.
    """

    def step(M):
        waits, grows = np.diag(M)
        more = min(0.5 * grows, 0.3 * (0.9 - grows))
        return np.diag([waits, 1 - 1e-6 if grows > 0.99 else grows + more])

    found = climb(step, np.diag([0.3, 0.02]))
    assert found.M[1, 1] == pytest.approx(0.9, abs=1e-5)


def test_full_overlap_is_reached_in_long_leaps():
    """What is missing shrinks by a fifth per iteration in both directions, from 1/2 to 1e-6.

    That takes 59 iterations, and 19 leaps that halve it.
    """
    most = (1 - 1e-6) * np.eye(2)
    found = climb(lambda M: np.minimum(M + 0.2 * (np.eye(2) - M), most), 0.5 * np.eye(2))
    assert found.converged
    assert found.M[0, 0] > 1 - 2e-6
    assert found.n_iter < 15

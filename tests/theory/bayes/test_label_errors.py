"""Probability of a wrong label against closed forms, rotations and plain Monte Carlo."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import ncx2

import gradone as gd
from gradone.base.seeds import stream
from gradone.channels.rules import channel_averages

PERFECT = 1 - 1e-6
SIGMAS = 5.0  # two-sided 6e-7


def error_of(text, M):
    return channel_averages(gd.Target(text)).label_error(np.asarray(M, dtype=float))


def angle(q):
    """Chance that a sign is wrong at overlap q."""
    return float(np.arccos(np.sqrt(q)) / np.pi)


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.9, 0.99, PERFECT])
def test_a_sign(q):
    found = error_of("sign(z)", [[q]])
    assert abs(found.value - angle(q)) <= found.error < 1e-3 * angle(q)


@pytest.mark.parametrize(
    ("k", "q"), [(2, 0.1), (2, 0.643841), (2, 0.9), (2, 0.99), (3, 0.1), (3, 0.5), (3, 0.9)]
)
def test_a_parity(k, q):
    """An odd number of signs must be wrong: (1 - (1 - 2 angle)^k) / 2.

    Would catch: rules that are off by h^2 next to the kinks at omega_i = 0.
    """
    exact = (1 - (1 - 2 * angle(q)) ** k) / 2
    found = error_of("sign(" + "*".join(f"z{i + 1}" for i in range(k)) + ")", q * np.eye(k))
    assert abs(found.value - exact) <= found.error < 3e-3 * exact


@pytest.mark.parametrize("overlaps", [(0.3, 0.8), (0.9, 0.95), (0.99, 0.5), (0.6, 0.0)])
def test_steps_that_the_label_tells_apart(overlaps):
    """All steps must be right: 1 - prod (1 - angle); four or eight labels, kinks in planes.

    Would catch: kinks parallel to a line that the rule across it does not see.
    """
    text = "+".join(f"{10**i}*step(z{i + 1})" for i in range(len(overlaps)))
    exact = 1 - np.prod([1 - angle(q) for q in overlaps])
    found = error_of(text, np.diag(overlaps))
    assert abs(found.value - exact) <= found.error < 3e-3 * exact


def test_kinks_between_planes_that_are_parallel():
    """Three labels of one variable, times a sign: kinks are not where the planes are.

    Next to 0 the label between the planes is never the most probable one.
    """
    q, p = 0.6, 0.5
    s = np.sqrt(1 - q)

    def right(x):
        omega = np.sqrt(q) * x
        below, above = ndtr(-omega / s), ndtr((omega - 1) / s)
        return max(below, above, 1 - below - above)

    kinks = [-1.0, 0.0, 0.5, 1.0, 2.0]
    one = sum(
        quad(lambda x: right(x) * np.exp(-x * x / 2) / np.sqrt(2 * np.pi), a, b, limit=200)[0]
        for a, b in itertools.pairwise([-9.0, *kinks, 9.0])
    )
    found = error_of("sign(z1) + 2*sign(z1 - 1) + 10*step(z2)", np.diag([q, p]))
    exact = 1 - one * (1 - angle(p))
    assert abs(found.value - exact) <= found.error < 1e-3


@pytest.mark.stat
@pytest.mark.parametrize("q", [0.3, 0.8, 0.95])
def test_a_disk(q):
    """sign(z1^2 + z2^2 - 2): a function of |omega|, by noncentral chi-squared probabilities.

    Would catch: panels that are long next to a curved surface, lines that touch it.
    """

    def inside(x):
        return ncx2.cdf(2 / (1 - q), 2, q * x * x / (1 - q))

    kink = brentq(lambda x: inside(x) - 0.5, 0.1, 5) if inside(1e-3) > 0.5 else 0.0
    width = np.sqrt(1 - q)
    ends = [kink, *(kink + width * np.array([-8.0, -3.0, -1.0, 1.0, 3.0, 8.0])), 0.0, 9.0]
    exact = sum(
        quad(lambda x: min(inside(x), 1 - inside(x)) * x * np.exp(-x * x / 2), a, b)[0]
        for a, b in itertools.pairwise(sorted({float(np.clip(e, 1e-9, 9.0)) for e in ends}))
    )
    found = error_of("sign(z1**2 + z2**2 - 2)", q * np.eye(2))
    assert abs(found.value - exact) <= found.error < 5e-3 * exact


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "M"),
    [
        ("sign({0}*{1})", [[0.5, 0.05], [0.05, 0.5]]),
        ("sign({0}*{1} + 0.4)", [[0.5, 0.1], [0.1, 0.6]]),
        ("sign({0}) + sign({1}) + sign({0} + {1})", [[0.9, 0.05], [0.05, 0.9]]),
        ("sign({0} + {1}) + 3*sign({0} - 2*{1} + 1)", [[0.8, 0.3], [0.3, 0.4]]),
        ("sign({0} + {1}**2 - 1)", [[0.95, 0.0], [0.0, 0.9]]),
    ],
)
def test_other_axes_give_the_same(text, M):
    """The same target in rotated variables, whose lines cross the kinks elsewhere."""
    c, s = np.cos(0.7), np.sin(0.7)
    R = np.array([[c, s], [-s, c]])
    turned = text.format(f"({c:.16g}*z1 + {s:.16g}*z2)", f"({c:.16g}*z2 - {s:.16g}*z1)")
    one, other = error_of(text.format("z1", "z2"), M), error_of(turned, R.T @ np.array(M) @ R)
    assert abs(one.value - other.value) <= one.error + other.error
    assert max(one.error, other.error) < 5e-3 * one.value


@pytest.mark.stat
def test_a_sum_of_three_signs_is_that_of_monte_carlo():
    """Number of positive variables, most probable one by its generating function.

    Would catch: a label that is skipped where it is the most probable one in a narrow strip.
    """
    overlaps = np.array([0.9, 0.5, 0.7])
    rng = stream(0, "test", text="three signs")
    chances = []
    for _ in range(8):
        omega = rng.standard_normal((250_000, 3)) * np.sqrt(overlaps)
        p = ndtr(omega / np.sqrt(1 - overlaps)).T
        none, all_ = np.prod(1 - p, axis=0), np.prod(p, axis=0)
        one = sum(p[i] * (1 - p[i - 1]) * (1 - p[i - 2]) for i in range(3))
        chances.append(1 - np.max([none, one, 1 - none - one - all_, all_], axis=0))
    chances = np.concatenate(chances)
    spread = chances.std() / np.sqrt(len(chances))
    found = error_of("sign(z1) + sign(z2) + sign(z3)", np.diag(overlaps))
    assert abs(found.value - chances.mean()) < found.error + SIGMAS * spread
    assert found.error < 1e-3


@pytest.mark.stat
def test_planes_in_general_are_those_of_monte_carlo():
    """Four planes, overlaps of every pair; the label is chosen and tested on different draws.

    The choice from 1000 draws loses at most about 1/1000. Would catch: cells that carry the label
    of a neighbor (0.03), folding along an axis that is not symmetric.
    """
    text = "sign(z1) + sign(z2) + sign(z3) + sign(z1 + z2 + z3)"
    M = np.full((3, 3), 0.05) + 0.45 * np.eye(3)
    rng = stream(0, "test", text=text)
    omega = rng.standard_normal((8000, 3)) @ np.linalg.cholesky(M).T
    root = np.linalg.cholesky(np.eye(3) - M).T
    wrong = np.empty(len(omega))
    for i, mean in enumerate(omega):
        z = mean + rng.standard_normal((2000, 3)) @ root
        above = (z > 0).sum(axis=1) + (z.sum(axis=1) > 0)
        best = np.bincount(above[:1000], minlength=5).argmax()
        wrong[i] = (above[1000:] != best).mean()
    found = error_of(text, M)
    spread = wrong.std() / np.sqrt(len(wrong))
    assert abs(found.value - wrong.mean()) < found.error + SIGMAS * spread + 1e-3
    assert found.error < 4e-3


@pytest.mark.parametrize("alpha", [4.0, 16.0])
@pytest.mark.parametrize("text", ["sign(z)", "step(z1) + 10*step(z2)"])
def test_along_a_curve_stated_errors_cover(text, alpha):
    state = gd.predict(text, "bayes_amp", alpha=alpha)
    exact = 1 - np.prod([1 - angle(q) for q in np.diag(state.overlap.values[0])])
    error = float(state.zero_one_error_err[0])
    assert abs(float(state.zero_one_error[0]) - exact) <= error < 8e-3 * exact

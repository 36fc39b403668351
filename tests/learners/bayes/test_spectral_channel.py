"""Spectral directions of a known channel."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import ortho_group
from scipy.stats import t as student

import gradone as gd
from gradone.learners import SpectralDirections

from ..rotated import cosines, rotated, sign_product

GAMMA = 2 / math.pi  # E[z1 z2 | sign(z1 z2) = 1]


def cap(z):
    return (np.abs(z) > 1).astype(float)


def square(z):
    return z**2


def cap_law():
    """Probabilities of the two labels of 1[|z| > 1], and E[z^2 | y]."""
    p = math.erfc(1 / math.sqrt(2))
    inside = 2 * math.exp(-0.5) / math.sqrt(2 * math.pi)  # integration by parts
    return np.array([p, 1 - p]), np.array([(p + inside) / p, (1 - p - inside) / (1 - p)])


def square_law():
    """Labels z^2 at the middles of 10^5 equal shares of their law."""
    shares = 10**5
    return np.full(shares, 1 / shares), ndtri((np.arange(shares) + 0.5) / shares) ** 2


def lu_li(alpha, probability, second, T):
    """Squared cosine and eigenvalue of the leading eigenvector of sum_i T(y_i) x_i x_i' / d.

    Lu and Li (2017), Theorem 1, for labels with E[z^2 | y] = second; a closed form, no sampling.
    """

    def psi(x):
        return x * (1 / alpha + np.sum(probability * T / (x - T)))

    def phi(x):
        return x * np.sum(probability * second * T / (x - T))

    def slope_of_psi(x):
        return 1 / alpha - np.sum(probability * T**2 / (x - T) ** 2)

    def slope_of_phi(x):
        return -np.sum(probability * second * T**2 / (x - T) ** 2)

    low, high = T.max() + 1e-9, T.max() + 1e6
    bulk = brentq(slope_of_psi, low, high)
    x = brentq(lambda x: psi(max(x, bulk)) - phi(x), low, high)
    if x <= bulk:
        return 0.0, alpha * psi(bulk)
    rise = slope_of_psi(x)
    return rise / (rise - slope_of_phi(x)), alpha * psi(x)


def test_the_closed_form_knows_the_thresholds():
    """pi^2/4 for sign(z1 z2), 0.924958 for 1[|z| > 1]; above them the eigenvalue is 1."""
    labels = np.array([GAMMA, -GAMMA])
    law = np.array([0.5, 0.5]), 1 + labels, labels / (1 + labels)
    assert lu_li(0.99 * math.pi**2 / 4, *law)[0] == 0
    share, value = lu_li(1.01 * math.pi**2 / 4, *law)
    assert share > 0
    assert value == pytest.approx(1, abs=1e-9)
    p, second = cap_law()
    assert lu_li(0.9249, p, second, 1 - 1 / second)[0] == 0
    assert lu_li(0.9251, p, second, 1 - 1 / second)[0] > 0


CASES = {
    # Label law, function, number of directions, values of alpha.
    "sign(z1*z2)": (
        sign_product,
        2,
        (np.array([0.5, 0.5]), 1 + GAMMA * np.array([1, -1])),
        (4.0, 6.0),
    ),
    "step(abs(z) - 1)": (cap, 1, cap_law(), (2.0, 3.0)),
    "z**2": (square, 1, square_law(), (1.0, 2.0)),
}


@pytest.mark.stat
@pytest.mark.parametrize("text", CASES)
def test_overlaps_are_those_of_the_closed_form(text):
    """Mean share of W* in what is found, 12 samples at d = 400.

    The allowance 2/d covers the bias of means of order 1 at finite d (none is seen); the threshold
    is Student's at 1e-6. Would catch: T = G (share 0.50 instead of 0.66 for sign(z1*z2) at 6),
    a floor of T at -1 (eigenvalue 1.3), x of variance 1 in place of 1/d in the eigenvalue.
    """
    function, r, (probability, second), alphas = CASES[text]
    d, replicates = 400, 12
    for alpha in alphas:
        T = np.maximum(1 - 1 / second, -10)
        expected, eigenvalue = lu_li(alpha, probability, second, T)
        shares, values = [], []
        for seed in range(replicates):
            X, y, W = rotated(function, n=round(alpha * d), d=d, r=r, seed=seed)
            found = SpectralDirections(gd.Target(text), random_state=0).fit(X, y)
            assert found.n_directions_ == found.second_order_rank_ == r
            shares.append(np.mean(cosines(found.directions_, W) ** 2))
            values.append(found.eigenvalues_.mean())
        quantile = student.isf(5e-7, replicates - 1) / math.sqrt(replicates)
        assert abs(np.mean(shares) - expected) < quantile * np.std(shares, ddof=1) + 2 / d
        assert abs(np.mean(values) - eigenvalue) < quantile * np.std(values, ddof=1) + 2 / d


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "d", "alpha", "expected"),
    [
        ("z**2", 1500, 0.6, 0.28),
        ("z**2", 1500, 1.0, 0.49),
        ("sign(z1*z2)", 700, 3.0, 0.50),
        ("sign(z1*z2)", 700, 4.0, 0.64),
        ("step(abs(z) - 1)", 800, 2.0, 0.65),
        ("step(abs(z) - 1)", 800, 3.0, 0.82),
    ],
)
def test_reference_overlaps(text, d, alpha, expected):
    """Single draws of the reference lie in the range of 12 of ours, widened by its rounding."""
    function, r, _, _ = CASES[text]
    found = []
    for seed in range(12):
        X, y, W = rotated(function, n=round(alpha * d), d=d, r=r, seed=seed)
        learner = SpectralDirections(gd.Target(text), r, random_state=0).fit(X, y)
        # Of one direction: the largest of two cosines would be biased upwards.
        found.append(math.sqrt(np.mean(cosines(learner.directions_, W) ** 2)))
    assert min(found) - 0.01 < expected < max(found) + 0.01


@pytest.mark.parametrize("seed", range(10))
def test_a_pair_comes_from_two_matrices(seed):
    """E[z z' | y] = I + y (2/pi) [[0, 1], [1, 0]] is diagonal for z1 + z2 and z1 - z2 at once.

    One leading eigenvector of each of the two dense matrices; near the threshold the two largest
    eigenvalues often belong to one of them. Would catch: both outliers taken from one matrix.
    """
    X, y, _ = rotated(sign_product, n=150, d=60, r=2, seed=seed)
    x = (X - X.mean(0)) / X.std(0)
    pair = [np.linalg.eigh((x.T * (1 - 1 / (1 + c * y))) @ x)[1][:, -1] for c in (GAMMA, -GAMMA)]
    found = SpectralDirections(gd.Target("sign(z1*z2)"), 2, random_state=0).fit(X, y)
    assert cosines(found.directions_, pair).min() > 1 - 1e-8


# ---- what can be found


@pytest.mark.parametrize(
    ("target", "n", "first", "second", "text"),
    [
        (gd.Target("sign(z1*z2)"), 200, 0, 0, "open at n/d = 2.467 are below the threshold"),
        (gd.Target("sign(z1*z2)"), 400, 0, 2, "2 directions are visible only to second"),
        (
            gd.Target("sign(z1*z2*z3)"),
            400,
            0,
            0,
            "exponent of this channel is 3 or more",
        ),
        (gd.Target("sign(z)"), 100, 1, 0, "1 direction is visible to first order (trivial)."),
        (
            gd.Target("max(z1, z2)", noise=0.1),
            400,
            1,
            1,
            "2 directions are visible, 1 of them only",
        ),
    ],
    ids=lambda v: getattr(v, "text", None),
)
def test_the_channel_says_how_many(target, n, first, second, text):
    sample = target.sample(n=n, d=100, seed=0)
    found = SpectralDirections(target, random_state=0).fit(sample.X, sample.y)
    assert (found.first_order_rank_, found.second_order_rank_) == (first, second)
    assert found.n_directions_ == first + second
    assert text in found.diagnosis_
    assert found.p_values_ is None


def test_first_order_direction_of_a_sign():
    """x averaged with the sign of z: squared cosine 2/pi / (2/pi + d/n), at any n/d."""
    target, shares = gd.Target("sign(z)"), []
    for seed in range(16):
        sample = target.sample(n=400, d=400, seed=seed)
        found = SpectralDirections(target, random_state=0).fit(sample.X, sample.y)
        shares.append((found.directions_ @ sample.W_star.T).item() ** 2)
    mean, spread = np.mean(shares), np.std(shares, ddof=1) / 4
    assert abs(mean - GAMMA / (GAMMA + 1)) < student.isf(5e-7, 15) * spread + 2 / 400


def test_second_order_is_sought_beside_the_first():
    """z3 is linear in y; z1, z2 come as a pair that only the second order sees."""
    target = gd.Target("tanh(z1*z2) + 0.5*z3", noise=0.05)
    sample = target.sample(n=4000, d=200, seed=1)
    found = SpectralDirections(target, random_state=0).fit(sample.X, sample.y)
    overlaps = found.directions_ @ sample.W_star.T
    assert abs(overlaps[0, 2]) > 0.9
    assert np.abs(overlaps[1:, 2]).max() < 0.2
    assert np.linalg.norm(overlaps[1:, :2], axis=1).min() > 0.85


@pytest.mark.parametrize("text", ["sign(z1*z2)", "step(abs(z) - 1)"])
def test_single_precision_and_blocks_agree(text):
    target = gd.Target(text)
    sample = target.sample(n=1500, d=150, seed=0)
    whole = SpectralDirections(target, random_state=0).fit(sample.X, sample.y)
    blocks = SpectralDirections(target, random_state=0, chunk_size=217).fit(sample.X, sample.y)
    single = SpectralDirections(target, random_state=0).fit(sample.X.astype(np.float32), sample.y)
    assert single.directions_.dtype == np.float32
    # Degenerate outliers come as any basis: compare the spaces.
    assert cosines(whole.directions_, blocks.directions_).min() > 1 - 1e-8
    assert cosines(whole.directions_, single.directions_).min() > 1 - 1e-6


def test_directions_rotate_with_the_inputs():
    """Up to the scales of the columns, which are off by 1/sqrt(2 n)."""
    target = gd.Target("sign(z1*z2)")
    sample = target.sample(n=2000, d=100, seed=0)
    R = ortho_group.rvs(100, random_state=1)
    one = SpectralDirections(target, random_state=0).fit(sample.X, sample.y)
    other = SpectralDirections(target, random_state=0).fit(sample.X @ R.T, sample.y)
    sines = np.sqrt(1 - np.minimum(cosines(one.directions_ @ R.T, other.directions_), 1) ** 2)
    assert sines.max() < 5 / math.sqrt(2 * 2000)


def test_scale_origin_and_constant_columns_do_not_count():
    target = gd.Target("sign(z1*z2)")
    sample = target.sample(n=1500, d=60, seed=0)
    one = SpectralDirections(target, random_state=0).fit(sample.X, sample.y)
    scales = np.geomspace(1e-3, 1e3, 60)
    wide = np.insert(sample.X * scales + 5 * scales, 7, 2.0, axis=1)
    with pytest.warns(UserWarning, match=r"leaves out 1 constant column of X \(7\)"):
        other = SpectralDirections(target, random_state=0).fit(wide, sample.y)
    assert (other.directions_[:, 7] == 0).all()
    assert cosines(one.directions_, np.delete(other.directions_, 7, axis=1)).min() > 1 - 1e-8


# ---- bad input


def test_impossible_labels_are_refused():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(gd.BadData, match=r"0\.5"):
        SpectralDirections(gd.Target("sign(z)")).fit(X, np.linspace(0.5, 1, 20))


def test_more_directions_than_the_channel_shows_are_refused():
    sample = gd.Target("sign(z1*z2*z3)").sample(n=50, d=5)
    with pytest.raises(gd.OutOfRegime, match=r"show 0 directions of .* asks for more"):
        SpectralDirections(gd.Target("sign(z1*z2*z3)"), 1).fit(sample.X, sample.y)


def test_more_directions_than_features_are_refused():
    X = np.random.default_rng(0).standard_normal((50, 1))
    with pytest.raises(gd.BadData, match="2 directions are sought among d = 1 features"):
        SpectralDirections(gd.Target("sign(z1*z2)")).fit(X, np.sign(X[:, 0]))

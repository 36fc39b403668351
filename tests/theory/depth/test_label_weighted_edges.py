"""Ends of the bulk of label-weighted covariances: closed forms, other equations, eigenvalues."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

import gradone as gd
from gradone.theory import first_stage, label_weighted_edges


@pytest.mark.parametrize("alpha", [0.25, 0.9, 2.0, 30.0])
@pytest.mark.parametrize("weights", [[1.0], [3.0, 3.0]])
def test_equal_weights_give_the_ends_of_marchenko_and_pastur(weights, alpha):
    """Would catch: the lower end of the zero eigenvalues in place of that of the others."""
    found, size = label_weighted_edges(weights, alpha=alpha), weights[0]
    for end, sign in ((found.low, -1), (found.high, 1)):
        exact = size * (1 + sign / np.sqrt(alpha)) ** 2
        assert abs(end.value - exact) <= end.error < 1e-10
    assert found.zeros.value == pytest.approx(max(0, 1 - alpha), abs=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 2.0, 10.0])
def test_symmetric_signs_end_where_a_quadratic_equation_says(alpha):
    """(w^2+1)/(w^2-1)^2 = 1/alpha is a quadratic equation for w^2, x = w/alpha + w/(w^2-1)."""
    w2 = 1 + alpha / 2 + np.sqrt(alpha**2 / 4 + 2 * alpha)
    high = np.sqrt(w2) * (1 / alpha + 1 / (w2 - 1))
    for weights in ([-1.0, 1.0], "sign(z)", "sign(z1*z2)", gd.Target("sign(z + xi)")):
        found = label_weighted_edges(weights, alpha=alpha)
        assert abs(found.high.value - high) <= found.high.error < 1e-8
        assert abs(found.low.value + high) <= found.low.error < 1e-8


def least_position(t, share, alpha):
    """Upper end of the bulk as the minimum of x(w) above all t, by another solver."""
    top = t.max()
    found = minimize_scalar(
        lambda u: (top + np.exp(u)) * (1 / alpha + share @ (t / (top + np.exp(u) - t))),
        bounds=(-12, 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return found.fun


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("tanh(z)", np.tanh),
        ("tanh(1000*z)", lambda z: np.tanh(1000 * z)),
        ("z**2/(1 + z**2)", lambda z: z**2 / (1 + z**2)),
        ("max(z, -1)*exp(-z**2)", lambda z: np.maximum(z, -1) * np.exp(-(z**2))),
    ],
)
def test_labels_of_one_variable_against_a_fine_trapezoid(text, function):
    """Would catch: a steep transition between two nodes, bounded weights called endless."""
    z = np.linspace(-9, 9, 1_800_001)
    t, share = function(z), np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    for alpha in (0.4, 3.0):
        found = label_weighted_edges(text, alpha=alpha)
        assert found.high.value == pytest.approx(least_position(t, share, alpha), abs=2e-7)
        if text != "z**2/(1 + z**2)":  # not between positive weights
            assert found.low.value == pytest.approx(-least_position(-t, share, alpha), abs=2e-7)


def test_where_the_law_reaches_zero_so_does_the_bulk():
    """Would catch: a lower end at the last node of a rule, 0.012 for the second."""
    for text in ("relu(z)", "1/(1 + z**2)"):
        low = label_weighted_edges(text, alpha=0.5).low
        assert abs(low.value) <= low.error < 1e-10
    assert label_weighted_edges("relu(z)", alpha=0.5).zeros.value == pytest.approx(0.75)


def test_weights_without_end_have_no_edge():
    found = label_weighted_edges("relu(z)", alpha=3.0)
    assert found.high.value == np.inf
    assert "no upper end" in found.high.note
    assert 0 < found.low.value < found.low.error + 1e-2
    assert label_weighted_edges("log(z**2)", alpha=2.0).low.value == -np.inf
    bounded = label_weighted_edges("log(1 + z**2)", alpha=2.0, transform="tanh(y)")
    assert np.isfinite(bounded.high.value)


def test_label_noise_is_noise_of_the_weight():
    """tanh(z + sqrt(0.44) e) is tanh(1.2 z), and the error of drawn weights covers."""
    drawn = label_weighted_edges(gd.Target("z", noise=0.44), alpha=2.0, transform="tanh(y)")
    exact = label_weighted_edges("tanh(1.2*z)", alpha=2.0)
    assert exact.high.error < 1e-10 < drawn.high.error < 1e-3
    assert abs(drawn.high.value - exact.high.value) < 2 * drawn.high.error


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "alpha"), [("tanh(z1*z2)", 2.0), ("sign(z1**2 - 2)", 0.7), ("exp(-z1**2)", 3.0)]
)
def test_extreme_eigenvalues_lie_at_the_ends(text, alpha):
    """Labels of other inputs, d = 600: within 4 d^(-2/3) of the width, never far outside."""
    d, rng = 600, np.random.default_rng(5)
    n = int(alpha * d)
    t = np.asarray(gd.Target(text)(rng.standard_normal((n, gd.Target(text).r))))
    X = rng.standard_normal((n, d))
    x = np.linalg.eigvalsh((X.T * t) @ X / n)
    x = x[np.abs(x) > 1e-9]
    found = label_weighted_edges(text, alpha=alpha)
    width = found.high.value - found.low.value
    assert abs(x.max() - found.high.value) < 4 * d ** (-2 / 3) * width
    assert abs(x.min() - found.low.value) < 4 * d ** (-2 / 3) * width


@pytest.mark.stat
def test_the_first_stage_has_the_edges_of_its_scores():
    """Ranks have one law, whatever the labels. Off by 3e-6 when scores were in bins."""
    t = gd.Sight(outer="h + h**3/10", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    n, d = 4096, 64
    u = (np.arange(n) + 0.5) / n
    for score, law in (("gauss", ndtri(u)), ("rank", np.sqrt(12) * (u - 0.5))):
        low, high = first_stage(t, d=d, n=n, score=score).edges
        exact = least_position(law, np.full(n, 1 / n), n / d)
        assert abs(high.value - exact) < 1e-7 + high.error < 1e-5
        assert abs(low.value + exact) < 1e-7 + low.error < 1e-5


@pytest.mark.stat
def test_the_first_stage_has_the_edges_of_raw_labels():
    """Median over sixty sets of n labels, by another solver; five errors of a median."""
    signs = np.tile([1.0, -1.0], 4)
    t = gd.Sight(outer="tanh(h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5, signs=signs)
    n, d, sets = 2048, 64, 60
    y = t.sample(n=sets * n, d=d, seed=3).y.reshape(sets, n)
    y = y - y.mean(axis=1, keepdims=True)
    low, high = first_stage(t, d=d, n=n, score="label").edges
    for end, sign in ((high, 1), (low, -1)):
        ends = [sign * least_position(sign * one, np.full(n, 1 / n), n / d) for one in y]
        doubt = 5 * np.sqrt(np.pi / 2 / sets) * np.std(ends)
        assert abs(end.value - np.median(ends)) < end.error + doubt
        assert end.error < 0.1 * abs(end.value)


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ([1.0], {"alpha": 0.0}, "alpha must be"),
        ([0.0], {"alpha": 1.0}, "not all zero"),
        ([1.0, np.nan], {"alpha": 1.0}, "finite"),
        ([1.0, 2.0], {"alpha": 1.0, "shares": [1.0]}, "shares must be"),
        ("sign(z)", {"alpha": 1.0, "shares": [1.0]}, "shares are for given values"),
        (object(), {"alpha": 1.0}, "a list of numbers"),
    ],
)
def test_mistakes_are_named(weights, options, message):
    with pytest.raises(gd.BadData, match=message):
        label_weighted_edges(weights, **options)

"""Claimed numbers of the atlas, computed once more from their formulas with SciPy alone."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erf, k0e, k1e, ndtr
from scipy.stats import norm

import gradone as gd

ATLAS = gd.atlas()
phi = norm.pdf


def mean(f, *cuts):
    """Gaussian mean of a function with kinks at the cuts."""
    ends = (-12, *cuts, 12)
    return sum(
        quad(lambda z: f(z) * phi(z), a, b, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
        for a, b in zip(ends, ends[1:], strict=False)
    )


def claim(name):
    """The numbers of a claim, with corrected ones in their place."""
    entry = ATLAS[name]
    return {**entry.claimed, **entry.corrected}


def opening(moment, share):
    """Threshold of a label of two values, one with this share and mean of z**2 - 1 over it."""
    return 1 / (moment**2 * (1 / share + 1 / (1 - share)))


def test_thresholds_of_binary_labels():
    interval = opening(2 * phi(1), 2 * ndtr(-1))
    assert claim("interval-threshold")["alpha_c"] == pytest.approx(interval, abs=1e-6)
    growth = 1 / math.log(4 / interval)
    assert claim("easy-iterations")["per_log_d"] == pytest.approx(growth, abs=1e-5)
    assert claim("parity-threshold")["alpha_c"] == pytest.approx(math.pi**2 / 4, abs=1e-9)


def test_noise_inside_the_link():
    def next_overlap(m, alpha=2.0, variance=0.5):
        width = 1 - m + variance
        size = math.sqrt(m / width)
        seen = mean(lambda g: phi(size * g) ** 2 / (ndtr(size * g) * ndtr(-size * g)))
        return alpha * seen / (width + alpha * seen)

    overlap = brentq(lambda m: next_overlap(m) - m, 0.01, 0.99)
    assert claim("overlap-with-latent-noise")["overlap"] == pytest.approx(overlap, abs=1e-7)
    # Scaled Bessel functions hold the factor exp(variance/4).
    c = 0.25 / (2 * math.pi) * (k1e(0.25 / 4) - k0e(0.25 / 4))
    assert claim("parity-with-latent-noise")["alpha_c"] == pytest.approx(c**-2, abs=1e-7)


def test_threshold_of_noisy_phase_retrieval():
    z = np.linspace(0, 7, 1401)
    y = np.linspace(-2.5, 45, 4751)[:, None]
    weights = 2 * phi(z) * (z[1] - z[0])
    weights[0] /= 2
    law = np.exp(-((y - z**2) ** 2) / 0.2) / math.sqrt(0.2 * math.pi)
    share, moment = law @ weights, law @ (weights * (z**2 - 1))
    rate = np.sum(moment**2 / np.maximum(share, 1e-300)) * (y[1, 0] - y[0, 0])
    assert claim("noisy-phase-retrieval")["alpha_c"] == pytest.approx(1 / rate, abs=1e-5)


def test_threshold_of_a_product():
    def rate(y):
        """Squares of E[z1**2 - 1 | y] and of E[z1*z2 | y] times the law of y > 0."""
        return ((y * k1e(y) / k0e(y) - 1) ** 2 + y**2) * k0e(y) * math.exp(-y) * 2 / math.pi

    whole = quad(rate, 0, 1, limit=400)[0] + quad(rate, 1, 60, limit=400)[0]
    assert claim("product-threshold")["alpha_c"] == pytest.approx(1 / whole, abs=1e-5)


def test_threshold_of_a_product_of_three():
    # Given z1 the product of the others has the law K_0(|y/z1|)/(pi |z1|).
    z, y = np.exp(np.linspace(-14, 2.2, 1501))[:, None], np.exp(np.linspace(-22, 5, 2001))
    given = k0e(y / z) * np.exp(-y / z) / (math.pi * z) * 2 * phi(z) * z  # steps of log z
    law, square = given.sum(0), (given * z**2).sum(0)
    seen = law * (square / np.maximum(law, 1e-300) - 1) ** 2 * y
    rate = 2 * seen.sum() * math.log(z[1, 0] / z[0, 0]) * math.log(y[1] / y[0])
    claimed = claim("product-of-three-threshold")["alpha_c"]
    assert claimed == pytest.approx(1 / rate, abs=2e-5)


def test_first_threshold_of_the_grand_staircase():
    def seen(y):
        """Mean of z**2 - 1 given y = z**2 + 1 or z**2 - 1, with equal chances."""
        squares = np.array([y - 1, y + 1])
        squares = squares[squares > 0]
        law = np.exp(-squares / 2) / np.sqrt(squares)
        return law @ (squares - 1) / law.sum()

    rate = mean(lambda z: (seen(z**2 + 1) ** 2 + seen(z**2 - 1) ** 2) / 2, -(2**0.5), 0, 2**0.5)
    assert claim("grand-staircase")["alpha_1"] == pytest.approx(1 / rate, abs=1e-5)


def test_threshold_of_he4():
    z = (np.arange(2_000_000) + 0.5) * 10 / 2_000_000
    y = z**4 - 6 * z**2 + 3
    root = np.sqrt(6 + y)
    total, moment = np.zeros_like(z), np.zeros_like(z)
    for sign in (-1, 1):
        square = 3 + sign * root
        x = np.sqrt(np.maximum(square, 0))
        weight = np.where(square > 0, phi(x) / np.abs(4 * x**3 - 12 * x + 1e-300), 0.0)
        total, moment = total + weight, moment + weight * (square - 1)
    rate = np.sum(2 * phi(z) * (moment / total) ** 2) * (z[1] - z[0])
    assert claim("he4-is-easy")["alpha_c"] == pytest.approx(1 / rate, abs=2e-5)


FREQUENCY = 2.3
NODES = np.polynomial.hermite_e.hermegauss(120)
EDGES = np.pi / FREQUENCY * (np.arange(-12, 12) + 0.5)  # where the cosine changes its sign


def plus(center, width):
    """Probability that cos(2.3 z) > 0 for z of a Gaussian law."""
    low, high = EDGES[1:-1:2], EDGES[2::2]
    center = np.asarray(center)[:, None]
    return (ndtr((high - center) / width) - ndtr((low - center) / width)).sum(1)


def information(q):
    """Mean of log P(y | projection) when the overlap is q."""
    nodes, weights = NODES
    up = plus(math.sqrt(q) * nodes, math.sqrt(1 - q))
    parts = [p * np.log(np.maximum(p, 1e-300)) for p in (up, 1 - up)]
    return float(weights @ (parts[0] + parts[1]) / weights.sum())


def free_entropy(alpha, q):
    """Free entropy of sign(cos(2.3 z)) over the overlap, against overlap zero."""
    return 0.5 * (q + math.log(1 - q)) + alpha * (information(q) - information(0.0))


def highest(alpha):
    found = minimize_scalar(
        lambda q: -free_entropy(alpha, q), bounds=(0.5, 0.999), method="bounded"
    )
    return found.x, -found.fun


def test_the_hard_phase():
    top, height = highest(3.0)
    claimed = claim("potential-of-a-hard-phase")
    assert claimed["overlap"] == pytest.approx(top, abs=0.01)
    assert height > 0
    limits = claim("limits-of-a-hard-phase")
    equal = brentq(lambda alpha: highest(alpha)[1], 2.3, 3.0)
    assert limits["alpha_it"] == pytest.approx(equal, abs=0.005)
    # From nothing the overlap grows to the highest hill once no valley is before it.
    q = np.linspace(0.05, 0.7, 66)
    slopes = np.array([information(x + 1e-4) - information(x - 1e-4) for x in q]) / 2e-4
    needed = q / (2 * (1 - q)) / slopes
    assert limits["alpha_algorithmic"] == pytest.approx(needed.max(), abs=0.005)


def test_weights_of_parities():
    weight = 2 / math.pi
    assert claim("parity-energies")["mse_2_5"] == pytest.approx(1 - weight**2, abs=1e-6)
    assert claim("degree-theorem")["mse_3_5"] == pytest.approx(1 - weight**3, abs=1e-6)


def test_kernels_and_moments():
    t = 0.3
    relu = (math.sqrt(1 - t * t) + t * (math.pi - math.acos(t))) / (2 * math.pi)
    assert claim("arc-cosine-kernel")["kernel"] == pytest.approx(relu, abs=1e-6)
    assert claim("arcsine-kernel")["kernel"] == pytest.approx(2 / math.pi * math.asin(t), abs=1e-6)
    star = math.sqrt(0.25 - 1 / (2 * math.pi))
    assert claim("moments-of-relu")["mu_star"] == pytest.approx(star, abs=1e-8)


def test_pushes_on_he3():
    def y(z):
        return z**3 - 3 * z

    cuts = (-math.sqrt(3), 0, math.sqrt(3))
    # A neuron that knows nothing sees a positive preactivation with probability 1/2; the look
    # ahead on the same sample moves it by rho y.
    ahead = mean(lambda z: y(z) * z * min(0.5, ndtr(0.1 * y(z))), *cuts)
    noise = mean(lambda z: y(z) ** 2 * min(0.5, ndtr(0.1 * y(z))), *cuts)
    claimed = claim("he3-extragradient")
    assert claimed["v"] == pytest.approx(ahead, abs=1e-6)
    assert claimed["V"] == pytest.approx(noise, abs=1e-5)
    normalized = mean(lambda z: np.sign(y(z)) * z / 2, *cuts)
    assert claim("he3-normalized")["v"] == pytest.approx(normalized, abs=1e-5)
    signs = normalized * math.sqrt(2 / math.pi)
    assert claim("he3-signs")["v"] == pytest.approx(signs, abs=1e-5)


def test_pushes_of_other_losses_on_he3():
    def y(z):
        return z**3 - 3 * z

    def cut(e):
        return np.clip(e, -1.0, 1.0)

    # A sum over labels and over positive preactivations, where relu has the slope one.
    z, u = np.linspace(-8, 8, 4001), np.linspace(0, 8, 1001)
    law = np.outer(phi(z) * (z[1] - z[0]), phi(u) * (u[1] - u[0]))
    law[:, 0] /= 2
    push = cut(y(z)[:, None] - u)
    huber = claim("he3-huber")
    assert huber["v"] == pytest.approx(np.sum(law * push * z[:, None]), abs=2e-5)
    assert huber["V"] == pytest.approx(np.sum(law * push**2), abs=2e-5)
    cuts = (-math.sqrt(3), 0, math.sqrt(3))
    absolute = mean(lambda z: z * (2 * ndtr(y(z)) - 1.5 if y(z) > 0 else -0.5), *cuts)
    assert claim("he3-absolute")["v"] == pytest.approx(absolute, abs=1e-5)
    bends = np.sort(np.concatenate([np.roots([1, 0, -3, e]).real for e in (-1, 1)]))
    clipped = claim("he3-clipped")
    assert clipped["v"] == pytest.approx(mean(lambda z: cut(y(z)) * z / 2, *bends), abs=1e-5)
    assert clipped["V"] == pytest.approx(mean(lambda z: cut(y(z)) ** 2 / 2, *bends), abs=1e-5)


def test_second_looks_on_he4():
    def y(z):
        return z**4 - 6 * z**2 + 3

    cuts = np.sort([a * math.sqrt(3 + b * math.sqrt(6)) for a in (-1, 1) for b in (-1, 1)])
    claimed = claim("he4-extragradient")
    growth = mean(lambda z: y(z) * (z**2 - 1) * phi(max(0.0, -0.1 * y(z))), *cuts)
    assert claimed["k"] == pytest.approx(growth, abs=1e-6)
    noise = mean(lambda z: y(z) ** 2 * min(0.5, ndtr(0.1 * y(z))), *cuts)
    assert claimed["V"] == pytest.approx(noise, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "first", "bias", "a", "rho"),
    [
        ("grand-staircase-rates", [0, 0, 0, 0, 1], 0.0, 1, -0.1),
        ("standard-staircase-with-repetition", [0, 0, 1], 0.2, -1, -0.3),
        ("standard-staircase", [0, 0, 1], 0.2, -1, 0.0),
    ],
)
def test_growth_on_staircases(name, first, bias, a, rho):
    """The parity adds 1 or -1 to the label with equal chances, whatever z1 and the neuron are."""
    x = np.linspace(-8, 8, 1601)
    law = np.outer(phi(x), phi(x)) * (x[1] - x[0]) ** 2
    growth, noise = 0.0, 0.0
    for parity in (-1, 1):
        y = a * (np.polynomial.hermite_e.hermeval(x, first) + parity)[:, None]
        ahead = x + rho * y * (1 - np.tanh(x + bias) ** 2)
        push = y * (1 - np.tanh(ahead + bias) ** 2)
        growth += np.sum(law * (x[:, None] ** 2 - 1) * push * x) / 2
        noise += np.sum(law * push**2) / 2
    claimed = claim(name)
    assert claimed["k"] == pytest.approx(growth, abs=1e-3)
    assert claimed.get("V", noise) == pytest.approx(noise, abs=5e-3)


def test_growth_rates():
    halved = phi(0) * 4 * phi(1) / 2  # c_2 of relu and E|z**2 - 1|; logistic slope 1/2 at zero
    assert claim("binary-labels-gain-nothing")["k"] == pytest.approx(halved, abs=1e-5)


def escape_time(velocity, d):
    """Time over d in which an overlap grows from d**(-1/2) to one half."""
    return quad(lambda m: 1 / velocity(m), d**-0.5, 0.5)[0]


def test_escape_times():
    linear, quadratic = claim("linear-escape"), claim("quadratic-escape")
    for d in (1000, 1_000_000):
        time = escape_time(lambda m: 1 - m**2 - m / 2, d)
        assert linear[f"d_{d}"] == pytest.approx(time, abs=6e-4)
    for d in (1000, 10_000):
        # E[(z**2 - 1)**2 u**2] = 2 + 8 m**2 is the mean square of a push.
        time = escape_time(lambda m: 0.2 * m * (1 - m**2) - 0.005 * m * (2 + 8 * m**2), d)
        assert quadratic[f"d_{d}"] == pytest.approx(time, abs=0.01)


def test_errors_of_gaussian_covariates():
    levels, shares = np.array([4.0, 1.0, 0.25, 0.0625]), np.array([0.008, 0.002, 0.001, 0.0002])
    outside = 1.0 - 50 * np.sum(shares / levels)
    for n in (100, 400):
        kappa = brentq(lambda k, n=n: k * (n - 50 * np.sum(levels / (levels + k))) - 0.5, 1e-9, 9)
        second = 50 * np.sum((levels / (levels + kappa)) ** 2)
        bias = outside + 50 * np.sum(shares / levels * (kappa / (levels + kappa)) ** 2)
        error = (bias + 0.1) / (1 - second / n) - 0.1
        assert claim("gaussian-covariates")[f"mse_{n}"] == pytest.approx(error, rel=1e-5)


def test_the_wait_at_a_saddle():
    slope = 1 / (2 * phi(0))  # c_2 of relu is the density at zero; z1*z2 has the norm one
    assert claim("mean-field-saddle")["slope"] == pytest.approx(slope, abs=1e-4)


def test_coefficients_given_the_spike():
    claimed = claim("conditional-gaussian-equivalence")
    first, slope = erf(1 / math.sqrt(2)), 2 * phi(1)
    assert claimed["mu_0"] == pytest.approx(first, abs=1e-9)
    assert claimed["mu_1"] == pytest.approx(slope, abs=1e-9)
    rest = math.sqrt(1 - first**2 - slope**2)
    assert claimed["mu_star"] == pytest.approx(rest, abs=1e-7)


def test_the_bound_on_correlation_queries():
    d, order, queries = 10_000, 4, 1e8
    claimed = claim("correlation-queries")["tolerance2"]
    found = minimize_scalar(
        lambda e: e**order + 2 * queries * math.exp(-(e**2) * d / 4), bounds=(1e-3, 1)
    )
    assert claimed == pytest.approx(found.fun, rel=0.05)


def test_weights_of_the_learned_terms():
    # Squared norms of the five terms: 1, 2, 2, 48 and 4.
    one, quadratic, mixed, high, pair = 1, 2, 2, math.factorial(4) * 2, 4
    linear, square = claim("learned-terms"), claim("learned-terms-quadratic")
    total = one + quadratic + mixed + high + pair
    assert [linear[f"T{t}_d1"] for t in (0, 1, 2, 3)] == [total - 1, total - 3, pair, 0]
    assert [square[f"T{t}_d2"] for t in (0, 1, 2, 3)] == [total - 3, total - 5, 0, 0]


def test_the_hidden_feature():
    s = math.sqrt(2 / 3)  # He2/2 + He3/6 has the shares 3/4 and 1/4 of its variance
    first = mean(lambda u: math.tanh(3 * s * u) * u)
    null = mean(lambda u: math.tanh(3 * s * u) ** 2)
    energies = claim("energies")
    assert energies["degree_2"] == pytest.approx(0.75 * first**2, abs=1e-6)
    assert energies["degree_3"] == pytest.approx(0.25 * first**2, abs=1e-6)
    left = claim("plateaus")
    assert left["lazy"] == pytest.approx(null, abs=6e-5)
    assert left["two_layer"] == pytest.approx(null - first**2, abs=6e-5)
    threshold = null / (2 * 0.75 * first**2)
    assert claim("first-layer-threshold")["n_c"] == pytest.approx(threshold, abs=1e-5)


def test_biases_of_a_relu():
    coefficients = (
        lambda b: b * ndtr(b) + phi(b),
        ndtr,
        phi,
        lambda b: -b * phi(b),
        lambda b: (b**2 - 1) * phi(b),
    )
    claimed = claim("random-biases")
    for j, c in enumerate(coefficients):
        value = quad(lambda b, c=c: c(b) ** 2 / 2, -1, 1)[0]
        assert claimed[f"c{j}"] == pytest.approx(value, abs=1e-6)
    assert claim("spikes-and-bulk")["first"] == pytest.approx(claimed["c1"] / 8, abs=1e-6)
    assert ATLAS["gram-levels"].claimed["second"] == pytest.approx(claimed["c2"] / 64, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "strengths", "within"),
    [("risk-bounds", (0.9,), 5e-5), ("bounds-of-a-richer-basis", (0.306, 1.233), 1e-8)],
)
def test_bounds_on_the_risk(name, strengths, within):
    x, weights = NODES
    root = np.sqrt(weights / weights.sum())
    means, slopes = [], []
    for strength in strengths:
        inner = strength * x[:, None] + x
        means.append(np.tanh(inner) @ root**2)
        slopes.append(x * (np.cosh(inner) ** -2 @ root**2))
    claimed, label = claim(name), np.sin(x) * root
    for bound, columns in (("upper", means), ("lower", means + slopes)):
        basis = np.stack(columns, axis=1) * root[:, None]
        left = label - basis @ np.linalg.lstsq(basis, label, rcond=None)[0]
        assert claimed[bound] == pytest.approx(float(left @ left), abs=within)


def test_the_best_neuron():
    x, weights = NODES
    law = weights / weights.sum()
    found = minimize_scalar(
        lambda k: law @ (np.tanh(x) - np.tanh(k * x[:, None] + x) @ law) ** 2,
        bounds=(0.5, 4),
        method="bounded",
        options={"xatol": 1e-8},
    )
    assert claim("best-neuron")["error"] == pytest.approx(found.fun, abs=2e-8)

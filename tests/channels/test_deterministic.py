"""Posterior channels of noiseless outputs with a density, or with a density and atoms."""

import math

import numpy as np
import pytest
from scipy.special import k0, k1
from scipy.stats import multivariate_normal, ncx2, norm, truncnorm

from gradone import BadData, OutOfRegime, Target
from gradone.base.seeds import stream
from gradone.channels import posterior_channel
from gradone.channels.deterministic import DeterministicPosterior
from gradone.channels.plane_kernels import piece_moments
from gradone.channels.root_kernels import real_roots


def channel(text, resolution=0):
    return DeterministicPosterior(Target(text), resolution)


def draws(text, n, V, spread=0.8):
    """Labels that come out at random prior means."""
    target = Target(text)
    rng = stream(0, "test", text=text, n=n)
    omega = spread * rng.standard_normal((n, target.r))
    z = omega + rng.standard_normal((n, target.r)) @ np.linalg.cholesky(V).T
    return np.asarray(target(z)), omega


def numerical_gradient(log_z, omega, step=1e-4):
    """Central differences of a function (n, r) -> (n,)."""
    columns = []
    for i in range(omega.shape[1]):
        move = step * np.eye(omega.shape[1])[i]
        columns.append((log_z(omega + move) - log_z(omega - move)) / (2 * step))
    return np.stack(columns, axis=1)


# ---- closed forms


@pytest.mark.parametrize("text", ["z**2", "exp(-z**2)", "abs(z)", "z**4", "sqrt(z**2 + 1)"])
def test_phase_retrieval_in_closed_form(text):
    """Every monotone function of |z| leaves the sign open and nothing else."""
    V = 0.3
    rng = stream(0, "test", what="phase")
    omega = rng.standard_normal((50, 1))
    z = omega + math.sqrt(V) * rng.standard_normal((50, 1))
    found = channel(text).posterior(np.asarray(Target(text)(z)), omega, np.array([[V]]))
    size, w = np.abs(z[:, 0]), omega[:, 0]
    np.testing.assert_allclose(found.g[:, 0], (size * np.tanh(size * w / V) - w) / V, atol=1e-7)
    slope = (size**2 / np.cosh(size * w / V) ** 2 / V - 1) / V
    np.testing.assert_allclose(found.dg[:, 0, 0], slope, atol=1e-6)
    if text == "z**2":
        density = (norm.pdf(size, w, V**0.5) + norm.pdf(-size, w, V**0.5)) / (2 * size)
        np.testing.assert_allclose(found.log_z, np.log(density), atol=1e-12)


def test_maximum_in_closed_form():
    V = np.array([[0.5, 0.2], [0.2, 0.8]])
    y, omega = draws("max(z1, z2)", 40, V)

    def log_z(w):
        total = 0.0
        for i, j in ((0, 1), (1, 0)):  # z_i = y is the larger one
            mean = w[:, j] + V[i, j] / V[i, i] * (y - w[:, i])
            left = math.sqrt(V[j, j] - V[i, j] ** 2 / V[i, i])
            total += norm.pdf(y, w[:, i], math.sqrt(V[i, i])) * norm.cdf((y - mean) / left)
        return np.log(total)

    found = channel("max(z1, z2)").posterior(y, omega, V)
    np.testing.assert_allclose(found.log_z, log_z(omega), atol=1e-12)
    np.testing.assert_allclose(found.g, numerical_gradient(log_z, omega), atol=1e-6)


@pytest.mark.parametrize("V", [(0.5, 0.6, 0.7), (1e-6, 0.4, 0.4), (0.3, 0.4, 1e-6)])
def test_square_with_parity_in_closed_form(V):
    """Note on weak learnability, section 3; would catch a parity that forgets the sign of z1."""
    text = "z1**2 + sign(z1*z2*z3)"
    y, omega = draws(text, 40, np.diag(V))

    def log_z(w):
        e2, e3 = (np.array([math.erf(x / math.sqrt(2 * V[i])) for x in w[:, i]]) for i in (1, 2))
        total = np.full(len(w), -np.inf)
        for s in (-1, 1):
            root = np.sqrt(np.maximum(y - s, 1e-300))
            for side in (-1, 1):
                with np.errstate(divide="ignore"):
                    term = (
                        norm.logpdf(side * root, w[:, 0], math.sqrt(V[0]))
                        - np.log(2 * root)
                        + np.log((1 + s * side * e2 * e3) / 2)
                    )
                total = np.logaddexp(total, np.where(y > s, term, -np.inf))
        return total

    found = channel(text).posterior(y, omega, np.diag(V))
    np.testing.assert_allclose(found.log_z, log_z(omega), atol=1e-5)
    step = 1e-3 * math.sqrt(min(V))
    np.testing.assert_allclose(
        found.g @ np.diag(np.sqrt(V)),
        numerical_gradient(log_z, omega, step) @ np.diag(np.sqrt(V)),
        atol=2e-4,
    )


def test_label_that_says_on_which_side_of_a_circle():
    """A condition of degree two: its probability is that of a noncentral chi-square."""
    V = np.diag([0.4, 0.3, 0.3])
    text = "z1**3 + 2*sign(z2**2 + z3**2 - 1)"
    y, omega = draws(text, 40, V)

    def log_z(w):
        inside = ncx2.cdf(1 / 0.3, 2, (w[:, 1] ** 2 + w[:, 2] ** 2) / 0.3)
        total = 0.0
        for value, chance in ((2, 1 - inside), (-2, inside)):
            root = np.cbrt(y - value)
            total += norm.pdf(root, w[:, 0], math.sqrt(0.4)) / (3 * root**2) * chance
        return np.log(total)

    found = channel(text).posterior(y, omega, V)
    np.testing.assert_allclose(found.log_z, log_z(omega), atol=3e-3)
    np.testing.assert_allclose(found.g, numerical_gradient(log_z, omega), atol=3e-3)
    finer = channel(text, 1).posterior(y, omega, V)
    np.testing.assert_allclose(finer.log_z, log_z(omega), atol=1e-3)


@pytest.mark.parametrize("text", ["z1*z2", "tanh(z1*z2)", "sigmoid(z1*z2)"])
def test_product_of_two_at_the_start_of_learning(text):
    """Density K0/pi and G = a I + y sigma_x with Bessel functions; relabelings change nothing."""
    product = np.array([-4.0, -1.0, -0.1, 1e-3, 0.03, 0.5, 2.0])
    y = {
        "z1*z2": product,
        "tanh(z1*z2)": np.tanh(product),
        "sigmoid(z1*z2)": 1 / (1 + np.exp(-product)),
    }[text]
    size = np.abs(product)
    a = size * k1(size) / k0(size) - 1
    exact = a[:, None, None] * np.eye(2) + product[:, None, None] * np.array([[0, 1], [1, 0]])
    found = channel(text, 1).posterior(y, np.zeros((7, 2)), np.eye(2))
    np.testing.assert_allclose(found.g, 0, atol=1e-12)
    np.testing.assert_allclose(found.dg, exact, atol=1e-4 * np.abs(exact).max())
    if text == "z1*z2":
        np.testing.assert_allclose(np.exp(found.log_z), k0(size) / math.pi, rtol=3e-4)


@pytest.mark.parametrize(
    ("text", "threshold", "tolerance"),
    [
        ("z**2", 0.5, 1e-5),
        ("He4(z)", 0.644850, 1e-5),
        ("z1*z2", 0.593751, 1e-4),
        ("z1**2 + sign(z1*z2*z3)", 0.575166, 1e-5),
        ("z1*z2*z3", 2.565180, 1e-5),
    ],
)
def test_weak_recovery_thresholds(text, threshold, tolerance):
    """1/alpha_c = the largest eigenvalue of M -> E[G M G] at omega = 0, V = I."""
    found = channel(text)
    r = found.r
    out = found.outcomes(np.zeros((1, r)), np.eye(r))
    at = found.posterior(out.y[0], np.zeros((out.y.shape[1], r)), np.eye(r))
    chance = out.weight[0] * np.exp(out.log_z[0])
    G = at.dg + at.g[:, :, None] * at.g[:, None, :]
    F = np.einsum("k,kab,kcd->acbd", chance, G, G).reshape(r * r, r * r)
    largest = np.linalg.eigvalsh((F + F.T) / 2)[-1]
    assert 1 / largest == pytest.approx(threshold, rel=tolerance)


# ---- numerical references


def product_reference(y, omega, V, power=1, nodes=100_001):
    """Moments of z given z1^power z2 = y by a fine grid in log |z1|: shares nothing with ours."""
    s = np.linspace(-30, 3, nodes)
    z1 = np.concatenate([np.exp(s), -np.exp(s)])
    z = np.stack([z1, y / z1**power])
    x = z - omega[:, None]
    inverse = np.linalg.inv(V)
    log_weight = -0.5 * np.einsum("ai,ab,bi->i", x, inverse, x)
    log_weight -= (power - 1) * np.log(np.abs(z1))  # dz1/|z1| = ds
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    mass = weight.sum()
    mean = x @ weight / mass
    second = (x * weight) @ x.T / mass
    scale = (s[1] - s[0]) / (2 * math.pi * math.sqrt(np.linalg.det(V)))
    dg = inverse @ (second - np.outer(mean, mean)) @ inverse - inverse
    return top + math.log(mass * scale), inverse @ mean, dg


@pytest.mark.parametrize(
    "V",
    [
        np.eye(2),
        0.1 * np.eye(2),
        np.diag([1e-6, 0.4]),
        np.array([[0.5, 0.2], [0.2, 0.7]]),
        np.array([[0.5, 0.49], [0.49, 0.5]]),
    ],
    ids=["identity", "small", "anisotropic", "correlated", "almost singular"],
)
def test_product_of_two_against_a_fine_grid(V):
    y, omega = draws("z1*z2", 12, V)
    found = channel("z1*z2").posterior(y, omega, V)
    exact = [product_reference(*item, V) for item in zip(y, omega, strict=True)]
    L = np.linalg.cholesky(V)  # in units of the prior
    g = np.array([e[1] for e in exact]) @ L
    dg = L.T @ np.array([e[2] for e in exact]) @ L
    assert np.abs(found.log_z - [e[0] for e in exact]).max() < 2e-2
    assert np.sqrt(np.mean((found.g @ L - g) ** 2) / np.mean(g**2)) < 2e-3
    assert np.sqrt(np.mean((L.T @ found.dg @ L - dg) ** 2) / np.mean(dg**2)) < 4e-3


@pytest.mark.parametrize(("text", "power", "last"), [("z1*z2", 1, 1), ("z1**2*z2", 2, 2)])
def test_each_resolution_is_much_better_than_the_one_before(text, power, last):
    """Contours have nothing to gain after the first halving."""
    V = np.array([[0.5, 0.1], [0.1, 0.7]])
    y, omega = draws(text, 12, V)
    exact = np.array([product_reference(*item, V, power)[0] for item in zip(y, omega, strict=True)])
    errors = [
        np.abs(channel(text, i).posterior(y, omega, V).log_z - exact).max() for i in range(last + 1)
    ]
    for i in range(last):
        assert errors[i + 1] < 0.3 * errors[i]
    assert errors[-1] < (1e-8 if power == 1 else 1e-3)


@pytest.mark.parametrize("text", ["z1*z2", "z1**2 + z2**2", "sin(z1) + z2**2", "z1*z2 + z3**2"])
def test_a_narrow_prior_sees_a_plane(text):
    """g = (y - f) grad f / (grad f' V grad f) as V -> 0, dg the same without (y - f), minus."""
    target = Target(text)
    V = 1e-8 * np.eye(target.r)
    y, omega = draws(text, 20, V)
    gradient = np.stack([target.expression.derivative(i + 1)(omega) for i in range(target.r)], 1)
    size = 1e-8 * (gradient**2).sum(axis=1)
    found = channel(text).posterior(y, omega, V)
    plane = ((y - target(omega)) / size)[:, None] * gradient
    np.testing.assert_allclose(found.g, plane, atol=1e-2 * np.abs(plane).max())
    flat = -np.einsum("ni,nj->nij", gradient, gradient) / size[:, None, None]
    np.testing.assert_allclose(found.dg, flat, atol=1e-2 * np.abs(flat).max())


def test_atom_of_two_rectifiers():
    """The label 0 says that both variables are negative."""
    V = np.array([[0.6, 0.3], [0.3, 0.5]])
    omega = np.array([[0.2, -0.4], [1.0, 0.5], [-2.0, 0.1], [2.5, -1.0]])
    found = channel("relu(z1) + relu(z2)").posterior(np.zeros(4), omega, V)

    def log_z(w):
        return np.log([multivariate_normal(m, V, abseps=1e-12).cdf([0.0, 0.0]) for m in w])

    np.testing.assert_allclose(found.log_z, log_z(omega), atol=1e-5)
    np.testing.assert_allclose(found.g, numerical_gradient(log_z, omega, 1e-3), atol=1e-3)
    out = channel("relu(z1) + relu(z2)").outcomes(omega, V)
    atom = out.y[0] == 0.0
    assert atom.sum() == 1
    np.testing.assert_array_equal(out.weight[:, atom], 1.0)


MONTE_CARLO = [
    "He3(z1)",
    "relu(z1) + relu(z2)",
    "abs(z1)*z2",
    "sin(z1) + z2**2",
    "max(z1**2, z2)",
    "z1*z2 + sign(z3)",
    "z1*z2 + z3**2",
    "relu(z1) + relu(z2) + relu(z3)",
]


@pytest.mark.stat
@pytest.mark.parametrize("text", MONTE_CARLO)
def test_posterior_agrees_with_draws_in_a_window(text):
    """Draws of z whose label falls within h of y; the window biases by h^2/6 of second derivatives.

    Would catch: a lost branch (Z off by its share), a missing 1/|f'|, a region with a wrong sign.
    """
    target = Target(text)
    r = target.r
    V = np.array([[0.5, 0.2, -0.1], [0.2, 0.7, 0.15], [-0.1, 0.15, 0.4]])[:r, :r]
    rng = stream(0, "test", what="window", text=text)
    omega = 0.5 * rng.standard_normal(r)
    z = omega + rng.standard_normal((2_000_000, r)) @ np.linalg.cholesky(V).T
    labels = np.asarray(target(z))
    h = 0.02
    for y in np.quantile(labels[labels != 0.0], [0.3, 0.8]):
        inside = z[np.abs(labels - y) < h] - omega
        got = posterior_channel(target).posterior(np.array([y]), omega[None], V)
        count = len(inside)
        share = count / (2 * h * len(z))
        noise = 5.5 / math.sqrt(count)
        assert abs(math.exp(got.log_z[0]) / share - 1) < noise + 10 * h**2
        mean, spread = inside.mean(axis=0), inside.std(axis=0)
        assert np.all(np.abs(V @ got.g[0] - mean) < (noise + 10 * h**2) * spread + 1e-3)
        covariance = V @ (got.dg[0] + np.linalg.inv(V)) @ V
        scale = np.sqrt(np.outer(np.diag(V), np.diag(V)))
        products = (inside[:, :, None] * inside[:, None, :]).std(axis=0)
        assert np.all(
            np.abs(covariance - np.cov(inside.T).reshape(r, r))
            < 2 * noise * products + (1e-3 + 10 * h**2) * scale
        )


def test_moments_of_the_label():
    """E y = omega1 omega2 + V12 for a product, and the second moment by Wick's theorem."""
    V = np.array([[0.5, 0.2], [0.2, 0.7]])
    omega = np.array([[0.0, 0.0], [1.0, -0.5], [0.3, 2.0]])
    found = channel("z1*z2")
    a, b = omega.T
    np.testing.assert_allclose(found.mean(omega, V), a * b + V[0, 1], atol=1e-3)
    out = found.outcomes(omega, V)
    second = (out.weight * np.exp(out.log_z) * out.y**2).sum(axis=1)
    exact = (a**2 + V[0, 0]) * (b**2 + V[1, 1]) + 4 * a * b * V[0, 1] + 2 * V[0, 1] ** 2
    np.testing.assert_allclose(second, exact, rtol=2e-3)


@pytest.mark.parametrize("V", [(0.5, 0.6, 0.7), (1e-6, 0.4, 0.4), (0.3, 0.4, 1e-6)])
def test_mean_of_a_square_with_parity_in_closed_form(V):
    omega = stream(0, "test", what="mean").standard_normal((50, 3))
    exact = omega[:, 0] ** 2 + V[0]
    parity = np.ones(50)
    for i in range(3):
        parity *= [math.erf(x / math.sqrt(2 * V[i])) for x in omega[:, i]]
    found = channel("z1**2 + sign(z1*z2*z3)").mean(omega, np.diag(V))
    np.testing.assert_allclose(found, exact + parity, atol=1e-4)


@pytest.mark.parametrize(
    "text", ["He3(z1)", "tanh(z1*z2)", "relu(z1) + relu(z2)", "max(z1**2, z2)", "abs(z1)*z2"]
)
def test_mean_is_that_of_the_outcomes(text):
    """Two rules: over z directly, and over the law of the label."""
    found = channel(text)
    V = np.array([[0.5, 0.2], [0.2, 0.7]])[: found.r, : found.r]
    omega = stream(0, "test", what="means").standard_normal((8, found.r))
    out = found.outcomes(omega, V)
    chance = out.weight * np.exp(out.log_z)
    mean = (chance * out.y).sum(axis=1)
    deviation = np.sqrt((chance * out.y**2).sum(axis=1) - mean**2)
    assert np.all(np.abs(found.mean(omega, V) - mean) < 2e-3 * deviation)


# ---- labels


def test_impossible_labels_say_nothing():
    found = channel("z**2 + 1").posterior(np.array([0.5, 2.0]), np.zeros((2, 1)), np.eye(1))
    assert found.log_z[0] == -math.inf
    assert not found.g[0].any()
    assert not found.dg[0].any()
    assert math.isfinite(found.log_z[1])


def test_labels_outside_the_range_are_refused():
    with pytest.raises(BadData, match=r"label -1 in row 1 .* between 0 and inf .* noise > 0"):
        channel("z**2").check_labels(np.array([1.0, -1.0]))
    with pytest.raises(BadData, match="between -6 and inf"):
        channel("He4(z)").check_labels(np.array([-6.1]))
    with pytest.raises(BadData, match="row 0"):
        channel("z1*z2").check_labels(np.array([math.nan]))
    with pytest.raises(BadData, match="between 0 and 0.367879"):
        channel("z**2*exp(-z**2)").check_labels(np.array([0.4]))


@pytest.mark.parametrize("text", ["z**2", "He4(z)", "tanh(z1*z2)", "relu(z1) + relu(z2)"])
def test_labels_in_single_precision_are_accepted(text):
    target = Target(text)
    z = stream(0, "test", what="single").standard_normal((4000, target.r))
    z[0] = 1.7320508 if text == "He4(z)" else 0.0  # the lowest value
    found = channel(text)
    found.check_labels(np.asarray(target(z.astype(np.float32))))
    found.check_labels(np.asarray(target(z)))


def test_what_cannot_be_done_is_said():
    with pytest.raises(OutOfRegime, match="noise > 0"):
        channel("z1**2 + sign(sin(z1 + z2) + exp(z1*z2))")
    with pytest.raises(OutOfRegime, match="4 directions at once"):
        channel("z1*z2*z3*z4")


# ---- parts


@pytest.mark.parametrize(
    ("a", "b"), [(-1.0, 2.0), (3.0, 4.0), (-math.inf, -20.0), (30.0, math.inf), (0.1, 0.10001)]
)
def test_moments_of_an_interval(a, b):
    scale, mass, first, second = piece_moments(a, b)
    mean, log_mass = first / mass, scale + math.log(mass)
    variance = second / mass - mean**2
    law = truncnorm(a, b)
    assert mean == pytest.approx(law.mean(), rel=1e-9)
    narrow = b - a < 1e-3  # truncnorm has lost its digits there, the interval is uniform
    assert variance == pytest.approx((b - a) ** 2 / 12 if narrow else law.var(), rel=1e-4)
    reference = norm.logsf(a) if b == math.inf else None
    if reference is not None:
        assert log_mass == pytest.approx(reference, rel=1e-12)


def test_roots_of_polynomials():
    rng = stream(0, "test", what="roots")
    out = np.empty(8)
    for degree in range(1, 7):
        for _ in range(50):
            roots = np.sort(rng.uniform(-4, 4, degree))
            c = np.polynomial.polynomial.polyfromroots(roots)
            n = real_roots(c, degree, -5.0, 5.0, out)
            assert n == degree
            np.testing.assert_allclose(out[:n], roots, atol=1e-5)

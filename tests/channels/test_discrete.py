"""Posterior of discrete labels against closed forms, Gaussian orthants and plain Monte Carlo."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf, log_ndtr, ndtr
from scipy.stats import multivariate_normal

from gradone import BadData, Target
from gradone.base.seeds import stream
from gradone.channels.samples.channel import SampleChannel

CORRELATED = {
    2: np.array([[0.5, 0.2], [0.2, 0.7]]),
    3: np.array([[0.5, 0.2, -0.1], [0.2, 0.7, 0.15], [-0.1, 0.15, 0.4]]),
}


def channel_of(text: str, resolution: int = 0):
    return SampleChannel(Target(text), resolution=resolution)


def labeled(text: str, V: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Prior means, and labels drawn from the channel."""
    rng = stream(0, "test", text=text)
    omega = rng.standard_normal((n, len(V)))
    z = omega + rng.standard_normal((n, len(V))) @ np.linalg.cholesky(V).T
    return omega, np.asarray(Target(text)(z))


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Rms of the difference over the rms of `b`."""
    return float(np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)))


# ---- closed forms


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_parity_with_a_diagonal_covariance(r: int) -> None:
    """P(y) = (1 + y prod e_i)/2, e_i = erf(omega_i / sqrt(2 V_i))."""
    text = "sign(" + "*".join(f"z{i + 1}" for i in range(r)) + ")"
    v = np.array([0.3, 1.0, 0.05, 0.6])[:r]
    omega, y = labeled(text, np.diag(v), 200)
    e = erf(omega / np.sqrt(2 * v))
    slope = 2 * np.exp(-(omega**2) / (2 * v)) / np.sqrt(2 * np.pi * v)
    others = np.stack([np.prod(np.delete(e, i, axis=1), axis=1) for i in range(r)], axis=1)
    Z = (1 + y * np.prod(e, axis=1)) / 2
    out = channel_of(text).posterior(y, omega, np.diag(v))
    assert np.exp(out.log_z) == pytest.approx(Z, rel=1e-9)
    np.testing.assert_allclose(out.g, y[:, None] * slope * others / (2 * Z[:, None]), atol=1e-10)
    # d^2 Z / d omega_1^2 = -omega_1/V_1 dZ/d omega_1
    second = -omega[:, 0] / v[0] * out.g[:, 0] - out.g[:, 0] ** 2
    np.testing.assert_allclose(out.dg[:, 0, 0], second, atol=1e-8)


@pytest.mark.parametrize("V", [CORRELATED[2], np.array([[1.0, -0.95], [-0.95, 1.0]])])
def test_sign_of_a_product_against_the_bivariate_normal(V: np.ndarray) -> None:
    """Plackett: dZ/d omega_1 is the density at z1 = 0 times the conditional mean of sign(z2).

    Would catch: a cell with the wrong label, V in place of its inverse, lost correlations.
    """
    omega, y = labeled("sign(z1*z2)", V, 400)
    same = np.array([same_sign(o, V) for o in omega])
    Z = np.where(y > 0, same, 1 - same)
    gradient = np.empty_like(omega)
    for i, j in ((0, 1), (1, 0)):
        mean = omega[:, j] - V[0, 1] / V[i, i] * omega[:, i]
        spread = math.sqrt(V[j, j] - V[0, 1] ** 2 / V[i, i])
        density = np.exp(-(omega[:, i] ** 2) / (2 * V[i, i])) / math.sqrt(2 * math.pi * V[i, i])
        gradient[:, i] = y * density * (2 * ndtr(mean / spread) - 1)
    g = gradient / Z[:, None]
    out = channel_of("sign(z1*z2)").posterior(y, omega, V)
    assert np.abs(np.exp(out.log_z) - Z).max() < 1e-12
    assert relative(out.g, g) < 1e-12


def same_sign(mean: np.ndarray, V: np.ndarray) -> float:
    """P(z1 z2 > 0) for two Gaussian variables."""
    law = multivariate_normal(np.zeros(2), V)
    return float(law.cdf(mean) + law.cdf(-mean))


def test_sign_of_three_against_trivariate_orthants() -> None:
    """Z integrates the bivariate orthants over z1; its gradient needs them at z1 = 0 only."""
    V, n = CORRELATED[3], 10
    omega, y = labeled("sign(z1*z2*z3)", V, n)
    t, w = np.polynomial.legendre.leggauss(24)
    Z, g = np.zeros(n), np.empty((n, 3))
    for s in range(n):

        def given(i: int, value: float, s: int = s) -> float:
            """Mean of the sign of the other two where z_i has this value."""
            rest = [j for j in range(3) if j != i]
            mean = omega[s, rest] + V[rest, i] / V[i, i] * (value - omega[s, i])
            spread = V[np.ix_(rest, rest)] - np.outer(V[rest, i], V[rest, i]) / V[i, i]
            return 2 * same_sign(mean, spread) - 1

        def density(i: int, value: float, s: int = s) -> float:
            return math.exp(-((value - omega[s, i]) ** 2) / (2 * V[i, i])) / math.sqrt(
                2 * math.pi * V[i, i]
            )

        for low, high in itertools.pairwise((omega[s, 0] - 6, min(0.0, omega[s, 0] + 5), 0, 6)):
            for x, weight in zip(
                (t + 1) / 2 * (high - low) + low, w * (high - low) / 2, strict=True
            ):
                chance = (1 + y[s] * math.copysign(1, x) * given(0, x)) / 2
                Z[s] += weight * density(0, x) * chance
        g[s] = [y[s] * density(i, 0.0) * given(i, 0.0) / Z[s] for i in range(3)]
    out = channel_of("sign(z1*z2*z3)").posterior(y, omega, V)
    np.testing.assert_allclose(np.exp(out.log_z), Z, atol=1e-6)
    assert relative(out.g, g) < 1e-6


def test_one_linear_form_is_one_variable() -> None:
    V = CORRELATED[2]
    omega, y = labeled("sign(z1 + 2*z2)", V, 100)
    w = np.array([1.0, 2.0])
    spread = math.sqrt(w @ V @ w)
    margin = y * (omega @ w) / spread
    hazard = np.exp(-(margin**2) / 2 - log_ndtr(margin)) / math.sqrt(2 * math.pi)
    out = channel_of("sign(z1 + 2*z2)").posterior(y, omega, V)
    np.testing.assert_allclose(out.log_z, log_ndtr(margin), rtol=1e-10)
    np.testing.assert_allclose(out.g, (y * hazard / spread)[:, None] * w, atol=1e-11)
    curvature = -hazard * (hazard + margin) / spread**2
    np.testing.assert_allclose(out.dg, curvature[:, None, None] * np.outer(w, w), atol=1e-9)


def test_the_mean_label_is_the_best_prediction() -> None:
    omega = np.array([[0.3, -1.2], [2.0, 0.1]])
    e = erf(omega / math.sqrt(2 * 0.4))
    mean = channel_of("sign(z1*z2)").mean(omega, 0.4 * np.eye(2))
    np.testing.assert_allclose(mean, e[:, 0] * e[:, 1], atol=1e-12)


# ---- Monte Carlo


@pytest.mark.stat
@pytest.mark.parametrize(
    "text",
    [
        "sign(z1 + z2**2 - 1)",
        "sign(z1**2 + z2**2 - 1)",
        "sign(sin(3*z1) + z2)",
        "sign(z1) + sign(z2)",
        "sign(z1)*sign(z2**2 - 1)",
        "sign(z1*z2*(z1 + z2))",
        "step(z1)*sign(z2) + step(z3)",
        "sign(z1**2 + z2*z3 - 0.5)",
        "sign(z1) + sign(z2) + sign(z3)",
        "sign(max(z1, z2) - abs(z3))",
    ],
)
def test_posterior_against_plain_monte_carlo(text: str) -> None:
    """Z, posterior mean and covariance by counting 400 000 points with each label.

    Fewer than 300 comparisons in all, each at 6.6 standard errors (4e-11, 1e-8 together); the
    channel's own error is an allowance of 1e-3. Would catch a wrong label of any cell with
    more than 1 % of the mass.
    """
    target = Target(text)
    V = CORRELATED[target.r]
    rng = stream(0, "test", text=text)
    channel = SampleChannel(target)
    for omega in 0.8 * rng.standard_normal((2, target.r)):
        z = omega + rng.standard_normal((400_000, target.r)) @ np.linalg.cholesky(V).T
        labels = np.asarray(target(z))
        for y in np.unique(labels):
            inside = z[labels == y]
            count = len(inside)
            if count < 2000:
                continue
            out = channel.posterior(np.array([y]), omega[None, :], V)
            share = count / len(z)
            assert (
                abs(math.exp(out.log_z[0]) - share)
                < 6.6 * math.sqrt(share * (1 - share) / len(z)) + 1e-3 * share
            )
            mean = omega + V @ out.g[0]
            error = inside.std(axis=0) / math.sqrt(count)
            assert np.all(np.abs(mean - inside.mean(axis=0)) < 6.6 * error + 1e-3)
            covariance = V + V @ out.dg[0] @ V
            centered = inside - inside.mean(axis=0)
            products = centered[:, :, None] * centered[:, None, :]
            error = products.std(axis=0) / math.sqrt(count)
            assert np.all(np.abs(covariance - products.mean(axis=0)) < 6.6 * error + 1e-3)


# ---- tails


@pytest.mark.parametrize("rho", [0.7, -0.95, 0.999])
@pytest.mark.parametrize("omega", [(2.0, 3.0), (4.0, 4.0), (8.0, 7.0), (12.0, 3.0)])
def test_unlikely_labels_have_the_right_log_evidence(
    rho: float, omega: tuple[float, float]
) -> None:
    """P(z1 z2 < 0) far inside the quadrant, by a one-dimensional integral of positive terms."""
    a, b = omega
    spread = math.sqrt(1 - rho**2)

    def integrand(x: float, sign: float) -> float:
        return math.exp(log_ndtr(sign * (b + rho * x) / spread) - x**2 / 2 + 28.0)

    edges = [-a - 8, *np.linspace(-a - 4, -a, 60), *np.linspace(-a, 16, 200)[1:]]
    total = sum(
        quad(integrand, low, high, args=(1.0 if high <= -a + 1e-12 else -1.0,))[0]
        for low, high in itertools.pairwise(edges)
    )
    exact = math.log(total / math.sqrt(2 * math.pi)) - 28.0
    V = np.array([[1.0, rho], [rho, 1.0]])
    out = channel_of("sign(z1*z2)").posterior(np.array([-1.0]), np.array([omega]), V)
    assert out.log_z[0] == pytest.approx(exact, abs=2e-4)


def test_far_out_a_little_correlation_changes_nothing() -> None:
    """A correlation of 1e-9 changes nothing, up to 40 standard deviations out."""
    near = np.array([[0.0, 0.5], [3.0, 3.5], [0.4, 8.0], [6.0, 10.0], [9.0, 9.5]])
    far = np.array([[18.0, 30.0], [36.0, 20.0]])
    almost = np.array([[1.0, 1e-9], [1e-9, 1.0]])
    channel = channel_of("sign(z1*z2)")
    for omega, tolerance in ((near, 2e-4), (far, 1e-9)):
        y = np.full(len(omega), -1.0)
        exact, other = channel.posterior(y, omega, np.eye(2)), channel.posterior(y, omega, almost)
        np.testing.assert_allclose(other.log_z, exact.log_z, atol=max(tolerance, 1e-6))
        np.testing.assert_allclose(other.g, exact.g, atol=10 * tolerance, rtol=1e-6)
        np.testing.assert_allclose(other.dg, exact.dg, atol=10 * tolerance, rtol=1e-6)


@pytest.mark.parametrize("text", ["sign(z1*z2)", "sign(z1 + z2**2 - 1)", "sign(z1**2 - z2)"])
@pytest.mark.parametrize("eigenvalues", [(1e-6, 1e-6), (1e-6, 1e-3), (1e-5, 1e-5)])
def test_narrow_priors(text: str, eigenvalues: tuple[float, float]) -> None:
    """The posterior is finite, and a covariance: V + V dg V is not negative."""
    rng = stream(0, "test", text=text)
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    V = turn @ np.diag(eigenvalues) @ turn.T
    omega = rng.standard_normal((200, 2))
    out = channel_of(text).posterior(np.asarray(Target(text)(omega)), omega, V)
    assert np.all(out.log_z > math.log(0.3))
    assert np.isfinite(out.g).all()
    covariance = V + V @ out.dg @ V
    assert np.linalg.eigvalsh(covariance).min() > -1e-3 * max(eigenvalues)


def test_a_direction_that_is_known_exactly() -> None:
    """V of rank 1: z = omega + t v, and the label changes at two points of this line."""
    v = np.array([0.6, -0.3])
    omega = np.array([[0.5, 0.2], [-0.1, 0.7], [1.0, -1.0]])
    out = channel_of("sign(z1*z2)").posterior(np.ones(3), omega, np.outer(v, v))
    at = np.sort(-omega / v, axis=1)
    # With slopes of different sign the product is positive between the two zeros.
    Z = ndtr(at[:, 1]) - ndtr(at[:, 0])
    np.testing.assert_allclose(np.exp(out.log_z), Z, atol=1e-4)
    assert np.isfinite(out.g).all()
    density = np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    # E[t | y] = v . g, whatever g is across the line.
    np.testing.assert_allclose(out.g @ v, (density[:, 0] - density[:, 1]) / Z, atol=1e-3)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [("sign(z1*z2)", 1e-10), ("sign(z1*z2*z3)", 1e-10), ("sign(z1 + z2**2 - 2)", 2e-9)],
)
def test_a_label_that_tells_nothing_changes_nothing(text: str, allowed: float) -> None:
    """8 standard deviations from every surface: a bias of the nodes would be magnified by 1/V.

    The lines between which curved regions are cut end 6 standard deviations out (2e-9).
    """
    r = Target(text).r
    V = 1e-3 * CORRELATED[r]
    omega = np.array([[0.5, -0.6, 0.7]])[:, :r]
    out = channel_of(text).posterior(np.asarray(Target(text)(omega)), omega, V)
    root = np.linalg.cholesky(V)
    assert abs(out.log_z[0]) < allowed
    assert np.abs(out.g @ root).max() < allowed
    assert np.abs(root.T @ out.dg @ root).max() < 30 * allowed


# ---- invariance


def test_order_of_the_variables_does_not_matter() -> None:
    V = CORRELATED[3]
    order = [2, 0, 1]
    omega, y = labeled("step(z1)*sign(z2) + step(z3)", V, 50)
    a = channel_of("step(z1)*sign(z2) + step(z3)", 1).posterior(y, omega, V)
    # z3 of the new text is z1 of the old one, and so on.
    b = channel_of("step(z2)*sign(z3) + step(z1)", 1).posterior(
        y, omega[:, order], V[np.ix_(order, order)]
    )
    np.testing.assert_allclose(b.log_z, a.log_z, atol=1e-6)
    np.testing.assert_allclose(b.g, a.g[:, order], atol=1e-5)


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("sign(z1*z2)", "sign((0.6*z1 + 0.8*z2)*(0.8*z1 - 0.6*z2))"),
        ("sign(z1 + z2**2 - 1)", "sign(0.6*z1 + 0.8*z2 + (0.8*z1 - 0.6*z2)**2 - 1)"),
        ("sign(z1) + sign(z2)", "sign(0.6*z1 + 0.8*z2) + sign(0.8*z1 - 0.6*z2)"),
    ],
)
def test_rotated_text_gives_the_rotated_posterior(text: str, turned: str) -> None:
    R = np.array([[0.6, 0.8], [0.8, -0.6]])
    V = CORRELATED[2]
    omega, y = labeled(text, V, 100)
    a = channel_of(text, 1).posterior(y, omega, V)
    b = channel_of(turned, 1).posterior(y, omega @ R, R.T @ V @ R)
    error = a.error + b.error + 1e-9
    assert np.all(np.abs(b.log_z - a.log_z) < 3 * error)
    S = np.linalg.cholesky(V)
    assert np.all(np.abs((b.g @ R.T - a.g) @ S).max(axis=1) < 3 * error)
    assert np.all(np.abs(S.T @ (R @ b.dg @ R.T - a.dg) @ S).max(axis=(1, 2)) < 3 * error)


# ---- bad input


def test_a_label_that_cannot_come_out_is_named() -> None:
    channel = channel_of("sign(z1*z2)")
    y = np.array([1.0, -1.0, 0.5])
    with pytest.raises(BadData, match=r"label 0\.5 in row 2 .* values -1, 1 "):
        channel.check_labels(y)


def test_labels_in_single_precision_are_labels() -> None:
    channel = channel_of("(sign(z1) + sign(z2))/3")
    values = Target("(sign(z1) + sign(z2))/3").channel.values
    y = np.asarray(values, dtype=np.float32)
    channel.check_labels(y)
    omega = np.full((len(y), 2), 0.3)
    single = channel.posterior(y, omega, np.eye(2))
    double = channel.posterior(values, omega, np.eye(2))
    np.testing.assert_array_equal(single.log_z, double.log_z)


def test_planes_that_meet_in_one_point() -> None:
    """Every triple of four planes meets at 0: splits of the nodes coincide up to rounding.

    Probabilities of 20 new channels at 10 prior means each, by 4000 draws. Would catch: a cell
    whose label was looked up at a point on one of its planes (0.4 in a probability).
    """
    text = "sign(z1) + sign(z2) + sign(z3) + sign(z1 + z2 + z3)"
    V = 0.5 * np.eye(3) - 0.05 * (np.ones((3, 3)) - np.eye(3))
    rng = stream(0, "test", text=text)
    channel = channel_of(text)
    draws = rng.standard_normal((4000, 3)) @ np.linalg.cholesky(V).T
    for _ in range(20):
        omega = rng.standard_normal((10, 3)) @ np.linalg.cholesky(np.eye(3) - V).T
        z = omega[:, None] + draws
        above = (z > 0).sum(axis=2) + (z.sum(axis=2) > 0)
        shares = np.stack([(above == i).mean(axis=1) for i in range(5)], axis=1)
        p = np.stack(
            [np.exp(channel.posterior(np.full(10, v), omega, V).log_z) for v in (-4, -2, 0, 2, 4)],
            axis=1,
        )
        # 1000 comparisons: seven standard errors are passed once in 10^8 tests.
        assert np.all(np.abs(p - shares) < 7 * np.sqrt((p * (1 - p) + 1e-3) / len(draws)))

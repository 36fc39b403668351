"""Thresholds of functions of the norm, of products and of quadratic forms."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.special import k0, k1, ndtr

sys.path.insert(0, str(Path(__file__).parent))
from integration import PI, Number, integral, output_matrix, phi, rule
from one_variable import window_strength

# ---- functions of the norm


def ball_indicator(r: int, square: float) -> Number:
    r"""Threshold of sign(|z|^2 - c): G = (E[|z|^2|atom]/r - 1) I on both atoms.

    With s = |z|^2 of the chi-squared law: E[s/r - 1; s < c] = -2 c f_r(c)/r. For r = 2, c = 1 this
    is 4 (e^{1/2} - 1) = 2.594885.
    """
    from scipy.stats import chi2

    p, c = float(chi2.cdf(square, r)), -2 * square * float(chi2.pdf(square, r)) / r
    return Number(p * (1 - p) / c**2)


def noisy_norm(r: int, noise: float) -> Number:
    """Threshold of |z|^2 + noise: G = (E[s|y]/r - 1) I with s of the chi-squared law."""
    s, w = rule(*np.linspace(0, 9, 73), n=24)  # s = x^2 takes the root at 0 away
    density = w * s ** (r - 1) * np.exp(-s * s / 2)
    density /= density.sum()
    sigma = math.sqrt(noise)

    def moments(y: float) -> np.ndarray:
        weight = density * phi((y - s * s) / sigma) / sigma
        return np.array([weight.sum(), weight @ (s * s / r - 1)])

    matrix, error = output_matrix(moments, -9 * sigma, 0.0, 2.0, 10.0, 30.0, 81 + 9 * sigma)
    return Number(matrix[1, 1], error).inverse()


# ---- products


def product_of_two(noise: float = 0.0) -> Number:
    r"""Threshold of z1 z2 + noise.

    G = a I + b sigma_x with a = E[z1^2 - 1|y] even in y and b = E[z1 z2|y] odd, so the top
    eigenvalue is E[a^2 + b^2], at M = I. Without noise a = |y| K_1/K_0 - 1, b = y, and the density
    is K_0(|y|)/pi; with noise y|z1 is normal of variance z1^2 + noise.
    """
    if not noise:

        def integrand(y: float) -> float:
            if y <= 0 or k0(y) == 0:
                return 0.0
            return 2 * (y * k1(y) / k0(y) - 1) ** 2 * k0(y) / PI

        found = integral(integrand, 0.0, 1e-4, 0.1, 1.0, 5.0, 60.0)
        return Number(1 + found.value, found.error).inverse()
    x, w = rule(*np.geomspace(1e-9, 9, 60), n=24)
    weight, variance = 2 * w * phi(x), x * x + noise

    def moments(y: float) -> np.ndarray:
        density = weight * phi(y / np.sqrt(variance)) / np.sqrt(variance)
        b = x * x * y / variance
        return np.array([density.sum(), density @ (x * x - 1), density @ b])

    matrix, error = output_matrix(moments, -60.0, -5.0, 0.0, 5.0, 60.0)
    return Number(matrix[1, 1] + matrix[2, 2], error).inverse()


def product_of_three() -> Number:
    r"""Threshold of z1 z2 z3: G = E[z1^2 - 1|y] I, nothing else survives the flips of two signs.

    Given z1 the product of the others has density K_0(|y/z1|)/(pi |z1|).
    """
    x, w = rule(*np.geomspace(1e-12, 9, 120), n=24)

    def moments(t: float) -> np.ndarray:
        y = math.exp(t)
        density = 2 * w * phi(x) * k0(y / x) / (PI * x) * 2 * y
        return np.array([density.sum(), density @ (x * x - 1)])

    matrix, error = output_matrix(moments, -40.0, -10.0, -3.0, 0.0, 2.0, 6.0)
    return Number(matrix[1, 1], error).inverse()


def half_product_mean() -> Number:
    r"""E[E[z1|y]^2] for z1 |z2|: E[|z1| | |z1 z2| = y] = sqrt(pi/2) e^{-y}/K_0(y)."""
    return integral(lambda y: math.exp(-2 * y) / k0(y) if y > 0 else 0.0, 0.0, 1e-3, 1.0, 40.0)


def relu_product() -> tuple[Number, Number]:
    r"""Trivial strength along (1, 1), and the next threshold, of relu(z1) relu(z2).

    For y > 0 the density is K_0(y)/(2 pi) and E[z_i|y] = sqrt(pi/2) e^{-y}/K_0(y); the atom at 0
    has mass 3/4 and E[z_i; y = 0] = -1/(2 sqrt(2 pi)). Given s = (z1 + z2)/sqrt 2 > 0, y > 0 tells
    t^2 and y = 0 says |t| > s; given s < 0 nothing.
    """
    part = half_product_mean()
    first = Number(2 * (part.value / 4 + 1 / (8 * PI) / 0.75), part.error)

    def integrand(s: float) -> float:
        inside = quad(lambda t: 2 * (t * t - 1) ** 2 * float(phi(t)), 0, s)[0]
        return (inside + (2 * s * float(phi(s))) ** 2 / (2 * float(ndtr(-s)))) * float(phi(s))

    return first, integral(integrand, 0.0, 2.0, 9.0).inverse()


# ---- quadratic forms


def quadratic_form(a: float, b: float) -> Number:
    r"""Largest E[G_ii^2] of a u^2 + b v^2, 0 < a < b, as a threshold.

    Polar coordinates: at angle w, y = rho s(w) with rho = |z|^2 of density e^{-rho/2}/2 and s = a
    cos^2 + b sin^2. G is diagonal, so the eigenvalues are E[G_11^2] and E[G_22^2] (the product
    E[G_11 G_22] is smaller than the larger one).
    """
    w = (np.arange(4096) + 0.5) * PI / 2 / 4096
    s = a * np.cos(w) ** 2 + b * np.sin(w) ** 2

    def moments(t: float) -> np.ndarray:
        y = math.exp(t)
        weight = np.exp(-y / (2 * s)) / (2 * s) * y
        return np.array(
            [
                weight.mean(),
                (weight * (y * np.cos(w) ** 2 / s - 1)).mean(),
                (weight * (y * np.sin(w) ** 2 / s - 1)).mean(),
            ]
        )

    matrix, error = output_matrix(moments, -30.0, -5.0, 0.0, 2.0, math.log(120 * b))
    return Number(max(matrix[1, 1], matrix[2, 2]), error).inverse()


def square_minus_exponential() -> Number:
    r"""First threshold of z1 z2 + z2 z3 + z1 z3 = p^2 - Q, p normal, Q = |q|^2/2 ~ Exp(1).

    The form has eigenvalues 1, -1/2, -1/2. G = diag(E[p^2 - 1|y], E[Q - 1|y] twice).
    """

    def moments(y: float) -> np.ndarray:
        low = math.sqrt(max(y, 0.0))
        p, w = rule(*np.linspace(low, low + 9, 19), n=24)
        weight = 2 * w * phi(p) * np.exp(-(p * p - y))
        q = p * p - y
        return np.array([weight.sum(), weight @ (p * p - 1), weight @ (q - 1)])

    matrix, error = output_matrix(moments, -45.0, -5.0, 0.0, 5.0, 60.0)
    return Number(max(matrix[1, 1], matrix[2, 2]), error).inverse()


def quadratic_sign(p: float, q: float, c: float) -> tuple[Number, Number, Number]:
    r"""Thresholds of sign(p u^2 - q v^2 - c), p, q, c > 0: of u, of v, and of v once u is known.

    Two atoms; c_u = E[u^2 - 1; y = 1] and so on. Given u the output says whether |v| is below
    sqrt((p u^2 - c)/q).
    """

    def window(u: float) -> float:
        return math.sqrt(max(p * u * u - c, 0.0) / q)

    start = math.sqrt(c / p)

    def over(f: Callable[[float], float]) -> Number:
        return integral(lambda u: 2 * f(u) * float(phi(u)), start, start + 1, 9.0)

    mass = over(lambda u: 2 * ndtr(window(u)) - 1)
    along_u = over(lambda u: (u * u - 1) * (2 * ndtr(window(u)) - 1))
    along_v = over(lambda u: -2 * window(u) * float(phi(window(u))))
    both = mass.value * (1 - mass.value)
    later = over(lambda u: window_strength(window(u)))
    return (
        Number(both / along_u.value**2, 1e-8),
        Number(both / along_v.value**2, 1e-8),
        later.inverse(),
    )


def noisy_quadratic_sign(p: float, q: float, c: float, noise: float) -> Number:
    r"""Threshold of v once u is known, for sign(p u^2 - q v^2 - c) + noise.

    Given u: y = +1 or -1 plus noise with probabilities P, 1 - P, and E[v^2 - 1; y = 1] = C. Then
    E[v^2 - 1|y] = C (n_+ - n_-)/(P n_+ + (1 - P) n_-) with the normal densities n at +1 and -1.
    """
    sigma = math.sqrt(noise)
    y, w = rule(*np.linspace(-1 - 9 * sigma, 1 + 9 * sigma, 41), n=24)
    plus, minus = phi((y - 1) / sigma) / sigma, phi((y + 1) / sigma) / sigma

    def integrand(u: float) -> float:
        a = math.sqrt(max(p * u * u - c, 0.0) / q)
        inside, moment = 2 * float(ndtr(a)) - 1, -2 * a * float(phi(a))
        density = inside * plus + (1 - inside) * minus
        return 2 * float(phi(u)) * float(w @ ((moment * (plus - minus)) ** 2 / density))

    start = math.sqrt(c / p)
    return integral(integrand, start, start + 1, 9.0).inverse()


def principal_axes(matrix: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Eigenvalues of a 2 x 2 quadratic form, increasing."""
    low, high = np.linalg.eigvalsh(np.array(matrix))
    return float(low), float(high)


def indefinite_form(p: float, q: float) -> tuple[Number, Number]:
    r"""Thresholds 1/E[G_uu^2] and 1/E[G_vv^2] of p u^2 - q v^2, p, q > 0.

    For y > 0: u = sqrt((y + q v^2)/p), density :math:`\int \phi(v)\phi(u)/(p u)\,dv`; for y < 0 the
    same with the parts exchanged. The density has a logarithm at 0: y = +-e^t.
    """
    x, w = rule(*np.geomspace(1e-12, 9, 100), n=24)

    def moments(t: float, large: float, small: float) -> np.ndarray:
        y = math.exp(t)
        u = np.sqrt((y + small * x * x) / large)
        density = 2 * w * phi(x) * phi(u) / (large * u) * y
        return np.array([density.sum(), density @ (u * u - 1), density @ (x * x - 1)])

    total, error = np.zeros((3, 3)), 0.0
    for large, small, order in ((p, q, [0, 1, 2]), (q, p, [0, 2, 1])):
        half, gap = output_matrix(
            lambda t, a=large, b=small: moments(t, a, b), -40.0, -5.0, 0.0, 2.0, 5.0, mass=None
        )
        total, error = total + half[np.ix_(order, order)], error + gap
    assert abs(total[0, 0] - 1) < 1e-8
    return Number(total[1, 1], error).inverse(), Number(total[2, 2], error).inverse()


def seen_product(
    g: Callable[[np.ndarray], np.ndarray], noise: float, low: float, high: float
) -> Number:
    r"""Threshold of g(z1 z2) + noise, g odd: as for the product, averaged over p = z1 z2 given y.

    E[z1^2 - 1|p] = |p| K_1/K_0 - 1, E[z1 z2|p] = p, density of p K_0(|p|)/pi.
    """
    x, w = rule(*np.geomspace(1e-14, 40, 120), n=24)
    p, weight = np.concatenate([-x, x]), np.concatenate([w, w]) * np.tile(k0(x), 2) / PI
    a, sigma, values = np.tile(x * k1(x) / k0(x), 2) - 1, math.sqrt(noise), g(p)

    def moments(y: float) -> np.ndarray:
        density = weight * phi((y - values) / sigma) / sigma
        return np.array([density.sum(), density @ a, density @ p])

    matrix, error = output_matrix(
        moments, low - 9 * sigma, low, (low + high) / 2, high, high + 9 * sigma
    )
    return Number(matrix[1, 1] + matrix[2, 2], error).inverse()


def product_and_sign() -> Number:
    """First threshold of z1 z2 sign(z3): |y| is known, the sign says nothing: 1/E[a^2]."""
    both = product_of_two().inverse()
    return Number(both.value - 1, both.error).inverse()


def product_of_four() -> Number:
    r"""Threshold of z1 z2 z3 z4 = p p': G = E[|p| K_1/K_0 - 1|y] I.

    Flips of two signs leave y alone, so nothing off the diagonal survives.
    """
    x, w = rule(*np.geomspace(1e-14, 40, 200), n=24)
    a = x * k1(x) / k0(x) - 1

    def moments(t: float) -> np.ndarray:
        y = math.exp(t)
        density = 4 * w * k0(x) / PI * k0(y / x) / (PI * x) * y
        return np.array([density.sum(), density @ a])

    matrix, error = output_matrix(moments, -50.0, -15.0, -5.0, 0.0, 3.0, 7.0)
    return Number(matrix[1, 1], error).inverse()


def two_products() -> Number:
    r"""Threshold of z1 z2 + z3 z4: 4/3.

    Turned by 45 degrees, y = P - Q with P = |p|^2/2, Q = |q|^2/2 of the law Exp(1). For y > 0, Q
    given y is Exp(2), so E[p_i^2 - 1|y] = E[P|y] - 1 = y - 1/2; for y < 0 it is -1/2. The mean
    square is (5/4 + 1/4)/2 = 3/4.
    """
    return Number(4 / 3)


def cubic_window() -> Number:
    r"""Threshold of z3 in sign(z1 + z2^3 + z3^2 - 1) once z1 and z2 are known.

    The output says whether :math:`|z_3| < \sqrt c`, c = 1 - z1 - z2^3; for c < 0 nothing. The law
    of c given z2 is normal around 1 - z2^3.
    """
    c, w = rule(*(np.linspace(0, 20, 81) ** 2), n=12)
    strength = w * np.array([window_strength(math.sqrt(x)) for x in c])

    def integrand(z2: float) -> float:
        return float(phi(z2)) * float(strength @ phi(1 - z2**3 - c))

    return integral(integrand, -7.0, -3.0, -1.0, 0.0, 1.0, 2.2).inverse()

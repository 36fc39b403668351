"""Thresholds and moments of targets made of signs, and of sums of independent parts."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.special import k0, ndtr

sys.path.insert(0, str(Path(__file__).parent))
from integration import PI, Number, integral, output_matrix, phi, rule
from one_variable import window_strength

# ---- signs


def noisy_sign_factor(noise: float) -> Number:
    """E[E[s|y]^2] = E[tanh(y/noise)^2] for a fair sign s seen through noise."""
    sigma = math.sqrt(noise)
    return integral(
        lambda y: math.tanh(y / noise) ** 2 * float(phi((y - 1) / sigma)) / sigma,
        1 - 12 * sigma,
        0.0,
        1.0,
        1 + 12 * sigma,
    )


def committee_of_two() -> Number:
    """Threshold of the difference t in sign(z1) + sign(z2), given the sum: whether |t| < |s|."""
    return integral(lambda s: 2 * window_strength(s) * float(phi(s)), 0.0, 1.0, 8.0).inverse()


def square_and_parity() -> Number:
    r"""First threshold of z1^2 + sign(z1 z2 z3): y = z1^2 + s with a fair sign s.

    The density of x = z1^2 is h(x) = e^{-x/2}/sqrt(2 pi x); given y it is y - 1 or y + 1 with
    weights h(y - 1), h(y + 1); z2 z3 has no mean given y, since z1 has either sign.
    """

    def h(x: float) -> float:
        return math.exp(-x / 2) / math.sqrt(2 * PI * x) if x > 0 else 0.0

    def integrand(y: float) -> float:
        a = h(y - 1) * (y - 2) + h(y + 1) * y
        total = h(y - 1) + h(y + 1)
        return a * a / total / 2 if total else 0.0

    return integral(integrand, -1.0, 0.0, 1.0, 2.0, 10.0, 80.0).inverse()


def sign_times_line() -> Number:
    r"""Threshold of sign(z1) z2: G = [[0, b], [b, c]], b = sqrt(2/pi) y, c = y^2 - 1.

    E[b^2] = 2/pi, E[bc] = 0, E[c^2] = 2: on diagonal M the matrix [[0, 2/pi], [2/pi, 2]], whose
    largest eigenvalue is 1 + sqrt(1 + 4/pi^2).
    """
    return Number(1 / (1 + math.sqrt(1 + 4 / PI**2)))


# ---- sums of independent parts


def sum_moments(
    value: Callable[[np.ndarray], np.ndarray],
    features: Callable[[np.ndarray, float], np.ndarray],
    noise_variance: float,
    *edges: float,
    panels: Sequence[float] = tuple(np.linspace(-8, 8, 33)),
) -> tuple[np.ndarray, float]:
    r"""Moments given y = value(x) + sqrt(v) xi with x, xi normal, the density in y being smooth.

    ``features(x, y)`` are rows of conditional means given x and y.
    """
    x, w = rule(*panels, n=24)
    weight, centre, sigma = w * phi(x), value(x), math.sqrt(noise_variance)

    def moments(y: float) -> np.ndarray:
        density = weight * phi((y - centre) / sigma) / sigma
        return np.concatenate([[density.sum()], features(x, y) @ density])

    return output_matrix(moments, *edges)


def line_plus_square(noise: float = 0.0) -> Number:
    """E[E[z1|y]^2] for z1 + z2^2 + noise: given x = z2, E[z1|y, x] = (y - x^2)/(1 + noise)."""
    matrix, error = sum_moments(
        lambda x: x * x,
        lambda x, y: np.array([(y - x * x) / (1 + noise)]),
        1 + noise,
        -12.0, 0.0, 5.0, 80.0,
    )  # fmt: skip
    return Number(matrix[1, 1], error)


def line_plus_sign() -> Number:
    """E[E[z3|y]^2] for sign(z1 z2) + z3: E[z3|y] = y - tanh(y), so E[(y - tanh y)^2]."""
    f = integral(lambda y: (y - math.tanh(y)) ** 2 * float(phi(y - 1)), -9.0, 0.0, 1.0, 11.0)
    return f


def line_plus_product(noise: float = 0.0) -> Number:
    """E[E[z3|y]^2] for z1 z2 + z3 + noise: given z1, y is normal of variance 1 + z1^2 + noise."""
    x, w = rule(*np.linspace(-9, 9, 37), n=24)
    weight, variance = w * phi(x), 1 + noise + x * x

    def moments(y: float) -> np.ndarray:
        density = weight * phi(y / np.sqrt(variance)) / np.sqrt(variance)
        return np.array([density.sum(), density @ (y / variance)])

    matrix, error = output_matrix(moments, -70.0, -5.0, 0.0, 5.0, 70.0)
    return Number(matrix[1, 1], error)


def maximum_strength(noise: float = 0.0) -> Number:
    r"""E[E[s|y]^2] along s = (z1 + z2)/sqrt 2 for max(z1, z2) + noise.

    The maximum m has density 2 phi Phi, and E[s|m] = (m - phi(m)/Phi(m))/sqrt 2.
    """
    if not noise:
        return integral(
            lambda m: float(phi(m)) * (m * float(ndtr(m)) - float(phi(m))) ** 2 / float(ndtr(m)),
            -9.0, 0.0, 9.0,
        )  # fmt: skip
    m, w = rule(*np.linspace(-9, 9, 145), n=24)
    weight, mean = w * 2 * phi(m) * ndtr(m), w * 2 * phi(m) * (m * ndtr(m) - phi(m)) / math.sqrt(2)
    sigma = math.sqrt(noise)

    def moments(y: float) -> np.ndarray:
        kernel = phi((y - m) / sigma) / sigma
        return np.array([weight @ kernel, mean @ kernel])

    matrix, error = output_matrix(moments, -12.0, 0.0, 2.0, 13.0)
    return Number(matrix[1, 1], error)


def two_tanh_strength() -> Number:
    r"""E[E[s|y]^2] along s = (z1 + z2)/sqrt 2 for tanh(z1) + tanh(z2).

    y = 2 sinh(u)/(cosh(u) + cosh(v)) with u = z1 + z2, v = z1 - z2, both of variance 2; given v,
    u = v-dependent inverse, and dy/du = 2 (1 + cosh u cosh v)/(cosh u + cosh v)^2.
    """
    v, w = rule(*np.linspace(0, 12, 49), n=24)
    weight = 2 * w * phi(v / math.sqrt(2)) / math.sqrt(2)

    def moments(y: float) -> np.ndarray:
        # 2 sinh u - y cosh u = y cosh v: with x = e^u, (2 - y) x^2 - 2 y cosh(v) x - (2 + y) = 0.
        c = y * np.cosh(v)
        root = np.sqrt(c * c + (2 - y) * (2 + y))
        x = np.where(c > 0, (c + root) / (2 - y), (2 + y) / (root + np.abs(c)))
        u = np.log(x)
        slope = 2 * (1 + np.cosh(u) * np.cosh(v)) / (np.cosh(u) + np.cosh(v)) ** 2
        density = weight * phi(u / math.sqrt(2)) / math.sqrt(2) / slope
        return np.array([density.sum(), density @ (u / math.sqrt(2))])

    def in_t(t: float) -> np.ndarray:
        y = 2 * math.tanh(t)
        return moments(y) * 2 / math.cosh(t) ** 2

    matrix, error = output_matrix(in_t, -14.0, -3.0, 0.0, 3.0, 14.0)
    return Number(matrix[1, 1], error)


def growing_line() -> tuple[Number, Number]:
    r"""E[E[z1|y]^2] and E[E[z2|y]^2] for exp(z1/2) z2: given z1 = x, z2 = y e^{-x/2}.

    The first mean is even in y, the second odd, so they do not mix.
    """
    x, w = rule(*np.linspace(-9, 9, 73), n=24)

    def moments(t: float) -> np.ndarray:
        y = math.exp(t)
        z2 = y * np.exp(-x / 2)
        density = 2 * w * phi(x) * phi(z2) * z2
        return np.array([density.sum(), density @ x, density @ z2])

    matrix, error = output_matrix(moments, -45.0, -10.0, -3.0, 0.0, 3.0, 7.0)
    return Number(matrix[1, 1], error), Number(matrix[2, 2], error)


def line_times_shifted() -> Number:
    r"""Largest eigenvalue of N_1 of z1 + z1 z2 = z1 (1 + z2): given z1 = x, z2 = y/x - 1.

    Changing the sign of z1 changes that of y: E[z1|y] is odd, E[z2|y] even, and N_1 diagonal.
    """
    x, w = rule(*np.geomspace(1e-14, 9, 200), n=24)

    def moments(t: float) -> np.ndarray:
        y = math.exp(t)  # twice the half y > 0
        total = np.zeros(3)
        for sign in (1.0, -1.0):
            z2 = y / (sign * x) - 1
            density = 2 * y * w * phi(x) * phi(z2) / x
            total += [density.sum(), density @ (sign * x), density @ z2]
        return total

    matrix, error = output_matrix(moments, -28.0, -8.0, -3.0, 0.0, 2.0, 5.0)
    return Number(max(matrix[1, 1], matrix[2, 2]), error)


def maximum_of_three_strength() -> Number:
    """E[E[s|y]^2] along s = (1, 1, 1)/sqrt 3 for the maximum m: E[s|m] = (m - 2 phi/Phi)/sqrt 3."""

    def integrand(m: float) -> float:
        density, below = float(phi(m)), float(ndtr(m))
        return density * (m * below - 2 * density) ** 2

    return integral(integrand, -9.0, 0.0, 9.0)


def kinked_line_plus_product() -> Number:
    """E[E[z1|y]^2] for relu(z1 + z2 z3): half of that without relu, and the atom.

    E[z1; z1 + z2 z3 > 0] = E[1/sqrt(1 + x^2)]/sqrt(2 pi), x = z2; the atom has mass 1/2.
    """
    mean = integral(lambda x: float(phi(x)) / math.sqrt(1 + x * x), -9.0, 0.0, 9.0).value
    half = line_plus_product()
    return Number(half.value / 2 + 2 * (mean / math.sqrt(2 * PI)) ** 2, half.error)


def wave_of_line_and_square() -> Number:
    """E[E[z1|y]^2] for sin(z1 + z2^2): s = z1 + z2^2 has its own density; y = sin t folds it."""
    x, w = rule(*np.linspace(-8, 8, 33), n=24)
    shift = 2 * PI * np.arange(-3, 14)

    def moments(t: float) -> np.ndarray:
        s = np.concatenate([t + shift, PI - t + shift])[:, None]
        z1 = s - x * x
        density = w * phi(x) * phi(z1)
        return np.array([density.sum(), (density * z1).sum()])

    matrix, error = output_matrix(moments, -PI / 2, 0.0, PI / 2)
    return Number(matrix[1, 1], error)


def sign_times_wave(omega: float) -> Number:
    r"""E[E[z2|y]^2] for cos(omega z1) sign(z2).

    y = v > 0 comes from cos = v, z2 > 0 or cos = -v, z2 < 0, so E[z2|y] = sqrt(2/pi) (w(t) - w(pi -
    t))/(w(t) + w(pi - t)), v = cos t, with the density w of t in (0, pi).
    """
    shift = 2 * PI * np.arange(-40, 41)

    def density(t: float) -> float:
        return float(phi(np.concatenate([t + shift, -t + shift]) / omega).sum()) / omega

    def integrand(t: float) -> float:
        a, b = density(t), density(PI - t)
        return (a - b) ** 2 / (a + b)

    found = integral(integrand, 0.0, PI / 2)
    return Number(2 / PI * found.value, found.error)


def line_plus_product_of_three() -> Number:
    """E[E[z4|y]^2] for z1 z2 z3 + z4: given z1 z2 = p, y is normal of variance 1 + p^2."""
    x, w = rule(*np.geomspace(1e-13, 40, 120), n=24)
    weight, variance = 2 * w * k0(x) / PI, 1 + x * x

    def moments(y: float) -> np.ndarray:
        density = weight * phi(y / np.sqrt(variance)) / np.sqrt(variance)
        return np.array([density.sum(), density @ (y / variance)])

    matrix, error = output_matrix(moments, -400.0, -50.0, -5.0, 0.0, 5.0, 50.0, 400.0)
    return Number(matrix[1, 1], error)


def line_plus_two_products() -> Number:
    """E[E[z5|y]^2] for z1 z2 + z3 z4 + z5: Laplace plus normal, by direct integration over z5."""

    def moments(y: float) -> np.ndarray:
        kink = max(min(y, 8.9), -8.9)  # of exp(-|y - x|), x = z5
        x, w = rule(*np.linspace(-9, kink, 19), *np.linspace(kink, 9, 19)[1:], n=24)
        density = w * phi(x) * np.exp(-np.abs(y - x)) / 2
        return np.array([density.sum(), density @ x])

    matrix, error = output_matrix(moments, -40.0, -5.0, 0.0, 5.0, 40.0)
    return Number(matrix[1, 1], error)

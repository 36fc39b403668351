r"""Moments given the output of one variable: roots of polynomials, closed forms, direct sums.

:math:`\mathbb{E}[\mathbb{E}[\mathrm{he}_k|y]^2]` with polynomials of unit norm; the threshold of an
easy direction is one over twice that of order 2.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.special import lambertw, ndtr

sys.path.insert(0, str(Path(__file__).parent))
from integration import PI, Number, integral, output_matrix, phi, rule


def polynomial_moments(coefficients: Sequence[float], *orders: int) -> list[Number]:
    r"""E[E[he_k|y]^2] of a noiseless polynomial (highest power first), he_k of unit norm.

    The preimages of y = g(z) are the real roots of a polynomial, with weights phi/|g'|; means over
    y are integrals over z, split at the preimages of critical values.
    """
    g = np.poly1d(coefficients)
    slope = g.deriv()

    def real(p: np.poly1d) -> np.ndarray:
        roots = np.roots(p)
        return np.real(roots[np.abs(np.imag(roots)) < 1e-7 * (1 + np.abs(roots))])

    critical = {float(g(c)) for c in real(slope)}
    cuts = {0.0, *(float(x) for value in critical for x in real(g - value))}
    edges = sorted({round(x, 12) for x in cuts if abs(x) < 8.5} | {-8.5, 8.5})
    found = []
    for k in orders:
        he = np.polynomial.hermite_e.HermiteE.basis(k)

        def integrand(z: float, he=he, k=k) -> float:
            roots = real(g - g(z))
            weight = phi(roots) / np.abs(slope(roots))
            if not weight.sum() > 0:
                return 0.0
            mean = float(weight @ he(roots)) / float(weight.sum())
            return mean**2 / math.factorial(k) * float(phi(z))

        parts = [
            quad(integrand, a, b, epsabs=1e-8, epsrel=1e-7, limit=60)
            for a, b in itertools.pairwise(edges)
        ]
        found.append(Number(sum(v for v, _ in parts), sum(e for _, e in parts)))
    return found


def wave_moments(omega: float, k: int, *, even: bool) -> Number:
    r"""E[E[he_k|y]^2] for y = sin(omega z), or cos(omega z).

    All preimages have the same slope up to sign, so their weights are phi(z_b). With y = sin t the
    preimages are (t + 2 pi m)/omega and (pi - t + 2 pi m)/omega, |t| < pi/2; with y = cos t they
    are (+-t + 2 pi m)/omega, 0 < t < pi.
    """
    he = np.polynomial.hermite_e.HermiteE.basis(k)
    shift = 2 * PI * np.arange(-40, 41)

    def integrand(t: float) -> float:
        base = (t, -t) if even else (t, PI - t)
        z = np.concatenate([b + shift for b in base]) / omega
        w = phi(z) / omega
        return float(w @ he(z)) ** 2 / float(w.sum()) / math.factorial(k)

    return integral(integrand, 0.0, PI) if even else integral(integrand, -PI / 2, 0.0, PI / 2)


def noisy_line_moments(
    g: Callable[[np.ndarray], np.ndarray], noise: float, *orders: int, kinks: Sequence[float] = ()
) -> list[Number]:
    r"""E[E[he_k|y]^2] for y = g(z) + sqrt(noise) xi by the definition, a product rule in z."""
    inner = sorted({*np.linspace(-8, 8, 65), *kinks})
    z, w = rule(*inner, n=24)
    he = [
        np.polynomial.hermite_e.HermiteE.basis(k)(z) / math.sqrt(math.factorial(k)) for k in orders
    ]
    features = np.array([np.ones_like(z), *he]) * (w * phi(z))
    values, sigma = g(z), math.sqrt(noise)

    def moments(y: float) -> np.ndarray:
        return features @ phi((y - values) / sigma) / sigma

    low, high = float(values.min()) - 9 * sigma, float(values.max()) + 9 * sigma
    middle = np.clip([-4.0, -1.0, 0.0, 1.0, 4.0, 12.0], low, high)
    matrix, error = output_matrix(moments, *np.unique([low, *middle, high]))
    return [Number(matrix[i, i], error) for i in range(1, len(orders) + 1)]


def window_strength(a: float) -> float:
    """E[E[t^2 - 1|atom]^2] of the indicator of |t| < a: c = E[t^2 - 1; |t| < a] = -2 a phi(a)."""
    inside = 2 * float(ndtr(a)) - 1
    return (2 * a * float(phi(a))) ** 2 / (inside * 2 * float(ndtr(-a))) if a > 0 else 0.0


def bump_fourth_moment() -> Number:
    r"""E[E[He_4|y]^2]/4! of z^2 exp(-z^2).

    With a = z^2 the two preimages of a exp(-a) = v are -W_0(-v) < 1 < -W_{-1}(-v); their weights
    phi/|g'| are proportional to 1/|1 - a|, so E[a - 1|y] = -1 + 1 = 0 exactly.
    """

    def integrand(a: float) -> float:
        v = a * math.exp(-a)
        if v <= 0:
            return 0.0
        x = np.array([float(-lambertw(-v, 0).real), float(-lambertw(-v, -1).real)])
        w = 1 / np.maximum(np.abs(1 - x), 1e-12)
        mean = float(w @ (x * x - 6 * x + 3)) / float(w.sum())
        return mean**2 / 24 * math.exp(-a / 2) / math.sqrt(2 * PI * a)

    return integral(integrand, 0.0, 1.0, 4.0, 60.0)

r"""Labels that are quadratic functions of z: one integral over a contour, for any number of them.

With :math:`z = \omega + V^{1/2} x` the function is :math:`\gamma + \langle\beta, w\rangle +
\sum_j \lambda_j w_j^2` in rotated coordinates w of x, and with label noise :math:`\Delta`

.. math::
    Z(y) = \int \frac{ds}{2\pi i}\, e^{K(s) - s y}, \qquad
    K(s) = s\gamma + \tfrac12 s^2\Delta + \sum_j \Big[\frac{s^2\beta_j^2}{2(1 - 2 s\lambda_j)}
    - \tfrac12\log(1 - 2 s\lambda_j)\Big]                                                 [QF-1]

where at every s the variables are independent, of mean :math:`s\beta_j/(1 - 2s\lambda_j)` and
variance :math:`1/(1 - 2s\lambda_j)`. The contour passes through the saddle point K' = y on the
real axis and bends to the side on which the integrand decays, along a branch of a hyperbola; the
trapezoid rule then converges geometrically.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...targets.language.polynomials import polynomial_of
from .formulas import Formula
from .grids import root
from .label import FormulaLabel
from .sums import Rule, Sums

_NODES = (24, 96)  # on one half of the contour; the other half is its mirror image
_BEND = 0.5  # slope of the branch against the vertical; below 1, so that noise makes it decay
_DECAY = 36.0  # logarithm of the fall after which the contour ends
_NEAR = math.asinh(math.sqrt(2 * _DECAY / (1 - _BEND**2)))  # where a Gaussian has fallen so far
_STEPS = 24  # of the bisection for the saddle point
_FLAT = 1e-10  # share of the largest curvature below which a direction is linear


class Quadratic(NamedTuple):
    """Function <z, A z> + <b, z> + c."""

    A: np.ndarray
    b: np.ndarray
    c: float


def quadratic(parts: tuple[Formula, ...], noise: float) -> Quadratic | None:
    """The function, without invertible outer functions if there is no noise; None if it is none.

    Examples
    --------
    >>> from gradone.channels.samples.formulas import formulas
    >>> from gradone.targets.language.expression import Expression
    >>> quadratic(formulas(Expression("tanh(z1*z2)")), 0.0).A
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    k = parts[0].r
    tree = parts[0].tree if noise else parts[0].relabeled.inner
    polynomial = polynomial_of(tree, k) if len(parts) == 1 else None
    if polynomial is None or polynomial.degree != 2:
        return None
    A, b, c = np.zeros((k, k)), np.zeros(k), 0.0
    for powers, coefficient in polynomial.coefficients.items():
        used = [i for i, power in enumerate(powers) for _ in range(power)]
        if len(used) == 2:
            A[used[0], used[1]] += float(coefficient) / 2
            A[used[1], used[0]] += float(coefficient) / 2
        elif used:
            b[used[0]] += float(coefficient)
        else:
            c += float(coefficient)
    return Quadratic(A, b, c)


class QuadraticRule:
    """Exact rule for quadratic functions [QF-1]."""

    is_geometric, is_enough = True, False

    def __init__(self, label: FormulaLabel) -> None:
        self._part, self._noise = label.parts[0], label.noise
        self._form = quadratic(label.parts, label.noise)

    @staticmethod
    def covers(label: FormulaLabel) -> bool:
        """Whether the label is a quadratic function."""
        return label.exact and quadratic(label.parts, label.noise) is not None

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules with more and more nodes on the contour."""
        assert self._form is not None
        return [quadratic_rule(self._form, self._part, self._noise, V, nodes) for nodes in _NODES]


def quadratic_rule(form: Quadratic, part: Formula, noise: float, V: np.ndarray, nodes: int) -> Rule:
    """Rule for a quadratic function; the coarse one has every second node of the contour."""
    S = root(V)
    curvature, turn = np.linalg.eigh(S @ form.A @ S)
    curvature = np.where(np.abs(curvature) > _FLAT * np.abs(curvature).max(), curvature, 0.0)

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        slope = np.zeros(len(y))
        if not noise:
            y, slope = part.relabeled(y)
        beta = (2 * omega @ form.A + form.b) @ S @ turn
        gap = y - np.einsum("ni,ij,nj->n", omega, form.A, omega) - omega @ form.b - form.c
        with np.errstate(all="ignore"):
            both = [
                s._replace(mass=np.where(_is_possible(gap, beta, curvature, noise), s.mass, 0.0))
                for s in _sums(gap, beta, curvature, noise, nodes)
            ]
        fine, coarse = (s._replace(log_scale=s.log_scale + slope).rotated(turn) for s in both)
        return fine, coarse

    return rule


def _is_possible(
    gap: np.ndarray, beta: np.ndarray, curvature: np.ndarray, noise: float
) -> np.ndarray:
    """Whether the function takes the labels: it may have a largest or a least value."""
    bent = (curvature > 0).all() or (curvature < 0).all()
    if noise or not bent:
        return np.ones(len(gap), dtype=bool)
    return (gap + (beta**2 / (4 * curvature)).sum(axis=1)) * curvature[0] > 0


def _sums(
    gap: np.ndarray, beta: np.ndarray, curvature: np.ndarray, noise: float, nodes: int
) -> tuple[Sums, Sums]:
    """Sums of w at labels that differ by `gap` (n,) from the function at w = 0."""
    n, k = beta.shape
    start = _saddle(gap, beta, curvature, noise)
    left = 1 - 2 * start[:, None] * curvature
    steep = noise + (2 * curvature**2 / left**2 + beta**2 / left**3).sum(axis=1)  # K''
    q = 1 / np.sqrt(steep)
    p = _BEND * q
    # Near the saddle the integrand is Gaussian; far out it falls like exp(-s * far), or faster
    # with noise or with directions in which the function is linear.
    is_bent = curvature != 0
    far = gap + (beta[:, is_bent] ** 2 / (4 * curvature[is_bent])).sum(axis=1)
    gaussian = noise + (beta[:, ~is_bent] ** 2).sum(axis=1)
    end = np.arccosh(1 + _DECAY / (p * np.abs(far)))
    end = np.fmin(end, np.arcsinh(np.sqrt(2 * _DECAY / gaussian / (q * q - p * p))))
    h = np.maximum(end, _NEAR) / nodes
    tau = h[:, None] * np.arange(nodes + 1)
    sinh, cosh = np.sinh(tau), np.cosh(tau)
    side = np.where(far > 0, p, -p)[:, None]
    s = start[:, None] + side * (cosh - 1) + 1j * q[:, None] * sinh
    weight = (h / math.pi)[:, None] * (q[:, None] * cosh - 1j * side * sinh)
    weight[:, 0] /= 2
    exponent = s * (0.5 * noise * s - gap[:, None])
    mean, variance = np.empty((k, *s.shape), dtype=complex), np.empty((k, *s.shape), dtype=complex)
    for j in range(k):
        variance[j] = 1 / (1 - 2 * curvature[j] * s)
        mean[j] = s * variance[j] * beta[:, j, None]
        exponent += 0.5 * s * beta[:, j, None] * mean[j]
        weight *= np.sqrt(variance[j])
    top = exponent[:, 0].real.copy()
    weight *= np.exp(exponent - top[:, None])
    found = []
    for chosen in (slice(None), slice(None, None, 2)):
        part = weight[:, chosen] * (1 if chosen.step is None else 2)
        mass = part.real.sum(axis=1)
        first, second = np.empty((n, k)), np.empty((n, k, k))
        for i in range(k):
            moment = part * mean[i][:, chosen]
            first[:, i] = moment.real.sum(axis=1)
            for j in range(i + 1):
                product = (moment * mean[j][:, chosen]).real.sum(axis=1)
                second[:, i, j] = second[:, j, i] = product
            second[:, i, i] += (part * variance[i][:, chosen]).real.sum(axis=1)
        found.append(Sums(top, np.nan_to_num(mass), np.nan_to_num(first), np.nan_to_num(second)))
    return found[0], found[1]


def _saddle(gap: np.ndarray, beta: np.ndarray, curvature: np.ndarray, noise: float) -> np.ndarray:
    """Real s (n,) at which K' is the label, by bisection: K' grows between two poles."""
    up, down = curvature.max(), curvature.min()
    scale = 1 / (2 * np.abs(curvature).max())
    low, high = np.full(len(gap), -60.0), np.full(len(gap), 60.0)

    def place(t: np.ndarray) -> np.ndarray:
        if up > 0 and down < 0:
            share = 1 / (1 + np.exp(-t))
            return (1 - share) / (2 * down) + share / (2 * up)
        return scale * (1 - np.exp(-t)) if up > 0 else scale * (np.exp(t) - 1)

    for _ in range(_STEPS):
        t = (low + high) / 2
        s = place(t)
        left = 1 - 2 * s[:, None] * curvature
        slope = noise * s + (
            curvature / left + s[:, None] * beta**2 * (1 - s[:, None] * curvature) / left**2
        ).sum(axis=1)
        is_low = slope < gap
        low, high = np.where(is_low, t, low), np.where(is_low, high, t)
    return place((low + high) / 2)

r"""Exponents and degree energies of hierarchical targets.

A hierarchical target is a chain: directions z, features of them, features of features, a label.
At large width every feature is Gaussian, two inputs with correlation t have features with
correlation :math:`w(t)`, and the labels have covariance

.. math::
    \sum_q \Phi_q t^q = \sum_{m \ge 1} \mu_m^2\,w(t)^m, \qquad
    w_j = \frac{c_j^2}{j!\,\mathrm{Var}\,P}, \qquad w(t) = \sum_j w_j t^j, \qquad
    \mu_m = \mathbb{E}[g(s u)\,\mathrm{he}_m(u)], \quad s^2 = \mathrm{Var}\,P \qquad [DE-2]

with :math:`c_j = \mathbb{E}[P\,\mathrm{He}_j]`. :math:`\Phi_q` is the energy of the label in
polynomials of degree q of z. With several levels
:math:`w = w^{(L)} \circ \dots \circ w^{(1)}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...base.errors import BadData, OutOfRegime
from ...base.estimate import Estimate, Kind
from ...targets.hierarchical import HierarchicalTarget
from ..exponent import Energy, Exponent
from .chain import Chain, chain
from .finite_energies import drawn_energies
from .scaled_function import ScaledFunction
from .weights import Number, Weights

HIGHEST = 12
_ROUNDING = 1e-15


@dataclass(frozen=True)
class LevelExponents:
    r"""Exponents of a hierarchical target, level by level.

    .. math::
        \mathrm{CIE}(l) = \min\{k \ge 1 : \|\mathbb{E}[\mathrm{He}_k(h^{(l)})\,y]\|_F = \Theta(1)\}
        = \mathrm{IE}(g) \prod_{j \ge l} \mathrm{IE}(P_j) \qquad [DE-3]

    Parameters
    ----------
    outer : Exponent
        Information exponent of the outer function g, at the variance its argument really has.
    inner : tuple of Exponent
        Information exponents of the inner functions from the bottom to the top; each is also the
        leap of that function, which has one variable.
    compositional : tuple of Exponent
        Compositional information exponents of the directions z, then of the features of each
        level; the last is the information exponent of g.
    """

    outer: Exponent
    inner: tuple[Exponent, ...]
    compositional: tuple[Exponent, ...]

    @property
    def leap(self) -> tuple[Exponent, ...]:
        """Leap of every inner function: of one variable, so its information exponent."""
        return self.inner


def level_exponents(target: HierarchicalTarget) -> LevelExponents:
    """Information exponents of every level of a hierarchical target [DE-3].

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> found = level_exponents(Sight("He2(h)", "He2(z)/2"))
    >>> [e.value for e in found.compositional]
    [4, 2]

    The argument of the outer function has the variance of P, here 1/2, so He3 has a linear part:

    >>> level_exponents(Sight("He3(h)", "He2(z)/2")).outer
    1 (mu_1 = -1.06066)
    """
    found = chain(target)
    outer = information_exponent(found.outer, "mu")
    inner = tuple(
        information_exponent(P, "a" if len(found.inners) == 1 else f"a^({level})")
        for level, P in enumerate(found.inners, 1)
    )
    names = ["P"] if len(inner) == 1 else [f"P_{level}" for level in range(1, len(inner) + 1)]
    parts = list(zip(names, inner, strict=True))
    exponents = [_product(("g", outer), *reversed(parts[i:])) for i in range(len(parts) + 1)]
    return LevelExponents(outer, inner, tuple(exponents))


def information_exponent(f: ScaledFunction, symbol: str, highest: int = HIGHEST) -> Exponent:
    r"""Smallest :math:`m \ge 1` with :math:`E_m \ne 0`, with the margin of the decision.

    Examples
    --------
    >>> from gradone.targets.language.expression import Expression
    >>> g = ScaledFunction(Expression("tanh(z)"), Fraction(1))
    >>> information_exponent(g, "mu")
    1 (mu_1 = 0.605706 ± 4e-15)
    """
    zeros: list[str] = []
    for m in range(1, highest + 1):
        size = f.amplitude(m)
        verdict = is_nonzero(size, f.null.value)
        text = f"{symbol}_{m} = {shown(size)}"
        if verdict is None:
            return Exponent(None, f"undecided: {text} is too close to zero to tell")
        if verdict:
            return Exponent(m, "; ".join([*zeros, text]))
        zeros.append(text + ("" if not size.value else ", treated as zero"))
    return Exponent(None, f"> {highest}: {symbol}_1 ... {symbol}_{highest} vanish")


def is_nonzero(number: Estimate, scale: float) -> bool | None:
    """Whether a number differs from zero, `scale` being a typical square; None if unclear.

    Examples
    --------
    >>> [is_nonzero(Estimate(x, 1e-15, "quadrature"), 1.0) for x in (2e-17, 3e-9, 0.4)]
    [False, False, True]
    """
    found = Energy.of(np.array([number.value]), np.array([number.error]), number.kind)
    return found.is_nonzero(scale)


def shown(number: Estimate) -> str:
    """Number with its error, short enough for a sentence.

    Examples
    --------
    >>> shown(Estimate(0.39894228, 7e-16, "quadrature"))
    '0.398942 ± 7e-16'
    >>> shown(Estimate(-7e-18, 1e-12, "quadrature"))
    '0 ± 1e-12'
    """
    value = number.value if abs(number.value) > number.error else 0.0
    return f"{value:.6g}" + (f" ± {number.error:.0e}" if number.error else "")


def _product(*parts: tuple[str, Exponent]) -> Exponent:
    """Product of named exponents; undecided if one of them is."""
    value = 1
    for name, exponent in parts:
        if exponent.value is None:
            return Exponent(None, f"{exponent.note} (exponent of {name})")
        value *= exponent.value
    return Exponent(value, "; ".join(f"IE({name}) = {e!r}" for name, e in parts))


@dataclass(frozen=True)
class DegreeEnergies:
    r"""Energy of the label of a hierarchical target in each degree of its directions.

    Parameters
    ----------
    null : Estimate
        :math:`E_\mathrm{null} = \mathbb{E}[g(su)^2] - \mu_0^2`, the error of a constant.
    phi : tuple of Estimate
        :math:`\Phi_1, \dots, \Phi_Q` [DE-2].
    residuals : tuple of Estimate
        :math:`E_\mathrm{null} - \sum_{1 \le q \le Q} \Phi_q` for Q = 0, 1, ... [DE-4].
    """

    null: Estimate
    phi: tuple[Estimate, ...]
    residuals: tuple[Estimate, ...]

    def energy(self, q: int) -> Estimate:
        r"""Energy :math:`\Phi_q`, q from 1."""
        if not 1 <= q <= len(self.phi):
            raise OutOfRegime(f"energies of degree 1 to {len(self.phi)} are known, not {q}")
        return self.phi[q - 1]

    def residual(self, degree: int) -> Estimate:
        """Energy above a degree: the error of the best polynomial of that degree."""
        if not 0 <= degree < len(self.residuals):
            raise OutOfRegime(f"energies of degree up to {len(self.phi)} are known, not {degree}")
        return self.residuals[degree]


def energies(
    target: HierarchicalTarget, degree: int, *, d: int | None = None, seed: int = 0
) -> DegreeEnergies:
    r"""Energies of the label in each degree of the directions z, for large d or at a given d.

    Parameters
    ----------
    target : HierarchicalTarget
        The target; the label noise does not count.
    degree : int
        Largest degree Q.
    d : int, optional
        Input dimension; by default the limit of large d.
    seed : int
        Address of the random signs and forms of a target in dimension d.

    Notes
    -----
    At a given d the energies are averages over draws, with 99 % intervals, and may be negative
    within their errors.

    At inner dimension D the energies differ by O(1/D), with a constant that grows with the fourth
    moment of P: a degree whose :math:`\Phi_q` vanishes has an energy of order 1/D, which must not
    be mistaken for a signal. Polynomials give exact fractions.

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> found = energies(Sight("h + He2(h)/2", "He2(z)/2"), 4)
    >>> found.null, found.phi, found.residual(2)
    (0.625 (exact), (0 (exact), 0.5 (exact), 0 (exact), 0.125 (exact)), 0.125 (exact))
    """
    if isinstance(degree, bool) or int(degree) != degree or degree < 0:
        raise BadData(f"degree must be a whole number >= 0, got {degree!r}")
    degree = int(degree)
    found = chain(target)
    if d is not None:
        phi_at, left_at = drawn_energies(target, degree, d, seed)
        return DegreeEnergies(left_at[0], tuple(phi_at), tuple(left_at))
    phi = label_weights(found, degree)
    null: Number = found.outer.null.value
    if found.outer.exact_null is not None:
        null = found.outer.exact_null
    left, error = null, found.outer.null.error
    estimates, residuals = [], [_estimate(null, error, found.outer.null.kind)]
    for value, upper in zip(phi.value[1:], phi.upper[1:], strict=True):
        estimates.append(_estimate(value, float(upper - value), phi.kind))
        left, error = left - value, error + estimates[-1].error
        residuals.append(_estimate(max(left, 0 * left), error, phi.kind))
    if len(estimates) >= found.degree:  # a polynomial is exhausted, whatever the rounding says
        residuals[int(found.degree) :] = [Estimate(0.0)] * (degree + 1 - int(found.degree))
    return DegreeEnergies(found.outer.null, tuple(estimates), tuple(residuals))


def label_weights(found: Chain, degree: int) -> Weights:
    r"""Weights :math:`\Phi_0, \dots, \Phi_Q` of [DE-2]; the first is that of the mean of g."""
    shares = found.composed(degree)
    lowest = next((q for q, w in enumerate(shares.upper) if w), degree + 1)
    energy = found.outer.energies(degree // lowest)  # w^m starts at degree m IE(P)
    return shares.inside(energy, degree)


def _estimate(value: Number, error: float, kind: Kind) -> Estimate:
    if isinstance(value, Fraction) and not error:
        return Estimate(float(value))
    return Estimate(float(value), error + _ROUNDING, kind)

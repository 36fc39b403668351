"""Assumptions of the depth theorem on the activation of the network."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ...base.estimate import Estimate, roughest
from ...calculus.line import gauss_legendre
from ...targets.activation import Activation
from ...targets.language.bounds import growth
from ...targets.language.expression import Expression
from ...targets.language.functions import substitute
from ...targets.language.tree import Variable, add, number
from .chain import Chain
from .compositional import HIGHEST, is_nonzero, shown
from .condition import Condition, decided, degree_name

_Z = Variable("z", 1)


def is_expressive(sigma: Activation, degree: float, bias: float) -> Condition:
    """E3: the activation has every degree that the inner function may have."""
    last = int(min(degree, HIGHEST))
    scale = sigma.expression.second_moment().value
    if bias:
        squares = random_bias_energies(sigma, last, bias)[1:]
        sizes = [_root(e) for e in squares]
        names = [f"E_b[c_{j}(b)^2] = {shown(e)}" for j, e in enumerate(squares, 1)]
    else:
        sizes = [sigma.hermite(j) for j in range(1, last + 1)]
        names = [f"c_{j} = {shown(e)}" for j, e in enumerate(sizes, 1)]
        squares = tuple(sizes)
    unit = [e.value / math.sqrt(math.factorial(j)) for j, e in enumerate(sizes, 1)]
    answers = [
        is_nonzero(Estimate(u, e.error / math.sqrt(math.factorial(j)), e.kind), scale)
        for j, (u, e) in enumerate(zip(unit, sizes, strict=True), 1)
    ]
    regular = not growth(sigma.expression.tree).is_exponential
    worst = min(range(last), key=lambda i: abs(unit[i]))
    answer: bool | None = True
    if False in answers or not regular:
        answer = False
    elif None in answers or degree > last:
        answer = None
    why = ", ".join(names)
    if degree > last:
        why += f"; P is not a polynomial, and degrees above {last} were not computed"
    if not regular:
        why += "; the activation may grow faster than every polynomial"
    return Condition(
        "E3",
        "essential",
        f"E[sigma(u) He_j(u)] is not 0 for 1 <= j <= {degree_name(degree)}; polynomial growth",
        decided(answer),
        squares[worst],
        why,
    )


def twice_activated(sigma: Activation, found: Chain, bias: float) -> tuple[Condition, Condition]:
    """T5a and T5b: low coefficients of the activation applied twice."""
    tree = sigma.expression.tree
    twice = Expression.from_tree(substitute(tree, {_Z: tree}), letter="z", r=1)
    if growth(twice.tree).is_square_integrable:
        expansion, scale = twice.hermite(2), twice.second_moment().value
        first, second = expansion.coefficient(1), expansion.coefficient(2)
        zero = is_nonzero(first, scale)
        answer = None if zero is None else not zero
        is_rounding = answer and not first.is_zero
        note = ", as small as the rounding of typed constants makes it" if is_rounding else ""
        values: tuple[Estimate | None, Estimate | None] = (first, second)
        why = f"E[sigma(sigma(u)) u] = {shown(first)}{note}"
    else:
        values, answer, scale = (None, None), None, 1.0
        why = "sigma(sigma(u)) grows too fast for a Gaussian integral"
    if bias:
        answer, why = None, f"stated without biases; without them {why}"
    linear = Condition(
        "T5a", "technical", "E[sigma(sigma(u)) u] = 0", decided(answer), values[0], why
    )
    return linear, _quadratic_sign(values[1], scale, found, bias)


def _quadratic_sign(second: Estimate | None, scale: float, found: Chain, bias: float) -> Condition:
    P = found.inners[0]
    root = math.sqrt(2)
    inner = P.coefficient(2)
    inner = Estimate(root * inner.value, root * inner.error, inner.kind)
    value, answer = None, None
    if second is None:
        why = "sigma(sigma(u)) grows too fast for a Gaussian integral"
    else:
        error = abs(second.value) * inner.error + abs(inner.value) * second.error
        error += second.error * inner.error
        kind = roughest(second.kind, inner.kind)
        value = Estimate(second.value * inner.value, error, kind)
        why = f"E[sigma(sigma(u)) He_2(u)] = {shown(second)}, E[P(u) He_2(u)] = {shown(inner)}"
        nonzero = is_nonzero(value, scale * P.null.value)
        answer = None if nonzero is None else nonzero and value.value > 0
    if bias:
        answer, why = None, f"stated without biases; without them {why}"
    if len(found.inners) > 1:
        answer, why = None, f"stated for one inner function; for the lowest one {why}"
    return Condition(
        "T5b",
        "technical",
        "E[sigma(sigma(u)) He_2(u)] E[P(u) He_2(u)] > 0",
        decided(answer),
        value,
        why,
    )


def random_bias_energies(
    activation: Activation | str, degree: int, bias: float = 1.0
) -> tuple[Estimate, ...]:
    r"""Mean squared Hermite coefficients of an activation with a random bias.

    .. math:: \mathbb{E}_b[c_j(b)^2], \qquad c_j(b) = \mathbb{E}_u[\sigma(u + b)\,\mathrm{He}_j(u)],
              \qquad b \sim U(-B, B), \quad j = 0, \dots, k \qquad [DE-10]

    Notes
    -----
    The coefficients are analytic in b, so two Gauss-Legendre rules over b agree to rounding; their
    difference is part of the error.

    Examples
    --------
    >>> [round(e.value, 6) for e in random_bias_energies("relu(z)", 3)]
    [0.30017, 0.293986, 0.118861, 0.030155]
    """
    sigma = Activation(activation) if isinstance(activation, str) else activation
    rules = [_bias_rule(sigma, degree, bias, nodes) for nodes in (24, 16)]
    return tuple(
        Estimate(float(v), float(e + abs(v - coarse)), "quadrature")
        for v, e, coarse in zip(*rules[0], rules[1][0], strict=True)
    )


def _bias_rule(
    sigma: Activation, degree: int, bias: float, nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    value, error = np.zeros(degree + 1), np.zeros(degree + 1)
    for node, weight in zip(*gauss_legendre(nodes), strict=True):
        shift = number(Fraction(float(bias * (2 * node - 1))))
        moved = substitute(sigma.expression.tree, {_Z: add((_Z, shift))})
        expansion = Expression.from_tree(moved, letter="z", r=1).hermite(degree)
        for j in range(degree + 1):
            c = expansion.coefficient(j)
            value[j] += weight * c.value**2
            error[j] += weight * (2 * abs(c.value) * c.error + c.error**2)
    return value, error


def _root(square: Estimate) -> Estimate:
    value = math.sqrt(max(square.value, 0.0))
    error = square.error / value if value**2 > square.error else math.sqrt(square.error)
    return Estimate(value, error, square.kind)

r"""What can be said about the size of an expression without evaluating it.

Intervals that contain every value, and growth: constants such that
:math:`|f(z)| \le C (1+|z|)^p\, e^{a|z| + b|z|^2}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...calculus.polynomial import Polynomial
from .evaluate import constant_value, evaluate_columns
from .functions import FUNCTIONS
from .images import Interval
from .polynomials import polynomial_of
from .tree import (
    Call,
    Node,
    Number,
    Pi,
    Power,
    Product,
    Quotient,
    Sum,
    Variable,
    fold,
    is_constant,
    variables,
)


class Growth(NamedTuple):
    r"""Growth :math:`(1+|z|)^p e^{a|z| + b|z|^2}` of an expression."""

    degree: float = 0.0
    linear: float = 0.0
    quadratic: float = 0.0

    @property
    def is_exponential(self) -> bool:
        """Whether it may grow faster than every polynomial."""
        return self.linear > 0 or self.quadratic > 0

    @property
    def is_square_integrable(self) -> bool:
        """Whether the Gaussian mean of the square is finite for certain."""
        return self.quadratic < 0.25


UNBOUNDED = Growth(math.inf, math.inf, math.inf)
_RADII = np.linspace(48.0, 96.0, 13)


def interval(node: Node, ranges: Mapping[int, Interval] | None = None) -> Interval:
    """Interval that contains every value of a node; infinite ends where nothing better is known.

    `ranges` says between which values variables lie; others take all.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> interval(parse("1 + z1**2*exp(z2)"))
    (1.0, inf)
    """
    known = ranges or {}
    return fold(node, lambda part, parts: _interval(part, parts, known))


def _interval(node: Node, parts: list[Interval], ranges: Mapping[int, Interval]) -> Interval:
    match node:
        case Number() | Pi():
            value = constant_value(node)
            return value, value
        case Variable(index=index):
            return ranges.get(index, (-math.inf, math.inf))
        case Sum():
            return sum(p[0] for p in parts), sum(p[1] for p in parts)
        case Product():
            total = (1.0, 1.0)
            for part in parts:
                total = _times(total, part)
            return total
        case Power(exponent=k):
            low, high = parts[0]
            if k % 2:
                return _power(low, k), _power(high, k)
            smallest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
            return _power(smallest, k), _power(max(abs(low), abs(high)), k)
        case Quotient():
            low, high = parts[1]
            if low <= 0 <= high:
                positive = low == 0
                inverse = (1 / high if high else math.inf, math.inf) if positive else None
                return _times(parts[0], inverse) if inverse else (-math.inf, math.inf)
            return _times(parts[0], (1 / high, 1 / low))
        case Call(name=name):
            if all(low == high for low, high in parts) and is_constant(node):  # such as cos(3)
                value = constant_value(node)
                return value, value
            return FUNCTIONS[name].image(*parts)
        case _:
            raise AssertionError(node)


def _times(left: Interval, right: Interval) -> Interval:
    # 0 * inf = 0: an end that is never reached times zero.
    products = [a * b if a and b else 0.0 for a in left for b in right]
    return min(products), max(products)


def _power(x: float, k: int) -> float:
    try:
        return x**k
    except OverflowError:
        return math.copysign(math.inf, x) if k % 2 else math.inf


def local_infinities(node: Node) -> tuple[bool, bool]:
    """Whether a node without poles may tend to minus or to plus infinity at a finite point.

    Only logarithms do that.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> local_infinities(parse("-2*log(abs(z1))"))
    (False, True)
    """
    return fold(node, _local_infinities)


def _local_infinities(node: Node, parts: list[tuple[bool, bool]]) -> tuple[bool, bool]:
    down, up = any(p[0] for p in parts), any(p[1] for p in parts)
    match node:
        case Call(name="log", arguments=(argument,)):
            return interval(argument)[0] <= 0, up
        case _ if not (down or up):
            return False, False
        case Power(exponent=k) if k % 2 == 0:
            return False, True
        case Product(factors=(Number(value=value), _)):
            return (down, up) if value > 0 else (up, down)
        case Product() | Quotient():
            return True, True
        case Call(name=name) if len(parts) == 1:
            ends = [(-math.inf, 0.0)] * down + [(0.0, math.inf)] * up
            images = [FUNCTIONS[name].image(end) for end in ends]
            return any(i[0] == -math.inf for i in images), any(i[1] == math.inf for i in images)
        case _:
            return down, up


def growth(node: Node) -> Growth:
    """Growth of an expression, from the growth of its parts.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> growth(parse("z1**3*tanh(z2)"))
    Growth(degree=3.0, linear=0.0, quadratic=0.0)
    """
    return fold(node, _growth)


def _growth(node: Node, parts: list[Growth]) -> Growth:
    match node:
        case Variable():
            return Growth(1.0)
        case Sum():
            return _largest(parts)
        case Product():
            return Growth(*(math.fsum(values) for values in zip(*parts, strict=True)))
        case Power(exponent=k):
            return Growth(*(k * value for value in parts[0]))
        case Quotient(numerator=_, denominator=bottom):
            low, high = interval(bottom)
            if low > 0 or high < 0 or is_constant(bottom):
                return parts[0]
            inverse = _numerical_growth(bottom, lambda values: -np.log(np.abs(values)))
            return Growth(*(a + b for a, b in zip(parts[0], inverse, strict=True)))
        case Call(name=name, arguments=arguments):
            function = FUNCTIONS[name]
            largest = _largest(parts)
            if math.isfinite(max(map(abs, function.image(*(interval(a) for a in arguments))))):
                return Growth()
            match function.growing:
                case "like argument":
                    return Growth(*(max(function.degree, 1) * value for value in largest))
                case "root":
                    return Growth(*(value / 2 for value in largest))
                case "logarithm":  # of an exponential it is at most the exponent's degree
                    return Growth(2.0 if largest.is_exponential else 1.0)
                case "exponential":
                    return _growth_of_exponential(arguments[0], largest)
                case _:
                    return Growth()
        case _:
            return Growth()


def _growth_of_exponential(argument: Node, size: Growth) -> Growth:
    if interval(argument)[1] < math.inf or is_constant(argument):
        return Growth()
    if size.is_exponential:
        return UNBOUNDED
    measured = _numerical_growth(argument, lambda values: values, size.degree)
    # Only quadratic forms are wanted: a long polynomial of high degree is not multiplied out.
    polynomial = polynomial_of(argument, max(variables(argument))) if size.degree == 2 else None
    if polynomial is not None and polynomial.degree == 2:
        # The fastest direction of a quadratic form, exactly.
        return measured._replace(
            quadratic=max(0.0, float(np.linalg.eigvalsh(quadratic_form(polynomial)).max()))
        )
    return measured


def quadratic_form(polynomial: Polynomial) -> np.ndarray:
    """Symmetric matrix of the quadratic part."""
    matrix = np.zeros((polynomial.r, polynomial.r))
    for exponents, coefficient in polynomial.coefficients.items():
        if sum(exponents) == 2:
            i, j = (axis for axis, m in enumerate(exponents) for _ in range(m))
            matrix[i, j] += float(coefficient) / 2
            matrix[j, i] += float(coefficient) / 2
    return matrix


def _numerical_growth(
    node: Node, logarithm: Callable[[np.ndarray], np.ndarray], degree: float = math.inf
) -> Growth:
    """Rates of ``exp(v)``, ``v = logarithm(values)``, measured far out along many directions.

    `degree` bounds the growth of v; the rates are the largest of v/R and v/R^2 that were seen, so
    that oscillation does no harm.
    """
    index = variables(node)
    points = _RADII[:, None, None] * directions(len(index))
    values = evaluate_columns(node, lambda i: points[..., index.index(i)])
    with np.errstate(all="ignore"):
        v = np.maximum(logarithm(np.broadcast_to(values, points.shape[:2])), 0.0).max(axis=1)
    if not np.isfinite(v).all():
        return UNBOUNDED
    # A bounded oscillation aside, v = a R + b R^2 quadruples at most when R doubles.
    if degree > 2 and v[-1] > 4.4 * v[:3].max() + 1.0:
        return UNBOUNDED
    quadratic = 0.0
    if degree > 1:
        # Exact for v = a R + b R^2 (then the first is the smaller one), an upper bound otherwise.
        steady = (v[-1] - 2 * v[0]) / (2 * _RADII[0] ** 2)
        wild = float((v / _RADII**2).max())
        smooth = np.allclose(v, v[0] * _RADII / _RADII[0] + steady * _RADII * (_RADII - _RADII[0]))
        quadratic = max(0.0, float(steady)) if smooth else wild
        quadratic = quadratic if quadratic > 1e-3 else 0.0
    linear = float(((v - quadratic * _RADII**2) / _RADII).max())
    return Growth(1.0, max(0.0, linear), quadratic)


@lru_cache(maxsize=16)
def directions(r: int) -> np.ndarray:
    """Unit vectors ``(m, r)``: along the axes and diagonals, and 64 at random (fixed)."""
    rng = np.random.default_rng(20240229)
    corners = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * min(r, 4))).reshape(min(r, 4), -1).T
    corners = np.pad(corners, ((0, 0), (0, r - corners.shape[1])))
    vectors = np.vstack([corners, np.eye(r), -np.eye(r), rng.standard_normal((64, r))])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors[norms[:, 0] > 0] / norms[norms[:, 0] > 0]


def _largest(parts: list[Growth]) -> Growth:
    return Growth(*(max(values) for values in zip(*parts, strict=True)))

r"""Labels with the same level sets, written without the functions that hide them.

What a label reveals depends on its level sets alone. ``tanh(30*z1)**2`` rounds to one on almost the
whole line, so that its values tell nothing, but as a formula it is an increasing function of
:math:`|z_1|`. Such a core is found from the form: a part through which all variables enter, and of
which the rest is an increasing or decreasing function, or an even one that increases or decreases
with the absolute value.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

import numpy as np

from ...calculus.polynomial import Polynomial
from .bounds import interval
from .breaks import kinks, real_roots
from .derivative import derivative
from .functions import FUNCTIONS, call, rebuild, substitute
from .images import Interval
from .polynomials import polynomial_of
from .structure import has_jumps
from .tree import (
    ONE,
    Call,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Variable,
    add,
    children,
    divide,
    fold,
    multiply,
    negate,
    nodes,
    number,
    variables,
)

_HALF = number(Fraction(1, 2))
_ROUNDING = 1e-6  # a root of a slope this close to the end of a range lies on it
_MAX_NODES, _MAX_TERMS = 150, 16


def same_level_sets(node: Node, unknown: Collection[int]) -> Node:
    """Simplest label found with the level sets of a node, other variables being known.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> from gradone.targets.language.printing import text_of
    >>> [text_of(same_level_sets(parse(text), (1, 2))) for text in ("tanh(30*z1*z2)**2", "z1*z2")]
    ['abs(z1*z2)', 'z1*z2']
    >>> text_of(same_level_sets(parse("max(tanh(9*z1), -tanh(9*z1))"), (1,)))
    'abs(z1)'
    """
    if len(nodes(node)) > _MAX_NODES:
        return node
    found = _core(node, unknown)
    if found is None and (plain := with_visible_symmetry(node)) != node:
        found = _core(plain, unknown) or plain
        if len(nodes(found)) >= len(nodes(node)):
            found = None
    if found is None or len(nodes(found)) >= len(nodes(node)):
        return node if found is None else found
    return same_level_sets(found, unknown)


def _core(node: Node, unknown: Collection[int]) -> Node | None:
    """Innermost part, or its absolute value, of which a node is an invertible function."""
    variable = Variable("z", 1 + max(variables(node), default=0))
    for part in _dominators(node, unknown):
        if part == node:
            return None
        outer = substitute(node, {part: variable})
        low, high = interval(part)
        if direction(outer, variable.index, (low, high)):
            return part
        center = _center(outer, variable)
        if center is not None:
            moved = substitute(outer, {variable: add((variable, number(center)))})
            reach = max(high - float(center), float(center) - low)
            if direction(moved, variable.index, (0.0, reach)):
                match part:
                    case Product(factors=(Number(), *factors)) if not center:
                        part = multiply(factors)
                return call("abs", add((part, number(-center))))
    return None


def _dominators(node: Node, unknown: Collection[int]) -> list[Node]:
    """Parts that contain every occurrence of the unknown variables, innermost first.

    A part is one iff all ways from the whole to a variable lead through it; ways are counted.
    """
    order = nodes(node)
    down = {part: int(isinstance(part, Variable) and part.index in unknown) for part in order}
    for part in order:
        down[part] += sum(down[child] for child in children(part))
    up = dict.fromkeys(order, 0)
    up[node] = 1
    for part in reversed(order):
        for child in children(part):
            up[child] += up[part]
    return [part for part in order if down[part] and up[part] * down[part] == down[node]]


def direction(node: Node, index: int, values: Interval) -> int:
    """1 or -1 if a node is proven to increase or decrease with a variable in a range, else 0.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> direction(parse("exp(-z1**2)"), 1, (0.0, math.inf)), direction(parse("sin(z1)"), 1, (0, 3))
    (-1, 0)
    """
    if has_jumps(node):
        return 0
    ranges = {index: values}
    found = _by_parts(node, index, ranges)
    if found is None and variables(node) == (index,):
        found = _by_roots_of_slope(node, index, values)
    if found is None:
        low, high = interval(derivative(node, index), ranges)
        # An analytic function is constant nowhere: its slope may touch zero.
        touches = not kinks(node)
        found = 1 if low > 0 or (touches and low == 0) else None
        found = -1 if high < 0 or (touches and high == 0) else found
    return found or 0


def _by_parts(node: Node, index: int, ranges: dict[int, Interval]) -> int | None:
    """Direction from those of the parts: 0 for a constant, None if nothing is known."""

    def combine(part: Node, found: list[int | None]) -> int | None:
        if isinstance(part, Variable):
            return int(part.index == index)
        if not any(found):
            return None if None in found else 0
        if None in found:
            return None
        ways = [way or 0 for way in found]
        match part:
            case Sum():
                return _common(ways)
            case Product(factors=factors):
                return _of_product([(f, way) for f, way in zip(factors, ways, strict=True)], ranges)
            case Quotient(numerator=top, denominator=bottom) if _side(bottom, ranges):
                return _of_product([(top, ways[0]), (bottom, -ways[1])], ranges)
            case Power(exponent=k) if k % 2:
                return ways[0]
            case Power(base=base) | Call(name="abs", arguments=(base,)):
                side = _side(base, ranges)
                return side * ways[0] if side else None
            case Call(name=name) if FUNCTIONS[name].increasing:
                return _common(ways)
            case Call(name="min" | "max"):
                return _common(ways) if all(ways) else None
            case Call(name="relu" | "gelu", arguments=(argument,)):
                return ways[0] if interval(argument, ranges)[0] >= 0 else None
            case _:
                return None

    return fold(node, combine)


def _common(ways: list[int]) -> int | None:
    """The one direction of all parts that move."""
    (first, *rest) = {way for way in ways if way}
    return None if rest else first


def _side(node: Node, ranges: dict[int, Interval]) -> int:
    """1 or -1 if the values of a node lie on one side of zero, else 0."""
    low, high = interval(node, ranges)
    return 1 if low >= 0 else -1 if high <= 0 else 0


def _of_product(factors: list[tuple[Node, int]], ranges: dict[int, Interval]) -> int | None:
    """Direction of a product: the absolute values of its factors must move the same way."""
    moving = [factor for factor, way in factors if way]
    sides = [_side(factor, ranges) for factor, _ in factors]
    sign = math.prod(sides)
    if len(moving) == 1:  # then its own sign does not matter
        sign = math.prod(s for s, (_, way) in zip(sides, factors, strict=True) if not way)
        return sign * sum(way for _, way in factors) if _is_never_zero(factors, ranges) else None
    if not sign or not _is_never_zero(factors, ranges):
        return None
    common = _common([s * way for s, (_, way) in zip(sides, factors, strict=True)])
    return None if common is None else sign * common


def _is_never_zero(factors: list[tuple[Node, int]], ranges: dict[int, Interval]) -> bool:
    """Whether no constant factor may vanish."""
    bounds = [interval(factor, ranges) for factor, way in factors if not way]
    return all(low > 0 or high < 0 for low, high in bounds)


def _by_roots_of_slope(node: Node, index: int, values: Interval) -> int | None:
    """Direction of a rational function whose slope has no root inside the range."""
    top, bottom = (node.numerator, node.denominator) if isinstance(node, Quotient) else (node, ONE)
    if isinstance(node, Quotient) and not _side(bottom, {index: values}):
        return None
    parts = [substitute(part, {Variable("z", index): Variable("z", 1)}) for part in (top, bottom)]
    p, q = (polynomial_of(part, 1) for part in parts)
    if p is None or q is None:
        return None
    minus = Polynomial.constant(-1, 1)
    slope = p.derivative(0) * q + minus * p * q.derivative(0)  # times q^2
    low, high = (end + sign * _margin(end) for end, sign in zip(values, (1, -1), strict=True))
    roots = real_roots({m: c for (m,), c in slope.coefficients.items()}) if slope.degree else []
    if any(low < x < high for x in roots):
        return None
    at = float(slope([np.array((max(low, -1e6) + min(high, 1e6)) / 2)]))
    return 1 if at > 0 else -1 if at < 0 else None


def _margin(end: float) -> float:
    """How far inside of an end a root counts as one at the end."""
    return _ROUNDING * (1 + abs(end)) if math.isfinite(end) else 0.0


def _center(outer: Node, variable: Variable) -> Fraction | None:
    """Point about which an outer function is even, if it is for certain."""
    if with_visible_symmetry(outer) == with_visible_symmetry(
        substitute(outer, {variable: negate(variable)})
    ):
        return Fraction(0)
    if variables(outer) != (variable.index,):
        return None
    polynomial = polynomial_of(substitute(outer, {variable: Variable("z", 1)}), 1)
    if polynomial is None or polynomial.degree < 2 or polynomial.degree % 2:
        return None
    n, terms = polynomial.degree, polynomial.coefficients
    center = -terms.get((n - 1,), Fraction(0)) / (n * terms[(n,)])
    x = Variable("z", 1)
    moved = polynomial_of(
        add(multiply((number(c), *(add((x, number(center))),) * m)) for (m,), c in terms.items()),
        1,
    )
    is_even = moved is not None and not any(m % 2 for (m,) in moved.coefficients)
    return center if is_even else None


def with_visible_symmetry(node: Node) -> Node:
    r"""The same function, such that equal ones under a change of sign look equal.

    Odd functions of -u are minus those of u; min, max and relu are written with absolute values,
    ``sigmoid`` and ``gelu`` with odd functions; products are multiplied out.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> from gradone.targets.language.printing import text_of
    >>> text_of(with_visible_symmetry(parse("relu(z1) + relu(-z1)")))
    'abs(z1)'
    """

    def combine(part: Node, parts: list[Node]) -> Node:
        if isinstance(part, Product):
            return _multiplied_out(parts)
        if not isinstance(part, Call):
            return rebuild(part, parts) if parts else part
        match part.name:
            case "relu":
                (u,) = parts
                return multiply((_HALF, add((u, combine(Call("abs", (u,)), [u])))))
            case "max" | "min":
                gap = add((parts[0], negate(parts[1])))
                size = combine(Call("abs", (gap,)), [gap])
                sign = ONE if part.name == "max" else number(-1)
                return multiply((_HALF, add((*parts, multiply((sign, size))))))
            case "sigmoid":
                half = combine(Call("tanh", (part,)), [multiply((_HALF, parts[0]))])
                return multiply((_HALF, add((ONE, half))))
            case "gelu":
                (u,) = parts
                inner = divide(u, call("sqrt", number(2)))
                half = multiply((_HALF, u))
                return add((half, multiply((half, combine(Call("erf", (inner,)), [inner])))))
            case "softplus" if _is_negative(parts[0]):
                return add((parts[0], call("softplus", negate(parts[0]))))
        function = FUNCTIONS[part.name]
        if function.parity == "none" or not _is_negative(parts[0]):
            return rebuild(part, parts)
        flipped = call(part.name, negate(parts[0]))
        return flipped if function.parity == "even" else negate(flipped)

    return fold(node, combine)


def _multiplied_out(factors: list[Node]) -> Node:
    """Product as a sum of products, unless that is long."""
    total: list[Node] = [ONE]
    for factor in factors:
        scale, inner = ONE, factor
        match factor:
            case Product(factors=(Number() as scale, Sum() as inner)):
                pass
        terms = inner.terms if isinstance(inner, Sum) else (inner,)
        total = [multiply((scale, left, right)) for left in total for right in terms]
        if len(total) > _MAX_TERMS:
            return multiply(factors)
    return add(total)


def _is_negative(node: Node) -> bool:
    """Whether the first coefficient of a node is negative: true of u or of -u, not of both."""
    match node:
        case Number(value=value) | Product(factors=(Number(value=value), *_)):
            return value < 0
        case Sum(terms=(first, *_)):
            return _is_negative(first)
        case _:
            return False

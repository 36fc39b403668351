"""How an expression splits: into a polynomial and terms whose factors share no variable.

The Gaussian mean of such a term is the product of low-dimensional means, so most targets of the
literature reduce to one-dimensional integrals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...base.errors import OutOfRegime
from ...calculus.integrand import Block, Integrand, Plane, SeparableSum, Term
from ...calculus.polynomial import Polynomial
from .bounds import growth
from .breaks import break_planes, kinks, one_variable_pieces
from .evaluate import evaluate_columns
from .functions import FUNCTIONS, call, substitute
from .lines import sharp_points, thin_layers
from .polynomials import polynomial_of
from .printing import text_of
from .structure import linear_span
from .tree import (
    ONE,
    ZERO,
    Call,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Variable,
    add,
    divide,
    multiply,
    nodes,
    number,
    power,
    variables,
)

MAX_TERMS = 64
_FAST, _FASTEST = 0.3, 0.49  # growth exp(b z^2) from which values overflow; from which all is lost
_Factors = tuple[Node, ...]


def separable_sum(node: Node, r: int) -> SeparableSum:
    """Form of a node that the integration rules work with.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> form = separable_sum(parse("He2(z1) + sign(z1*z2*z3)"), 3)
    >>> form.polynomial.degree, [len(term.blocks) for term in form.terms]
    (2, [3])
    """
    polynomial = Polynomial.constant(0, r)
    terms: dict[_Factors, Fraction] = {}
    # Terms of one block, by its variables, and by its direction if it has only one.
    same: dict[tuple[tuple[int, ...], tuple[float, ...]], list[Node]] = {}
    for coefficient, factors in expand(node):
        part = polynomial_of(multiply((number(coefficient), *factors)), r)
        if part is not None:
            polynomial = polynomial + part
            continue
        groups = _independent(factors)
        if len(groups) == 1:
            block = multiply((number(coefficient), *groups))
            same.setdefault((variables(block), _direction(block, r)), []).append(block)
        else:
            terms[groups] = terms.get(groups, Fraction(0)) + coefficient
    if ((), ()) in same:  # a constant such as pi goes with the first block, or variable 1 alone
        constants = same.pop(((), ()))
        first = min(same, default=((1,), ()))
        same[first] = same.get(first, []) + constants
    for blocks in same.values():
        terms[(add(blocks),)] = Fraction(1)
    return SeparableSum(
        r,
        polynomial,
        tuple(Term(c, tuple(_block(b) for b in blocks)) for blocks, c in terms.items() if c),
    )


def _direction(block: Node, r: int) -> tuple[float, ...]:
    """Direction of a block that depends on one linear form of several variables."""
    span = linear_span(block, r) if len(variables(block)) > 1 else np.zeros((0, r))
    return tuple(float(x) for x in span[0].round(9)) if len(span) == 1 else ()


def expand(node: Node) -> list[tuple[Fraction, _Factors]]:
    """Node as a sum of products; what would give too many terms, or share one variable, stays."""
    terms = _expand(node)
    return [(Fraction(1), (node,))] if len(terms) > MAX_TERMS else terms


def _expand(node: Node) -> list[tuple[Fraction, _Factors]]:
    if isinstance(node, Number):
        return [(node.value, ())]
    atom: list[tuple[Fraction, _Factors]] = [(Fraction(1), (node,))]
    if len(variables(node)) <= 1 and not isinstance(node, Sum | Product):
        return atom
    match node:
        case Sum(terms=terms):
            return [term for part in terms for term in _expand(part)]
        case Product(factors=factors):
            return _distribute([_expand(factor) for factor in factors]) or atom
        case Power(base=base, exponent=k):
            inside = _expand(base)
            return _distribute([inside] * k) if len(inside) ** k <= MAX_TERMS else atom
        case Quotient(numerator=top, denominator=bottom) if top != ONE:
            return _distribute([_expand(top), _expand(divide(ONE, bottom))]) or atom
        case Quotient(denominator=Product(factors=factors)):
            return [(Fraction(1), tuple(divide(ONE, factor) for factor in factors))]
        case Call(name="sign" | "abs" as name, arguments=(Product(factors=factors),)):
            return [(Fraction(1), tuple(call(name, factor) for factor in factors))]
        case Call(name="sign" | "abs" as name, arguments=(Quotient() as inner,)):
            return [(Fraction(1), (call(name, inner.numerator), call(name, inner.denominator)))]
        case Call(name="exp", arguments=(Sum(terms=terms),)):
            # Terms that share a variable stay together: apart, exp(z^4) exp(-2 z^4) overflows.
            return [(Fraction(1), tuple(call("exp", add(group)) for group in _connected(terms)))]
        case _:
            return atom


def _distribute(
    sums: list[list[tuple[Fraction, _Factors]]],
) -> list[tuple[Fraction, _Factors]]:
    """Product of sums multiplied out; empty if that gives too many terms."""
    if math.prod(len(terms) for terms in sums) > MAX_TERMS:
        return []
    total: list[tuple[Fraction, _Factors]] = [(Fraction(1), ())]
    for terms in sums:
        total = [(a * b, f + g) for a, f in total for b, g in terms]
    return total


def _connected(parts: _Factors) -> list[list[Node]]:
    """Groups of parts that share variables, in the order of the variables; constants go first."""
    groups: list[tuple[set[int], list[Node]]] = []
    for part in parts:
        used, members = set(variables(part)), [part]
        for group in [g for g in groups if g[0] & used]:
            used, members = used | group[0], group[1] + members
            groups.remove(group)
        groups.append((used, members))
    groups.sort(key=lambda group: sorted(group[0]))
    # A constant such as pi or sqrt(2) joins the first group.
    constants = [m for used, members in groups if not used for m in members]
    result = [members for used, members in groups if used] or [[]]
    result[0] += constants
    return result


def _independent(factors: _Factors) -> _Factors:
    """Factors multiplied together wherever they share a variable; canonical order."""
    return tuple(multiply(members) for members in _connected(factors))


def _block(node: Node) -> Block:
    index = variables(node) or (1,)
    axes = tuple(i - 1 for i in index)
    local: dict[Node, Node] = {
        part: Variable(part.letter, index.index(part.index) + 1)
        for part in nodes(node)
        if isinstance(part, Variable)
    }
    node = substitute(node, local)
    span = linear_span(node, len(axes)) if len(axes) > 1 else np.zeros((0, 1))
    if len(span) == 1:
        return Block(axes, _along(node, span[0]), tuple(map(float, span[0])))
    return Block(axes, _integrand(node, len(axes)))


def _tilted(node: Node, b: float) -> Node:
    """Node times ``exp(-b z1**2)``, written such that nothing overflows."""
    match node:
        case Sum(terms=terms):
            return add(_tilted(term, b) for term in terms)
        case Power(base=base, exponent=k):
            return power(_tilted(base, b / k), k)
        case Product(factors=factors):
            fastest = max(factors, key=lambda factor: growth(factor).quadratic)
            return multiply(_tilted(f, b) if f is fastest else f for f in factors)
        case Call(name="exp", arguments=(argument,)):
            square = multiply((number(Fraction(-b)), power(Variable("z", 1), 2)))
            return call("exp", add((argument, square)))
        case _:
            return multiply((node, _tilted(call("exp", ZERO), b)))


def _integrand(node: Node, r: int) -> Integrand:
    """Function of variables 1..r with its breaks and growth."""
    planes, is_curved = break_planes(node, r)
    if r > 1 and growth(node).quadratic > _FASTEST:
        raise OutOfRegime(
            f"'{text_of(node)[:60]}' grows almost as fast as the Gaussian density falls, and its "
            "variables do not separate: its integrals are not computed. Use a smaller factor "
            "inside exp"
        )
    tilt = growth(node).quadratic if r == 1 and growth(node).quadratic > _FAST else 0.0
    inner = _tilted(node, tilt) if tilt else node
    result = Integrand(
        lambda columns: evaluate_columns(inner, lambda i: columns[i - 1]),
        r,
        planes,
        is_curved,
        any(FUNCTIONS[part.name].is_singular for part in kinks(node)),
        *growth(node),
        thin=thin_layers(node, r) if r > 1 else (0.0, 0.0),
        tilt=tilt,
    )
    if r > 1:
        return result
    # Where not all breaks are known, those of steep parts still are.
    pieces = None if is_curved else one_variable_pieces(node, result.breaks)
    if pieces is not None:
        return replace(result, pieces=pieces)
    return _with_sharp_points(result, node, np.ones(1))


def _along(node: Node, w: np.ndarray) -> Integrand:
    """One-variable function t -> node(t w)."""
    if growth(node).quadratic > _FAST:
        on_axis: dict[Node, Node] = {
            part: multiply((number(Fraction(float(w[part.index - 1]))), Variable("z", 1)))
            for part in nodes(node)
            if isinstance(part, Variable)
        }
        return _integrand(substitute(node, on_axis), 1)

    def values(columns: Sequence[np.ndarray]) -> np.ndarray:
        return evaluate_columns(node, lambda i: w[i - 1] * columns[0])

    planes, is_curved = break_planes(node, len(w))
    offsets = sorted({plane.offset / float(np.dot(plane.normal, w)) for plane in planes})
    result = Integrand(
        values,
        1,
        tuple(Plane((1.0,), offset) for offset in offsets),
        is_curved,
        any(FUNCTIONS[part.name].is_singular for part in kinks(node)),
        *growth(node),
    )
    return _with_sharp_points(result, node, w)


def _with_sharp_points(f: Integrand, node: Node, w: np.ndarray) -> Integrand:
    """A function of one variable with the places where ``node(t w)`` is steep.

    What lies in layers that are not all known may be missed by the rules.
    """
    points, is_complete = sharp_points(node, w, f.breaks)
    return replace(f, sharp=points, thin=f.thin if is_complete else thin_layers(node, len(w)))

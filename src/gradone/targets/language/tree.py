"""The tree of an expression: immutable nodes, and constructors that keep them in canonical form.

Canonical form: sums and products are flat and sorted, numbers are exact rationals folded into one,
equal terms are collected. Two texts that differ only by order or brackets give the same tree.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

Result = TypeVar("Result")


class Node:
    """Part of an expression. Hash and sort key are computed once, so equal parts are found fast."""

    __slots__ = ("_hash", "_key", "_steps", "_tie")
    fields: ClassVar[tuple[str, ...]] = ()
    rank: ClassVar[int] = 0

    def __init__(self, *values: Any) -> None:
        for name, value in zip(self.fields, values, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", hash((type(self).__name__, values)))
        object.__setattr__(self, "_key", None)
        object.__setattr__(self, "_steps", None)
        object.__setattr__(self, "_tie", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("nodes are immutable")

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self._values())

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(self) is type(other)
            and hash(self) == hash(other)
            and self._values() == other._values()
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._values()))})"


class Number(Node):
    """Exact rational number."""

    __slots__ = ("value",)
    fields = ("value",)
    value: Fraction


class Pi(Node):
    """The number pi."""

    __slots__ = ()
    rank = 1


class Variable(Node):
    """Variable ``letter`` + ``index``, counted from 1."""

    __slots__ = ("index", "letter")
    fields = ("letter", "index")
    rank = 4
    letter: str
    index: int


class Power(Node):
    """Integer power of a node, exponent >= 2."""

    __slots__ = ("base", "exponent")
    fields = ("base", "exponent")
    rank = 5
    base: Node
    exponent: int


class Call(Node):
    """Function of the language applied to its arguments."""

    __slots__ = ("arguments", "name")
    fields = ("name", "arguments")
    rank = 3
    name: str
    arguments: tuple[Node, ...]


class Quotient(Node):
    """Numerator over a denominator that is not a number."""

    __slots__ = ("denominator", "numerator")
    fields = ("numerator", "denominator")
    rank = 6
    numerator: Node
    denominator: Node


class Product(Node):
    """Product of at least two factors; a number comes first, a quotient stands alone with it."""

    __slots__ = ("factors",)
    fields = ("factors",)
    rank = 7
    factors: tuple[Node, ...]


class Sum(Node):
    """Sum of at least two terms; a number, if there is one, comes last."""

    __slots__ = ("terms",)
    fields = ("terms",)
    rank = 8
    terms: tuple[Node, ...]


ZERO, ONE, MINUS_ONE = (Number(Fraction(i)) for i in (0, 1, -1))


def children(node: Node) -> tuple[Node, ...]:
    """Parts of a node, left to right."""
    match node:
        case Sum(terms=parts) | Product(factors=parts) | Call(arguments=parts):
            return parts
        case Power(base=base):
            return (base,)
        case Quotient(numerator=numerator, denominator=denominator):
            return (numerator, denominator)
        case _:
            return ()


def fold(node: Node, combine: Callable[[Node, list[Result]], Result]) -> Result:
    """Value of a node computed from the values of its parts; equal parts are visited once."""
    known: dict[Node, Result] = {}

    def visit(part: Node) -> Result:
        if part not in known:
            known[part] = combine(part, [visit(child) for child in children(part)])
        return known[part]

    return visit(node)


def nodes(node: Node) -> list[Node]:
    """Every different part of a node, parts before the wholes that contain them."""
    found: dict[Node, None] = {}

    def visit(part: Node) -> None:
        if part not in found:
            for child in children(part):
                visit(child)
            found[part] = None

    visit(node)
    return list(found)


def steps(node: Node) -> tuple[tuple[Node, tuple[int, ...]], ...]:
    """Different parts of a node, and for each where its own parts stand among them.

    Computed once: root finding evaluates one node thousands of times on few points.
    """
    if node._steps is None:  # type: ignore[attr-defined]
        place = {part: i for i, part in enumerate(nodes(node))}
        order = tuple((part, tuple(place[child] for child in children(part))) for part in place)
        object.__setattr__(node, "_steps", order)
    return node._steps  # type: ignore[attr-defined]


def number(value: int | Fraction) -> Number:
    """Number node."""
    return Number(Fraction(value))


def sort_key(node: Node) -> tuple[Any, ...]:
    """Order of terms and factors: by kind, then by content; coefficients do not count."""
    if node._key is None:  # type: ignore[attr-defined]
        object.__setattr__(node, "_key", _sort_key(node))
    return node._key  # type: ignore[attr-defined]


def _sort_key(node: Node) -> tuple[Any, ...]:
    match node:
        case Number(value=value):
            return (node.rank, value)
        case Variable(letter=letter, index=index):
            return (node.rank, len(letter), letter, index)  # z before xi
        case Call(name=name, arguments=arguments):
            order = (int(name[2:]), "He") if name.startswith("He") else (13, name)
            return (node.rank, order, tuple(map(sort_key, arguments)))
        case Power(base=base, exponent=exponent):
            return (Power.rank, sort_key(base), exponent)
        case Product(factors=(Number(), single)):
            return sort_key(single)
        case Product(factors=(Number(), *factors)) | Product(factors=factors):
            return (Product.rank, tuple(map(sort_key, factors)))
        case _:
            return (node.rank, tuple(map(sort_key, children(node))))


def _compare(left: tuple[Any, ...], right: tuple[Any, ...]) -> int:
    """Compare two keys whose entries may be of different kinds at the same place."""
    for a, b in zip(left, right, strict=False):
        if a == b:
            continue
        if isinstance(a, tuple) and isinstance(b, tuple):
            return _compare(a, b)
        if type(a) is type(b):
            return -1 if a < b else 1
        return -1 if type(a).__name__ < type(b).__name__ else 1
    return len(left) - len(right)


def _compare_nodes(left: Node, right: Node) -> int:
    return _compare(sort_key(left), sort_key(right)) or _compare(_tie_key(left), _tie_key(right))


def _tie_key(node: Node) -> tuple[Any, ...]:
    """Order of nodes that differ by coefficients only, such as z1 + 2*z2 and z1 + 3*z2."""
    if node._tie is None:  # type: ignore[attr-defined]
        values = fold(node, _numbers_inside)
        object.__setattr__(node, "_tie", (values, repr(node)))
    return node._tie  # type: ignore[attr-defined]


def _numbers_inside(node: Node, parts: list[tuple[Fraction, ...]]) -> tuple[Fraction, ...]:
    return (node.value,) if isinstance(node, Number) else sum(parts, ())


ordered = functools.cmp_to_key(_compare_nodes)


def _coefficient(term: Node) -> tuple[Fraction, Node]:
    """Term split into its rational coefficient and the rest."""
    match term:
        case Number(value=value):
            return value, ONE
        case Product(factors=(Number(value=value), *rest)):
            return value, rest[0] if len(rest) == 1 else Product(tuple(rest))
        case _:
            return Fraction(1), term


def add(parts: Iterable[Node]) -> Node:
    """Sum in canonical form."""
    collected: dict[Node, Fraction] = {}
    for part in parts:
        scale, inner = _coefficient(part)  # a - 2*(b + c) = a - 2*b - 2*c
        for term in inner.terms if isinstance(inner, Sum) else (inner,):
            coefficient, rest = _coefficient(term)
            collected[rest] = collected.get(rest, Fraction(0)) + scale * coefficient
    constant = collected.pop(ONE, Fraction(0))
    terms = [multiply((number(c), rest)) for rest, c in collected.items() if c]
    terms.sort(key=ordered)
    if constant:
        terms.append(number(constant))
    if not terms:
        return ZERO
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def multiply(parts: Iterable[Node]) -> Node:
    """Product in canonical form."""
    return ratio(parts, ())


def divide(numerator: Node, denominator: Node) -> Node:
    """Quotient in canonical form; the denominator must not be the number zero."""
    return ratio((numerator,), (denominator,))


def ratio(tops: Iterable[Node], bottoms: Iterable[Node]) -> Node:
    """Product of `tops` over the product of `bottoms`: a number times one flat quotient."""
    coefficient = Fraction(1)
    exponents: tuple[dict[Node, int], dict[Node, int]] = {}, {}  # above and below the line
    pending = [(part, 1, 0) for part in tops] + [(part, 1, 1) for part in bottoms]
    while pending:
        part, k, side = pending.pop()
        match part:
            case Number(value=value):
                coefficient = coefficient / value**k if side else coefficient * value**k
            case Product(factors=factors):
                pending += [(factor, k, side) for factor in factors]
            case Power(base=base, exponent=exponent):
                pending.append((base, k * exponent, side))
            case Quotient(numerator=top, denominator=bottom):
                pending += [(top, k, side), (bottom, k, 1 - side)]
            case Call(name="exp", arguments=(argument,)) if side:
                # 1/exp(u) = exp(-u): growth and poles of the right-hand side are easy to see.
                pending.append((Call("exp", (negate(argument),)), k, 0))
            case _:
                exponents[side][part] = exponents[side].get(part, 0) + k
    if not coefficient:
        return ZERO
    top, bottom = (_flat_product(side) for side in exponents)
    if top == bottom:
        return number(coefficient)
    whole = top if bottom == ONE else Quotient(top, bottom)
    if coefficient == 1:
        return whole
    factors = whole.factors if isinstance(whole, Product) else (whole,)
    return Product((number(coefficient), *factors))


def _flat_product(exponents: dict[Node, int]) -> Node:
    factors = [base if k == 1 else Power(base, k) for base, k in exponents.items()]
    factors.sort(key=ordered)
    return (Product(tuple(factors)) if len(factors) > 1 else factors[0]) if factors else ONE


def power(base: Node, exponent: int) -> Node:
    """Integer power in canonical form, exponent >= 0."""
    if exponent == 0:
        return ONE
    match base:
        case _ if exponent == 1:
            return base
        case Number(value=value):
            return number(value**exponent)
        case Power() | Product() | Quotient():
            return multiply((base,) * exponent)
        case _:
            return Power(base, exponent)


def negate(node: Node) -> Node:
    """Minus a node."""
    return multiply((MINUS_ONE, node))


def variables(node: Node) -> tuple[int, ...]:
    """Indices of the variables that occur, in increasing order."""
    return tuple(sorted({part.index for part in nodes(node) if isinstance(part, Variable)}))


def is_constant(node: Node) -> bool:
    """Whether no variable occurs."""
    return not any(isinstance(part, Variable) for part in nodes(node))

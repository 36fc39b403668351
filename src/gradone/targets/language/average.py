r"""Gaussian means over one variable, as formulas of the others.

.. math:: \bar g(z) = \mathbb{E}_\xi\, g(z, \xi), \qquad \xi \sim N(0, 1) \qquad [LN-1]

Terms and factors without the variable come out of the mean, polynomials in it have exact moments,
and most functions of the language have closed means of a linear form :math:`h + c\,\xi`. What is
left and smooth becomes a sum over equally spaced values, whose error falls exponentially with
their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...base.errors import OutOfRegime
from .bounds import interval
from .evaluate import constant_value, evaluate_columns
from .expression import Expression
from .functions import FUNCTIONS, call, hermite_polynomial, substitute
from .printing import text_of
from .tree import (
    ONE,
    ZERO,
    Call,
    Node,
    Number,
    Pi,
    Power,
    Product,
    Quotient,
    Sum,
    Variable,
    add,
    divide,
    is_constant,
    multiply,
    negate,
    nodes,
    number,
    power,
    variables,
)

_REACH = 9  # the Gaussian weight beyond is 1e-19
_COUNTS = (16, 24, 32, 48, 64, 96, 144, 192)  # values of a smooth mean
_TWO_PI = multiply((number(2), Pi()))
_SMALL = 1e-10  # error that a smooth mean may have, in parts of the typical value


@lru_cache(maxsize=256)
def averaged(expression: Expression, r: int) -> Expression:
    """Mean of an expression over all its variables behind the first r [LN-1].

    Raises
    ------
    OutOfRegime
        If the mean has jumps or kinks that no formula of this file covers.

    Examples
    --------
    >>> averaged(Expression("sign(z1 + sqrt(0.5)*z2)"), 1).canonical
    'erf(z1)'
    >>> averaged(Expression("z1*z2**4 + exp(z1 + z2)"), 1).canonical
    'exp(z1 + 0.5) + 3*z1'
    """
    tree = expression.tree
    for index in reversed([i for i in variables(tree) if i > r]):
        tree = _mean(tree, index)
    return Expression.from_tree(tree, letter=expression.letter, r=r)


def _depends(node: Node, index: int) -> bool:
    return index in variables(node)


def _mean(node: Node, index: int) -> Node:
    """Mean of a node over a variable."""
    if not _depends(node, index):
        return node
    if variables(node) == (index,):
        return _alone(node, index)
    match node:
        case Sum(terms=terms):
            kept = [term for term in terms if not _depends(term, index)]
            moving = [term for term in terms if _depends(term, index)]
            return add([*kept, *(_mean(term, index) for term in moving)])
        case Product(factors=factors):
            kept = [part for part in factors if not _depends(part, index)]
            if kept:
                moving = [part for part in factors if _depends(part, index)]
                return multiply([*kept, _mean(multiply(moving), index)])
        case Quotient(numerator=top, denominator=bottom) if not _depends(bottom, index):
            return divide(_mean(top, index), bottom)
    factors = node.factors if isinstance(node, Product) else (node,)
    split = multiply(_split(part) for part in factors)
    if split != node:
        return _mean(split, index)
    found = _half_line(factors, index)
    if found is None and isinstance(node, Call) and node.name in _CLOSED:
        line = _polynomial(node.arguments[0], index)
        if line is not None and set(line) <= {0, 1}:
            found = _CLOSED[node.name](line.get(0, ZERO), line[1])
    return _summed(node, index) if found is None else found


def _moment(k: int) -> int:
    """Moment of order k of a standard Gaussian: (k - 1)!! for even k."""
    return 0 if k % 2 else math.prod(range(1, k, 2))


def _alone(node: Node, index: int) -> Node:
    """Mean of a function of the variable alone: a number."""
    letter = next(p.letter for p in nodes(node) if isinstance(p, Variable))
    tree = substitute(node, {Variable(letter, index): Variable(letter, 1)})
    mean = Expression.from_tree(tree, letter=letter).mean()
    if mean.error > 1e-9 * max(1.0, abs(mean.value)):
        raise _refusal(node)
    exact = Fraction(mean.value).limit_denominator(10**4)
    is_exact = abs(float(exact) - mean.value) <= 2 * mean.error + 1e-15
    return number(exact if is_exact else Fraction(f"{mean.value:.15f}"))


def _split(node: Node) -> Node:
    """The same function, almost everywhere, with signs of products and their powers taken apart."""
    match node:
        case Power(base=Call(name="sign") as base, exponent=k):
            return _split(base) if k % 2 else ONE
        case Power(base=Call(name="step") as base):
            return base
        case Power(base=base, exponent=k) if _split(base) != base:
            return multiply([_split(base)] * k)
        case Call(name="abs", arguments=(u,)):
            return multiply((u, _split(call("sign", u))))
        case Call(name="relu", arguments=(u,)):
            return multiply((u, call("step", u)))
        case Call(name="sign", arguments=(Product(factors=parts),)):
            return multiply(_split(call("sign", part)) for part in parts)
        case Call(name="sign", arguments=(Power(base=base, exponent=k),)):
            return _split(power(call("sign", base), k))
        case Call(name="sign", arguments=(Quotient(numerator=top, denominator=bottom),)):
            return multiply((_split(call("sign", top)), _split(call("sign", bottom))))
        case Call(name="max" | "min" as name, arguments=(u, v)):
            gap = call("abs", add((u, negate(v))))
            return divide(add((u, v, gap if name == "max" else negate(gap))), number(2))
        case _:
            return node


def _polynomial(node: Node, index: int) -> dict[int, Node] | None:
    """Coefficients of a node as a polynomial in a variable, else None."""
    if not _depends(node, index):
        return {0: node}
    match node:
        case Variable():
            return {1: ONE}
        case Sum(terms=parts) | Product(factors=parts):
            found = [_polynomial(part, index) for part in parts]
            known = [p for p in found if p is not None]
            if len(known) < len(found):
                return None
            if isinstance(node, Sum):
                degrees = sorted({k for p in known for k in p})
                return {k: add(p[k] for p in known if k in p) for k in degrees}
            return _product(known)
        case Quotient(numerator=top, denominator=bottom) if not _depends(bottom, index):
            above = _polynomial(top, index)
            return above and {k: divide(c, bottom) for k, c in above.items()}
        case Power(base=base, exponent=k):
            inner = _polynomial(base, index)
            return None if inner is None else _product([inner] * k)
        case Call(name=name, arguments=(argument,)) if FUNCTIONS[name].degree:
            inner = _polynomial(argument, index)
            if inner is None:
                return None
            terms = [
                _product([{0: number(c)}, *[inner] * k])
                for k, c in enumerate(hermite_polynomial(FUNCTIONS[name].degree))
                if c
            ]
            degrees = sorted({k for p in terms for k in p})
            return {k: add(p[k] for p in terms if k in p) for k in degrees}
        case _:
            return None


def _product(parts: list[dict[int, Node]]) -> dict[int, Node]:
    total: dict[int, Node] = {0: ONE}
    for part in parts:
        found: dict[int, list[Node]] = {}
        for i, a in total.items():
            for j, b in part.items():
                found.setdefault(i + j, []).append(multiply((a, b)))
        total = {k: add(terms) for k, terms in found.items()}
    return total


# ---- closed means


def _half_line(factors: tuple[Node, ...], index: int) -> Node | None:
    r"""Mean of a polynomial, or of one times ``step`` or ``sign`` of a line :math:`h + c\,\xi`.

    With :math:`t = -h/c`, the moments on the half line are :math:`M_0 = \Phi(-t)`,
    :math:`M_1 = \varphi(t)`, :math:`M_k = (k-1) M_{k-2} + t^{k-1} \varphi(t)`.
    """
    jumps = [p for p in factors if isinstance(p, Call) and p.name in ("sign", "step")]
    rest = [_polynomial(part, index) for part in factors if part not in jumps]
    known = [p for p in rest if p is not None]
    if len(known) < len(rest) or len(jumps) > 1:
        return None
    polynomial = _product(known)
    whole = add(multiply((number(_moment(k)), p)) for k, p in polynomial.items())
    if not jumps:
        return whole
    line = _polynomial(jumps[0].arguments[0], index)
    if line is None or set(line) - {0, 1}:
        return None
    h, c, side = line.get(0, ZERO), line[1], _side(line[1])
    if side is None:
        return None
    # A negative slope is that of -xi.
    polynomial = {k: multiply((number(side**k), p)) for k, p in polynomial.items()}
    t = negate(divide(h, multiply((number(side), c))))
    erf = call("erf", _over(h, multiply((number(side), c))))
    bell = divide(call("exp", divide(power(t, 2), number(-2))), call("sqrt", _TWO_PI))
    moments: list[Node] = [divide(add((ONE, erf)), number(2)), bell]
    for k in range(2, max(polynomial) + 1):
        tail = multiply((power(t, k - 1), bell))
        moments.append(add((multiply((number(k - 1), moments[k - 2])), tail)))
    above = add(multiply((p, moments[k])) for k, p in polynomial.items())
    if jumps[0].name == "step":
        return above
    return add((multiply((number(2), above)), negate(whole)))


def _side(c: Node) -> int | None:
    """Sign of a slope that is surely not zero."""
    if is_constant(c):
        return 1 if constant_value(c) > 0 else -1
    low, high = interval(c)
    return 1 if low > 0 else -1 if high < 0 else None


def _over(h: Node, c: Node) -> Node:
    """Quotient h / (sqrt(2) c) for c > 0, with one root of a rational number where c is one."""
    match multiply((number(2), power(c, 2))):
        case Number(value=value):
            square = value
        case Product(
            factors=(
                Number(value=value),
                Power(base=Call(name="sqrt", arguments=(Number(value=inside),)), exponent=2),
            )
        ):
            square = value * inside
        case _:
            return divide(h, multiply((call("sqrt", number(2)), c)))
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return divide(h, number(root) if root**2 == square else call("sqrt", number(square)))


def _mean_exp(h: Node, c: Node) -> Node:
    return call("exp", add((h, divide(power(c, 2), number(2)))))


def _mean_wave(name: str) -> Callable[[Node, Node], Node]:
    def mean(h: Node, c: Node) -> Node:
        return multiply((call("exp", divide(power(c, 2), number(-2))), call(name, h)))

    return mean


def _mean_erf(h: Node, c: Node) -> Node:
    width = call("sqrt", add((ONE, multiply((number(2), power(c, 2))))))
    return call("erf", divide(h, width))


_CLOSED: dict[str, Callable[[Node, Node], Node]] = {
    "exp": _mean_exp,
    "sin": _mean_wave("sin"),
    "cos": _mean_wave("cos"),
    "erf": _mean_erf,
}


# ---- smooth means


@np.errstate(invalid="ignore")  # what is infinite somewhere is refused below
def _summed(node: Node, index: int) -> Node:
    """Mean of a smooth function as a sum over equally spaced values of the variable."""
    letter = next(p.letter for p in nodes(node) if isinstance(p, Variable))
    xi = Variable(letter, index)
    cloud = np.random.default_rng(17).standard_normal((256, max(variables(node))))
    cloud[::2] *= 2.0
    size = max(float(np.abs(_sum_at(node, index, cloud, 16)).max()), 1e-100)
    before = _sum_at(node, index, cloud, _COUNTS[0])
    for count in _COUNTS[1:]:
        now = _sum_at(node, index, cloud, count)
        if np.abs(now - before).max() <= _SMALL * size:
            break
        before = now
    else:
        raise _refusal(node)
    terms = [multiply((number(w), substitute(node, {xi: number(x)}))) for x, w in _rule(count)]
    return add(terms)


def _rule(count: int) -> list[tuple[Fraction, Fraction]]:
    """Equally spaced values and Gaussian weights that add up to one, as short decimals."""
    values = [Fraction(2 * _REACH * i, count) - _REACH for i in range(count + 1)]
    weights = [math.exp(-0.5 * float(x) ** 2) for x in values]
    total = math.fsum(weights)
    rule = [(x, Fraction(f"{w / total:.18f}")) for x, w in zip(values, weights, strict=True)]
    return [(x, w) for x, w in rule if w]


def _sum_at(node: Node, index: int, cloud: np.ndarray, count: int) -> np.ndarray:
    total = np.zeros(len(cloud))
    for x, w in _rule(count):
        at = {index: float(x)}
        total += float(w) * evaluate_columns(node, lambda i: at.get(i, cloud[:, i - 1]))  # noqa: B023
    return total


def _refusal(node: Node) -> OutOfRegime:
    text = text_of(node)
    return OutOfRegime(
        f"the mean of '{text if len(text) <= 60 else text[:57] + '...'}' over the latent noise has "
        "no formula that gradone knows: the noise stands inside a jump, a kink or a steep slope, "
        "but not linearly with a coefficient that never vanishes. Sampling works without it"
    )

"""The functions of the language: one table, everything that gradone knows about each of them.

To add a function, add one entry to `FUNCTIONS`; parser, evaluation, derivative, LaTeX, compiled
code, break points and growth all read it from there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ...base.arrays import apply_elementwise
from .function import Function
from .images import Interval, wave_image
from .signs import certain_sign
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
    add,
    divide,
    fold,
    multiply,
    negate,
    number,
    ordered,
    power,
)

MAX_HERMITE = 12


def call(name: str, *arguments: Node) -> Node:
    """Function applied to nodes, in canonical form: rational values are folded."""
    function = FUNCTIONS[name]
    if name == "He0":
        return ONE
    if name == "He1":
        return arguments[0]
    if function.exact and all(isinstance(argument, Number) for argument in arguments):
        return number(function.exact(*(argument.value for argument in arguments)))  # type: ignore[attr-defined]
    if name in ("min", "max"):
        return _extremum(name, arguments)
    # A positive argument may underflow to zero.
    if name in ("sign", "step") and (certain := certain_sign(arguments[0])):
        return number(certain if name == "sign" else max(certain, 0))
    return Call(name, arguments)


def _extremum(name: str, arguments: tuple[Node, ...]) -> Node:
    """Minimum or maximum of all arguments, nested ones included, in canonical order."""
    leaves: dict[Node, None] = {}
    pending = list(arguments)
    while pending:
        part = pending.pop()
        if isinstance(part, Call) and part.name == name:
            pending += part.arguments
        else:
            leaves[part] = None
    first, *rest = sorted(leaves, key=ordered, reverse=True)
    for part in rest:
        first = Call(name, (part, first))
    return first


def rebuild(node: Node, parts: list[Node]) -> Node:
    """Node of the same kind with other parts, in canonical form."""
    match node:
        case Sum():
            return add(parts)
        case Product():
            return multiply(parts)
        case Power(exponent=exponent):
            return power(parts[0], exponent)
        case Quotient():
            return divide(*parts)
        case Call(name=name):
            return call(name, *parts)
        case _:
            return node


def substitute(node: Node, values: dict[Node, Node]) -> Node:
    """Node with parts replaced, rebuilt in canonical form."""
    return fold(node, lambda part, parts: values[part] if part in values else rebuild(part, parts))


def hermite_polynomial(k: int) -> list[int]:
    """Coefficients of the probabilists' Hermite polynomial He_k, lowest degree first.

    Examples
    --------
    >>> hermite_polynomial(4)
    [3, 0, -6, 0, 1]
    """
    previous, current = [0], [1]
    for j in range(k):
        shifted = [0, *current]
        previous, current = (
            current,
            [a - j * b for a, b in itertools.zip_longest(shifted, previous, fillvalue=0)],
        )
    return current


def _hermite(k: int) -> Function:
    coefficients = hermite_polynomial(k)
    in_square = coefficients[k % 2 :: 2]  # He_k(x) = x^(k mod 2) p(x^2)

    def evaluate(xp: Any, x: Any) -> Any:
        square = x * x
        value = square + float(in_square[-2]) if len(in_square) > 1 else xp.ones_like(x)
        for coefficient in reversed(in_square[:-2]):
            value = value * square + float(coefficient)
        return value * x if k % 2 else value

    def exact(x: Fraction) -> Fraction:
        value = Fraction(0)
        for coefficient in reversed(coefficients):
            value = value * x + coefficient
        return value

    # Lowest value of an even He_k: all its extrema are roots of He_(k-1).
    roots = np.polynomial.hermite_e.hermeroots([0] * (k - 1) + [1]) if k >= 2 else np.zeros(1)
    values = np.polynomial.hermite_e.hermeval(roots, [0] * k + [1])
    lowest = float(values.min()) * (1 + 1e-9) if k % 2 == 0 and k else -math.inf

    def image(u: Interval) -> Interval:
        if max(abs(u[0]), abs(u[1])) > 1e12:
            return lowest, math.inf
        reach = max(abs(u[0]), abs(u[1]))
        bound = sum(abs(c) * reach**i for i, c in enumerate(coefficients))
        return max(lowest, -bound), bound

    horner = str(in_square[-1])
    for coefficient in reversed(in_square[:-1]):
        horner = f"({horner} * ({{0}} * {{0}}) + {coefficient})"
    return Function(
        latex=rf"\mathrm{{He}}_{{{k}}}\left(#1\right)",
        evaluate=evaluate,
        source=f"({{0}} * {horner})" if k % 2 else f"({horner})",
        derivatives=(lambda u: multiply((number(k), call(f"He{k - 1}", u))) if k else ZERO,),
        image=image,
        growing="like argument",
        parity="odd" if k % 2 else "even",
        degree=k,
        exact=exact,
    )


def _special(name: str) -> Callable[[Any, Any], Any]:
    """Function of scipy.special (or of torch.special) on arrays of any library."""

    def evaluate(xp: Any, x: Any) -> Any:
        if xp is np:
            import scipy.special

            return getattr(scipy.special, name)(x)
        special = getattr(xp, "special", None)  # torch
        if special is not None:
            return getattr(special, name)(x)
        return apply_elementwise(lambda values: evaluate(np, values), x)

    return evaluate


_erf, _erfc = _special("erf"), _special("erfc")


def _rational(text: str) -> Number:
    return number(Fraction(text))


def _monotone(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    return lambda u: (function(u[0]), function(u[1]))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _sqrt_pi() -> Node:
    return call("sqrt", Pi())


def _sigmoid(x: float) -> float:
    return 0.5 * (1.0 + math.tanh(0.5 * x))


def _step(xp: Any, x: Any) -> Any:
    """One where x > 0, zero elsewhere; what is not a number stays none."""
    values = xp.astype(x > 0, x.dtype)
    missing = xp.isnan(x)
    return xp.where(missing, x, values) if bool(xp.any(missing)) else values


def _sign(x: Any) -> int:
    return (x > 0) - (x < 0)


def _simple(name: str) -> str:
    return rf"\{name}\left(#1\right)"


def _word(name: str) -> str:
    return rf"\operatorname{{{name}}}\left(#1\right)"


def _extreme(
    name: str, order: str, choose: Callable[..., Any], later: Callable[[Node, Node], Node]
) -> Function:
    """The functions max and min; `later` is positive where the second argument is chosen."""

    def second(u: Node, v: Node) -> Node:
        return call("step", later(u, v))

    return Function(
        latex=_simple(name),
        evaluate=lambda xp, x, y: getattr(xp, f"{name}imum")(x, y),
        source=f"({{0}} if {{0}} {order} {{1}} or {{0}} != {{0}} else {{1}})",
        # One slope always counts: max(z, relu(z)) has ties in a whole region.
        derivatives=(lambda u, v: add((ONE, negate(second(u, v)))), second),
        image=lambda u, v: (choose(u[0], v[0]), choose(u[1], v[1])),
        growing="like argument",
        homogeneity=1,
        branches=lambda u, v: (u, v),
        breaks_at=lambda u, v: add((u, negate(v))),
        exact=choose,
    )


def _even_bound(u: Interval) -> Interval:
    low, high = abs(u[0]), abs(u[1])
    return (0.0 if u[0] <= 0 <= u[1] else min(low, high)), max(low, high)


FUNCTIONS: dict[str, Function] = {f"He{k}": _hermite(k) for k in range(MAX_HERMITE + 1)} | {
    "abs": Function(
        latex=r"\left|#1\right|",
        evaluate=lambda xp, x: xp.abs(x),
        source="abs({0})",
        derivatives=(lambda u: call("sign", u),),
        image=_even_bound,
        growing="like argument",
        parity="even",
        homogeneity=1,
        branches=lambda u: (u, negate(u)),
        breaks_at=lambda u: u,
        exact=abs,
        zeros="argument",
    ),
    "cos": Function(
        latex=_simple("cos"),
        evaluate=lambda xp, x: xp.cos(x),
        source="math.cos({0})",
        derivatives=(lambda u: negate(call("sin", u)),),
        image=lambda u: wave_image(math.cos, 0.0, u),
        growing="bounded",
        parity="even",
    ),
    "erf": Function(
        latex=_word("erf"),
        evaluate=_erf,
        source="math.erf({0})",
        derivatives=(
            lambda u: divide(
                multiply((number(2), call("exp", negate(power(u, 2))))),
                _sqrt_pi(),
            ),
        ),
        image=_monotone(math.erf),
        growing="bounded",
        parity="odd",
        zeros="argument",
        increasing=True,
    ),
    "exp": Function(
        latex=_simple("exp"),
        evaluate=lambda xp, x: xp.exp(x),
        source="math.exp({0})",
        derivatives=(lambda u: call("exp", u),),
        image=_monotone(_exp),
        growing="exponential",
        zeros="never",
        increasing=True,
    ),
    "gelu": Function(
        latex=_word("gelu"),
        # Through the complementary function: 1 + erf has no digits left below -8.
        evaluate=lambda xp, x: 0.5 * x * _erfc(xp, -x * math.sqrt(0.5)),
        source="(0.5 * {0} * math.erfc({0} * -0.7071067811865476))",
        derivatives=(
            # Phi(u) + u phi(u)
            lambda u: add(
                (
                    _rational("1/2"),
                    divide(call("erf", divide(u, call("sqrt", number(2)))), number(2)),
                    divide(
                        multiply((u, call("exp", divide(power(u, 2), number(-2))))),
                        call("sqrt", multiply((number(2), Pi()))),
                    ),
                )
            ),
        ),
        image=lambda u: (-0.17 if u[0] < 0 else 0.0, max(u[1], 0.0)),
        growing="like argument",
        zeros="argument",
    ),
    "log": Function(
        latex=_simple("log"),
        evaluate=lambda xp, x: xp.log(x),
        source="math.log({0})",
        derivatives=(lambda u: divide(ONE, u),),
        image=_monotone(lambda x: math.log(x) if x > 0 else -math.inf),
        growing="logarithm",
        breaks_at=lambda u: u,
        is_singular=True,
        increasing=True,
    ),
    "max": _extreme("max", ">", max, lambda u, v: add((v, negate(u)))),
    "min": _extreme("min", "<", min, lambda u, v: add((u, negate(v)))),
    "relu": Function(
        latex=_word("relu"),
        evaluate=lambda xp, x: xp.clip(x, 0.0, None),
        source="(0.0 if {0} <= 0.0 else {0})",
        derivatives=(lambda u: call("step", u),),
        image=lambda u: (max(u[0], 0.0), max(u[1], 0.0)),
        growing="like argument",
        homogeneity=1,
        branches=lambda u: (u, ZERO),
        breaks_at=lambda u: u,
        exact=lambda x: max(x, Fraction(0)),
    ),
    "sigmoid": Function(
        latex=_word("sigmoid"),
        evaluate=lambda xp, x: 1.0 / (1.0 + xp.exp(-x)),
        source="(1.0 / (1.0 + math.exp(-{0})))",
        derivatives=(
            lambda u: multiply((call("sigmoid", u), add((ONE, negate(call("sigmoid", u)))))),
        ),
        image=_monotone(_sigmoid),
        growing="bounded",
        zeros="never",
        increasing=True,
    ),
    "sign": Function(
        latex=_word("sign"),
        evaluate=lambda xp, x: xp.sign(x),
        source="(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else 0.0 * {0}))",
        derivatives=(lambda u: ZERO,),  # away from the jump
        image=lambda u: (float(_sign(u[0])), float(_sign(u[1]))),
        growing="bounded",
        parity="odd",
        homogeneity=0,
        branches=lambda u: (ONE, ZERO, number(-1)),
        breaks_at=lambda u: u,
        exact=lambda x: Fraction(_sign(x)),
        zeros="argument",
    ),
    "sin": Function(
        latex=_simple("sin"),
        evaluate=lambda xp, x: xp.sin(x),
        source="math.sin({0})",
        derivatives=(lambda u: call("cos", u),),
        image=lambda u: wave_image(math.sin, math.pi / 2, u),
        growing="bounded",
        parity="odd",
    ),
    "softplus": Function(
        latex=_word("softplus"),
        evaluate=lambda xp, x: xp.logaddexp(x, xp.zeros_like(x)),
        source="(max({0}, 0.0) + math.log1p(math.exp(-abs({0}))))",
        derivatives=(lambda u: call("sigmoid", u),),
        image=_monotone(lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x)))),
        growing="like argument",
        zeros="never",
        increasing=True,
    ),
    "sqrt": Function(
        latex=r"\sqrt{#1}",
        # A negative argument is refused when the text is read: what is left is rounding.
        evaluate=lambda xp, x: xp.sqrt(xp.clip(x, 0.0, None)),
        source="math.sqrt(0.0 if {0} <= 0.0 else {0})",
        derivatives=(lambda u: divide(ONE, multiply((number(2), call("sqrt", u)))),),
        image=_monotone(lambda x: math.sqrt(max(x, 0.0))),
        growing="root",
        homogeneity=0.5,
        breaks_at=lambda u: u,
        is_singular=True,
        zeros="argument",
        increasing=True,
    ),
    "step": Function(
        latex=_word("step"),
        evaluate=_step,
        source="(1.0 if {0} > 0.0 else (0.0 if {0} <= 0.0 else {0}))",
        derivatives=(lambda u: ZERO,),  # away from the jump
        image=lambda u: (float(u[0] > 0), float(u[1] > 0)),
        growing="bounded",
        homogeneity=0,
        branches=lambda u: (ONE, ZERO),
        breaks_at=lambda u: u,
        exact=lambda x: Fraction(int(x > 0)),
    ),
    "tanh": Function(
        latex=_simple("tanh"),
        evaluate=lambda xp, x: xp.tanh(x),
        source="math.tanh({0})",
        derivatives=(lambda u: add((ONE, negate(power(call("tanh", u), 2)))),),
        image=_monotone(math.tanh),
        growing="bounded",
        parity="odd",
        zeros="argument",
        increasing=True,
    ),
}

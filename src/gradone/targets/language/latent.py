r"""Latent noise: labels :math:`y = g(z, \xi)` whose noise stands inside the formula.

Inside the package a function of r directions and q latent variables is one expression of r + q
variables, ``z1 ... zr`` first. This file reads it from text and writes it back.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...base.errors import TargetError
from .admissible import check_admissible
from .evaluate import constant_value
from .expression import Expression
from .functions import substitute
from .parser import LATENT, parse
from .printing import latex_of, text_of
from .tree import (
    Call,
    Node,
    Number,
    Product,
    Sum,
    Variable,
    add,
    is_constant,
    multiply,
    negate,
    nodes,
)

_FEW = 3  # numberings of up to three latent variables are all compared


@dataclass(frozen=True)
class Formula:
    """Function of a target as it was typed.

    Parameters
    ----------
    joint : Expression
        The function of z and, behind them, of the latent variables.
    r, q : int
        Numbers of directions and of latent variables.
    noise : float
        Variance of latent noise that was added to everything else.
    text : str
        The text; where latent variables were renumbered or reflected, its canonical form.
    canonical, latex : str
        Canonical text and LaTeX.
    """

    joint: Expression
    r: int
    q: int
    noise: float
    text: str
    canonical: str
    latex: str


def read_formula(text: str) -> Formula:
    r"""Function of a target from its text.

    Latent variables are numbered from 1 in the order of the canonical text, and their first
    coefficient is positive: :math:`\xi` and :math:`-\xi` have one law. A term ``c*xi`` whose
    variable stands nowhere else is label noise of variance c**2.

    Examples
    --------
    >>> formula = read_formula("sign(z1*z2 - 0.3*xi2) + xi1/2")
    >>> formula.canonical, formula.r, formula.q, formula.noise
    ('sign(3*xi1/10 + z1*z2)', 2, 1, 0.25)
    """
    tree = parse(text, latent=True)
    if not _latent(tree):
        return formula_of(Expression(text))
    seen = [p.index for p in nodes(tree) if isinstance(p, Variable) and p.letter != LATENT]
    if not seen:
        raise TargetError(
            f"'{text.strip()}' depends on latent noise alone; the target must depend on z1, z2, ..."
        )
    r = max(seen)
    try:
        check_admissible(_joint(tree, r), text)
    except TargetError as error:
        raise TargetError(with_latent_names(str(error), r)) from None
    rest, noise = without_added_noise(tree, _latent(tree))
    named = _canonical(rest)
    text = text.strip() if named == tree else text_of(named)
    q = len(_latent(named))
    joint = Expression.from_tree(_joint(named, r), r=r + q)
    return Formula(joint, r, q, noise, text, text_of(named), latex_of(named))


def formula_of(expression: Expression, latent: int = 0) -> Formula:
    """Formula of an expression whose last variables are latent noise."""
    r = expression.r - latent
    names: dict[Node, Node] = {
        Variable(expression.letter, r + i): Variable(LATENT, i) for i in range(1, latent + 1)
    }
    tree = substitute(expression.tree, names)
    text = text_of(tree) if latent else expression.text
    return Formula(expression, r, latent, 0.0, text, text_of(tree), latex_of(tree))


def _latent(tree: Node) -> list[Variable]:
    found = [p for p in nodes(tree) if isinstance(p, Variable) and p.letter == LATENT]
    return sorted(found, key=lambda variable: variable.index)


def _joint(tree: Node, r: int) -> Node:
    """The same function with latent variables as variables behind the r others."""
    return substitute(tree, {v: Variable("z", r + i) for i, v in enumerate(_latent(tree), start=1)})


def with_latent_names(message: str, r: int) -> str:
    """Message about a joint function in the words of the text."""
    return re.sub(
        r"\bz(\d+)\b",
        lambda m: f"{LATENT}{int(m[1]) - r}" if int(m[1]) > r else m[0],
        message,
    )


# ---- label noise


def without_added_noise(tree: Node, latent: Sequence[Variable]) -> tuple[Node, float]:
    """Function without the terms ``c*xi`` that are noise of the whole label, and their variance.

    Examples
    --------
    >>> tree, variance = without_added_noise(parse("z1*z2 + z3/2 + z3"), [Variable("z", 3)])
    >>> text_of(tree), variance
    ('z1*z2', 2.25)
    """
    whole = add((tree,))  # (z1 + xi)/2 is z1/2 + xi/2
    terms = whole.terms if isinstance(whole, Sum) else (whole,)
    kept: list[Node] = []
    variance: Fraction | float = Fraction(0)
    for i, term in enumerate(terms):
        scale, xi = _scale(term), next((v for v in latent if v in nodes(term)), None)
        elsewhere = any(xi in nodes(other) for j, other in enumerate(terms) if j != i)
        if scale is None or xi is None or elsewhere:
            kept.append(term)
        else:
            variance = variance + _square(scale)
    if len(kept) == len(terms):
        return tree, 0.0
    return add(kept), float(variance)


def _scale(term: Node) -> Node | None:
    """The constant c of a term that is a variable times c, else None."""
    factors = term.factors if isinstance(term, Product) else (term,)
    moving = [part for part in factors if not is_constant(part)]
    if len(moving) != 1 or not isinstance(moving[0], Variable):
        return None
    return multiply(part for part in factors if is_constant(part))


def _square(constant: Node) -> Fraction | float:
    """Square of a constant, exact for rational numbers and their roots."""
    factors = constant.factors if isinstance(constant, Product) else (constant,)
    result: Fraction | float = Fraction(1)
    for part in factors:
        match part:
            case Number(value=value):
                result = result * value**2
            case Call(name="sqrt", arguments=(Number(value=value),)):
                result = result * value
            case _:
                result = result * constant_value(part) ** 2
    return result


# ---- canonical names


def _canonical(tree: Node) -> Node:
    """The same law with canonical names: the least text, where a minus comes last of all signs."""
    latent = _latent(tree)
    names = [Variable(LATENT, i) for i in range(1, len(latent) + 1)]
    # For more variables the order stays as it was typed: there are too many to compare.
    orders: Iterable[tuple[Variable, ...]] = (
        itertools.permutations(names) if len(names) <= _FEW else [tuple(names)]
    )
    trees = [
        reflected
        for order in orders
        for reflected in _reflections(substitute(tree, dict(zip(latent, order, strict=True))))
    ]
    return min(trees, key=lambda found: text_of(found).replace("-", "~"))


def _reflections(tree: Node) -> Iterator[Node]:
    """Trees that differ by signs of latent variables; for many variables, one after the other."""
    latent = _latent(tree)
    if len(latent) <= _FEW:
        for signs in itertools.product((False, True), repeat=len(latent)):
            flipped = [v for v, flip in zip(latent, signs, strict=True) if flip]
            yield substitute(tree, {v: negate(v) for v in flipped})
        return
    for variable in latent:
        other = substitute(tree, {variable: negate(variable)})
        tree = min(tree, other, key=lambda found: text_of(found).replace("-", "~"))
    yield tree

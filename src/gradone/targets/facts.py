"""What is known of a function from its form, in words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import OutOfRegime
from .language.expression import Expression

if TYPE_CHECKING:
    from .target import Target


def facts(expression: Expression) -> tuple[str, ...]:
    """Facts about a function that follow from its form, as short sentences without a full stop.

    Examples
    --------
    >>> for fact in facts(Expression("sign(z1*z2)")):
    ...     print(fact)
    not a polynomial
    odd in z1, z2
    even when all variables change sign
    product of functions of one variable each
    depends on the direction of z only, not on its length
    breaks on z1 = 0, z2 = 0
    takes finitely many values
    """
    found = [_polynomial(expression), *_parities(expression), *_separation(expression)]
    degree = expression.homogeneity()
    if degree == 0:
        found.append("depends on the direction of z only, not on its length")
    elif degree is not None:
        found.append(f"homogeneous of degree {degree:g}")
    found.append(_breaks(expression))
    if expression.is_discrete:
        found.append("takes finitely many values")
    return tuple(found)


def target_facts(target: Target) -> tuple[str, ...]:
    """Facts about a target; with latent noise they are about the mean of the label given z.

    Examples
    --------
    >>> from gradone import Target
    >>> target_facts(Target("sign(z + xi)"))[:2]
    ('has latent noise; the following facts are about E[y | z]', 'not a polynomial')
    """
    if not target.q:
        return facts(target.expression)
    try:
        mean = target.regression
    except OutOfRegime as reason:
        return (str(reason),)
    if not mean.variables:
        return ("has latent noise, and the same mean for every z",)
    return ("has latent noise; the following facts are about E[y | z]", *facts(mean))


def linear_form(coefficients: Sequence[float]) -> str:
    """Text of a linear form whose first coefficient is scaled to 1.

    Examples
    --------
    >>> linear_form([0.0, 0.5, -1.0]), linear_form([1.0, 1.0])
    ('z2 - 2*z3', 'z1 + z2')
    """
    scaled = np.asarray(coefficients, dtype=float)
    used = np.flatnonzero(np.abs(scaled) > 1e-12 * np.abs(scaled).max())
    scaled = scaled / scaled[used[0]]
    text = ""
    for i in used:
        size = f"{abs(scaled[i]):.6g}"
        term = f"z{i + 1}" if size == "1" else f"{size}*z{i + 1}"
        sign = " - " if scaled[i] < 0 else " + "
        text += (sign if text else "") + term
    return text


def _polynomial(expression: Expression) -> str:
    if expression.polynomial is None:
        return "not a polynomial"
    return f"polynomial of degree {max(map(sum, expression.polynomial.coefficients))}"


def _parities(expression: Expression) -> list[str]:
    found = [
        f"{word} in {_names(indices)}"
        for word, indices in (("even", expression.even_in), ("odd", expression.odd_in))
        if indices
    ]
    known = {*expression.even_in, *expression.odd_in}
    for word in ("even", "odd"):
        pairs = [
            f"({_names(pair)})"
            for pair in itertools.combinations(expression.variables, 2)
            if not known.issuperset(pair) and expression.parity(*pair) == word
        ]
        if pairs:
            found.append(f"{word} when both of {', '.join(pairs)} change sign")
    if len(expression.variables) > 1 and (joint := expression.parity(*expression.variables)):
        found.append(f"{joint} when all variables change sign")
    return found


def _separation(expression: Expression) -> list[str]:
    if len(expression.variables) == 1:
        return []
    found = []
    if len(expression.span) < len(expression.variables):
        forms = ", ".join(linear_form(row) for row in expression.span)
        found.append(f"depends on z through {forms} only")
    if expression.is_separable_sum:
        found.append("sum of functions of one variable each")
    elif expression.is_separable_product:
        found.append("product of functions of one variable each")
    return found


def _breaks(expression: Expression) -> str:
    planes, is_curved = expression.breaks
    places = []
    for plane in planes:
        first = next(w for w in plane.normal if abs(w) > 1e-12)
        places.append(f"{linear_form(plane.normal)} = {plane.offset / first + 0.0:.6g}")
    if is_curved:
        places.append("curved surfaces")
    return f"breaks on {', '.join(places)}" if places else "smooth"


def _names(indices: Sequence[int]) -> str:
    return ", ".join(f"z{i}" for i in indices)

"""Facts about an expression that follow from its form: symmetries, homogeneity, linear forms."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

import numpy as np

from ...calculus.polynomial import Polynomial
from .evaluate import constant_value
from .functions import FUNCTIONS
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
    add,
    children,
    fold,
    is_constant,
    nodes,
    variables,
)

Parity = Literal["even", "odd"] | None

# Typed decimals are unit vectors up to their rounding only.
_ROUNDING = 1e-12


def parity(node: Node, flipped: Collection[int]) -> Parity:
    """Behavior when the variables in `flipped` change sign together.

    ``"even"`` and ``"odd"`` are proven from the form; None means that nothing was proven.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> tree = parse("sign(z1*z2)*z3")
    >>> parity(tree, [1]), parity(tree, [1, 2]), parity(tree, [1, 3])
    ('odd', 'even', 'even')
    """

    def combine(part: Node, parts: list[Parity]) -> Parity:
        match part:
            case Number() | Pi():
                return "even"
            case Variable(index=index):
                return "odd" if index in flipped else "even"
            case Sum():
                return parts[0] if all(p == parts[0] for p in parts) else None
            case Product() | Quotient():
                if None in parts:
                    return None
                return "odd" if parts.count("odd") % 2 else "even"
            case Power(exponent=k):
                return "even" if k % 2 == 0 and parts[0] else parts[0]
            case Call(name=name):
                if all(p == "even" for p in parts):
                    return "even"
                own = FUNCTIONS[name].parity
                return own if parts == ["odd"] and own != "none" else None
            case _:
                raise AssertionError(part)

    return fold(node, combine)


def homogeneity(node: Node, scaled: Collection[int]) -> float | None:
    """Degree k such that scaling the variables in `scaled` by t > 0 multiplies the value by t^k.

    None means that no degree was proven.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> homogeneity(parse("sign(z1*z2)"), [1]), homogeneity(parse("relu(z1 + z2)**2"), [1, 2])
    (0, 2)
    """

    def combine(part: Node, parts: list[float | None]) -> float | None:
        known = [p for p in parts if p is not None]
        if len(known) < len(parts):
            return None
        match part:
            case Number() | Pi():
                return 0
            case Variable(index=index):
                return 1 if index in scaled else 0
            case Sum():
                return known[0] if len(set(known)) == 1 else None
            case Product():
                return sum(known)
            case Quotient():
                return known[0] - known[1]
            case Power(exponent=k):
                return k * known[0]
            case Call(name=name):
                if all(k == 0 for k in known):
                    return 0
                own = FUNCTIONS[name].homogeneity
                return own * known[0] if own is not None and len(set(known)) == 1 else None
            case _:
                raise AssertionError(part)

    return fold(node, combine)


def is_piecewise_constant(node: Node) -> bool:
    """Whether the expression takes finitely many values: every variable is inside sign or step.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> is_piecewise_constant(parse("sign(z1) + step(z2 - 1)"))
    True
    """

    def combine(part: Node, parts: list[bool]) -> bool:
        match part:
            case Variable():
                return False
            case Call(name="sign" | "step"):
                return True
            case _:
                return all(parts)

    return fold(node, combine)


def has_jumps(node: Node) -> bool:
    """Whether a function that jumps occurs in a formula.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> has_jumps(parse("z1 + sign(z2)")), has_jumps(parse("relu(z1)"))
    (True, False)
    """
    return any(isinstance(part, Call) and part.name in ("sign", "step") for part in nodes(node))


def affine_form(node: Node, r: int) -> tuple[np.ndarray, float] | None:
    """Vector w and number c if the node is ``<w, z> + c``, else None.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> affine_form(parse("(z1 - z2)/sqrt(4) + 1"), 2)
    (array([ 0.5, -0.5]), 1.0)
    """
    Form = tuple[np.ndarray, float] | None

    def combine(part: Node, parts: list[Form]) -> Form:
        match part:
            case Variable(index=index):
                return np.eye(r)[index - 1], 0.0
            case _ if is_constant(part):
                return np.zeros(r), constant_value(part)
        if any(p is None for p in parts):
            return None
        known = [p for p in parts if p is not None]
        match part:
            case Sum():
                return np.sum([w for w, _ in known], axis=0), math.fsum(c for _, c in known)
            case Product():
                slopes = [i for i, (w, _) in enumerate(known) if w.any()]
                if len(slopes) > 1:
                    return None
                scale = float(np.prod([c for i, (_, c) in enumerate(known) if i not in slopes]))
                w, c = known[slopes[0]] if slopes else (np.zeros(r), 1.0)
                return scale * w, scale * c
            case Quotient():
                (w, c), (slope, scale) = known
                return None if slope.any() or not scale else (w / scale, c / scale)
            case _:
                return None

    return fold(node, combine)


def typed_forms(node: Node, r: int) -> list[np.ndarray]:
    """Directions of the linear forms typed in an expression, each once, as unit vectors.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> [w.round(3).tolist() for w in typed_forms(parse("tanh(z1 + z2) + z1"), 2)]
    [[0.707, 0.707], [1.0, 0.0]]
    """
    found: list[np.ndarray] = []

    def visit(part: Node) -> None:
        form = affine_form(part, r)
        if form is None:
            parts = list(children(part))
            if isinstance(
                part, Sum
            ):  # linear terms count together: abs(z3) + z1 - z2 has two forms
                linear = [term for term in parts if affine_form(term, r) is not None]
                parts = [*(term for term in parts if term not in linear), add(linear)]
            for child in parts:
                visit(child)
        elif form[0].any():
            w = form[0] / np.linalg.norm(form[0])
            if all(abs(abs(w @ v) - 1) > _ROUNDING for v in found):
                found.append(w)

    visit(node)
    return found


def linear_span(node: Node, r: int) -> np.ndarray:
    """Orthonormal rows (k, r) that span the linear forms through which a node sees z.

    ``k`` may be smaller than the number of variables: ``tanh(z1 + z2)`` has k = 1.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> linear_span(parse("z1**2 + 2*z1*z2 + z2**2"), 2).shape
    (1, 2)
    """
    rows = _forms(node, r)
    if not rows:
        return np.zeros((0, r))
    matrix = np.array(rows)
    matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    _, singular, basis = np.linalg.svd(matrix, full_matrices=False)
    basis = basis[singular > 1e-9 * singular[0]]
    if len(basis) == len(variables(node)):  # nothing is saved: the axes are the better basis
        return np.eye(r)[[i - 1 for i in variables(node)]]
    largest = basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)]
    return basis * np.sign(largest)[:, None]


def _forms(node: Node, r: int) -> list[np.ndarray]:
    form = affine_form(node, r)
    if form is not None:
        return [form[0]] if form[0].any() else []
    polynomial = polynomial_of(node, r)
    if polynomial is not None:
        return _essential_forms(polynomial)
    parts = list(children(node))
    if isinstance(node, Sum):  # terms of a polynomial count together: z1 - z2 is one form
        known = [term for term in parts if polynomial_of(term, r) is not None]
        parts = [add(known), *(term for term in parts if term not in known)]
    return [row for part in parts for row in _forms(part, r)]


def _essential_forms(polynomial: Polynomial) -> list[np.ndarray]:
    """Rows that span the linear forms a polynomial depends on.

    The direction v is not used iff ``sum_i v_i d_i f = 0``: one linear equation for v for each
    monomial of the gradient.
    """
    gradients = [polynomial.derivative(axis).coefficients for axis in range(polynomial.r)]
    monomials = {m for gradient in gradients for m in gradient}
    rows = [np.array([float(g.get(m, 0)) for g in gradients]) for m in sorted(monomials)]
    return [row for row in rows if row.any()]

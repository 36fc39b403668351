"""Where an expression is not smooth: hyperplanes, points, or curved surfaces.

The arguments of sign, abs, relu, step, min, max, log and sqrt vanish there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ...calculus.integrand import Plane
from ...calculus.polynomial import Polynomial
from .bounds import interval, quadratic_form
from .functions import FUNCTIONS, substitute
from .lines import Curved, line_zeros, on_line
from .pieces import Pieces
from .polynomials import polynomial_of
from .structure import affine_form, is_piecewise_constant, linear_span
from .tree import Call, Node, Power, Product, Quotient, is_constant, nodes, variables

MAX_BRANCHES = 32
MAX_PLANES = 12
_ROUNDING = 1e-13


def kinks(node: Node) -> list[Call]:
    """Parts of a node that are not smooth in their arguments."""
    return [p for p in nodes(node) if isinstance(p, Call) and FUNCTIONS[p.name].breaks_at]


def break_planes(node: Node, r: int) -> tuple[tuple[Plane, ...], bool]:
    """Planes on which a node may break, and whether there are curved breaks besides.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> break_planes(parse("sign(z1*(z2 - 1))"), 2)
    ((Plane(normal=(1.0, 0.0), offset=0.0), Plane(normal=(0.0, 1.0), offset=1.0)), False)
    >>> break_planes(parse("relu(z1**2 + z2**2 - 1)"), 2)
    ((), True)
    """
    planes: dict[tuple[int, ...], Plane] = {}
    is_curved = False
    for part in kinks(node):
        try:
            for plane in zero_planes(FUNCTIONS[part.name].break_of(*part.arguments), r):
                planes.setdefault(_rounded(plane), plane)
        except Curved:
            is_curved = True
    if r > 1 and len(planes) > MAX_PLANES:
        return (), True
    return tuple(planes.values()), is_curved


def _rounded(plane: Plane) -> tuple[int, ...]:
    """Key under which planes that differ by rounding only are the same."""
    return tuple(round(x * 1e9) for x in (*plane.normal, plane.offset))


def zero_planes(node: Node, r: int) -> list[Plane]:
    """Planes that contain the zeros of a node (and perhaps more); :class:`Curved` if none do."""
    low, high = interval(node)
    if is_constant(node) or low > 0 or high < 0 or is_piecewise_constant(node):
        return []  # a piecewise constant node changes only where its own parts break
    match node:
        case Product(factors=factors):
            return [plane for factor in factors for plane in zero_planes(factor, r)]
        case Power(base=base):
            return zero_planes(base, r)
        case Quotient(numerator=numerator):
            return zero_planes(numerator, r)
        case Call(name=name, arguments=(argument,)):
            if FUNCTIONS[name].zeros == "never":
                return []
            if FUNCTIONS[name].zeros == "argument":
                return zero_planes(argument, r)
    form = affine_form(node, r)
    if form is not None:
        return [_plane(*form)] if form[0].any() else []
    if any(FUNCTIONS[part.name].branches for part in kinks(node)):
        return [plane for branch in smooth_branches(node) for plane in zero_planes(branch, r)]
    polynomial = polynomial_of(node, r)
    if polynomial is not None:
        return _polynomial_planes(polynomial, node, r)
    return _line_planes(node, r)


def smooth_branches(node: Node) -> Iterator[Node]:
    """Node with every abs, relu, sign, ... replaced by each of its smooth alternatives."""
    pending, count = [node], 0
    while pending:
        current = pending.pop()
        part = next((p for p in kinks(current) if FUNCTIONS[p.name].branches), None)
        if part is None:
            count += 1
            if count > MAX_BRANCHES:
                raise Curved
            yield current
            continue
        branches = FUNCTIONS[part.name].branches_of(*part.arguments)
        pending += [substitute(current, {part: branch}) for branch in branches]


def _plane(w: np.ndarray, c: float) -> Plane:
    """Plane ``<w, z> + c = 0`` with a unit normal whose first entry is positive."""
    scale = float(np.linalg.norm(w)) * (1.0 if w[np.flatnonzero(w)[0]] > 0 else -1.0)
    return Plane(tuple(float(x) + 0.0 for x in w / scale), -c / scale + 0.0)


def _polynomial_planes(polynomial: Polynomial, node: Node, r: int) -> list[Plane]:
    # Common powers of single variables: z1^2 z2 + z1 z2^2 = z1 z2 (z1 + z2).
    content = [min(m[i] for m in polynomial.coefficients) for i in range(r)]
    planes = [_plane(np.eye(r)[i], 0.0) for i in range(r) if content[i]]
    if any(content):
        polynomial = Polynomial(
            {
                tuple(a - b for a, b in zip(m, content, strict=True)): c
                for m, c in polynomial.coefficients.items()
            },
            r,
        )
    if polynomial.degree == 0:
        return planes
    if polynomial.degree == 1:
        w = np.array([float(polynomial.derivative(i).expectation()) for i in range(r)])
        return [*planes, _plane(w, float(polynomial.coefficients.get((0,) * r, Fraction(0))))]
    used = [i for i in range(r) if any(m[i] for m in polynomial.coefficients)]
    if len(used) == 1:
        axis = used[0]
        roots = real_roots({m[axis]: c for m, c in polynomial.coefficients.items()})
        return planes + [_plane(np.eye(r)[axis], -root) for root in roots]
    if (forms := linear_factors(polynomial)) is not None:
        return planes + [_plane(w, c) for w, c in forms]
    if any(content):
        raise Curved
    return planes + _line_planes(node, r)


def linear_factors(polynomial: Polynomial) -> tuple[tuple[np.ndarray, float], ...] | None:
    r"""Forms :math:`(w, c)` whose product :math:`\prod(\langle w, z\rangle + c)` is a quadratic.

    Its symmetric matrix in (z, 1) then has one positive and one negative eigenvalue, and no other:
    :math:`\lambda s^2 - \mu t^2` is the product of :math:`\sqrt\lambda s \pm \sqrt\mu t`. None for
    other polynomials.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> first, second = linear_factors(polynomial_of(parse("z1**2 - z2**2"), 2))
    >>> first[0].round(12).tolist(), second[0].round(12).tolist()
    ([1.0, 1.0], [1.0, -1.0])
    """
    if polynomial.degree != 2:
        return None
    r = polynomial.r
    matrix = np.zeros((r + 1, r + 1))
    matrix[:r, :r] = quadratic_form(polynomial)
    for exponents, coefficient in polynomial.coefficients.items():
        if sum(exponents) < 2:
            i = exponents.index(1) if sum(exponents) else r
            matrix[i, r] += float(coefficient) / 2
            matrix[r, i] += float(coefficient) / 2
    values, vectors = np.linalg.eigh(matrix)
    size = float(np.abs(values).max())
    if not (values[0] < -_ROUNDING * size and values[-1] > _ROUNDING * size):
        return None
    if r > 1 and np.abs(values[1:-1]).max() > _ROUNDING * size:
        return None
    s = (
        math.sqrt(values[-1])
        * vectors[:, -1]
        * np.sign(vectors[np.abs(vectors[:, -1]).argmax(), -1])
    )
    t = math.sqrt(-values[0]) * vectors[:, 0] * np.sign(vectors[np.abs(vectors[:, 0]).argmax(), 0])
    return tuple((form[:r], float(form[r])) for form in (s + t, s - t))


def real_roots(coefficients: dict[int, Fraction]) -> list[float]:
    """Different real roots of a one-variable polynomial, double roots included.

    Examples
    --------
    >>> [round(x, 12) for x in real_roots({0: Fraction(1), 1: Fraction(-2), 2: Fraction(1)})]
    [1.0]
    """
    degree = max(coefficients)
    dense = [coefficients.get(i, Fraction(0)) for i in range(degree + 1)]
    dense = _quotient(dense, _gcd(dense, _derivative(dense)))[0]  # square-free: simple roots only
    roots = np.roots([float(c / dense[-1]) for c in reversed(dense)])
    real = roots.real[np.abs(roots.imag) < 1e-7 * (1 + np.abs(roots.real))]
    for _ in range(3):  # polish
        slope = np.polyval([float(c) for c in reversed(_derivative(dense))] or [0.0], real)
        value = np.polyval([float(c) for c in reversed(dense)], real)
        real = real - np.where(slope == 0, 0.0, value / np.where(slope == 0, 1.0, slope))
    return sorted(float(x) for x in real)


def _derivative(p: list[Fraction]) -> list[Fraction]:
    return [i * c for i, c in enumerate(p)][1:]


def _quotient(p: list[Fraction], q: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Quotient and remainder, lowest degree first."""
    quotient, rest = [Fraction(0)] * max(len(p) - len(q) + 1, 1), list(p)
    while len(rest) >= len(q) and any(rest):
        factor, shift = rest[-1] / q[-1], len(rest) - len(q)
        quotient[shift] = factor
        rest = [c - factor * q[i - shift] if i >= shift else c for i, c in enumerate(rest)][:-1]
        while rest and not rest[-1]:
            rest.pop()
    return quotient, rest


def _gcd(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
    while any(q):
        p, q = q, _quotient(p, q)[1]
        q = [c / q[-1] for c in q] if q else q
    return p


def _line_planes(node: Node, r: int) -> list[Plane]:
    """Zeros of a function of one linear form, found by scanning along it."""
    span = linear_span(node, r)
    if len(span) != 1:
        raise Curved
    return [_plane(span[0], -root) for root in line_zeros(on_line(node, span[0]))]


def one_variable_pieces(node: Node, breaks: tuple[float, ...]) -> tuple[Polynomial, ...] | None:
    """Polynomials between consecutive breaks of a node in variable 1, if it is one everywhere."""
    if any(FUNCTIONS[part.name].branches is None for part in kinks(node)):
        return None
    if variables(node) not in ((1,), ()):
        return None
    edges = np.array([breaks[0] - 2.0, *breaks, breaks[-1] + 2.0] if breaks else [-1.0, 1.0])
    return Pieces(node, 1).polynomials((edges[:-1, None] + edges[1:, None]) / 2)

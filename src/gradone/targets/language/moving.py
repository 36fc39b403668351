"""Where an expression breaks along one variable while the others take many values."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .bounds import interval
from .breaks import kinks, smooth_branches
from .derivative import derivative
from .evaluate import evaluate_columns
from .functions import FUNCTIONS
from .lines import Curved, family_zeros
from .structure import is_piecewise_constant
from .tree import Call, Node, Power, Product, Quotient, Sum, Variable, fold, variables

_MAX_DEGREE = 8
_SAME = 1e-9  # distance of two breaks that differ by rounding only
_POLISH = 3
_REACH = 12.0  # beyond, nothing has weight


def values_at(node: Node, fixed: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Values where the first variables are the columns of `fixed` and the last one is `t`.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> values_at(parse("z1*z2"), np.array([[2.0], [3.0]]), np.array([1.0, 4.0]))
    array([ 2., 12.])
    """
    last = fixed.shape[-1] + 1
    found = evaluate_columns(node, lambda i: t if i == last else fixed[..., i - 1])
    return np.broadcast_to(np.asarray(found, dtype=np.float64), t.shape)


def moving_breaks(node: Node, fixed: np.ndarray) -> list[list[float]]:
    """Points of the last variable at which a node may break, for each row of `fixed`.

    The zeros of the arguments of sign, abs, relu, ...: in closed form where they are linear, as
    roots of a polynomial, or by a scan along the line.

    Parameters
    ----------
    node : Node
        A function of the variables 1, ..., d + 1.
    fixed : ndarray, shape (n, d)
        Values of the first d variables.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> moving_breaks(parse("sign(z2 - 2*z1) + abs(z2**2 - z1)"), np.array([[1.0], [-1.0]]))
    [[-1.0, 1.0, 2.0], [-2.0]]
    """
    found: list[list[float]] = [[] for _ in fixed]
    t = fixed.shape[1] + 1
    for part in kinks(node):
        try:
            for factor in _vanishing(FUNCTIONS[part.name].break_of(*part.arguments), t):
                for row, zeros in zip(found, _zeros(factor, fixed), strict=True):
                    row.extend(zeros)
        except Curved:
            continue
    return [_different(row) for row in found]


def _different(points: list[float]) -> list[float]:
    points = sorted(points)
    return [x for i, x in enumerate(points) if i == 0 or x - points[i - 1] > _SAME]


def _vanishing(node: Node, t: int) -> Iterator[Node]:
    """Smooth functions whose zeros in variable t contain those of a node."""
    low, high = interval(node)
    if t not in variables(node) or low > 0 or high < 0 or is_piecewise_constant(node):
        return  # a piecewise constant node changes only where its own parts break
    inside: tuple[Node, ...] | None = None
    match node:
        case Product(factors=factors):
            inside = factors
        case Power(base=base):
            inside = (base,)
        case Quotient(numerator=numerator):
            inside = (numerator,)
        case Call(name=name, arguments=(argument,)) if FUNCTIONS[name].zeros == "never":
            inside = ()
        case Call(name=name, arguments=(argument,)) if FUNCTIONS[name].zeros == "argument":
            inside = (argument,)
        case _ if any(FUNCTIONS[part.name].branches for part in kinks(node)):
            inside = tuple(smooth_branches(node))
    if inside is None:
        yield node
        return
    for part in inside:
        yield from _vanishing(part, t)


def _zeros(node: Node, fixed: np.ndarray) -> list[list[float]]:
    """Zeros of a smooth function of the last variable, for each row of `fixed`."""
    coefficients = _taylor(node, fixed)
    if coefficients is None:
        lines = family_zeros(lambda i, t: values_at(node, fixed[i], t), len(fixed), _REACH)
        return [row or [] for row in lines]
    zeros = _roots(coefficients)
    owner = np.repeat(np.arange(len(zeros)), [len(row) for row in zeros])
    polished = _polished(node, fixed[owner], np.concatenate([np.zeros(0), *zeros]))
    return [polished[owner == i].tolist() for i in range(len(zeros))]


def _taylor(node: Node, fixed: np.ndarray) -> np.ndarray | None:
    """Coefficients (n, degree + 1), highest first, if the node is a polynomial in the last one."""
    t = fixed.shape[1] + 1
    if _degree(node, t) > _MAX_DEGREE:  # derivatives of anything else only grow
        return None
    origin = np.zeros(len(fixed))
    columns: list[np.ndarray] = []
    for order in range(_MAX_DEGREE + 1):
        columns.append(values_at(node, fixed, origin) / math.factorial(order))
        node = derivative(node, t)
        if t not in variables(node):
            last = values_at(node, fixed, origin) / math.factorial(order + 1)
            return np.column_stack([last, *columns[::-1]])
    return None


def _degree(node: Node, t: int) -> float:
    """Degree as a polynomial in variable t, infinite if it is not written as one."""

    def combine(part: Node, degrees: list[float]) -> float:
        if t not in variables(part):
            return 0
        match part:
            case Variable():
                return 1
            case Sum():
                return max(degrees)
            case Product():
                return sum(degrees)
            case Power(exponent=k):
                return degrees[0] * k
            case Quotient(denominator=denominator) if t not in variables(denominator):
                return degrees[0]
            case Call(name=name) if FUNCTIONS[name].degree:
                return degrees[0] * FUNCTIONS[name].degree
            case _:
                return math.inf

    return fold(node, combine)


def _roots(coefficients: np.ndarray) -> list[np.ndarray]:
    """Real roots of polynomials (n, degree + 1), highest coefficient first."""
    found = [np.zeros(0)] * len(coefficients)
    size = np.abs(coefficients).max(axis=1)
    is_usable = np.isfinite(size) & (size > 0)
    relevant = np.abs(coefficients) > 1e-14 * size[:, None]
    first = np.where(is_usable, np.argmax(relevant, axis=1), coefficients.shape[1] - 1)
    for start in range(coefficients.shape[1] - 1):  # polynomials of one degree together
        rows = np.flatnonzero(first == start)
        monic = coefficients[rows, start + 1 :] / coefficients[rows, start : start + 1]
        degree = monic.shape[1]
        companion = np.zeros((len(rows), degree, degree))
        companion[:, 0] = -monic
        companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1.0
        for row, roots in zip(rows, np.linalg.eigvals(companion), strict=True):
            found[row] = roots.real[np.abs(roots.imag) < 1e-7 * (1 + np.abs(roots.real))]
    return found


def _polished(node: Node, fixed: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Zeros after a few Newton steps that are taken only where they are short."""
    slope = derivative(node, fixed.shape[1] + 1)
    for _ in range(_POLISH):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = values_at(node, fixed, zeros) / values_at(slope, fixed, zeros)
        zeros = np.where(np.abs(step) < 1e-6 * (1 + np.abs(zeros)), zeros - step, zeros)
    return zeros

r"""Energies of a function given some of its variables, without a series in these variables.

.. math:: |P_{U,=k} f|^2 = \sum_{|\beta|=k} \mathbb{E}_u\big[a_\beta(u)^2\big], \qquad
          a_\beta(u) = \frac{\mathbb{E}_s[f(u, s)\,\mathrm{He}_\beta(s)]}{\sqrt{\beta!}}
          \qquad [AN-4]

A Hermite series in u would miss what lies above its degree, which is much for functions that jump.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate, Kind, roughest
from ...calculus.expansion import hermite_expansion
from ...calculus.grid import gauss_hermite
from ...calculus.hermite import hermite_table, multi_indices, normal_density
from ...calculus.line import gauss_legendre
from ...targets.frame import natural_frame
from ...targets.language.expression import Expression
from ...targets.language.functions import substitute
from ...targets.language.polynomials import polynomial_of
from ...targets.language.tree import Node, Sum, Variable, add, multiply

_LEVELS = (8, 12, 17, 24, 34, 48, 68, 96)
_POINTS = 1 << 23
_MOST_PARTS = 6
_EPS = float(np.finfo(float).eps)
Rule = tuple[np.ndarray, np.ndarray]


def energies_given(expression: Expression, given: int, degree: int) -> list[Estimate]:
    r"""Energies [AN-4] for k = 0, ..., degree, given the first variables.

    Parameters
    ----------
    expression : Expression
        Function f(u, s).
    given : int
        Number of variables in u, at least 1 and less than r.
    degree : int
        Largest order in s.

    Notes
    -----
    Product rules, split where f breaks, if its breaks are parallel to the axes. Otherwise, or if
    those do not converge, two copies of f that share u [AN-7].
    """
    found = _on_grid(expression, given, degree)
    if found is not None and _worst(found) <= 1e-8 * max(e.value for e in found):
        return found
    try:
        mirrored = _mirrored(expression, given, degree)
    except OutOfRegime:  # two copies have too many variables that do not separate
        if found is None:
            raise
        return found
    if found is None or _worst(mirrored) < _worst(found):
        return mirrored
    return found


# ---- product rules


def _on_grid(expression: Expression, given: int, degree: int) -> list[Estimate] | None:
    """Energies by refined product rules; None if f breaks on surfaces oblique to the axes."""
    planes, is_curved = expression.breaks
    r = expression.r
    if is_curved or any(sum(abs(w) > 1e-12 for w in plane.normal) != 1 for plane in planes):
        return None
    splits: list[list[float]] = [[] for _ in range(r)]
    for plane in planes:
        axis = int(np.argmax(np.abs(plane.normal)))
        splits[axis].append(plane.offset / plane.normal[axis])
    growth = [b.integrand.reach(degree) for t in expression.form.terms for b in t.blocks]
    reach = max([*growth, 9.0 + math.sqrt(expression.form.polynomial.degree)])
    best: list[Estimate] | None = None
    # Gauss-Hermite along smooth axes is exact for polynomials; panels resolve poles near the axis.
    for smooth_panels in (False, True):
        found = _refined(expression, splits, reach, given, degree, smooth_panels)
        if best is None or (found and _worst(found) < _worst(best)):
            best = found
        if all(splits) or (best and _worst(best) < 1e-10 * max(e.value for e in best)):
            break
    return best


def _refined(
    expression: Expression,
    splits: list[list[float]],
    reach: float,
    given: int,
    degree: int,
    smooth_panels: bool,
) -> list[Estimate] | None:
    """Finest energies of a ladder of rules; the error is the last change, as in the calculus."""
    before: np.ndarray | None = None
    best: list[Estimate] | None = None
    gap_before = math.inf
    for n in _LEVELS:
        rules = [
            _panels(points, reach, n) if points or smooth_panels else gauss_hermite(n)
            for points in splits
        ]
        if math.prod(len(z) for z, _ in rules) > _POINTS:
            break
        values = _grid_energies(expression, rules, given, degree)
        size = float(values.sum())
        if before is not None:
            gap = np.abs(values - before)
            largest = float(gap.max())
            error = np.maximum(gap, 0.1 * largest) + 1e-3 * min(gap_before, size)
            best = _estimates(values, error + 64 * _EPS * size, "quadrature")
            gap_before = largest
            if largest < 1e-13 * size:
                break
        before = values
    return best


def _worst(energies: list[Estimate]) -> float:
    return max(e.error for e in energies)


def _panels(points: list[float], reach: float, n: int) -> Rule:
    """Gauss-Legendre nodes and Gaussian weights on panels between break points."""
    t, w = gauss_legendre(n)
    inside = sorted({x for x in points if -reach < x < reach} or {0.0})
    edges = np.array([-reach, *inside, reach])
    width = np.diff(edges)[:, None]
    nodes = (edges[:-1, None] + width * t).ravel()
    return nodes, (width * w).ravel() * normal_density(nodes)


def _grid_energies(
    expression: Expression, rules: list[Rule], given: int, degree: int
) -> np.ndarray:
    """Energies on one grid, in pieces along the first axis."""
    r = expression.r
    shapes = [(1,) * i + (-1,) + (1,) * (r - 1 - i) for i in range(r)]
    columns = [z.reshape(s) for (z, _), s in zip(rules, shapes, strict=True)]
    tables = [hermite_table(z, degree) * w for z, w in rules[given:]]
    orders = multi_indices(r - given, degree)
    total = np.zeros(degree + 1)
    inner = math.prod(len(z) for z, _ in rules[1:])
    step = max(1, (1 << 20) // inner)
    for start in range(0, len(rules[0][0]), step):
        part = slice(start, start + step)
        cut = [columns[0][part], *columns[1:]]
        values = np.broadcast_to(expression.form(cut), np.broadcast_shapes(*(c.shape for c in cut)))
        for table in tables:  # axis `given` goes, its degrees come last
            values = np.tensordot(values, table, axes=([given], [1]))
        square = values**2
        for i in range(given):
            w = rules[i][1][part] if i == 0 else rules[i][1]
            square = np.tensordot(w, square, axes=([0], [0]))
        for beta in orders:
            total[beta.sum()] += square[tuple(beta)]
    return total


# ---- two copies that share u


def _mirrored(expression: Expression, given: int, degree: int) -> list[Estimate]:
    r"""Energies from two copies of f that share u.

    .. math:: |P_{U,=k} f|^2 = \frac{1}{k!} \sum_{i_1 \dots i_k}
              C_{2k}[s_{i_1}, \dots, s_{i_k}, s'_{i_1}, \dots, s'_{i_k}], \qquad
              C_{2k} = \mathbb{E}[f(u, s) f(u, s') \mathrm{He}_{2k}].    \qquad [AN-7]

    f is a sum of parts; the product of two parts depends on few directions, and only those are
    integrated over.
    """
    r = expression.r
    parts = _parts(expression)
    total, error = np.zeros(degree + 1), np.zeros(degree + 1)
    kind: Kind = "quadrature"
    for i, first in enumerate(parts):
        for second in parts[: i + 1]:
            found = _pair(first, second, given, r, expression.letter, degree)
            weight = 1.0 if second is first else 2.0  # (f, g) and (g, f) have equal energies
            total += weight * found[0]
            error += weight * (found[1] + 64 * _EPS * np.abs(found[0]).max())
            kind = roughest(kind, found[2])
    return _estimates(np.maximum(total, 0.0), error, kind)


def _parts(expression: Expression) -> list[Node]:
    """Terms of a sum; polynomial ones together, and all together if they are many."""
    tree = expression.tree
    if not isinstance(tree, Sum):
        return [tree]
    is_polynomial = [polynomial_of(term, expression.r) is not None for term in tree.terms]
    smooth = [term for term, p in zip(tree.terms, is_polynomial, strict=True) if p]
    others = [term for term, p in zip(tree.terms, is_polynomial, strict=True) if not p]
    parts = [add(smooth), *others] if smooth else others
    return parts if len(parts) <= _MOST_PARTS else [tree]


def _pair(
    first: Node, second: Node, given: int, r: int, letter: str, degree: int
) -> tuple[np.ndarray, np.ndarray, Kind]:
    """Share of two parts in the energies [AN-7], with errors."""
    q = r - given
    copy: dict[Node, Node] = {
        Variable(letter, i): Variable(letter, i + q) for i in range(given + 1, r + 1)
    }
    tree = multiply((first, substitute(second, copy)))
    framed, rows = natural_frame(Expression.from_tree(tree, letter=letter, r=r + q))
    expansion = hermite_expansion(framed.form, 2 * degree, tolerance=1e-10)
    # Column j of `rows` holds variable j in the frame; s and s' are paired variable by variable.
    gram = rows[:, given:r] @ rows[:, r:].T
    value, error = np.zeros(degree + 1), np.zeros(degree + 1)
    for k in range(degree + 1):
        tensor = expansion.tensor(2 * k)
        value[k] = _paired(tensor.value, gram, k) / math.factorial(k)
        error[k] = _paired(tensor.error, np.abs(gram), k) / math.factorial(k)
    return value, error, expansion.kind


def _paired(tensor: np.ndarray, gram: np.ndarray, k: int) -> float:
    """Tensor of order 2k with legs j and j + k contracted with a matrix, for every j."""
    for legs in range(k, 0, -1):
        tensor = np.tensordot(tensor, gram, axes=([0, legs], [0, 1]))
    return float(tensor)


def _estimates(values: np.ndarray, errors: np.ndarray, kind: Kind) -> list[Estimate]:
    return [Estimate(float(v), float(e), kind) for v, e in zip(values, errors, strict=True)]

r"""Energies of a function given some of its variables, without a series in these variables.

.. math:: |P_{U,=k} f|^2 = \sum_{|\beta|=k} \mathbb{E}_u\big[a_\beta(u)^2\big], \qquad
          a_\beta(u) = \frac{\mathbb{E}_s[f(u, s)\,\mathrm{He}_\beta(s)]}{\sqrt{\beta!}}
          \qquad [AN-4]

A Hermite series in u would miss what lies above its degree, which is much for functions that jump.
"""

from __future__ import annotations

import math

import numpy as np

from ..base.errors import OutOfRegime
from ..base.estimate import Estimate, Kind
from ..calculus.expansion import hermite_expansion
from ..calculus.grid import gauss_hermite
from ..calculus.hermite import hermite_table, multi_indices, normal_density
from ..calculus.line import gauss_legendre
from ..targets.language.expression import Expression
from ..targets.language.functions import substitute
from ..targets.language.tree import Node, Variable, multiply

_LEVELS = (8, 12, 17, 24, 34, 48, 68, 96)
_POINTS = 1 << 23
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
    those do not converge, the Hermite coefficients of :math:`f(u, s) f(u, s')` at the indices
    :math:`(0, \beta, \beta)`.
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
    r"""Energies as Hermite coefficients of :math:`f(u, s) f(u, s')`."""
    r, letter = expression.r, expression.letter
    q = r - given
    copy: dict[Node, Node] = {
        Variable(letter, i): Variable(letter, i + q) for i in range(given + 1, r + 1)
    }
    tree = multiply((expression.tree, substitute(expression.tree, copy)))
    product = Expression.from_tree(tree, letter=letter, r=r + q)
    expansion = hermite_expansion(product.form, 2 * degree, tolerance=1e-10)
    rows = {tuple(beta): i for i, beta in enumerate(expansion.indices.tolist())}
    kind: Kind = expansion.kind
    total, error = np.zeros(degree + 1), np.zeros(degree + 1)
    for beta in multi_indices(q, degree).tolist():
        row = rows[(0,) * given + tuple(beta) * 2]
        total[sum(beta)] += expansion.value[row]
        error[sum(beta)] += expansion.error[row]
    return _estimates(np.maximum(total, 0.0), error, kind)


def _estimates(values: np.ndarray, errors: np.ndarray, kind: Kind) -> list[Estimate]:
    return [Estimate(float(v), float(e), kind) for v, e in zip(values, errors, strict=True)]

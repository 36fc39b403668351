r"""The integrals of the linear stage: drift v, growth K, variance V, and the tensors beyond."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base.estimate import Estimate, Kind, roughest
from ...calculus.coefficients import BlockCoefficients
from ...calculus.grid import grid_coefficients
from ...calculus.integrand import Integrand, Plane
from ...calculus.line import line_coefficients
from ...calculus.sobol import SobolSequence, gaussian_points, sobol_coefficients
from ...targets.frame import Framed, natural_frame
from ...targets.language.bounds import growth
from ...targets.language.expression import Expression
from ...targets.language.lines import Curved, line_zeros
from ...targets.language.tree import multiply, power
from ...targets.target import Target
from .labels import LabelFunction, label_function
from .rules import Update

POINTS = 1 << 18
_ENOUGH = 1e-4  # relative error at which product rules need no check by random points


class Moments(NamedTuple):
    """Drift, growth matrix and variance, each entry with its error."""

    drift: tuple[Estimate, ...]
    growth: tuple[tuple[Estimate, ...], ...]
    variance: Estimate


def moments(update: Update, target: Target) -> Moments:
    """The three averages of the linear stage."""
    if update.is_plain:
        first, second = (plain_tensor(update, target, k) for k in (1, 2))
        return _estimates(first, second, plain_variance(update, target))
    small, rows = _frame(target)
    labels = label_function(update, target.noise)
    slack = _label_errors(labels, small)
    known = _OnPoints(labels, small)
    parts = [_coefficients(known, row, 2, update) for row in range(3)]
    parts = [BlockCoefficients(p.value, p.error + s, p.kind) for p, s in
             zip(parts, slack, strict=True)]  # fmt: skip
    first, second = (_tensor(part, small, k, len(rows)) for k, part in enumerate(parts[:2], 1))
    drift, matrix = _rotated(first, rows), _rotated(second, rows)
    corner = (0,) * small.r
    variance = Estimate(float(parts[2].value[corner]), float(parts[2].error[corner]), parts[2].kind)
    return _estimates(drift, matrix, variance)


class Tensor(NamedTuple):
    """Tensor with the errors of its entries."""

    value: np.ndarray
    error: np.ndarray
    kind: Kind


def tensor(update: Update, target: Target, order: int) -> Tensor:
    r"""The tensor :math:`T_k = \mathbb{E}[\phi\,\mathrm{He}_{k-1}(u)\,\mathrm{He}_k(z)]` [ES-3]."""
    if update.is_plain:
        return plain_tensor(update, target, order)
    small, rows = _frame(target)
    labels = label_function(update, target.noise, order - 1)
    part = _coefficients(_OnPoints(labels, small), order - 1, order, update)
    slack = _label_errors(labels, small)[order - 1]
    part = BlockCoefficients(part.value, part.error + slack, part.kind)
    return _rotated(_tensor(part, small, order, len(rows)), rows)


def _frame(target: Target) -> Framed:
    """Function of the directions and latent variables, and the rows of the directions."""
    small, rows = natural_frame(target.joint, target.q)
    return Framed(small, rows[: len(rows) - target.q, : target.r])


# ---- the plain gradient: closed forms


def plain_tensor(update: Update, target: Target, order: int) -> Tensor:
    """The tensor a c_k C_k: what the model subtracts from the label does not depend on z."""
    small, rows = natural_frame(target.regression)
    expansion = small.hermite(order)
    c = update.activation.hermite(order)
    found = expansion.tensor(order)
    if not len(rows):  # a mean that does not depend on z
        return Tensor(np.zeros((target.r,) * order), np.zeros((target.r,) * order), "exact")
    value = update.readout * c.value * found.value
    error = abs(update.readout) * (
        abs(c.value) * found.error + c.error * (np.abs(found.value) + found.error)
    )
    return _rotated(Tensor(value, error, roughest(c.kind, expansion.kind)), rows)


def plain_variance(update: Update, target: Target) -> Estimate:
    r"""E[phi^2] = a^2 (E[y^2] E[s'^2] - 2 a E[y] E[s s'^2] + a^2 E[s^2 s'^2])."""
    a, sigma, g = update.readout, update.activation, natural_frame(target.joint).expression
    slope = sigma.derivative().expression.tree
    square = power(slope, 2)

    def over_field(*factors: object) -> Estimate:
        tree = multiply((*factors, square)) if factors else square  # type: ignore[arg-type]
        return Expression.from_tree(tree, r=1).mean()

    energy = _sum((1.0, g.second_moment()), (1.0, Estimate(target.noise)))
    parts = [(a**2, _product(energy, over_field()))]
    if update.loss == "square":
        s = sigma.expression.tree
        parts += [
            (-2 * a**3, _product(g.mean(), over_field(s))),
            (a**4, over_field(power(s, 2))),
        ]
    return _sum(*parts)


def _product(x: Estimate, y: Estimate) -> Estimate:
    error = abs(x.value) * y.error + abs(y.value) * x.error + x.error * y.error
    return Estimate(x.value * y.value, error, roughest(x.kind, y.kind))


def _sum(*parts: tuple[float, Estimate]) -> Estimate:
    value = math.fsum(c * e.value for c, e in parts)
    return Estimate(
        value, sum(abs(c) * e.error for c, e in parts), roughest(*(e.kind for _, e in parts))
    )


# ---- any rule: integrals over z of functions of the label


class _OnPoints:
    """Functions of the label at points z; integrals on the same points share the work."""

    def __init__(self, labels: LabelFunction, g: Expression) -> None:
        self.g, self._labels = g, labels
        self._known: dict[bytes, np.ndarray] = {}

    def row(self, row: int, columns: Sequence[np.ndarray]) -> np.ndarray:
        shape = np.broadcast_shapes(*(np.shape(c) for c in columns))
        key = b"".join(np.ravel(c)[[0, -1]].tobytes() + str(c.shape).encode() for c in columns)
        if key not in self._known:
            y = np.broadcast_to(self.g(np.stack(np.broadcast_arrays(*columns), axis=-1)), shape)
            self._known[key] = self._labels(y.ravel())
        return self._known[key][row].reshape(shape)


def _coefficients(known: _OnPoints, row: int, degree: int, update: Update) -> BlockCoefficients:
    """Hermite coefficients in z of one function of the label."""
    g = known.g
    planes, is_curved = g.breaks
    if g.r == 1:
        planes = (*planes, *_level_points(g, update.label_breaks))
    # A push that jumps leaves kinks at some labels: curved surfaces, unless the label is discrete.
    is_curved |= update.has_jumps and g.r > 1 and not g.is_discrete
    power_, linear, quadratic = growth(g.tree)
    integrand = Integrand(
        lambda columns: known.row(row, columns),
        g.r, planes, is_curved, False, 2 * power_ + 4, 2 * linear, 2 * quadratic,
    )  # fmt: skip
    if g.r == 1:
        return line_coefficients(integrand, degree, 1e-9)
    found = grid_coefficients(integrand, degree, 1e-6, POINTS)
    if found is not None and found.error.max() <= _ENOUGH * np.abs(found.value).max():
        return found
    other = sobol_coefficients(integrand, degree, 1e-6, POINTS)
    return other if found is None or other.error.max() < found.error.max() else found


def _level_points(g: Expression, levels: Sequence[float]) -> list[Plane]:
    """Points of the line at which a function takes one of some values."""
    found = []
    for level in levels:
        try:
            zeros = line_zeros(lambda t, level=level: g(np.asarray(t)[..., None]) - level)  # type: ignore[misc]
        except Curved:
            continue  # the integration finds its own panels there, with a larger error
        found += [Plane((1.0,), float(zero)) for zero in zeros]
    return found


def _label_errors(labels: LabelFunction, g: Expression) -> np.ndarray:
    """Mean error of each function of the label, with room for the Hermite factor."""
    sequence = SobolSequence(g.r, np.random.default_rng(3))
    z = gaussian_points(sequence.draw(1 << 12))
    labels(g(z))
    return (labels.error(g(z)) * (1 + (z * z).sum(axis=1))).mean(axis=1)


def _tensor(found: BlockCoefficients, g: Expression, order: int, directions: int) -> Tensor:
    """Tensor E[f He_k(z)]; entries that a symmetry of the target forbids are exactly zero.

    Latent variables stand behind the directions, and are averaged over.
    """
    r = g.r
    value, error = np.zeros((r,) * order), np.zeros((r,) * order)
    mirrors = [
        flipped
        for size in range(1, r + 1)
        for flipped in itertools.combinations(range(1, r + 1), size)
        if g.parity(*flipped) == "even"
    ]
    for entry in itertools.product(range(r), repeat=order):
        beta = tuple(entry.count(axis) for axis in range(r))
        if any(sum(beta[i - 1] for i in flipped) % 2 for flipped in mirrors):
            continue
        scale = math.sqrt(math.prod(map(math.factorial, beta)))
        value[entry], error[entry] = scale * found.value[beta], scale * found.error[beta]
    of_z = (slice(0, directions),) * order
    return Tensor(value[of_z], error[of_z], found.kind)


def _rotated(found: Tensor, rows: np.ndarray) -> Tensor:
    """Tensor in the coordinates of the target, from those of its span."""
    value, error = found.value, found.error
    for axis in range(value.ndim):
        value = np.moveaxis(np.tensordot(value, rows, axes=(axis, 0)), -1, axis)
        error = np.moveaxis(np.tensordot(error, np.abs(rows), axes=(axis, 0)), -1, axis)
    return Tensor(value, error, found.kind)


def _estimates(drift: Tensor, matrix: Tensor, variance: Estimate) -> Moments:
    def pack(value: float, error: float, kind: Kind) -> Estimate:
        if value == 0 and error == 0:
            return Estimate(0.0, 0.0, "exact")
        return Estimate(float(value), float(error), kind)

    v = tuple(pack(x, e, drift.kind) for x, e in zip(drift.value, drift.error, strict=True))
    k = tuple(
        tuple(pack(x, e, matrix.kind) for x, e in zip(xs, es, strict=True))
        for xs, es in zip(matrix.value, matrix.error, strict=True)
    )
    return Moments(v, k, variance)


def largest_form(value: np.ndarray, neutral: np.ndarray) -> tuple[float, np.ndarray]:
    """Largest value of T[m, ..., m] over unit vectors in a subspace, and where it is taken."""
    for axis in range(value.ndim):
        value = np.moveaxis(np.tensordot(value, neutral, axes=(axis, 0)), -1, axis)
    size = neutral.shape[1]
    if not np.abs(value).max() > 0:
        return 0.0, neutral[:, 0]

    def contracted(m: np.ndarray, times: int) -> np.ndarray:
        result = value
        for _ in range(times):
            result = result @ m
        return result

    best, where = -math.inf, np.eye(size)[0]
    shift = float(value.ndim * np.abs(value).sum())  # makes the iteration climb
    for start in np.random.default_rng(0).standard_normal((24, size)):
        for m in (start, -start):
            m = m / np.linalg.norm(m)
            for _ in range(300 if size > 1 else 0):
                m = contracted(m, value.ndim - 1) + shift / 4 * m
                m = m / np.linalg.norm(m)
            form = float(contracted(m, value.ndim))
            if form > best:
                best, where = form, m
    return best, neutral @ where

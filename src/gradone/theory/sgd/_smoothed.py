r"""Activations averaged over a Gaussian part of their argument.

.. math:: \sigma_s(v) = \mathbb{E}_G\,\sigma(v + sG), \qquad
          \sigma_s'(v), \qquad \partial_s\sigma_s(v) = s\,\sigma_s''(v)     [MF-2]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...calculus.grid import gauss_hermite
from ...targets.activation import Activation
from ...targets.language.tree import (
    Call,
    Node,
    Number,
    Pi,
    Product,
    Sum,
    Variable,
    children,
    is_constant,
    multiply,
)


class Smoothed(NamedTuple):
    """Values and derivatives at arrays v and s."""

    value: np.ndarray
    by_v: np.ndarray
    by_s: np.ndarray


class Parts(NamedTuple):
    """An activation as a sum of functions whose Gaussian means need few operations."""

    line: np.ndarray
    """Constant and slope."""
    kinks: np.ndarray
    """Rows (edge, jump, change of slope)."""
    curves: np.ndarray
    """Rows (size, scale, shift) of size erf(scale z + shift)."""
    waves: np.ndarray
    """Rows (size, scale, shift) of size sin(scale z + shift)."""


class SmoothedActivation:
    r"""The function :math:`\sigma_s(v)` of an activation, for any s > 0.

    Piecewise polynomials (relu, abs, step, Hermite polynomials) have a closed form in the normal
    law at their breaks, sine and erf functions one of their own; all else is averaged over
    Gauss-Hermite nodes.

    Parameters
    ----------
    activation : Activation
        The function :math:`\sigma`.
    nodes : int
        Number of Gauss-Hermite nodes.

    Examples
    --------
    >>> relu = SmoothedActivation(Activation("relu(z)"))
    >>> [round(float(x), 6) for x in relu(np.array(0.0), np.array(1.0))]
    [0.398942, 0.5, 0.398942]
    """

    def __init__(self, activation: Activation, nodes: int = 24) -> None:
        self.activation, self.nodes = activation, nodes
        self._derivative = activation.derivative()
        self._pieces = _pieces(activation)
        self.parts = _parts(activation, self._pieces)

    def __call__(self, v: np.ndarray, s: np.ndarray) -> Smoothed:
        """Value and derivatives, of the common shape of v and s."""
        if self._pieces is None:
            return self._by_nodes(v, s) if self.parts is None else _of_parts(self.parts, v, s)
        # Stein: sigma_s' = E[sigma G]/s and d_s sigma_s = E[sigma (G^2 - 1)]/s.
        none, one, two = _gaussian_moments(*self._pieces, v, s)
        return Smoothed(none, one / s, (two - none) / s)

    def _by_nodes(self, v: np.ndarray, s: np.ndarray) -> Smoothed:
        value, by_v, by_s = (np.zeros(np.broadcast_shapes(v.shape, s.shape)) for _ in range(3))
        for node, weight in zip(*gauss_hermite(self.nodes), strict=True):
            x = v + s * node
            slope = weight * self._derivative(x)
            value += weight * self.activation(x)
            by_v += slope
            by_s += node * slope
        return Smoothed(value, by_v, by_s)


def _parts(activation: Activation, pieces: tuple[np.ndarray, np.ndarray] | None) -> Parts | None:
    """Lines between breaks, or a sum of a line, sines and error functions; None for all else."""
    none = np.empty((0, 3))
    if pieces is not None:
        table, breaks = pieces
        if table.shape[1] > 2:
            return None
        table = np.pad(table, ((0, 0), (0, 2 - table.shape[1])))
        change = np.diff(table, axis=0)
        kinks = np.stack([breaks, change[:, 0] + change[:, 1] * breaks, change[:, 1]], axis=1)
        return Parts(table[0].copy(), kinks.reshape(-1, 3), none, none)
    line = np.zeros(2)
    curves: list[tuple[float, float, float]] = []
    waves: list[tuple[float, float, float]] = []
    tree = activation.expression.tree
    for term in tree.terms if isinstance(tree, Sum) else (tree,):
        factors = term.factors if isinstance(term, Product) else (term,)
        calls = [f for f in factors if isinstance(f, Call) and not is_constant(f)]
        size = _line(multiply(f for f in factors if f not in calls))
        if size is None or len(calls) > 1:
            return None
        if not calls:
            line += size
            continue
        inner = _line(calls[0].arguments[0])
        if size[1] or inner is None or calls[0].name not in ("sin", "cos", "erf"):
            return None
        turned = np.pi / 2 if calls[0].name == "cos" else 0.0
        rows = curves if calls[0].name == "erf" else waves
        rows.append((size[0], inner[1], inner[0] + turned))
    return Parts(line, none, _table(curves), _table(waves))


def _table(rows: list[tuple[float, float, float]]) -> np.ndarray:
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _line(node: Node) -> np.ndarray | None:
    """Constant and slope of a node that is linear in the variable."""
    if isinstance(node, Variable):
        return np.array([0.0, 1.0])
    if isinstance(node, Number):
        return np.array([float(node.value), 0.0])
    if isinstance(node, Pi):
        return np.array([np.pi, 0.0])
    if not isinstance(node, Sum | Product):
        return None
    parts = [_line(part) for part in children(node)]
    if any(part is None for part in parts):
        return None
    found = np.zeros(2) if isinstance(node, Sum) else np.array([1.0, 0.0])
    for part in parts:
        assert part is not None
        if isinstance(node, Sum):
            found = found + part
        elif found[1] and part[1]:
            return None
        else:
            found = np.array([found[0] * part[0], found[0] * part[1] + found[1] * part[0]])
    return found


def _of_parts(parts: Parts, v: np.ndarray, s: np.ndarray) -> Smoothed:
    """Means of a line, error functions and sines."""
    from scipy.special import erf

    shape = np.broadcast_shapes(v.shape, s.shape)
    value = np.broadcast_to(parts.line[0] + parts.line[1] * v, shape)
    by_v, by_s = np.full(shape, parts.line[1]), np.zeros(shape)
    for size, scale, shift in parts.curves:
        spread = np.sqrt(1 + 2 * (scale * s) ** 2)
        x = (scale * v + shift) / spread
        slope = 2 / np.sqrt(np.pi) * size * scale / spread * np.exp(-x * x)
        value, by_v = value + size * erf(x), by_v + slope
        by_s = by_s - 2 * slope * x * scale * s / spread
    for size, scale, shift in parts.waves:
        damped, x = size * np.exp(-0.5 * (scale * s) ** 2), scale * v + shift
        wave = damped * np.sin(x)
        value, by_v = value + wave, by_v + damped * scale * np.cos(x)
        by_s = by_s - scale**2 * s * wave
    return Smoothed(value, by_v, by_s)


def _pieces(activation: Activation) -> tuple[np.ndarray, np.ndarray] | None:
    """Coefficients (pieces, degree + 1) between breaks (pieces - 1,); None if there are none."""
    form = activation.expression.form
    found = [term.blocks[0].integrand for term in form.terms if len(term.blocks) == 1]
    if len(found) < len(form.terms) or any(f.pieces is None for f in found):
        return None
    breaks = np.array(sorted({b for f in found for b in f.breaks}))
    middles = np.concatenate([[-np.inf], breaks, [np.inf]])
    # A point of each piece tells which polynomial of each term holds there.
    inside = np.zeros(1)
    if len(breaks):
        inside = np.clip((middles[:-1] + middles[1:]) / 2, breaks[0] - 1, breaks[-1] + 1)
    parts = [(form.polynomial, 1.0, None)] + [
        (None, float(term.coefficient), f) for term, f in zip(form.terms, found, strict=True)
    ]
    rows = []
    for x in inside:
        row: dict[int, float] = {}
        for polynomial, factor, f in parts:
            piece = polynomial
            if f is not None:
                assert f.pieces is not None
                piece = f.pieces[int(np.searchsorted(f.breaks, x))]
            assert piece is not None
            for (power,), c in piece.coefficients.items():
                row[power] = row.get(power, 0.0) + factor * float(c)
        rows.append(row)
    size = max((power for row in rows for power in row), default=0) + 1
    table = np.array([[row.get(power, 0.0) for power in range(size)] for row in rows])
    return table, breaks


def _gaussian_moments(
    table: np.ndarray, breaks: np.ndarray, v: np.ndarray, s: np.ndarray
) -> list[np.ndarray]:
    r"""Moments :math:`\mathbb{E}[\sigma(v + sG) G^m]`, m = 0, 1, 2, of a piecewise polynomial.

    With :math:`x_b = (b - v)/s` and :math:`T_k(x) = \int_x^\infty g^k\varphi`, the jump of the
    polynomial at each break, in powers of G, meets the tail of the law there:
    :math:`T_k = (k-1) T_{k-2} + x^{k-1}\varphi(x)`.
    """
    from scipy.special import ndtr

    size = table.shape[1]
    shape = np.broadcast_shapes(v.shape, s.shape)
    found = [np.zeros(shape) for _ in range(3)]
    whole = [1.0, 0.0]  # moments of the whole line
    for k in range(2, size + 2):
        whole.append((k - 1) * whole[k - 2])
    for polynomial, edge in zip(np.diff(table, axis=0, prepend=0.0), [None, *breaks], strict=True):
        if not polynomial.any():
            continue
        tails: list[np.ndarray | float]
        if edge is None:
            tails = list(whole)
        else:
            x = (edge - v) / s
            density = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
            tails = [ndtr(-x), density]
            power = density
            for k in range(2, size + 2):
                power = power * x
                tails.append((k - 1) * tails[k - 2] + power)
        for k, factor in enumerate(_in_powers_of_noise(polynomial, v, s)):
            for m in range(3):
                found[m] += factor * tails[k + m]
    return found


def _in_powers_of_noise(
    polynomial: np.ndarray, v: np.ndarray, s: np.ndarray
) -> list[np.ndarray | float]:
    """Coefficients of the powers of G in a polynomial of v + s G, by Horner's rule."""
    found: list[np.ndarray | float] = [float(polynomial[-1])]
    for c in polynomial[-2::-1]:
        raised = [0.0, *(s * f for f in found)]
        found = [r + (v * f) for r, f in zip(raised, [*found, 0.0], strict=True)]
        found[0] = found[0] + float(c)
    return found

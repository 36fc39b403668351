"""Averages of the push at a given label: functions of one number, computed once and kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...calculus.hermite import normal_density
from ...calculus.line import gauss_legendre
from .rules import Update

_CELLS = 40  # large labels make narrow features in the field


class LabelFunction:
    r"""Functions of the label known by values, kept as Chebyshev pieces in asinh(y).

    Parameters
    ----------
    function : callable
        ``y (n,) -> values (m, n), errors (m, n)``.
    tolerance : float
        Largest error of a piece relative to the size of the function on it.

    Notes
    -----
    Pieces are built where labels are asked for, and halved until they fit; asinh makes the far
    labels of polynomial targets cheap.

    Examples
    --------
    >>> kink = LabelFunction(lambda y: (np.abs(y - 0.3)[None], np.zeros((1, len(y)))))
    >>> bool(abs(kink(np.array([0.5, 100.0]))[0] - [0.2, 99.7]).max() < 1e-6)
    True
    """

    degree = 12

    def __init__(
        self,
        function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
        tolerance: float = 1e-9,
    ) -> None:
        self._function, self._tolerance = function, tolerance
        k = np.arange(self.degree + 1)
        angle = math.pi * (k + 0.5) / (self.degree + 1)
        self._nodes = np.cos(angle)
        self._fit = np.cos(np.outer(k, angle)) * (2 - (k == 0))[:, None] / (self.degree + 1)
        # Between the nodes, where the piece is tested.
        self._tests = np.array([-0.97, -0.55, 0.11, 0.83])
        self._at_tests = np.cos(np.outer(np.arccos(self._tests), k))
        self._built: set[int] = set()
        self._left = np.empty(0)
        self._right = np.empty(0)
        self._pieces = np.empty((0, self.degree + 1, 0))
        self._errors = np.empty((0, 0))
        self._columns = np.empty((self.degree + 1, 0, 0))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Values (m, n) at labels (n,)."""
        where, t = self._locate(y)
        ahead = np.zeros((self._pieces.shape[2], len(y)))
        current = np.zeros_like(ahead)
        twice = 2 * t
        for j in range(self.degree, 0, -1):  # Clenshaw
            new = np.take(self._columns[j], where, axis=1)
            new += twice * current
            new -= ahead
            current, ahead = new, current
        return np.take(self._columns[0], where, axis=1) + t * current - ahead

    def error(self, y: np.ndarray) -> np.ndarray:
        """Errors (m, n) of the values at labels (n,)."""
        return self._errors[self._locate(y)[0]].T

    def _locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.arcsinh(y)
        cells = np.floor(2 * x).astype(np.int64)
        low = int(cells.min(initial=0))
        cells = np.flatnonzero(np.bincount(cells - low)) + low
        new = np.array([cell for cell in cells if cell not in self._built], dtype=np.float64)
        if len(new):
            self._build(new / 2, new / 2 + 0.5)
            self._built.update(int(cell) for cell in new)
        where = np.searchsorted(self._left, x, side="right") - 1
        left, right = self._left[where], self._right[where]
        return where, np.clip((2 * x - left - right) / (right - left), -1.0, 1.0)

    def _build(self, left: np.ndarray, right: np.ndarray) -> None:
        ready: list[list[np.ndarray]] = [
            [part] for part in (self._left, self._right, self._pieces, self._errors)
        ]
        while len(left):
            middle, half = (left + right) / 2, (right - left) / 2
            points = np.concatenate([self._nodes, self._tests])
            x = middle[:, None] + half[:, None] * points
            values, errors = self._function(np.sinh(x).ravel())
            values = values.reshape(len(values), *x.shape)
            errors = errors.reshape(values.shape).max(axis=2).T
            pieces = np.einsum("kn,mpn->pkm", self._fit, values[..., : self.degree + 1])
            misfit = np.einsum("tk,pkm->ptm", self._at_tests, pieces)
            misfit = np.abs(misfit - np.moveaxis(values[..., self.degree + 1 :], 0, 2)).max(axis=1)
            size = np.abs(values).max(axis=2).T
            poor = (misfit > self._tolerance * size + 1e-14).any(axis=1) & (half > 1e-6)
            # A quadrature that is itself rough cannot be interpolated any better.
            poor &= (misfit > 0.1 * errors).any(axis=1)
            new = left, right, pieces, misfit + errors
            for kept, part in zip(ready, new, strict=True):
                kept.append(part[~poor] if part.size else part)
            edges = left[poor], middle[poor], right[poor]
            left, right = np.concatenate(edges[:2]), np.concatenate(edges[1:])
        lefts, rights, pieces_, errors_ = ([part for part in kept if part.size] for kept in ready)
        order = np.argsort(np.concatenate(lefts))
        self._left = np.concatenate(lefts)[order]
        self._right = np.concatenate(rights)[order]
        self._pieces = np.concatenate(pieces_)[order]
        self._errors = np.concatenate(errors_)[order]
        self._columns = np.ascontiguousarray(np.transpose(self._pieces, (1, 2, 0)))


def label_function(update: Update, noise: float, order: int = 1) -> LabelFunction:
    r"""Averages of the push over its field, and over the noise, as functions of g(z).

    Rows :math:`\mathbb{E}[\phi\,\mathrm{He}_j(u)\mid g]`, j = 0..order, and
    :math:`\mathbb{E}[\phi^2\mid g]`, at :math:`y = g + \sqrt{\text{noise}}\,\xi`.
    """

    def over_field(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        jumps = update.jumps(y)
        fine = update.averages(y, order=order, jumps=jumps, cells=_CELLS)
        coarse = update.averages(y, order=order, jumps=jumps, nodes=11, cells=_CELLS)
        return fine, np.abs(fine - coarse)

    clean = LabelFunction(over_field)
    if not noise:
        return clean
    t, weight = gauss_legendre(8)
    edges = np.linspace(-8.0, 8.0, 25)
    xi = (edges[:-1, None] + np.diff(edges)[:, None] * t).ravel()
    mass = (np.diff(edges)[:, None] * weight).ravel() * normal_density(xi)

    def over_noise(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = (g[:, None] + math.sqrt(noise) * xi).ravel()
        values, errors = (
            part.reshape(-1, len(g), len(xi)) @ mass for part in (clean(y), clean.error(y))
        )
        # The label function may have kinks that the panels do not know.
        half = clean((g[:, None] + math.sqrt(noise) * xi * 0.997).ravel())
        moved = mass * 0.997 * np.exp(0.5 * xi * xi * (1 - 0.997**2))
        other = half.reshape(-1, len(g), len(xi)) @ moved
        return values, errors + np.abs(values - other)

    return LabelFunction(over_noise)

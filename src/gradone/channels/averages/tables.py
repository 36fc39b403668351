r"""Slices on a lattice: their moments at all prior means at once, as products of matrices.

With :math:`z \sim N(\omega, V)` the moments of a slice of labels are

.. math:: f_b(\omega) = \mathbb{E}[h_b(y) \mid \omega], \quad
          \partial_\omega f_b, \quad \partial^2_\omega f_b,                                 [TB-1]

so that :math:`g_{out} = \partial f_b / f_b`. In a frame in which V is diagonal the Gaussian density
is a product over axes. The points of the cloud are therefore spread over the nodes of a lattice
once, by cubic B-splines, and the moments are this table times small matrices, axis by axis. The
Gaussian is sharpened by what the splines smear (their variance and fourth cumulant), which makes
steps of half a standard deviation accurate to four digits.
"""

from __future__ import annotations

import itertools
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .mirrors import Lattice, Move
from .slices import RADIUS, Cloud, Slices, opposites

_BLOCK = 2**17  # entries of a table that are filled at once


class Table:
    """The cloud spread over the nodes of a lattice along the axes of a frame.

    Axes without overlap need no nodes: the only prior mean there is 0, and derivatives by it are
    Hermite polynomials of z. Of an axis along which the target has a mirror, the nodes from -1 on
    are enough.

    Parameters
    ----------
    slices : Slices
        Labels of the target.
    lattice : Lattice
        Axes of the frame, and the symmetries of the target there.
    steps : array (r,)
        Steps of the lattice along the axes; 0 for axes without overlap.
    """

    def __init__(self, slices: Slices, lattice: Lattice, steps: np.ndarray) -> None:
        self.slices, self.lattice, self.steps = slices, lattice, steps
        self.nodes = nodes_of(lattice, steps)
        self.shape = tuple(len(n) for n in self.nodes)
        self.features = orders(len(lattice.rest), 2)

    @cached_property
    def whole(self) -> np.ndarray:
        """Volume of each slice at the nodes, (n_1, ..., features, slices), in single precision."""
        return self._mixed((self._half(0) + self._half(1)) / 2).astype(np.float32)

    def block(self, which: int) -> np.ndarray:
        """The same from one of four blocks of the cloud; it is not kept."""
        half, block = divmod(which, 2)
        return self._mixed(2 * self._half(half, self.slices.labels.halves[half].block == block))

    def _half(self, which: int, chosen: np.ndarray | None = None) -> np.ndarray:
        half, (columns, weights) = self.slices.labels.halves[which], self.slices.slots[which]
        if chosen is not None:
            half = Cloud(*(column[chosen] for column in half))
            columns, weights = columns[:, chosen], weights[:, chosen]
        return self._spread(half, columns, weights)

    def _mixed(self, table: np.ndarray) -> np.ndarray:
        """Table with label noise, as symmetric as the target."""
        if self.slices.mixing is not None:
            table = table @ self.slices.mixing
        return self._symmetric(table)

    @cached_property
    def rough(self) -> np.ndarray:
        """The same with half as many slices."""
        return self.slices.merged(self.whole)

    @property
    def nbytes(self) -> int:
        """Memory that the table takes so far."""
        return sum(part.nbytes for part in vars(self).values() if isinstance(part, np.ndarray))

    def moments(
        self, values: np.ndarray, omega: list[np.ndarray], variances: np.ndarray, order: int
    ) -> dict[tuple[int, ...], np.ndarray]:
        """Moments [TB-1] at a product of prior means, by the orders of derivatives along the axes.

        Parameters
        ----------
        values : array (n_1, ..., features, k)
            Volumes at the nodes.
        omega : list of arrays
            Prior means along each axis.
        variances : array (r,)
            Eigenvalues of V.
        order : int
            Largest total order.

        Returns
        -------
        dict
            From multi-indices to arrays (prior means, k).
        """
        pieces = [
            (self._products(piece, parity, omega, variances, order), parity)
            for parity, piece in self._split(values)
        ]
        whole = {
            key: self._joined([found[key] for found, _ in pieces], values.shape[-1])
            for key in pieces[0][0]
        }
        return {
            self._key(key, feature): part[:, i]
            for key, part in whole.items()
            for i, feature in enumerate(self.features)
            if sum(key) + sum(feature) <= order
        }

    def _products(
        self,
        piece: np.ndarray,
        parity: int,
        omega: list[np.ndarray],
        variances: np.ndarray,
        order: int,
    ) -> dict[tuple[int, ...], np.ndarray]:
        """Products over all axes, of slices that a change of sign of the label keeps or negates."""
        found: dict[tuple[int, ...], np.ndarray] = {(): piece[None]}
        for i, axis in enumerate(self.lattice.axes):
            means, variance = omega[axis], float(variances[axis])
            kernels = {1: _kernels(means, variance, self.nodes[i], order)}
            signs = np.ones(len(self.features))
            if (mirror := self.lattice.mirrors[i]) is not None:
                images = _kernels(means, variance, -self.nodes[i], order)
                pairs = list(zip(kernels[1], images, strict=True))
                kernels = {s: [(a + s * b) / 2 for a, b in pairs] for s in (1, -1)}
                signs = self._mirror_signs[i] * (1 if mirror.keeps else parity)
            found = {
                (*key, k): _along(part, {s: both[k] for s, both in kernels.items()}, signs)
                for key, part in found.items()
                for k in range(order + 1 - sum(key))
            }
        return found

    @cached_property
    def _mirror_signs(self) -> list[np.ndarray]:
        """Signs that the mirror of each axis gives to the features."""
        return [np.ones(0) if m is None else self._signs(m) for m in self.lattice.mirrors]

    def _split(self, values: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Even and odd parts under a change of sign of the label, if a mirror makes one."""
        if all(mirror is None or mirror.keeps for mirror in self.lattice.mirrors):
            return [(1, values)]
        one, other = self._pairs(values.shape[-1])
        return [(s, (values[..., one] + s * values[..., other]) / 2) for s in (1, -1)]

    def _joined(self, pieces: list[np.ndarray], count: int) -> np.ndarray:
        if len(pieces) == 1:
            return pieces[0]
        one, other = self._pairs(count)
        found = np.empty((*pieces[0].shape[:-1], count))
        found[..., other] = pieces[0] - pieces[1]
        found[..., one] = pieces[0] + pieces[1]
        return found

    def _pairs(self, count: int) -> tuple[Any, Any]:
        """Slices and those of the other sign, each pair once."""
        if not self.slices.n_values:  # views instead of copies
            half = count // 2
            return slice(0, count - half), slice(count - 1, half - 1 if half else None, -1)
        opposite = opposites(self.slices.n_values, count)
        one = np.flatnonzero(np.arange(count) <= opposite)
        return one, opposite[one]

    def _key(self, along: tuple[int, ...], across: tuple[int, ...]) -> tuple[int, ...]:
        """Multi-index over all axes, from those over axes with and without overlap."""
        key = np.zeros(len(self.steps), dtype=int)
        key[self.lattice.axes], key[self.lattice.rest] = along, across
        return tuple(int(k) for k in key)

    # ---- filling

    def _spread(self, half: Cloud, columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Points in columns (k, n), times weights (k, n), spread over the nodes by B-splines."""
        features, axes, count = len(self.features), self.lattice.axes, self.slices.columns
        total = np.zeros(int(np.prod(self.shape)) * features * count)
        strides = features * count * np.cumprod([1, *self.shape[:0:-1]])[::-1][: len(axes)]
        opposite = self.slices.opposite_columns
        first_node = np.array([n[0] for n in self.nodes])
        images = self._images
        for image in images:
            u, keeps = self.lattice.folded(half.z @ image.S.T @ self.lattice.Q)
            keeps = keeps == image.keeps
            mine = np.where(keeps, columns, opposite[columns])
            place = (u[:, axes] - first_node) / self.steps[axes]
            first = place.astype(np.int64)
            corner = (first - 1) @ strides
            across = _hermite_weights(u[:, self.lattice.rest], self.features)
            across *= half.volume / len(images)
            # In a large table, neighbors one after another.
            order = np.argsort(corner) if total.size > _BLOCK else np.arange(len(corner))
            size = max(1, _BLOCK // (4 ** len(strides) * features))
            for start in range(0, len(order), size):
                at = order[start : start + size]
                index = corner[at] + count * np.arange(features)[:, None, None] + mine[:, at]
                weight = across[:, None, at] * weights[:, at]
                for axis, stride in enumerate(strides):
                    spline = _spline(place[at, axis] - first[at, axis])
                    index = np.arange(4)[:, None, None] * stride + index.reshape(1, -1, len(at))
                    weight = spline[:, None] * weight.reshape(1, -1, len(at))
                low = int(index.min())
                part = np.bincount((index - low).ravel(), weight.ravel())
                total[low : low + len(part)] += part
        return total.reshape(*self.shape, features, count)

    # ---- symmetries

    @cached_property
    def _images(self) -> list[Move]:
        return self.lattice.images(self.steps)

    @cached_property
    def _moves(self) -> list[Move]:
        return self.lattice.moves(self.steps)

    def _symmetric(self, table: np.ndarray) -> np.ndarray:
        """Mean of a table over the symmetries that map the lattice to itself."""
        if len(self._moves) < 2:
            return table
        found = np.zeros_like(table)
        n = len(self.lattice.axes)
        for move in self._moves:
            size = np.abs(move.S[np.ix_(self.lattice.axes, self.lattice.axes)])
            axes = (size @ np.arange(n)).astype(int)
            moved = table.transpose(*axes, n, n + 1)
            signs = move.S[self.lattice.axes].sum(axis=1)
            moved = np.flip(moved, tuple(int(i) for i in np.flatnonzero(signs < 0)))
            found += self._mirrored(moved, move)
        return found / len(self._moves)

    def _mirrored(self, part: np.ndarray, move: Move) -> np.ndarray:
        """Features and slices (..., features, k) of the images of all points under a map."""
        order, signs = self._order(move), self._signs(move)
        if not move.keeps:
            if not self.slices.n_values:
                part = part[..., ::-1]
            else:
                part = part[..., opposites(self.slices.n_values, part.shape[-1])]
        if not np.array_equal(order, np.arange(len(order))):
            part = part[..., order, :]
        return part if (signs > 0).all() else part * signs[:, None]

    def _order(self, move: Move) -> np.ndarray:
        """Feature that a map makes of each feature."""
        rest = self.lattice.rest
        turn = np.abs(move.S[np.ix_(rest, rest)])  # a permutation
        moved = np.array(self.features).reshape(len(self.features), len(rest)) @ turn.astype(int)
        return np.array([self.features.index(tuple(map(int, feature))) for feature in moved])

    def _signs(self, move: Move) -> np.ndarray:
        """Sign that each feature gets."""
        signs = move.S[self.lattice.rest].sum(axis=1)
        return np.array([np.prod(signs ** np.array(f, dtype=float)) for f in self.features])


def nodes_of(lattice: Lattice, steps: np.ndarray) -> list[np.ndarray]:
    """Nodes along each axis with overlap."""
    found = []
    for axis, mirror in zip(lattice.axes, lattice.mirrors, strict=True):
        reach = int(np.ceil(RADIUS[len(steps)] / steps[axis])) + 2
        found.append(steps[axis] * np.arange(-reach if mirror is None else -1, reach + 1))
    return found


@lru_cache
def orders(r: int, total: int) -> list[tuple[int, ...]]:
    """Multi-indices of up to two derivatives: none, then one, then pairs.

    Examples
    --------
    >>> orders(2, 2)
    [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    """
    unit = np.eye(r, dtype=int).reshape(r, r)
    found = [np.zeros(r, dtype=int), *unit[: r * total]]
    if total > 1:
        found += [unit[i] + unit[j] for i, j in index_pairs(r)]
    return [tuple(int(k) for k in order) for order in found]


def index_pairs(r: int) -> list[tuple[int, int]]:
    """Pairs of axes, each once."""
    return list(itertools.combinations_with_replacement(range(r), 2))


def _along(part: np.ndarray, kernels: dict[int, np.ndarray], signs: np.ndarray) -> np.ndarray:
    """Product of (p, n, ..., features, k) over its n nodes, with a kernel for each sign."""
    if (signs == signs[0]).all():
        # A table in single precision is multiplied so; what comes out of it is much smaller.
        kernel = kernels[int(signs[0])].astype(part.dtype)
        found = kernel @ part.reshape(*part.shape[:2], -1)
        return found.reshape(-1, *part.shape[2:]).astype(np.float64)
    features = [_along(part[..., [i], :], kernels, signs[[i]]) for i in range(len(signs))]
    return np.concatenate(features, axis=-2)


def _hermite_weights(u: np.ndarray, orders: list[tuple[int, ...]]) -> np.ndarray:
    """Derivatives (k, n) of Gaussian densities of points (n, q) by their means, at 0."""
    density = np.exp(-np.einsum("ni,ni->n", u, u) / 2) / (2 * np.pi) ** (u.shape[1] / 2)
    powers = [np.ones_like(u), u, u**2 - 1]
    return np.array([
        density * np.prod([powers[k][:, i] for i, k in enumerate(order)], axis=0)
        for order in orders
    ])  # fmt: skip


def _spline(f: np.ndarray) -> np.ndarray:
    """Cubic B-spline weights (4, n) of the nodes around points at fractions f of a step."""
    return np.stack([
        (1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, -3 * f**3 + 3 * f**2 + 3 * f + 1, f**3
    ]) / 6  # fmt: skip


def _kernels(omega: np.ndarray, V: float, nodes: np.ndarray, order: int) -> list[np.ndarray]:
    """Gaussian densities of the nodes given each prior mean, and their derivatives by it.

    What B-splines smear is taken back: a variance of h^2/3 and a fourth cumulant of -h^4/30.
    """
    h = nodes[1] - nodes[0]
    v = V - h**2 / 3
    x = (nodes - omega[:, None]) / np.sqrt(v)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi * v)
    sharper = h**4 / 720 / v**2
    he = [np.ones_like(x), x]
    for k in range(1, order + 4):
        he.append(x * he[k] - k * he[k - 1])
    return [(he[k] + sharper * he[k + 4]) * (density / v ** (k / 2)) for k in range(order + 1)]

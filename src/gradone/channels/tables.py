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
from functools import cached_property

import numpy as np
from numpy.polynomial.hermite_e import hermeval

from .slices import RADIUS, Cloud, Slices

_FRAME = 1e-9  # size of what counts as rounding in a frame
_BLOCK = 2**17  # entries of a table that are filled at once
_FINE = 0.6  # steps of a table in units of the largest that would do: smaller ones are wasteful


class Table:
    """The cloud spread over the nodes of a lattice along the axes of a frame.

    Axes without overlap need no nodes: the only prior mean there is 0, and derivatives by it are
    Hermite polynomials of z.

    Parameters
    ----------
    slices : Slices
        Labels of the target.
    Q : array (r, r)
        Axes of the frame as orthonormal columns.
    steps : array (r,)
        Steps of the lattice along the axes; 0 for axes without overlap.
    """

    def __init__(self, slices: Slices, Q: np.ndarray, steps: np.ndarray) -> None:
        self.slices, self.Q, self.steps = slices, Q, steps
        self.axes, self.rest = np.flatnonzero(steps > 0), np.flatnonzero(steps == 0)
        self.reach = np.array([reach(h) for h in steps[self.axes]], dtype=np.int64)
        self.shape = tuple(2 * self.reach + 1)
        self.features = orders(len(self.rest), 2)

    def fits(self, Q: np.ndarray, steps: np.ndarray) -> bool:
        """Whether the lattice is fine enough, and not much finer than that, in this frame."""
        if not np.array_equal(Q, self.Q) or not np.array_equal(steps > 0, self.steps > 0):
            return False
        share = self.steps[self.axes] / steps[self.axes]
        return bool(share.max(initial=1.0) <= 1 + 1e-9 and share.min(initial=1.0) > _FINE)

    @cached_property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """Volume of each slice at the nodes, (n_1, ..., features, slices), from each half."""
        found = []
        for half, slots in zip(self.slices.labels.halves, self.slices.slots, strict=True):
            columns = np.stack([slots.lower, slots.upper])
            weights = np.stack([1 - slots.share, slots.share])
            if not slots.share.any():
                columns, weights = columns[:1], weights[:1]
            table = self._spread(half, columns, weights, self.slices.columns)
            if self.slices.mixing is not None:
                table = table @ self.slices.mixing
            found.append(self._symmetric(table, self.slices.opposite))
        return found[0], found[1]

    @cached_property
    def whole(self) -> np.ndarray:
        """The same from the whole cloud."""
        return np.asarray((self.halves[0] + self.halves[1]) / 2)

    @cached_property
    def rough(self) -> np.ndarray:
        """The same with half as many slices."""
        return self.slices.merged(self.whole)

    @cached_property
    def label(self) -> np.ndarray:
        """Label times volume at the nodes, (n_1, ..., features, groups)."""
        one, other = (
            self._spread(half, half.group[None], half.y[None], self.slices.labels.groups)
            for half in self.slices.labels.halves
        )
        return self._symmetric((one + other) / 2, None)

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
        found: dict[tuple[int, ...], np.ndarray] = {(): values[None]}
        for i, axis in enumerate(self.axes):
            nodes = self.steps[axis] * np.arange(-self.reach[i], self.reach[i] + 1)
            kernel = _kernels(omega[axis], float(variances[axis]), nodes, order)
            rest = values.shape[i + 1 :]
            found = {
                (*key, k): (kernel[k] @ part.reshape(*part.shape[:2], -1)).reshape(-1, *rest)
                for key, part in found.items()
                for k in range(order + 1 - sum(key))
            }
        return {
            self._key(key, feature): part[:, i]
            for key, part in found.items()
            for i, feature in enumerate(self.features)
            if sum(key) + sum(feature) <= order
        }

    def _key(self, along: tuple[int, ...], across: tuple[int, ...]) -> tuple[int, ...]:
        """Multi-index over all axes, from those over axes with and without overlap."""
        key = np.zeros(len(self.steps), dtype=int)
        key[self.axes], key[self.rest] = along, across
        return tuple(int(k) for k in key)

    # ---- filling

    def _spread(
        self, half: Cloud, columns: np.ndarray, weights: np.ndarray, count: int
    ) -> np.ndarray:
        """Points in columns (k, n), times weights (k, n), spread over the nodes by B-splines."""
        features = len(self.features)
        total = np.zeros(int(np.prod(self.shape)) * features * count)
        strides = features * count * np.cumprod([1, *self.shape[:0:-1]])[::-1]
        strides = strides[: len(self.axes)]
        is_label = count == self.slices.labels.groups
        opposite = np.arange(count) if is_label else self.slices.opposite_columns
        for S, keeps in self._images:
            u = half.z @ S @ self.Q
            place = u[:, self.axes] / self.steps[self.axes] + self.reach
            first = place.astype(np.int64)
            corner = (first - 1) @ strides
            across = _hermite_weights(u[:, self.rest], self.features) * half.volume
            signed = -weights if is_label and not keeps else weights
            order = np.argsort(corner)  # neighbors in the table one after another
            size = max(1, _BLOCK // (4 ** len(strides) * features))
            for start in range(0, len(order), size):
                at = order[start : start + size]
                column = columns[:, at] if keeps else opposite[columns[:, at]]
                index = corner[at] + count * np.arange(features)[:, None, None] + column
                weight = across[:, None, at] * signed[:, at] / len(self._images)
                for axis, stride in enumerate(strides):
                    spline = _spline(place[at, axis] - first[at, axis])
                    index = np.arange(4)[:, None, None] * stride + index.reshape(1, -1, len(at))
                    weight = spline[:, None] * weight.reshape(1, -1, len(at))
                low = int(index.min())
                part = np.bincount((index - low).ravel(), weight.ravel())
                total[low : low + len(part)] += part
        return total.reshape(*self.shape, features, count)

    @cached_property
    def _images(self) -> list[tuple[np.ndarray, bool]]:
        """Symmetries under which images of all points are spread, too; whether they keep labels.

        Those that do not map the lattice to itself: without them, noise of the cloud would be taken
        for a signal that the symmetry excludes.
        """
        labels = self.slices.labels
        found = [(np.eye(len(self.Q)), True)]
        if not all(self._acts(S) for S in labels.turns):
            found = [(S, True) for S in labels.turns]
        if not all(self._acts(S) for S, _ in labels.flips):
            found = [(S @ T, keeps) for S, keeps in labels.flips for T, _ in found]
        return found

    def _symmetric(self, table: np.ndarray, opposite: np.ndarray | None) -> np.ndarray:
        """Mean of a table over the symmetries that map the lattice to itself.

        A table of slices whose opposites are given, or else of the label.
        """
        seen = [np.eye(len(self.Q))]
        for S, keeps in self.slices.labels.flips:
            if self._acts(S) and not any(np.array_equal(S, other) for other in seen):
                moved = self._moved(table, S)
                if not keeps:
                    moved = -moved if opposite is None else moved[..., opposite]
                table = (table + moved) / 2
                seen += [S @ other for other in seen]
        images = [self._moved(table, S) for S in self.slices.labels.turns if self._acts(S)]
        return np.asarray(sum(images) / len(images)) if images else table

    def _acts(self, S: np.ndarray) -> bool:
        """Whether a map permutes the axes of the lattice, and steps are equal, up to signs."""
        size = np.abs(self.Q.T @ S @ self.Q)
        whole = np.minimum(size, np.abs(1 - size)).max() < _FRAME
        return bool(whole and not len(self.rest) and np.allclose(size @ self.steps, self.steps))

    def _moved(self, table: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Table of the images of all points under a map of the lattice to itself."""
        P = self.Q.T @ S @ self.Q
        axes = np.abs(P).argmax(axis=1)
        signs = P[np.arange(len(P)), axes]
        flipped = tuple(int(i) for i in np.flatnonzero(signs < 0))
        return np.flip(table.transpose(*axes, len(axes), len(axes) + 1), flipped)


def reach(step: float) -> int:
    """Nodes on each side of 0."""
    return int(np.ceil(RADIUS / step)) + 2


def orders(r: int, total: int) -> list[tuple[int, ...]]:
    """Multi-indices of up to two derivatives: none, then one, then pairs.

    Examples
    --------
    >>> orders(2, 2)
    [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    """
    unit = np.eye(r, dtype=int).reshape(r, r)
    found = [np.zeros(r, dtype=int), *unit]
    if total > 1:
        found += [unit[i] + unit[j] for i, j in index_pairs(r)]
    return [tuple(int(k) for k in order) for order in found]


def index_pairs(r: int) -> list[tuple[int, int]]:
    """Pairs of axes, each once."""
    return list(itertools.combinations_with_replacement(range(r), 2))


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
    found = []
    for k in range(order + 1):
        series = np.zeros(k + 5)
        series[k], series[k + 4] = 1.0, sharper
        found.append(hermeval(x, series) * density / v ** (k / 2))
    return found

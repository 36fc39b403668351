r"""Labels cut into slices, once per target: the general rule for averages over labels.

A target is evaluated on a cloud of points z, scrambled Sobol points of a wide Gaussian. Its labels
are cut into overlapping slices with weights :math:`h_b(y) \ge 0`, :math:`\sum_b h_b = 1`: one slice
for each value of positive probability, else hat functions between neighboring knots; label noise is
integrated exactly. A slice drawn with these weights is a coarser label, so what is computed from

.. math:: \mathbb{E}[\phi(z)\, h_b(y)]                                                      [LB-1]

misses information, of the order of the squared distance of knots. Knots lie densely where the law
of z changes fast with the label. Every second knot gives a coarser rule at no cost, and the
difference is both a correction and an error.

If some directions are known exactly, labels are cut for each of a sample of their values. Of labels
of finitely many values, latent noise is averaged out: a point belongs to each value with its
probability P(y | z).
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ...base.errors import OutOfRegime
from ...base.seeds import stream
from ...calculus.sobol import SobolSequence
from ...targets.channel import OutputChannel
from ...targets.language.expression import Expression
from ...targets.signed_permutations import Symmetries, symmetries
from ...targets.target import Target

RADIUS = {1: 6.5, 2: 6.5, 3: 5.8, 4: 5.8}  # no point of the cloud is farther from 0
FINEST = 512  # slices, where many are affordable
_WIDE = 1.25  # standard deviation of the cloud: the tails need points, too
_OUTERMOST = 5.0  # quantile of the outermost knots, in standard deviations of a Gaussian
_CELLS = 1536  # in which conditional moments are looked at to place the knots
_JUMPS, _JUMP = 8, 4.0  # largest number of jumps of the moments, and their size over the median
_PER_CELL = 64  # labels in a cell of the density
_SAME_VALUE = 1e-9
_FREQUENT = 0.005  # share of a label that counts as a value of positive probability
_POINTS = {1: 2**13, 2: 2**15, 3: 2**17, 4: 2**17}  # in each half, by directions
_MORE = 4  # times as many if labels are discrete or directions known: they need more
_KNOWN = 96  # values of known directions


class Cloud(NamedTuple):
    """Points with their labels before noise is added."""

    z: np.ndarray
    """(n, r) points."""
    y: np.ndarray
    """(n,) labels, or their means over latent noise."""
    group: np.ndarray
    """(n,) number of the value of the known directions."""
    volume: np.ndarray
    """(n,) weights: sums approximate integrals over z."""
    weight: np.ndarray
    """(n,) weights: sums approximate means over standard Gaussian z."""
    block: np.ndarray
    """(n,) 0 or 1: two parts, each of which represents all."""


class Labels:
    """Cloud of a target and where to cut its labels.

    Parameters
    ----------
    target : Target
        Target of up to four directions; with latent noise, one of which `label_probabilities` are
        known.
    known : array (k, r), optional
        Orthonormal rows of the directions that are known exactly; z are the others.
    finer : int
        Number of times that points are quadrupled.
    """

    def __init__(self, target: Target, known: np.ndarray | None = None, *, finer: int = 0) -> None:
        self.noise = target.noise
        rows = np.zeros((0, target.r)) if known is None else known
        self.free = _complement(rows)
        self.r = len(self.free)
        trivial = Symmetries(np.eye(self.r)[None], np.array([True]))
        self.symmetries = trivial if len(rows) else _symmetries(target)
        self.groups = _KNOWN if len(rows) else 1
        is_discrete = target.joint.is_discrete and not self.noise
        # Images under symmetries are as good as more points.
        count = _POINTS[self.r] * 4**finer * (_MORE if is_discrete or len(rows) else 1)
        count = count / (np.sqrt(len(self.symmetries.maps)) * self.groups)
        count = self.groups * 2 ** int(np.ceil(np.log2(count)))  # a power of two is balanced
        self.halves = tuple(_cloud(target, rows, self.free, self.groups, count, i) for i in (0, 1))
        self.values = [self._frequent(target, group) for group in range(self.groups)]
        most = max(len(values) for values in self.values)
        self.values = [np.append(v, np.full(most - len(v), np.inf)) for v in self.values]
        # Places (k, n) of the points among the values, their weights there, and squared labels.
        self.numbers = tuple(self._numbers(half) for half in self.halves)
        self.shares = tuple(np.ones(number.shape) for number in self.numbers)
        squares = [half.y**2 for half in self.halves]
        if target.q:
            chances = label_probabilities(target) or ()
            places = np.arange(len(chances))[:, None]
            self.numbers = tuple(np.repeat(places, len(half.y), axis=1) for half in self.halves)
            self.shares = tuple(np.array([p(half.z) for p in chances]) for half in self.halves)
            squares = [self.values[0] ** 2 @ share for share in self.shares]
        pairs = zip(self.halves, squares, strict=True)
        self.square = float(np.mean([half.weight @ square for half, square in pairs]))

    def _frequent(self, target: Target, group: int) -> np.ndarray:
        """Values of positive probability."""
        if self.groups == 1:
            values = OutputChannel(target.joint, latent=target.q).values
            return np.asarray(values, dtype=np.float64)
        y = np.sort(np.concatenate([half.y[half.group == group] for half in self.halves]))
        ends = np.flatnonzero(np.diff(y, append=np.inf) > _SAME_VALUE * (1 + np.abs(y)))
        counts = np.diff(ends, prepend=-1)
        return y[ends[counts > _FREQUENT * len(y)]]

    def _numbers(self, half: Cloud) -> np.ndarray:
        number = np.empty((1, len(half.y)), np.int64)
        for group, values in enumerate(self.values):
            at = half.group == group if self.groups > 1 else slice(None)
            number[0, at] = _value_numbers(half.y[at], values)
        return number

    @property
    def nbytes(self) -> int:
        """Memory that the clouds take."""
        return sum(a.nbytes for half in (*self.halves, self.numbers, self.shares) for a in half)

    @cached_property
    def levels(self) -> np.ndarray:
        """(groups, knots) between which labels without noise vary; no knots if all are values."""
        rest = [number[0] < 0 for number in self.numbers]
        if not any(part.any() for part in rest):
            return np.empty((self.groups, 0))
        parts = [np.concatenate([half[k] for half in self.halves]) for k in range(5)]
        z, y, group, _, weight = (part[np.concatenate(rest)] for part in parts)
        count = max(FINEST // self.groups, 32)
        found = []
        for g in range(self.groups):
            at = group == g if self.groups > 1 else slice(None)
            found.append(_knots(*_sorted_cells(z[at], y[at], weight[at]), count))
        return self._balanced(np.array(found))

    @cached_property
    def knots(self) -> np.ndarray:
        """(groups, knots) between which labels vary, with their noise."""
        if not self.noise:
            return self.levels
        count = max(FINEST // self.groups, 32)
        cells = self._before_noise.noisy_cells()
        return self._balanced(np.array([_knots(*group, count) for group in cells]))

    @cached_property
    def _before_noise(self) -> Slices:
        return Slices(self, 4, mixed=False)

    def _balanced(self, knots: np.ndarray) -> np.ndarray:
        """Knots symmetric about 0 if a symmetry of the target changes the sign of the label."""
        return knots if self.symmetries.keeps.all() else (knots - knots[:, ::-1]) / 2

    @cached_property
    def log_density(self) -> tuple[float, float]:
        """Mean of the logarithm of the label's density (its probability where that is positive).

        And its error: what both halves of the cloud say apart, and what wider cells change.
        """
        if self.noise:
            one, other = self._before_noise.noisy_log_densities().tolist()
            return (one + other) / 2, abs(one - other)
        found = self._log_density((0, 1), _PER_CELL)
        one, other = (self._log_density((i,), _PER_CELL) for i in (0, 1))
        return found, abs(one - other) + abs(self._log_density((0, 1), 4 * _PER_CELL) - found)

    def _log_density(self, halves: tuple[int, ...], per_cell: int) -> float:
        y, weight = (np.concatenate([self.halves[i][k] for i in halves]) for k in (1, 4))
        number = np.concatenate([self.numbers[i] for i in halves], axis=1)
        weight = weight / weight.sum()
        mass = weight * np.concatenate([self.shares[i] for i in halves], axis=1)
        chances = np.bincount(number[number >= 0], mass[number >= 0])
        chances = chances[chances > 0]
        total = float(chances @ np.log(chances))
        rest = number[0] < 0
        if not rest.any():
            return total
        order = np.argsort(y[rest])
        values, mass = y[rest][order], np.concatenate([[0.0], np.cumsum(weight[rest][order])])
        # Mass between every so many labels over their distance; ties have no distance.
        at = np.arange(0, len(values), per_cell)
        at = at[np.concatenate([[True], np.diff(values[at]) > 0])]
        p = np.diff((mass[at] + mass[at + 1]) / 2)
        # Distances scatter, and a logarithm is concave; along one axis points are regular.
        bias = weight[rest].sum() / (2 * per_cell) if self.r > 1 else 0.0
        return total + float(p @ np.log(p / np.diff(values[at]))) - float(bias)


class Slots(NamedTuple):
    """Columns (k, n) to which the points of a cloud belong, and their weights there."""

    columns: np.ndarray
    weights: np.ndarray


class Slices:
    """Labels cut at every so many knots.

    Parameters
    ----------
    labels : Labels
        The cloud and all knots.
    skip : int
        1 for all knots, 2 for every second one, ...
    mixed : bool
        Whether label noise is added.
    """

    def __init__(self, labels: Labels, skip: int, *, mixed: bool = True) -> None:
        self.labels = labels
        self.n_values = len(labels.values[0])
        self.levels = labels.levels[:, ::skip]
        per_group = self.n_values + self.levels.shape[1]
        self.columns = labels.groups * per_group
        self.slots = tuple(self._slots(i, per_group) for i in (0, 1))
        self.mixing: np.ndarray | None = None
        # Hats at these labels add up to the label, so that means of labels need nothing else.
        self.places = np.concatenate([self._centers(g) for g in range(labels.groups)])
        self.count, self.n_knots = self.columns, self.levels.shape[1]
        if labels.noise and mixed:
            from scipy.linalg import block_diag

            knots = labels.knots[:, ::skip]
            self.n_values, self.n_knots = 0, knots.shape[1]
            self.places = knots.ravel()
            self.count = knots.size
            chances = [_hat_chances(knots[g], *self._column_laws(g)) for g in range(labels.groups)]
            self.mixing = block_diag(*chances)

    @property
    def nbytes(self) -> int:
        """Memory that the places of points take."""
        return sum(a.nbytes for slots in self.slots for a in slots)

    def _slots(self, which: int, per_group: int) -> Slots:
        half, columns = self.labels.halves[which], self.labels.numbers[which]
        weights = self.labels.shares[which]
        if self.levels.shape[1]:  # labels between two levels belong to both
            columns, upper = np.repeat(columns, 2, axis=0), np.zeros(len(half.y))
            for group, levels in enumerate(self.levels):
                at = columns[0] < 0
                if self.labels.groups > 1:
                    at &= half.group == group
                place = np.interp(half.y[at], levels, np.arange(len(levels), dtype=float))
                first = np.minimum(place.astype(np.int64), len(levels) - 2)
                columns[:, at] = self.n_values + first
                upper[at] = place - first
            columns[1] += upper > 0
            weights = np.stack([1 - upper, upper])
        return Slots(columns + half.group * per_group, weights)

    def _column_laws(self, group: int) -> tuple[np.ndarray, np.ndarray]:
        """Label of each column, and the standard deviation of the noise that is left to add."""
        noise, levels, centers = self.labels.noise, self.levels[group], self._centers(group)
        gaps = np.diff(levels, prepend=levels[:1], append=levels[-1:])
        variance = np.full(len(centers), noise)
        # Hats between levels act like noise of a sixth of the squared distance.
        variance[len(centers) - len(levels) :] -= gaps[:-1] * gaps[1:] / 6
        return centers, np.sqrt(np.maximum(variance, 0.01 * noise))

    def _centers(self, group: int) -> np.ndarray:
        """Label of each column of a group, before noise is added."""
        values = self.labels.values[group]
        return np.concatenate([np.where(np.isfinite(values), values, 0.0), self.levels[group]])

    def merged(self, f: np.ndarray) -> np.ndarray:
        """Moments of the slices between every second knot, from those (..., count) of all."""
        if not self.n_knots:
            return f
        groups = self.labels.groups
        f = f.reshape(*f.shape[:-1], groups, -1)
        kept = f[..., self.n_values :: 2].copy()
        between = f[..., self.n_values + 1 :: 2] / 2
        kept[..., :-1] += between
        kept[..., 1:] += between
        found = np.concatenate([f[..., : self.n_values], kept], axis=-1)
        return found.reshape(*found.shape[:-2], -1)

    def part(self, part: int | None, moments: list[np.ndarray]) -> list[np.ndarray]:
        """Moments (..., count) with every second value of known directions only, if one is."""
        if part is None or self.labels.groups == 1:
            return moments
        halves = [
            f.reshape(*f.shape[:-1], self.labels.groups, -1)[..., part::2, :] for f in moments
        ]
        return [2 * f.reshape(*f.shape[:-2], -1) for f in halves]

    @property
    def opposite_columns(self) -> np.ndarray:
        """(columns,) that of the label with the other sign, if the target has such a symmetry."""
        return opposites(len(self.labels.values[0]), self.columns)

    @cached_property
    def chances(self) -> np.ndarray:
        """Probability of each slice."""
        found = np.zeros(self.columns)
        for half, slots in zip(self.labels.halves, self.slots, strict=True):
            found += self._column_sums(half, slots, np.ones((1, len(half.y))))[0] / 2
        return found if self.mixing is None else found @ self.mixing

    def _column_sums(self, half: Cloud, slots: Slots, features: np.ndarray) -> np.ndarray:
        """Moments [LB-1] of features (k, n) before noise is added, (k, columns)."""
        count = self.columns
        return np.array([
            np.bincount(slots.columns.ravel(), (slots.weights * half.weight * row).ravel(), count)
            for row in features
        ])  # fmt: skip

    def noisy_cells(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each group, edges of cells of noisy labels, and their moments."""
        half = self.labels.halves[0]
        sums = self._column_sums(half, self.slots[0], _low_moments(half.z))
        found = []
        for group in range(self.labels.groups):
            centers, widths = self._column_laws(group)
            mine = sums.reshape(len(sums), self.labels.groups, -1)[:, group]
            places = np.sort((centers[:, None] + widths[:, None] * np.linspace(-6, 6, 7)).ravel())
            below = ndtr((places[:, None] - centers) / widths) @ (mine[0] / mine[0].sum())
            edges = np.unique(np.interp(_quantiles(_CELLS // 2), below, places))
            chances = ndtr((edges - centers[:, None]) / widths[:, None])
            found.append((edges, np.diff(mine @ chances)))
        return found

    def noisy_log_densities(self) -> np.ndarray:
        """(2,) mean of the logarithm of the density of noisy labels, from each half."""
        halves = zip(self.labels.halves, self.slots, strict=True)
        chances = np.array([self._column_sums(h, s, np.ones((1, len(h.y))))[0] for h, s in halves])
        chances = chances.reshape(2, self.labels.groups, -1)
        x = np.linspace(-6, 6, 17)  # of the noise: a sum is as good as the integral
        weight = np.exp(-(x**2) / 2)
        total = np.zeros(2)
        for group in range(self.labels.groups):
            centers, widths = self._column_laws(group)
            p = chances[:, group] / chances[:, group].sum(axis=1, keepdims=True)
            places = centers[:, None] + widths[:, None] * x
            far = (places.reshape(-1, 1) - centers) / widths
            density = np.exp(-(far**2) / 2) @ (p / (np.sqrt(2 * np.pi) * widths)).T
            means = weight @ np.log(np.maximum(density, 1e-300)).reshape(*places.shape, 2)
            total += np.einsum("hc,ch->h", p, means) / weight.sum()
        return total / self.labels.groups


@lru_cache(maxsize=32)
def label_probabilities(target: Target) -> tuple[Expression, ...] | None:
    """Probabilities given z of few labels with latent noise; None if they have no formula.

    Examples
    --------
    >>> [p.canonical for p in label_probabilities(Target("sign(z + sqrt(0.5)*xi)"))]
    ['-(erf(z1) - 1)/2', '(erf(z1) + 1)/2']
    >>> label_probabilities(Target("tanh(z + xi)")) is None
    True
    """
    try:
        return OutputChannel(target.joint, latent=target.q).indicators() if target.q else None
    except OutOfRegime:
        return None


def _symmetries(target: Target) -> Symmetries:
    """Symmetries of a target among its directions; latent noise may change its sign with them."""
    maps, keeps = symmetries(target.joint)
    r = target.r
    apart = ~maps[:, :r, r:].any(axis=(1, 2))
    maps, first = np.unique(maps[apart][:, :r, :r], axis=0, return_index=True)
    order = np.argsort(np.abs(maps - np.eye(r)).sum(axis=(1, 2)), kind="stable")  # identity first
    return Symmetries(maps[order], keeps[apart][first[order]])


def opposites(start: int, count: int) -> np.ndarray:
    """Numbers below `start` and those from there to `count`, each in reverse order."""
    return np.concatenate([np.arange(start)[::-1], np.arange(start, count)[::-1]])


def _complement(rows: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the directions orthogonal to rows (k, r); all axes if there are none."""
    if not len(rows):
        return np.eye(rows.shape[1])
    return np.linalg.svd(rows)[2][len(rows) :]


def _cloud(
    target: Target, known: np.ndarray, free: np.ndarray, groups: int, count: int, seed: int
) -> Cloud:
    """Cloud of about `count` points of the free directions, in groups by the known ones."""
    r = len(free)
    if groups > 1:
        outer = ndtri(SobolSequence(len(known), stream(0, "data", known=len(known))).draw(groups))
        group = np.arange(count) % groups
        shift = (outer @ known)[group]
    else:
        group, shift = np.zeros(count, np.int64), np.zeros((1, target.r))
    block = np.arange(count) >= count // 2  # parts of a Sobol sequence
    if r == 1 and groups == 1:
        block = np.arange(count) % 2 > 0
        u = (np.arange(count)[:, None] + 0.25 + 0.5 * seed) / count
    else:
        u = SobolSequence(r, stream(seed, "data", slices=r)).draw(count // groups)
        if groups > 1:  # for each group the same points, shifted
            shifts = SobolSequence(r, stream(seed, "data", shift=r)).draw(groups)
            u = (np.repeat(u, groups, axis=0) + shifts[group]) % 1.0
            u = u.clip(1e-12, 1 - 1e-12)
    z = _WIDE * ndtri(u)
    square = np.einsum("ni,ni->n", z, z)
    inside = square < RADIUS[r] ** 2
    y = np.asarray(target.mean(z @ free + shift), dtype=np.float64)
    volume = (2 * np.pi * _WIDE**2) ** (r / 2) * np.exp(square / (2 * _WIDE**2)) / count
    weight = volume * np.exp(-square / 2) / (2 * np.pi) ** (r / 2)
    return Cloud(*(part[inside] for part in (z, y, group, volume, weight, block)))


def _value_numbers(y: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n,) position of each label among `values`, -1 if it is none of them."""
    if not len(values):
        return np.full(len(y), -1)
    above = np.searchsorted(values, y).clip(0, len(values) - 1)
    below = np.maximum(above - 1, 0)
    nearest = np.where(np.abs(values[below] - y) < np.abs(values[above] - y), below, above)
    same = np.abs(values[nearest] - y) < _SAME_VALUE * (1 + np.abs(y))
    return np.where(same, nearest, -1)


def _low_moments(z: np.ndarray) -> np.ndarray:
    """1, z_i and z_i z_j as rows."""
    pairs = np.triu_indices(z.shape[1])
    return np.concatenate([np.ones((1, len(z))), z.T, (z[:, pairs[0]] * z[:, pairs[1]]).T])


def _sorted_cells(
    z: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Edges of cells of labels, and moments in each cell."""
    if not len(y):
        return np.array([0.0, 1.0]), np.ones((1 + z.shape[1] * (z.shape[1] + 3) // 2, 1))
    order = np.argsort(y)
    mass = np.cumsum(weight[order])
    mass = (mass - weight[order] / 2) / mass[-1]
    edges = np.unique(np.interp(_quantiles(min(_CELLS, 1 + len(y) // 64)), mass, y[order]))
    if len(edges) < 2:
        edges = edges[0] + np.array([0.0, 1.0])
    cell = np.searchsorted(edges[1:-1], y)
    count = len(edges) - 1
    return edges, np.array([np.bincount(cell, weight * row, count) for row in _low_moments(z)])


def _knots(edges: np.ndarray, moments: np.ndarray, count: int) -> np.ndarray:
    """Knots between which labels vary, count + 1 of them.

    Half of them are spread over the cells. The others follow the loss: with the mass p of a cell
    and the change delta of conditional moments across it, optimal knots have the density
    (p delta^2)^(1/3). Where moments jump, both edges of the cell are knots.
    """
    p = np.maximum(moments[0], 1e-300)
    means = moments[1:] / p
    change = np.zeros(len(p))
    change[1:-1] = ((means[:, 2:] - means[:, :-2]) ** 2).sum(axis=0)
    loss = np.cbrt(p * change)
    density = 1 / len(p) + loss / max(loss.sum(), 1e-300)
    place = np.concatenate([[0.0], np.cumsum(density)])
    largest = np.argsort(loss)[-_JUMPS:]
    jumps = largest[loss[largest] > _JUMP * np.median(loss)]
    jumps = np.concatenate([edges[jumps], edges[jumps + 1]])
    knots = np.interp(np.linspace(0, place[-1], count + 1 - len(jumps)), place, edges)
    knots = np.unique(np.concatenate([knots, jumps]))
    while (missing := count + 1 - len(knots)) > 0:
        gaps = np.diff(np.interp(knots, edges, np.arange(len(edges))))
        widest = np.sort(np.argsort(gaps)[-missing:])
        knots = np.insert(knots, widest + 1, (knots[widest] + knots[widest + 1]) / 2)
    return knots


def _quantiles(count: int) -> np.ndarray:
    """Probabilities at equal distances of Gaussian quantiles, from almost 0 to almost 1."""
    return ndtr(np.linspace(-_OUTERMOST, _OUTERMOST, count + 1))


def _hat_chances(knots: np.ndarray, centers: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Mean weights (columns, knots) of the hats between knots under Gaussian labels.

    Examples
    --------
    >>> _hat_chances(np.array([0.0, 1.0, 3.0]), np.array([0.5]), np.array([1e-9])).round(6).tolist()
    [[0.5, 0.5, 0.0]]
    """
    x = (knots - centers[:, None]) / widths[:, None]
    # Mean of (y - knot)+ under each law; a hat is a second difference of such ramps.
    ramp = widths[:, None] * (np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) - x * ndtr(-x))
    slope = np.diff(ramp) / np.diff(knots)
    outer = np.concatenate([-np.ones((len(x), 1)), slope, np.zeros((len(x), 1))], axis=1)
    return np.maximum(np.diff(outer), 0.0)

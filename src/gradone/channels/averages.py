r"""Averages over labels and prior means at an overlap matrix, for any target.

With :math:`\omega \sim N(0, M)`, :math:`z \sim N(\omega, I - M)` and the moments [TB-1] of slices
of labels, averages are sums over a product of prior means and over slices:

.. math:: J = \mathbb{E}_\omega \sum_b \frac{\partial f_b\, \partial f_b^\top}{f_b}, \qquad
          I(y; \omega) = \mathbb{E}_\omega \sum_b f_b \log\frac{f_b}{\mathbb{E} f_b}.       [AV-1]

Posteriors that are too narrow for the lattice are reached by extrapolation: in units of their
width, averages are smooth functions of the width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..base.estimate import Estimate
from ..targets.target import Target
from .slices import Labels, Slices
from .tables import Table, index_pairs, orders, reach

# By the number of axes with overlap: how many slices are made one; step of the lattice in standard
# deviations of the posterior; step of prior means in those of the prior (largest) and of the
# posterior. By the number of directions: narrowest variance of a posterior that the cloud and its
# slices resolve, and the same where labels are discrete.
_SKIP = {0: 1, 1: 1, 2: 4, 3: 8, 4: 16}
_SPACING = {0: 0.4, 1: 0.4, 2: 0.5, 3: 0.55, 4: 0.7}
_FINER_VALUES = 0.7  # of the same where labels are discrete
_STEPS = {1: (0.25, 0.3), 2: (0.45, 0.6), 3: (0.5, 0.65), 4: (0.75, 0.8)}
_RESOLVED = {1: 2e-3, 2: 2e-2, 3: 8e-2, 4: 0.25}
_RESOLVED_VALUES = {1: 1e-3, 2: 3e-3, 3: 3e-2, 4: 0.15}
_LARGEST = 1e7  # number of entries of a table
_MARGIN = 0.85  # of the steps of a new table, so that it serves for narrower posteriors
_FARTHEST = 5.0  # prior mean, in standard deviations
_WIDER, _KINKS = 4 / 3, 0.25  # steps of prior means in a coarse rule, and where there are kinks
_UNLEARNED = 1e-12
_FRAME = 1e-9  # size of what counts as rounding off the diagonal
_KEPT = 3  # tables in memory
_TILT = 0.1  # largest distance from a known frame in a coarse rule, as a share of the room
_POWER_ERROR = 6e-4  # relative, of the mean square of labels
_TINY = 1e-12  # chance of a slice that counts as none
PERFECT = 1 - 1e-5  # overlaps above it count as complete knowledge
_WIDTHS = np.array([1.0, 1.3, 1.7])  # from which narrower posteriors are extrapolated


class Averages(NamedTuple):
    """What state evolution needs to know at an overlap matrix M."""

    information: np.ndarray
    r"""J(M), the mean of :math:`g_{out} g_{out}^\top`, (r, r)."""
    log_evidence: float
    """Mean of log Z."""
    test_mse: float
    """Mean squared error of the posterior mean of a new label, its noise included."""

    def plus(self, other: Averages, factor: float = 1.0) -> Averages:
        """Sum with a multiple of other averages."""
        return Averages(
            self.information + factor * other.information,
            self.log_evidence + factor * other.log_evidence,
            self.test_mse + factor * other.test_mse,
        )


class Rule(NamedTuple):
    """Which prior means, slices and points are used."""

    coarse: bool = False
    stretch: float = 1.0
    """Step of prior means in units of the usual one."""
    merge: bool = False
    """Whether two slices are made one."""
    half: int | None = None
    """Half of the cloud."""
    fewer: bool = False
    """Whether narrow posteriors are extrapolated from fewer widths."""

    def values(self, table: Table) -> np.ndarray:
        """Volumes of slices at the nodes."""
        if self.coarse:
            return table.rough
        return table.whole if self.half is None else table.halves[self.half]


class Place(NamedTuple):
    """An overlap matrix in its eigenbasis."""

    Q: np.ndarray
    overlaps: np.ndarray
    """Eigenvalues, along the columns of Q."""


class ChannelAverages:
    """Averages over labels of one target; what they share is computed once.

    Parameters
    ----------
    target : Target
        Target of up to four directions.
    finer : int
        Number of times that points are quadrupled and slices doubled.

    Examples
    --------
    >>> channel = ChannelAverages(Target("z1"))
    >>> np.round(channel.at(np.array([[0.3]])).information * 0.7, 4)
    array([[1.]])
    """

    def __init__(self, target: Target, known: np.ndarray | None = None, *, finer: int = 0) -> None:
        self.target, self.finer = target, finer
        self.labels = Labels(target, known, finer=finer)
        self.r, self.free = self.labels.r, self.labels.free
        self._slices: dict[int, tuple[Slices, np.ndarray]] = {}
        self._tables: list[Table] = []
        self._known: dict[Any, np.ndarray] = {}
        self._frames = [np.eye(self.r)]
        self._conditioned: list[tuple[np.ndarray, ChannelAverages, np.ndarray]] = []
        halves = self.labels.halves
        self._power = target.noise + float(np.mean([half.weight @ half.y**2 for half in halves]))

    # ---- averages

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`.

        With fewer prior means and slices, and without the error of labels, if `coarse`; then next
        to a frame that is known already, to first order in the distance.
        """
        if coarse and (tilted := self._tilted(M)) is not None:
            return tilted
        return self._averages(M, Rule(coarse=coarse))

    def _tilted(self, M: np.ndarray) -> Averages | None:
        """Averages close to a known frame, from those in the frame and the derivative of J."""
        for Q in self._frames:
            turned = Q.T @ M @ Q
            off = turned - np.diag(np.diag(turned))
            room = min(turned.trace(), 1 - float(np.linalg.eigvalsh(M)[-1]))
            if _FRAME <= np.abs(off).max() < _TILT * room:
                inside = Q @ np.diag(np.diag(turned)) @ Q.T
                key = "response", Q.tobytes()
                if key not in self._known:
                    self._known[key] = self.responses(inside)
                found = self._averages(inside, Rule(coarse=True))
                change = np.einsum("ijkl,jk->il", self._known[key], Q @ off @ Q.T)
                return found._replace(information=found.information + change)
        return None

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M` with all corrections, and what each source of error changes in them."""
        rules = Rule(), Rule(stretch=_WIDER), Rule(merge=True), Rule(fewer=True), Rule(half=0)
        plain, wide, rough, fewer, one = (self._averages(M, rule) for rule in rules)
        other = self._averages(M, Rule(half=1))
        # Noise of the cloud enters squared; it falls faster than the inverse number of points.
        noise = _scaled(one.plus(other).plus(plain, -2.0), 0.25)
        sources = [
            noise,
            one.plus(other, -1.0),
            _scaled(wide.plus(plain, -1.0), 0.2),
            _scaled(rough.plus(plain, -1.0), 0.5),
            _scaled(fewer.plus(plain, -1.0), 3.0),
            _scaled(plain._replace(log_evidence=0.0), self._spacing(self.r) ** 6 / 200),
            Averages(0 * M, 0.0, (_POWER_ERROR if self.labels.knots.size else 1e-5) * self._power),
        ]
        return plain.plus(noise, -1.0), sources

    def responses(self, M: np.ndarray) -> np.ndarray:
        r"""Derivative of J: means of :math:`\partial g_{ij}\, \partial g_{kl}`, (r, r, r, r)."""
        return self._pairs(M, lambda g, H: H - g[:, None] * g[None, :], Rule(coarse=True))

    def growth(self, M: np.ndarray, *, merge: bool = False, half: int | None = None) -> np.ndarray:
        r"""Means of products of entries of a matrix G, (r, r, r, r).

        :math:`G = V^{-1} (\mathbb{E}[(z - \omega)(z - \omega)^\top \mid y] - V) V^{-1}`, with every
        second slice if `merge`, from one half of the cloud if that is given.
        """
        found = self._pairs(M, lambda _, H: H, Rule(merge=merge, half=half))
        if half is not None or (M > _UNLEARNED).any():
            return found
        # At M = 0, where it costs little, the squared noise of the cloud is taken back.
        one, other = (self._pairs(M, lambda _, H: H, Rule(merge=merge, half=i)) for i in (0, 1))
        return np.asarray(found - ((one + other) / 2 - found) / 2)

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of a discrete label is wrong."""
        place = self._place(M)
        rules = Rule(stretch=_KINKS), Rule(stretch=2 * _KINKS), Rule(stretch=_KINKS, fewer=True)
        fine, wide, fewer = (self._wrong(place, rule) for rule in rules)
        # The most probable value changes where the integrand has a kink: an error of second order.
        change = (fine - wide) / 3
        error = abs(change) + abs(fewer - fine) + 1e-4 * abs(fine)
        return Estimate(max(fine + change, 0.0), error, "quadrature")

    # ---- one evaluation

    def _averages(self, M: np.ndarray, rule: Rule) -> Averages:
        """Averages by one rule."""
        if (given := self._given(M)) is not None:
            inner, free, known_part = given
            found = inner._averages(free @ M @ free.T, rule)
            J = free.T @ found.information @ free + known_part(M)
            return found._replace(information=self._symmetric(J, M))
        return self._all_averages(M, rule)

    def _all_averages(self, M: np.ndarray, rule: Rule) -> Averages:
        """The same, where posteriors may be narrow in any direction."""

        def evaluate(at: Place) -> np.ndarray:
            table = self._table(at)
            stretch = _WIDER if rule.coarse else rule.stretch
            weight, moments = self._moments(at, table, rule.values(table), 1, stretch)
            slices, chances = self._cut(len(table.axes))
            parts = [moments[order] for order in orders(self.r, 1)]
            if rule.coarse:
                chances = slices.merged(chances)
            if rule.merge:
                parts, chances = [slices.merged(f) for f in parts], slices.merged(chances)
            fine = _sums(weight, parts, chances)
            rough = _sums(weight, [slices.merged(f) for f in parts], slices.merged(chances))
            J, information = (a + (a - b) / 3 for a, b in zip(fine, rough, strict=True))
            width = np.sqrt(1 - at.overlaps)
            mse = 0.0 if rule.coarse else self._mse(at, table)
            # What is not known of a label vanishes with the width.
            share = (mse - self.target.noise) / width.max()
            return np.array([*(J * self._units(width)).ravel(), share, information])

        place = self._place(M)
        *rest, share, information = self._extrapolated(place, evaluate, rule, self._sharp)
        width = np.sqrt(1 - place.overlaps)
        J = place.Q @ (np.reshape(rest, M.shape) / self._units(width)) @ place.Q.T
        return Averages(
            self._symmetric(J, M),
            information + self.labels.log_density,
            self.target.noise + float(share * width.max()),
        )

    def _units(self, width: np.ndarray) -> np.ndarray:
        """Units of J in which it has a limit for narrow posteriors, (r, r)."""
        return np.ones((self.r, self.r)) if self.target.noise else np.outer(width, width)

    def _mse(self, at: Place, table: Table) -> float:
        """Mean squared error of the posterior mean of a new label."""
        weight, moments = self._moments(at, table, table.label, 0)
        means = moments[(0,) * self.r]
        return self._power - self.labels.groups * float(weight @ (means**2).sum(axis=1))

    def _wrong(self, place: Place, rule: Rule) -> float:
        """Probability that the most probable slice is wrong."""

        def evaluate(at: Place) -> np.ndarray:
            table = self._table(at)
            weight, moments = self._moments(at, table, table.whole, 0, rule.stretch)
            chances = moments[(0,) * self.r]
            wrong = 1 - chances.max(axis=1) / np.maximum(chances.sum(axis=1), _TINY)
            return np.array([weight @ wrong / np.sqrt(1 - at.overlaps.min()), 0.0])

        found = self._extrapolated(place, evaluate, rule)[0]
        return float(found * np.sqrt(1 - place.overlaps.min()))

    def _pairs(
        self, M: np.ndarray, combine: Callable[[np.ndarray, np.ndarray], np.ndarray], rule: Rule
    ) -> np.ndarray:
        """Means of products of entries of a matrix made of g and H."""
        if (given := self._given(M)) is not None:
            inner, free, _ = given
            pairs = inner._pairs(free @ M @ free.T, combine, rule)
            return np.einsum("abcd,ai,bj,ck,dl->ijkl", pairs, free, free, free, free, optimize=True)
        r = self.r

        def evaluate(at: Place) -> np.ndarray:
            table = self._table(at)
            stretch = _WIDER if rule.coarse else 1.0
            weight, moments = self._moments(at, table, rule.values(table), 2, stretch)
            parts = [moments[order] for order in orders(r, 2)]
            merged = self._cut(len(table.axes))[0].merged
            if rule.merge:
                parts = [merged(f) for f in parts]
            width = np.sqrt(1 - at.overlaps)
            found = _products(weight, parts, width, combine)
            if not rule.coarse:
                rough = _products(weight, [merged(f) for f in parts], width, combine)
                found = found + (found - rough) / 3
            return np.append(found, 0.0)

        place = self._place(M)
        pairs = self._extrapolated(place, evaluate, None)[:-1].reshape(r, r, r, r)
        scale = place.Q / np.sqrt(1 - place.overlaps)
        return np.einsum("abcd,ia,jb,kc,ld->ijkl", pairs, scale, scale, scale, scale, optimize=True)

    def _moments(
        self, at: Place, table: Table, values: np.ndarray, order: int, stretch: float = 1.0
    ) -> tuple[np.ndarray, dict[tuple[int, ...], np.ndarray]]:
        """Probabilities of the prior means, and moments of a table there."""
        rules = [self._prior_means(m, len(table.axes), stretch) for m in at.overlaps]
        weight = np.ones(1)
        for _, w in rules:
            weight = np.multiply.outer(weight, w).ravel()
        return weight, table.moments(values, [omega for omega, _ in rules], 1 - at.overlaps, order)

    def _prior_means(self, m: float, axes: int, stretch: float) -> tuple[np.ndarray, np.ndarray]:
        """Prior means along an axis of overlap m, and their probabilities."""
        if m < _UNLEARNED:
            return np.zeros(1), np.ones(1)
        of_prior, of_posterior = _STEPS[axes]
        step = stretch * min(of_prior, of_posterior * np.sqrt((1 - m) / m))
        count = int(np.ceil(_FARTHEST / step))
        v = step * np.arange(-count, count + 1)
        weight = np.exp(-(v**2) / 2)
        return np.sqrt(m) * v, weight / weight.sum()

    # ---- places

    def _given(
        self, M: np.ndarray
    ) -> tuple[ChannelAverages, np.ndarray, Callable[[np.ndarray], np.ndarray]] | None:
        """Averages of directions that are not known completely, those rows, and J of the others.

        None if no direction is known, or all are.
        """
        place = self._place(M)
        known = place.overlaps > PERFECT
        if not known.any() or known.all():
            return None
        rows = place.Q[:, known].T
        P = rows.T @ rows
        entry = next((e for e in self._conditioned if np.abs(e[0] - P).max() < _FRAME), None)
        if entry is None:
            # What is known stays so: J of it in units of the width changes little.
            W = self._all_averages(M, Rule(coarse=True)).information
            W = W * (1 - place.overlaps[known].max())
            entry = P, ChannelAverages(self.target, rows, finer=self.finer), P @ W @ P
            self._conditioned.append(entry)
        _, inner, W = entry
        return inner, inner.free, lambda M: W / (1 - np.linalg.eigvalsh(M)[-1])

    def _place(self, M: np.ndarray) -> Place:
        """Eigenbasis of an overlap matrix, one that is known already if it fits."""
        for Q in self._frames:
            turned = Q.T @ M @ Q
            overlaps = np.diag(turned)
            if np.abs(turned - np.diag(overlaps)).max() < _FRAME:
                return Place(Q, overlaps.clip(0.0, 1 - _TINY))
        overlaps, Q = np.linalg.eigh(M)
        self._frames = [np.eye(self.r), *self._frames[1:][-2:], Q]
        return Place(Q, overlaps.clip(0.0, 1 - _TINY))

    def _symmetric(self, J: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Mean of J over the symmetries of the target that leave M as it is."""
        maps = self.labels.symmetries.maps
        maps = maps[np.abs(maps @ M @ maps.swapaxes(1, 2) - M).max(axis=(1, 2)) < _FRAME]
        return np.asarray((maps.swapaxes(1, 2) @ (J + J.T) @ maps).mean(axis=0) / 2)

    def _cut(self, axes: int) -> tuple[Slices, np.ndarray]:
        """As many slices as a lattice of so many axes allows for, and their chances."""
        skip = _SKIP[min(axes + 2 * self.target.q, 4)]  # latent noise needs many points in each
        if axes == self.r == 1:
            skip *= 2
        if self.labels.groups > 1:
            skip = max(skip // 4, 1)
        if skip not in self._slices:
            slices = Slices(self.labels, skip)
            self._slices[skip] = slices, slices.chances()
        return self._slices[skip]

    def _spacing(self, axes: int) -> float:
        """Step of the lattice in standard deviations of the posterior."""
        return _SPACING[axes] * (1.0 if self.labels.knots.size else _FINER_VALUES)

    def _table(self, at: Place) -> Table:
        learned = at.overlaps >= _UNLEARNED
        axes = int(learned.sum())
        steps = np.where(learned, self._spacing(axes) * np.sqrt(1 - at.overlaps), 0.0)
        table = next((t for t in self._tables if t.fits(at.Q, steps)), None)
        if table is None:
            table = Table(self._cut(axes)[0], at.Q, _MARGIN * steps)
            self._tables = [table, *self._tables[: _KEPT - 1]]
        return table

    def _narrowest(self, place: Place) -> float:
        """Smallest variance of a posterior that the cloud and a table of moderate size resolve."""
        v = (_RESOLVED if self.labels.knots.size else _RESOLVED_VALUES)[self.r]
        variances = 1 - place.overlaps[place.overlaps >= _UNLEARNED]
        axes = len(variances)
        columns = self._cut(axes)[0].columns * len(orders(self.r - axes, 2))
        while True:
            steps = _MARGIN * self._spacing(axes) * np.sqrt(np.maximum(variances, v))
            if columns * np.prod([2.0 * reach(h) + 1 for h in steps]) <= _LARGEST:
                return v
            v *= 1.2

    def _extrapolated(
        self,
        place: Place,
        evaluate: Callable[[Place], np.ndarray],
        rule: Rule | None,
        limit: Callable[[np.ndarray], np.ndarray | None] | None = None,
    ) -> np.ndarray:
        """Numbers at a place, the last of which may diverge with the logarithm of the width.

        Where the posterior is too narrow, from three larger widths: the others by a parabola, or
        by a cubic if the limit of the first of them is known; what was evaluated by a rule is
        kept.
        """
        variances = 1 - place.overlaps
        variance = float(variances.min(initial=1.0))
        least = self._narrowest(place)
        if variance >= least:
            return evaluate(place)
        widths, to = np.sqrt(least) * _WIDTHS, np.sqrt(variance)
        rows = []
        for w in widths:
            at = place._replace(overlaps=np.minimum(place.overlaps, 1 - w * w))
            key = rule and rule._replace(fewer=False), at.Q.tobytes(), at.overlaps.tobytes()
            if rule is None or key not in self._known:
                self._known = {**dict(list(self._known.items())[-30:]), key: evaluate(at)}
            rows.append(self._known[key])
        found = np.array(rows)
        with_log = np.stack([np.ones(3), np.log(widths), widths], axis=1)
        last = np.array([1.0, np.log(to), to]) @ np.linalg.solve(with_log, found[:, -1])
        if rule is not None and rule.fewer:
            widths, found = widths[:2], found[:2]
        numbers = _polynomial(widths, found[:, :-1], to)
        first = limit(place.Q) if limit is not None and variances.max() < least else None
        if first is not None:
            values = np.concatenate([found[:, : len(first)], first[None]])
            numbers[: len(first)] = _polynomial(np.append(widths, 0.0), values, to)
        return np.append(numbers, last)

    def _sharp(self, Q: np.ndarray) -> np.ndarray | None:
        """J along the axes where the posterior is a point, in its units.

        A label without noise fixes z along the gradient of the target; noise limits what it tells.
        """
        if self.labels.groups > 1 or self.target.q:
            return None
        z, weight, step = self.labels.halves[0].z, self.labels.halves[0].weight, 1e-6
        gradient = np.stack([
            self.target(z + step * e) - self.target(z - step * e) for e in np.eye(self.r)
        ], axis=1) / (2 * step)  # fmt: skip
        size = np.linalg.norm(gradient, axis=1)
        regular = (size > 0) & (size < 1e-2 / step)  # next to a jump a difference is no gradient
        n = gradient[regular] @ Q
        if self.target.noise:
            if not regular[size > 0].all():
                return None
            n /= np.sqrt(self.target.noise)
        else:
            n /= size[regular, None]
        return np.asarray((n * weight[regular, None]).T @ n).ravel()


def _scaled(a: Averages, factor: float) -> Averages:
    return Averages(factor * a.information, factor * a.log_evidence, factor * a.test_mse)


def total(sources: list[Averages]) -> Averages:
    """Sum of the sizes of errors."""
    J, evidence, mse = (sum(np.abs(part) for part in parts) for parts in zip(*sources, strict=True))
    return Averages(np.asarray(J), float(evidence), float(mse))


def _polynomial(x: np.ndarray, values: np.ndarray, at: float) -> np.ndarray:
    """Polynomial through values (n, k) at n places, at another place."""
    coefficients = np.linalg.solve(np.vander(x, increasing=True), values)
    return np.asarray(at ** np.arange(float(len(x))) @ coefficients)


def _sums(
    weight: np.ndarray, parts: list[np.ndarray], chances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """J and the information of slices on prior means [AV-1], from f and its first derivatives."""
    f, *first = parts
    seen = f > _TINY
    inverse = np.where(seen, weight[:, None] / np.maximum(f, _TINY), 0.0)
    J = np.array([[np.vdot(a * inverse, b) for b in first] for a in first])
    ratio = np.where(seen, f / np.maximum(chances, 1e-300), 1.0)
    return J, np.asarray(weight @ np.sum(f * np.log(np.maximum(ratio, _TINY)), axis=1))


def _products(
    weight: np.ndarray,
    parts: list[np.ndarray],
    width: np.ndarray,
    combine: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Means of products of entries of a matrix, from f, its first and its second derivatives."""
    f, *rest = parts
    r = len(width)
    chance = np.maximum(f, _TINY)
    g = np.array([w * d / chance for w, d in zip(width, rest[:r], strict=True)])
    H = np.empty((r, r, *f.shape))
    for (i, j), second in zip(index_pairs(r), rest[r:], strict=True):
        H[i, j] = H[j, i] = width[i] * width[j] * second / chance
    entries = combine(g, H).reshape(r * r, -1)
    mass = (weight[:, None] * np.where(f > _TINY, f, 0.0)).ravel()
    return np.asarray((entries * mass) @ entries.T).ravel()

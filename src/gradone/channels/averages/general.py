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
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base.errors import NotConverged, TooLarge
from ...base.estimate import Estimate
from ...targets.target import Target
from ..memory import MEMORY
from .mirrors import Lattice
from .moments import (
    FRAME,
    TINY,
    UNLEARNED,
    Averages,
    Combine,
    information_sums,
    invariant_maps,
    prior_means,
    products,
    scaled,
    symmetric_matrix,
    symmetric_pairs,
)
from .sharp import LinearLabels, Units, extrapolated
from .slices import Labels, Slices, label_probabilities
from .tables import Table, nodes_of, orders

# By the number of axes with overlap: how many slices are made one; step of the lattice in standard
# deviations of the posterior; step of prior means in those of the prior (largest) and of the
# posterior. By the number of directions: narrowest variance of a posterior that the cloud and its
# slices resolve, and the same where labels are discrete.
_SKIP = {0: 1, 1: 1, 2: 4, 3: 8, 4: 16}
_SPACING = {0: 0.4, 1: 0.4, 2: 0.5, 3: 0.55, 4: 0.7}
_FINER_VALUES = 0.7  # of the same where labels are discrete
_STEPS = {0: (0.25, 0.3), 1: (0.25, 0.3), 2: (0.45, 0.6), 3: (0.5, 0.65), 4: (0.75, 0.8)}
_RESOLVED = {1: 2e-3, 2: 2e-2, 3: 8e-2, 4: 0.25}
_RESOLVED_VALUES = {1: 1e-3, 2: 3e-3, 3: 3e-2, 4: 0.15}
_LARGEST = 1e7  # number of entries of a table; a mirror halves it, and saves as much time again
_WIDEST = 0.5  # variance of a posterior from which narrower ones can be extrapolated
_LADDER = 0.85  # ratio of the steps that tables may have: posteriors of similar width share one
_FARTHEST = 5.0  # prior mean, in standard deviations
_WIDER = 4 / 3  # steps of prior means in a coarse rule
_KINKS = {1: 0.25, 2: 0.25, 3: 0.25, 4: 1.0}  # the same where there are kinks, by directions
_MOST = 2e8  # numbers at once
_POWER_ERROR = 6e-4  # relative, of the mean square of labels
_EVIDENCE_ERROR = 2e-4  # of the mean log evidence of labels that are cut into slices
# Noise of the cloud enters squared: what it adds, as a share of what it adds to a quarter of the
# points beyond that. It would be a third if it fell with the number of points; it falls faster, but
# along one axis, where points are regular, more slowly if the label oscillates.
_SQUARED_NOISE, _ALONG_ONE_AXIS = 1 / 6, 1 / 2
_WIDTHS = np.array([1.0, 1.3, 1.7])  # from which narrower posteriors are extrapolated


Kept = TypeVar("Kept")


class Rule(NamedTuple):
    """Which prior means, slices and points are used."""

    coarse: bool = False
    stretch: float = 1.0
    """Step of prior means in units of the usual one."""
    merge: bool = False
    """Whether two slices are made one."""
    block: int | None = None
    """Quarter of the cloud."""
    fewer: bool = False
    """Whether narrow posteriors are extrapolated from fewer widths."""
    part: int | None = None
    """Every second value of known directions."""

    def values(self, table: Table) -> np.ndarray:
        """Volumes of slices at the nodes."""
        if self.coarse:
            return table.rough
        return table.whole if self.block is None else table.block(self.block)


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

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether there is no latent noise, or it can be averaged out."""
        return not target.q or label_probabilities(target) is not None

    def __init__(self, target: Target, known: np.ndarray | None = None, *, finer: int = 0) -> None:
        self.target, self.finer = target, finer
        self._key = target, None if known is None else known.tobytes(), finer
        self.labels = MEMORY.get(self._key, lambda: Labels(target, known, finer=finer))
        self.r, self.free = self.labels.r, self.labels.free
        self._lattices: dict[tuple[bytes, bytes], Lattice] = {}
        self._known: dict[Any, Any] = {}
        self._frames = [np.eye(self.r)]
        # Along one axis points are regular: two blocks say as much as four.
        is_line = self.r == 1
        self._blocks = (0, 2) if is_line else (0, 1, 2, 3)
        self._squared_noise = _ALONG_ONE_AXIS if is_line else _SQUARED_NOISE
        # Where moments jump the loss is linear in the width of slices; more axes wash jumps out.
        self._slice_error = 1.5 if is_line else 0.5
        self._power = target.noise + self.labels.square

    # ---- averages

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`.

        With fewer prior means and slices, and without the error of labels, if `coarse`.
        """
        return self._averages(M, Rule(coarse=coarse))

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M` with all corrections, and what each source of error changes in them."""
        rules = Rule(), Rule(stretch=_WIDER), Rule(merge=True), Rule(fewer=True)
        plain, wide, rough, fewer = (self._averages(M, rule) for rule in rules)
        # What a narrow posterior leaves open, and its error, vanish together.
        widest = float(1 - np.linalg.eigvalsh(M)[0])
        power = self._power * min(widest / self._narrowest(self._place(M)), 1.0)
        count = len(self._blocks)
        blocks = [self._averages(M, Rule(block=i)) for i in self._blocks]
        mean = scaled(reduce(Averages.plus, blocks), 1 / count)
        noise = scaled(mean.plus(plain, -1.0), self._squared_noise)
        # Each for itself, so that none cancels along any direction: together at least their
        # standard deviation, because they sum to zero.
        away = [scaled(block.plus(mean, -1.0), (2 * (count - 1)) ** -0.5) for block in blocks]
        sources = [
            noise,
            *away,
            scaled(wide.plus(plain, -1.0), 0.2),
            scaled(rough.plus(plain, -1.0), self._slice_error),
            scaled(fewer.plus(plain, -1.0), 3.0),
            scaled(
                plain._replace(log_evidence=plain.log_evidence - self.labels.log_density[0]),
                self._spacing(self.r) ** 6 / 200,
            ),
            self._of_known(M),
            Averages(0 * M, self.labels.log_density[1], 0.0),
            Averages(0 * M, _EVIDENCE_ERROR, _POWER_ERROR * power)
            if self.labels.knots.size
            else Averages(0 * M, 0.0, 1e-5 * power),
        ]
        return plain.plus(noise, -1.0), sources

    def _of_known(self, M: np.ndarray) -> Averages:
        """Error of a mean over a sample of values of known directions."""
        if self.labels.groups == 1:
            return Averages(0 * M, 0.0, 0.0)
        one, other = (self._averages(M, Rule(part=i)) for i in (0, 1))
        return scaled(one.plus(other, -1.0), 0.5)

    def pairs(self, M: np.ndarray, combine: Combine, **choice: Any) -> np.ndarray:
        r"""Means of products of entries of a matrix made of g and H, (r, r, r, r).

        :math:`H = V^{-1} (\mathbb{E}[(z - \omega)(z - \omega)^\top \mid y] - V) V^{-1}`; with the
        slices, points and values of known directions that `choice` asks for, as in :class:`Rule`.
        """
        found = self._pairs(M, combine, Rule(**choice))
        if "block" in choice or "coarse" in choice or (M > UNLEARNED).any():
            return found
        # At M = 0, where it costs little, the squared noise of the cloud is taken back.
        blocks = [self._pairs(M, combine, Rule(**choice, block=i)) for i in self._blocks]
        return np.asarray(found - self._squared_noise * (np.mean(blocks, axis=0) - found))

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of a discrete label is wrong."""
        place = self._place(M)
        step = _KINKS[self.r]
        rules = Rule(stretch=step), Rule(stretch=2 * step), Rule(stretch=step, fewer=True)
        fine, wide, fewer = (self._wrong(place, rule) for rule in rules)
        # The most probable value changes where the integrand has a kink: an error of second order.
        change = (fine - wide) / 3
        error = abs(change) + abs(fewer - fine) + 1e-4 * abs(fine)
        return Estimate(max(fine + change, 0.0), error, "quadrature")

    # ---- one evaluation

    def _averages(self, M: np.ndarray, rule: Rule) -> Averages:
        """Averages by one rule."""

        def evaluate(at: Place) -> np.ndarray:
            table = self._table(at)
            stretch = _WIDER if rule.coarse else rule.stretch
            weight, moments = self._moments(at, table, rule.values(table), 1, stretch)
            slices, chances = table.slices, table.slices.chances
            parts = [moments[order] for order in orders(self.r, 1)]
            if rule.coarse:
                chances = slices.merged(chances)
            if rule.merge:
                parts, chances = [slices.merged(f) for f in parts], slices.merged(chances)
            merged = [slices.merged(f) for f in parts]
            fine, rough = (
                information_sums(weight, slices.part(rule.part, fs), slices.part(rule.part, [c])[0])
                for fs, c in ((parts, chances), (merged, slices.merged(chances)))
            )
            J, information = (a + (a - b) / 3 for a, b in zip(fine, rough, strict=True))
            mse = 0.0 if rule.coarse else self._kept(("mse",), at, lambda: self._mse(at, table))
            return np.array([*J.ravel(), mse - self.target.noise, information])

        def turned(found: np.ndarray, turn: np.ndarray) -> np.ndarray:
            J = turn.T @ found[:-2].reshape(M.shape) @ turn
            return np.append(J, found[-2:])

        place = self._place(M)
        *J, mse, information = self._extrapolated(place, evaluate, rule, turned, self._units)
        J = place.Q @ np.reshape(J, M.shape) @ place.Q.T
        return Averages(
            symmetric_matrix((J + J.T) / 2, self._maps(M)),
            information + self.labels.log_density[0],
            self.target.noise + float(mse),
        )

    def _units(self, at: Place) -> Units:
        return self._linear.units(at.Q, 1 - at.overlaps)

    @cached_property
    def _linear(self) -> LinearLabels:
        return LinearLabels(self.target, self.labels)

    def _mse(self, at: Place, table: Table) -> float:
        """Mean squared error of the posterior mean of a new label; no rule changes it."""
        weight, moments = self._moments(at, table, table.whole, 0)
        labels = moments[(0,) * self.r] * table.slices.places
        means = labels.reshape(len(weight), self.labels.groups, -1).sum(axis=2)
        return self._power - self.labels.groups * float(weight @ (means**2).sum(axis=1))

    def _wrong(self, place: Place, rule: Rule) -> float:
        """Probability that the most probable slice is wrong."""

        def evaluate(at: Place) -> np.ndarray:
            table = self._table(at)
            weight, moments = self._moments(at, table, table.whole, 0, rule.stretch)
            chances = moments[(0,) * self.r]
            wrong = 1 - chances.max(axis=1) / np.maximum(chances.sum(axis=1), TINY)
            return np.array([weight @ wrong / np.sqrt(1 - at.overlaps.min())])

        found = self._extrapolated(place, evaluate, rule, lambda found, _: found)[0]
        return float(found * np.sqrt(1 - place.overlaps.min()))

    def _pairs(self, M: np.ndarray, combine: Combine, rule: Rule) -> np.ndarray:
        """Means of products of entries of a matrix made of g and H."""
        r = self.r

        def evaluate(at: Place) -> np.ndarray:
            table = self._table(at)
            stretch = _WIDER if rule.coarse else 1.0
            weight, moments = self._moments(at, table, rule.values(table), 2, stretch)
            parts, slices = [moments[order] for order in orders(r, 2)], table.slices
            if rule.merge:
                parts = [slices.merged(f) for f in parts]
            width = np.sqrt(1 - at.overlaps)

            def mean(parts: list[np.ndarray]) -> np.ndarray:
                return products(weight, slices.part(rule.part, parts), width, combine)

            found = mean(parts)
            if not rule.coarse:
                found = found + (found - mean([slices.merged(f) for f in parts])) / 3
            return found

        def turned(found: np.ndarray, turn: np.ndarray) -> np.ndarray:
            return symmetric_pairs(found.reshape(r, r, r, r), turn.T, np.eye(r)[None]).ravel()

        place = self._place(M)
        pairs = self._extrapolated(place, evaluate, None, turned).reshape(r, r, r, r)
        scale = place.Q / np.sqrt(1 - place.overlaps)
        return symmetric_pairs(pairs, scale, self._maps(M))

    def _moments(
        self, at: Place, table: Table, values: np.ndarray, order: int, stretch: float = 1.0
    ) -> tuple[np.ndarray, dict[tuple[int, ...], np.ndarray]]:
        """Probabilities of the prior means, and moments of a table there."""
        axes, halved = len(table.lattice.axes), table.lattice.halved
        rules = [
            prior_means(m, _STEPS[axes], stretch, _FARTHEST, half=half)
            for m, half in zip(at.overlaps, halved, strict=True)
        ]
        numbers = np.prod([float(len(w)) for _, w in rules]) * values.shape[-1]
        if numbers * len(orders(self.r, order)) > _MOST:
            raise TooLarge(
                f"averages of {self.r} directions at overlaps {np.round(at.overlaps, 4).tolist()} "
                f"need {numbers:.1g} prior means times labels, and {_MOST:.1g} numbers are the "
                "most; ask for fewer samples per dimension, or for a target of fewer directions"
            )
        weight = np.ones(1)
        for _, w in rules:
            weight = np.multiply.outer(weight, w).ravel()
        return weight, table.moments(values, [omega for omega, _ in rules], 1 - at.overlaps, order)

    # ---- places

    def _place(self, M: np.ndarray) -> Place:
        """Eigenbasis of an overlap matrix, one that is known already if it fits."""
        for Q in self._frames:
            turned = Q.T @ M @ Q
            overlaps = np.diag(turned)
            if np.abs(turned - np.diag(overlaps)).max() < FRAME:
                return Place(Q, overlaps.clip(0.0, 1 - TINY))
        overlaps, Q = np.linalg.eigh(M)
        self._frames = [self._frames[0], *self._frames[1:][-2:], Q]
        return Place(Q, overlaps.clip(0.0, 1 - TINY))

    def _maps(self, M: np.ndarray) -> np.ndarray:
        """Symmetries (k, r, r) of the target that leave M as it is."""
        return invariant_maps(self.labels.symmetries.maps, M)

    def _cut(self, axes: int) -> Slices:
        """As many slices as a lattice of so many axes allows for."""
        skip = _SKIP[axes]
        if self.r == 1:
            skip *= 2
        if self.labels.groups > 1:
            skip = max(skip // 4, 1)
        return MEMORY.get((*self._key, skip), lambda: Slices(self.labels, skip))

    def _spacing(self, axes: int) -> float:
        """Step of the lattice in standard deviations of the posterior."""
        return _SPACING[axes] * (1.0 if self.labels.knots.size else _FINER_VALUES)

    def _lattice(self, at: Place) -> Lattice:
        learned = at.overlaps >= UNLEARNED
        key = at.Q.tobytes(), learned.tobytes()
        if key not in self._lattices:
            self._lattices[key] = Lattice(self.labels.symmetries, at.Q, learned)
        return self._lattices[key]

    def _steps(self, at: Place) -> np.ndarray:
        """Steps of a lattice that is fine enough, from a ladder of steps."""
        learned = at.overlaps >= UNLEARNED
        largest = self._spacing(int(learned.sum())) * np.sqrt(1 - at.overlaps)
        rung = np.ceil(np.log(largest) / np.log(_LADDER) - FRAME)
        return np.where(learned, _LADDER**rung, 0.0)

    def _table(self, at: Place) -> Table:
        lattice, steps = self._lattice(at), self._steps(at)
        slices = self._cut(len(lattice.axes))
        key = *self._key, at.Q.tobytes(), steps.tobytes()
        return MEMORY.get(key, lambda: Table(slices, lattice, steps))

    def _narrowest(self, place: Place) -> float:
        """Smallest variance of a posterior that the cloud and a table of moderate size resolve."""
        v = (_RESOLVED if self.labels.knots.size else _RESOLVED_VALUES)[self.r]
        lattice = self._lattice(place)
        axes = len(lattice.axes)
        columns = self._cut(axes).columns * len(orders(self.r - axes, 2))
        mirrors = sum(mirror is not None for mirror in lattice.mirrors)
        while True:
            at = place._replace(overlaps=np.minimum(place.overlaps, 1 - v))
            shape = [float(len(n)) for n in nodes_of(lattice, self._steps(at))]
            if columns * np.prod(shape) <= _LARGEST / (1 + mirrors):
                return v
            if v > _WIDEST:
                raise NotConverged(
                    f"the averages over {axes} learned directions without symmetries need a table "
                    f"of more than {_LARGEST:.0e} entries"
                )
            v *= 1.2

    def _extrapolated(
        self,
        place: Place,
        evaluate: Callable[[Place], np.ndarray],
        rule: Rule | None,
        turned: Callable[[np.ndarray, np.ndarray], np.ndarray],
        units: Callable[[Place], Units] | None = None,
    ) -> np.ndarray:
        """Numbers at a place, by a rule whose results are kept.

        Where the posterior is too narrow, from three wider ones, in `units` in which they are
        smooth functions of the width. Equal overlaps have no frame of their own: they are evaluated
        in one, and `turned`.
        """

        def kept(at: Place) -> np.ndarray:
            if np.ptp(at.overlaps) < FRAME and at.Q is not self._frames[0]:
                return turned(kept(at._replace(Q=self._frames[0])), at.Q)
            if rule is None:
                return evaluate(at)
            return self._kept(rule._replace(fewer=False), at, lambda: evaluate(at))

        variances = 1 - place.overlaps
        variance = float(variances.min(initial=1.0))
        least = self._narrowest(place)
        if variance >= least:
            return kept(place)
        # No posterior is wider than the prior.
        widest = min(_WIDTHS[-1] * np.sqrt(least), 1.0)
        share = (_WIDTHS - 1) / (_WIDTHS[-1] - 1)
        widths, to = np.sqrt(least) + (widest - np.sqrt(least)) * share, float(np.sqrt(variance))
        # Narrow posteriors of all shapes share the round ones of these widths.
        places = [place._replace(overlaps=1 - np.maximum(variances, w * w)) for w in widths]
        found = np.array([kept(at) for at in places])
        if rule is not None and rule.fewer:
            # The widest direction instead of the narrowest: what a round one leaves open.
            widths, found = widths[:2], found[:2]
            to = float(np.sqrt(min(variances.max(), least)))
        if units is None:
            return extrapolated(widths, found, to, np.full(found.shape[1], np.nan))
        shares = np.array([units(at).shares(f) for at, f in zip(places, found, strict=False)])
        here = units(place)
        # Where others are wide, no limit is known.
        known = float(np.clip(2 - variances.max() / least, 0.0, 1.0))
        free = extrapolated(widths, shares, 0.0, np.nan * here.limit)
        return here.numbers(extrapolated(widths, shares, to, free + known * (here.limit - free)))

    def _kept(self, what: tuple[Any, ...], at: Place, make: Callable[[], Kept]) -> Kept:
        """What was made for the same place before, or else now; the last ones are kept."""
        key = what, at.Q.tobytes(), at.overlaps.tobytes()
        if key not in self._known:
            made = make()
            self._known = {**dict(list(self._known.items())[-30:]), key: made}
        found: Kept = self._known[key]
        return found

r"""Joint law of a function of the label and of the hidden directions of a hierarchical target.

What the label says about second moments of the input is all that a first layer with a quadratic
activation sees. The law is that at the inner dimension D which the target really has, not that of
Gaussian features, and is found by drawing: no input of dimension d is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ...analysis.depth.chain import chain
from ...base.errors import BadData, OutOfRegime, did_you_mean
from ...base.seeds import stream
from ...targets.hierarchical import HierarchicalTarget, Might, Sight, Tree
from ...targets.realization import LayeredRealization

Score = Literal["gauss", "rank", "label"]
SCORES: tuple[Score, ...] = get_args(Score)
DRAWS = 2**18
_BLOCK = 2**20  # numbers drawn at once
_BINS, _TAIL = 360, 0.02  # bins of the label; share of it on each side that gets finer ones


@dataclass(frozen=True)
class LabelLaw:
    r"""Binned law of the centered score t with the second moments of z given t.

    The directions of one group are exchangeable, so the mean of :math:`z z^\top` given t is known
    from two numbers for each group: in the normalized sum of its directions and orthogonally to it.

    Parameters
    ----------
    t, share : ndarray (bins,)
        Value of the score and probability of each bin.
    rest : ndarray (bins, groups)
        Mean square of a direction of each group that is orthogonal to the group's sum.
    common : ndarray (bins, groups, groups) or None
        Second moments of the normalized sums; None if correlations of different directions are
        left out, and `rest` is about all directions.
    sizes : ndarray (groups,)
        Directions of each group.
    """

    t: np.ndarray
    share: np.ndarray
    rest: np.ndarray
    common: np.ndarray | None
    sizes: np.ndarray

    @property
    def members(self) -> np.ndarray:
        """Dimensions of each group that `rest` is about."""
        return self.sizes if self.common is None else self.sizes - 1

    @property
    def strengths(self) -> np.ndarray:
        """Mean of t (z_i^2 - 1) for a direction of each group."""
        squares = self.rest
        if self.common is not None:
            own = np.einsum("bgg->bg", self.common)
            squares = (self.rest * self.members + own) / self.sizes
        return np.asarray((self.share * self.t) @ (squares - 1))

    @property
    def square(self) -> float:
        """Mean of the squared score."""
        return float(self.share @ self.t**2)


@dataclass(frozen=True)
class Draws:
    """Labels of a target drawn from its directions alone.

    Parameters
    ----------
    y : ndarray (draws,)
        Noisy labels.
    rest : ndarray (draws, groups)
        Mean square of the directions of each group, orthogonally to their sum if there are `sums`.
    sums : ndarray (draws, groups) or None
        Normalized sum of the directions of each group; None for inner functions without a linear
        part, which leave different directions almost uncorrelated given the label.
    groups : list of ndarray
        Directions of each group.
    """

    y: np.ndarray
    rest: np.ndarray
    sums: np.ndarray | None
    groups: list[np.ndarray]

    @property
    def sizes(self) -> np.ndarray:
        """Number of directions of each group."""
        return np.array([len(group) for group in self.groups])

    def part(self, index: int, parts: int) -> Draws:
        """One of several parts of the same size."""
        rows = slice(index, None, parts)
        sums = None if self.sums is None else self.sums[rows]
        return Draws(self.y[rows], self.rest[rows], sums, self.groups)

    def law(self, score: Score, n: int) -> LabelLaw:
        """Law of the score of n samples."""
        t = scored(self.y, score, n)
        order = np.argsort(t, kind="stable")
        starts = rank_bins(len(t))
        counts = np.diff([*starts, len(t)])

        def means(values: np.ndarray) -> np.ndarray:
            return np.asarray(np.add.reduceat(values[order], starts, axis=0).T / counts).T

        common = None
        if self.sums is not None:
            groups = len(self.sizes)
            common = np.empty((len(starts), groups, groups))
            for g in range(groups):  # pair by pair: all products at once may not fit into memory
                for other in range(g + 1):
                    pair = means(self.sums[:, g] * self.sums[:, other])
                    common[:, g, other] = common[:, other, g] = pair
        share, binned = counts / len(t), means(t)
        return LabelLaw(binned - share @ binned, share, means(self.rest), common, self.sizes)


def draw_labels(target: HierarchicalTarget, d: int, *, draws: int = DRAWS, seed: int = 0) -> Draws:
    """Labels of independent inputs, with what they tell about the directions.

    Parameters
    ----------
    target : Sight, Might or Tree
        The target.
    d : int
        Input dimension.
    draws, seed : int
        Number of labels; address of the random numbers.
    """
    realization = at_dimension(target, d)
    linear = chain(target).inners[0].coefficient(1)
    is_correlated = not linear.is_zero
    groups = direction_groups(realization, by_block=is_correlated)
    sizes = np.array([len(group) for group in groups])
    K = int(sizes.sum())
    rng = stream(seed, "data", d=d, part="labels of the theory")
    y, rest = np.empty(draws), np.empty((draws, len(groups)))
    sums = np.empty((draws, len(groups))) if is_correlated else None
    step = max(_BLOCK // K, 1)
    for start in range(0, draws, step):
        z = rng.standard_normal((min(step, draws - start), K))
        rows = slice(start, start + len(z))
        y[rows] = realization.label_of(z)[0]
        for g, group in enumerate(groups):
            part = z[:, group]
            square = np.einsum("ni,ni->n", part, part)
            if sums is None:
                rest[rows, g] = square / sizes[g]
            else:
                sums[rows, g] = part.sum(axis=1) / math.sqrt(sizes[g])
                # A group of one has no direction left; its number is not used.
                rest[rows, g] = (square - sums[rows, g] ** 2) / max(sizes[g] - 1, 1)
    if target.noise:
        y += math.sqrt(target.noise) * rng.standard_normal(draws)
    return Draws(y, rest, sums, groups)


def scored(y: np.ndarray, score: Score, n: int) -> np.ndarray:
    r"""Score of each label: Gaussian quantile of its rank, the rank itself, or the label.

    Equal labels share the mean of their scores. The extreme ranks are those of n samples, however
    many labels are given.

    Examples
    --------
    >>> scored(np.array([3.0, 1.0, 1.0, 2.0]), "gauss", 4).round(6)
    array([ 1.150349, -0.734494, -0.734494,  0.318639])
    """
    if score == "label":
        return y - y.mean()
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    u = (np.arange(len(y)) + 0.5) / len(y)
    if score == "rank":
        sorted_scores = math.sqrt(12) * (u - 0.5)
    else:
        from scipy.special import ndtri

        sorted_scores = ndtri(np.clip(u, 0.5 / n, 1 - 0.5 / n))
    starts = np.cumsum(counts) - counts
    return np.asarray((np.add.reduceat(sorted_scores, starts) / counts)[place])


def rank_bins(count: int) -> np.ndarray:
    """First rank of each bin: one member at the ends, geometric up to 2 %, equal inside."""
    tail = max(int(_TAIL * count), 1)
    outer = np.unique(np.geomspace(1, tail, _BINS // 8).astype(int))
    inner = np.linspace(tail, count - tail, _BINS).astype(int)
    starts = np.unique([0, *outer, *inner, *(count - outer)])
    return starts[starts < count]


def checked_score(score: Any) -> Score:
    """Name of a score, checked."""
    if score not in SCORES:
        hint = did_you_mean(str(score), SCORES)
        raise BadData(f"score must be one of {', '.join(SCORES)}, got {score!r}.{hint}")
    checked: Score = score
    return checked


def at_dimension(target: HierarchicalTarget, d: int) -> LayeredRealization:
    """Target in dimension d; random signs are as many + as - in turn.

    Notes
    -----
    The theory of one draw of signs is that of a target with these ``signs``.
    """
    if not isinstance(target, Sight | Might | Tree):
        raise OutOfRegime(
            f"predictions at finite d cover Sight, Might and Tree, and this target is a "
            f"{type(target).__name__}; leave d out for the limit of large d"
        )
    if target.signs == "random":
        widths = target.widths(d)
        levels = tuple(tuple(1.0 - 2.0 * (i % 2) for i in range(w)) for w in widths[:-1])
        one_level = isinstance(target, Sight | Might) or len(levels) == 1
        target = replace(target, signs=levels[0] if one_level else levels)
    return target.realization(d)


def direction_groups(
    realization: LayeredRealization, *, by_block: bool = False
) -> list[np.ndarray]:
    """Directions that may be exchanged for each other without a change of the label.

    Parameters
    ----------
    realization : LayeredRealization
        Target in some dimension.
    by_block : bool
        Whether a group must lie in one block, so that all its permutations keep the label;
        otherwise some permutation exists for each pair.

    Examples
    --------
    >>> t = Sight("tanh(h)", "He2(z)", exponent=0.5)
    >>> [group.tolist() for group in direction_groups(at_dimension(t, 16))]
    [[0, 2], [1, 3]]
    """
    weights = realization.signs
    levels = [weights] if isinstance(weights, np.ndarray) else list(weights)
    widths = [levels[0].size, *realization.feature_widths]
    # From the bottom: what a feature is made of.
    kinds: list[list[Any]] = [[0] * widths[0]]
    parents: list[np.ndarray] = []
    for level, a in enumerate(levels):
        above = widths[level + 1]
        parents.append(np.arange(widths[level]) * above // widths[level])
        parts: list[list[Any]] = [[] for _ in range(above)]
        for i, weight in enumerate(a.ravel().tolist()):
            parts[parents[level][i]].append((kinds[level][i], weight))
        kinds.append([tuple(sorted(part)) for part in parts])
    # From the top, whose features are all different: the way to a direction.
    keys: list[Any] = list(range(widths[-1]))
    for level in reversed(range(len(levels))):
        flat = levels[level].ravel().tolist()
        keys = [
            (keys[up], kinds[level][i], flat[i], up if by_block and level == 0 else 0)
            for i, up in enumerate(parents[level])
        ]
    groups: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    return [np.array(group) for group in groups.values()]

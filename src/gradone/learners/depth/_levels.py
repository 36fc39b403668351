r"""Networks of any depth in closed form, level by level.

Branches of the directions [LW-6] are inputs like any others: what was done with the directions is
done with them, and so on. With l levels of branches below it a ridge fit makes a network of l + 2
layers, and one more with a link of that fit [LW-5]. Of all those that are not too deep the one that
predicts the rows held out best is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._branches import Branches, find_branches
from ._data import SplitData, beats
from ._learner import DeepModel
from ._link import Link
from ._network import ReluNetwork
from ._ridge import ridge_network

_CLEAR = 2.0  # standard deviations by which a level more must be better


@dataclass(frozen=True)
class StackedModel:
    """Levels of branches, and a function of the topmost ones.

    Parameters
    ----------
    levels : tuple of Branches
        Each is a function of the one before it, the first of the inputs.
    top : Link or ReluNetwork
        Function of the last ones.
    range : tuple of float
        Smallest and largest label; outputs end there. Far out the polynomials below grow faster
        than anything that the rows have shown.
    """

    levels: tuple[Branches, ...]
    top: Link | ReluNetwork
    range: tuple[float, float]

    @property
    def weights(self) -> list[np.ndarray]:
        """The directions, as rows of a first layer."""
        return [self.levels[0].features.axes]

    def hidden(self, X: np.ndarray, layer: int) -> np.ndarray:
        """Coordinates along the directions (layer 1), the branches of a level, or the top."""
        if layer == 1:
            return self.levels[0].features.coordinates(X)
        for level in self.levels[: layer - 1]:
            X = level(X)
        above = layer - len(self.levels)
        if above < 2:
            return X
        if isinstance(self.top, ReluNetwork):
            return self.top.hidden(X, above)
        return self.top(X)[:, None]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n,)."""
        return np.clip(self.top(self.hidden(X, len(self.levels) + 1)), *self.range)


def level_by_level(
    data: SplitData,
    rows: np.ndarray,
    axes: np.ndarray,
    widths: tuple[int, ...],
    rng: np.random.Generator,
) -> tuple[DeepModel, np.ndarray, str]:
    """The best network with at most as many layers as the widths say, its errors, its branches.

    The errors are those on the rows held out, without those that its link has seen; the branches
    are told in words.

    Parameters
    ----------
    data : SplitData
        The rows held out fit the links and choose.
    rows : ndarray (widths[0], d)
        First layer of a network without branches.
    axes : ndarray (K, d)
        Directions that branches are functions of.
    widths : tuple of int
        Of the hidden layers.
    rng : Generator
        Biases, first layers above branches, units of links.
    """
    best: DeepModel
    best, least = ridge_network(data, rows, widths[:2], rng)
    levels: tuple[Branches, ...] = ()
    seen, words = data, ""
    ends = float(data.y.min()), float(data.y.max())
    for level in range(1, len(widths)):
        found = find_branches(seen, axes if level == 1 else np.eye(seen.X.shape[1]), rng)
        if found is None:
            break
        levels += (found.branches,)
        seen = SplitData(
            found.branches(seen.X), data.y, found.branches(seen.X_held), data.y_held
        )  # fmt: skip
        tops: list[tuple[np.ndarray, Link | ReluNetwork]] = [(found.errors, found.link)]
        if level + 1 < len(widths):
            first = _sphere(widths[level], seen.X.shape[1], rng)
            network, errors = ridge_network(seen, first, widths[level : level + 2], rng)
            tops.append((errors, network))
        errors, top = min(tops, key=lambda pair: float(np.mean(pair[0] ** 2)))
        if beats(errors, least, _CLEAR):
            best, least = StackedModel(levels, top, ends), errors
            counts = ", then ".join(str(one.matrix.shape[1]) for one in levels)
            words = f" They make {counts} branch(es)."
    return best, least, words


def _sphere(count: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
    """Unit rows (count, dimension), uniform."""
    rows = rng.standard_normal((count, dimension))
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit

"""Layers of filters on top of each other, and the choice of how many of them to use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from ._data import SplitData, beats
from ._lofi_branches import BranchLevel, BranchReadout, branch_levels
from ._lofi_kernel import RIDGES, KernelReadout
from ._lofi_layers import Directions, Layer, directions_layer, fitted_layer, products_layer
from ._lofi_ramps import Ramps
from ._lofi_relu import ReluFilters, relu_layer
from ._ridge_path import Readout, RidgePath

_ROWS_FOR_EACH = 4  # product
_MOST_IN_KERNEL = 4000  # rows
_LEAST_ROWS = 40  # that a layer above the first is learned from
_CHANCE = 3.0  # standard errors by which filters must beat the mean label


@dataclass(frozen=True)
class Settings:
    """How filters are found and read.

    Parameters
    ----------
    layers : int
        Largest number of layers of filters.
    relu : bool
        Whether filters are functions of random features, or of the inputs and their products.
    keep : int or None
        Number of filters of a layer; None: those beyond the edges.
    n_features, readout_features : int
        Random features of a layer, and of a readout.
    rounds : int
        Rounds of the correction of the first layer.
    """

    layers: int
    relu: bool
    keep: int | None
    n_features: int
    readout_features: int
    rounds: int


class Level(NamedTuple):
    """Features (n, k) of the rows to learn from, and the weights of their blocks."""

    rows: np.ndarray
    blocks: list[np.ndarray]


@dataclass(frozen=True)
class Stack:
    """Layers, each a function of the one below it and of what is joined to it.

    Parameters
    ----------
    layers : tuple of Layer
        From the inputs upwards.
    joined : {"nothing", "first", "all"}
        Features that are joined to those of a layer: those of the first layer, or of all below.
    """

    layers: tuple[Layer, ...]
    joined: Literal["nothing", "first", "all"]

    def __call__(self, X: np.ndarray, depth: int) -> np.ndarray:
        """Features (n, k) that the readout of a depth sees; of depth 0 the inputs."""
        if not depth:
            return X
        first = H = self.layers[0](X)
        for layer in self.layers[1:depth]:
            own = layer(H)
            more = {"nothing": [], "first": [first], "all": [H]}[self.joined]
            H = np.concatenate([own, *more], axis=1)
        return H


def learn_stack(
    X: np.ndarray, T: np.ndarray, settings: Settings, rng: np.random.Generator
) -> tuple[Stack, list[Level]]:
    """Layers, as many as there are filters for, and the features of every depth from 0.

    Parameters
    ----------
    X, T : ndarray (n, d), (n, s)
        Rows, and scores of their labels.
    settings : Settings
        How.
    rng : Generator
        Folds and random functions.
    """
    levels = [Level(X, [np.ones(X.shape[1])])]
    layers: list[Layer] = []
    if settings.relu:
        for _ in range(settings.layers):
            filters, H = relu_layer(
                levels[-1].rows, T, settings.keep or 1, settings.n_features, rng
            )
            layers.append(filters)
            below = levels[1:][-1:]
            H = np.concatenate([H, *(level.rows for level in below)], axis=1)
            weights = [filters.weights, *(level.blocks[0] for level in below)]
            levels.append(Level(H, [np.concatenate(weights)]))
        return Stack(tuple(layers), "all"), levels
    if not settings.layers:
        return Stack((), "first"), levels
    first, Z = directions_layer(X, T, settings.rounds, settings.keep, rng)
    if not len(first.weights):
        return Stack((), "first"), levels
    layers.append(first)
    levels.append(Level(Z, [first.weights]))
    while len(layers) < settings.layers and len(X) >= _LEAST_ROWS:
        layer, own = _above(levels, T, settings, len(first.shares) > 0, rng)
        layers.append(layer)
        levels.append(Level(np.concatenate([own, Z], axis=1), [layer.weights, first.weights]))
    return Stack(tuple(layers), "first"), levels


def _above(
    levels: list[Level], T: np.ndarray, settings: Settings, gaussian: bool, rng: np.random.Generator
) -> tuple[Layer, np.ndarray]:
    """The next layer above directions: filters of their products, then fits of what is below."""
    below = levels[-1]
    n, k = below.rows.shape
    if len(levels) == 2 and k * (k + 3) // 2 <= n // _ROWS_FOR_EACH:
        return products_layer(below.rows, T, below.blocks[0], gaussian, rng)
    return fitted_layer(below.rows, T, below.blocks, settings.readout_features, rng)


@dataclass(frozen=True)
class StackModel:
    """A function of standardized inputs: a readout of the features of a stack.

    Parameters
    ----------
    stack : Stack
        The layers.
    depth : int
        Layers that are used.
    width : int
        Features of that depth that are used.
    readout : Readout, KernelReadout or BranchReadout
        Function of them.
    """

    stack: Stack
    depth: int
    width: int
    readout: Readout | KernelReadout | BranchReadout

    @property
    def weights(self) -> list[np.ndarray]:
        """First layer on the inputs; without filters each input is a neuron of its own."""
        if not self.stack.layers:
            return [np.eye(self.width)]
        first = self.stack.layers[0]
        assert isinstance(first, Directions | ReluFilters)
        return [first.rows]

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n, s)."""
        return self.readout(self.stack(X, self.depth)[:, : self.width])

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """First output (n,)."""
        return self.outputs(X)[:, 0]

    def hidden(self, X: np.ndarray, layer: int) -> np.ndarray:
        """Features of a layer, those of the first one behind them."""
        return self.stack(X, layer)


class _Candidate(NamedTuple):
    """A depth, whether the first layer is seen as well, the ridge, and the errors held out."""

    depth: int
    blocks: int
    ridge: int
    errors: np.ndarray


@dataclass(frozen=True)
class Chosen:
    """What was learned from the rows to learn from, and refitted to all.

    Parameters
    ----------
    model : StackModel
        Fitted to all rows.
    errors : ndarray (n_held, s)
        Of the same model without the rows held out, on these.
    depth_errors : list of float
        Smallest mean square error held out of every depth from 0.
    probes : list of ndarray (n_held, s)
        Outputs of a linear fit on the features of every depth from 0, on the rows held out.
    """

    model: StackModel
    errors: np.ndarray
    depth_errors: list[float]
    probes: list[np.ndarray]


def chosen_stack(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    held: tuple[np.ndarray, np.ndarray],
    all_scores: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
) -> Chosen:
    """Stack whose depth and ridge predict the rows held out best, then fitted to all rows.

    Parameters
    ----------
    rows : tuple of ndarray
        Inputs (n, d), labels (n, s) and scores of the rows to learn from.
    held : tuple of ndarray
        Inputs and labels held out.
    all_scores : ndarray
        Scores of all rows, those held out last.
    settings : Settings
        How.
    rng : Generator
        Folds and random functions.
    """
    X, Y, T = rows
    X_held, Y_held = held
    stack, levels = learn_stack(X, T, settings, rng)
    candidates, probes = [], []
    for depth, level in enumerate(levels):
        H = stack(X_held, depth)
        for count in range(1, len(level.blocks) + 1):
            candidates.append(_candidate(level, depth, count, (Y, H, Y_held), settings, rng))
        probes.append(_probe(level.rows, Y, H, Y_held))
    sizes = [float(np.mean(candidate.errors**2)) for candidate in candidates]
    best = candidates[int(np.argmin(sizes))]
    null = _lengths(Y.mean(axis=0) - Y_held)
    # Filters of random features are always found; directions of the inputs had to stand out.
    if settings.relu and not beats(_lengths(best.errors), null, _CHANCE):
        best = candidates[0]
    depth_errors = [
        min(size for size, one in zip(sizes, candidates, strict=True) if one.depth == depth)
        for depth in range(len(levels))
    ]
    if not settings.relu and settings.layers > 1 and len(levels) > 1 and Y.shape[1] == 1:
        data = SplitData(levels[1].rows, Y[:, 0], stack(X_held, 1), Y_held[:, 0])
        found = branch_levels(data, settings.layers - 1, best.errors[:, 0], rng)
        if found:
            probes[2:] = [_probe(level.rows, Y, level.held, Y_held) for level in found]
            depth_errors[2:] = [float(np.mean(level.errors**2)) for level in found]
            errors = found[-1].errors[:, None]
            return Chosen(_branch_model(stack, found[-1]), errors, depth_errors, probes)
    everything = replace(settings, layers=best.depth)
    X_all, Y_all = np.concatenate([X, X_held]), np.concatenate([Y, Y_held])
    stack, levels = learn_stack(X_all, all_scores, everything, rng)
    depth = len(stack.layers)  # with the last rows fewer layers may be found
    model = _model(stack, levels[depth], depth, best, Y_all, settings, rng)
    return Chosen(model, best.errors, depth_errors, probes)


def _lengths(errors: np.ndarray) -> np.ndarray:
    """Lengths (n,) of rows of errors (n, s)."""
    found: np.ndarray = np.linalg.norm(errors, axis=1)
    return found


def _probe(rows: np.ndarray, Y: np.ndarray, H: np.ndarray, Y_held: np.ndarray) -> np.ndarray:
    """Outputs (n_held, s) at held-out features H of the best linear fit on features (n, k)."""
    linear = RidgePath.of(lambda features: features, rows, Y)(H)
    best = np.argmin(((linear - Y_held[:, None]) ** 2).mean(axis=(0, 2)))
    found: np.ndarray = linear[:, best]
    return found


def _branch_model(stack: Stack, level: BranchLevel) -> StackModel:
    """Branches above the first layer; their link has seen rows that they have not."""
    whole = Stack((stack.layers[0], *level.layers), "nothing")
    return StackModel(whole, len(whole.layers), level.rows.shape[1], level.readout)


def _candidate(
    level: Level,
    depth: int,
    count: int,
    labels: tuple[np.ndarray, np.ndarray, np.ndarray],
    settings: Settings,
    rng: np.random.Generator,
) -> _Candidate:
    """Readout of the first blocks of a level, with the best ridge."""
    Y, H, Y_held = labels
    width = sum(map(len, level.blocks[:count]))
    rows, H = level.rows[:, :width], H[:, :width]
    if _by_kernel(settings, len(Y)):
        fits = KernelReadout.path(rows, Y, list(range(len(RIDGES))))
        outputs = np.stack([fit(H) for fit in fits], axis=1)
    else:
        ramps = Ramps.of(rows, level.blocks[:count], settings.readout_features, rng)
        outputs = RidgePath.of(ramps, rows, Y)(H)
    errors = outputs - Y_held[:, None]
    ridge = int(np.argmin(np.mean(errors**2, axis=(0, 2))))
    return _Candidate(depth, count, ridge, errors[:, ridge])


def _model(
    stack: Stack,
    level: Level,
    depth: int,
    best: _Candidate,
    Y: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
) -> StackModel:
    """The readout that was chosen, fitted to all rows."""
    blocks = level.blocks[: best.blocks]
    width = sum(map(len, blocks))
    rows = level.rows[:, :width]
    if _by_kernel(settings, len(Y)):
        return StackModel(stack, depth, width, KernelReadout.path(rows, Y, [best.ridge])[0])
    ramps = Ramps.of(rows, blocks, settings.readout_features, rng)
    ridges = np.full(Y.shape[1], best.ridge)
    return StackModel(stack, depth, width, RidgePath.of(ramps, rows, Y).at(ridges))


def _by_kernel(settings: Settings, n: int) -> bool:
    return settings.relu and n <= _MOST_IN_KERNEL

"""Boosted trees: functions of single columns, for what no few directions describe."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree._criterion import MSE
from sklearn.tree._splitter import BestSplitter
from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

from ....base.threads import use_one_thread
from ..._standardize import row_blocks
from .rows import Rows

_RATE_TIMES_ROUNDS = 7.2  # rates beyond 0.15 predict worse
_DEPTH = 6
_FEW_ROWS, _DEPTH_OF_FEW, _ROUNDS_OF_FEW = 512, 5, 5 / 6  # less is enough: a share of the rounds
_ROWS_OF_A_TREE, _COLUMNS_OF_A_CUT = 0.7, 0.4  # shares that are drawn anew
_FEWEST_COLUMNS_OF_A_CUT = 5  # of few columns a share would often miss all that matter
_ROWS_OF_A_LEAF = 10  # at most; a hundredth of the rows of smaller tables
_MOST_ROWS_OF_A_TREE = 2500
_HISTOGRAMS = {
    "max_iter": 150,
    "learning_rate": 0.08,
    "max_leaf_nodes": 12,
    "l2_regularization": 1.0,
    "early_stopping": False,
    "random_state": 0,
}
_BLOCK = 1024
_MANY_ROWS = 20_000


@dataclass(frozen=True)
class TreesMember:
    """Sum of regression trees, node by node in flat arrays.

    Parameters
    ----------
    feature, threshold : ndarray (nodes,)
        A row goes left at a node if its feature, in single precision, is at most the threshold.
    left, right : ndarray of int (nodes,)
        Nodes below; a leaf leads to itself.
    value : ndarray (nodes, q)
        What a leaf adds to the predictions.
    gain : ndarray (nodes,)
        Squared error of training that a cut took away.
    roots : ndarray of int (trees,)
        First node of each tree.
    depth : int
        Longest way from a root to a leaf.
    constant : ndarray (q,)
        Predictions without any tree.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    roots: np.ndarray
    depth: int
    constant: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        found = np.tile(self.constant, (len(X), 1))
        for part in row_blocks(len(X), _BLOCK):
            rows = X[part].astype(np.float32)
            node = np.tile(self.roots, (len(rows), 1))
            for _ in range(self.depth):
                below = np.take_along_axis(rows, self.feature[node], 1) <= self.threshold[node]
                node = np.where(below, self.left[node], self.right[node])
            for output, values in enumerate(self.value.T):
                found[part, output] += values[node].sum(axis=1)
        return found

    def importances(self, d: int) -> np.ndarray:
        """Squared error of training that the cuts of each of d columns took away."""
        return np.bincount(self.feature, self.gain, minlength=d)


def fit_trees(rows: Rows, rounds: int, depth: int | None = None) -> TreesMember:
    """Gradient boosting; several labels share their trees.

    Every tree sees some of the rows, every cut some of the columns, drawn anew: on small tables
    this predicts better than trees of everything. A single label of many rows is left to
    histograms, which are quicker there.

    Parameters
    ----------
    rows : Rows
        Training rows.
    rounds : int
        Number of trees, but for histograms; a sixth less of at most 512 rows.
    depth : int, optional
        Most cuts from the root of a tree to a leaf. If None, 6, and 5 of at most 512 rows.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> member = fit_trees(Rows(x, np.sign(x), np.ones(200)), rounds=60)
    >>> member(np.array([[-0.5], [0.5]])).round(2)[:, 0]
    array([-1.,  1.])
    """
    if len(rows) * _ROWS_OF_A_TREE > _MOST_ROWS_OF_A_TREE and rows.Y.shape[1] == 1:
        return _of_histograms(rows)
    if len(rows) <= _FEW_ROWS:
        return _boosted(rows, round(_ROUNDS_OF_FEW * rounds), depth or _DEPTH_OF_FEW)
    return _boosted(rows, rounds, depth or _DEPTH)


def averaged(members: Sequence[TreesMember]) -> TreesMember:
    """Mean of the predictions of several members."""
    shifts = np.cumsum([0, *(len(m.feature) for m in members[:-1])])
    return TreesMember(
        feature=np.concatenate([m.feature for m in members]),
        threshold=np.concatenate([m.threshold for m in members]),
        left=np.concatenate([m.left + s for m, s in zip(members, shifts, strict=True)]),
        right=np.concatenate([m.right + s for m, s in zip(members, shifts, strict=True)]),
        value=np.concatenate([m.value for m in members]) / len(members),
        gain=np.concatenate([m.gain for m in members]) / len(members),
        roots=np.concatenate([m.roots + s for m, s in zip(members, shifts, strict=True)]),
        depth=max(m.depth for m in members),
        constant=np.mean([m.constant for m in members], axis=0),
    )


def _boosted(rows: Rows, rounds: int, depth: int) -> TreesMember:
    rng, X, constant = np.random.default_rng(0), rows.X.astype(np.float32), rows.mean(rows.Y)
    n, d = X.shape
    left, q = rows.Y - constant, rows.Y.shape[1]
    size = min(int(np.ceil(_ROWS_OF_A_TREE * n)), _MOST_ROWS_OF_A_TREE)
    grown, rate = [], min(0.15, _RATE_TIMES_ROUNDS / rounds)
    drawn = max(min(d, _FEWEST_COLUMNS_OF_A_CUT), int(_COLUMNS_OF_A_CUT * d))
    builder = _builder(max(2, min(_ROWS_OF_A_LEAF, n // 100)), depth, drawn, size, q)
    for _ in range(rounds):
        some = rng.permutation(n)[:size]
        tree = Tree(d, np.ones(q, dtype=np.intp), q)
        builder.build(tree, X[some], left[some], None if rows.equal else rows.weights[some])
        left -= rate * tree.value[tree.apply(X), :, 0]
        grown.append(tree)
    return _flattened(
        leaf=[tree.children_left < 0 for tree in grown],
        feature=[tree.feature for tree in grown],
        threshold=[tree.threshold for tree in grown],
        left=[tree.children_left for tree in grown],
        right=[tree.children_right for tree in grown],
        value=[rate * tree.value[:, :, 0] for tree in grown],
        gain=[_gains(tree) for tree in grown],
        depth=depth,
        constant=constant,
    )


def _builder(leaf: int, depth: int, drawn: int, size: int, labels: int) -> Any:
    """What grows one tree after another, each with its own draws of columns.

    It is what ``DecisionTreeRegressor`` makes anew for every tree: with a few hundred rows its
    checks and its generator take four times as long as the tree.
    """
    criterion, draws = MSE(labels, size), np.random.RandomState(0)
    splitter = BestSplitter(criterion, drawn, leaf, 0.0, draws, None)
    return DepthFirstTreeBuilder(splitter, 2 * leaf, leaf, 0.0, depth, 0.0)


def _gains(tree: Any) -> np.ndarray:
    """Squared error that each cut takes away; of leaves, which have no cut, nothing of meaning."""
    error = tree.weighted_n_node_samples * tree.impurity
    return np.asarray(error - error[tree.children_left] - error[tree.children_right])


def _of_histograms(rows: Rows) -> TreesMember:
    from sklearn.ensemble import HistGradientBoostingRegressor

    # Threads that wait for each other cost more than the little work that they would share.
    with use_one_thread() if len(rows) < _MANY_ROWS else nullcontext():
        fit: Any = HistGradientBoostingRegressor(**_HISTOGRAMS).fit(
            rows.X.astype(np.float32),
            rows.Y[:, 0],
            sample_weight=None if rows.equal else rows.weights,
        )
    grown = [predictor.nodes for (predictor,) in fit._predictors]
    return _flattened(
        leaf=[tree["is_leaf"].astype(bool) for tree in grown],
        feature=[tree["feature_idx"] for tree in grown],
        threshold=[tree["num_threshold"] for tree in grown],
        left=[tree["left"] for tree in grown],
        right=[tree["right"] for tree in grown],
        value=[tree["value"][:, None] for tree in grown],
        gain=[tree["gain"] for tree in grown],
        depth=int(max(tree["depth"].max() for tree in grown)),
        constant=fit._baseline_prediction.ravel(),
    )


def _flattened(
    leaf: list[np.ndarray], depth: int, constant: np.ndarray, **parts: list[np.ndarray]
) -> TreesMember:
    """Nodes of all trees one after the other."""
    sizes = [len(tree) for tree in leaf]
    roots = np.cumsum([0, *sizes[:-1]])
    ends, own, shift = np.concatenate(leaf), np.arange(sum(sizes)), np.repeat(roots, sizes)
    joined = {name: np.concatenate(part) for name, part in parts.items()}
    return TreesMember(
        feature=np.where(ends, 0, joined["feature"]).astype(np.int64),
        threshold=np.where(ends, 0.0, joined["threshold"]),
        left=np.where(ends, own, joined["left"] + shift),
        right=np.where(ends, own, joined["right"] + shift),
        value=np.where(ends[:, None], joined["value"], 0.0),
        gain=np.where(ends, 0.0, joined["gain"]),
        roots=roots,
        depth=depth,
        constant=constant,
    )

"""Boosted trees: functions of single columns, for what no few directions describe."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....base.threads import use_one_thread
from ..._standardize import row_blocks
from .rows import Rows

_ROUNDS, _LEARNING_RATE = 150, 0.08
_LEAVES = 12
_ROWS_OF_A_LEAF = 20  # at most; a fiftieth of the rows of smaller tables
_BLOCK = 1024
_MANY_ROWS = 20_000


@dataclass(frozen=True)
class TreesMember:
    """Sum of regression trees, node by node in flat arrays.

    Parameters
    ----------
    feature, threshold : ndarray (nodes,)
        A row goes left at a node if its feature is at most the threshold.
    left, right : ndarray of int (nodes,)
        Nodes below; a leaf leads to itself.
    value : ndarray (nodes,)
        What a leaf adds to the prediction.
    roots, labels : ndarray of int (trees,)
        First node of each tree, and the label that it adds to.
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
    roots: np.ndarray
    labels: np.ndarray
    depth: int
    constant: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predictions (n, q)."""
        found = np.tile(self.constant, (len(X), 1))
        onto = self.labels[:, None] == np.arange(len(self.constant))
        for part in row_blocks(len(X), _BLOCK):
            rows, node = X[part], np.tile(self.roots, (len(X[part]), 1))
            for _ in range(self.depth):
                below = np.take_along_axis(rows, self.feature[node], 1) <= self.threshold[node]
                node = np.where(below, self.left[node], self.right[node])
            found[part] += self.value[node] @ onto
        return found


def fit_trees(rows: Rows) -> TreesMember:
    """Gradient boosting on histograms, label by label.

    Parameters
    ----------
    rows : Rows
        Training rows.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> member = fit_trees(Rows(x, np.sign(x), np.ones(200)))
    >>> member(np.array([[-0.5], [0.5]])).round(2)[:, 0]
    array([-1.,  1.])
    """
    # Threads that wait for each other cost more than the little work that they would share.
    with use_one_thread() if len(rows) < _MANY_ROWS else nullcontext():
        fits = [_boosted(rows, y) for y in rows.Y.T]
    grown = [[predictor.nodes for (predictor,) in fit._predictors] for fit in fits]
    labels = np.repeat(np.arange(len(fits)), [len(trees) for trees in grown])
    constant = np.array([fit._baseline_prediction.item() for fit in fits])
    return _flattened([tree for trees in grown for tree in trees], labels, constant)


def _boosted(rows: Rows, y: np.ndarray) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    boosting = HistGradientBoostingRegressor(
        max_iter=_ROUNDS,
        learning_rate=_LEARNING_RATE,
        max_leaf_nodes=_LEAVES,
        min_samples_leaf=max(2, min(_ROWS_OF_A_LEAF, len(rows) // 50)),
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    return boosting.fit(rows.X, y, sample_weight=None if rows.equal else rows.weights)


def _flattened(trees: list[np.ndarray], labels: np.ndarray, constant: np.ndarray) -> TreesMember:
    """Nodes of all trees one after the other."""
    roots = np.cumsum([0, *map(len, trees[:-1])])
    nodes, shift = np.concatenate(trees), np.repeat(roots, [len(tree) for tree in trees])
    leaf, own = nodes["is_leaf"].astype(bool), np.arange(len(nodes))
    return TreesMember(
        feature=np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
        left=np.where(leaf, own, nodes["left"] + shift),
        right=np.where(leaf, own, nodes["right"] + shift),
        value=np.where(leaf, nodes["value"], 0.0),
        roots=roots,
        labels=labels,
        depth=int(nodes["depth"].max()),
        constant=constant,
    )

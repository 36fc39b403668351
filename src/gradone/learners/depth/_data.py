"""Standardized training data in two parts: to learn from, and to compare with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._standardize import check_spread, chunk_rows, row_blocks
from ..giant._input_moments import InputMoments
from ..lazy._validation import held_out_rows

Model = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class SplitData:
    """Rows to learn from, and rows that are held out; inputs and labels standardized, in float32.

    Parameters
    ----------
    X, y : ndarray (n, d), (n,)
        To learn from.
    X_held, y_held : ndarray
        Held out.
    """

    X: np.ndarray
    y: np.ndarray
    X_held: np.ndarray
    y_held: np.ndarray

    def held_out_errors(self, model: Model) -> np.ndarray:
        """Errors of a model on the rows held out."""
        blocks = row_blocks(len(self.y_held), chunk_rows(2 * self.X.shape[1], 4))
        found = [model(self.X_held[part]) for part in blocks]
        return np.concatenate(found).astype(np.float64) - self.y_held

    def held_out_mse(self, model: Model) -> float:
        """Mean square error of a model on the rows held out."""
        return float(np.mean(self.held_out_errors(model) ** 2))


def beats(errors: np.ndarray, others: np.ndarray, deviations: float) -> bool:
    """Whether errors are smaller than others of the same rows, by so many standard deviations.

    Parameters
    ----------
    errors, others : ndarray (n,)
        Errors of two models, row by row; the mean of their squares counts.
    deviations : float
        Standard deviations of the mean that the difference must exceed.

    Examples
    --------
    >>> better, worse = np.full(100, 0.5), np.linspace(-1, 1, 100)
    >>> beats(better, worse, 2.0), beats(worse, better, 2.0)
    (True, False)
    """
    gains = others**2 - errors**2
    return float(np.mean(gains)) > deviations * float(np.std(gains)) / math.sqrt(len(gains))


@dataclass(frozen=True)
class Scales:
    """Centres and scales of the columns and of the labels; factor 0 leaves a column out.

    Parameters
    ----------
    mean, factor : ndarray (d,)
        Inputs become ``(x - mean) * factor``.
    label_mean, label_scale : float
        Labels become ``(y - label_mean) / label_scale``.
    """

    mean: np.ndarray
    factor: np.ndarray
    label_mean: float
    label_scale: float

    def inputs(self, X: np.ndarray, dtype: Any) -> np.ndarray:
        """Standardized rows."""
        rows: np.ndarray = (X.astype(np.float64, copy=False) - self.mean) * self.factor
        return rows.astype(dtype, copy=False)


def split_data(
    X: np.ndarray, y: np.ndarray, *, owner: str, chunk_size: int | None, rng: np.random.Generator
) -> tuple[Scales, SplitData]:
    """Scales of the data, and its two parts: a random fifth of the rows is held out.

    Parameters
    ----------
    X, y : ndarray (n, d), (n,)
        Training data.
    owner : str
        Name of the learner, for the warning of constant columns.
    chunk_size : int, optional
        Rows that are treated at a time; chosen by size if None.
    rng : Generator
        Draws the rows to hold out.
    """
    d = X.shape[1]
    blocks = row_blocks(len(y), chunk_size or chunk_rows(d))
    moments = InputMoments(d)
    # In float64 whatever the precision of X: the same numbers give the same network.
    moments.add((X[part].astype(np.float64, copy=False), y[part]) for part in blocks)
    check_spread(moments.scale, owner)
    varies = moments.scale > 0
    factor = np.divide(1.0, moments.scale, out=np.zeros(d), where=varies)
    scales = Scales(moments.mean, factor, moments.label_mean, moments.label_scale or 1.0)
    learned, held = held_out_rows(len(y), rng)
    labels = ((y - scales.label_mean) / scales.label_scale).astype(np.float32)

    def inputs(rows: np.ndarray) -> np.ndarray:
        made = np.empty((len(rows), d), np.float32)
        for part in row_blocks(len(rows), chunk_size or chunk_rows(d)):
            made[part] = scales.inputs(X[rows[part]], np.float32)
        return made

    return scales, SplitData(inputs(learned), labels[learned], inputs(held), labels[held])

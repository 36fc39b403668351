r"""What is measured of a fitted learner: overlaps with the hidden directions, errors on new data.

A metric is a function under ``@OF_DIRECTIONS.add("name")`` or ``@OF_PREDICTIONS.add("name")``; the
simulations then report it. With orthonormal hidden directions :math:`W^\star` (r, d), found
directions :math:`\hat W` (k, d) and predictions :math:`\hat f`,

.. math::
    M = \hat W W^{\star\top}, \qquad
    \mathrm{test\_mse} = \mathbb{E}(y - \hat f)^2, \qquad
    \mathrm{excess\_mse} = \mathbb{E}(g - \hat f)^2 = \mathrm{test\_mse} - \Delta.     [ME-1]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.errors import BadData, OutOfRegime
from ..base.registry import Registry
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled
from ..targets.symmetries import MAX_DIRECTIONS, label_symmetries
from ..targets.target import Target
from . import depth_metrics

OF_DIRECTIONS = Registry("metric of directions")
"""Functions ``(target, directions (k, d), W_star (r, d)) -> array`` or None where it has no
meaning; they carry their ``dims``."""
OF_PREDICTIONS = Registry("metric of predictions")
"""Functions ``(target, y, clean, predicted) -> loss of each row`` or None; the mean is reported.
Those that are ``of_labels`` see the labels that a learner predicts, where it tells them apart from
its predictions."""

_CHUNK_NUMBERS = 2**22  # numbers of X in one chunk of fresh samples: 32 MB


class Measured(NamedTuple):
    """A measured quantity: its dimensions, its value and the standard error of the measurement."""

    dims: tuple[str, ...]
    value: Any
    error: Any


class Predictor(NamedTuple):
    """Functions from inputs (rows, d) to predictions and, where they differ, to labels (rows,)."""

    predict: Callable[[np.ndarray], Any]
    predict_label: Callable[[np.ndarray], Any] | None = None


# ---- directions


def _over(*dims: str) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        function.dims = dims
        return function

    return mark


@OF_DIRECTIONS.add("overlap")
@_over("direction", "direction2")
def overlap(target: Sampled, directions: np.ndarray, W_star: np.ndarray) -> np.ndarray:
    """Overlap matrix M (k, r) of found and hidden directions, signed [ME-1].

    Examples
    --------
    >>> overlap(Target("z1*z2"), np.array([[0.0, -0.5, 0.0]]), np.eye(2, 3))
    array([[ 0. , -0.5]])
    """
    return np.asarray(directions, np.float64) @ np.asarray(W_star, np.float64).T


@OF_DIRECTIONS.add("overlap_aligned")
@_over("direction", "direction2")
def overlap_aligned(
    target: Sampled, directions: np.ndarray, W_star: np.ndarray
) -> np.ndarray | None:
    """Overlap matrix up to the symmetries of the target: of all M S the one of largest trace.

    Hidden directions W_star and S W_star give the same labels if g(S z) = g(z), so no algorithm
    can tell them apart. None unless there are as many found directions as hidden ones, and few
    enough to know the symmetries.

    Examples
    --------
    >>> overlap_aligned(Target("z1*z2"), np.array([[0.0, -0.5], [-0.6, 0.0]]), np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.6]])
    """
    M = overlap(target, directions, W_star)
    if not isinstance(target, Target) or len(M) != target.r or target.joint.r > MAX_DIRECTIONS:
        return None
    try:
        return label_symmetries(target).align(M)
    except OutOfRegime:
        return None


@OF_DIRECTIONS.add("cosine2")
@_over("direction2")
def cosine2(target: Sampled, directions: np.ndarray, W_star: np.ndarray) -> np.ndarray:
    """Squared cosines (r,) of the angles between the found and the hidden subspace, largest first.

    Their mean is the overlap Tr(P P*)/r of the projectors. With fewer found directions than
    hidden ones the last cosines are 0.

    Examples
    --------
    >>> cosine2(Target("z1*z2"), np.array([[3.0, 0.0, 4.0]]), np.eye(2, 3)).round(12)
    array([0.36, 0.  ])
    """
    _, sizes, rows = np.linalg.svd(np.asarray(directions, np.float64), full_matrices=False)
    # A direction that is zero or repeats another spans nothing.
    rows = rows[sizes > 1e-12 * sizes.max(initial=0.0)]
    found = np.zeros(len(W_star))
    cosines = np.linalg.svd(rows @ np.asarray(W_star, np.float64).T, compute_uv=False)
    found[: len(cosines)] = np.minimum(cosines, 1.0) ** 2
    return found


@OF_DIRECTIONS.add("row_overlap")
@_over()
def row_overlap(target: Sampled, directions: np.ndarray, W_star: np.ndarray) -> np.ndarray | None:
    """Root mean square cosine between rows and the space of many hidden directions [ME-2].

    None for targets with few directions, which have an overlap matrix.
    """
    if isinstance(target, Target):
        return None
    return depth_metrics.row_overlap(directions, W_star).value[0]


# ---- predictions


@OF_PREDICTIONS.add("test_mse")
def test_mse(target: Sampled, y: np.ndarray, clean: np.ndarray, predicted: np.ndarray) -> Any:
    """Squared distance from the label [ME-1]."""
    return (y - predicted) ** 2


@OF_PREDICTIONS.add("excess_mse")
def excess_mse(target: Sampled, y: np.ndarray, clean: np.ndarray, predicted: np.ndarray) -> Any:
    """Squared distance from the conditional mean of the label [ME-1]."""
    return (clean - predicted) ** 2


def _of_labels(function: Any) -> Any:
    function.of_labels = True
    return function


@OF_PREDICTIONS.add("zero_one_error")
@_of_labels
def zero_one_error(target: Sampled, y: np.ndarray, clean: np.ndarray, predicted: np.ndarray) -> Any:
    """Whether the predicted label is the wrong one; None for outputs of infinitely many values.

    The labels are those of ``predict_label`` where a learner has it: ``BayesAMP`` takes the most
    probable one, as the theory "bayes_amp" does. Else they are the values of the output that are
    nearest to the predictions, which is the same for two values. The mean of three or more may be
    nearest to a value that is hardly possible.
    """
    if not isinstance(target, Target) or target.channel.kind != "discrete":
        return None
    values = np.array([atom.value for atom in target.channel.atoms])
    middles = (values[1:] + values[:-1]) / 2
    return (np.searchsorted(middles, predicted) != np.searchsorted(middles, y)).astype(float)


# ---- all of them


def measure_directions(target: Sampled, directions: Any, W_star: np.ndarray) -> dict[str, Measured]:
    """Every metric of the found directions (k, d).

    Examples
    --------
    >>> found = measure_directions(Target("z"), np.array([[-0.5, 0.0]]), np.eye(1, 2))
    >>> {name: m.value.tolist() for name, m in sorted(found.items())}
    {'cosine2': [1.0], 'overlap': [[-0.5]], 'overlap_aligned': [[-0.5]]}
    """
    target = without_inputs(target)
    rows = np.atleast_2d(np.asarray(to_numpy(directions), np.float64))
    if rows.ndim != 2 or rows.shape[1] != W_star.shape[1]:
        raise BadData(f"directions must have the shape (k, {W_star.shape[1]}), got {rows.shape}")
    found = {}
    for name in OF_DIRECTIONS:
        value = OF_DIRECTIONS[name](target, rows, W_star)
        if value is not None:
            found[name] = Measured(OF_DIRECTIONS[name].dims, value, np.zeros_like(value))
    return found


def measure_predictions(
    target: Sampled,
    predict: Callable[[np.ndarray], Any],
    *,
    predict_label: Callable[[np.ndarray], Any] | None = None,
    d: int,
    test_samples: int = 4096,
    seed: int = 0,
    replicate: int = 0,
    dtype: Any = np.float64,
) -> dict[str, Measured]:
    """Every metric of the predictions on fresh samples, with its standard error.

    Parameters
    ----------
    target : Target or hierarchical target
        What the predictions are about.
    predict : callable
        Inputs (rows, d) to predictions (rows,).
    predict_label : callable, optional
        The same for labels, if they are not the values nearest to the predictions.
    d, test_samples : int
        Input dimension, number of fresh samples.
    seed, replicate : int
        Address of the data that the predictor was fitted on; the fresh samples have the same
        hidden directions and come from a stream of their own (role ``"test"``).
    dtype : dtype
        Of the inputs that `predict` sees.

    Notes
    -----
    Samples are read in chunks, sums are accumulated in float64. The standard error is that of a
    mean of independent rows.

    Examples
    --------
    >>> found = measure_predictions(Target("z", noise=0.5), lambda X: np.zeros(len(X)), d=3)
    >>> abs(found["excess_mse"].value - 1.0) < 5 * found["excess_mse"].error
    True
    """
    address: dict[str, Any] = {"seed": seed, "replicate": replicate, "dtype": dtype}
    both = [Predictor(predict, predict_label)]
    return measure_many_predictions(target, both, d=d, test_samples=test_samples, **address)[0]


def measure_many_predictions(
    target: Sampled,
    predictors: Sequence[Predictor],
    *,
    d: int,
    test_samples: int = 4096,
    seed: int = 0,
    replicate: int = 0,
    dtype: Any = np.float64,
) -> list[dict[str, Measured]]:
    """The same for many predictors on the same fresh samples.

    Parameters
    ----------
    target : Target or hierarchical target
        What the predictions are about.
    predictors : sequence of Predictor
        What is measured.
    d, test_samples, seed, replicate, dtype : optional
        As of :func:`measure_predictions`.
    """
    if (rows := None if target.inputs is None else target.inputs.rows_of("test")) is not None:
        test_samples = min(test_samples, rows)
    chunk = max(1, min(test_samples, _CHUNK_NUMBERS // d))
    plain = without_inputs(target)
    clean_labels = target.realization(d, seed=seed, replicate=replicate)
    sums: list[dict[str, np.ndarray]] = [{} for _ in predictors]
    address: dict[str, Any] = {"seed": seed, "replicate": replicate, "dtype": dtype}
    for part in target.stream(test_samples, d, chunk=chunk, role="test", **address):
        y = part.y.astype(np.float64)
        clean = clean_labels.label(part.X)[0] if target.noise or clean_labels.latent else y
        for one, total in zip(predictors, sums, strict=True):
            predicted = _checked_predictions(one.predict(part.X), part.y.shape)
            labels = predicted
            if one.predict_label is not None:
                labels = _checked_predictions(one.predict_label(part.X), part.y.shape)
            for name in OF_PREDICTIONS:
                metric = OF_PREDICTIONS[name]
                answers = labels if getattr(metric, "of_labels", False) else predicted
                losses = metric(plain, y, clean, answers)
                if losses is not None:
                    total.setdefault(name, np.zeros(2))
                    total[name] += np.sum(losses), np.sum(np.square(losses))
    return [{name: _mean(loss, test_samples) for name, loss in total.items()} for total in sums]


def _checked_predictions(predicted: Any, shape: tuple[int, ...]) -> np.ndarray:
    predicted = np.asarray(to_numpy(predicted), np.float64)
    if predicted.shape != shape:
        raise BadData(f"predictions have the shape {predicted.shape}, not {shape}")
    if not np.isfinite(predicted).all():
        raise BadData("some predictions on fresh samples are not finite")
    return predicted


def _mean(total: np.ndarray, samples: int) -> Measured:
    """Mean of independent losses and its standard error, from their sum and sum of squares."""
    mean, square = float(total[0]) / samples, float(total[1]) / samples
    spread = max(square - mean**2, 0.0) / max(samples - 1, 1)
    return Measured((), mean, math.sqrt(spread) if math.isfinite(spread) else math.nan)

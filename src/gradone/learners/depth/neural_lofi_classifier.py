"""Layers of label-weighted spectral filters, for classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from ...base.arrays import check_new, like, to_numpy
from ...base.cost import Cost
from ...base.errors import BadData
from ...targets.sampled import whole_number
from .._classes import MarginLearner, decided
from .._found import orthonormal_rows
from .._memory import layers_of
from .._registry import LEARNERS
from .._standardize import chunk_rows, row_blocks
from ._data import Scales, split_data
from ._lofi_learner import FilterLearner, column_weights
from ._lofi_scores import class_scores
from ._lofi_stack import StackModel, chosen_stack


@LEARNERS.add("neural_lofi_classifier")
class NeuralLoFiClassifier(FilterLearner, MarginLearner, BaseEstimator):
    r"""Classifier whose layers keep what correlates with the class at low degree.

    As ``NeuralLoFi``, with one moment [NL-0] for each class against the rest, and one readout with
    as many outputs, fitted by squares.

    Parameters
    ----------
    layers : int
        Largest number of layers of filters.
    lift : {"auto", "inputs", "relu"}
        ``"inputs"``: filters of whitened inputs, then of products of them. ``"relu"``, for images:
        every layer filters random ramps of those below it, without whitening. ``"auto"``:
        ``"inputs"`` where the inputs have about as many independent directions as columns.
    keep : int, optional
        Filters of a layer: of the first one for ``"inputs"``. None: those beyond the edges of the
        bulk, and 50 for ``"relu"``, but at least 10 for each class.
    n_features : int
        Random ramps of a layer, for ``"relu"``.
    readout_features : int
        Random ramps of a readout. For ``"relu"`` and at most 4000 rows there are infinitely
        many: kernel ridge regression.
    rounds : int
        Rounds of the correction of the first layer; 0: none.
    chunk_size : int, optional
        Rows that are treated at a time when classes are predicted; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the rows held out, of the folds and of the ramps.

    Attributes
    ----------
    classes_ : array (c,)
        The classes, sorted.
    n_layers_ : int
        Layers of filters that are used; 0 if the inputs themselves predict best.
    filters_ : list of array (k, P)
        Filters of every layer.
    eigenvalues_, ratios_ : list of ndarray (s, P)
        For every layer and class (one for two of them) the eigenvalues of [NL-0], and the same over
        the end of the bulk on their side, the furthest outside first. For ``"relu"`` only those
        that are kept, and the bulk is that of labels in random order.
    edges_ : list of ndarray (s, 2)
        Ends of the bulk, lower and upper.
    residual_shares_ : ndarray (rounds, s)
        Share of the variance of the labels that is not explained, after each round of the
        correction.
    probe_scores_ : ndarray (layers + 1,)
        Accuracy of a linear fit on the features of every depth from 0, on the rows held out.
    depth_scores_ : ndarray (layers + 1,)
        One minus the mean square error of the full readout over the variance of the labels, on the
        rows held out, by which the depth was chosen.
    validation_accuracy_ : float
        Accuracy on the rows held out, before these were fitted as well.
    weights_, directions_ : array (k, d)
        Filters of the first layer on the inputs (for ``"relu"`` their linear parts, for each class
        that of first order and then those of second order, the largest first), and orthonormal rows
        with their span; of the inputs themselves if there is no layer.
    diagnosis_ : str
        What was found and how well it predicts, in words.
    mean_, scale_ : array (d,)
        Centre and scale of the features.

    Notes
    -----
    Rows held out choose the depth: where filters do not help, random ramps of the inputs predict.
    For images, whose pixels are correlated, set ``lift="relu"`` or leave it at ``"auto"``; columns
    of one unit keep their own spread.

    Cost: for ``"relu"`` about 8 k n n_features operations for each layer and n^3 for a kernel
    readout. Memory beyond X: a copy in float32, n n_features numbers, and n^2 for the kernel.

    References
    ----------
    dandi2026lofi

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("sign(z1*z2)").sample(n=2000, d=20, seed=0)
    >>> learner = NeuralLoFiClassifier(random_state=0).fit(s.X, s.y)
    >>> learner.directions_.shape, learner.validation_accuracy_ > 0.9
    ((2, 20), True)
    """

    cites = ("dandi2026lofi",)
    cost = Cost(
        "2 n d^2 + 48 n (300 + k^2/2)^2 + 2 n readout_features^2 operations for k directions",
        lambda s: 3e9 + s.n * (2 * s.d**2 + 48 * 450**2 + 8 * s.readout_features**2),
        layers_of,
    )
    numerics = 2  # Gaussian inputs of many rows and columns are corrected as well
    _scales: Scales
    _model: StackModel

    def __init__(
        self,
        layers: int = 3,
        *,
        lift: str = "auto",
        keep: int | None = None,
        n_features: int = 1200,
        readout_features: int = 800,
        rounds: int = 5,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.layers = layers
        self.lift = lift
        self.keep = keep
        self.n_features = n_features
        self.readout_features = readout_features
        self.rounds = rounds
        self.chunk_size = chunk_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the filters and fit the readout.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Classes: numbers or text.

        Returns
        -------
        estimator
            Itself.
        """
        X, which = self._class_numbers(X, y)
        self._check_settings()
        count = len(self.classes_)
        rng = np.random.default_rng(self.random_state)
        self._scales, data = split_data(
            to_numpy(X),
            which.astype(np.float64),
            owner=type(self).__name__,
            chunk_size=self.chunk_size,
            rng=rng,
        )
        settings = self._settings(data.X)
        if settings.relu and self.keep is None:
            settings = replace(settings, keep=max(settings.keep or 0, 10 * count))
        weights = column_weights(self._scales, settings.relu)
        if weights is not None:
            self._scales = replace(self._scales, factor=self._scales.factor * weights)
            for rows in (data.X, data.X_held):
                rows *= weights.astype(rows.dtype)
        learned, held = (self._numbers(part) for part in (data.y, data.y_held))
        both = np.concatenate([learned, held])
        chosen = chosen_stack(
            (data.X, _wanted(learned, count), class_scores(learned, count)),
            (data.X_held, _wanted(held, count)),
            class_scores(both, count),
            settings,
            rng,
        )
        self._model = chosen.model
        self._report(X, chosen)
        wanted = _wanted(held, count)
        self.probe_scores_ = like(X, np.array([_accuracy(f, held) for f in chosen.probes]))
        spread = float(np.var(_wanted(both, count), axis=0).mean())
        self.depth_scores_ = like(X, 1 - np.array(chosen.depth_errors) / spread)
        self.validation_accuracy_ = _accuracy(chosen.errors + wanted, held)
        rows = chosen.model.weights[0]
        self.weights_ = like(X, rows)
        self.directions_ = like(X, orthonormal_rows(rows))
        self.mean_ = like(X, self._scales.mean)
        factor = self._scales.factor
        self.scale_ = like(X, np.divide(1.0, factor, out=np.ones(len(factor)), where=factor > 0))
        self.diagnosis_ = (
            f"{self._told(settings.relu)} Accuracy {self.validation_accuracy_:.4g} on "
            f"{len(held)} held-out rows, before these were fitted as well."
        )
        return self

    def _numbers(self, y: np.ndarray) -> np.ndarray:
        """Numbers of the classes, from standardized ones."""
        scales = self._scales
        return np.rint(y * scales.label_scale + scales.label_mean).astype(int)

    def hidden(self, X: Any, layer: int = 1) -> Any:
        """Features of a layer of filters (n, k), those of the first behind them.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        layer : int
            The layer, from 1.
        """
        _, X = check_new(self, X, method="hidden")
        if whole_number("layer", layer) > self.n_layers_:
            raise BadData(f"layer must be from 1 to {self.n_layers_}, got {layer}")
        rows = self._scales.inputs(to_numpy(X), to_numpy(X).dtype)
        return like(X, self._model.hidden(rows, layer))

    def _outputs(self, X: Any, method: str) -> tuple[Any, np.ndarray]:
        """Checked inputs and their outputs."""
        _, X = check_new(self, X, method=method)
        rows = to_numpy(X)
        width = self.n_features + self.readout_features + rows.shape[1]
        blocks = row_blocks(len(rows), self.chunk_size or chunk_rows(width))
        parts = [
            self._model.outputs(self._scales.inputs(rows[part], rows.dtype)) for part in blocks
        ]
        return X, np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def _wanted(which: np.ndarray, count: int) -> np.ndarray:
    """Labels -1 and 1 of the readout (n, 1 or count)."""
    if count == 2:
        return 2.0 * which[:, None] - 1.0
    return 2.0 * (which[:, None] == np.arange(count)) - 1.0


def _accuracy(outputs: np.ndarray, which: np.ndarray) -> float:
    return float(np.mean(decided(outputs) == which))

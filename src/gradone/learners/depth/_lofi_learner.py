"""What the regressor and the classifier of filters share: parameters, and what they report."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import like
from ...base.errors import BadData, number_of
from ...targets.sampled import whole_number
from ..giant._moved_features import one_of
from ._data import Scales
from ._lofi_stack import Chosen, Settings

_KEPT = 50  # filters of a layer of random features
_ISOTROPIC = 0.5  # share of the effective dimensions of white inputs that makes inputs whitenable
_ONE_UNIT = 30.0  # largest spread of a column over the median one, if they have one unit


class FilterLearner:
    """Parameters of layers of filters, and attributes that say what was found.

    A learner has the parameters of ``NeuralLoFi``.
    """

    layers: int
    lift: str
    keep: int | None
    n_features: int
    readout_features: int
    rounds: int
    chunk_size: int | None

    def _settings(self, X: np.ndarray) -> Settings:
        """How filters are found, for standardized rows."""
        relu = self.lift == "relu" or (self.lift == "auto" and not _is_nearly_white(X))
        return Settings(
            layers=self.layers,
            relu=relu,
            keep=self.keep if self.keep is not None or not relu else _KEPT,
            n_features=self.n_features,
            readout_features=self.readout_features,
            rounds=self.rounds,
        )

    def _report(self, X: Any, chosen: Chosen) -> None:
        """Set the attributes that say what was found."""
        layers = chosen.model.stack.layers
        self.n_layers_ = chosen.model.depth
        self.filters_ = [like(X, layer.filters) for layer in layers]
        self.eigenvalues_ = [np.array([s.values for s in layer.spectra]) for layer in layers]
        self.edges_ = [np.array([s.edges for s in layer.spectra]) for layer in layers]
        self.ratios_ = [np.array([s.ratios for s in layer.spectra]) for layer in layers]
        shares = getattr(layers[0], "shares", np.zeros((0, 1))) if layers else np.zeros((0, 1))
        self.residual_shares_ = like(X, shares)

    def _told(self, relu: bool) -> str:
        """What was found, in words."""
        if not self.n_layers_:
            return (
                "No layer of filters predicts the rows held out better than the inputs themselves."
            )
        found = [rows.shape[0] for rows in self.filters_]
        counts = ", then ".join(str(count) for count in found if count)
        kind = "random features" if relu else "the inputs and their products"
        layers = number_of(self.n_layers_, "layer")
        return f"{layers} of filters of {kind}. Number of filters: {counts}."

    def _check_settings(self) -> None:
        whole_number("layers", self.layers)
        one_of("lift", self.lift, ("auto", "inputs", "relu"))
        for name in ("n_features", "readout_features"):
            if whole_number(name, getattr(self, name)) < 3:
                raise BadData(f"{name} must be at least 3, got {getattr(self, name)}")
        whole_number("rounds", self.rounds, least=0)
        if self.keep is not None:
            whole_number("keep", self.keep)
        if self.chunk_size is not None:
            whole_number("chunk_size", self.chunk_size)


def column_weights(scales: Scales, relu: bool) -> np.ndarray | None:
    """Factors (d,) that give standardized columns of one unit their own spread back.

    Pixels of an image that hardly vary are no more important than the others; columns of different
    units are.
    """
    spread = np.divide(
        1.0, scales.factor, out=np.zeros_like(scales.factor), where=scales.factor > 0
    )
    spread /= spread.max() or 1.0
    if not relu or 1.0 > _ONE_UNIT * np.median(spread[spread > 0]):
        return None
    weights: np.ndarray = spread / np.sqrt(np.mean(spread[spread > 0] ** 2))
    return weights


def _is_nearly_white(X: np.ndarray) -> bool:
    """Whether the variance of standardized rows is spread over about as many directions as can be.

    Its effective dimension is (tr S)^2/tr S^2, which is 1/(1/d + 1/n) for white inputs.
    """
    n, d = len(X), int((X.std(axis=0) > 0).sum())
    gram = X.T @ X if X.shape[1] < n else X @ X.T
    total = float(np.sum(gram.astype(np.float64) ** 2))
    if not d or not total:
        return True  # nothing varies, which the first stage says
    return float(np.trace(gram)) ** 2 / total * (1 / d + 1 / n) > _ISOTROPIC

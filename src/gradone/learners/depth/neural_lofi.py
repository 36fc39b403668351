"""Layers of label-weighted spectral filters: neural low-degree filtering."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...base.arrays import like
from ...base.cost import Cost
from .._found import orthonormal_rows
from .._memory import layers_of
from .._registry import LEARNERS
from ._data import SplitData
from ._learner import DeepLearner
from ._lofi_learner import FilterLearner, column_weights
from ._lofi_scores import number_scores
from ._lofi_stack import StackModel, chosen_stack


@LEARNERS.add("neural_lofi")
class NeuralLoFi(FilterLearner, DeepLearner):
    r"""Network whose layers keep what correlates with the label at low degree, without training.

    A layer lifts the features h below it to :math:`\phi(h)` and keeps the eigenvectors of

    .. math:: M_T = \frac1n \sum_\mu T(y_\mu)\, \phi_\mu \phi_\mu^\top    [NL-0]

    beyond the ends of its bulk, for two functions T of the label: Gaussian scores of the ranks, and
    their squares. The first layer takes :math:`\phi` = whitened inputs, the second products of
    degree one and two of the directions found; each layer above the first also has the fit of the
    label by the layer below it, out of fold, as a feature. What is already explained is taken off
    the labels and its exact mean put back [LW-8], which lowers the noise and finds directions with
    fewer samples. A ridge fit on random ramps reads the last layer; how many layers are used is
    chosen on rows held out, and then all rows are fitted. With rows enough, layers above the first
    may instead be branches of the directions, improved by steps on residuals [LW-6] and read by
    their link, if that predicts the rows held out better.

    Parameters
    ----------
    layers : int
        Largest number of layers of filters.
    lift : {"auto", "inputs", "relu"}
        ``"inputs"``: as above. ``"relu"``, for images: every layer filters random ramps of those
        below it, without whitening. ``"auto"``: ``"inputs"`` where the inputs have about as
        many independent directions as columns.
    keep : int, optional
        Filters of a layer: of the first one for ``"inputs"``. None: those beyond the edges of the
        bulk, and 50 for ``"relu"``, shared by the functions T.
    n_features : int
        Random ramps of a layer, for ``"relu"``.
    readout_features : int
        Random ramps of a readout. For ``"relu"`` and at most 4000 rows there are infinitely
        many: kernel ridge regression.
    rounds : int
        Rounds of the correction of the first layer; 0: none.
    chunk_size : int, optional
        Rows that are treated at a time when labels are predicted; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the rows held out, of the folds and of the ramps.

    Attributes
    ----------
    n_layers_ : int
        Layers of filters that are used; 0 if the inputs themselves predict best.
    filters_ : list of array (k, P)
        Filters of every layer. Those of the first are directions, in units of the standardized
        features. A layer that only adds the fit of the one below has none; branches are rows of
        coefficients of whitened products.
    eigenvalues_, ratios_ : list of ndarray (s, P)
        For every layer and function T of the label, the eigenvalues of [NL-0] after the correction,
        and the same over the end of the bulk on their side; the furthest outside first. Empty for
        layers of branches, which are no eigenvectors.
    edges_ : list of ndarray (s, 2)
        Ends of the bulk, lower and upper.
    residual_shares_ : ndarray (rounds, s)
        Share of the variance of T(y) that is not explained, after each round of the correction;
        empty where nothing was found or the inputs are far from Gaussian.
    probe_scores_ : ndarray (depths,)
        :math:`R^2` of a linear fit on the features of every depth from 0, on the rows held out.
    depth_scores_ : ndarray (depths,)
        The same of the full readout, by which the depth was chosen.
    weights_, directions_ : array (k, d)
        Filters of the first layer on the inputs, and orthonormal rows with their span; of the
        inputs themselves if there is no layer.
    kernel_ : bool
        Whether ridge regression with the quadratic kernel [LW-7] predicts alone.
    kernel_share_ : float
        Share of the kernel in what is predicted. It is 1 if on the rows held out the kernel is
        better than the filters by two standard errors, or these are not better than the mean label.
        If neither is clearly better, but a mixture is better than the filters by two standard
        errors, it is the share with the smallest error; else 0.
    constant_ : bool
        Whether the mean label is predicted, because nothing is better than that.
    validation_mse_, constant_mse_ : float
        Mean square error on the rows held out, of what predicts (before it was fitted to all rows)
        and of the mean label. The first is a little too small, since these rows have chosen.
    diagnosis_ : str
        What was found and how well it predicts, in words.
    history_ : xarray.Dataset
        Empty: nothing is trained step by step.
    n_iter_ : int
        0, for the same reason.
    mean_, scale_ : array (d,)
        Centre and scale of the features.

    Notes
    -----
    A feature of the next level is found if some T(y) is correlated with it or with its square. A
    direction of a target :math:`g(h)`, h a sum of D functions of directions, shows with n of order
    d D samples, times the share of the label that is not yet explained. Without a direction that
    stands out there is no filter: then random ramps of the inputs, or the quadratic kernel,
    predict. Near the threshold filters and kernel may be mixed.

    The correction is exact for Gaussian inputs; the rows are asked whether they are near enough to
    that, and it is left out if not.

    Cost: twice about n d^2 + 24 n (300 + k^2/2)^2 + n readout_features^2 operations, k the number
    of directions. Memory beyond X: a copy in float32, the features of a layer, and blocks of rows.

    References
    ----------
    dandi2026lofi, dandi2025depth

    Examples
    --------
    >>> import gradone as gd
    >>> target = gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> s = target.sample(n=1500, d=25, seed=0)
    >>> learner = NeuralLoFi(random_state=0).fit(s.X, s.y)
    >>> learner.directions_.shape, learner.validation_mse_ < 0.25 * learner.constant_mse_
    ((5, 25), True)
    """

    cites = ("dandi2026lofi", "dandi2025depth")
    cost = Cost(
        "2 n d^2 + 48 n (300 + k^2/2)^2 + 2 n readout_features^2 operations for k directions",
        lambda s: 3e9 + s.n * (2 * s.d**2 + 48 * 450**2 + 8 * s.readout_features**2),
        layers_of,
    )

    numerics = 4  # near the threshold the quadratic kernel is mixed in
    _falls_back_on_kernel = True
    _refits = True
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

    @property
    def _layers(self) -> tuple[int, ...]:
        return tuple(len(layer.weights) for layer in self._model.stack.layers)

    def _learned(
        self, data: SplitData, X: Any, y: Any, rng: np.random.Generator
    ) -> tuple[StackModel, np.ndarray, str]:
        settings = self._settings(data.X)
        weights = column_weights(self._scales, settings.relu)
        if weights is not None:
            self._scales = replace(self._scales, factor=self._scales.factor * weights)
            for rows in (data.X, data.X_held):
                rows *= weights.astype(rows.dtype)
        labels = [part[:, None].astype(np.float64) for part in (data.y, data.y_held)]
        chosen = chosen_stack(
            (data.X, labels[0], number_scores(data.y.astype(np.float64))),
            (data.X_held, labels[1]),
            number_scores(np.concatenate(labels)[:, 0]),
            settings,
            rng,
        )
        self._report(X, chosen)
        spread = float(np.var(labels[1])) or 1.0
        probes = [1 - float(np.mean((f - labels[1]) ** 2)) / spread for f in chosen.probes]
        self.probe_scores_ = like(X, np.array(probes))
        self.depth_scores_ = like(X, 1 - np.array(chosen.depth_errors) / spread)
        rows = chosen.model.weights[0]
        self.directions_ = like(X, orthonormal_rows(rows))
        return chosen.model, chosen.errors[:, 0], self._told(settings.relu)

    def _check_parameters(self) -> None:
        self._check_settings()

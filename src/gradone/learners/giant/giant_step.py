"""A few giant gradient steps on the first layer, then a ridge readout on fresh samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...base.cost import Cost
from ...base.errors import BadData
from ...targets.activation import Activation
from ...targets.sampled import whole_number
from .._feature_map import random_rows
from .._memory import features_of
from .._registry import LEARNERS
from ..lazy._frozen_features import check_number
from ._gradient import FirstLayer
from ._moved_features import MovedFeatures, check_flag, one_of

_READOUTS = ("gaussian", "signs", "ones")
_RESCALED = (None, "rows", "rms")
_LOSSES = ("square", "logistic")


@LEARNERS.add("giant_step")
class GiantStep(MovedFeatures):
    r"""Two-layer network whose first layer makes a few steps with large batches.

    Of :math:`f(x) = \frac1p \sum_i a_i \sigma(\langle w_i, x\rangle + b_i)` the first layer makes T
    steps, each on a batch of :math:`n_B` samples,

    .. math:: w_i \leftarrow w_i + \frac{s\, a_i}{n_B} \sum_\mu (y_\mu - f(x_\mu))\,
              \sigma'(\langle w_i, x_\mu\rangle + b_i)\, x_\mu, \qquad
              s = \texttt{step\_size}\; d^{(\ell - 1)/2},    [GS-3]

    and then the second layer is fitted anew by ridge regression on samples that no step has seen.

    Parameters
    ----------
    width : int
        Number p of neurons; even for a symmetric initialization.
    steps : int
        Number T of gradient steps.
    activation : str
        :math:`\sigma`, a function of ``z``.
    step_size : float
        s for leap 1, with f as above: its gradient times the width. Of order one.
    loss : {"square", "logistic"}
        Loss of the steps. ``"logistic"``, for labels -1 and 1, has :math:`(y - \tanh(f/2))/2` in
        place of y - f in [GS-3]; labels are not standardized, and the predictions of the readout,
        which stays a ridge regression, estimate the mean label.
    leap : int
        Order :math:`\ell` of the first Hermite tensor of the target that is not zero: it takes
        :math:`n_B` of order :math:`d^\ell` and a step that grows as in [GS-3].
    batch_size : int, optional
        :math:`n_B`. None: the steps share half of the samples. The rest fits the readout.
    reuse : bool
        Every step uses the same batch; otherwise each has its own.
    readout : "gaussian", "signs", "ones" or array (width,)
        a during the steps: standard Gaussian, 1, -1, 1, ..., all 1, or given.
    symmetric : bool
        The second half of the neurons starts like the first with opposite a, so that f = 0.
    init : "random", "gaussian" or array (width, d)
        First weights: uniform on the unit sphere, :math:`N(0, I/d)`, or given; of the first half
        of the neurons if `symmetric`, and so is a given `readout`.
    bias_scale : float
        Standard deviation of the Gaussian biases b.
    preprocess : bool
        Take off the labels their mean and linear part :math:`\langle\beta, x\rangle`,
        :math:`\beta = \overline{y x}`, both of the rows of the steps, and give them back to the
        predictions: the first order that is left is the second.
    rescale : None, "rows" or "rms"
        Before the readout: leave the weights as they are, normalize every row, or divide all by
        the root mean square of their norms.
    redraw_bias : bool
        Before the readout: draw new standard Gaussian biases.
    linear_part : bool
        The readout also sees the inputs x themselves, as d more features.
    ridge : float or None
        Of the readout: minimum of
        :math:`\sum_i (y_i - \langle a, \phi_i\rangle/\sqrt p)^2 + \lambda |a|^2`. None: chosen by
        the error on every fifth row of the readout, then all of them are fitted.
    fit_intercept : bool
        Whether the readout has a free constant.
    standardize : bool
        Centre and scale inputs and labels. False: the numbers are used as they are.
    shuffle : bool
        Take the rows in a random order; otherwise in theirs.
    keep_weights : bool
        Keep the weights after every step in ``weights_history_``.
    chunk_size : int, optional
        Rows that are treated at a time; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the weights, biases, second layer, and of the order of the rows.

    Attributes
    ----------
    weights_ : array (width, d)
        First layer, in units of the standardized features.
    directions_ : array (k, d)
        Orthonormal: leading directions of the change of the weights that the fresh samples of the
        readout confirm; noise passes with probability 1e-4.
    bias_, initial_readout_, readout_ : array (width,)
        Biases, second layer during the steps, and fitted readout.
    linear_ : array (d,)
        Coefficients of the inputs themselves, 0 unless `preprocess` or `linear_part`.
    intercept_ : float
        Constant of the readout.
    ridge_ : float
        The ridge that was used.
    train_mse_ : float
        Mean square error on the rows of the readout.
    history_ : xarray.Dataset
        Over `step`: ``train_mse`` before each step on its batch, ``gradient_norm``.
    weights_history_ : ndarray (steps, width, d), or None
        Weights after every step, if they were kept.
    n_iter_ : int
        Steps that were made.
    mean_, scale_ : array (d,)
        Centre and scale of the inputs; 0 and 1 without standardization.
    label_mean_, label_scale_ : float
        Centre and scale of the labels.

    Notes
    -----
    One step with n of order d finds one direction, that of :math:`\mathbb{E}[y x]`; each further
    step with fresh samples finds the directions that couple linearly to those found before: the
    staircase of ``gradone.analyze``. A target without linear part needs n of order
    :math:`d^\ell`. A term of degree m shows its last direction only if
    :math:`\mathbb{E}[\sigma(G+b)\mathrm{He}_m(G)]` does not vanish for all biases b: ReLU without
    bias misses m = 3, 5, ..., ``tanh`` without bias even m. ``gd.Student.for_target`` proposes
    parameters that climb.

    Cost of a step: 4 n_B d p operations, half of it for the first step of a symmetric network.
    Memory beyond X: a block of rows and p x p numbers; :meth:`fit_stream` never holds X.

    References
    ----------
    ba2022onestep, dandi2023giant

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1 + z1*z2").sample(n=9600, d=100, seed=0)
    >>> learner = GiantStep(width=200, steps=2, step_size=2.0, random_state=0).fit(s.X, s.y)
    >>> learner.directions_.shape, ((learner.directions_ @ s.W_star.T)**2).sum(0) > 0.8
    ((2, 100), array([ True,  True]))
    """

    cites = ("ba2022onestep", "dandi2023giant")
    cost = Cost(
        "4 n d width operations for the steps, n width^2 for the readout",
        lambda s: 4 * s.n * s.d * s.width * s.steps + s.n * s.width**2,
        lambda s: features_of(s, s.width),
    )

    def __init__(
        self,
        width: int = 512,
        *,
        steps: int = 1,
        activation: str = "relu(z)",
        step_size: float = 1.0,
        loss: str = "square",
        leap: int = 1,
        batch_size: int | None = None,
        reuse: bool = False,
        readout: Any = "gaussian",
        symmetric: bool = True,
        init: Any = "random",
        bias_scale: float = 1.0,
        preprocess: bool = False,
        rescale: str | None = None,
        redraw_bias: bool = False,
        linear_part: bool = False,
        ridge: float | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        shuffle: bool = True,
        keep_weights: bool = False,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.width = width
        self.steps = steps
        self.activation = activation
        self.step_size = step_size
        self.loss = loss
        self.leap = leap
        self.batch_size = batch_size
        self.reuse = reuse
        self.readout = readout
        self.symmetric = symmetric
        self.init = init
        self.bias_scale = bias_scale
        self.preprocess = preprocess
        self.rescale = rescale
        self.redraw_bias = redraw_bias
        self.linear_part = linear_part
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.shuffle = shuffle
        self.keep_weights = keep_weights
        self.chunk_size = chunk_size
        self.random_state = random_state

    def _first_layer(self, d: int, dtype: Any) -> FirstLayer:
        rng = self._rng
        drawn = self.width // 2 if self.symmetric else self.width
        weights = random_rows(self.init, drawn, d, rng)
        bias, a = self.bias_scale * rng.standard_normal(drawn), self._drawn_readout(drawn)
        if self.symmetric:
            weights, bias = np.concatenate([weights, weights]), np.concatenate([bias, bias])
            a = np.concatenate([a, -a])
        return FirstLayer(
            Activation(self.activation),
            weights.astype(dtype),
            bias.astype(dtype),
            a,
            mirrored=self.symmetric,
            logistic=self.loss == "logistic",
        )

    def _drawn_readout(self, count: int) -> np.ndarray:
        if not isinstance(self.readout, str):
            return readout_values(self.readout, count)
        if self.readout == "gaussian":
            return self._rng.standard_normal(count)
        if self.readout == "signs":
            return np.where(np.arange(count) % 2, -1.0, 1.0)
        return np.ones(count)

    def _moved(self, layer: FirstLayer, downhill: np.ndarray) -> FirstLayer:
        d = layer.weights.shape[1]
        step = self.step_size * d ** ((self.leap - 1) / 2)
        weights = (layer.weights + step * downhill).astype(layer.weights.dtype)  # [GS-3]
        return replace(layer, weights=weights, mirrored=False)

    def _finished(self, layer: FirstLayer) -> tuple[np.ndarray, np.ndarray]:
        weights, bias = layer.weights, layer.bias
        norms = np.linalg.norm(weights.astype(np.float64), axis=1)
        if self.rescale == "rms":
            norms[:] = np.sqrt(np.mean(norms**2))
        if self.rescale is not None:
            weights = weights / np.where(norms > 0, norms, 1.0)[:, None].astype(weights.dtype)
        if self.redraw_bias:
            bias = self._rng.standard_normal(self.width).astype(bias.dtype)
        return weights, bias

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole_number("steps", self.steps)
        whole_number("leap", self.leap)
        check_number("step_size", self.step_size, zero=True)
        check_number("bias_scale", self.bias_scale, zero=True)
        one_of("rescale", self.rescale, _RESCALED)
        one_of("loss", self.loss, _LOSSES)
        if self.loss == "logistic" and self.preprocess:
            raise BadData(
                "preprocess=True takes a linear part off the labels, which loss='logistic' needs "
                "to be -1 and 1"
            )
        if isinstance(self.readout, str):
            one_of("readout", self.readout, _READOUTS)
        for name in (
            "reuse",
            "symmetric",
            "preprocess",
            "redraw_bias",
            "linear_part",
            "keep_weights",
        ):
            check_flag(name, getattr(self, name))
        if self.symmetric and self.width % 2:
            raise BadData(
                f"a symmetric initialization pairs the neurons: width must be even, got "
                f"{self.width}. Use {self.width + 1}, or symmetric=False."
            )


def readout_values(values: Any, count: int) -> np.ndarray:
    """Second layer that was given, checked."""
    a = np.array(values, dtype=np.float64)
    if a.shape != (count,) or not np.isfinite(a).all():
        raise BadData(
            f"readout must be {', '.join(map(repr, _READOUTS))} or {count} finite "
            f"numbers, got an array of shape {a.shape}"
        )
    return a

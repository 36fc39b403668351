"""One gradient step on what a linear fit leaves over, with weight decay that forgets the start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...base.cost import Cost
from ...base.errors import BadData, NotConverged
from ...targets.activation import Activation
from .._feature_map import random_rows
from .._memory import features_of
from .._registry import LEARNERS
from ._gradient import FirstLayer
from ._moved_features import MovedFeatures


@LEARNERS.add("residual_step")
class ResidualStep(MovedFeatures):
    r"""Two-layer network with features from one gradient of the residual of a linear fit.

    Mean :math:`\alpha = \overline{y}` and linear part :math:`\beta = \overline{y x}` are taken off
    the labels; one step with the weight decay :math:`1/\eta` forgets the initial weights and leaves

    .. math:: w_j = \frac{\eta\, a_j}{n_B} \sum_\mu (y_\mu - \alpha - \langle\beta, x_\mu\rangle)\,
              \sigma'(\langle w_j^0, x_\mu\rangle)\, x_\mu;    [RS-1]

    new biases :math:`b_j \sim N(0, 1)` are drawn, and the readout of
    :math:`f(x) = \alpha + \langle\beta, x\rangle + \langle a, \sigma(W x + b)\rangle/\sqrt p` is
    fitted by ridge regression on samples that the step has not seen. :math:`\eta` is such that the
    rows w have norm 1 in the root mean square.

    Parameters
    ----------
    width : int
        Number p of neurons, even: they start in pairs with opposite a = ±1.
    activation : str
        :math:`\sigma`, a function of ``z``.
    batch_size : int, optional
        Samples :math:`n_B` of the step; half of them if None. The rest fits the readout.
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
    chunk_size : int, optional
        Rows that are treated at a time; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the weights and biases, and of the order of the rows.

    Attributes
    ----------
    weights_ : array (width, d)
        First layer, in units of the standardized features.
    directions_ : array (k, d)
        Orthonormal: leading directions of the weights that the fresh samples of the readout
        confirm; noise passes with probability 1e-4.
    bias_, initial_readout_, readout_ : array (width,)
        Biases, second layer during the step, and fitted readout.
    linear_ : array (d,)
        :math:`\beta`, in units of the standardized features.
    intercept_ : float
        Constant of the readout.
    ridge_ : float
        The ridge that was used.
    train_mse_ : float
        Mean square error on the rows of the readout.
    history_ : xarray.Dataset
        Over `step`: ``train_mse`` of the linear fit, ``gradient_norm``.
    n_iter_ : int
        1.
    mean_, scale_ : array (d,)
        Centre and scale of the inputs; 0 and 1 without standardization.
    label_mean_, label_scale_ : float
        Centre and scale of the labels.

    Notes
    -----
    The gradient of the residual is :math:`H w/\sqrt{2\pi}` to leading order for ReLU, with the mean
    Hessian H of the target: with n of order :math:`d^2` the features span its range, and a function
    of those directions is then as easy as in that low dimension. A target whose Hessian has mean
    zero, ``He3(z)`` or a parity of three directions, is not learned. The features serve other
    targets of the same directions as well: :meth:`refit_readout` needs a number of samples that
    does not grow with d.

    Cost: 2 n_B d p operations for the step, n p^2 for the readout.

    References
    ----------
    damian2022representations

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1*z2").sample(n=16000, d=40, seed=0)
    >>> learner = ResidualStep(width=200, random_state=0).fit(s.X, s.y)
    >>> learner.directions_.shape, ((learner.directions_ @ s.W_star.T)**2).sum(0) > 0.8
    ((2, 40), array([ True,  True]))
    """

    cites = ("damian2022representations",)
    cost = Cost(
        "2 n d width operations for the step, n width^2 for the readout",
        lambda s: 2 * s.n * s.d * s.width + s.n * s.width**2,
        lambda s: features_of(s, s.width),
    )
    steps, reuse, preprocess, linear_part, keep_weights = 1, False, True, False, False

    def __init__(
        self,
        width: int = 512,
        *,
        activation: str = "relu(z)",
        batch_size: int | None = None,
        ridge: float | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        shuffle: bool = True,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.batch_size = batch_size
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.shuffle = shuffle
        self.chunk_size = chunk_size
        self.random_state = random_state

    def _first_layer(self, d: int, dtype: Any) -> FirstLayer:
        half = self.width // 2
        weights = random_rows("gaussian", half, d, self._rng).astype(dtype)
        signs = self._rng.choice([-1.0, 1.0], half)
        return FirstLayer(
            Activation(self.activation),
            np.concatenate([weights, weights]),
            np.zeros(self.width, dtype),
            np.concatenate([signs, -signs]),
            mirrored=True,
        )

    def _moved(self, layer: FirstLayer, downhill: np.ndarray) -> FirstLayer:
        size = float(np.linalg.norm(downhill)) / np.sqrt(self.width)
        if not size > 0:
            raise NotConverged(
                "the gradient of the residual is zero: the labels are a linear function of the "
                "inputs, or there are too few samples for a step"
            )
        return replace(layer, weights=(downhill / size).astype(layer.weights.dtype))

    def _change(self, start: FirstLayer, end: FirstLayer) -> np.ndarray:
        return end.weights  # nothing of the start is left

    def _finished(self, layer: FirstLayer) -> tuple[np.ndarray, np.ndarray]:
        return layer.weights, self._rng.standard_normal(self.width).astype(layer.bias.dtype)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.width % 2:
            raise BadData(
                f"the neurons start in pairs: width must be even, got {self.width}. Use "
                f"{self.width + 1}."
            )

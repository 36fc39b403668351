"""Regression with random features: the first layer of a network is frozen at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ...base.arrays import check_fit, like, to_numpy
from ...base.cost import Cost
from .._memory import features_of
from .._registry import LEARNERS
from ._frozen_features import FrozenFeatures, check_number


@LEARNERS.add("random_features")
class RandomFeatures(RegressorMixin, FrozenFeatures):
    r"""Two-layer network whose random first layer is frozen and whose readout is fitted.

    .. math:: f(x) = \frac{1}{\sqrt p} \sum_{k=1}^{p} a_k\, \sigma(\langle w_k, x\rangle + b_k)
              + a_0, \qquad
              \min_{a, a_0} \sum_i (y_i - f(x_i))^2 + \lambda |a|^2    [RF-1]

    for the loss ``"square"``, and
    :math:`\min \sum_i \ell_\delta(y_i - f(x_i)) + \tfrac{\lambda}{2} |a|^2` for ``"huber"``, with
    :math:`\ell_\delta(u) = u^2/2` up to :math:`|u| = \delta` and linear beyond.

    Parameters
    ----------
    width : int
        Number p of features.
    activation : str
        :math:`\sigma`, a function of ``z``: ``"tanh(z)"``, ``"relu(z - 0.5)"``, ``"sign(z)"``.
    ridge : float or None
        :math:`\lambda` of [RF-1], without a factor 1/n; 0 is the limit of a vanishing ridge (for
        squares). None: chosen by the loss on a fifth of the rows, then all rows are fitted.
    loss : {"square", "huber"}
        The loss.
    delta : float
        Distance beyond which Huber's loss is linear.
    init : "random", "gaussian" or array (width, d)
        Rows w: uniform on the unit sphere, independent :math:`N(0, I/d)`, or given.
    bias_scale : float
        Standard deviation of the Gaussian biases b.
    fit_intercept : bool
        Whether the constant :math:`a_0`, which is not penalized, is fitted or 0.
    standardize : bool
        Centre and scale the columns of X, so that :math:`\langle w, x\rangle` has variance near 1.
        False: the numbers are used as they are.
    tol : float
        Of Huber's loss: largest share of the objective that it may lie above its minimum.
    max_iter : int
        Of Huber's loss: most Newton steps.
    chunk_size : int, optional
        Rows whose features are made at a time; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the weights and biases, and of the rows that choose the ridge.

    Attributes
    ----------
    weights_ : array (width, d)
        Rows w, in units of the standardized features.
    bias_ : array (width,)
        Biases b.
    readout_ : array (width,) or (k, width)
        a; one row for each output if y has columns.
    intercept_ : float or array (k,)
        :math:`a_0`.
    ridge_ : float
        The ridge that was used.
    train_mse_ : float
        Mean square error on the training rows, averaged over the outputs.
    train_loss_ : float
        Mean loss on the training rows, without the penalty; the same for squares.
    gap_ : float
        Bound on what the objective lies above its minimum, as a share of it; 0 for squares.
    n_iter_ : int
        Newton steps, 1 for squares.
    converged_ : bool
        Whether the gap is below `tol`.
    status_ : str
        What went wrong if it is not, otherwise empty.
    mean_, scale_ : array (d,)
        Centre and scale of the inputs; 0 and 1 without standardization.

    Notes
    -----
    It learns no direction: with n and p of order d at most the linear part of a target is learned,
    with min(n, p) of order :math:`d^k` the polynomials up to degree k, and of those only the
    degrees that the activation contains (``tanh``, ``erf`` and ``sign`` have no even ones, not
    even the constant; ``relu`` has no odd ones beyond the first).

    Cost: 2 n d p operations for the features, n p min(n, p) for their products and one Cholesky
    factor of size min(n, p), or one eigendecomposition for all values of `fit_path`. Memory beyond
    X: four matrices of size min(n, p) and a block of features. All n x p features are kept only
    where they take less than 270 MB and save computing them twice (n < p, Huber).

    References
    ----------
    rudi2016rf, mei2019rf, gerace2020rf

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z", noise=0.1).sample(n=1200, d=100, seed=0)
    >>> learner = RandomFeatures(300, activation="tanh(z)", ridge=0.1, random_state=0)
    >>> learner.fit(s.X, s.y).train_mse_ < 0.2
    True
    >>> path = learner.fit_path(s.X, s.y, ridge=[0.01, 0.1, 1.0])
    >>> [one.train_mse_ < other.train_mse_ for one, other in zip(path, path[1:])]
    [True, True]
    """

    cites = ("rudi2016rf", "mei2019rf", "gerace2020rf")
    cost = Cost(
        "2 n d width + n width min(n, width) operations",
        lambda s: 2 * s.n * s.d * s.width + s.n * s.width * min(s.n, s.width),
        lambda s: features_of(s, min(s.width, s.n)),
    )
    losses = ("square", "huber")

    def __init__(
        self,
        width: int = 512,
        *,
        activation: str = "relu(z)",
        ridge: float | None = 1.0,
        loss: str = "square",
        delta: float = 1.0,
        init: Any = "gaussian",
        bias_scale: float = 0.0,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.ridge = ridge
        self.loss = loss
        self.delta = delta
        self.init = init
        self.bias_scale = bias_scale
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.chunk_size = chunk_size
        self.random_state = random_state

    def predict(self, X: Any) -> Any:
        """Labels of new inputs, (n,) or (n, k) as those of the fit.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        X, outputs = self._outputs(X, "predict")
        return like(X, outputs if self.readout_.ndim == 2 else outputs[:, 0])

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        fixed = ("" if self.standardize else "X") + ("" if self.loss == "square" else "y")
        _, X, y = check_fit(self, X, y, labels="exact", multi_output=True, fixed_units=fixed)
        return X, to_numpy(y).astype(np.float64, copy=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("delta", self.delta)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

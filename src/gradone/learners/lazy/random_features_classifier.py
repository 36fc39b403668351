"""Classification with random features: the first layer of a network is frozen at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...base.arrays import like
from ...base.cost import Cost
from .._classes import MarginLearner
from .._memory import features_of
from .._registry import LEARNERS
from ._frozen_features import FrozenFeatures


def _is_logistic(learner: RandomFeaturesClassifier) -> bool:
    return learner.loss == "logistic"


@LEARNERS.add("random_features_classifier")
class RandomFeaturesClassifier(MarginLearner, FrozenFeatures):
    r"""Classifier whose random first layer is frozen and whose readout is fitted.

    .. math:: f(x) = \frac{1}{\sqrt p} \sum_{k=1}^{p} a_k\, \sigma(\langle w_k, x\rangle + b_k)
              + a_0, \qquad
              \min_{a, a_0} \sum_i \ell(y_i, f(x_i)) + \frac{\lambda}{2} |a|^2    [RC-1]

    with labels -1 and 1 and the loss :math:`\log(1 + e^{-y f})` (``"logistic"``),
    :math:`\max(0, 1 - y f)` (``"hinge"``) or :math:`(y - f)^2/2` (``"square"``). With more than two
    classes every class is fitted against the rest.

    Parameters
    ----------
    width : int
        Number p of features.
    activation : str
        :math:`\sigma`, a function of ``z``: ``"tanh(z)"``, ``"relu(z - 0.5)"``, ``"sign(z)"``.
    ridge : float or None
        :math:`\lambda` of [RC-1], without a factor 1/n. None: chosen by the loss on a fifth of the
        rows, then all rows are fitted.
    loss : {"logistic", "hinge", "square"}
        The loss.
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
        Largest share of the objective that it may lie above its minimum.
    max_iter : int
        Most Newton steps.
    chunk_size : int, optional
        Rows whose features are made at a time; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the weights and biases, and of the rows that choose the ridge.

    Attributes
    ----------
    classes_ : array (k,)
        The classes, sorted.
    weights_ : array (width, d)
        Rows w, in units of the standardized features.
    bias_ : array (width,)
        Biases b.
    readout_ : array (width,) or (k, width)
        a; one row for each class if there are more than two.
    intercept_ : float or array (k,)
        :math:`a_0`.
    ridge_ : float
        The ridge that was used.
    train_mse_ : float
        Mean of :math:`(y - f)^2` on the training rows, with labels -1 and 1.
    train_loss_ : float
        Mean loss on the training rows, without the penalty and averaged over the outputs; for
        squares :math:`(y - f)^2`, without the half.
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
    It learns no direction: with n and p of order d it does no better than a linear classifier, so
    that of a parity it learns nothing; see :class:`RandomFeatures`.

    Logistic and Huber losses are minimized by Newton's method, the hinge by an interior-point
    method, both with the exact Hessian and down to the gap `tol`, which a dual solution certifies.

    Cost: 2 n d p operations for the features, n m^2 for each of 5 to 30 Newton steps, m the
    smaller of n and p. Memory beyond X: the features where they take less than 270 MB, otherwise a
    block of them (they are then made at each step), and four matrices of size m.

    References
    ----------
    rudi2016rf, gerace2020rf, loureiro2021curves

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("sign(z)").sample(n=1000, d=50, seed=0)
    >>> learner = RandomFeaturesClassifier(200, activation="erf(z)", ridge=0.1, random_state=0)
    >>> bool(learner.fit(s.X, s.y).score(s.X, s.y) > 0.9)
    True
    """

    cites = ("rudi2016rf", "gerace2020rf", "loureiro2021curves")
    cost = Cost(
        "2 n d width + n min(n, width)^2 operations for each of 5 to 30 Newton steps",
        lambda s: 2 * s.n * s.d * s.width + 15 * s.n * min(s.n, s.width) ** 2,
        lambda s: features_of(s, min(s.width, s.n)),
    )
    losses = ("logistic", "hinge", "square")

    def __init__(
        self,
        width: int = 512,
        *,
        activation: str = "relu(z)",
        ridge: float | None = 1.0,
        loss: str = "logistic",
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
        self.init = init
        self.bias_scale = bias_scale
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.chunk_size = chunk_size
        self.random_state = random_state

    @available_if(_is_logistic)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, k) of the classes, for the logistic loss.

        With more than two classes those of each against the rest, divided by their sum.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        from scipy.special import expit

        X, outputs = self._outputs(X, "predict_proba")
        shares = expit(outputs)
        if len(self.classes_) == 2:
            shares = np.hstack([expit(-outputs), shares])
        return like(X, shares / shares.sum(axis=1, keepdims=True))

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, which = self._class_numbers(X, y)
        k = len(self.classes_)
        if k == 2:
            return X, 2.0 * which - 1.0
        return X, 2.0 * (which[:, None] == np.arange(k)) - 1.0

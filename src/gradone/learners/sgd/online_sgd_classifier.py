"""Online SGD of a two-layer network that classifies, by the cross-entropy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ...base.arrays import check_fit, check_new, in_our_words, like, to_numpy
from ...base.cost import Cost
from ...base.errors import BadData
from ...targets.training import read_training
from .._classes import ClassLearner
from .._memory import features_of
from .._registry import LEARNERS
from .._standardize import row_blocks
from ._optimizers import Optimizer
from ._softmax import SoftmaxNetwork, first_readout, probabilities
from ._two_layer import TwoLayerBase

if TYPE_CHECKING:
    import xarray as xr

_RECORDS = 100


@LEARNERS.add("online_sgd_classifier")
class OnlineSGDClassifier(ClassLearner, TwoLayerBase):
    r"""One pass of stochastic gradient descent on the cross-entropy, for two or more classes.

    The two-layer network has an output :math:`f_c(x) = \sum_j A_{cj}\sigma(\langle w_j, x\rangle +
    b_j)` for each class c, and the probabilities :math:`p_c \propto e^{f_c}`; its weights move
    along the gradient of :math:`-\log p_y`, batch by batch [GD-6]. For two classes this is the
    logistic loss of :class:`OnlineSGD`.

    Parameters
    ----------
    width : int
        Number of neurons.
    activation : str
        Function of ``z``: ``"relu(z)"``, ``"tanh(z + 0.2)"``.
    step_size : float or "auto"
        :math:`\eta`, on the mean gradient of a batch; ``"auto"`` as for :class:`OnlineSGD`.
    geometry : {"euclidean", "projected", "spherical"}
        Free weights; weights brought back to unit norm; tangent steps, then unit norm.
    batch_size : int
        Rows of an update; the last may have fewer.
    bias : float or array (width,)
        b at the start.
    train_readout, train_bias : float or None
        Step sizes of A and b; None keeps them fixed. A starts with neurons that speak for the
        classes in turn.
    weight_decay : float
        W is multiplied by 1 - step_size * weight_decay at each update.
    optimizer : str
        ``"sgd"``, ``"normalized"``, ``"muon"``, ``"sign"``, ``"rmsprop"`` or ``"adam"``, see
        :class:`gradone.targets.training.TrainedStudent`.
    momentum, nesterov, clip_norm, clip, orthogonalize, betas : optional
        Numbers of the optimizer: see there.
    schedule : str or None
        Factor of the step sizes, a formula of t, the part of the first pass that is done.
    init : "random", "orthogonal" or array (width, d)
        First weights: independent and uniform on the unit sphere, orthonormal, or given.
    standardize : bool
        Centre and scale the features by what the first call sees.
    shuffle : bool
        Go through the rows of ``fit`` in random order.
    random_state : int, numpy.random.Generator or None
        First weights and order of the rows.

    Attributes
    ----------
    classes_ : array (k,)
        The classes, sorted.
    weights_, directions_ : array (width, d)
        Weights, in units of the standardized features; every neuron is a direction.
    readout_ : array (k, width)
        A.
    bias_ : array (width,)
        b.
    step_size_ : float
        The step that was used.
    n_iter_ : int
        Number of updates.
    history_ : xarray.Dataset
        Over `step`: ``online_loss``, the mean of :math:`-\log p_y` of the samples since the last
        record, each predicted before it was used.
    mean_, scale_ : array (d,)
        Centre and scale of the features.

    Notes
    -----
    Labels of two values have no queries but correlations: whatever the optimizer, a target of
    information exponent l needs about :math:`d^{l-1}` samples (d log d for l = 2). Cost: 4 n d
    width operations. Memory beyond X: one chunk.

    References
    ----------
    saad1995online, benarous2021online

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1").sample(n=4000, d=20, seed=0)
    >>> which = np.digitize(s.y, [-0.5, 0.5])
    >>> learner = OnlineSGDClassifier(width=6, random_state=0).fit(s.X, which)
    >>> learner.classes_.tolist(), learner.score(s.X, which) > 0.8
    ([0, 1, 2], True)
    """

    cites = ("saad1995online", "benarous2021online")
    cost = Cost(
        "4 n d width operations for each gradient of a batch",
        lambda s: 30 * s.n * s.d * s.width,
        lambda s: features_of(s, s.width),
    )

    def __init__(
        self,
        width: int = 8,
        *,
        activation: str = "relu(z)",
        step_size: float | str = "auto",
        geometry: str = "euclidean",
        batch_size: int = 1,
        bias: Any = 0.0,
        train_readout: float | None = None,
        train_bias: float | None = None,
        weight_decay: float = 0.0,
        optimizer: str = "sgd",
        momentum: float = 0.0,
        nesterov: bool | str = False,
        clip_norm: float | None = None,
        clip: str = "batch",
        orthogonalize: str = "polar",
        betas: tuple[float, float] = (0.9, 0.999),
        schedule: str | None = None,
        init: Any = "random",
        standardize: bool = True,
        shuffle: bool = True,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.step_size = step_size
        self.geometry = geometry
        self.batch_size = batch_size
        self.bias = bias
        self.train_readout = train_readout
        self.train_bias = train_bias
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.momentum = momentum
        self.nesterov = nesterov
        self.clip_norm = clip_norm
        self.clip = clip
        self.orthogonalize = orthogonalize
        self.betas = betas
        self.schedule = schedule
        self.init = init
        self.standardize = standardize
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> OnlineSGDClassifier:
        """Train a new network by one pass over the rows.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Classes.

        Returns
        -------
        OnlineSGDClassifier
            Itself.
        """
        X, which = self._class_numbers(X, y)
        rng = np.random.default_rng(self.random_state)
        network = self._start(X, len(which), rng)
        order = rng.permutation(len(which)) if self.shuffle else np.arange(len(which))
        self._pass(network, X, which, order)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> OnlineSGDClassifier:
        """Go on training with more rows, in their order.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Classes.
        classes : array-like, optional
            All classes, in the first call; those of `y` by default.

        Returns
        -------
        OnlineSGDClassifier
            Itself.
        """
        first = not hasattr(self, "weights_")
        units = "" if self.standardize else "X"
        _, X, y = check_fit(
            self, X, y, labels="any", reset=first, min_samples=2 if first else 1, fixed_units=units
        )
        in_our_words(lambda: check_classification_targets(y))
        if first:
            self.classes_ = np.unique(to_numpy(y) if classes is None else np.asarray(classes))
            if len(self.classes_) < 2:
                raise BadData(
                    "partial_fit needs at least two classes; say all of them in the first call: "
                    "partial_fit(X, y, classes=[...])"
                )
        labels = np.asarray(to_numpy(y))
        which = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        if (self.classes_[which] != labels).any():
            unknown = labels[self.classes_[which] != labels][0]
            raise BadData(
                f"the class {unknown.item()!r} is new; say all classes in the first call of "
                "partial_fit"
            )
        if first:
            network = self._start(X, len(which), np.random.default_rng(self.random_state))
        else:
            network = self._network()
        self._pass(network, X, which, np.arange(len(which)))
        return self

    def decision_function(self, X: Any) -> Any:
        """Outputs of new inputs: (n,) for two classes (log-odds of the second), else (n, k).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        outputs = self._outputs(X)
        return like(X, outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs)

    def predict(self, X: Any) -> Any:
        """Classes of new inputs (n,).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        return self._of_numbers(X, self._outputs(X).argmax(axis=1))

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, k) of the classes.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        return like(X, probabilities(self._outputs(X)))

    @property
    def history_(self) -> xr.Dataset:
        """Online cross-entropy over the updates."""
        import xarray as xr

        steps, losses, errors = zip(*self._records, strict=True)
        return xr.Dataset(
            {
                "online_loss": ("step", np.array(losses)),
                "online_loss_err": ("step", np.array(errors)),
            },
            coords={"step": np.array(steps)},
        )

    def _network(self) -> SoftmaxNetwork:
        """The network that was learned."""
        return SoftmaxNetwork(self._student, *self._learned(), self._optimizer)

    def _start(self, X: Any, n: int, rng: np.random.Generator) -> SoftmaxNetwork:
        """The first network."""
        weights = self._prepare(
            X, read_training(optimizers=True, loss="logistic", **self._given), rng
        )
        student, self._records = self._student, list[tuple[int, float, float]]()
        self._optimizer = Optimizer(student, weights.shape, -(-n // student.batch_size))
        readout = first_readout(len(self.classes_), student.width)
        return SoftmaxNetwork(student, weights, readout, np.array(student.b), self._optimizer)

    def _pass(self, network: SoftmaxNetwork, X: Any, which: np.ndarray, order: np.ndarray) -> None:
        """One update for every batch of rows, a hundred records."""
        rows, b = to_numpy(X), self._student.batch_size
        for part in row_blocks(len(order), b * max(1, -(-len(order) // (b * _RECORDS)))):
            chosen = order[part]
            losses = network.train(
                self._inputs(rows[chosen]).astype(network.weights.dtype, copy=False), which[chosen]
            )
            if network.diverged:
                break
            spread = losses.std(ddof=1) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan
            step = self.n_iter_ + network.updates
            self._records.append((step, float(losses.mean()), float(spread)))
        self._store(X, network)

"""Online SGD of a two-layer network on real samples."""

from __future__ import annotations

import math
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arrays import check_fit, to_numpy
from ...base.cost import Cost
from .._callbacks import CallbackSupportMixin, fit_steps, with_callbacks
from .._memory import features_of
from .._registry import LEARNERS
from .._standardize import chunk_rows, row_blocks
from ._machine import Network
from ._optimizers import Optimizer
from ._two_layer import TwoLayerLearner

if TYPE_CHECKING:
    import xarray as xr

_RECORDS = 100
_LEAST_ROWS = 20  # of a record: its error needs some


@LEARNERS.add("online_sgd")
class OnlineSGD(CallbackSupportMixin, TwoLayerLearner):
    r"""One pass of stochastic gradient descent over the samples, each used once.

    Of the two-layer network :math:`f(x) = \sum_j a_j \sigma(\langle w_j, x\rangle + b_j)` the
    weights are moved along the gradient of :math:`\tfrac12 (y - f)^2`, batch by batch:

    .. math:: w_j \leftarrow w_j + \frac{\eta}{b} \sum_\mu a_j (y_\mu - f(x_\mu))\,
              \sigma'(\langle w_j, x_\mu\rangle + b_j)\,x_\mu    [GD-2]

    for the rule ``"plain"``; the other rules take gradients more than once from the same batch.

    Parameters
    ----------
    width : int
        Number of neurons.
    activation : str
        Function of ``z``: ``"relu(z)"``, ``"tanh(z + 0.2)"``.
    step_size : float or "auto"
        :math:`\eta`, on the mean gradient of a batch; of order 1/d for single samples. ``"auto"``:
        a quarter of the largest step that is stable at the start, from the first rows [GD-4]
        (0.3 over the root of d for normalized gradients and Muon, 0.3/d for signs and Adam). It
        knows the inputs, not the target: for a known one ``gd.dynamics.sgd`` chooses by theory.
    rule : str
        ``"plain"``, ``"extragradient"``, ``"sam"``, ``"sam_normalized"``, ``"k_steps"`` or
        ``"look_ahead"``: see :class:`gradone.targets.training.TrainedStudent`.
    inner_step_size, inner_steps, radius, interpolation : optional
        Numbers of the rules. With ``step_size="auto"`` the inner step is half the step, the radius
        0.05.
    loss, loss_scale : str, float
        ``"square"``, ``"correlation"``, ``"huber"``, ``"pseudo_huber"``, ``"absolute"``, a formula
        of ``y`` and ``f``, or for labels -1 and 1 ``"logistic"`` (cross-entropy; predictions are
        log-odds) and ``"smooth_hinge"``: see :class:`gradone.targets.training.TrainedStudent`.
    geometry : {"euclidean", "projected", "spherical"}
        Free weights; weights brought back to unit norm; tangent steps, then unit norm.
    batch_size : int
        Rows of an update; the last may have fewer.
    readout : "signs" or array (width,)
        a: 1, -1, 1, ... or given. There is no factor 1/width.
    bias : float or array (width,)
        b at the start.
    train_readout, train_bias : float or None
        Their step sizes; None keeps them fixed.
    weight_decay : float
        W is multiplied by 1 - step_size * weight_decay at each update.
    optimizer : str
        What is made of a gradient: ``"sgd"``, ``"normalized"``, ``"muon"``, ``"sign"``,
        ``"rmsprop"`` or ``"adam"``, see :class:`gradone.targets.training.TrainedStudent`.
    momentum, nesterov, clip_norm, clip, orthogonalize, betas : optional
        Numbers of the optimizer: see there.
    schedule : str or None
        Factor of the step sizes, a formula of t, the part of the first pass that is done.
    init : "random", "orthogonal" or array (width, d)
        First weights: independent and uniform on the unit sphere, orthonormal, or given.
    standardize : bool
        Centre and scale the features and the labels by what the first call sees. False: the update
        is made on the numbers as they are.
    shuffle : bool
        Go through the rows of ``fit`` in random order.
    chunk_size : int, optional
        Rows that are treated at a time, a record each; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        First weights and order of the rows.

    Attributes
    ----------
    weights_ : array (width, d)
        Weights, in units of the standardized features.
    directions_ : array (width, d)
        The weights again; every neuron is a direction.
    readout_, bias_ : array (width,)
        Readout and bias.
    step_size_ : float
        The step that was used.
    n_iter_ : int
        Number of updates.
    history_ : xarray.Dataset
        Over `step` (number of updates): ``online_mse``, the mean square error of the samples since
        the last record, each predicted before it was used, with its standard error; ``weight_norm``
        of every neuron.
    mean_, scale_ : array (d,)
        Centre and scale of the features; 0 and 1 without standardization.
    label_mean_, label_scale_ : float
        Centre and scale of the labels.

    Notes
    -----
    It learns a direction after a number of samples that the information exponent l of the target
    sets: n = O(d) for l = 1, O(d log d) for l = 2, :math:`d^{l-1}` beyond; rules that use a batch
    twice need O(d) or O(d log d) for every target of generative exponent 1 or 2
    (``gd.analyze(target)`` tells). If the weights run away, ``NotConverged`` says at which update
    and which step would have been stable. On a small table one pass may be short: call
    ``partial_fit`` again with the same rows, or take ``ReusedBatch``.

    Cost: 4 n d width operations for each gradient of a batch. Memory beyond X: one chunk. In
    float32 the weights are in single precision.

    References
    ----------
    saad1995online, benarous2021online, arnaboldi2024repetita

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("tanh(z)").sample(n=20_000, d=100, seed=0)
    >>> learner = OnlineSGD(width=1, activation="tanh(z)", random_state=0).fit(s.X, s.y)
    >>> w = learner.weights_[0]
    >>> bool(w @ s.W_star[0] / np.linalg.norm(w) > 0.95)
    True
    """

    cites = ("saad1995online", "benarous2021online", "arnaboldi2024repetita")
    cost = Cost(
        "4 n d width operations for each gradient of a batch",
        lambda s: 30 * s.n * s.d * s.width,  # short products are slow
        lambda s: features_of(s, s.width),
    )

    def __init__(
        self,
        width: int = 4,
        *,
        activation: str = "relu(z)",
        step_size: float | str = "auto",
        rule: str = "plain",
        inner_step_size: float | None = None,
        inner_steps: int = 2,
        radius: float | None = None,
        interpolation: float | None = None,
        loss: str = "square",
        geometry: str = "euclidean",
        batch_size: int = 1,
        readout: Any = "signs",
        bias: Any = 0.0,
        train_readout: float | None = None,
        train_bias: float | None = None,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
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
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.step_size = step_size
        self.rule = rule
        self.inner_step_size = inner_step_size
        self.inner_steps = inner_steps
        self.radius = radius
        self.interpolation = interpolation
        self.loss = loss
        self.geometry = geometry
        self.batch_size = batch_size
        self.readout = readout
        self.bias = bias
        self.train_readout = train_readout
        self.train_bias = train_bias
        self.weight_decay = weight_decay
        self.loss_scale = loss_scale
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
        self.chunk_size = chunk_size
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any) -> OnlineSGD:
        """Train a new network by one pass over the rows.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels, numbers.

        Returns
        -------
        OnlineSGD
            Itself.
        """
        _, X, y = check_fit(self, X, y, labels="exact", fixed_units=self._fixed_units)
        rng = np.random.default_rng(self.random_state)
        network = self._start(X, to_numpy(y), rng)
        order = rng.permutation(X.shape[0]) if self.shuffle else None
        self._pass(network, X, to_numpy(y), order, announce=True)
        return self

    def partial_fit(self, X: Any, y: Any) -> OnlineSGD:
        """Go on training with more rows, in their order.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels, numbers.

        Returns
        -------
        OnlineSGD
            Itself.
        """
        first = not hasattr(self, "weights_")
        _, X, y = check_fit(
            self,
            X,
            y,
            labels="exact",
            reset=first,
            min_samples=2 if first else 1,
            fixed_units=self._fixed_units,
        )
        if first:
            network = self._start(X, to_numpy(y), np.random.default_rng(self.random_state))
        else:
            network = self._network()
        self._pass(network, X, to_numpy(y), None, announce=False)
        return self

    @property
    def history_(self) -> xr.Dataset:
        """Online error and norms of the weights over the updates."""
        import xarray as xr

        steps, errors, spreads, norms = zip(*self._records, strict=True)
        return xr.Dataset(
            {
                "online_mse": ("step", np.array(errors)),
                "online_mse_err": ("step", np.array(spreads)),
                "weight_norm": (("step", "neuron"), np.array(norms)),
            },
            coords={"step": np.array(steps), "neuron": np.arange(1, self.width + 1)},
        )

    def _start(self, X: Any, y: np.ndarray, rng: np.random.Generator) -> Network:
        self._records: list[tuple[int, float, float, np.ndarray]] = []
        network = self._begin(X, y, rng=rng, batch_size=self.batch_size)
        self._optimizer = None
        if not self._student.is_plain_sgd:
            updates = -(-len(y) // self._student.batch_size)
            self._optimizer = Optimizer(self._student, network.weights.shape, updates)
        return network

    def _pass(
        self, network: Network, X: Any, y: np.ndarray, order: np.ndarray | None, *, announce: bool
    ) -> None:
        """One update for every batch of rows, chunk by chunk."""
        network.optimizer = self._optimizer
        rows, labels = to_numpy(X), self._labels(y)
        parts = row_blocks(len(y), self._chunk(rows))
        learner = self if announce else object()
        with closing(fit_steps(learner, len(parts), X=X, y=y)) as steps:
            for part, step in zip(parts, steps, strict=False):
                chosen = part if order is None else order[part]
                inputs = self._inputs(rows[chosen]).astype(network.weights.dtype, copy=False)
                errors = network.train(inputs, labels[chosen])
                if network.diverged:
                    break
                self._record(network, errors)
                step.metadata["online_mse"] = self._records[-1][1]
        self._store(X, network)

    def _chunk(self, X: np.ndarray) -> int:
        """Rows of a chunk: whole batches, so that chunks do not show in the result."""
        n, d = X.shape
        fitting = chunk_rows(d, X.itemsize)
        rows = self.chunk_size or min(fitting, max(-(-n // _RECORDS), _LEAST_ROWS))
        b = self._student.batch_size
        return b * max(1, -(-rows // b))

    def _record(self, network: Network, errors: np.ndarray) -> None:
        squares, unit = errors**2, self.label_scale_ * self.label_scale_
        spread = squares.std(ddof=1) / math.sqrt(len(squares)) if len(squares) > 1 else math.nan
        norms = np.linalg.norm(network.weights.astype(np.float64), axis=1)
        step = self.n_iter_ + network.updates
        self._records.append((step, unit * float(squares.mean()), unit * float(spread), norms))

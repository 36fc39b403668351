"""Gradient descent of a two-layer network on a fixed data set."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arrays import check_fit, like, to_numpy
from ...base.cost import Cost
from ...targets.sampled import whole_number
from .._callbacks import CallbackSupportMixin, fit_steps, with_callbacks
from .._memory import features_of
from .._registry import LEARNERS
from .._standardize import chunk_rows, row_blocks
from ._machine import Network
from ._two_layer import TwoLayerLearner

if TYPE_CHECKING:
    import xarray as xr


@LEARNERS.add("reused_batch")
class ReusedBatch(CallbackSupportMixin, TwoLayerLearner):
    r"""Gradient descent that uses the same samples again and again.

    Of the two-layer network :math:`f(x) = \sum_j a_j \sigma(\langle w_j, x\rangle + b_j)` the
    weights are moved along the gradient of the training error,

    .. math:: w_j \leftarrow w_j + \frac{\eta}{n} \sum_{\mu=1}^n a_j (y_\mu - f(x_\mu))\,
              \sigma'(\langle w_j, x_\mu\rangle + b_j)\,x_\mu,    [GD-3]

    with all samples at each step, or with mini-batches over several epochs.

    Parameters
    ----------
    width : int
        Number of neurons.
    steps : int
        Number T of updates.
    activation : str
        Function of ``z``: ``"relu(z)"``, ``"tanh(z + 0.2)"``.
    step_size : float or "auto"
        :math:`\eta`, on the mean gradient; of order 1 for all samples at once. ``"auto"``: a
        quarter of the largest step that is stable at the start [GD-4].
    rule : str
        ``"plain"``, ``"extragradient"``, ``"sam"``, ``"sam_normalized"``, ``"k_steps"`` or
        ``"look_ahead"``: see :class:`gradone.targets.training.TrainedStudent`.
    inner_step_size, inner_steps, radius, interpolation : optional
        Numbers of the rules. With ``step_size="auto"`` the inner step is half the step, the radius
        0.05.
    loss : {"square", "correlation"}
        The error that multiplies the gradient: y - f, or y alone.
    geometry : {"euclidean", "projected", "spherical"}
        Free weights; weights brought back to unit norm; tangent steps, then unit norm.
    batch_size : int, optional
        Rows of an update; all of them if None. The last batch of an epoch may have fewer.
    readout : "signs" or array (width,)
        a: 1, -1, 1, ... or given. There is no factor 1/width.
    bias : float or array (width,)
        b at the start.
    train_readout, train_bias : float or None
        Their step sizes; None keeps them fixed.
    weight_decay : float
        W is multiplied by 1 - step_size * weight_decay at each update.
    init : "random", "orthogonal" or array (width, d)
        First weights: independent and uniform on the unit sphere, orthonormal, or given.
    standardize : bool
        Centre and scale the features and the labels. False: the update is made on the numbers as
        they are.
    shuffle : bool
        Take the rows of every epoch in a new random order; otherwise always in theirs.
    keep_weights : bool
        Keep the weights of every record in ``weights_history_``.
    chunk_size : int, optional
        Rows that ``predict`` treats at a time; chosen by size if None.
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
        Over `step` (number of updates), at the start and after every epoch: ``train_mse``, the mean
        square error of the training data; ``weight_norm`` of every neuron.
    weights_history_ : array (records, width, d), or None
        Weights at the steps of ``history_``, if they were kept.
    mean_, scale_ : array (d,)
        Centre and scale of the features; 0 and 1 without standardization.
    label_mean_, label_scale_ : float
        Centre and scale of the labels.

    Notes
    -----
    The second step on the same data sees functions of the label that the first has made: with
    n = O(d) samples a few steps find directions of generative exponent 1, ``He3(z)`` for instance,
    to which one pass of SGD is blind. Directions that only an even function of the label's moments
    shows need O(log d) steps; of a parity of three directions it learns nothing at n = O(d).

    If the weights run away, ``NotConverged`` says at which update and which step would have been
    stable. Cost: 4 n d width operations for each gradient. Memory beyond X: a standardized copy.

    References
    ----------
    dandi2024reuse, arnaboldi2024repetita

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("tanh(z)").sample(n=1500, d=500, seed=0)
    >>> learner = ReusedBatch(width=1, steps=20, step_size=0.5, random_state=0).fit(s.X, s.y)
    >>> bool(learner.history_.train_mse[-1] < 0.5 * learner.history_.train_mse[0])
    True
    """

    cites = ("dandi2024reuse", "arnaboldi2024repetita")
    cost = Cost(
        "4 n d width operations for each of the gradients",
        lambda s: 8 * s.n * s.d * s.width * s.steps,
        lambda s: features_of(s, s.width),
    )

    def __init__(
        self,
        width: int = 4,
        *,
        steps: int = 200,
        activation: str = "relu(z)",
        step_size: float | str = "auto",
        rule: str = "plain",
        inner_step_size: float | None = None,
        inner_steps: int = 2,
        radius: float | None = None,
        interpolation: float | None = None,
        loss: str = "square",
        geometry: str = "euclidean",
        batch_size: int | None = None,
        readout: Any = "signs",
        bias: Any = 0.0,
        train_readout: float | None = None,
        train_bias: float | None = None,
        weight_decay: float = 0.0,
        init: Any = "random",
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
        self.init = init
        self.standardize = standardize
        self.shuffle = shuffle
        self.keep_weights = keep_weights
        self.chunk_size = chunk_size
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any) -> ReusedBatch:
        """Train a network.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels, numbers.

        Returns
        -------
        ReusedBatch
            Itself.
        """
        whole_number("steps", self.steps)
        _, X, y = check_fit(self, X, y, labels="exact", fixed_units=self._fixed_units)
        n = X.shape[0]
        batch = n if self.batch_size is None else whole_number("batch_size", self.batch_size)
        batch = min(batch, n)
        rng = np.random.default_rng(self.random_state)
        network = self._begin(X, to_numpy(y), rng=rng, batch_size=batch, reused=batch == n)
        rows, labels = self._inputs(to_numpy(X)), self._labels(to_numpy(y))
        self._records: list[_Record] = []
        epochs = -(-self.steps // -(-n // batch))
        with closing(fit_steps(self, epochs, X=X, y=y)) as steps:
            for step in steps:
                at = self._record(network)
                if batch == n:
                    errors = network.train(rows, labels)  # they are those before the update
                else:
                    errors = labels - network(rows)
                    self._epoch(network, rows, labels, rng)
                if network.diverged:
                    break
                at.train_mse = step.metadata["train_mse"] = self._mean_square(errors)
        if not network.diverged:
            self._record(network).train_mse = self._mean_square(labels - network(rows))
        self._store(X, network)
        kept = [record.weights for record in self._records]
        self.weights_history_ = like(X, np.array(kept)) if self.keep_weights else None
        return self

    @property
    def history_(self) -> xr.Dataset:
        """Training error and norms of the weights over the updates."""
        import xarray as xr

        records = self._records
        return xr.Dataset(
            {
                "train_mse": ("step", np.array([record.train_mse for record in records])),
                "weight_norm": (("step", "neuron"), np.array([record.norms for record in records])),
            },
            coords={
                "step": np.array([record.step for record in records]),
                "neuron": np.arange(1, self.width + 1),
            },
        )

    def _epoch(
        self, network: Network, rows: np.ndarray, labels: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Mini-batches over all rows, or until the number of updates is reached."""
        n, batch = len(labels), network.student.batch_size
        order = rng.permutation(n) if self.shuffle else np.arange(n)
        order = order[: (self.steps - network.updates) * batch]
        size = batch * max(1, chunk_rows(rows.shape[1], rows.itemsize) // batch)
        for part in row_blocks(len(order), size):
            network.train(rows[order[part]], labels[order[part]])
            if network.diverged:
                return

    def _record(self, network: Network) -> _Record:
        weights = network.weights.copy() if self.keep_weights else None
        norms = np.linalg.norm(network.weights.astype(np.float64), axis=1)
        self._records.append(_Record(network.updates, norms, weights))
        return self._records[-1]

    def _mean_square(self, errors: np.ndarray) -> float:
        return self.label_scale_ * self.label_scale_ * float(np.mean(errors**2))


@dataclass
class _Record:
    """What is kept of one moment of a run."""

    step: int
    norms: np.ndarray
    weights: np.ndarray | None
    train_mse: float = math.nan

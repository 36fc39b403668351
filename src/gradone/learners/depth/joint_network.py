"""A network of two, three or more layers, all of them trained at once from random weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from ...base.cost import Cost
from .._callbacks import fit_steps
from .._feature_map import random_rows
from .._memory import layers_of, step_of
from .._registry import LEARNERS
from ._data import SplitData
from ._learner import DeepLearner
from ._network import ReluNetwork
from ._network_training import RECORDS, Trainer

_STEPS = 500  # times the square root of the batches in an epoch


@LEARNERS.add("joint_network")
class JointNetwork(DeepLearner):
    r"""ReLU network whose layers are trained together by backpropagation.

    .. math:: f(x) = w_L \cdot \sigma(W_{L-1} \cdots \sigma(W_1 x + b_1) \cdots + b_{L-1}) + b_L,
              \qquad \sigma(u) = \max(u, 0)    [JN-1]

    minimizes the mean of :math:`(y - f)^2` by AdamW with mini-batches and a rate that rises over
    30% of the updates and falls to nearly nothing, both along a cosine. A fifth of the rows is
    held out; the network that predicts them best is kept.

    Parameters
    ----------
    widths : sequence of int
        Widths of the hidden layers: one for a two-layer network, two for three layers.
    steps : int, optional
        Number of updates. None: 500 times the square root of the batches in an epoch, at least 100.
    batch_size : int
        Rows of an update; every epoch takes them in a new order.
    step_size : float
        Largest rate of AdamW.
    weight_decay : float
        All parameters are multiplied by 1 - rate * weight_decay at each update.
    init : "random", "gaussian" or array (widths[0], d)
        First rows of :math:`W_1`: uniform on the unit sphere, :math:`N(0, I/d)`, or given.
    chunk_size : int, optional
        Rows that are treated at a time outside the training; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the weights, the rows that are held out and the order of the others.

    Attributes
    ----------
    weights_ : array (widths[0], d)
        First layer, in units of the standardized features.
    directions_ : array (widths[0], d)
        The first layer again; every row is a direction.
    kernel_ : bool
        False: the network has no other learner to fall back on.
    constant_ : bool
        Whether the mean label is predicted, because the network is not better than that.
    validation_mse_, constant_mse_ : float
        Mean square error on the rows held out, of the network and of the mean label.
    diagnosis_ : str
        What was found and how well it predicts, in words.
    history_ : xarray.Dataset
        Over `step` (number of updates, from 0): ``train_mse``, mean over the batches since the
        last record; ``validation_mse`` on the rows held out.
    n_iter_ : int
        Updates that were made.
    mean_, scale_ : array (d,)
        Centre and scale of the features.

    Notes
    -----
    From random weights the first layer finds the D hidden directions of a hierarchical target with
    n of order d D samples and more updates than a first layer that starts from them: see
    ``Layerwise``. Inputs and labels are standardized; it trains in float32.

    Cost: 6 operations for each parameter and row of a batch, so
    :math:`6 T b\,(d p_1 + p_1 p_2 + p_2)`. Memory beyond X: a standardized copy in float32.

    References
    ----------
    dandi2025depth, nichani2023three

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("relu(z1) + relu(z2)").sample(n=2000, d=10, seed=0)
    >>> network = JointNetwork((64,), steps=300, random_state=0).fit(s.X, s.y)
    >>> print(network.diagnosis_[:19], network.validation_mse_ < 0.05 * network.constant_mse_)
    Two layers trained. True
    """

    cites = ("dandi2025depth", "nichani2023three")
    cost = Cost(
        "6 steps batch_size (d p1 + p1 p2) operations",
        lambda s: (s.steps or 2000) * step_of(s),
        layers_of,
    )

    def __init__(
        self,
        widths: Sequence[int] = (256, 50),
        *,
        steps: int | None = None,
        batch_size: int = 256,
        step_size: float = 3e-3,
        weight_decay: float = 0.3,
        init: Any = "random",
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.widths = widths
        self.steps = steps
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.init = init
        self.chunk_size = chunk_size
        self.random_state = random_state

    @property
    def directions_(self) -> Any:
        """The rows of the first layer."""
        return self.weights_

    def _learned(
        self, data: SplitData, X: Any, y: Any, rng: np.random.Generator
    ) -> tuple[ReluNetwork, np.ndarray, str]:
        rows = random_rows(self.init, self.widths[0], data.X.shape[1], rng)
        network = ReluNetwork.drawn(rows, self.widths, rng)
        trainer = Trainer(data, self._schedule(data, _STEPS), rng)
        moment = partial(self._moment, trainer, X)
        with closing(fit_steps(self, RECORDS + 1, X=X, y=y, learned=moment)) as records:
            trainer.run(network, records)
        self._keep(trainer)
        assert trainer.best is not None
        number = {2: "Two", 3: "Three", 4: "Four"}.get(len(self.widths) + 1, "Many")
        return trainer.best, data.held_out_errors(trainer.best), f"{number} layers trained."

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_training()

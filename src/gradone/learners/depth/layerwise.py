"""Deep networks learned layer by layer: directions first, then features of them, then the link."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from ...base.arrays import like
from ...base.cost import Cost
from ...base.errors import BadData, number_of
from ...targets.sampled import whole_number
from .._callbacks import fit_steps
from .._found import orthonormal_rows
from .._memory import layers_of, step_of
from .._registry import LEARNERS
from ..giant._moved_features import one_of
from ._data import SplitData
from ._directions import LabelSpectrum, rank_scores
from ._first_stage import ROUNDS, label_spectrum
from ._learner import DeepLearner, DeepModel
from ._levels import level_by_level
from ._network import ReluNetwork
from ._network_training import RECORDS, Trainer
from ._ridge import ridge_network

_PRESETS = ("practical", "spectral", "theorem")
_FEATURES, _LINKS = 600, 50  # widths of the closed-form presets
_WIDTH, _LEAST, _MOST = 6, 256, 512  # width over root of n, and its bounds
_STEPS = 200  # times the square root of the batches in an epoch


@LEARNERS.add("layerwise")
class Layerwise(DeepLearner):
    r"""Network whose first layer is found before the others are fitted.

    The first layer comes from the label-weighted covariance of the inputs,

    .. math:: C = \frac1n \sum_\mu t_\mu u_\mu u_\mu^\top    [LW-1]

    (t: Gaussian score of the rank of the label; u: whitened inputs): its eigenvalues beyond the
    edges of the bulk [LW-2] belong to the directions that the label depends on. What these explain
    is taken off the labels and its exact mean put back [LW-8], in a few rounds: the noise of C is
    then that of the rest alone, and fewer samples show the directions. Neither their
    number nor the inner or outer functions of the target are told to it.

    Parameters
    ----------
    preset : {"practical", "spectral", "theorem"}
        ``"practical"``: half of the rows are Gaussian in the directions found, weighted by how
        well they are known [LW-4], half come from projected gradient steps [LW-3]; then all
        layers are trained by AdamW with a one-cycle rate. In further rounds the first layer is
        drawn anew with the covariance :math:`\overline{\nabla f \nabla f^\top}` of the best
        network so far, as long as the rows held out are predicted better. ``"spectral"``: rows as
        in the first half; then in closed form a second layer of rank one, the ridge fit [LW-5],
        and a link of its output; or, where that predicts the rows held out clearly better, several
        branches of Hermite features of the directions [LW-6], on which the same is done again, for
        as many layers as there are. ``"theorem"``: rows after projected gradient steps on the
        correlation with the labels themselves, second layer re-initialized, one preconditioned
        step on it [LW-5], and a ridge readout. Links and readout are fitted to the rows held out,
        which the layers below have not seen; they are the identity where that is as good.
    widths : sequence of int, optional
        Widths of the hidden layers, one less than the layers. None: :math:`6 \sqrt n` between 256
        and 512 and a fifth of it, or (600, 50) for the presets in closed form. ``"theorem"`` has
        at most two.
    correction : bool
        Whether what is explained is taken off the labels of the first stage [LW-8].
    rounds : int
        Largest number of rounds; this and what follows concern ``"practical"`` alone.
    steps : int, optional
        Updates of a round. None: 200 times the square root of the batches in an epoch, at least
        100.
    batch_size : int
        Rows of an update; every epoch takes them in a new order.
    step_size : float
        Largest rate of AdamW.
    weight_decay : float
        All parameters are multiplied by 1 - rate * weight_decay at each update.
    chunk_size : int, optional
        Rows that are treated at a time outside the training; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the weights, the rows that are held out and the order of the others.

    Attributes
    ----------
    weights_ : array (widths[0], d)
        First layer, in units of the standardized features; the directions themselves where they
        make branches.
    directions_ : array (k, d)
        Orthonormal: the directions that stand out of the bulk, in units of the standardized
        features; none of them if nothing does.
    eigenvalue_ratios_ : array (d,)
        Eigenvalues of C, corrected, over the edge of their side, decreasing.
    residual_shares_ : ndarray (rounds,)
        Share of the variance of t that is not explained, after each round of the correction; empty
        where no direction stands out or the inputs are far from Gaussian.
    kernel_ : bool
        Whether ridge regression with the quadratic kernel [LW-7] predicts, because the network is
        not better than that.
    constant_ : bool
        Whether the mean label is predicted, because nothing is better than that.
    validation_mse_, constant_mse_ : float
        Mean square error on the rows held out, of what predicts and of the mean label. The first
        is a little too small, since these rows have chosen the network.
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
    A target :math:`g(h)`, h a sum of D functions :math:`P(z_i)/\sqrt D` of hidden directions,
    shows its directions to C with n of order d D samples if g has a linear part and P one of
    degree two (or one, which the mean of t u shows). Then the second layer learns h, a function
    of D variables, and the third g: two layers would need all powers of h at once. Where the
    linear part of g or the first two degrees of P are missing it finds nothing and says so.

    The network is compared with :math:`(x \cdot x')^2 + x \cdot x' + 1`, which is better where
    the directions are not yet found and the label has a part of degree two: n below d D, or several
    branches at n = d^2. Its fit then takes all rows, and ``weights_``, ``hidden`` stay those of
    the network.

    Cost: about 120 n d^2 for C and the kernel, then 6 operations for each parameter and row of a
    batch. Memory beyond X: a standardized copy in float32; with branches also their features, at
    most 2^26 numbers.

    References
    ----------
    dandi2025depth, nichani2023three, lu2017spectral, mondelli2017weak

    Examples
    --------
    >>> import gradone as gd
    >>> target = gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> s = target.sample(n=1500, d=25, seed=0)
    >>> learner = Layerwise(random_state=0).fit(s.X, s.y)
    >>> learner.directions_.shape, learner.validation_mse_ < 0.3 * learner.constant_mse_
    ((5, 25), True)
    """

    cites = ("dandi2025depth", "nichani2023three", "lu2017spectral", "mondelli2017weak")
    cost = Cost(
        "120 n d^2, and 6 rounds steps batch_size (d p1 + p1 p2) operations",
        lambda s: (
            2e10 + 120 * s.n * s.d**2 + s.rounds * (s.steps or 0) * step_of(s)
        ),  # a start takes a second
        layers_of,
    )

    numerics = 5  # Gaussian inputs of many rows and columns are corrected as well
    _falls_back_on_kernel = True

    def __init__(
        self,
        preset: str = "practical",
        *,
        widths: Sequence[int] | None = None,
        correction: bool = True,
        rounds: int = 4,
        steps: int | None = None,
        batch_size: int = 256,
        step_size: float = 3e-3,
        weight_decay: float = 0.3,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.preset = preset
        self.widths = widths
        self.correction = correction
        self.rounds = rounds
        self.steps = steps
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.chunk_size = chunk_size
        self.random_state = random_state

    @property
    def _layers(self) -> tuple[int, ...]:
        if self.widths is not None:
            return tuple(self.widths)
        if self.preset != "practical":
            return _FEATURES, _LINKS
        first = min(max(_LEAST, round(_WIDTH * math.sqrt(self._n))), _MOST)
        return first, first // 5

    def _learned(
        self, data: SplitData, X: Any, y: Any, rng: np.random.Generator
    ) -> tuple[DeepModel, np.ndarray, str]:
        # The theorem's first stage is a gradient: its weights are the labels themselves.
        weights = rank_scores(data.y) if self.preset != "theorem" else data.y - data.y.mean()
        corrections = ROUNDS if self.correction else 0
        spectrum, shares = label_spectrum(data.X, weights, rng, rounds=corrections)
        self.residual_shares_ = like(X, np.array(shares))
        basis = spectrum.basis @ spectrum.axes
        self.directions_ = like(X, orthonormal_rows(basis) if len(basis) else basis)
        self.eigenvalue_ratios_ = like(X, np.sort(spectrum.ratios)[::-1].copy())
        count = number_of(len(basis), "direction")
        stand = "stands" if len(basis) == 1 else "stand"
        found = f"{count} {stand} out of the label-weighted covariance."
        if len(basis) > self._layers[0]:
            raise BadData(
                f"widths[0] = {self._layers[0]} is too small for this target: {found} Use a first "
                f"layer of at least {len(basis)} neurons, better of several times as many."
            )
        if self.preset == "practical":
            network = self._trained(data, X, y, spectrum, rng)
            return network, data.held_out_errors(network), found
        widths = self._layers
        if self.preset == "theorem":
            return *ridge_network(data, spectrum.power_rows(widths[0], rng), widths, rng), found
        rows = spectrum.weighted_rows(widths[0], rng)
        model, errors, branches = level_by_level(data, rows, basis, widths, rng)
        return model, errors, found + branches

    def _trained(
        self, data: SplitData, X: Any, y: Any, spectrum: LabelSpectrum, rng: np.random.Generator
    ) -> ReluNetwork:
        """Rounds of training, each from the directions that the best network depends on."""
        widths = self._layers
        trainer = Trainer(data, self._schedule(data, _STEPS), rng)
        half = widths[0] // 2
        rows = np.concatenate(
            [spectrum.weighted_rows(widths[0] - half, rng), spectrum.power_rows(half, rng)]
        )
        moment = partial(self._moment, trainer, X)
        total = RECORDS * self.rounds + 1
        with closing(fit_steps(self, total, X=X, y=y, learned=moment)) as records:
            for _ in range(self.rounds):
                before = trainer.best_mse
                finished = trainer.run(ReluNetwork.drawn(rows, widths, rng), records)
                if not finished or trainer.best_mse >= before or trainer.best is None:
                    break
                rows = spectrum.rows_like(trainer.best.sensitivity(data.X), widths[0], rng)
        self._keep(trainer)
        assert trainer.best is not None
        return trainer.best

    def _check_parameters(self) -> None:
        one_of("preset", self.preset, _PRESETS)
        super()._check_parameters()
        self._check_training()
        whole_number("rounds", self.rounds)
        one_of("correction", self.correction, (True, False))
        if self.preset == "theorem" and len(self._layers) > 2:
            raise BadData(
                "preset='theorem' has one or two hidden layers, as its theorem, got widths = "
                f"{self._layers}. Use another preset for deeper networks."
            )

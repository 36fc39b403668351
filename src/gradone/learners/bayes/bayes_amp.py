"""Bayes-AMP: the best that is known to be reachable with n = O(d) samples and a known link."""

from __future__ import annotations

import itertools
import math
import numbers
import warnings
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from ...base.arrays import check_fit, check_new, like, to_numpy
from ...base.cost import Cost
from ...base.errors import BadData
from ...channels.samples.channel import SampleChannel, sample_channel
from ...targets.sampled import whole_number
from ...targets.target import Target
from .._callbacks import CallbackSupportMixin, fit_steps, with_callbacks
from .._registry import LEARNERS
from .._standardize import Standardization, chunk_rows, standardization
from ._amp_diagnosis import diagnosis, evidence_gain
from ._amp_iteration import AmpRun, run_amp
from ._products import StandardizedProducts

if TYPE_CHECKING:
    import xarray as xr

_STARTS = ("uninformed", "spectral")
_SPECTRAL_OVERLAP = 0.1  # self-overlap of a spectral start, per direction
_BY_CHANCE = 6.0  # standard errors of a mean or of a scale, for all columns
_NOTICEABLE = 0.1  # change of a mean or of a scale that is worth a warning
_MOST_SKIPPED = 0.01


def _has_finitely_many_labels(learner: BayesAMP) -> bool:
    return isinstance(learner.channel, Target) and learner.channel.channel.kind == "discrete"


@LEARNERS.add("bayes_amp")
class BayesAMP(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    RegressorMixin,
    BaseEstimator,
):
    r"""Approximate message passing for a multi-index model; it must know the link (`channel`).

    Posterior mean of the directions :math:`W^\star` under a Gaussian prior, computed by message
    passing with the output function of the channel ([AMP-1] in the module of the iteration). For
    Gaussian features its overlaps follow state evolution (``gd.predict(target, "bayes_amp")``), and
    no efficient algorithm with n = O(d) samples is known that does better.

    Parameters
    ----------
    channel : Target
        The target that made the labels: its function g and its noise, not its directions.
    damping : float
        Share of the old iterate that is kept, in [0, 1); raised while the iteration oscillates.
    start : {"uninformed", "spectral"}
        Small random directions, or those of ``SpectralDirections(channel)``: the same fixed points
        in fewer iterations.
    max_iter : int
        Largest number of iterations of a run.
    tol : float
        A run has converged when the relative change of the directions stays below.
    restarts : int
        Number of further runs, from other starts, when a run does not converge. Kept is one that
        converged, else the one with the largest evidence.
    chunk_size : int, optional
        Rows that are multiplied at a time; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Start and kicks.

    Attributes
    ----------
    directions_ : array (r, d)
        Posterior means of the directions, in units of the standardized features: ``transform``
        returns ``((X - mean_) / scale_) @ directions_.T``. They are not normalized:
        ``directions_ @ W_star.T`` estimates the overlap matrix M of state evolution, up to the
        symmetries of the target; a row is short where little is known.
    overlap_ : ndarray (r, r)
        Self-overlap ``directions_ @ directions_.T``; equals ``I - covariance_`` in theory.
    covariance_ : ndarray (r, r)
        Posterior covariance V of the projections z of a new input.
    status_ : {"converged", "not converged", "diverged"}
        How the run that is kept ended.
    converged_ : bool
        Whether it converged.
    n_iter_ : int
        Its number of iterations.
    gain_ : Estimate
        Gain in log evidence per label over knowing nothing; says little of an unconverged run.
    diagnosis_ : str
        What was learned and what was not, in words.
    n_skipped_ : int
        Labels that were impossible at the last cavity means, and did not count.
    history_ : xarray.Dataset
        Over `step`, all runs one after the other (`run`): relative change, damping, log evidence
        per label, eigenvalues of the self-overlap.
    mean_, scale_ : array (d,)
        Centre and scale of the features; the scale of a constant column is 1.

    Notes
    -----
    It learns the directions that state evolution says are learnable at alpha = n/d: trivial ones at
    any alpha, easy ones above a threshold, later stages after earlier ones (a converged run is
    kicked along what it has not learned, at most twice). Of hard targets (``sign(z1*z2*z3)``) it
    learns nothing at n = O(d).

    Within about 50 % of a threshold a finite sample may not show a direction although the limit of
    large d does; such runs wander and are reported as "not converged". Averages over runs must
    count them: the converged ones alone are biased upwards.

    The theory wants independent features of mean 0 and variance 1. X is centred and scaled column
    by column, with a warning if this changes it much, unless chance explains all means and
    variances: then it stays as it is. Correlated features may make the iteration diverge. In
    float32 only the two products with X are done in single precision.

    References
    ----------
    troiani2024limits, aubin2018committee

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("sign(z1*z2)").sample(n=1600, d=200, seed=1)
    >>> learner = BayesAMP(gd.Target("sign(z1*z2)"), random_state=0).fit(s.X, s.y)
    >>> learner.status_
    'converged'
    >>> overlaps = np.linalg.svd(learner.directions_ @ s.W_star.T, compute_uv=False)
    >>> bool(overlaps.min() > 0.9)
    True
    """

    cites = ("troiani2024limits", "aubin2018committee")
    numerics = 3
    cost = Cost(
        "4 n d r operations and n posteriors of the channel at each of about 100 iterations",
        lambda s: 150 * s.n * (4 * s.d * s.r + 4e4),  # a posterior counts as 4e4
    )

    def __init__(
        self,
        channel: Target,
        *,
        damping: float = 0.5,
        start: str = "uninformed",
        max_iter: int = 400,
        tol: float = 1e-3,
        restarts: int = 1,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.channel = channel
        self.damping = damping
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.restarts = restarts
        self.chunk_size = chunk_size
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any) -> BayesAMP:
        """Estimate the directions.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs, in theory independent Gaussians.
        y : array-like (n,)
            Labels that can come out of the channel.

        Returns
        -------
        BayesAMP
            Itself.
        """
        self._check_parameters()
        channel = sample_channel(self.channel)
        _, X, y = check_fit(self, X, y, labels="exact", fixed_units="y")
        y = to_numpy(y)
        channel.check_labels(y)
        columns = standardization(X, owner=type(self).__name__, rows=self.chunk_size)
        if len(columns.kept) < channel.r:
            raise BadData(
                f"X has {len(columns.kept)} columns that vary, the channel "
                f"'{self.channel.text}' has r = {channel.r} directions. At least as many columns "
                "as directions are needed: give more features, or another channel."
            )
        columns = _kept_if_standard(columns, X.shape[0])
        products = StandardizedProducts(X, columns, self.chunk_size)
        runs = self._runs(products, y, channel)
        best = max(runs, key=lambda run: (run.status == "converged", run.log_evidence))
        self._store(X, y, columns, channel, runs, best)
        return self

    def predict(self, X: Any) -> Any:
        """Posterior mean of the label at new inputs (n,): the smallest mean square error.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        return self._over_blocks(X, SampleChannel.mean)

    @available_if(_has_finitely_many_labels)  # type: ignore[untyped-decorator]
    def predict_label(self, X: Any) -> Any:
        """Most probable label at new inputs (n,): the fewest wrong labels.

        Only of channels with finitely many values. It need not be the value nearest to ``predict``
        if there are more than two.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X, method="predict_label")
        return self._over_blocks(X, SampleChannel.most_probable)

    def _over_blocks(
        self,
        X: Any,
        answer: Callable[[SampleChannel, np.ndarray, np.ndarray], np.ndarray],
    ) -> Any:
        """What the channel says of the labels at the projections of new inputs, (n,)."""
        channel = sample_channel(self.channel)
        omega = np.asarray(to_numpy(self._project(X)), dtype=float)
        rows = chunk_rows(1024)  # the rule over the label may have some hundred nodes
        blocks = [omega[i : i + rows] for i in range(0, len(omega), rows)]
        V = np.asarray(to_numpy(self.covariance_), dtype=float)
        return like(X, np.concatenate([answer(channel, block, V) for block in blocks]))

    def transform(self, X: Any) -> Any:
        """Posterior means of the projections z of new inputs, (n, r).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X, method="transform")
        return self._project(X)

    def _project(self, X: Any) -> Any:
        columns = Standardization(to_numpy(self.mean_), to_numpy(self.scale_))
        products = StandardizedProducts(X, columns, self.chunk_size)
        W = math.sqrt(X.shape[1]) * to_numpy(self.directions_).T
        return like(X, products.forward(W))

    def _runs(
        self, products: StandardizedProducts, y: np.ndarray, channel: SampleChannel
    ) -> list[AmpRun]:
        rng = np.random.default_rng(self.random_state)
        runs: list[AmpRun] = []
        total = self.max_iter * (1 + self.restarts)
        with closing(fit_steps(self, total, X=products.X, y=y)) as steps:
            while len(runs) <= self.restarts and not (runs and runs[-1].status == "converged"):
                run = run_amp(
                    products,
                    y,
                    channel,
                    W=self._first(products, y, rng),
                    steps=itertools.islice(steps, self.max_iter),
                    damping=self.damping,
                    tol=self.tol,
                    rng=rng,
                )
                if runs and not run.n_iter:  # a callback has asked to stop
                    break
                runs.append(run)
        return runs

    def _first(
        self, products: StandardizedProducts, y: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """First iterate W (d, r)."""
        varies, r, d = products.columns.scale > 0, self.channel.r, products.d
        W = np.zeros((len(varies), r))
        if self.start == "spectral":
            from .spectral_directions import SpectralDirections

            finder = SpectralDirections(self.channel, random_state=rng, chunk_size=self.chunk_size)
            found = to_numpy(finder.fit(products.X, y).directions_).astype(float)
            # A random rotation: the coordinates of z are not known, only a subspace. A matrix of
            # independent numbers may claim overlaps above 1, which no posterior has.
            rotation = np.linalg.qr(rng.standard_normal((r, r)))[0]
            W += math.sqrt(_SPECTRAL_OVERLAP * d) * found[:r].T @ rotation[: len(found)]
        W[varies] += rng.standard_normal((d, r)) / math.sqrt(d)
        return W

    def _store(
        self,
        X: Any,
        y: np.ndarray,
        columns: Standardization,
        channel: SampleChannel,
        runs: list[AmpRun],
        best: AmpRun,
    ) -> None:
        d = len(columns.kept)
        self.directions_ = like(X, np.ascontiguousarray(best.W.T) / math.sqrt(d))
        self._n_features_out = channel.r
        self.overlap_ = like(X, best.W.T @ best.W / d)
        self.covariance_ = like(X, best.V)
        self.status_, self.n_iter_ = best.status, best.n_iter
        self.converged_ = best.status == "converged"
        self.gain_ = evidence_gain(best, y, channel)
        self.diagnosis_ = diagnosis(best, self.gain_, d)
        self.n_skipped_ = int(np.sum(~np.isfinite(best.posterior.log_z)))
        self.history_ = _history(runs, channel.r)
        self.mean_ = like(X, columns.mean)
        self.scale_ = like(X, np.where(columns.scale > 0, columns.scale, 1.0))
        if self.n_skipped_ > _MOST_SKIPPED * len(y):
            warnings.warn(
                f"{self.n_skipped_} of {len(y)} labels are impossible at their predicted mean and "
                "were left out: does the channel (its noise?) fit the data?",
                UserWarning,
                stacklevel=4,
            )
        if not self.converged_:
            warnings.warn(self.diagnosis_, ConvergenceWarning, stacklevel=4)

    def _check_parameters(self) -> None:
        if not isinstance(self.channel, Target):
            raise BadData(
                f"channel must be a Target, got {self.channel!r}: Bayes-AMP must know the link and "
                'the noise. Write channel=gradone.Target("sign(z1*z2)"); if the link is unknown, '
                "SpectralDirections() does without it."
            )
        if self.start not in _STARTS:
            raise BadData(f"start must be 'uninformed' or 'spectral', got {self.start!r}")
        whole_number("max_iter", self.max_iter)
        whole_number("restarts", self.restarts, least=0)
        if self.chunk_size is not None:
            whole_number("chunk_size", self.chunk_size)
        if not (isinstance(self.damping, numbers.Real) and 0 <= self.damping < 1):
            raise BadData(f"damping must be a number in [0, 1), got {self.damping!r}")
        if not (isinstance(self.tol, numbers.Real) and self.tol > 0):
            raise BadData(f"tol must be a number > 0, got {self.tol!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.regressor_tags.poor_score = True  # labels of another channel are predicted badly
        return tags


def _kept_if_standard(columns: Standardization, n: int) -> Standardization:
    """Mean 0 and scale 1 if chance explains what differs from them; a warning if it is far off.

    Sample means of standard features differ from 0 by chance. Taking them off would shift every
    projection by O(1/sqrt(n)), more than a label without noise allows once its direction is known.
    """
    varies = columns.scale > 0
    mean, scale = columns.mean[varies], columns.scale[varies]
    shift, stretch = float(np.abs(mean).max()), float(np.abs(scale - 1).max())
    chance = _BY_CHANCE / math.sqrt(n)
    if shift <= chance and stretch <= chance / math.sqrt(2):
        return Standardization(np.zeros(len(varies)), varies.astype(float))
    if shift > _NOTICEABLE + chance or stretch > _NOTICEABLE + chance / math.sqrt(2):
        warnings.warn(
            f"X was centred and scaled: its columns had means up to {shift:.3g} and standard "
            f"deviations from {scale.min():.3g} to {scale.max():.3g}. The channel is taken as a "
            "function of the standardized features.",
            UserWarning,
            stacklevel=4,
        )
    return columns


def _history(runs: list[AmpRun], r: int) -> xr.Dataset:
    """Traces of all runs, one after the other."""
    import xarray as xr

    traces = [run.trace for run in runs]
    joined = {
        name: np.array([value for trace in traces for value in getattr(trace, name)], dtype=float)
        for name in ("change", "damping", "log_evidence")
    }
    overlap = [values for trace in traces for values in trace.self_overlap]
    number = np.repeat(np.arange(len(runs)), [run.n_iter for run in runs])
    values = {name: ("step", column) for name, column in joined.items()}
    return xr.Dataset(
        {
            **values,
            "self_overlap": (("step", "eigenvalue"), np.reshape(overlap, (-1, r))),
            "run": ("step", number),
        },
        coords={"step": np.arange(1, len(number) + 1)},
        attrs={"status": [run.status for run in runs]},
    )

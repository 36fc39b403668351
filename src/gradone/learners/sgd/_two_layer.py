r"""What the learners that train a two-layer network by gradients have in common."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from ...base.arrays import array_namespace, check_new, like, to_numpy
from ...base.errors import BadData, NotConverged
from ...targets.sampled import whole_number
from ...targets.student import INITS
from ...targets.training import TrainedStudent, check_decay, read_training
from .._standardize import chunk_rows, label_scale, row_blocks, standardization
from ._machine import Network

SHARE = 0.25  # of the largest stable step
ROWS_OF_STEP = 4096  # that the curvature is estimated from
_INNER = 0.5  # inner step over outer step
_RADIUS = 0.05
_GAMMA = 0.3
STUDENT = tuple(field.name for field in fields(TrainedStudent))


class Trained(Protocol):
    """A network that was trained."""

    weights: np.ndarray
    readout: np.ndarray
    bias: np.ndarray
    updates: int
    diverged: bool


class TwoLayerBase(BaseEstimator):
    r"""What a network of neurons :math:`\sigma(w_j \cdot x + b_j)` learns with, for any labels.

    A learner has the parameters of a student and of its update (:func:`read_training`),
    ``standardize`` and ``random_state``, and a method ``_network`` that builds what was learned.
    """

    weights_: Any
    chunk_size: int | None = None
    _reused = False  # whether every update sees all rows

    @property
    def directions_(self) -> Any:
        """The weights: overlaps of a simulation are those of the neurons."""
        return self.weights_

    @property
    def _given(self) -> dict[str, Any]:
        """Parameters of the student and its update."""
        return {name: value for name, value in self.get_params().items() if name in STUDENT}

    def _learned(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies of weights, readout and bias."""
        parts = (self.weights_, self.readout_, self.bias_)
        weights, readout, bias = (np.array(to_numpy(part)) for part in parts)
        return weights, readout, bias

    def _inputs(self, X: np.ndarray) -> np.ndarray:
        """Rows as the network sees them."""
        if self.standardize:
            X = (X - to_numpy(self.mean_)) / to_numpy(self.scale_)
        return np.ascontiguousarray(X)

    def _outputs(self, X: Any) -> np.ndarray:
        """Values of the network at new inputs that were checked, chunk by chunk."""
        rows, network = to_numpy(X), self._network()
        parts = row_blocks(len(rows), self.chunk_size or chunk_rows(rows.shape[1]))
        return np.concatenate([network(self._inputs(rows[part])) for part in parts])

    def _prepare(self, X: Any, student: TrainedStudent, rng: np.random.Generator) -> np.ndarray:
        """Scales, step size and first weights, from the first rows that are seen."""
        if not isinstance(self.standardize, bool | np.bool_):
            raise BadData(f"standardize must be True or False, got {self.standardize!r}")
        if self.chunk_size is not None:
            whole_number("chunk_size", self.chunk_size)
        rows = to_numpy(X)
        d = rows.shape[1]
        mean, scale = np.zeros(d), np.ones(d)
        if self.standardize:
            columns = standardization(rows, owner=type(self).__name__, rows=self.chunk_size)
            mean, scale = columns.mean, np.where(columns.scale > 0, columns.scale, 1.0)
        self.mean_, self.scale_ = like(X, mean), like(X, scale)
        if student.step_size == "auto":
            student = with_steps(student, SHARE * self._stable_step(student, rows), d)
            check_decay(student.eta, student.weight_decay)
        self._student, self.step_size_, self.n_iter_ = student, student.eta, 0
        if hasattr(self, "weights_"):  # of an earlier fit
            del self.weights_
        return first_weights(student, d, rng).astype(rows.dtype)

    def _stable_step(self, student: TrainedStudent, rows: np.ndarray) -> float:
        return stable_step(student, self._inputs(rows[:ROWS_OF_STEP]), reused=self._reused)

    def _store(self, X: Any, network: Trained) -> None:
        """Keep what was learned; raise if the network ran away."""
        made = self.n_iter_ + network.updates
        if network.diverged:
            stable = self._stable_step(self._student, to_numpy(X))
            raise NotConverged(
                f"{type(self).__name__} diverged at update {made}: with step_size = "
                f"{self.step_size_:.3g} the weights grew beyond all bounds. The largest step that "
                f"is stable at the start is about {stable:.3g}: use a smaller step_size, "
                'or "auto", or geometry="spherical". The weights until then are in error.last.',
                last=network.weights,
            )
        self.n_iter_ = made
        double = array_namespace(X).float64
        self.weights_ = like(X, network.weights)
        self.readout_ = like(X, network.readout, dtype=double)
        self.bias_ = like(X, network.bias, dtype=double)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        # A few neurons and, for the checks of scikit-learn, a few hundred updates.
        for kind in (tags.regressor_tags, tags.classifier_tags):
            if kind is not None:
                kind.poor_score = True
        return tags


class TwoLayerLearner(RegressorMixin, TwoLayerBase):
    """Base of the learners whose labels are numbers."""

    def predict(self, X: Any) -> Any:
        """Labels of new inputs (n,).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        return like(X, self.label_mean_ + self.label_scale_ * self._outputs(X))

    @property
    def _fixed_units(self) -> str:
        """What the network sees as it is."""
        return "" if self.standardize else "Xy"

    def _network(self) -> Network:
        """The network that was learned."""
        return Network(self._student, *self._learned())

    def _labels(self, y: np.ndarray) -> np.ndarray:
        return (np.asarray(y, dtype=np.float64) - self.label_mean_) / self.label_scale_

    def _begin(
        self,
        X: Any,
        y: np.ndarray,
        *,
        rng: np.random.Generator,
        batch_size: int,
        reused: bool = False,
    ) -> Network:
        """The first network, and the scale of the labels.

        `reused` says that every update sees all rows.
        """
        self._reused = reused
        student = read_training(optimizers=not reused, **self._given | {"batch_size": batch_size})
        if student.residual.needs_signs and not np.isin(y, (-1.0, 1.0)).all():
            raise BadData(f"{student.loss} loss needs labels -1 and 1: write 2*y - 1 for 0 and 1")
        weights = self._prepare(X, student, rng)
        self.label_mean_, self.label_scale_ = 0.0, 1.0
        if self.standardize and not student.residual.needs_signs:
            self.label_mean_, spread = label_scale(y)
            self.label_scale_ = spread or 1.0
        return Network(self._student, weights)


def first_weights(student: TrainedStudent, d: int, rng: np.random.Generator) -> np.ndarray:
    """First weights (width, d) of a student."""
    p = student.width
    if isinstance(student.init, tuple):
        weights = np.array(student.init)
        if weights.shape != (p, d):
            raise BadData(
                f"init must have {d} columns, one for each feature, got an array of shape "
                f"{weights.shape}"
            )
        return weights
    if student.init not in INITS:
        raise BadData(
            "init: overlaps start a theory or an engine; a learner does not know the target "
            "and takes 'random', 'orthogonal' or an array of weights"
        )
    weights = rng.standard_normal((p, d))
    if student.init == "orthogonal":
        if p > d:
            raise BadData(
                f"{p} neurons cannot be orthogonal in d = {d} dimensions; "
                "use init='random' or a smaller width"
            )
        return np.ascontiguousarray(np.linalg.qr(weights.T)[0].T)
    return weights / np.linalg.norm(weights, axis=1, keepdims=True)


def stable_step(student: TrainedStudent, X: np.ndarray, *, reused: bool) -> float:
    r"""Largest step at which small errors shrink in mean square, for random unit neurons.

    With the second moments :math:`C = E[x x^\top]` of the inputs and batches of b samples,

    .. math:: \eta < \frac{2}{(\lambda_{max}(C) + \mathrm{Tr}\,C/b)\,\sum_j a_j^2 E[\sigma'(u)^2]}.
              \qquad [GD-4]

    Parameters
    ----------
    student : TrainedStudent
        The network.
    X : ndarray (n, d)
        Rows that stand for all.
    reused : bool
        Whether every update sees all rows: then there is no term with b.
    """
    slope2 = student.sigma.derivative().expression.second_moment().value
    trace = float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / len(X)
    top = _largest_eigenvalue(X)
    curvature = sum(a * a for a in student.a) * slope2
    curvature *= top + (0.0 if reused else trace / student.batch_size)
    return 2.0 / curvature if curvature > 0 and math.isfinite(curvature) else 1.0


def _largest_eigenvalue(X: np.ndarray, iterations: int = 12) -> float:
    """Of X^T X/n, by power iteration; never above the truth."""
    v: np.ndarray = np.random.default_rng(0).standard_normal((X.shape[1],)).astype(X.dtype)
    value = 0.0
    for _ in range(iterations):
        v = X.T @ (X @ v) / len(X)
        size = float(np.linalg.norm(v))
        if size == 0:
            return 0.0
        v, value = v / size, size
    return value


def with_steps(student: TrainedStudent, eta: float, d: int) -> TrainedStudent:
    """The student with a step size, and the inner ones that were left open.

    Steps of optimizers that forget the length of a gradient are `_GAMMA` in the units of the flow.
    """
    eta = {"sgd": eta * (1 - student.momentum), "normalized": _GAMMA / math.sqrt(d),
           "muon": _GAMMA / math.sqrt(d)}.get(student.optimizer, _GAMMA / d)  # fmt: skip
    given: dict[str, Any] = {"step_size": eta}
    if student.rule in ("extragradient", "sam") and student.inner_step_size is None:
        given["inner_step_size"] = _INNER * eta
    if student.rule == "sam_normalized" and student.radius is None:
        given["radius"] = _RADIUS
    return replace(student, **given)

"""The updates of :mod:`._descent` as machine code, for one activation."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...targets.language.compiled import load_module, module_source, pattern
from ...targets.language.expression import Expression
from ...targets.losses import Residual
from ...targets.training import GEOMETRIES, Rule, TrainedStudent
from ._optimizers import Optimizer, move

_PATTERN = Path(__file__).with_name("_descent.py")
_KINDS: dict[Rule, int] = {
    "plain": 0, "extragradient": 1, "sam": 1, "sam_normalized": 2, "k_steps": 3, "look_ahead": 3,
}  # fmt: skip
_FAR = 1e6  # neurons start with norm 1: one of this norm has run away
_FAR_LABEL = 1e12


class Network:
    """Weights, readout and bias of a two-layer network that is being trained.

    Parameters
    ----------
    student : TrainedStudent
        The network and its update; the step size is a number.
    weights : ndarray (width, d)
        First weights, in the precision of the samples; they are changed in place.
    readout, bias : ndarray (width,), optional
        Those of the student if None.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> student = read_training(width=1, activation="z", step_size=0.5)
    >>> network = Network(student, np.zeros((1, 2)))
    >>> errors = network.train(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([1.0, 1.0]))
    >>> errors, network.weights, network.updates
    (array([1. , 0.5]), array([[0.75, 0.5 ]]), 2)
    """

    def __init__(
        self,
        student: TrainedStudent,
        weights: np.ndarray,
        readout: np.ndarray | None = None,
        bias: np.ndarray | None = None,
    ) -> None:
        self.student = student
        self.weights = weights
        self.readout = np.array(student.a if readout is None else readout)
        self.bias = np.array(student.b if bias is None else bias)
        self.updates = 0
        self.diverged = False
        self._descend: Callable[..., int] | None = None  # compiled on the first update
        self.optimizer: Optimizer | None = None  # None: plain SGD

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Values f (n,) at the rows of X."""
        fields = (X @ self.weights.T).astype(np.float64)
        return self.student.sigma(fields + self.bias) @ self.readout

    def train(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Make one update for every batch of rows; y - f of each row before its update.

        The last batch may be smaller. Stops, with ``diverged`` set, after the update at which the
        network ran away.

        Parameters
        ----------
        X : ndarray (n, d)
            Samples, contiguous, in the precision of the weights.
        y : ndarray (n,)
            Labels, in double precision.
        """
        s, errors = self.student, np.zeros(len(y))
        if self.optimizer is not None:
            return self._optimize(self.optimizer, X, y, errors)
        inner = -(s.radius or 0.0) if s.rule == "sam_normalized" else s.inner_eta
        repeated_eta = s.eta if s.rule == "k_steps" else inner
        if self._descend is None:
            self._descend = _compiled(s.sigma.expression, s.loss, s.loss_scale)
        made = self._descend(
            self.weights, self.readout, self.bias, X, y, errors,
            s.batch_size,
            _KINDS[s.rule],
            GEOMETRIES.index(s.geometry),
            s.eta, repeated_eta, s.inner_steps,
            1.0 if s.interpolation is None else s.interpolation,
            1.0 - s.eta * s.weight_decay,
            s.train_readout or 0.0,
            s.train_bias or 0.0,
            _FAR,
            _FAR_LABEL * (1.0 + float(np.abs(y).max(initial=0.0))),
        )  # fmt: skip
        self.diverged = made < 0 or not all(
            np.isfinite(part).all() for part in (self.weights, self.readout, self.bias)
        )
        self.updates += abs(made)
        return errors

    def _optimize(
        self, optimizer: Optimizer, X: np.ndarray, y: np.ndarray, errors: np.ndarray
    ) -> np.ndarray:
        """The same with an optimizer, by whole arrays."""
        s, slope = self.student, self.student.sigma.derivative()
        limit = _FAR_LABEL * (1.0 + float(np.abs(y).max(initial=0.0)))
        for first in range(0, len(y), s.batch_size):
            x, label = X[first : first + s.batch_size], y[first : first + s.batch_size]
            fields = (x @ optimizer.seen_from(self.weights).T).astype(np.float64) + self.bias
            features = s.sigma(fields)
            f = features @ self.readout
            e = s.residual(label, f)
            errors[first : first + len(label)] = label - f
            push = self.readout * e[:, None] * slope(fields)
            eta = optimizer.rate * s.eta
            G = optimizer.pushes(push, x).T @ x / len(label)
            sizes = move(s, self.weights, eta, optimizer.direction(G))
            rate = eta / s.eta
            self.readout += rate * (s.train_readout or 0.0) * (e[:, None] * features).mean(axis=0)
            self.bias += rate * (s.train_bias or 0.0) * push.mean(axis=0)
            self.updates += 1
            self.diverged = not ((sizes < _FAR).all() and (np.abs(f) < limit).all())
            if self.diverged:
                break
        return errors


@lru_cache(maxsize=64)
def _compiled(activation: Expression, loss: str, scale: float) -> Callable[..., int]:
    functions = {
        "sigma": (activation.tree, 1),
        "slope": (activation.derivative().tree, 1),
        "residual": (Residual(loss, scale).tree, 2),
    }
    source = module_source(functions) + "\nimport numpy as np\n\n" + pattern(_PATTERN)
    descend: Any = load_module(source).descend
    return descend

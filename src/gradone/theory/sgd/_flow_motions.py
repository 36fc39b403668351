r"""What moves in the flow: the order parameters, and what else an update remembers or tells apart.

A motion has a state, made of arrays, and its velocity; what it needs to know of a sample are the
means at the neurons of that state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...targets.covariance import Covariance
from ...targets.training import TrainedStudent
from ._flow_means import Means
from ._flow_push import Neurons


class Motion(ABC):
    """A state of the flow and how it moves.

    Parameters
    ----------
    student : TrainedStudent
        With d times the step sizes.
    second_order : bool
        Whether the noise of the updates is kept.
    """

    symmetric: ClassVar[tuple[str, ...]]
    """Parts of the state that are symmetric matrices."""
    start: Any
    """The state at time zero, a named tuple of arrays."""

    def __init__(self, student: TrainedStudent, *, second_order: bool) -> None:
        self.student, self.second_order = student, second_order

    @abstractmethod
    def neurons(self, state: Any) -> Neurons:
        """The order parameters of the fields."""

    @abstractmethod
    def velocity(self, found: Means, state: Any, rate: float) -> Any:
        """Time derivative of a state; `rate` is the factor of all step sizes at this time."""

    def quantities(self, states: list[Any]) -> dict[str, np.ndarray]:
        """What a user sees of the states beyond their neurons."""
        return {}

    def noise(self, found: Means, rate: float) -> np.ndarray:
        """The last term of [FL-1]."""
        factor = rate**2 / self.student.batch_size if self.second_order else 0.0
        return factor * found.squares

    def rest_of_network(self, found: Means, rate: float) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of readout and bias."""
        student = self.student
        return (
            rate * (student.train_readout or 0.0) * found.readout,
            rate * (student.train_bias or 0.0) * found.bias,
        )


class NeuronMotion(Motion):
    """The order parameters alone [FL-1].

    Parameters
    ----------
    student, second_order
        See :class:`Motion`.
    start : Neurons
        The state at time zero.
    """

    symmetric = ("rest",)

    def __init__(self, student: TrainedStudent, start: Neurons, *, second_order: bool) -> None:
        super().__init__(student, second_order=second_order)
        self.start = start

    def neurons(self, state: Neurons) -> Neurons:
        """The state itself."""
        return state

    def velocity(self, found: Means, state: Neurons, rate: float) -> Neurons:
        """[FL-1] with [FL-3]."""
        student, M, rest = self.student, state.M, state.rest
        # [FL-1] less the part along the hidden directions, d(M M^T) = E[s z^T] M^T + its transpose.
        dM, drest = rate * found.with_z, rate * (found.with_rest + found.with_rest.T)
        drest = drest + self.noise(found, rate)
        if student.geometry == "euclidean":
            shrink = np.full(student.width, rate * student.eta * student.weight_decay)
        else:
            norms = (M * M).sum(axis=1) + np.diag(rest)
            # [FL-3]: all that would change the norm of a neuron is taken back, decay included.
            shrink = ((dM * M).sum(axis=1) + np.diag(drest) / 2) / norms
        return Neurons(
            dM - shrink[:, None] * M,
            drest - (shrink[:, None] + shrink) * rest,
            *self.rest_of_network(found, rate),
        )


class Buffered(NamedTuple):
    """Neurons and their buffers P = (1 - momentum) V: P W*^T, W P^T and P P^T."""

    M: np.ndarray
    rest: np.ndarray
    a: np.ndarray
    b: np.ndarray
    overlap: np.ndarray
    product: np.ndarray
    norm: np.ndarray


class BufferMotion(Motion):
    r"""Momentum that approaches one with the dimension, :math:`1 - \beta = \kappa/d`.

    With the buffer :math:`P = (1 - \beta)V`, steps :math:`\eta = \gamma\kappa/d^2`, the pushes
    :math:`\phi` of one sample and its products :math:`\mu = P x` with the buffers,

    .. math::
        \dot M = \gamma M_P, \quad \dot M_P = \kappa(\mathbb{E}[\phi z^\top] - M_P), \quad
        \dot Q = \gamma Q_{WP} + \gamma Q_{WP}^\top, \quad
        \dot Q_{WP} = \gamma Q_{PP} + \kappa(\mathbb{E}[\lambda\phi^\top] - Q_{WP}),

        \dot Q_{PP} = \kappa(\mathbb{E}[\phi\mu^\top] + \mathbb{E}[\mu\phi^\top] - 2 Q_{PP})
        + \tfrac{\kappa^2}{b}\,\mathbb{E}[\phi\phi^\top]. \qquad [FL-9]

    Parameters
    ----------
    student, second_order
        See :class:`Motion`; the means are those of pushes without a step size.
    start : Neurons
        The neurons at time zero; their buffers are zero.
    gamma, kappa : float
        The step size and the rate of forgetting.
    """

    symmetric = ("rest", "norm")

    def __init__(
        self, student: TrainedStudent, start: Neurons, gamma: float, kappa: float, *,
        second_order: bool,
    ) -> None:  # fmt: skip
        super().__init__(student, second_order=second_order)
        p, r = start.M.shape
        self.start = Buffered(*start, np.zeros((p, r)), np.zeros((p, p)), np.zeros((p, p)))
        self._gamma, self._kappa = gamma, kappa

    def neurons(self, state: Buffered) -> Neurons:
        """The weights without their buffers."""
        return Neurons(*state[:4])

    def velocity(self, found: Means, state: Buffered, rate: float) -> Buffered:
        """[FL-9]; a projected neuron is brought back, its buffer is not."""
        gamma, kappa, M, rest = rate * self._gamma, self._kappa, state.M, state.rest
        inside = state.product - M @ state.overlap.T  # products outside the hidden directions
        with_fields = found.with_rest + found.with_z @ M.T
        with_buffers = found.with_z @ state.overlap.T + on_rest(found, rest) @ inside
        dM = gamma * state.overlap
        drest = gamma * (inside + inside.T)
        dproduct = gamma * state.norm + kappa * (with_fields.T - state.product)
        dnorm = kappa * (with_buffers + with_buffers.T - 2 * state.norm)
        dnorm = dnorm + kappa**2 * self.noise(found, 1.0)
        if self.student.geometry != "euclidean":
            norms = (M * M).sum(axis=1) + np.diag(rest)
            shrink = gamma * np.diag(state.product) / norms
            dM = dM - shrink[:, None] * M
            drest = drest - (shrink[:, None] + shrink) * rest
            dproduct = dproduct - shrink[:, None] * state.product
        return Buffered(
            dM, drest, *self.rest_of_network(found, rate),
            kappa * (found.with_z - state.overlap), dproduct, dnorm,
        )  # fmt: skip

    def quantities(self, states: list[Buffered]) -> dict[str, np.ndarray]:
        """The buffers P."""
        return {
            f"buffer_{name}": np.stack([getattr(state, name) for state in states])
            for name in ("overlap", "product", "norm")
        }


class InBlocks(NamedTuple):
    """Overlaps (K, p, r) and norms (K, p, p) of the weights in each block, readout and bias."""

    overlaps: np.ndarray
    norms: np.ndarray
    a: np.ndarray
    b: np.ndarray


class BlockMotion(Motion):
    r"""Inputs whose covariance has a few eigenvalues :math:`s_k`, on parts :math:`f_k` of all axes.

    With the parts :math:`T_k` of the hidden directions and the regression
    :math:`\mathbb{E}[s\,|\,\lambda, z] \sim \alpha_\lambda\lambda + \alpha_z z` of the pushes,

    .. math::
        \dot M_k = s_k(\alpha_\lambda M_k + \alpha_z T_k), \qquad
        \dot Q_k = s_k(\alpha_\lambda Q_k + \alpha_z M_k^\top) + \text{transpose}
        + \tfrac1b s_k f_k\,\mathbb{E}[s s^\top]. \qquad [FL-10]

    Parameters
    ----------
    student, second_order
        See :class:`Motion`.
    start : Neurons
        Overlaps and products of the weights at time zero.
    covariance : Covariance
        The eigenvalues.
    """

    symmetric = ()

    def __init__(
        self, student: TrainedStudent, start: Neurons, covariance: Covariance, *,
        second_order: bool,
    ) -> None:  # fmt: skip
        super().__init__(student, second_order=second_order)
        self._s, self._f = covariance.eigenvalues, covariance.fractions
        self._T = T = np.stack(covariance.signal)
        total = T.sum(axis=0)
        A = start.M @ np.linalg.inv(total)  # the start is spread as the engine spreads it
        outside = start.rest + start.M @ start.M.T - A @ total @ A.T
        norms = A @ T @ A.T + self._f[:, None, None] * outside
        self.start = InBlocks(A @ T, norms, start.a, start.b)

    def neurons(self, state: InBlocks) -> Neurons:
        """Overlaps E[lambda z] and products E[lambda lambda] of the fields."""
        M, Q = (np.einsum("k,kij->ij", self._s, part) for part in state[:2])
        return Neurons(M, Q - M @ M.T, state.a, state.b)

    def velocity(self, found: Means, state: InBlocks, rate: float) -> InBlocks:
        """[FL-10] with the geometry of the whole weights."""
        student, (M, Q) = self.student, state[:2]
        fields = self.neurons(state)
        on_fields = on_rest(found, fields.rest)
        on_hidden = found.with_z - on_fields @ fields.M
        s = rate * self._s[:, None, None]
        dM = s * (on_fields @ M + on_hidden @ self._T)
        half = s * (on_fields @ Q + on_hidden @ M.transpose(0, 2, 1))
        shares = (self._s * self._f)[:, None, None]
        dQ = half + half.transpose(0, 2, 1) + shares * self.noise(found, rate)
        if student.geometry == "euclidean":
            shrink = np.full(student.width, rate * student.eta * student.weight_decay)
        else:
            shrink = np.diag(dQ.sum(axis=0)) / np.diag(Q.sum(axis=0)) / 2
        return InBlocks(
            dM - shrink[:, None] * M,
            dQ - (shrink[:, None] + shrink) * Q,
            *self.rest_of_network(found, rate),
        )

    def quantities(self, states: list[InBlocks]) -> dict[str, np.ndarray]:
        """The weights in each block."""
        return {
            "block_overlap": np.stack([state.overlaps for state in states]),
            "block_norm": np.stack([state.norms for state in states]),
        }


def on_rest(found: Means, rest: np.ndarray) -> np.ndarray:
    """Coefficients of the pushes on the parts of the fields outside the hidden directions."""
    return found.with_rest @ np.linalg.pinv(rest, rcond=1e-12, hermitian=True)

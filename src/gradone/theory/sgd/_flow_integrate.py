r"""The flow of the order parameters, integrated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...targets.optimizers import Schedule
from ...targets.training import TrainedStudent
from ._flow_means import MeanRule
from ._flow_push import Neurons

_DIVERGED = 1e4  # growth of Q from which nothing comes back
_MAX_EVALUATIONS = 20_000


class Trajectory(NamedTuple):
    """States and test errors at the asked times; NaN after `until`, for the reason `why`."""

    M: np.ndarray
    rest: np.ndarray
    a: np.ndarray
    b: np.ndarray
    mse: np.ndarray
    until: float
    why: str


def integrate(
    means: MeanRule,
    student: TrainedStudent,
    start: Neurons,
    times: np.ndarray,
    *,
    tolerance: float,
    rest_tolerance: float,
    second_order: bool,
) -> Trajectory:
    r"""Solution of the flow at increasing times.

    .. math::
        \dot M = \mathbb{E}[s z^\top], \qquad
        \dot Q = \mathbb{E}[s\lambda^\top] + \mathbb{E}[\lambda s^\top]
        + \tfrac1b\,\mathbb{E}[s s^\top] \qquad [FL-1]

    Parameters
    ----------
    means : MeanRule
        How the means are computed.
    student : TrainedStudent
        With d times the step sizes.
    start : Neurons
        State at time 0.
    times : ndarray
        Increasing, positive.
    tolerance : float
        Absolute and relative, of one step.
    rest_tolerance : float
        Absolute one of what is left of Q beside the hidden directions, which tends to zero where
        they are learned: errors of the size of an overlap's would leave no variance there.
    second_order : bool
        Whether the last term of [FL-1] is kept.
    """
    from scipy.integrate import solve_ivp

    p, r = start.M.shape
    upper = np.triu_indices(p)
    count, latest = 0, 0.0
    limit = _DIVERGED * (1 + _size(start))
    schedule = None if student.schedule is None else Schedule(student.schedule)

    def pack(neurons: Neurons) -> np.ndarray:
        return np.concatenate(
            [neurons.M.ravel(), neurons.rest[upper], neurons.a, neurons.b], dtype=np.float64
        )

    def unpack(state: np.ndarray) -> Neurons:
        M, rest, a, b = np.split(state, np.cumsum([p * r, len(upper[0]), p]))
        full = np.empty((p, p))
        full[upper] = rest
        full.T[upper] = rest
        return Neurons(M.reshape(p, r), full, a, b)

    def velocity(time: float, state: np.ndarray) -> np.ndarray:
        nonlocal count, latest
        count, latest = count + 1, time
        rate = 1.0 if schedule is None else float(schedule(np.array(time / times[-1])))
        return pack(_velocity(means, student, unpack(state), second_order=second_order, rate=rate))

    def leaves(_: float, state: np.ndarray) -> float:
        return limit - _size(unpack(state)) if count < _MAX_EVALUATIONS else -1.0

    smallest = np.full(len(pack(start)), tolerance)
    smallest[p * r : p * r + len(upper[0])] = rest_tolerance
    leaves.terminal = True  # type: ignore[attr-defined]
    with np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(
            velocity,
            (0.0, float(times[-1])),
            pack(start),
            method="DOP853" if means.is_smooth else "RK45",
            t_eval=times,
            events=leaves,
            rtol=tolerance,
            atol=smallest,
        )
    # Where the run ends before the first time, y is an empty list instead of an array.
    done = [unpack(state) for state in np.transpose(found.y)]
    missing = len(times) - len(done)
    nothing = Neurons(*(np.full_like(part, np.nan) for part in start))
    M, rest, a, b = (np.stack(parts) for parts in zip(*done, *[nothing] * missing, strict=True))
    mse = np.array([means(neurons).mse for neurons in done] + [np.nan] * missing)
    reached = float(times[-1]) if found.status == 0 else latest
    why = ""
    if missing and count >= _MAX_EVALUATIONS:
        why = f"the integration gave up after {count} evaluations near time {reached:.4g}"
    elif missing:
        why = (
            f"the weights diverge near time {reached:.4g}: the step size is too large for this "
            "student; use a smaller one, or the projected geometry"
        )
    return Trajectory(M, rest, a, b, mse, reached, why)


def _size(neurons: Neurons) -> float:
    """Sum of the squares of all weights."""
    return float(np.trace(neurons.rest) + (neurons.M**2).sum() + (neurons.a**2).sum())


def _velocity(
    means: MeanRule, student: TrainedStudent, neurons: Neurons, *, second_order: bool, rate: float
) -> Neurons:
    """Time derivative of a state; `rate` is the factor of all step sizes at this time."""
    found = means(neurons)
    M, rest = neurons.M, neurons.rest
    # [FL-1] less the part along the hidden directions, d(M M^T) = E[s z^T] M^T + its transpose.
    dM, drest = rate * found.with_z, rate * (found.with_rest + found.with_rest.T)
    if second_order:
        drest = drest + rate**2 * found.squares / student.batch_size
    if student.geometry == "euclidean":
        shrink = np.full(student.width, rate * student.eta * student.weight_decay)
    else:
        norms = (M * M).sum(axis=1) + np.diag(rest)
        # [FL-3]: all that would change the norm of a neuron is taken back, decay included.
        shrink = ((dM * M).sum(axis=1) + np.diag(drest) / 2) / norms
    return Neurons(
        dM - shrink[:, None] * M,
        drest - (shrink[:, None] + shrink) * rest,
        rate * (student.train_readout or 0.0) * found.readout,
        rate * (student.train_bias or 0.0) * found.bias,
    )

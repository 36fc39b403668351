r"""The flow of the order parameters, integrated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...targets.optimizers import Schedule
from ._flow_means import MeanRule
from ._flow_motions import Motion
from ._flow_push import Neurons

_DIVERGED = 1e4  # growth of Q from which nothing comes back
_MAX_EVALUATIONS = 20_000


class Trajectory(NamedTuple):
    """States and test errors at the asked times, as far as the run came; `why` it ended there."""

    states: list[Any]
    mse: np.ndarray
    until: float
    why: str


def integrate(
    means: MeanRule,
    motion: Motion,
    times: np.ndarray,
    *,
    tolerance: float,
    rest_tolerance: float,
) -> Trajectory:
    """Solution of the flow at increasing times.

    Parameters
    ----------
    means : MeanRule
        How the means are computed.
    motion : Motion
        What moves.
    times : ndarray
        Increasing, positive.
    tolerance : float
        Absolute and relative, of one step.
    rest_tolerance : float
        Absolute one of what is left of Q beside the hidden directions, which tends to zero where
        they are learned: errors of the size of an overlap's would leave no variance there.
    """
    from scipy.integrate import solve_ivp

    layout = _Layout(motion)
    count, latest = 0, 0.0
    limit = _DIVERGED * (1 + _size(motion.neurons(motion.start)))
    text = motion.student.schedule
    schedule = None if text is None else Schedule(text)

    def velocity(time: float, vector: np.ndarray) -> np.ndarray:
        nonlocal count, latest
        count, latest = count + 1, time
        rate = 1.0 if schedule is None else float(schedule(np.array(time / times[-1])))
        state = layout.unpack(vector)
        return layout.pack(motion.velocity(means(motion.neurons(state)), state, rate))

    def leaves(_: float, vector: np.ndarray) -> float:
        size = _size(motion.neurons(layout.unpack(vector)))
        return limit - size if count < _MAX_EVALUATIONS else -1.0

    leaves.terminal = True  # type: ignore[attr-defined]
    with np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(
            velocity,
            (0.0, float(times[-1])),
            layout.pack(motion.start),
            method="DOP853" if means.is_smooth else "RK45",
            t_eval=times,
            events=leaves,
            rtol=tolerance,
            atol=layout.tolerances(tolerance, rest=rest_tolerance),
        )
    # Where the run ends before the first time, y is an empty list instead of an array.
    done = [layout.unpack(state) for state in np.transpose(found.y)]
    missing = len(times) - len(done)
    mse = np.array([means(motion.neurons(state)).mse for state in done] + [np.nan] * missing)
    reached = float(times[-1]) if found.status == 0 else latest
    why = ""
    if missing and count >= _MAX_EVALUATIONS:
        why = f"the integration gave up after {count} evaluations near time {reached:.4g}"
    elif missing:
        why = (
            f"the weights diverge near time {reached:.4g}: the step size is too large for this "
            "student; use a smaller one, or the projected geometry"
        )
    nothing = type(motion.start)(*(np.full_like(part, np.nan) for part in motion.start))
    return Trajectory(done + [nothing] * missing, mse, reached, why)


def _size(neurons: Neurons) -> float:
    """Sum of the squares of all weights."""
    return float(np.trace(neurons.rest) + (neurons.M**2).sum() + (neurons.a**2).sum())


class _Layout:
    """The arrays of a state as one vector; of symmetric matrices the upper triangle."""

    def __init__(self, motion: Motion) -> None:
        self._kind = type(motion.start)
        self._shapes = [part.shape for part in motion.start]
        self._upper = {
            name: np.triu_indices(len(getattr(motion.start, name))) for name in motion.symmetric
        }

    def pack(self, state: Any) -> np.ndarray:
        parts = zip(self._kind._fields, state, strict=True)
        flat = [p[self._upper[name]] if name in self._upper else p.ravel() for name, p in parts]
        return np.concatenate(flat, dtype=np.float64)

    def unpack(self, vector: np.ndarray) -> Any:
        parts, first = [], 0
        for name, shape in zip(self._kind._fields, self._shapes, strict=True):
            part = np.empty(shape)
            if name in self._upper:
                upper = self._upper[name]
                numbers = vector[first : first + len(upper[0])]
                part[upper] = part.T[upper] = numbers
            else:
                numbers = vector[first : first + part.size]
                part[...] = numbers.reshape(shape)
            parts.append(part)
            first += len(numbers)
        return self._kind(*parts)

    def tolerances(self, usual: float, *, rest: float) -> np.ndarray:
        names = zip(self._kind._fields, self._shapes, strict=True)
        parts = [np.full(shape, rest if name == "rest" else usual) for name, shape in names]
        return self.pack(self._kind(*parts))

"""The ridge and the step size that are best after one giant step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...targets.activation import Activation
from ...targets.sampled import Sampled
from ...targets.target import Target, as_target
from ._one_direction import one_direction, one_direction_obstacle
from ._one_step_model import OneStep, Point, Variant
from ._one_step_spike import read_activation, spike_obstacle
from ._swept import one_number

_RIDGES = np.geomspace(1e-6, 1e4, 31)
_STEPS = np.geomspace(0.03, 100.0, 24)


@dataclass(frozen=True)
class Optimum:
    """Best value of a parameter.

    Parameters
    ----------
    at : Estimate
        Where the test error is smallest.
    test_mse : Estimate
        The test error there.
    ridge : float
        The ridge there.
    """

    at: Estimate
    test_mse: Estimate
    ridge: float


def optimal_ridge(
    target: Sampled | str,
    *,
    readout_ratio: float,
    batch_ratio: float,
    step_size: float,
    activation: Activation | str = "relu(z)",
    width_ratio: float = 1.0,
    variant: Variant = "gradient",
    width: float = math.inf,
    readout: Any = "gaussian",
) -> Optimum:
    """Ridge with the smallest test error after one giant step.

    Parameters
    ----------
    target : Target or str
        Target of one direction.
    readout_ratio, batch_ratio, step_size, activation, width_ratio, variant, width, readout
        As in ``gd.predict(target, "one_step", ...)``, numbers.

    Examples
    --------
    >>> best = optimal_ridge("sin(z)", readout_ratio=20.0, batch_ratio=math.inf, step_size=2.45,
    ...                      variant="spiked", activation="tanh(z)", readout="ones")
    >>> round(best.at.value, 2), round(best.test_mse.value, 4)
    (0.31, 0.0277)
    """
    model = _model(target, activation, readout, variant, batch_ratio, step_size)
    where = _where(readout_ratio, width_ratio, width)

    def error(ridge: float) -> float:
        return model.point(ridge=ridge, **where).test

    ridge = _minimize(error, _RIDGES)
    return _optimum(ridge, model.point(ridge=ridge.value, **where), ridge.value)


def optimal_step(
    target: Sampled | str,
    *,
    readout_ratio: float,
    batch_ratio: float,
    ridge: float | None = None,
    activation: Activation | str = "relu(z)",
    width_ratio: float = 1.0,
    variant: Variant = "gradient",
    width: float = math.inf,
    readout: Any = "gaussian",
) -> Optimum:
    """Step size with the smallest test error after one giant step.

    Parameters
    ----------
    target : Target or str
        Target of one direction.
    ridge : float, optional
        Penalty of the readout; None takes the best one at each step size.
    readout_ratio, batch_ratio, activation, width_ratio, variant, width, readout
        As in ``gd.predict(target, "one_step", ...)``, numbers.

    Notes
    -----
    The search ends at a step of 100. Where the bulk has grown much the theory is biased (see
    "one_step"); the best step is then an indication.

    Examples
    --------
    >>> best = optimal_step("sin(z)", readout_ratio=3.0, batch_ratio=20.0, ridge=0.1,
    ...                     variant="spiked", activation="tanh(z)", readout="ones")
    >>> round(best.at.value, 1), bool(best.test_mse.value < 0.0326)
    (4.7, True)
    """
    where = _where(readout_ratio, width_ratio, width)

    def best_at(step: float) -> tuple[Point, float]:
        model = _model(target, activation, readout, variant, batch_ratio, step)
        chosen = None if ridge is None else one_number("ridge", ridge)
        if chosen is None:
            # The error is flat at the best ridge: a thousandth of it is precise enough.
            chosen = _minimize(
                lambda x: model.point(ridge=x, **where).test, _RIDGES[::5], precision=1e-3
            ).value
        return model.point(ridge=chosen, **where), chosen

    step = _minimize(lambda x: best_at(x)[0].test, _STEPS, precision=1e-5)
    return _optimum(step, *best_at(step.value))


def _model(
    target: Sampled | str,
    activation: Activation | str,
    readout: Any,
    variant: Variant,
    batch_ratio: float,
    step_size: float,
) -> OneStep:
    target, activation = as_target(target), read_activation(activation)
    if not isinstance(target, Target) or one_direction_obstacle(target):
        raise OutOfRegime(
            f"one giant step is solved for targets of one direction, got {target!r}; "
            "'giant_steps' covers several"
        )
    link = one_direction(target)
    if reason := spike_obstacle(link, activation):
        raise OutOfRegime(f"one giant step is not solved here: {reason}")
    return OneStep(
        link, activation, readout=readout, variant=variant,
        batch_ratio=one_number("batch_ratio", batch_ratio, infinite=True),
        step_size=one_number("step_size", step_size),
    )  # fmt: skip


def _where(readout_ratio: Any, width_ratio: Any, width: Any) -> dict[str, float]:
    return {
        "readout_ratio": one_number("readout_ratio", readout_ratio),
        "width_ratio": one_number("width_ratio", width_ratio),
        "width": one_number("width", width, infinite=True),
    }


def _minimize(
    error: Callable[[float], float], grid: np.ndarray, *, precision: float = 1e-7
) -> Estimate:
    """Minimum over positive numbers: the best of a grid, then a bounded search in the logarithm."""
    from scipy.optimize import minimize_scalar

    place = int(np.argmin([error(float(x)) for x in grid]))
    around = np.log(grid[[max(place - 1, 0), min(place + 1, len(grid) - 1)]])
    found = minimize_scalar(
        lambda x: error(math.exp(x)), bounds=tuple(around), method="bounded",
        options={"xatol": precision},
    )  # fmt: skip
    value = math.exp(float(found.x))
    note = "at the end of the search" if place in (0, len(grid) - 1) else ""
    # At its minimum the error is flat: its own accuracy of 1e-9 hides changes of about 1e-4.
    return Estimate(value, (1e-4 + precision) * value, "iteration", note)


def _optimum(at: Estimate, point: Point, ridge: float) -> Optimum:
    return Optimum(at, Estimate(point.test, point.test_error, "iteration"), ridge)

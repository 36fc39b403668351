"""What an optimizer makes of a gradient: its names and numbers, read once for all dynamics."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from ..base.errors import BadData, TargetError, one_of
from .language.evaluate import evaluate_columns
from .language.parser import parse
from .language.tree import Node, variables

Optimizer = Literal["sgd", "normalized", "muon", "sign", "rmsprop", "adam"]
Clip = Literal["batch", "sample"]
Orthogonalize = Literal["polar", "newton_schulz"]

OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)
COORDINATEWISE: tuple[Optimizer, ...] = ("sign", "rmsprop", "adam")
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5
EPSILON = 1e-8  # what is added to the root of the second moment by RMSprop and Adam


class Schedule:
    """Factor of the step size over a run: a formula of t, which goes from 0 to 1.

    Examples
    --------
    >>> Schedule("1/(1 + 5*t)")(np.array([0.0, 0.2]))
    array([1. , 0.5])
    """

    def __init__(self, text: str) -> None:
        self._tree = _schedule_tree(text)

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """Factors at parts t of the run."""
        found: Any = evaluate_columns(self._tree, lambda index: t)
        return np.broadcast_to(found, t.shape).astype(np.float64)


@lru_cache(maxsize=64)
def _schedule_tree(text: str) -> Node:
    try:
        tree = parse(re.sub(r"\bt\b", "z1", text), what="the schedule")
    except TargetError as error:
        raise BadData(f"the schedule {text!r}, with z1 for t: {error}") from None
    if set(variables(tree)) - {1}:
        raise BadData(f"the schedule {text!r} is a function of t = step/steps alone")
    found: Any = evaluate_columns(tree, lambda index: np.linspace(0.0, 1.0, 513))
    if not np.isfinite(found).all() or (np.asarray(found) < 0).any():
        raise BadData(
            f"the schedule {text!r} must be finite and not negative for every t from 0 to 1"
        )
    return tree


def read_optimizer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an optimizer, each of which has a meaning for it.

    Examples
    --------
    >>> plain = {"optimizer": "sgd", "momentum": 0.0, "nesterov": True, "clip_norm": None,
    ...          "clip": "batch", "orthogonalize": "polar", "betas": (0.9, 0.999),
    ...          "schedule": None, "rule": "plain", "geometry": "euclidean"}
    >>> read_optimizer(plain)
    Traceback (most recent call last):
    gradone.base.errors.BadData: nesterov=True needs momentum > 0
    """
    found = dict(given)
    optimizer = one_of("optimizer", given["optimizer"], OPTIMIZERS)
    found["clip"] = one_of("clip", given["clip"], get_args(Clip))
    found["orthogonalize"] = one_of(
        "orthogonalize", given["orthogonalize"], get_args(Orthogonalize)
    )
    found["momentum"] = momentum = _fraction("momentum", given["momentum"])
    found["betas"] = _read_betas(given["betas"])
    nesterov = given["nesterov"]
    if not isinstance(nesterov, bool) and nesterov != "look_ahead":
        raise BadData(f"nesterov must be True, False or 'look_ahead', got {nesterov!r}")
    if nesterov and not momentum:
        raise BadData(f"nesterov={nesterov!r} needs momentum > 0")
    if nesterov == "look_ahead" and optimizer != "sgd":
        raise BadData(
            f"nesterov='look_ahead' goes along the buffer, and '{optimizer}' does not; use "
            "nesterov=True"
        )
    if momentum and optimizer in COORDINATEWISE:
        raise BadData(
            f"momentum has no meaning for the optimizer '{optimizer}'; "
            + ("use betas" if optimizer == "adam" else "use 'adam', whose betas have both memories")
        )
    if given["clip_norm"] is not None:
        limit = positive("clip_norm", given["clip_norm"])
        found["clip_norm"] = limit if math.isfinite(limit) else None
    elif found["clip"] != "batch":
        raise BadData("clip='sample' needs clip_norm=..., the largest norm of a gradient")
    if given["schedule"] is not None:
        Schedule(given["schedule"])
    _check_rule(found, optimizer)
    return found


def _check_rule(given: Mapping[str, Any], optimizer: str) -> None:
    changed = [f"'{optimizer}'"] if optimizer != "sgd" else []
    changed += ["momentum"] if given["momentum"] else []
    changed += ["clip_norm"] if given["clip_norm"] is not None else []
    changed += ["schedule"] if given["schedule"] is not None else []
    if changed and given["rule"] != "plain":
        verb = "is" if len(changed) == 1 else "are"
        raise BadData(f"{' and '.join(changed)} {verb} simulated for rule='plain' only")
    if given["momentum"] and given["geometry"] == "spherical":
        raise BadData("the buffer is not transported; use geometry='projected'")
    if optimizer in COORDINATEWISE and given["geometry"] == "spherical":
        raise BadData(f"'{optimizer}' leaves the tangent space; use geometry='projected'")


def _read_betas(betas: Any) -> tuple[float, float]:
    try:
        first, second = betas
    except (TypeError, ValueError):
        raise BadData(f"betas must be two numbers, such as (0.9, 0.999), got {betas!r}") from None
    return _fraction("betas[0]", first), _fraction("betas[1]", second)


def _fraction(name: str, value: Any) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 <= float(value) < 1:
        return float(value)
    raise BadData(f"{name} must be a number in [0, 1), got {value!r}")


def positive(name: str, value: Any) -> float:
    """A number above zero; infinity is one.

    Examples
    --------
    >>> positive("clip_norm", -1)
    Traceback (most recent call last):
    gradone.base.errors.BadData: clip_norm must be a number > 0, got -1
    """
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value) > 0:
        return float(value)
    raise BadData(f"{name} must be a number > 0, got {value!r}")

r"""Estimators of others in a cell: seeded, blamed by name for what they do, and their directions.

Where an estimator tells no directions, they are those in which its predictions change most: the
leading eigenvectors of

.. math:: \frac1m \sum_{i \le m} \nabla \hat f(x_i)\, \nabla \hat f(x_i)^\top,        [FD-1]

with central differences of width 0.02 at m = 64 fresh Gaussian points.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..base.arrays import to_numpy
from ..base.errors import BadData, GradoneError
from ..base.seeds import stream
from ..learners._foreign import build, find_thing
from ..learners._models import gradients

_POINTS = 64
_SMALL = 1e-5  # of the largest change: rounding of predictions in float32


class EstimatorFailed(GradoneError):
    """An estimator of somebody else raised, or gave what is no prediction."""


@contextlib.contextmanager
def blamed(name: str, cell: str) -> Iterator[None]:
    """Errors inside name the estimator and the cell; the way to them is kept."""
    try:
        yield
    except Exception as error:
        what = str(error) if isinstance(error, GradoneError) else f"{type(error).__name__}: {error}"
        raise EstimatorFailed(f"'{name}' failed in the cell {cell}: {what}") from error


def build_foreign(name: str, parameters: Mapping[str, Any], *, seed: int, **cell: Any) -> Any:
    """Estimator with its parameters; whatever is random in it has a seed of this cell."""
    found = build(name, parameters.get("parameters", {}))
    if callable(getattr(found, "get_params", None)):
        random = [key for key in found.get_params() if key.split("__")[-1] == "random_state"]
    else:
        random = []
        if hasattr(found, "random_state"):
            found.random_state = _seed(seed, "random_state", name, cell)
    if random:
        found.set_params(**{key: _seed(seed, key, name, cell) for key in sorted(random)})
    return found


def _seed(seed: int, key: str, name: str, cell: Mapping[str, Any]) -> int:
    """A whole number, which every library takes."""
    return int(stream(seed, "init", learner=name, part=key, **cell).integers(2**31))


def foreign_directions(
    fitted: Any, parameters: Mapping[str, Any], *, d: int, r: int, seed: int, replicate: int
) -> np.ndarray | None:
    """Directions (k, d) of a fitted estimator, at most r of them; None if it has none."""
    if own := parameters.get("directions_from"):
        rows = _rows(find_thing(own)(fitted), d, own)
    elif (found := _told(fitted)) is not None:
        rows = _rows(found[1], d, found[0])
    else:
        rng = stream(seed, "test", d=d, replicate=replicate, part="gradients")
        rows = gradients(fitted.predict, rng.standard_normal((_POINTS, d)))
    if not rows.any():
        return None
    if len(rows) <= r:
        return rows
    _, sizes, leading = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(leading[:r][sizes[:r] > _SMALL * sizes[0]])


def _told(fitted: Any) -> tuple[str, Any] | None:
    """What an estimator says about its directions, and the name by which it does."""
    for name in ("directions_", "coef_", "weights_"):
        if getattr(fitted, name, None) is not None:
            return name, getattr(fitted, name)
    first = getattr(fitted, "coefs_", None)
    if first is not None and len(first):
        return "coefs_[0]", np.asarray(to_numpy(first[0])).T
    return None


def _rows(found: Any, d: int, name: str) -> np.ndarray:
    rows = np.atleast_2d(np.asarray(to_numpy(found), np.float64))
    if rows.ndim != 2 or rows.shape[1] != d:
        raise BadData(f"{name} must have the shape (k, {d}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise BadData(f"{name} is not finite everywhere")
    return rows

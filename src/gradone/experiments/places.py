"""Places of the axis of a comparison: where curves begin, and where they are made finer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.curves import joined
from ..base.replicates import mean_over_replicates
from ..targets.hierarchy import HierarchicalTarget
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled

if TYPE_CHECKING:
    import xarray as xr

    from ..analysis.analyze import Analysis

_GRID, _POINTS = 25, 6
_SHOWN = ("cosine2", "test_mse", "excess_mse")  # what a curve must be fine in
_FINE = 0.02  # longest piece of a curve that is fine enough, in units of the picture
_CLOSEST = 0.003  # shortest distance of two places, in the same units
_SAME = 1e-3  # distance of places that are one, in units of the axis
_MOST_PLACES, _MOST_RUNS = 12, 8
_FIRST = 5  # places of a picture that is to be seen soon
AT_ONCE = 4  # places that a line gets in one round where it bends
_SIDES = (0.985, 1.01, 1.03, 1.1, 1.25, 1.6)  # of a threshold: curves rise steeply above it


def default_places(target: Sampled, analysis: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Values of the axis for theories, dense near thresholds, and for simulations.

    Examples
    --------
    >>> from gradone import Target
    >>> grid, points = default_places(Target("sign(z1*z2)"))
    >>> grid[[0, -1]].round(2), len(points), int(sum(abs(grid / (np.pi**2 / 4) - 1) < 0.04))
    (array([0.24, 5.92]), 6, 4)
    """
    target = without_inputs(target)  # a range is enough here
    if isinstance(target, HierarchicalTarget):
        return np.linspace(1.1, 2.3, 9), np.linspace(1.2, 2.0, 5)
    found = _analysis(target) if analysis is None else analysis
    top = _last_alpha(found)
    even = np.linspace(top / _GRID, top, _GRID)
    points = even[np.linspace(_GRID // _POINTS - 1, _GRID - 1, _POINTS).round().astype(int)]
    return _united(even, _beside(found, top)), points


def coarse_places(
    target: Sampled, analysis: Any, top: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Where quick curves begin: the ends and three between; theories also beside each threshold.

    Parameters
    ----------
    target : Target or hierarchical target
        What is learned.
    analysis : Analysis
        Its thresholds.
    top : float, optional
        Last place; well beyond the last threshold by default.

    Examples
    --------
    >>> from gradone import Target, analyze
    >>> target = Target("sign(z1*z2)")
    >>> theory, simulation = coarse_places(target, analyze(target))
    >>> theory.round(2).tolist()
    [0.24, 1.66, 2.43, 2.49, 2.54, 2.71, 3.08, 3.95, 4.5, 5.92]
    >>> simulation.round(2).tolist()
    [1.18, 3.55, 5.92]
    """
    if isinstance(without_inputs(target), HierarchicalTarget):
        return default_places(target)
    top = _last_alpha(analysis) if top is None else top
    even = np.linspace(top / _GRID, top, _FIRST)
    return _united(even, _beside(analysis, top)), top * np.array([0.2, 0.6, 1.0])


def _united(even: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """Places of both; of two that a picture cannot tell apart, one."""
    places = np.union1d(even, dense)
    return places[np.diff(places, prepend=-np.inf) > _SAME * places[-1]]


def _beside(analysis: Any, top: float) -> np.ndarray:
    """Places a little below and a little above the thresholds of an analysis."""
    places = np.outer(thresholds(analysis), _SIDES).ravel()
    return places[(places > 0) & (places < top)]


def thresholds(analysis: Any) -> list[float]:
    """Values of n/d above which stages of efficient algorithms open, as far as they are known."""
    return [place for places in openings(analysis).values() for place in places]


def openings(analysis: Any) -> dict[str, list[float]]:
    """The same with words for a picture: of some stages only a lower bound is known.

    Examples
    --------
    >>> from gradone import Target, analyze
    >>> openings(analyze(Target("sign(z1*z2 + 0.3*z3)")))
    {'a stage opens here or later': [2.07...]}
    """
    found: dict[str, list[float]] = {}
    for stage in getattr(analysis, "grand_staircase", ()):
        words = "a stage opens here or later" if stage.is_bound else "a stage opens"
        if 0 < stage.threshold.value < math.inf:
            found.setdefault(words, []).append(stage.threshold.value)
    return found


def next_places(curves: Sequence[xr.Dataset], axis: str, most: int = 1) -> list[float]:
    """Middles of the longest pieces of a curve, each quantity in units of its range; none if fine.

    Examples
    --------
    >>> import xarray as xr
    >>> step = xr.Dataset({"test_mse": ("alpha", [1.0, 1.0, 0.1])}, {"alpha": [0.0, 2.0, 3.0]})
    >>> next_places([step], "alpha"), next_places([step], "alpha", most=5)
    ([2.5], [2.5, 1.0])
    """
    curve = joined(curves, axis)
    x = curve[axis].values
    if len(x) < 2:
        return []
    across = np.diff(x) / (x[-1] - x[0])
    length = across.copy()
    for name in set(_SHOWN) & set(curve):
        y = curve[name].transpose(axis, ...).values.reshape(len(x), -1)
        changes = np.nan_to_num(np.abs(np.diff(y, axis=0)))
        scale = 1.0 if name == "cosine2" else np.nanmax(np.abs(y), initial=1e-300)
        length = np.maximum(length, changes.max(axis=1) / scale)
    is_known = np.isin(x, known_places(curve, axis))
    length[(across < _CLOSEST) | ~(is_known[1:] | is_known[:-1])] = 0.0
    longest = [k for k in np.argsort(-length)[:most] if length[k] >= _FINE]
    return [float((x[k] + x[k + 1]) / 2) for k in longest]


def known_places(curve: xr.Dataset, axis: str) -> np.ndarray:
    """Places where a curve has a number.

    Examples
    --------
    >>> import xarray as xr
    >>> half = xr.Dataset({"test_mse": ("alpha", [1.0, np.nan])}, {"alpha": [2.0, 3.0]})
    >>> known_places(half, "alpha")
    array([2.])
    """
    shown = [v for v in curve.data_vars if axis in curve[v].dims and curve[v].dtype.kind == "f"]
    return np.asarray(curve[shown].dropna(axis, how="all")[axis].values)


def grown(
    compute: Callable[[list[float]], xr.Dataset], grid: Sequence[float], axis: str, points: int
) -> xr.Dataset:
    """Line of at most some points: at the places of a grid, coarse to fine, then where it bends.

    A longer line has all the points of a shorter one, and asks for them in the same rounds.

    Examples
    --------
    >>> import xarray as xr
    >>> def step(places):
    ...     below = 1.0 * np.less(places, 1.3)
    ...     return xr.Dataset({"test_mse": ("alpha", below)}, {"alpha": places})
    >>> grown(step, [0.0, 1.0, 2.0], "alpha", 7).alpha.values.round(2)
    array([0.  , 0.25, 0.5 , 1.  , 1.25, 1.5 , 2.  ])
    """
    order = [float(grid[i]) for i in coarse_to_fine(len(grid))][:points]
    parts = [compute(sorted(some)) for some in (order[:_FIRST], order[_FIRST:]) if some]
    count = len(order)
    while more := next_places(parts, axis, most=min(AT_ONCE, points - count)):
        parts.append(compute(sorted(more)))
        count += len(more)
    return joined(parts, axis)


def next_run(
    curves: Sequence[xr.Dataset], axis: str, *, can_insert: bool = True
) -> tuple[float, int] | None:
    """Place and replicate of the run that tells most: a new place, or one with a large error.

    Examples
    --------
    >>> import xarray as xr
    >>> run = xr.Dataset({"test_mse": ("alpha", [1.0])}, {"alpha": [2.0]})
    >>> next_run([run, run.assign_coords(alpha=[3.0]), run], "alpha", can_insert=False)
    (3.0, 1)
    """
    runs: dict[float, int] = {}
    for curve in curves:
        for place in curve[axis].values.tolist():
            runs[place] = runs.get(place, 0) + 1
    least = min(runs, key=lambda place: (runs[place], place))
    # First six places, then two runs of each, then twelve places, then more runs.
    if can_insert and len(runs) < (_POINTS if runs[least] == 1 else _MOST_PLACES):
        if places := next_places([merged(curves, axis)], axis):
            return places[0], 0
    return (least, runs[least]) if runs[least] < _MOST_RUNS else None


def merged(curves: Sequence[xr.Dataset], axis: str) -> xr.Dataset:
    """Pieces of one curve as one; several runs at one place become a mean with its error.

    Examples
    --------
    >>> import xarray as xr
    >>> runs = [xr.Dataset({"q": ("alpha", [y]), "q_err": ("alpha", [0.1])}, {"alpha": [2.0]})
    ...         for y in (1.0, 3.0)]
    >>> both = merged(runs, "alpha")
    >>> both.q.values, both.q_err.values
    (array([2.]), array([1.]))
    """
    import xarray as xr

    at: dict[float, list[xr.Dataset]] = {}
    for curve in curves:
        for k, place in enumerate(np.atleast_1d(curve[axis].values).tolist()):
            one = curve.isel({axis: [k]}) if axis in curve.dims else curve
            at.setdefault(place, []).append(one)
    parts = []
    for same in at.values():
        if len(same) > 1:
            rows = xr.concat(same, "replicate", data_vars="all", coords="minimal",
                             compat="override", join="outer", combine_attrs="override")  # fmt: skip
            parts.append(mean_over_replicates(rows.assign_coords(replicate=range(len(same)))))
        else:
            parts.append(same[0])
    return joined(parts, axis)


def _analysis(target: Sampled) -> Analysis | None:
    from ..analysis.analyze import analyze
    from ..base.errors import GradoneError

    try:
        return analyze(target)  # type: ignore[return-value, arg-type]
    except GradoneError:
        return None


def _last_alpha(analysis: Any) -> float:
    """Largest n/d to show: well beyond the last threshold that is known."""
    if not hasattr(analysis, "grand_staircase"):
        return 6.0
    return min(max(4.0, 2.4 * max(thresholds(analysis), default=0.0)), 20.0)


def coarse_to_fine(count: int) -> list[int]:
    """Positions 0 ... count - 1, the ends first, then the middle, then the quarters.

    Examples
    --------
    >>> coarse_to_fine(5)
    [0, 4, 2, 1, 3]
    """
    found = [0, count - 1] if count > 1 else [0]
    gaps = [(0, count - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            found.append(middle)
            gaps += [(low, middle), (middle, high)]
    return found

"""From a target and the name of a theory to a curve, with everything checked on the way."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..base.axes import axis_values
from ..base.curves import STATUS, check_curve
from ..base.errors import BadData, NotConverged, no_such_parameter
from ..base.threads import use_one_thread
from ..targets.on_inputs import OnInputs
from ..targets.sampled import Sampled
from ..targets.target import Target, as_target
from ..targets.training import parameters_of
from ._registry import THEORIES, Theory, obstacle, refusal, seen

if TYPE_CHECKING:
    import xarray as xr


def predict(
    target: Sampled | str,
    name: str,
    *,
    on_failure: Literal["raise", "mark"] = "raise",
    inputs: Any = None,
    directions: Any = "random",
    **axes: Any,
) -> xr.Dataset:
    """Curve of a theory, as :func:`gradone.predict` gives it.

    Examples
    --------
    >>> predict("z1*z2", "astrology", alpha=1.0)
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown theory 'astrology'. Known: ...
    """
    if on_failure not in ("raise", "mark"):
        raise BadData(f"on_failure must be 'raise' or 'mark', got {on_failure!r}")
    theory: Theory = THEORIES[name]()
    target = as_target(target).on(inputs, directions)
    arguments = checked_axes(theory, axes)
    if reason := obstacle(theory, target):
        raise refusal(theory, target, reason)
    told, note = seen(theory, target)
    # The products of theories are many and small: threads of BLAS would wait for each other.
    with use_one_thread():
        try:
            found = theory.predict(told, **arguments)
        except NotConverged:
            if on_failure == "raise":
                raise
            found = _point_by_point(theory, told, arguments)
    if isinstance(target, Target | OnInputs):
        found.attrs["target"] = target.text  # also where its mean was taken for it
    if note:
        found.attrs["notes"] = " ".join(filter(None, [found.attrs.get("notes", ""), note]))
    check_curve(found)
    return settled(found, name, on_failure)


def checked_axes(theory: Theory, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a theory, known and complete, the axes among them as arrays of floats."""
    parameters = parameters_of(theory.predict)
    allowed = [p for p in parameters if p != "target"]
    for argument in given:
        if argument not in allowed:
            raise BadData(no_such_parameter(theory.name, argument, allowed))
    required = [p for p in allowed if parameters[p].default is inspect.Parameter.empty]
    if missing := [p for p in required if p not in given]:
        raise BadData(
            f"'{theory.name}' needs {', '.join(missing)}; "
            f'write gd.predict(target, "{theory.name}", {missing[0]}=...)'
        )
    return {
        key: axis_values(
            key, value, zero=key in theory.may_be_zero, infinite=key in theory.may_be_infinite
        )
        if key in theory.axes
        else value
        for key, value in given.items()
    }


def _point_by_point(theory: Theory, target: Sampled, arguments: dict[str, Any]) -> xr.Dataset:
    """Curve of a theory that gives up on some points, and with them on all others."""
    import xarray as xr

    axes = {axis: arguments[axis] for axis in theory.axes if axis in arguments}
    parts: list[tuple[dict[str, np.ndarray], xr.Dataset | str]] = []
    for values in itertools.product(*axes.values()):
        point = {axis: np.array([value]) for axis, value in zip(axes, values, strict=True)}
        try:
            parts.append((point, theory.predict(target, **(arguments | point))))
        except NotConverged as error:
            parts.append((point, str(error)))
    like = next((part for _, part in parts if not isinstance(part, str)), None)
    if like is None:
        like = theory.blank(target, **(arguments | parts[0][0]))
    curves = [
        _given_up(like, point, part) if isinstance(part, str) else part for point, part in parts
    ]
    found = xr.combine_by_coords(
        curves,
        data_vars="minimal",
        coords="minimal",
        compat="no_conflicts",
        join="outer",
        combine_attrs="override",
    ).sel(axes)
    return found.assign(status=found["status"].astype(str))


def _given_up(like: xr.Dataset, point: dict[str, np.ndarray], reason: str) -> xr.Dataset:
    """Point without numbers, in the form of another one."""
    import xarray as xr

    numbers = {v: xr.full_like(like[v], np.nan) for v in like.data_vars if v not in STATUS}
    marks = {v: xr.zeros_like(like[v]) for v in like.data_vars if v in STATUS}
    marks["status"] = xr.full_like(like["status"], reason, dtype=object)
    return like.assign(numbers | marks).assign_coords(point)


def settled(found: xr.Dataset, name: str, on_failure: str) -> xr.Dataset:
    """Curve without unconverged numbers: they are an error, or NaN."""
    if "converged" not in found or bool(found["converged"].values.all()):
        return found
    failed = ~found["converged"]
    if on_failure == "mark":
        marked = {}
        for variable in (found[v] for v in found.data_vars if v not in STATUS):
            lost = failed.any([dim for dim in failed.dims if dim not in variable.dims])
            marked[variable.name] = variable.where(~lost).transpose(*variable.dims)
        return found.assign(marked)
    places = failed.values.nonzero()
    first = {str(dim): int(i[0]) for dim, i in zip(failed.dims, places, strict=True)}
    cell = found.isel(first)
    place = ", ".join(f"{dim} = {cell[dim].item()!r}" for dim in first)
    status = str(cell["status"].item()) if "status" in found else "the iteration stopped too early"
    raise NotConverged(
        f"'{name}' did not converge at {int(failed.sum())} of {failed.size} points, first at "
        f'{place}: {status}. Pass on_failure="mark" for NaN there; the last iterates are in '
        "error.last.",
        last=found,
    )

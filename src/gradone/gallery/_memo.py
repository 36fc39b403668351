"""Memory of figures: what was computed once is read from a store, so that a figure can resume."""

from __future__ import annotations

import inspect
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import BadData
from ..base.seeds import canonical, fingerprint
from ..experiments.simulate import simulate
from ..experiments.task import Result
from ..targets.sampled import Sampled
from ..targets.target import as_target

if TYPE_CHECKING:
    import xarray as xr

    from ..experiments.store import Store

_LAYOUT = "layout"  # the array that says what the others are


class Memo:
    """Calls of functions that return curves; with a store, each is computed only once.

    Parameters
    ----------
    store : Store, optional
        Where curves are kept; None keeps nothing.
    name : str
        Name of the sweep under which they are kept.

    Attributes
    ----------
    seconds : float
        CPU seconds that the remembered curves took when they were computed.
    after : callable
        Is called after each curve, for who watches.

    Examples
    --------
    >>> import gradone as gd
    >>> memo = Memo()
    >>> float(memo(gd.predict, "z1**2", "bayes_amp", alpha=[0.4]).overlap.max())
    0.0
    """

    def __init__(self, store: Store | None = None, name: str = "gallery") -> None:
        self.store, self.name = store, name
        self.seconds = 0.0
        self.after: Callable[[], None] = lambda: None

    def __call__(
        self, function: Callable[..., xr.Dataset], *arguments: Any, **named: Any
    ) -> xr.Dataset:
        """Curve that a function returns for some arguments.

        Parameters
        ----------
        function : callable
            Function of a module; its name and its arguments are the name of the curve.
        *arguments, **named
            Numbers, text, targets, or lists and dicts of them.
        """
        try:
            return self._remembered(function, arguments, named)
        finally:
            self.after()

    def _remembered(
        self,
        function: Callable[..., xr.Dataset],
        arguments: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> xr.Dataset:
        if self.store is None:
            return function(*arguments, **named)
        call = {
            "function": f"{function.__module__}.{function.__qualname__}",
            "recipe": _recipe(function),
            "arguments": [_plain(value) for value in arguments],
            "named": {key: _plain(value) for key, value in named.items()},
        }
        key = fingerprint("figure", call).hex()
        if self.store.has(key) and self.store.get(key).result.status == "done":
            found = self.store.get(key).result
            self.seconds += found.seconds
            return unpacked(found.arrays)
        start = cpu_seconds()
        curve = function(*arguments, **named)
        spent = cpu_seconds() - start
        result = Result(key, "done", packed(curve), "", spent, platform.node())
        self.store.put([result], sweep=self.name, parameters={key: canonical(call)})
        return curve

    def simulate(
        self,
        target: Sampled | str,
        learner: str,
        *,
        alpha: Sequence[float] | None = None,
        n: Sequence[int] | None = None,
        **settings: Any,
    ) -> xr.Dataset:
        """:func:`gradone.simulate`, remembered for each number of samples on its own.

        Parameters
        ----------
        target, learner, **settings
            As in :func:`gradone.simulate`.
        alpha, n : sequence
            Samples, one of the two.
        """
        import xarray as xr

        if (alpha is None) == (n is None):
            raise BadData("give either alpha or n")
        dim, values = ("alpha", alpha) if n is None else ("n", n)
        assert values is not None
        settings = {"progress": False, **settings}
        runs = [
            self(simulate, as_target(target), learner, **{dim: [value]}, **settings)
            for value in values
        ]
        joined: xr.Dataset = xr.concat(
            runs, dim=dim, data_vars="minimal", coords="minimal", compat="override", join="outer"
        )
        return joined


def _recipe(function: Callable[..., Any]) -> str:
    """What else the numbers depend on: the file of a figure, or the version of gradone.

    A function of a figure reads constants of its file, which its arguments do not show.
    """
    if function.__module__.startswith(__package__ or ""):
        return fingerprint(inspect.getsource(sys.modules[function.__module__])).hex()
    return version("gradone")


def _plain(value: Any) -> Any:
    """Argument in a form that can name a curve."""
    if isinstance(value, Sampled):
        return {"target": repr(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and np.isinf(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def packed(curve: xr.Dataset) -> dict[str, np.ndarray]:
    """Arrays of a curve, with one that describes the others."""
    arrays = {str(name): np.asarray(variable.values) for name, variable in curve.variables.items()}
    layout = {
        "coords": [str(name) for name in curve.coords],
        "dims": {str(name): list(map(str, v.dims)) for name, v in curve.variables.items()},
        "attrs": {str(name): _attributes(v.attrs) for name, v in curve.variables.items()},
        "origin": _attributes(curve.attrs),
    }
    return {**arrays, _LAYOUT: np.array(json.dumps(layout))}


def _attributes(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value

    return {str(key): plain(value) for key, value in attrs.items()}


def unpacked(arrays: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Curve from :func:`packed` arrays."""
    import xarray as xr

    layout = json.loads(str(arrays[_LAYOUT]))
    variables = {
        name: (dims, arrays[name], layout["attrs"][name]) for name, dims in layout["dims"].items()
    }
    coords = {name: variables.pop(name) for name in layout["coords"]}
    return xr.Dataset(variables, coords, layout["origin"])


def cpu_seconds() -> float:
    """CPU time of this process and of its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

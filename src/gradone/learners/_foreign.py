"""Estimators of others: anything with ``fit(X, y)`` and ``predict(X)``, named by where it stands.

The name of a class is ``"package.module:Class"``. An object becomes that name and its parameters,
both plain text, so that other processes build it anew and a store knows it again.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..base.errors import BadData

_KEY = "@estimator"
_WHAT_TO_DO = "put it at the top of a module of your own, a file that can be imported"


def is_foreign(name: str) -> bool:
    """Whether a name is that of a class of somebody else."""
    return ":" in name


@lru_cache(maxsize=256)
def find_thing(name: str) -> Any:
    """Class or function of the name ``"package.module:Thing"``.

    Examples
    --------
    >>> find_thing("sklearn.linear_model:Ridge").__name__
    'Ridge'
    >>> find_thing("sklearn.linear_model:Rigde")
    Traceback (most recent call last):
    gradone.base.errors.BadData: 'sklearn.linear_model' has no 'Rigde'
    """
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise BadData(f"'{name}' cannot be imported: {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not part.isidentifier() or not hasattr(found, part):
            raise BadData(f"'{module}' has no '{path}'")
        found = getattr(found, part)
    return found


def find_class(name: str) -> type:
    """Estimator of the name ``"package.module:Class"``.

    Examples
    --------
    >>> find_class("collections:OrderedDict")
    Traceback (most recent call last):
    gradone.base.errors.BadData: 'collections:OrderedDict' is no estimator: it has no fit...
    """
    found = find_thing(name)
    if not isinstance(found, type):
        raise BadData(f"'{name}' is a {type(found).__name__}, not a class")
    for verb in ("fit", "predict"):
        if not callable(getattr(found, verb, None)):
            raise BadData(
                f"'{name}' is no estimator: it has no {verb}. Anything with fit(X, y) and "
                "predict(X) can be simulated"
            )
    return found


def name_of(thing: Any) -> str:
    """Name under which a class or function is found again, ``"package.module:Thing"``.

    Examples
    --------
    >>> name_of(BadData)
    'gradone.base.errors:BadData'
    >>> name_of(lambda fitted: fitted.coef_)
    Traceback (most recent call last):
    gradone.base.errors.BadData: '<lambda>' cannot be found by its name: put it at the top of a ...
    """
    path = getattr(thing, "__qualname__", "")
    name = f"{getattr(thing, '__module__', '')}:{path}"
    if not path or "<" in path or find_thing(name) is not thing:
        shown = path.rpartition(".")[2] or repr(thing)
        raise BadData(f"'{shown}' cannot be found by its name: {_WHAT_TO_DO}")
    return name


def require_importable(name: str) -> None:
    """Refuse what only this process can find."""
    if name.startswith("__main__:"):
        raise BadData(
            f"'{name.partition(':')[2]}' stands in the script or notebook that is running, where "
            f"other processes and a store cannot find it: {_WHAT_TO_DO}. Without a store and with "
            "executor='serial' gd.simulate uses it as it is"
        )


# ---- objects as text, and back


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Parameters with which an estimator of the same kind can be built again.

    Examples
    --------
    >>> parameters_of(find_class("sklearn.linear_model:Ridge")(alpha=0.5))["alpha"]
    0.5
    """
    if callable(getattr(estimator, "get_params", None)):
        return dict(estimator.get_params(deep=False))
    found = {}
    for name, known in inspect.signature(type(estimator)).parameters.items():
        if known.kind in (known.VAR_POSITIONAL, known.VAR_KEYWORD):
            continue
        if not hasattr(estimator, name):
            raise BadData(
                f"'{type(estimator).__name__}' cannot be built again: it does not keep its "
                f"argument '{name}' as an attribute of this name. Keep it, or derive the class "
                "from sklearn.base.BaseEstimator"
            )
        found[name] = getattr(estimator, name)
    return found


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator, or a part of one, that is written as a table."""
    return not isinstance(value, type) and callable(getattr(value, "get_params", None))


def estimator_table(estimator: Any) -> dict[str, Any]:
    """An estimator inside of the parameters of another, as a table."""
    return {_KEY: name_of(type(estimator)), **parameters_of(estimator)}


def build(name: str, parameters: Mapping[str, Any]) -> Any:
    """Estimator with these parameters, of which tables of estimators are built too.

    Examples
    --------
    >>> build("sklearn.linear_model:Ridge", {"alpha": 2.0})
    Ridge(alpha=2.0)
    """
    return _called(find_class(name), name, parameters)


def _called(kind: type, name: str, parameters: Mapping[str, Any]) -> Any:
    try:
        return kind(**{key: _built(value) for key, value in parameters.items()})
    except TypeError as error:
        raise BadData(f"'{name}' cannot be built: {error}") from error


def _built(value: Any) -> Any:
    if isinstance(value, Mapping) and _KEY in value:
        inner = {key: item for key, item in value.items() if key != _KEY}
        return _called(find_thing(value[_KEY]), value[_KEY], inner)
    if isinstance(value, Mapping):
        return {key: _built(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_built(item) for item in value]
    return copy.deepcopy(value)  # one fit must not leave its traces in the next

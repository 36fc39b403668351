"""Values of a spec: one or several, plain, and within the range that their name allows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..algorithms import Algorithm as Card
from ..algorithms.own import Algorithm as Own
from ..algorithms.own import as_card
from ..base.errors import BadData
from ..base.seeds import canonical
from ..learners._foreign import require_importable
from ..targets.inputs import Law
from ..targets.sampled import Sampled
from .algorithms import one_value_is_a_list
from .recipes import encoded
from .target_tables import table_of

_WHOLE = frozenset("d n width test_samples steps batch_size inner_steps max_iter record".split())
_POSITIVE = frozenset("alpha kappa width_ratio batch_ratio readout_ratio".split())
_NOT_NEGATIVE = frozenset("ridge noise weight_decay".split())
_INFINITE = frozenset(("width", "width_ratio"))  # limits of some theories


def plain(value: Any) -> Any:
    """Value in the types of JSON and TOML: arrays as lists, targets as tables.

    Examples
    --------
    >>> plain({"d": np.int64(3), "alpha": np.array([1.0, 2.0]), "rule": ("plain",)})
    {'d': 3, 'alpha': [1.0, 2.0], 'rule': ['plain']}
    """
    if isinstance(value, Sampled):
        return table_of(value)
    if isinstance(value, Law):
        if not value.is_stored:
            raise BadData(
                f"{value!r} cannot be part of a sweep: save the table with np.save and give its "
                "path, gd.inputs.rows('table.npy')"
            )
        return value.text
    is_own = hasattr(value, "fit") and not isinstance(value, type)
    if is_own or isinstance(value, Card) or inspect.isfunction(value):
        return entry_of(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    return value


def entry_of(given: Any) -> dict[str, Any]:
    """Entry of a spec for an estimator, or for an algorithm of one's own.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> entry = entry_of(Ridge(alpha=0.5))
    >>> entry["learner"], entry["parameters"]["alpha"]
    ('sklearn.linear_model._ridge:Ridge', 0.5)
    """
    card = as_card(given)
    if not isinstance(card, Own):
        return {"algorithm": card.name}
    require_importable(card.where)
    found: dict[str, Any] = {"learner": card.learner, **encoded(card.settings), **card.look}
    try:
        canonical(found)
    except BadData as error:
        raise BadData(
            f"the parameters of '{card.name}' cannot be stored or sent to other processes: {error}"
        ) from None
    return found


def is_axis(name: str, given: Any) -> bool:
    """Whether a parameter is given by several values, a list, and so becomes an axis.

    Examples
    --------
    >>> is_axis("d", [100]), is_axis("d", 100), is_axis("widths", [8, 4])
    (True, False, False)
    >>> is_axis("widths", [[8, 4], [16, 8]])
    True
    """
    if not isinstance(given, list):
        return False
    if one_value_is_a_list(name):
        return bool(given) and all(isinstance(item, list) for item in given)
    return True


def values_of(name: str, given: Any) -> list[Any]:
    """All values of a parameter; the word "none" is no value, for TOML has no other way to say it.

    Examples
    --------
    >>> values_of("ridge", [0.1, "none"]), values_of("d", 100.0)
    ([0.1, None], [100])
    """
    return [_read(name, value) for value in (given if is_axis(name, given) else [given])]


def _read(name: str, value: Any) -> Any:
    if value == "none":
        return None
    if name in _WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def value_defects(name: str, given: Any) -> Iterator[tuple[tuple[int, ...], str]]:
    """What is wrong with the values of a parameter: the position, and what about it.

    Examples
    --------
    >>> list(value_defects("d", [100, -5, 100]))
    [((1,), 'd must be an integer >= 1, got -5'), ((2,), 'd holds 100 twice')]
    """
    if given == []:
        yield (), f"{name} is an empty list: there is nothing to run"
        return
    several = is_axis(name, given)
    seen: set[str] = set()
    for i, value in enumerate(values_of(name, given)):
        where = (i,) if several else ()
        if reason := _reason(name, value):
            yield where, f"{name} must be {reason}, got {value!r}"
        else:
            text = canonical(encoded(value))
            if text in seen:
                yield where, f"{name} holds {value!r} twice"
            seen.add(text)


def _reason(name: str, value: Any) -> str:
    """What a value must be and is not."""
    if isinstance(value, float) and math.isnan(value):
        return "a number"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (name == "record" and isinstance(value, list)):
        return ""
    if name in _WHOLE:
        if name in _INFINITE and value == math.inf:
            return ""
        ok = is_number and math.isfinite(value) and value == int(value) and value >= 1
        return "" if ok else "an integer >= 1"
    if name in _POSITIVE or name in _NOT_NEGATIVE:
        least = 0 if name in _NOT_NEGATIVE or name == "kappa" else math.ulp(0.0)
        is_finite = is_number and (math.isfinite(value) or name in _INFINITE)
        sign = ">" if least else ">="
        return "" if is_finite and value >= least else f"a finite number {sign} 0"
    return ""

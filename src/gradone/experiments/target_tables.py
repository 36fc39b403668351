"""Targets as tables of plain values: what a spec types, and what a cell of a sweep holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from ..base.errors import BadData, GradoneError, did_you_mean
from ..base.seeds import canonical
from ..targets import hierarchical
from ..targets.hierarchy import HierarchicalTarget
from ..targets.naming import find_target
from ..targets.on_inputs import OnInputs
from ..targets.sampled import Sampled
from ..targets.target import Target, checked_noise

KINDS: dict[str, type[Target] | type[HierarchicalTarget]] = {
    "Target": Target,
    **{name: getattr(hierarchical, name) for name in ("Sight", "Might", "Tree", "QuadraticForms")},
}
_OF_INPUTS = ["inputs", "directions"]
_FORMS = "text (an expression), zoo (a name of the zoo) or kind (a class of targets)"


def table_of(target: Sampled) -> dict[str, Any]:
    """Table that rebuilds a target, the same for targets that are equal.

    Examples
    --------
    >>> table_of(Target("z2 + z1", noise=0.5))
    {'kind': 'Target', 'text': 'z1 + z2', 'noise': 0.5}
    """
    if isinstance(target, OnInputs):
        chosen = {"inputs": target.inputs.text, "directions": _lists(target.directions)}
        return {**table_of(target.target), **chosen}
    if isinstance(target, Target):
        return {"kind": "Target", "text": target.canonical, "noise": target.noise}
    if isinstance(target, HierarchicalTarget):
        return {"kind": type(target).__name__, **target.parts}
    raise BadData(f"a {type(target).__name__} has no table; use one of {', '.join(KINDS)}")


def read_target(given: Any, inputs: Any = None, directions: Any = "random") -> Sampled:
    """Target that a spec or a cell describes.

    Parameters
    ----------
    given : Target, hierarchical target, str or mapping
        A text is a name of the zoo or an expression; a table has ``text`` or ``zoo``, and
        ``noise``, or the ``kind`` and the arguments of a class of targets; and ``inputs`` and
        ``directions``, if they are not standard Gaussian and random.
    inputs, directions
        Those of a target that does not choose its own.

    Examples
    --------
    >>> read_target("parity2"), read_target({"text": "z1*z2", "noise": 0.1})
    (Target('sign(z1*z2)'), Target('z1*z2', noise=0.1))
    >>> read_target({"kind": "Sight", "outer": "h", "inner": "He2(z)", "exponent": 0.5}).widths(64)
    (8, 1)
    """
    for _, defect in target_defects(given):
        raise BadData(defect)
    found = _built(given)
    return found if isinstance(found, OnInputs) else found.on(inputs, directions)


def target_defects(given: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with the description of a target: the field, and what about it.

    Examples
    --------
    >>> list(target_defects({"text": "z1*z2", "nois": 0.1}))
    [(('nois',), "a target with text has no 'nois'. Allowed: text, noise, ...")]
    """
    if isinstance(given, Mapping):
        wrong = list(_defects_of_table(given))
        yield from wrong
        if wrong:
            return
    elif not isinstance(given, str | Sampled):
        yield (), f"a target is a text or a table with {_FORMS}, got {given!r}"
        return
    try:
        _built(given)
    except GradoneError as error:
        first = ("text",) if isinstance(given, Mapping) and "text" in given else ()
        yield first, str(error)


def _defects_of_table(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    forms = [form for form in ("kind", "text", "zoo") if form in table]
    if forms not in (["kind"], ["text"], ["zoo"], ["kind", "text"]):
        yield (), f"a target needs one of {_FORMS}" + (f", got {forms}" if forms else "")
        return
    form = forms[0]
    if not isinstance(table[form], str):
        yield (form,), f"{form} must be a text, got {table[form]!r}"
        return
    if form != "kind":
        allowed, needed = [form, "noise"], []
        what = f"a target with {form}"
    elif table["kind"] in KINDS:
        parts = [part for part in fields(KINDS[table["kind"]]) if part.init]
        allowed = ["kind", *(part.name for part in parts)]
        needed = [p.name for p in parts if p.default is p.default_factory]  # both are MISSING
        what = f"a {table['kind']}"
    else:
        known = ", ".join(KINDS)
        close = did_you_mean(table["kind"], KINDS)
        yield ("kind",), f"unknown kind of target '{table['kind']}'. Known: {known}.{close}"
        return
    allowed += _OF_INPUTS
    for name in table:
        if name not in allowed:
            close = did_you_mean(str(name), allowed)
            yield (name,), f"{what} has no '{name}'. Allowed: {', '.join(allowed)}.{close}"
    for name in needed:
        if name not in table:
            yield (), f"{what} needs '{name}'"
    try:
        checked_noise(table.get("noise", 0.0))
    except BadData as error:
        yield ("noise",), str(error)


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _built(given: Any) -> Sampled:
    if isinstance(given, Sampled):
        return given
    if isinstance(given, str):
        return _from_text(given, None)
    try:
        return _from_table(canonical(given))
    except TypeError as error:  # an argument of a type that the class does not expect
        raise BadData(f"the target cannot be built: {error}") from error


@lru_cache(maxsize=256)
def _from_text(text: str, noise: float | None) -> Sampled:
    return find_target(text, noise)


@lru_cache(maxsize=256)
def _from_table(text: str) -> Sampled:
    table = json.loads(text)
    on = {name: table.pop(name) for name in _OF_INPUTS if name in table}
    if "zoo" in table:
        from ..targets.zoo import zoo

        zoo(table["zoo"])  # an expression is no name
        return _from_text(table["zoo"], table.get("noise")).on(**on)
    kind = table.pop("kind", "Target")
    return KINDS[kind](**table).on(**on)

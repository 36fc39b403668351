"""What is wrong with a spec: all of it at once, each with its place."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..base.errors import BadData, GradoneError, did_you_mean, no_such_parameter
from ..targets.inputs import as_law
from .algorithms import FAMILIES, KINDS, LOOK, Algorithm, all_algorithms, relevant
from .cell_limits import CellLimits
from .faces import faces_of, find_algorithms
from .spec_text import Where, line_of
from .spec_values import is_axis, value_defects, values_of
from .target_tables import read_target, target_defects


class Defect(NamedTuple):
    """One thing that is wrong with a spec: where, and what."""

    where: Where
    message: str


class BadSpec(BadData):
    """A spec that cannot be run, with everything that is wrong with it.

    Parameters
    ----------
    defects : iterable of Defect
        What is wrong.
    name : str
        What the spec is called, usually the name of its file.
    lines : mapping, optional
        Line of every part, for specs that were read from a file.

    Examples
    --------
    >>> print(BadSpec([Defect(("grid", "d"), "d is an empty list")], "a.toml", {("grid", "d"): 7}))
    1 thing is wrong with a.toml:
      line 7, grid.d: d is an empty list
    """

    def __init__(
        self, defects: Iterable[Defect], name: str = "the spec", lines: Mapping[Where, int] = {}
    ) -> None:
        self.defects = sorted(
            dict.fromkeys(defects), key=lambda one: line_of(one.where, dict(lines)) or 0
        )
        count = len(self.defects)
        rows = [f"{count} thing{'s are' if count > 1 else ' is'} wrong with {name}:"]
        for where, message in self.defects:
            line = line_of(where, dict(lines))
            place = ", ".join(filter(None, [f"line {line}" if line else "", spoken(where)]))
            text = message.replace("\n", "\n    ")
            rows.append(f"  {place}: {text}" if place else f"  {text}")
        super().__init__("\n".join(rows))

    def __reduce__(self) -> tuple[Any, ...]:
        return (BadData, (str(self),))


def spoken(where: Where) -> str:
    """Place of a part as one would type it.

    Examples
    --------
    >>> spoken(("algorithms", 1, "width"))
    'algorithms[1].width'
    """
    text = ""
    for key in where:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


def semantic_defects(spec: Mapping[str, Any]) -> Iterator[Defect]:
    """Defects of the meaning of a spec; parts whose form is wrong are passed over."""
    targets = spec.get("targets")
    targets = targets if isinstance(targets, list) else [] if targets is None else [targets]
    for i, given in enumerate(targets):
        where: Where = ("targets", i) if isinstance(spec["targets"], list) else ("targets",)
        for inner, message in target_defects(given):
            yield Defect((*where, *inner), message)
    yield from _repeated("targets", targets)
    yield from _inputs(spec, targets)
    entries = _list(spec.get("algorithms"))
    found: list[list[Algorithm]] = []
    for i, entry in enumerate(entries):
        defects, faces = _algorithms(("algorithms", i), entry)
        found.append(faces)
        yield from defects
    yield from _repeated("algorithms", entries)
    grid = _dict(spec.get("grid"))
    sizes = {name: _dict(size) for name, size in _dict(spec.get("sizes")).items()}
    grids: dict[Where, dict[str, Any]] = {("grid",): grid}
    for name, size in sizes.items():
        grids["sizes", name, "grid"] = _dict(size.get("grid"))
    pool = _possible(found)
    for where, part in grids.items():
        yield from _grid(where, part, pool)
    for i, (entry, faces) in enumerate(zip(entries, found, strict=True)):
        for algorithm in faces[:1]:  # all faces of an algorithm need the same
            yield from _missing(("algorithms", i), entry, algorithm, grids)
    yield from _metrics(spec.get("metrics"), pool)
    for name, read in (("cell_seconds", [1, 0]), ("cell_memory", [0, 1])):
        if (given := spec.get(name)) is not None:
            try:
                CellLimits.read(*(given if chosen else None for chosen in read))
            except BadData as error:
                yield Defect((name,), str(error))


def _inputs(spec: Mapping[str, Any], targets: list[Any]) -> Iterator[Defect]:
    """Defects of the inputs that the targets share."""
    law, directions = spec.get("inputs"), spec.get("directions", "random")
    if law is not None:
        try:
            as_law(law)
        except BadData as error:
            yield Defect(("inputs",), str(error))
            return
    for i, given in enumerate(targets):
        if not list(target_defects(given)):
            try:
                read_target(given, law, directions)
            except GradoneError as error:
                yield Defect(("targets", i), str(error))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _repeated(name: str, items: list[Any]) -> Iterator[Defect]:
    for i, item in enumerate(items):
        if item in items[:i]:
            yield Defect((name, i), f"this is the same as {name}[{items.index(item)}]")


def _algorithms(where: Where, entry: Any) -> tuple[list[Defect], list[Algorithm]]:
    """Defects of one entry, and what it names, if there is something of its name."""
    if not isinstance(entry, dict):
        return [], []
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        close = next((c for key in entry if (c := did_you_mean(str(key), KINDS))), "")
        have = f", got {' and '.join(kinds)}" if kinds else f".{close}" if close else ""
        return [Defect(where, f"an algorithm names one of {', '.join(KINDS)}{have}")], []
    [kind] = kinds
    name = entry[kind]
    if not isinstance(name, str):
        return [Defect((*where, kind), f"the name of a {kind} is a text, got {name!r}")], []
    defects = [
        Defect((*where, key), f"{key} must be a text, got {entry[key]!r}")
        for key in LOOK
        if key in entry and not isinstance(entry[key], str)
    ]
    if defects:
        return defects, []
    place = kind
    try:
        find_algorithms(kind, name)
        place = "theory_of"
        faces = faces_of(entry)
    except BadData as error:
        hint = _elsewhere(kind, name) if place == kind else ""
        return [Defect((*where, place), f"{error}{hint}")], []
    own = {key: value for key, value in entry.items() if key not in (kind, *LOOK)}
    for key, value in own.items():
        if not any(face.understands(key) for face in faces):
            known = sorted({known for face in faces for known in face.parameters})
            defects.append(Defect((*where, key), no_such_parameter(name, key, known)))
        else:
            defects += [Defect((*where, key, *at), text) for at, text in value_defects(key, value)]
    defects += _contradictions(where, own)
    return defects, faces


def _elsewhere(kind: str, name: str) -> str:
    """Hint for a name that belongs to another kind."""
    for other in all_algorithms():
        if other.name == name:
            return f' There is one of another kind: write {other.kind} = "{name}".'
    return ""


def _contradictions(where: Where, given: Mapping[str, Any]) -> list[Defect]:
    defects = []
    for family in FAMILIES:
        both = [name for name in given if name in family]
        for name in both[1:]:
            text = f"{both[0]} and {name} say the same in two ways; give one of them"
            defects.append(Defect((*where, name), text))
    return defects


def _possible(found: list[list[Algorithm]]) -> list[Algorithm]:
    """Algorithms of the spec; all that there are if some cannot be recognized."""
    known = [algorithm for faces in found for algorithm in faces]
    return known if known and all(found) else all_algorithms()


def _grid(where: Where, grid: dict[str, Any], pool: list[Algorithm]) -> Iterator[Defect]:
    allowed = sorted({name for algorithm in pool for name in algorithm.parameters})
    allowed += [name for family in FAMILIES for name in family if name not in allowed]
    for name, value in grid.items():
        # Sizes may be given relative to d whether or not an algorithm takes d itself.
        if name != "d" and not any(algorithm.understands(name) for algorithm in pool):
            text = f"no algorithm of this spec has a parameter '{name}'."
            yield Defect((*where, name), text + did_you_mean(name, allowed))
        for at, text in value_defects(name, value):
            yield Defect((*where, name, *at), text)
    yield from _contradictions(where, grid)


def _missing(
    where: Where, entry: dict[str, Any], algorithm: Algorithm, grids: Mapping[Where, dict[str, Any]]
) -> Iterator[Defect]:
    """Parameters that an algorithm cannot do without and nobody gives."""
    shared = grids["grid",]
    own = {key: value for key, value in entry.items() if key not in (*KINDS, *LOOK)}
    given = {**relevant(algorithm, own, shared), **own}
    for name in algorithm.required:
        family = next((family for family in FAMILIES if name in family), (name,))
        if not any(member in given for member in family):
            ways = " or ".join(family)
            text = f"'{algorithm.name}' needs {ways}: give it in the grid or for this algorithm"
            yield Defect(where, text)
    if "d" in given:
        yield from _conversions(where, own, shared, algorithm)
    elif algorithm.needs_d(own, shared):
        yield Defect(where, f"'{algorithm.name}' needs d here: its sizes are given relative to d")


def _conversions(
    where: Where, own: dict[str, Any], shared: dict[str, Any], algorithm: Algorithm
) -> Iterator[Defect]:
    """Sizes relative to d that make no sense at some d, such as half a sample."""
    given = {**relevant(algorithm, own, shared), **own}
    for name in (name for family in FAMILIES for name in family if name in given):
        if any(list(value_defects(size, given[size])) for size in ("d", name)):
            continue
        values = list(enumerate(values_of(name, given[name])))
        for d, (i, value) in itertools.product(values_of("d", given["d"]), values):
            one = {"d": d, name: value}
            try:
                algorithm.arguments(*((one, {}) if name in own else ({}, one)))
            except BadData as error:
                place = where if name in own else ("grid",)
                at = (i,) if is_axis(name, given[name]) else ()
                yield Defect((*place, name, *at), str(error))


def _metrics(metrics: Any, pool: list[Algorithm]) -> Iterator[Defect]:
    if metrics == []:
        yield Defect(("metrics",), "this list is empty: leave it out to keep all quantities")
    known = sorted({name for algorithm in pool for name in algorithm.answers})
    for i, name in enumerate(_list(metrics)):
        if isinstance(name, str) and name not in known:
            text = f"no algorithm of this spec reports '{name}'. Known: {', '.join(known)}."
            yield Defect(("metrics", i), text + did_you_mean(name, known))

"""The zoo: targets of the literature by name, each with what it shows and where it is from."""

from __future__ import annotations

import html
import importlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, overload

from ..base.errors import BadData, did_you_mean
from ..base.references import CITED

if TYPE_CHECKING:
    from .hierarchy import HierarchicalTarget
    from .target import Target

# Fields of a table that describe the target; the others are the arguments of its class.
_DESCRIPTION = ("formula", "kind", "noise", "shows", "cites")


@dataclass(frozen=True)
class Entry:
    """One target of the zoo, built when it is asked for.

    Parameters
    ----------
    name, section : str
        Its name, and the part of the zoo it lives in.
    kind : str
        Class of the target: ``"Target"``, ``"Sight"``, ...
    arguments : tuple of (str, object)
        Arguments of that class.
    shows : str
        What it is known for, in one line.
    cites : tuple of str
        Keys of its references.
    """

    name: str
    section: str
    kind: str
    arguments: tuple[tuple[str, Any], ...]
    shows: str
    cites: tuple[str, ...]

    @property
    def formula(self) -> str:
        """Text of the target without its noise; the call that builds it if it has levels."""
        if self.kind == "Target":
            return str(self.arguments[0][1])
        return f"{self.kind}({', '.join(f'{k}={v!r}' for k, v in self.arguments)})"

    @property
    def label(self) -> str:
        """Formula, and the noise where there is some."""
        return self.formula + (f"   (noise {self.noise:g})" if self.noise else "")

    @property
    def noise(self) -> float:
        """Variance of the label noise."""
        return float(dict(self.arguments).get("noise", 0.0))

    @cached_property
    def target(self) -> Target | HierarchicalTarget:
        """The target itself."""
        module = "target" if self.kind == "Target" else "hierarchical"
        make = getattr(importlib.import_module(f".{module}", __package__), self.kind)
        built: Target | HierarchicalTarget = make(**dict(self.arguments))
        return built


class Zoo(Mapping[str, "Target | HierarchicalTarget"]):
    """Mapping of names to targets of the literature, which prints as a table.

    Parameters
    ----------
    entries : mapping of str to Entry
        The table.

    Examples
    --------
    >>> zoo()["parity2"]
    Target('sign(z1*z2)')
    >>> zoo().entries["parity2"].shows
    'easy: both directions above n/d = π²/4'
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = entries

    def __getitem__(self, name: str) -> Target | HierarchicalTarget:
        if name not in self.entries:
            raise BadData(
                f"no target of the zoo is named '{name}'.{did_you_mean(name, self.entries)} "
                "`gradone list` and `zoo()` show the names."
            )
        return self.entries[name].target

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def get(self, name: str, default: Any = None) -> Any:
        """The target of this name, or `default` if there is none."""
        return self[name] if name in self else default

    def sections(self) -> dict[str, list[Entry]]:
        """The entries by section, in the order of the table."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            found.setdefault(entry.section, []).append(entry)
        return found

    def cites_of(self, obj: object) -> tuple[str, ...] | None:
        """Keys of the references of a target, or of the name of one; None if it is not here.

        Examples
        --------
        >>> zoo().cites_of("relu"), zoo().cites_of("relu(z)")
        (('ghorbani2019linearized', 'mei2019rf'), None)
        """
        entry = self.find(obj)
        return entry.cites if entry else None

    def find(self, obj: object) -> Entry | None:
        """Entry of a target, or of the name of one; None if it is not here.

        Examples
        --------
        >>> from gradone import Target
        >>> zoo().find(Target("sign(z2*z1)")).name
        'parity2'
        """
        if isinstance(obj, str):
            return self.entries.get(obj)
        kind = type(obj).__name__  # others need not be built
        return next(
            (one for one in self.entries.values() if one.kind == kind and one.target == obj), None
        )

    def __repr__(self) -> str:
        width = max(map(len, self.entries))
        lines = []
        for section, entries in self.sections().items():
            lines += ["", section.upper()]
            lines += [f"  {entry.name:<{width}}  {entry.label}" for entry in entries]
        lines += [
            "",
            f"{len(self)} targets; zoo(name) gives one of them, and cite(zoo(name)) gives its "
            "references.",
        ]
        return "\n".join(lines[1:])

    def _repr_html_(self) -> str:
        rows = []
        for section, entries in self.sections().items():
            rows.append(f"<tr><th colspan='3'>{html.escape(section)}</th></tr>")
            for entry in entries:
                cells = (f"<b>{entry.name}</b>", f"<code>{html.escape(entry.label)}</code>")
                row = "".join(f"<td>{cell}</td>" for cell in (*cells, html.escape(entry.shows)))
                rows.append(f"<tr>{row}</tr>")
        return f"<table>{''.join(rows)}</table>"


@overload
def zoo(name: None = None) -> Zoo: ...


@overload
def zoo(name: str) -> Target | HierarchicalTarget: ...


def zoo(name: str | None = None) -> Zoo | Target | HierarchicalTarget:
    """Targets of the literature: all of them, or one by its name.

    Parameters
    ----------
    name : str, optional
        Name of a target.

    Returns
    -------
    Zoo or target
        Without a name the mapping of all names, which prints as a table.

    Examples
    --------
    >>> zoo("staircase3")
    Target('z1 + z1*z2 + z1*z2*z3')
    >>> [name for name in zoo() if name.startswith("parity")]
    ['parity2', 'parity3']
    """
    whole = _read_zoo()
    if name is not None and not isinstance(name, str):
        raise BadData(f"a target of the zoo is called by its name, got {name!r}")
    return whole if name is None else whole[name]


@cache
def _read_zoo() -> Zoo:
    text = files(__package__).joinpath("zoo.toml").read_text(encoding="utf-8")
    entries: dict[str, Entry] = {}
    for section, tables in tomllib.loads(text).items():
        for name, table in tables.items():
            if name in entries:
                raise BadData(f"the zoo has two targets named '{name}'")
            entries[name] = _entry(name, section.replace("-", " "), table)
    return Zoo(entries)


def _entry(name: str, section: str, table: dict[str, Any]) -> Entry:
    kind = table.get("kind", "Target")
    arguments = {"text": table["formula"]} if kind == "Target" else {}
    arguments |= {key: value for key, value in table.items() if key not in _DESCRIPTION}
    if "noise" in table:
        arguments["noise"] = table["noise"]
    return Entry(
        name, section, kind, tuple(arguments.items()), table["shows"], tuple(table["cites"])
    )


CITED.add("zoo")(_read_zoo())

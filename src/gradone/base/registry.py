"""Registries: a thing is added by one file, and is then listed, tested and documented."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, TypeVar

from .errors import BadData, did_you_mean

Thing = TypeVar("Thing")


class Registry:
    """Named things of one kind, each in the file of its name, loaded when it is asked for.

    The thing ``"giant_step"`` stands in ``<room>/giant_step.py`` or in ``<room>/<family>/`` (a
    hyphen of the name is an underscore of the file), so one look-up imports one file. Only who
    asks for all of them (iteration) imports the whole room.

    Parameters
    ----------
    kind : str
        What the things are, in the singular: ``"theory"``.
    room : str
        Package whose modules register things when imported. Third parties use entry points of
        the group ``gradone.<room>``.

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> @shapes.add("disk")
    ... class Disk:
    ...     pass
    >>> list(shapes), shapes["disk"].name
    (['disk'], 'disk')
    """

    def __init__(self, kind: str, room: str = "") -> None:
        self.kind, self.room = kind, room
        self._things: dict[str, Any] = {}
        self._scanned = not room

    def add(self, name: str) -> Callable[[Thing], Thing]:
        """Decorator that registers a class, function or object under `name`."""

        def register(thing: Thing) -> Thing:
            known = self._things.get(name)
            if known is not None and known is not thing:
                raise ValueError(f"there is already a {self.kind} named '{name}': {known!r}")
            self._things[name] = thing
            if isinstance(thing, type):
                thing.name = name  # type: ignore[attr-defined]
            return thing

        return register

    @cached_property
    def files(self) -> dict[str, str]:
        """Public files of the room and of its families: last part of the name to the whole name."""
        if not self.room:
            return {}
        found = {}
        for folder in importlib.import_module(self.room).__path__:
            for module in pkgutil.iter_modules([folder]):
                if module.name.startswith("_"):
                    continue
                where = f"{self.room}.{module.name}"
                if not module.ispkg:
                    found[module.name] = where
                    continue
                for inner in pkgutil.iter_modules([f"{folder}/{module.name}"]):
                    if not inner.name.startswith("_"):
                        found[inner.name] = f"{where}.{inner.name}"
        return found

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        for file in self.files.values():
            importlib.import_module(file)
        for point in entry_points(group=self.room):
            self.add(point.name)(point.load())

    def _find(self, name: str) -> None:
        """Load the file that has the name of a thing; everything if there is none."""
        if name in self._things or self._scanned:
            return
        if file := self.files.get(name.replace("-", "_")):
            importlib.import_module(file)
        if name not in self._things:
            self._scan()

    def __getitem__(self, name: str) -> Any:
        self._find(name)
        try:
            return self._things[name]
        except KeyError:
            known = ", ".join(sorted(self._things)) or "none yet"
            raise BadData(
                f"unknown {self.kind} '{name}'. Known: {known}.{did_you_mean(name, self._things)}"
            ) from None

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self)})"

    def __iter__(self) -> Iterator[str]:
        self._scan()
        return iter(sorted(self._things))

    def __len__(self) -> int:
        self._scan()
        return len(self._things)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self._find(name)
        return name in self._things

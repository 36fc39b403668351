"""Registries: a thing is added by one file, and is then listed, tested and documented."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any, TypeVar

from .errors import BadData, did_you_mean

Thing = TypeVar("Thing")


class Registry:
    """Named things of one kind, found by scanning a package on first look-up.

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

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        package = importlib.import_module(self.room)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"{self.room}.{module.name}")
        for point in entry_points(group=self.room):
            self.add(point.name)(point.load())

    def __getitem__(self, name: str) -> Any:
        self._scan()
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
        self._scan()
        return name in self._things

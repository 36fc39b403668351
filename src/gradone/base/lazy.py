"""Public names of a room whose files are loaded on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    room: str, public: Mapping[str, str], *others: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a room.

    Parameters
    ----------
    room : str
        Its name, ``__name__``.
    public : mapping
        From public names to the files that define them, seen from the room.
    *others : str
        Further names that ``dir`` lists.

    Examples
    --------
    >>> get, names = lazy_names("gradone.base", {"Estimate": "estimate"})
    >>> get("Estimate").__name__, names()
    ('Estimate', ['Estimate'])
    """

    def get(name: str) -> Any:
        if name not in public:
            raise AttributeError(f"module '{room}' has no attribute '{name}'")
        value = getattr(importlib.import_module(f".{public[name]}", room), name)
        setattr(sys.modules[room], name, value)
        return value

    return get, lambda: sorted({*others, *public})

"""Code that is not ours: what its numbers depend on, so that stored ones are not taken for new."""

from __future__ import annotations

import inspect
import sys
from importlib import metadata
from typing import Any

from ..base.seeds import fingerprint

UNKNOWN = "?"
"""End of the version of code whose source cannot be read."""


def version_of(thing: Any) -> str:
    """Version of the numbers of a learner, engine or theory.

    That of our own code is the number that it states as ``numerics``. To that of foreign code its
    source is added (of its module, of the modules of its base classes; of the class alone if it
    stands in a script or a notebook), with the versions of their packages.

    Parameters
    ----------
    thing : class or Engine
        What is run.

    Examples
    --------
    >>> from gradone.learners import SIR
    >>> version_of(SIR)
    '1'
    >>> version_of(type("Mine", (), {"__module__": "__main__"}))  # made by hand: without source
    '1+?'
    """
    numerics = str(getattr(thing, "numerics", 1))
    kinds = thing.__mro__ if isinstance(thing, type) else (getattr(thing, "run", thing),)
    if _is_ours(kinds[0]):
        return numerics
    foreign = [kind for kind in kinds if not _is_ours(kind)]
    sources = [_source(kind) for kind in foreign]
    if None in sources:
        return f"{numerics}+{''.join(_versions(foreign))}{UNKNOWN}"
    return f"{numerics}+{fingerprint(sources, _versions(foreign)).hex()[:16]}"


def _is_ours(kind: Any) -> bool:
    return kind.__module__.partition(".")[0] in ("gradone", "builtins", "abc", "typing")


def _source(kind: Any) -> str | None:
    """Text that a class or function comes from, None if nobody knows."""
    module = sys.modules.get(kind.__module__)
    try:
        return inspect.getsource(kind if module is None or _is_script(module) else module)
    except (OSError, TypeError):
        return None


def _is_script(module: Any) -> bool:
    """Whether a module is a script or a notebook, where other code changes from run to run."""
    return module.__name__ in ("__main__", "__mp_main__")


def _versions(kinds: list[Any]) -> list[str]:
    """Versions of the packages that are installed."""
    found = []
    for package in sorted({kind.__module__.partition(".")[0] for kind in kinds}):
        for name in sorted(set(metadata.packages_distributions().get(package, ()))):
            found.append(f"{name}-{metadata.version(name)}")
    return found

"""Learners: algorithms that see (X, y) and nothing else, with the interface of scikit-learn.

Every class of the registry ``LEARNERS`` is a name of this room; it is loaded on first use.

>>> from gradone.learners import SpectralDirections
>>> SpectralDirections.name
'spectral_directions'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._registry import LEARNERS as LEARNERS

if TYPE_CHECKING:
    from .stored_models import load_model as load_model
    from .stored_models import save_model as save_model

_FUNCTIONS = ("load_model", "save_model")


def __getattr__(name: str) -> Any:
    # The import system asks for private names and for modules on its way: no reason to load all.
    found: Any = None
    if name in _FUNCTIONS:
        from . import stored_models

        found = getattr(stored_models, name)
    elif name[:1].isupper():
        found = _class_named(name)
    if found is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = found
    return found


def _class_named(word: str) -> type | None:
    """Class of the learner whose file has the same letters: GiantStep is in giant_step.py."""
    for name in LEARNERS.files:
        if name.replace("_", "") == word.lower() and name in LEARNERS:
            found: type = LEARNERS[name]
            return found if found.__name__ == word else None
    return None


def __dir__() -> list[str]:
    return sorted({"LEARNERS", *_FUNCTIONS, *(LEARNERS[name].__name__ for name in LEARNERS)})

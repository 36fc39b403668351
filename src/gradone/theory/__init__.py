"""Asymptotic predictions of what algorithms learn: one file per theory.

>>> from gradone.theory import THEORIES
>>> "bayes_amp" in THEORIES
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._registry import THEORIES as THEORIES

if TYPE_CHECKING:
    from .hitting import hitting_time as hitting_time
    from .thresholds import amp_thresholds as amp_thresholds

# Public name -> module of this room that defines it, loaded on first use.
_PUBLIC = {"amp_thresholds": "thresholds", "hitting_time": "hitting"}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'gradone.theory' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"THEORIES", *_PUBLIC})

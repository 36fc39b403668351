"""Exact simulation of SGD at finite dimension, on a few order parameters.

>>> from gradone.dynamics import sgd
>>> run = sgd("He2(z)", d=100, width=1, steps=50, step_size=1e-3, replicates=2)
>>> run.overlap.dims
('replicate', 'step', 'neuron', 'direction')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._registry import ENGINES as ENGINES

if TYPE_CHECKING:
    from .fixed_data import reused_batch as reused_batch
    from .one_pass import sgd as sgd

# Public name -> module of this room that defines it, loaded on first use. A module of the same name
# would hide the verb once it is imported.
_PUBLIC = {"reused_batch": "fixed_data", "sgd": "one_pass"}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'gradone.dynamics' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"ENGINES", *_PUBLIC})

"""Exact simulation of SGD at finite dimension, on a few order parameters.

>>> from gradone.dynamics import sgd
>>> run = sgd("He2(z)", d=100, width=1, steps=50, step_size=1e-3, replicates=2)
>>> run.overlap.dims
('replicate', 'step', 'neuron', 'direction')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy_names
from ._registry import ENGINES as ENGINES

if TYPE_CHECKING:
    from .fixed_data import reused_batch as reused_batch
    from .one_pass import sgd as sgd

# Public name -> module of this room that defines it, loaded on first use. A module of the same name
# would hide the verb once it is imported.
_PUBLIC = {"reused_batch": "fixed_data", "sgd": "one_pass"}
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC, "ENGINES")

"""What can be known about a target before learning it.

>>> from gradone.analysis import csq_tolerance
>>> f"{csq_tolerance(10_000, 4, queries=1e8):.3e}"
'1.601e-04'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..targets.subspace import Subspace as Subspace
    from .correlation.hessian import mean_hessian as mean_hessian
    from .correlation.plateau import conditional_energies as conditional_energies
    from .depth.checklist import checklist as checklist
    from .linear_stage import EscapeTable as EscapeTable
    from .linear_stage import LinearStage as LinearStage
    from .linear_stage import escape as escape
    from .linear_stage import escape_table as escape_table
    from .plan.bounds import csq_tolerance as csq_tolerance

# Public name -> file that defines it, loaded on first use.
_PUBLIC = {
    "EscapeTable": "linear_stage",
    "LinearStage": "linear_stage",
    "Subspace": ".targets.subspace",
    "checklist": "depth.checklist",
    "conditional_energies": "correlation.plateau",
    "csq_tolerance": "plan.bounds",
    "escape": "linear_stage",
    "escape_table": "linear_stage",
    "mean_hessian": "correlation.hessian",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'gradone.analysis' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_PUBLIC)

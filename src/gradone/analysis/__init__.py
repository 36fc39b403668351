"""What can be known about a target before learning it.

>>> from gradone.analysis import csq_tolerance
>>> f"{csq_tolerance(10_000, 4, queries=1e8):.3e}"
'1.601e-04'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy_names

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
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)

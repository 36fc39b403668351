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
    from ._depth_first_stage import first_stage as first_stage
    from ._depth_gram import gram_levels as gram_levels
    from ._depth_threshold import first_stage_threshold as first_stage_threshold
    from ._first_step import first_step_overlap as first_step_overlap
    from ._one_step_bounds import best_neuron as best_neuron
    from ._one_step_bounds import risk_bounds as risk_bounds
    from ._one_step_model import KnownBias as KnownBias
    from ._one_step_search import optimal_ridge as optimal_ridge
    from ._one_step_search import optimal_step as optimal_step
    from .covariates import gaussian_covariates as gaussian_covariates
    from .feature_ridge import random_feature_ridge as random_feature_ridge
    from .hitting import hitting_time as hitting_time
    from .penalties import ridge_from as ridge_from
    from .power_laws import power_law as power_law
    from .scaling import phase_diagram as phase_diagram
    from .scaling import scaling_law as scaling_law
    from .tables import learning_curve as learning_curve
    from .thresholds import amp_thresholds as amp_thresholds

# Public name -> module of this room that defines it, loaded on first use. No module has the name
# of a function: importing it would put the module in the place of the function.
_PUBLIC = {
    "KnownBias": "_one_step_model",
    "amp_thresholds": "thresholds",
    "best_neuron": "_one_step_bounds",
    "first_stage": "_depth_first_stage",
    "first_stage_threshold": "_depth_threshold",
    "first_step_overlap": "_first_step",
    "gaussian_covariates": "covariates",
    "gram_levels": "_depth_gram",
    "hitting_time": "hitting",
    "learning_curve": "tables",
    "optimal_ridge": "_one_step_search",
    "optimal_step": "_one_step_search",
    "phase_diagram": "scaling",
    "power_law": "power_laws",
    "random_feature_ridge": "feature_ridge",
    "ridge_from": "penalties",
    "risk_bounds": "_one_step_bounds",
    "scaling_law": "scaling",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'gradone.theory' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"THEORIES", *_PUBLIC})

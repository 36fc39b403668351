"""Asymptotic predictions of what algorithms learn: a folder per family, a file per theory.

>>> from gradone.theory import THEORIES
>>> "bayes_amp" in THEORIES
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.lazy import lazy_names
from ._registry import THEORIES as THEORIES

if TYPE_CHECKING:
    from .bayes.amp_thresholds import amp_thresholds as amp_thresholds
    from .bayes.bayes_potential import bayes_potential as bayes_potential
    from .depth.filter_layers import filter_layers as filter_layers
    from .depth.filter_stage import filter_stage as filter_stage
    from .depth.first_stage import first_stage as first_stage
    from .depth.first_stage_threshold import first_stage_threshold as first_stage_threshold
    from .depth.gram_levels import gram_levels as gram_levels
    from .depth.label_weighted_edges import label_weighted_edges as label_weighted_edges
    from .giant._one_step_model import KnownBias as KnownBias
    from .giant.conditional_equivalent import conditional_equivalent as conditional_equivalent
    from .giant.first_step_overlap import first_step_overlap as first_step_overlap
    from .giant.optimal_step import optimal_ridge as optimal_ridge
    from .giant.optimal_step import optimal_step as optimal_step
    from .giant.order_parameters import OrderParameters as OrderParameters
    from .giant.order_parameters import order_parameters as order_parameters
    from .giant.risk_bounds import best_neuron as best_neuron
    from .giant.risk_bounds import risk_bounds as risk_bounds
    from .lazy.anisotropic_ridge import anisotropic_ridge as anisotropic_ridge
    from .lazy.gaussian_covariates import gaussian_covariates as gaussian_covariates
    from .lazy.learning_curve import learning_curve as learning_curve
    from .lazy.power_law import power_law as power_law
    from .lazy.random_feature_ridge import random_feature_ridge as random_feature_ridge
    from .lazy.ridge_from import ridge_from as ridge_from
    from .lazy.scaling_law import phase_diagram as phase_diagram
    from .lazy.scaling_law import scaling_law as scaling_law
    from .sgd.hitting_time import hitting_time as hitting_time

# Public name -> file that defines it, loaded on first use.
_PUBLIC = {
    "KnownBias": "giant._one_step_model",
    "OrderParameters": "giant.order_parameters",
    "amp_thresholds": "bayes.amp_thresholds",
    "anisotropic_ridge": "lazy.anisotropic_ridge",
    "bayes_potential": "bayes.bayes_potential",
    "best_neuron": "giant.risk_bounds",
    "conditional_equivalent": "giant.conditional_equivalent",
    "filter_layers": "depth.filter_layers",
    "filter_stage": "depth.filter_stage",
    "first_stage": "depth.first_stage",
    "first_stage_threshold": "depth.first_stage_threshold",
    "first_step_overlap": "giant.first_step_overlap",
    "gaussian_covariates": "lazy.gaussian_covariates",
    "gram_levels": "depth.gram_levels",
    "hitting_time": "sgd.hitting_time",
    "label_weighted_edges": "depth.label_weighted_edges",
    "learning_curve": "lazy.learning_curve",
    "optimal_ridge": "giant.optimal_step",
    "optimal_step": "giant.optimal_step",
    "order_parameters": "giant.order_parameters",
    "phase_diagram": "lazy.scaling_law",
    "power_law": "lazy.power_law",
    "random_feature_ridge": "lazy.random_feature_ridge",
    "ridge_from": "lazy.ridge_from",
    "risk_bounds": "giant.risk_bounds",
    "scaling_law": "lazy.scaling_law",
}
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC, "THEORIES")

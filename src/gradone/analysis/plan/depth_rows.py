"""Rows of a plan for hierarchical targets: lazy, two, three and more layers."""

from __future__ import annotations

import math
from typing import Any

from .case import Case
from .correlation_rows import scaling
from .row import PlanRow

_NAMES = {
    "lazy": "kernel, random features",
    "two_layer": "two layers",
    "three_layer": "three layers, layerwise",
    "deep": "deep, layerwise",
}


def depth_row(case: Case, network: str) -> PlanRow | None:
    """Row of a kind of network for a hierarchical target; None if another says the same."""
    from ..depth.exponents import learning_stages, required_exponent
    from ..depth.plateaus import plateau

    target: Any = case.target
    kind: Any = network
    stages = learning_stages(target, kind)
    if kind == "deep" and len(stages) <= len(learning_stages(target, "three_layer")):
        return None  # with one level of features, three layers are as deep as the target
    exponent, power = required_exponent(target, kind), case.sizes.data_exponent
    learned = [stage.learns for stage in stages if stage.exponent <= power]
    if kind == "lazy":
        power = min(power, case.sizes.width_exponent)
        learned = [f"degree {math.floor(power + 1e-9)} and less"]
    error = plateau(target, power, kind)
    if error.value >= plateau(target, 0.0, kind).value * (1 - 1e-9):
        learned = []
    path = [f"{s.layer}: {s.learns} at d^{s.exponent:g}" for s in stages]
    return PlanRow(
        _NAMES[kind],
        scaling(exponent),
        exponent,
        power - exponent,
        "; ".join(path),
        here=", ".join(learned) or "nothing",
        plateau=error,
        note=error.note,
        cites=("dandi2025depth", "nichani2023three"),
    )

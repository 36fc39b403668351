"""Rows of a plan for hierarchical targets: lazy, two, three and more layers."""

from __future__ import annotations

import math

from ...targets.hierarchy import HierarchicalTarget
from .correlation_rows import scaling
from .row import PlanRow, Sizes

_NAMES = {
    "lazy": "kernel, random features",
    "two_layer": "two layers",
    "three_layer": "three layers, layerwise",
    "deep": "deep, layerwise",
}


def depth_rows(target: HierarchicalTarget, sizes: Sizes) -> list[PlanRow]:
    """One row for each kind of learner of a hierarchical target."""
    from ..depth.exponents import learning_stages, required_exponent
    from ..depth.plateaus import plateau

    rows = []
    has_levels = len(learning_stages(target, "deep")) > len(learning_stages(target, "three_layer"))
    for learner, name in _NAMES.items():
        if learner == "deep" and not has_levels:
            continue  # with one level of features, three layers are as deep as the target
        exponent = required_exponent(target, learner)  # type: ignore[arg-type]
        stages = learning_stages(target, learner)  # type: ignore[arg-type]
        power = sizes.data_exponent
        if learner == "lazy":
            power = min(power, sizes.width_exponent)
        learned = [stage.learns for stage in stages if stage.exponent <= power]
        if learner == "lazy":
            learned = [f"degree {math.floor(power + 1e-9)} and less"]
        error = plateau(target, power, learner)  # type: ignore[arg-type]
        if error.value >= plateau(target, 0.0, learner).value * (1 - 1e-9):  # type: ignore[arg-type]
            learned = []
        path = [f"{s.layer}: {s.learns} at d^{s.exponent:g}" for s in stages]
        rows.append(
            PlanRow(
                name,
                scaling(exponent),
                exponent,
                power - exponent,
                "; ".join(path),
                here=", ".join(learned) or "nothing",
                plateau=error,
                note=error.note,
                cites=("dandi2025depth", "nichani2023three"),
            )
        )
    return rows

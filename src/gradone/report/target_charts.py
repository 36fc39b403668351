"""Pictures of the target itself: its energies and its labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.estimate import Estimate
from ..charts import Axis, Chart, bar
from .panel import from_zero

if TYPE_CHECKING:
    from .study import Study


def energies(study: Study) -> Chart | None:
    """Energy per Hermite degree."""
    facts = study.facts
    return None if facts is None else energy_bars(facts.energies, facts.tail)


def energy_bars(found: Sequence[Estimate], tail: Estimate | None) -> Chart | None:
    """Energies at degrees 0, 1, ... and what lies above; None if there are none."""
    if not found:
        return None
    values = [max(energy.value, 0.0) for energy in found]
    degrees = list(range(len(values)))
    ticks = [(float(k), str(k)) for k in degrees]
    series = [bar("", degrees, values, color="blue")]
    if tail is not None:
        beyond = len(values) + 0.5
        series.append(bar("", [beyond], [max(tail.value, 0.0)], color="gray"))
        ticks.append((beyond, f"$>{degrees[-1]}$"))
    across = Axis("degree $k$", ticks=tuple(ticks))
    up = from_zero("energy", "y", series)
    return Chart("", across, up, tuple(series), legend="none")


def labels(study: Study) -> Chart | None:
    """Distribution of the labels."""
    facts = study.facts
    if facts is None:
        return None
    found = facts.labels
    if found.is_discrete:
        places = [value for value, _ in found.atoms]
        heights = [share.value for _, share in found.atoms]
        ticks = tuple((value, f"{value:.3g}") for value in places) if len(places) < 10 else None
        one = bar("", places, heights, color="green", width=0.5)
        up = from_zero("probability", "y", [one])
        return Chart("", Axis("label $y$", ticks=ticks), up, (one,), legend="none")
    edges = np.asarray(found.edges, float)
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    density = np.asarray(found.shares, float) / widths
    one = bar("", middles, density, color="green", width=1.0)
    up = from_zero("density", "y", [one])
    return Chart("", Axis("label $y$"), up, (one,), legend="none")

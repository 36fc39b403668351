"""Spectral methods: directions from label-conditional moments."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.plan import Case, PlanRow, spectral_row
from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("spectral_directions")
class SpectralDirectionsCard(Algorithm):
    """Eigenvectors of matrices that are weighted by the label."""

    label, color, family = "spectral method", "sky", "bayes"
    learner = "spectral_directions"
    prominence = "also"

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """The first stage, weakly."""
        return [] if case.is_deep else [spectral_row(case)]

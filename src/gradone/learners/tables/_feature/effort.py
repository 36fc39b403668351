"""How much work a fit may be: everything, or what costs little."""

from __future__ import annotations

from dataclasses import dataclass

FAMILIES = ("linear", "kernel", "metric", "trees", "index")


@dataclass(frozen=True)
class Effort:
    """Sizes of the parts of a fit.

    Parameters
    ----------
    families : tuple of str
        Families of members, unless others are asked for.
    folds : int
        Most folds, unless a number is asked for.
    metrics : int
        Times that the metric of the kernel is changed.
    trees : int
        Trees of each fold, but for histograms; a sixth less of few rows.
    choosing : int
        Rows that choose the kernel.
    screening : bool
        Whether columns are left out that say nothing.
    """

    families: tuple[str, ...]
    folds: int
    metrics: int
    trees: int
    choosing: int
    screening: bool


EFFORTS = {
    "full": Effort(FAMILIES, folds=5, metrics=2, trees=48, choosing=200, screening=True),
    "fast": Effort(FAMILIES[:-1], folds=2, metrics=1, trees=30, choosing=150, screening=False),
}

"""Overlap with the target directions against the number of samples per dimension."""

from __future__ import annotations

from ._named import CHARTS, CurveChart


@CHARTS.add("overlap-vs-alpha")
class OverlapVsAlpha(CurveChart):
    """Overlap of the estimate with each target direction against n/d."""

    # A learner knows directions only up to the symmetries of the target.
    variables = ("overlap_aligned", "overlap", "cosine2")
    along = ("alpha", "batch_ratio")
    label = "overlap"
    low = -0.03  # points at zero are seen whole
    caption = (
        "The overlap with the target directions, up to the symmetries of the target. Below the "
        "threshold nothing is learned. Lines are theory, points are simulations with standard "
        "errors."
    )

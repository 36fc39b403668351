"""Overlap with the target directions during training."""

from __future__ import annotations

from ._named import CHARTS, CurveChart


@CHARTS.add("overlap-vs-time")
class OverlapVsTime(CurveChart):
    """Recovery of each target direction against the time of training."""

    variables = ("recovery", "overlap")
    along = ("time", "step")
    label = "overlap with the target directions"
    scales = ("log", "linear")
    caption = (
        "The recovery of the target directions during training. It has a plateau where the network "
        "looks for a direction, and rises where it has found one."
    )

"""Test error against the number of samples, both logarithmic."""

from __future__ import annotations

from ._named import CHARTS, CurveChart


@CHARTS.add("learning-curve")
class LearningCurve(CurveChart):
    """Error against the number of samples on logarithmic axes: power laws are straight."""

    variables = ("excess_mse", "test_mse")
    along = ("n", "alpha", "kappa")
    label = "error without label noise"
    scales = ("log", "log")
    caption = "Straight lines are power laws; their slopes are the rates of learning."

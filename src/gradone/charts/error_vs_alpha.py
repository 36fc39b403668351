"""Test error against the number of samples per dimension."""

from __future__ import annotations

from ._named import CHARTS, CurveChart


@CHARTS.add("error-vs-alpha")
class ErrorVsAlpha(CurveChart):
    """Mean squared test error against n/d."""

    variables = ("test_mse", "excess_mse", "zero_one_error")
    along = ("alpha",)
    label = r"test error $\mathbb{E}(y-\hat f)^2$"
    low = 0.0
    caption = (
        "Mean squared error on fresh samples. Lines: theory in the limit of many dimensions; "
        "points: simulation, with standard errors over replicates."
    )

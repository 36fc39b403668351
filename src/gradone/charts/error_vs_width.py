"""Test error against the number of neurons."""

from __future__ import annotations

from ._named import CHARTS, CurveChart


@CHARTS.add("error-vs-width")
class ErrorVsWidth(CurveChart):
    """Mean squared test error against the width of the network."""

    variables = ("test_mse", "excess_mse")
    along = ("width_ratio", "width")
    label = r"test error $\mathbb{E}(y-\hat f)^2$"
    scales = ("log", "log")
    caption = "With little ridge the error peaks where there are as many neurons as samples."

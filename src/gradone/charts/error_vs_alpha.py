"""Test error against the number of samples per dimension."""

from __future__ import annotations

from ._named import CHARTS, CurveChart


@CHARTS.add("error-vs-alpha")
class ErrorVsAlpha(CurveChart):
    """Mean squared test error against n/d."""

    variables = ("test_mse", "excess_mse", "zero_one_error")
    along = ("alpha", "readout_ratio", "batch_ratio")
    label = r"test error $\mathbb{E}(y-\hat f)^2$"
    low = 0.0
    caption = (
        "The mean squared error on fresh samples. Lines are theory in the limit of large "
        "dimension, points are simulations with standard errors over replicates."
    )

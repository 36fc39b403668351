"""Test error against the exponent of the number of samples."""

from __future__ import annotations

from ._named import CHARTS, CurveChart


@CHARTS.add("error-vs-kappa")
class ErrorVsKappa(CurveChart):
    """Mean squared test error against log n / log d."""

    variables = ("test_mse", "excess_mse")
    along = ("kappa",)
    label = r"test error $\mathbb{E}(y-\hat f)^2$"
    low = 0.0
    caption = (
        "The error falls where the samples suffice for the next degree or the next layer, and is "
        "flat between. Dimensions of a simulation are finite, so its steps are rounded."
    )

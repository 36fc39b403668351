"""Charts by name: choices of axis, quantity and scales that the field makes often."""

from __future__ import annotations

from ._named import CHARTS, Preset

_ERRORS = ("test_mse", "excess_mse", "zero_one_error")
_POINTS = (
    "Lines are theory in the limit of large dimension, points are simulations with standard errors "
    "over replicates."
)


@CHARTS.add("error-vs-alpha")
class ErrorVsAlpha(Preset):
    """Test error against n/d."""

    y, x = _ERRORS, ("alpha", "readout_ratio", "batch_ratio")
    caption = f"The error on fresh samples. {_POINTS}"


@CHARTS.add("error-vs-kappa")
class ErrorVsKappa(Preset):
    """Test error against log n / log d."""

    y, x = _ERRORS, ("kappa",)
    caption = (
        "The error falls where the samples suffice for the next degree or the next layer, and is "
        "flat between. Dimensions of a simulation are finite, so its steps are rounded."
    )


@CHARTS.add("error-vs-width")
class ErrorVsWidth(Preset):
    """Test error against the width of the network."""

    y, x, log = _ERRORS, ("width_ratio", "width"), "xy"
    caption = "With little ridge the error peaks where there are as many neurons as samples."


@CHARTS.add("learning-curve")
class LearningCurve(Preset):
    """Error against the number of samples on logarithmic axes: power laws are straight."""

    y, x, log = ("excess_mse", "test_mse", "zero_one_error"), ("n", "alpha", "kappa"), "xy"
    caption = "Straight lines are power laws; their slopes are the rates of learning."


@CHARTS.add("overlap-vs-alpha")
class OverlapVsAlpha(Preset):
    """What is found of the hidden directions against n/d."""

    # A learner may know directions only up to signs, which squares do not see.
    y, x = ("cosine2", "recovery", "overlap_aligned", "overlap"), ("alpha", "batch_ratio")
    caption = f"What is found of the hidden directions: below a threshold, nothing. {_POINTS}"


@CHARTS.add("overlap-vs-time")
class OverlapVsTime(Preset):
    """What is found of the hidden directions against the time of training."""

    y, x, log = ("recovery", "cosine2", "overlap"), ("time", "step"), "x"
    caption = (
        "The recovery of the target's directions during training. It has a plateau where the "
        "network looks for a direction, and rises where it has found one."
    )


@CHARTS.add("spectrum")
class Spectrum(Preset):
    """Density of eigenvalues: theory as a line, simulation as a histogram, outliers marked."""

    y, x = ("density",), ("eigenvalue",)
    caption = "The bulk is noise; eigenvalues outside it are directions that were learned."

"""Errors that are planted into the data of a figure: its claims must notice them."""

from collections.abc import Callable, Mapping

import numpy as np

AXES = (
    "alpha",
    "kappa",
    "n",
    "readout_ratio",
    "batch_ratio",
    "time",
    "step",
    "width_ratio",
    "width",
)


def stretched(data, factor=2.0):
    """Theories with sample sizes (or times, or widths) multiplied by `factor`."""
    found = {}
    for name, curve in data.items():
        axis = next((axis for axis in AXES if axis in curve.coords), None)
        if str(curve.attrs.get("source", "")).startswith("theory:") and axis is not None:
            moved = np.asarray(curve[axis].values) * factor
            curve = curve.assign_coords({axis: (curve[axis].dims, moved)})
        found[name] = curve
    return found


def scaled(variable, factor=2.0, kind="theory:"):
    """Error of one kind of curve: a quantity multiplied by `factor`."""

    def plant(data):
        return {
            name: curve.assign({variable: curve[variable] * factor})
            if str(curve.attrs.get("source", "")).startswith(kind) and variable in curve
            else curve
            for name, curve in data.items()
        }

    return plant


def powers(variable, power):
    """Error of the theories: a quantity raised to a power."""

    def plant(data):
        return {
            name: curve.assign({variable: curve[variable] ** power})
            if str(curve.attrs.get("source", "")).startswith("theory:")
            else curve
            for name, curve in data.items()
        }

    return plant


PLANTED: Mapping[str, Callable] = {
    "amp-iterations": scaled("iterations", 2.0),
    "depth-branches": scaled("excess_mse", 2.0, "simulation:three"),
    "digit-filters": scaled("ratio", 0.15, "simulation:"),
    "feature-spectrum": scaled("share_below", 0.9),
    "gradient-orientation": scaled("overlap", 1.2),
    "gradient-spike": scaled("cosine2", 1.3),
    "hard-phase": scaled("overlap", 0.9),
    "kernel-spectrum-depth": scaled("level", 1.5),
    "learned-terms": scaled("excess_mse", 1.2),
    "residual-step": scaled("test_mse", 0.6, "simulation:dot_kernel_ridge"),
    "optimizer-batches": scaled("push", 1.2),
    "optimizer-coordinates": scaled("overlap", 1.2),
    "optimizer-escape": scaled("overlap", 1.2),
    "optimizer-momentum": scaled("overlap", 1.1),
    "optimizer-spike": scaled("share", 1.3),
    "richer-basis": scaled("test_mse", 1.3),
    "parity-exponents": powers("steps", 1.3),
    "reused-batch": scaled("overlap", 1.1),
    "sgd-exponents": scaled("steps", 1.5),
    "spectrum-tail": scaled("share_below", 0.9),
    "staircase-steps": scaled("share", 1.3),
    "standard-and-grand-staircase": scaled("recovery", 0.8),
}
"""Figure to its own error, where :func:`stretched` is not one for it."""

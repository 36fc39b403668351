"""Curves of every kind in the quantities that they share, so that they fit on one axis.

Compared are the errors and the squared cosines between what was found and the hidden directions,
those of each replicate before any mean: signs of overlaps are arbitrary [CQ-1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.quantities import read
from ..base.replicates import mean_over_replicates

if TYPE_CHECKING:
    import xarray as xr

ERRORS = ("test_mse", "excess_mse", "zero_one_error")


def common_quantities(curve: xr.Dataset, axis: str) -> xr.Dataset:
    """Errors and squared cosines of a curve over one axis, without replicates.

    Parameters
    ----------
    curve : xarray.Dataset
        Of a theory, a learner or an exact simulation of SGD.
    axis : str
        The dimension to keep; of ``step`` the last is taken, other dimensions have one value.

    Examples
    --------
    >>> import gradone as gd
    >>> found = common_quantities(gd.predict("z1*z2", "bayes_amp", alpha=[0.5, 1.0]), "alpha")
    >>> dict(found.cosine2.sizes), found.cosine2.sel(alpha=0.5).values
    ({'alpha': 2, 'direction2': 2}, array([0., 0.]))
    """
    if "step" in curve.dims and axis != "step":
        curve = curve.isel(step=-1)
    if "branch" in curve.dims:
        curve = curve.drop_dims("branch")
    found: dict[str, Any] = {}
    for name in (*ERRORS, "cosine2"):
        own = name in curve or name == "cosine2"  # errors are those that the curve states
        reading = read(curve, name) if own else None
        if reading is None or (name == "cosine2" and "direction2" not in reading.value.dims):
            continue
        found |= {name: reading.value, f"{name}_err": reading.error}
    for name in ("converged", "status"):
        if name in curve:
            found[name] = curve[name]
    whole = {axis, "direction2"}
    blank = curve.drop_vars([*curve.data_vars, *(set(curve.coords) - whole - {"replicate"})])
    kept = mean_over_replicates(blank.assign(found))
    kept = kept.drop_vars([name for name in kept.coords if name not in whole])
    return kept.isel({dim: 0 for dim in kept.dims if dim not in whole})

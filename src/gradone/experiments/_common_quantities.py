r"""Curves of every kind in the quantities that they share, so that they fit on one axis.

Compared are the errors and the squared cosines between what was found and the hidden directions.
A theory of neurons gives overlaps M (neuron, direction) and norms Q (neuron, neuron2); with rows
of weights that span a space, the squared cosines are

.. math:: \cos^2\theta_k = \lambda_k\big(M^\top Q^+ M\big),     [CQ-1]

largest first, and for a posterior mean, whose norms are its overlaps, :math:`\lambda_k(M)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.curves import QUANTITIES
from ..base.replicates import mean_over_replicates

if TYPE_CHECKING:
    import xarray as xr

_ROWS = ("neuron", "direction", "direction2")  # an overlap matrix has two of them
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
    curve = mean_over_replicates(curve)
    if "step" in curve.dims and axis != "step":
        curve = curve.isel(step=-1)
    if "branch" in curve.dims:
        curve = curve.drop_dims("branch")
    found: dict[str, Any] = {}
    for name in ERRORS:
        if name in curve:
            found |= {name: curve[name], f"{name}_err": curve[f"{name}_err"]}
    if "cosine2" in curve and "direction2" in curve["cosine2"].dims:
        found |= {"cosine2": curve["cosine2"], "cosine2_err": curve["cosine2_err"]}
    elif "overlap" in curve and len(set(_ROWS) & set(curve["overlap"].dims)) == 2:
        value, error = _cosines(curve)
        found |= {"cosine2": value, "cosine2_err": error}
    for name in ("converged", "status"):
        if name in curve:
            found[name] = curve[name]
    whole = {axis, "direction2"}
    coords = [str(name) for name in curve.coords if name not in whole]
    kept = curve.drop_vars(coords).drop_vars(list(curve.data_vars)).assign(found)
    kept = kept.drop_vars([name for name in kept.coords if name not in whole])
    return kept.isel({dim: 0 for dim in kept.dims if dim not in whole})


def _cosines(curve: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Squared cosines [CQ-1] of overlaps and norms, with an error."""
    import xarray as xr

    rows = "neuron" if "neuron" in curve["overlap"].dims else "direction"
    columns = "direction" if rows == "neuron" else "direction2"
    M = curve["overlap"].transpose(..., rows, columns)
    spread = np.abs(curve["overlap_err"].transpose(*M.dims).values).sum((-1, -2))
    matrix = M.values
    if "norm" in curve:
        Q = curve["norm"].transpose(..., "neuron", "neuron2")
        outer = M.values
        inverse = np.linalg.pinv(np.nan_to_num(Q.values), hermitian=True)
        matrix = np.swapaxes(outer, -1, -2) @ inverse @ outer
        spread = 2 * spread + np.abs(curve["norm_err"].transpose(*Q.dims).values).sum((-1, -2))
    known = np.isfinite(matrix).all((-1, -2))
    values = np.linalg.eigvalsh(np.where(known[..., None, None], matrix, 0.0))[..., ::-1]
    values = np.where(known[..., None], np.clip(values, 0.0, 1.0), np.nan)
    dims = (*M.dims[:-2], "direction2")
    coords = {dim: M[dim] for dim in M.dims[:-2]} | {
        "direction2": np.arange(1, values.shape[-1] + 1)
    }
    errors = np.broadcast_to(spread[..., None], values.shape)
    attrs = dict(zip(("symbol", "long_name"), QUANTITIES["cosine2"], strict=True))
    return (
        xr.DataArray(values, coords, dims, attrs=attrs),
        xr.DataArray(np.where(np.isnan(values), np.nan, errors), coords, dims),
    )

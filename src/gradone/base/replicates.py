"""Means over the replicates of a simulation, with their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .curves import STATUS

if TYPE_CHECKING:
    import xarray as xr


def mean_over_replicates(curve: xr.Dataset) -> xr.Dataset:
    r"""Curve without ``replicate``: means, and standard errors of the means.

    .. math:: \mathrm{err} = \sqrt{\frac{1}{R(R-1)} \sum_r (q_r - \bar q)^2}

    over the R replicates that have a number. With one replicate the error is that of its own
    measurement. A curve without replicates is returned as it is.

    Parameters
    ----------
    curve : xarray.Dataset
        Curve with the dimension ``replicate``.

    Returns
    -------
    xarray.Dataset
        ``converged`` is the verdict of all replicates together, ``status`` the first that is not
        empty; ``n_iter`` is left out.

    Examples
    --------
    >>> from gradone.base.curves import curve
    >>> runs = curve({"q": ("replicate", [1.0, 3.0]), "q_err": ("replicate", [0.1, 0.1])},
    ...              {"replicate": [0, 1]}, source="simulation:example", target="z")
    >>> mean = mean_over_replicates(runs)
    >>> float(mean.q), float(mean.q_err)
    (2.0, 1.0)
    """
    if "replicate" not in curve.dims:
        return curve
    found = {}
    for name in (str(name) for name in curve.data_vars):
        variable = curve[name]
        if name in STATUS or name.endswith("_err"):
            continue
        if "replicate" not in variable.dims:
            found[name], found[f"{name}_err"] = variable, curve[f"{name}_err"]
            continue
        count = variable.notnull().sum("replicate")
        spread = variable.fillna(0.0) - variable.sum("replicate") / count.where(count > 0)
        squares = (spread.where(variable.notnull(), 0.0) ** 2).sum("replicate")
        many = (squares / (count * (count - 1)).where(count > 1)) ** 0.5
        found[name] = (variable.sum("replicate") / count.where(count > 0)).assign_attrs(
            variable.attrs
        )
        found[f"{name}_err"] = many.where(count != 1, curve[f"{name}_err"].sum("replicate"))
    if "converged" in curve:
        found["converged"] = curve["converged"].all("replicate")
    if "status" in curve:
        found["status"] = _first_text(curve["status"])
    kept = {name: found[name].transpose(..., missing_dims="ignore") for name in found}
    return curve.drop_vars([*curve.data_vars, "replicate"]).assign(kept)


def _first_text(status: xr.DataArray) -> xr.DataArray:
    """First text that is not empty, over the replicates."""
    moved = status.transpose(..., "replicate")
    texts = np.array(
        [
            next((text for text in row if text), "")
            for row in moved.values.reshape(-1, moved.shape[-1]).tolist()
        ]
    )
    template = moved.isel(replicate=0, drop=True)
    return template.copy(data=texts.reshape(template.shape))

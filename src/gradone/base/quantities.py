r"""Quantities of curves: which ones a curve has, and which follow exactly from those.

With overlaps M of neurons or estimates with the hidden directions, and their norms Q,

.. math::
    R_k = \sqrt{[M^\top Q^+ M]_{kk}}, \qquad \cos^2\theta_k = \lambda_k\big(M^\top Q^+ M\big),
    \qquad \mathrm{test\_mse} = \mathrm{excess\_mse} + \Delta.     [CQ-1]

A posterior mean has Q = M, so its squared cosines are the eigenvalues of M; they are not negative,
and no symmetry of the target makes the trace of M larger.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .curves import QUANTITIES, STATUS

if TYPE_CHECKING:
    import xarray as xr

PARTS = frozenset("neuron neuron2 direction direction2 branch network".split())
"""Dimensions that number the parts of one quantity; the others are axes of a curve."""
SIGNED = frozenset("overlap overlap_aligned gradient_cosine alignment".split())
"""Quantities whose sign may be arbitrary in a simulation: a mean over replicates would cancel."""


class Reading(NamedTuple):
    """A quantity of a curve: its values and errors, its symbol, and how it was found.

    ``how`` is the formula of the conversion in LaTeX, empty if the curve has the quantity itself.
    """

    value: xr.DataArray
    error: xr.DataArray
    symbol: str
    how: str = ""

    @property
    def kind(self) -> tuple[str, tuple[str, ...]]:
        """What must be equal for two readings to be the same quantity."""
        parts = sorted(str(dim) for dim in self.value.dims if dim in PARTS)
        return "".join(self.symbol.split()), tuple(parts)


def stored(curve: xr.Dataset) -> list[str]:
    """Names of the quantities that a curve has itself, with a number somewhere.

    Examples
    --------
    >>> import gradone as gd
    >>> stored(gd.predict("He2(z)", "lazy", kappa=[1.5, 2.5]))
    ['excess_mse', 'test_mse']
    """
    names = [str(name) for name in curve.data_vars]
    return [
        name
        for name in names
        if name not in STATUS
        and not (name.endswith("_err") and name.removesuffix("_err") in names)
        and curve[name].dtype.kind in "fiu"
        and bool(curve[name].notnull().any())
    ]


def available(curve: xr.Dataset) -> list[str]:
    """Names of the quantities that a curve has, or that follow exactly from what it has.

    Examples
    --------
    >>> import gradone as gd
    >>> available(gd.predict("He2(z)", "bayes_amp", alpha=[1.0]))
    ['overlap', 'test_mse', 'rate', 'cosine2', 'overlap_aligned', 'excess_mse']
    """
    own = stored(curve)
    return own + [name for name in _RULES if name not in own and read(curve, name) is not None]


def read(curve: xr.Dataset, name: str) -> Reading | None:
    r"""A quantity of a curve by its name; None if the curve does not have it.

    Parameters
    ----------
    curve : xarray.Dataset
        Of a theory, a simulation, or one's own; a missing error counts as zero.
    name : str
        Name of a variable, or of a quantity that follows exactly from others [CQ-1].

    Examples
    --------
    >>> import gradone as gd
    >>> found = read(gd.predict("z1*z2", "bayes_amp", alpha=[0.5, 2.0]), "cosine2")
    >>> found.value.sel(alpha=0.5).values, found.how
    (array([0., 0.]), '\\lambda(M)')
    """
    if name in curve.data_vars and bool(curve[name].notnull().any()):
        return _own(curve, name)
    for rule in _RULES.get(name, ()):
        if (found := rule(curve)) is not None:
            return found
    return None


def _own(curve: xr.Dataset, name: str) -> Reading:
    value = curve[name]
    error = curve[f"{name}_err"] if f"{name}_err" in curve else value.fillna(0.0) * 0.0
    known = QUANTITIES.get(name, ("", ""))[0]
    return Reading(value, error, str(value.attrs.get("symbol", known)))


def params_of(curve: xr.Dataset) -> dict[str, Any]:
    """Parameters that made the numbers of a curve."""
    found: dict[str, Any] = json.loads(curve.attrs.get("params", "{}"))
    return found


def recovery_of(M: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Cosine R_k (..., direction) of direction k with the span of neurons [CQ-1].

    Examples
    --------
    >>> recovery_of(np.array([[0.6], [0.0]]), np.diag([1.0, 4.0]))
    array([0.6])
    """
    return np.sqrt(np.clip(np.diagonal(_gram(M, Q), axis1=-2, axis2=-1), 0.0, 1.0))


def _gram(M: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """M^T Q^+ M, NaN where Q has no number."""
    known = np.isfinite(Q).all((-1, -2))[..., None, None]
    inverse = np.linalg.pinv(np.where(known, Q, 0.0), rcond=1e-10, hermitian=True)
    return np.where(known, np.swapaxes(M, -1, -2) @ inverse @ M, np.nan)


# ---- exact conversions


def _cosines_of_neurons(curve: xr.Dataset) -> Reading | None:
    found = _of_neurons(curve)
    if found is None:
        return None
    M, Q, spread = found
    return _eigenvalues(_gram(M.values, Q), spread, M, r"\lambda(M^\top Q^+ M)")


def _recovery_of_neurons(curve: xr.Dataset) -> Reading | None:
    found = _of_neurons(curve)
    if found is None:
        return None
    M, Q, spread = found
    value, error = _root(recovery_of(M.values, Q) ** 2, spread[..., None])
    return _labeled("recovery", value, error, M, "direction", r"\sqrt{[M^\top Q^+ M]_{kk}}")


def _cosines_of_posterior(curve: xr.Dataset) -> Reading | None:
    if not _is_posterior(curve):
        return None
    M = curve["overlap"].transpose(..., "direction", "direction2")
    spread = np.abs(curve["overlap_err"].transpose(*M.dims).values).sum((-1, -2))
    return _eigenvalues(M.values, spread, M, r"\lambda(M)")


def _aligned_posterior(curve: xr.Dataset) -> Reading | None:
    """M itself: a matrix without negative eigenvalues has the largest trace of all M S."""
    if not _is_posterior(curve):
        return None
    found = _own(curve, "overlap")
    return found._replace(symbol=QUANTITIES["overlap_aligned"][0], how="M")


def _cosine_of_one(curve: xr.Dataset) -> Reading | None:
    """The square of the recovery, with one direction."""
    if not _is_one(curve, "recovery", "direction"):
        return None
    value, error, _, _ = _own(curve, "recovery")
    squares = (value**2).rename(direction="direction2")
    spread = (2 * abs(value) * error + error**2).rename(direction="direction2")
    return Reading(squares, spread, QUANTITIES["cosine2"][0], "R^2")


def _recovery_of_one(curve: xr.Dataset) -> Reading | None:
    """The root of the squared cosine, with one direction."""
    if not _is_one(curve, "cosine2", "direction2"):
        return None
    value, error, symbol, _ = _own(curve, "cosine2")
    if symbol != QUANTITIES["cosine2"][0]:
        return None
    root, spread = _root(value.values, error.transpose(*value.dims).values)
    return Reading(
        value.copy(data=root).rename(direction2="direction"),
        value.copy(data=spread).rename(direction2="direction"),
        QUANTITIES["recovery"][0],
        r"\sqrt{\cos^2\theta}",
    )


def _shifted(name: str, other: str, sign: float) -> Callable[[xr.Dataset], Reading | None]:
    """One squared error from the other by the variance of the label noise."""

    def rule(curve: xr.Dataset) -> Reading | None:
        noise = params_of(curve).get("noise")
        # Latent noise inside the link is not in this number.
        if other not in stored(curve) or noise is None or "xi" in str(curve.attrs.get("target")):
            return None
        found = _own(curve, other)
        symbol, how = QUANTITIES[name][0], f"{found.symbol}{'+' if sign > 0 else '-'}\\Delta"
        return Reading(found.value + sign * noise, found.error, symbol, how if noise else "")

    return rule


def _of_networks(curve: xr.Dataset) -> Reading | None:
    """Errors of several networks in one curve, ``<network>_excess_mse``, as one quantity."""
    import xarray as xr

    ending = "_excess_mse"
    names = [name for name in stored(curve) if name.endswith(ending)]
    if not names:
        return None
    words = [
        str(curve[name].attrs.get("long_name", "")).rpartition(": ")[2]
        or name.removesuffix(ending).replace("_", " ")
        for name in names
    ]
    along = xr.DataArray(words, dims="network", name="network")
    parts = [_own(curve, name) for name in names]
    value = xr.concat([part.value.rename(None) for part in parts], along)
    error = xr.concat([part.error.rename(None) for part in parts], along)
    return Reading(value, error, QUANTITIES["excess_mse"][0])


_RULES: dict[str, tuple[Callable[[Any], Reading | None], ...]] = {
    "cosine2": (_cosines_of_neurons, _cosines_of_posterior, _cosine_of_one),
    "recovery": (_recovery_of_neurons, _recovery_of_one),
    "overlap_aligned": (_aligned_posterior,),
    "test_mse": (_shifted("test_mse", "excess_mse", 1.0),),
    "excess_mse": (_shifted("excess_mse", "test_mse", -1.0), _of_networks),
}


def _is_posterior(curve: xr.Dataset) -> bool:
    dims = set(curve["overlap"].dims) if "overlap" in curve else set()
    return curve.attrs.get("estimator") == "posterior mean" and {"direction", "direction2"} <= dims


def _is_one(curve: xr.Dataset, name: str, dim: str) -> bool:
    return name in stored(curve) and dim in curve[name].dims and curve.sizes[dim] == 1


def _of_neurons(curve: xr.Dataset) -> tuple[xr.DataArray, np.ndarray, np.ndarray] | None:
    """M over (..., neuron, direction), Q, and a bound of the errors of M^T Q^+ M."""
    if "overlap" not in curve or "norm" not in curve:
        return None
    M, Q = curve["overlap"], curve["norm"]
    if not {"neuron", "direction"} <= set(M.dims) or not {"neuron", "neuron2"} <= set(Q.dims):
        return None
    M, Q = M.transpose(..., "neuron", "direction"), Q.transpose(..., "neuron", "neuron2")
    errors = [_own(curve, name).error for name in ("overlap", "norm")]
    spread = 2 * np.abs(errors[0].transpose(*M.dims).values).sum((-1, -2))
    spread = spread + np.abs(errors[1].transpose(*Q.dims).values).sum((-1, -2))
    return M, Q.values, spread


def _eigenvalues(matrix: np.ndarray, spread: np.ndarray, outer: xr.DataArray, how: str) -> Reading:
    """Squared cosines, the largest first."""
    known = np.isfinite(matrix).all((-1, -2))
    values = np.linalg.eigvalsh(np.where(known[..., None, None], matrix, 0.0))[..., ::-1]
    values = np.where(known[..., None], np.clip(values, 0.0, 1.0), np.nan)
    return _labeled("cosine2", values, spread[..., None], outer, "direction2", how)


def _root(squares: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Square root and the largest change that the error of the square makes to it."""
    root = np.sqrt(np.maximum(squares, 0.0))
    return root, np.sqrt(np.maximum(squares, 0.0) + spread) - root


def _labeled(
    name: str, value: np.ndarray, error: np.ndarray, outer: xr.DataArray, dim: str, how: str
) -> Reading:
    import xarray as xr

    dims = (*outer.dims[:-2], dim)
    # Coordinates such as time, which belong to an axis, stay with it.
    coords: dict[Any, Any] = {
        key: coord
        for key, coord in outer.coords.items()
        if not set(coord.dims) & {str(lost) for lost in outer.dims[-2:]}
    }
    coords[dim] = np.arange(1, value.shape[-1] + 1)
    symbol, long_name = QUANTITIES[name]
    attrs = {"symbol": symbol, "long_name": long_name}
    errors = np.where(np.isnan(value), np.nan, np.broadcast_to(error, value.shape))
    return Reading(
        xr.DataArray(value, coords, dims, attrs=attrs),
        xr.DataArray(errors, coords, dims),
        symbol,
        how,
    )

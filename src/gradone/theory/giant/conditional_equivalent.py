"""Conditional Gaussian equivalence: what a feature is worth given the spike of a giant step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.axes import axis_values
from ...base.errors import BadData
from ...targets.activation import Activation
from ._one_step_spike import read_activation
from ._smeared import LEVELS, window
from ._swept import one_number

if TYPE_CHECKING:
    import xarray as xr


def conditional_equivalent(
    activation: Activation | str, u: Any, *, spike: float = 1.0, scale: float = 1.0
) -> xr.Dataset:
    r"""Conditional coefficients of an activation after a giant step.

    A neuron that the step has turned sees :math:`\sigma(r u + \sqrt c\,z)`, where u is the
    projection of the input on the learned direction and z its own Gaussian field. Given u its
    feature is equivalent to a linear one with noise,

    .. math:: \sigma \simeq \mu_0(u) + \mu_1(u)\,\langle w, x\rangle + \mu_\star(u)\,\xi, \qquad
              \mu_0 = \mathbb{E}\sigma, \quad \mu_1 = \mathbb{E}[z\sigma]/\sqrt c, \quad
              \mu_\star^2 = \mathbb{E}\sigma^2 - \mu_0^2 - c\mu_1^2 .                    [OS-3]

    At r = 0 these are the three numbers of random features; they do not depend on u then.

    Parameters
    ----------
    activation : str or Activation
        Activation of the student.
    u : float or array
        Projections on the learned direction.
    spike : float
        Strength r of the spike for this neuron.
    scale : float
        Squared norm c of its weights across the spike.

    Returns
    -------
    Dataset
        ``mu_0``, ``mu_1`` and ``mu_star`` over ``u``, each with its error.

    References
    ----------
    Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    Examples
    --------
    For the sign, :math:`\mu_0 = \mathrm{erf}(u/\sqrt2)` and :math:`\mu_1 = 2\varphi(u)`:

    >>> found = conditional_equivalent("sign(z)", [0.0, 1.0])
    >>> found.mu_0.values.round(6), found.mu_1.values.round(6), found.mu_star.values.round(6)
    (array([0.      , 0.682689]), array([0.797885, 0.483941]), array([0.60281 , 0.547481]))
    """
    import xarray as xr

    sigma = read_activation(activation)
    places = np.atleast_1d(np.asarray(u, dtype=float))
    if places.ndim != 1 or not np.isfinite(places).all():
        raise BadData(f"u must be finite numbers, got {u!r}")
    if not np.isfinite(spike):
        raise BadData(f"spike must be a finite number, got {spike!r}")
    c = one_number("scale", float(axis_values("scale", scale)[0]))
    fine, coarse = (_coefficients(sigma, spike * places, c, level) for level in (LEVELS - 1, 2))
    values: dict[str, Any] = {}
    for name, best, rough in zip(("mu_0", "mu_1", "mu_star"), fine, coarse, strict=True):
        values |= {name: ("u", best), f"{name}_err": ("u", np.abs(best - rough) + 1e-14)}
    return xr.Dataset(values, {"u": places})


def _coefficients(
    sigma: Activation, centers: np.ndarray, c: float, level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    w = window(sigma, centers, float(np.sqrt(c)), level)
    rest = np.maximum(w.square - w.mean**2 - w.first**2, 0.0)
    return w.mean, w.first / np.sqrt(c), np.sqrt(rest)

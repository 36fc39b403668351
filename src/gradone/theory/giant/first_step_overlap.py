r"""How much of the target's subspace one giant step finds at finite d and n, at any leading order.

With l the order of the first nonzero Hermite tensor :math:`C_l` of the target, a step
:math:`s = \mathrm{step\_size}\cdot d^{(l-1)/2}`, :math:`u = W^\star w_0` and
:math:`S = a\,\frac{c_l}{(l-1)!}C_l(u^{l-1})`,

.. math:: |P_Vw|^2 &\simeq |u+sS|^2 + s^2a^2B\,\mathbb{E}[\sigma'^2]/n, \\
          |w|^2 &\simeq 1+2s\,u\cdot S
          + s^2\big(|S|^2+a^2((d-r)A+B)\,\mathbb{E}[\sigma'^2]/n\big)                     [FO-1]

with :math:`A = \mathbb{E}[y^2]` and :math:`B = \mathbb{E}[y^2|z|^2]`, averaged over neurons. The
noise inside the subspace needs B; rA in its place is a common misprint.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.axes import axis_values
from ...base.curves import curve
from ...base.errors import BadData, OutOfRegime
from ...calculus.grid import gauss_hermite
from ...targets.activation import Activation
from ...targets.language.expression import Expression
from ...targets.language.tree import power
from ...targets.sampled import Sampled, whole_number
from ...targets.target import Target, as_target
from ._one_step_spike import activation_moments, read_activation
from ._readout_law import readout_law
from ._swept import one_number

if TYPE_CHECKING:
    import xarray as xr

_MAX_ORDER = 6
_ZERO = 1e-8


def first_step_overlap(
    target: Sampled | str,
    *,
    d: int,
    n: Any,
    step_size: float,
    activation: Activation | str = "relu(z)",
    readout: Any = "gaussian",
) -> xr.Dataset:
    r"""Share of the neurons' norm that lies in the target's subspace after one giant step.

    Parameters
    ----------
    target : Target or str
        Target of at most five directions.
    d : int
        Input dimension.
    n : int or sequence
        Samples of the step.
    step_size : float
        c of :math:`s = c\,d^{(l-1)/2}`.
    activation : Activation or str
        Activation of the student, without bias.
    readout : {"gaussian", "signs", "ones"} or mapping
        Second layer before the step.

    Returns
    -------
    xarray.Dataset
        Over ``n``: ``subspace_overlap``, the root mean square of :math:`|P_Vw|` over neurons,
        divided by that of :math:`|w|`; its square root of r/d at small n is chance.

    Notes
    -----
    If the activation has :math:`c_l = 0` the step finds nothing at any n. Orders below l are none;
    a mean of the target or lower orders that are removed beforehand do not count. The error is that
    of the means; the formula itself is good to 0.03 at d = 48 and better at larger d.

    References
    ----------
    Dandi et al. 2023, arXiv:2305.18270.

    Examples
    --------
    >>> found = first_step_overlap("z1 + He2(z2)/2", d=1024, n=[1024, 32768], step_size=4.0,
    ...                            readout="signs")
    >>> found.subspace_overlap.values.round(3)
    array([0.488, 0.863])
    """
    target, sigma = as_target(target), read_activation(activation)
    if not isinstance(target, Target) or target.r > 5:
        raise OutOfRegime(
            f"first_step_overlap covers targets of up to five directions, not {target}"
        )
    d = whole_number("d", d)
    if d <= target.r:
        raise BadData(f"d must be larger than r = {target.r}, got {d}")
    samples = axis_values("n", n)
    c = one_number("step_size", step_size)
    order, tensor = _leading(target)
    step = c * d ** ((order - 1) / 2)
    layer = readout_law(readout)
    mean_a, square_a = layer.mean, float(layer.shares @ layer.values**2)
    along, size2, error = _signal(sigma, tensor, order, d)
    moments = activation_moments(sigma)
    steepness = moments.slope_variance + moments.slope**2
    A, B, label_error = _label_energies(target)
    inside = square_a * step**2 * B * steepness / samples
    outside = square_a * step**2 * (d - target.r) * A * steepness / samples
    signal = 2 * step * mean_a * along + step**2 * square_a * size2
    subspace = target.r / d + signal + inside  # [FO-1]
    total = 1 + signal + inside + outside
    overlap = np.sqrt(subspace / total)
    accuracy = 10 * (error + label_error + moments.error) * (1 + overlap)
    return curve(
        {"subspace_overlap": ("n", overlap), "subspace_overlap_err": ("n", accuracy)},
        {"n": samples},
        source="theory:first_step_overlap",
        target=target.text,
        params={
            "noise": target.noise, "d": d, "step_size": c, "activation": sigma.text,
            "leading_order": order,
        },
        labels={"subspace_overlap": (r"|P_V w|/|w|", "part of the weights in the subspace")},
    )  # fmt: skip


def _leading(target: Target) -> tuple[int, np.ndarray]:
    """Order and value of the first nonzero Hermite tensor of order one or more."""
    expansion = target.hermite(_MAX_ORDER)
    scale = math.sqrt(target.variance.value)
    for order in range(1, _MAX_ORDER + 1):
        tensor = expansion.tensor(order)
        if np.abs(tensor.value).max() > max(_ZERO * scale, 4 * tensor.error.max()):
            return order, tensor.value
    raise OutOfRegime(f"'{target.text}' has no Hermite tensor up to order {_MAX_ORDER}")


def _signal(
    activation: Activation, tensor: np.ndarray, order: int, d: int
) -> tuple[float, float, float]:
    r"""Means of :math:`u\cdot S` and :math:`|S|^2` for a = 1 over starts on the sphere."""
    r = tensor.shape[0]
    nodes, weights = gauss_hermite(order + 1)
    along = size2 = 0.0
    for places in itertools.product(range(order + 1), repeat=r):
        u, weight = nodes[list(places)], float(np.prod(weights[list(places)]))
        pushed = tensor
        for _ in range(order - 1):
            pushed = pushed @ u
        along += weight * float(u @ pushed)
        size2 += weight * float(pushed @ pushed)
    coefficient = activation.hermite(order)
    factor = coefficient.value / math.factorial(order - 1)
    # From a Gaussian start to one on the unit sphere: moments of degree 2k shrink by this much.
    pairs = order - 1
    size2 /= math.prod(d + 2 * i for i in range(pairs))
    along /= math.prod(d + 2 * i for i in range(order // 2)) if order % 2 == 0 else 1.0
    return factor * along, factor**2 * size2, coefficient.error


def _label_energies(target: Target) -> tuple[float, float, float]:
    r""":math:`\mathbb{E}[y^2]`, :math:`\mathbb{E}[y^2|z|^2]` and a bound on their errors."""
    energy, r = target.joint.second_moment(), target.r
    square = Expression.from_tree(power(target.joint.tree, 2), r=target.joint.r)
    curvature = square.hermite(2).tensor(2)
    spread = r * energy.value + float(np.trace(curvature.value[:r, :r]))
    error = (r + 1) * energy.error + float(np.trace(curvature.error[:r, :r]))
    return energy.value + target.noise, spread + r * target.noise, error

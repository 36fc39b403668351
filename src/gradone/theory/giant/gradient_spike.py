"""The spike that the first gradient step plants in the weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.axes import axis_values
from ...base.curves import curve
from ...base.errors import BadData
from ...targets.target import Target
from .._registry import THEORIES, refusal
from ._one_direction import OneDirectionTheory, one_direction
from ._one_step_small import small_spike
from ._one_step_spike import (
    activation_moments,
    link_moments,
    read_activation,
    spike_obstacle,
    spike_of,
)
from ._readout_law import ReadoutLaw, readout_law
from ._swept import Swept

if TYPE_CHECKING:
    import xarray as xr

LABELS = {
    "spike": (r"\theta", "strength of the spike"),
    "alignment": (r"\gamma", "cosine of the gradient with the target's direction"),
    "singular_value": ("s_1", "largest singular value of the weights"),
    "bulk_edge": (r"1+\sqrt{\psi_2}", "edge of the other singular values"),
    "cosine2": (r"\langle u_1, \theta\rangle^2", "squared cosine with the target's direction"),
    "cosine2_gradient": (r"\langle u_1, v\rangle^2", "squared cosine with the gradient"),
    "cosine2_neurons": (r"\langle v_1, a\rangle^2", "squared cosine with the second layer"),
    "threshold": (r"\eta_c", "step size from which on the spike leaves the bulk"),
}


@THEORIES.add("gradient_spike")
class GradientSpikeTheory(OneDirectionTheory):
    r"""Leading singular value and vectors of the first layer after one step.

    The first gradient is close to a matrix of rank one. For a step :math:`\eta` of order one,
    :math:`s = \eta/\sqrt p` in the normalization of giant steps, the spike

    .. math:: \theta = \eta\mu_1\,\mathrm{rms}(u)\sqrt{\mu_{1\star}^2+\mathbb{E}[y^2]/\alpha_0},
              \qquad \gamma^2
              = \frac{\mu_{1\star}^2}{\mu_{1\star}^2+\mathbb{E}[y^2]/\alpha_0}          [SK-1]

    competes with the random start. With :math:`\psi_2` = width / d it leaves the bulk if
    :math:`\theta^4 > \psi_2`, and then

    .. math:: s_1 = \frac{\sqrt{(1+\theta^2)(\psi_2+\theta^2)}}{\theta}, \quad
              \langle u_1,v\rangle^2 = 1-\frac{\psi_2+\theta^2}{\theta^2(\theta^2+1)}, \quad
              \langle u_1,\theta_\star\rangle^2 = \gamma^2\langle u_1,v\rangle^2, \quad
              \frac{\langle v_1,a\rangle^2}{|a|^2}
              = 1-\frac{\psi_2(1+\theta^2)}{\theta^2(\theta^2+\psi_2)}                  [SK-2]

    with v the direction of :math:`X^\top y`. Otherwise :math:`s_1 = 1+\sqrt{\psi_2}` and all
    cosines vanish.

    Parameters
    ----------
    step_size : array
        s for ``scaling="giant"``, :math:`\eta` for ``"small"``.
    batch_ratio : float or array
        Samples of the step, per dimension; ``inf`` is the population gradient.
    activation : str
        Activation of the student.
    width_ratio : float or array
        Width per dimension.
    readout : {"gaussian", "signs", "ones"} or mapping
        Second layer u before the step, ``{value: share}``.
    scaling : {"giant", "small"}
        For ``"giant"`` the spike dominates: ``singular_value`` is :math:`s_1/\sqrt p`, ``spike``
        is r of [OS-1], and the bulk is at zero in this unit.

    Notes
    -----
    Rows of the first layer start with unit norm (Gaussian entries of variance 1/d are the same
    here). Errors are those of the Gaussian means behind the formula.

    References
    ----------
    Ba et al. 2022, arXiv:2205.01445.

    Examples
    --------
    >>> import gradone as gd
    >>> t = gd.Target("z + (z**2 - 1)/2", noise=0.25)
    >>> found = gd.predict(t, "gradient_spike", step_size=[1.0, 2.0], batch_ratio=2.0,
    ...                    width_ratio=1.5, activation="tanh(z)", scaling="small")
    >>> found.singular_value.values.round(4), found.cosine2.values.round(4)
    (array([2.2247, 2.4076]), array([0.    , 0.3137]))
    """

    answers = tuple(LABELS)
    axes = ("step_size",)
    numerics = 2
    regime = "d, width and batch -> infinity in proportion; one direction; Gaussian input"
    cites = ("ba2022onestep",)

    def predict(
        self,
        target: Target,
        *,
        step_size: Any,
        batch_ratio: Any,
        activation: str = "relu(z)",
        width_ratio: Any = 1.0,
        readout: Any = "gaussian",
        scaling: Literal["giant", "small"] = "giant",
    ) -> xr.Dataset:
        """Singular value and cosines at every point of the grid."""
        sigma, layer = read_activation(activation), readout_law(readout)
        link = one_direction(target)
        if scaling not in ("giant", "small"):
            raise BadData(f"scaling must be 'giant' or 'small', got {scaling!r}")
        if scaling == "giant" and (reason := spike_obstacle(link, sigma)):
            raise refusal(self, target, reason)
        given = {
            "batch_ratio": (axis_values("batch_ratio", batch_ratio, infinite=True), batch_ratio),
            "width_ratio": (axis_values("width_ratio", width_ratio), width_ratio),
        }
        grid = Swept({"step_size": step_size}, given)
        accuracy = activation_moments(sigma).error + link_moments(link).error + 1e-16
        found = {name: np.zeros(grid.shape) for name in LABELS}
        found |= {f"{name}_err": np.zeros(grid.shape) for name in LABELS}
        solve = _small if scaling == "small" else _giant
        for place, point in grid:
            for name, value in solve(link, sigma, layer, point).items():
                found[name][place] = value
                # No quantity depends on a mean more steeply than twenty times its own size.
                found[f"{name}_err"][place] = 20 * accuracy * (1 + abs(value))
        return curve(
            {name: grid.labeled(array) for name, array in found.items()},
            grid.coords,
            source=f"theory:{self.name}",
            target=target.text,
            params={"noise": target.noise, "activation": sigma.text, "scaling": scaling},
            labels=LABELS,
        )


def _small(
    target: Target, activation: Any, layer: ReadoutLaw, point: dict[str, float]
) -> dict[str, float]:
    """Singular value and vectors for a step of order one [SK-1], [SK-2]."""
    step, ratio = point["step_size"], point["width_ratio"]
    theta, gamma2 = small_spike(
        target, activation, layer, batch_ratio=point["batch_ratio"], step_size=step
    )
    edge = 1 + math.sqrt(ratio)
    found = {
        "spike": theta,
        "alignment": math.copysign(math.sqrt(gamma2), link_moments(target).linear),
        "singular_value": edge,
        "bulk_edge": edge,
        "threshold": step * ratio**0.25 / theta if theta else math.inf,
    }
    if theta**4 > ratio:
        square = theta**2
        cosine2 = 1 - (ratio + square) / (square * (square + 1))
        found |= {
            "singular_value": math.sqrt((1 + square) * (ratio + square)) / theta,
            "cosine2": gamma2 * cosine2,
            "cosine2_gradient": cosine2,
            "cosine2_neurons": 1 - ratio * (1 + square) / (square * (square + ratio)),
        }
    return found


def _giant(
    target: Target, activation: Any, layer: ReadoutLaw, point: dict[str, float]
) -> dict[str, float]:
    """The same in units of the square root of the width, where the bulk is at zero [OS-1]."""
    spike = spike_of(
        target, activation, layer, batch_ratio=point["batch_ratio"], step_size=point["step_size"]
    )
    size = math.sqrt(float(layer.shares @ layer.values**2))
    is_there = float(spike.strength != 0)
    return {
        "spike": spike.strength,
        "alignment": spike.alignment,
        "singular_value": abs(spike.strength) * size,
        "cosine2": spike.alignment**2 * is_there,
        "cosine2_gradient": is_there,
        "cosine2_neurons": is_there,
    }

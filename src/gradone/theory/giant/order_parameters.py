r"""Order parameters of the readout after one giant step: what it holds of the parts of features.

With the readout a, the spike v, the rows W of the bulk and :math:`\theta_\perp` the unit vector of
the target's direction orthogonal to v, over the neurons with initial readout :math:`u_j`,

.. math:: m_j = \frac{\langle 1, a\rangle_j}{\sqrt p}, \quad
          \zeta_j = \frac{\langle a, Wv\rangle_j}{\sqrt p}, \quad
          \psi_j = \frac{\langle a, W\theta_\perp\rangle_j}{\sqrt p}, \quad
          (q_1)_{jl} = \frac{\langle P_\perp W^\top a_j, P_\perp W^\top a_l\rangle}{p}, \quad
          (q_2)_j = \frac{|a_j|^2}{p},

the unknowns of [OS-5] and [OS-6].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Estimate
from ...targets.activation import Activation
from ...targets.target import Target
from ._one_direction import one_direction, one_direction_obstacle
from ._one_step_model import OneStep, Variant
from ._one_step_spike import read_activation, spike_obstacle
from ._swept import one_number


@dataclass(frozen=True)
class OrderParameters:
    r"""Order parameters of one point, for each value of the initial second layer.

    Parameters
    ----------
    values, shares : ndarray (J,)
        Values :math:`u_j` of the second layer before the step and their shares; the values of an
        odd activation are folded to positive ones.
    m, zeta, psi, q2 : ndarray (J,)
        Overlaps of the readout with the ones, with W v and with W theta_perp; its squared norm.
    q1 : ndarray (J, J)
        Products of the readout with the rows of the bulk.
    B : float
        Change of the row norms by the step, per unit of u; the variant ``"spiked"`` leaves it out.
    error : float
        Largest change of m, zeta, psi, q1 and q2 from one resolution of the integrals to the next.
    test_mse : Estimate
        Test error at this point.
    """

    values: np.ndarray
    shares: np.ndarray
    m: np.ndarray
    zeta: np.ndarray
    psi: np.ndarray
    q1: np.ndarray
    q2: np.ndarray
    B: float
    error: float
    test_mse: Estimate


def order_parameters(
    target: Target | str,
    *,
    readout_ratio: float,
    batch_ratio: float,
    step_size: float,
    activation: Activation | str = "relu(z)",
    width_ratio: float = 1.0,
    ridge: float = 0.1,
    variant: Variant = "gradient",
    width: float = math.inf,
    readout: Any = "gaussian",
) -> OrderParameters:
    """Order parameters of the theory ``one_step`` at one point [OS-5], [OS-6].

    Parameters
    ----------
    target : Target or str
        Target of one direction.
    readout_ratio, batch_ratio, step_size, activation, width_ratio, ridge, variant, width, readout
        As in the theory ``one_step``, one number each.

    Returns
    -------
    OrderParameters

    Notes
    -----
    For a Gaussian second layer of infinite width the functions that m multiplies are nearly
    collinear: the single m are then not determined, only the predictor that they add up to is, and
    ``error`` says so. ``readout="ones"`` has one value of each parameter.

    References
    ----------
    Cui et al. 2024, arXiv:2402.04980.

    Examples
    --------
    >>> found = order_parameters("sin(z)", readout_ratio=1.6, batch_ratio=20.0, step_size=3.0,
    ...                          activation="tanh(z)", readout="ones", variant="spiked")
    >>> [round(x.item(), 6) for x in (found.m, found.zeta, found.psi, found.q1, found.q2)]
    [1.119677, 0.057986, 0.155419, 0.061963, 0.06843]
    """
    target = target if isinstance(target, Target) else Target(target)
    sigma = read_activation(activation)
    reason = one_direction_obstacle(target) or spike_obstacle(one_direction(target), sigma)
    if reason:
        raise OutOfRegime(f"no order parameters for '{target.text}': {reason}")
    model = OneStep(
        one_direction(target), sigma, readout=readout, variant=variant,
        batch_ratio=one_number("batch_ratio", batch_ratio, infinite=True),
        step_size=one_number("step_size", step_size),
    )  # fmt: skip
    where = {
        "readout_ratio": one_number("readout_ratio", readout_ratio),
        "width_ratio": one_number("width_ratio", width_ratio),
        "ridge": one_number("ridge", ridge),
        "width": one_number("width", width, infinite=True),
    }
    point = model.point(**where)
    coarse, fine = (
        model.readout(model.level, 0, **where),
        model.readout(model.level + 1, 0, **where),
    )
    names = ("m", "zeta", "psi", "Q", "q")
    gaps = [np.abs(getattr(fine, name) - getattr(coarse, name)).max() for name in names]
    return OrderParameters(
        values=model.layer.values, shares=model.layer.shares,
        m=fine.m, zeta=fine.zeta, psi=fine.psi[:, 0], q1=fine.Q, q2=fine.q,
        B=model.spike.stretch if variant == "gradient" else 0.0,
        error=float(max(gaps)) + 10 * (fine.error + model.spike.error),
        test_mse=Estimate(point.test, point.test_error, "quadrature"),
    )  # fmt: skip

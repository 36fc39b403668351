"""Hermite coefficients of one block with their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.estimate import Estimate, Kind


@dataclass(frozen=True)
class BlockCoefficients:
    r"""Orthonormal Hermite coefficients :math:`c_\beta/\sqrt{\beta!}` of a block of r variables.

    Parameters
    ----------
    value, error : ndarray
        Arrays of shape ``(degree + 1,) * r``; only entries with total degree at most ``degree``
        are used.
    kind : str
        ``"quadrature"``, or ``"monte_carlo"`` if the error is statistical.
    size : float
        Mean of the absolute value of the block, which may exceed all coefficients; 0 if unknown.
    square : Estimate, optional
        Mean of the square of the block.
    """

    value: np.ndarray
    error: np.ndarray
    kind: Kind = "quadrature"
    size: float = 0.0
    square: Estimate | None = None

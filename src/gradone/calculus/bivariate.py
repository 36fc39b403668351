r"""Gaussian means of a product of two functions of correlated variables.

.. math:: \mathbb{E}[f(u)\,g(v)], \qquad (u, v) \sim \mathcal{N}\!\left(0,
          \begin{pmatrix} q & m \\ m & \rho \end{pmatrix}\right) \qquad [GC-2]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..base.errors import BadData
from ..base.estimate import Estimate
from .expansion import expectation
from .integrand import Block, Integrand, Plane, SeparableSum, Term
from .polynomial import Polynomial


def bivariate_expectation(
    f: SeparableSum, g: SeparableSum, covariance: np.ndarray, *, tolerance: float = 1e-12
) -> Estimate:
    r"""Mean :math:`\mathbb{E}[f(u) g(v)]` for a Gaussian pair with the given covariance [GC-2].

    Parameters
    ----------
    f, g : SeparableSum
        Functions of one variable.
    covariance : array, shape (2, 2)
        Symmetric, positive semi-definite; degenerate pairs (u = v) are allowed.
    tolerance : float
        Relative tolerance of the integration rule.

    Notes
    -----
    With :math:`u = \sqrt q\,z_1` and :math:`v = (m z_1 + \sqrt{q\rho - m^2}\,z_2)/\sqrt q` the
    breaks of f and g are lines in the plane of z, at which the integral is split.

    Examples
    --------
    The arcsine law of two signs:

    >>> sign = SeparableSum.of(np.sign, kinks=[0.0])
    >>> mean = bivariate_expectation(sign, sign, np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> mean.agrees_with(2 / math.pi * math.asin(0.5))
    True
    """
    root = _square_root(np.asarray(covariance, dtype=np.float64))
    rows = [row for row in root if np.linalg.norm(row) > 0]
    rank = 1 if len(rows) < 2 or abs(np.linalg.det(np.array(rows))) < 1e-14 else 2
    if rank == 1:  # both see one variable only
        axis = max(rows, key=np.linalg.norm, default=np.array([1.0, 0.0]))
        slopes = root @ (axis / max(float(np.linalg.norm(axis)), 1e-300))
        root = slopes[:, None]
    planes: list[Plane] = []
    growth = np.zeros(3)
    parts = [block.integrand for h in (f, g) for t in h.terms for block in t.blocks]
    for function, row in ((f, root[0]), (g, root[1])):
        scale = float(np.linalg.norm(row))
        growth += _growth(function, scale)
        for term in function.terms:
            for block in term.blocks:
                planes += [
                    Plane(tuple(row / scale), b / scale) for b in block.integrand.breaks if scale
                ]
    product = Integrand(
        lambda z: f([_combine(root[0], z)]) * g([_combine(root[1], z)]),
        rank,
        tuple(planes),
        any(part.is_curved for part in parts),
        any(part.is_singular for part in parts),
        *growth,
    )
    term = Term(Fraction(1), (Block(tuple(range(rank)), product),))
    return expectation(
        SeparableSum(rank, Polynomial.constant(0, rank), (term,)), tolerance=tolerance
    )


def _square_root(covariance: np.ndarray) -> np.ndarray:
    """Lower-triangular root of a 2 x 2 covariance, which may be degenerate."""
    if covariance.shape != (2, 2) or not np.allclose(covariance, covariance.T, rtol=1e-10, atol=0):
        raise BadData(f"the covariance must be a symmetric 2 x 2 matrix, got {covariance.tolist()}")
    q, m, rho = covariance[0, 0], covariance[0, 1], covariance[1, 1]
    determinant = q * rho - m * m
    if not (q >= 0 and rho >= 0 and determinant >= -1e-12 * max(q * rho, 1e-300)):
        raise BadData(f"{covariance.tolist()} is not a covariance: it has a negative eigenvalue")
    if q == 0:
        return np.array([[0.0, 0.0], [0.0, math.sqrt(rho)]])
    return np.array([[math.sqrt(q), 0.0], [m / math.sqrt(q), math.sqrt(max(determinant, 0.0) / q)]])


def _combine(row: np.ndarray, z: Sequence[np.ndarray]) -> np.ndarray:
    total: np.ndarray = np.zeros(())
    for weight, column in zip(row, z, strict=True):
        total = total + weight * column
    return total


def _growth(f: SeparableSum, scale: float) -> np.ndarray:
    """Degree, linear and quadratic rate of f(scale * z)."""
    parts = [(float(f.polynomial.degree), 0.0, 0.0)] + [
        (b.integrand.degree, b.integrand.linear * scale, b.integrand.quadratic * scale**2)
        for t in f.terms
        for b in t.blocks
    ]
    return np.array([max(values) for values in zip(*parts, strict=True)])

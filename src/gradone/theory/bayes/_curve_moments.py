"""Moments of the posterior of every label at a product of prior means, from level curves.

Tables (labels, order * n1, order * n2): a block holds, at every prior mean, the moments of one
power of the distance along each eigenvector of M, in units of the variance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...channels.atoms import Atoms
from ...channels.level_curves import Curves

# Variance of a prior below which nodes are taken to the means next to them only: factors at
# neighboring means follow from each other until they vanish.
_NARROW = 0.025


def curve_moments(
    curves: Curves, Q: np.ndarray, means: list[np.ndarray], variances: np.ndarray, order: int
) -> np.ndarray:
    """Moments of labels with a density.

    Parameters
    ----------
    curves : Curves
        Their level curves.
    Q : array (2, 2)
        Columns: eigenvectors of M.
    means : list of two arrays (n1,), (n2,)
        Prior means along them.
    variances : array (2,)
        Variances of the prior along them.
    order : int
        Number of powers of the distance, from 0.
    """
    from ._curve_kernels import dense_sums, sparse_sums

    x = Q.T @ curves.x
    sums = np.zeros((len(curves.start) - 1, *(order * len(omega) for omega in means)))
    if variances.min() < _NARROW:
        sparse: Any = sparse_sums
        steps = tuple(map(_step, means))
        sparse(curves.start, x, curves.weight, tuple(means), steps, variances, order, sums)
    else:
        dense: Any = dense_sums
        away = x - np.array([[omega[len(omega) // 2]] for omega in means])
        first = np.exp(-0.5 * away**2 / variances[:, None])
        first[0] *= curves.weight / (2 * math.pi * math.sqrt(variances.prod()))
        ratios = tuple(map(_ratios, x, means, variances))
        dense(curves.start, x, tuple(means), first, ratios, variances, order, sums)
    return sums


def atom_moments(
    atoms: Atoms, Q: np.ndarray, means: list[np.ndarray], variances: np.ndarray, order: int
) -> np.ndarray:
    """The same of labels that have a probability of their own.

    Examples
    --------
    Both of two rectifiers are off with probability 1/4, where z1 has mean -0.8.

    >>> from gradone.targets.language.expression import Expression
    >>> here, one = [np.zeros(1), np.zeros(1)], np.ones(2)
    >>> table = atom_moments(Atoms(Expression("relu(z1) + relu(z2)")), np.eye(2), here, one, 2)[0]
    >>> table[0, 0].round(6), (table[1, 0] / table[0, 0]).round(6)
    (np.float64(0.25), np.float64(-0.797885))
    """
    n1, n2 = map(len, means)
    k = len(atoms.values)
    table = np.zeros((k, order * n1, order * n2))
    if not k:
        return table
    omega = np.stack(np.meshgrid(*means, indexing="ij"), axis=-1).reshape(-1, 2) @ Q.T
    out = atoms.outcomes(omega, (Q * variances) @ Q.T, curvature=order > 2)

    def at_means(values: np.ndarray) -> np.ndarray:
        return np.asarray((np.exp(out.log_z) * values).T.reshape(k, n1, n2))

    g = out.g @ Q
    table[:, :n1, :n2] = at_means(np.ones(()))
    table[:, n1 : 2 * n1, :n2], table[:, :n1, n2 : 2 * n2] = map(at_means, np.moveaxis(g, -1, 0))
    if out.dg is not None:
        second = Q.T @ out.dg @ Q + g[..., :, None] * g[..., None, :] + np.diag(1 / variances)
        table[:, 2 * n1 :, :n2] = at_means(second[..., 0, 0])
        table[:, n1 : 2 * n1, n2 : 2 * n2] = at_means(second[..., 0, 1])
        table[:, :n1, 2 * n2 :] = at_means(second[..., 1, 1])
    return table


def _ratios(x: np.ndarray, means: np.ndarray, variance: float) -> np.ndarray:
    """Ratios (gaps, nodes) of Gaussian factors at neighboring means, but for those of the means.

    Examples
    --------
    >>> _ratios(np.array([0.0, 1.0]), np.array([-1.0, 0.0, 1.0]), 1.0).round(3).tolist()
    [[1.0, 2.718]]
    """
    gaps = np.diff(means) if not (step := _step(means)) else np.array([step])
    return np.exp(np.multiply.outer(gaps / variance if len(gaps) else np.zeros(1), x))


def _step(means: np.ndarray) -> float:
    """Distance of equidistant numbers, 0 if they are not."""
    steps = np.diff(means)
    return float(steps.mean()) if len(steps) and np.ptp(steps) < 1e-9 * steps.mean() else 0.0

r"""State evolution of Bayes-AMP: the low-dimensional dynamics of its overlap matrix.

With the posterior channel at :math:`\omega \sim N(0, M)`, :math:`V = I - M`,

.. math:: J(M) = \mathbb{E}_\omega \sum_y Z\, g_{out} g_{out}^\top, \qquad
          M \leftarrow \alpha J (I + \alpha J)^{-1}.                                        [SE-1]

A direction that carries no overlap yet grows if the map is unstable there: with
:math:`G = \mathbb{E}[z_\perp z_\perp^\top - I \mid y, \omega]`,

.. math:: K \leftarrow \alpha F_M(K), \qquad F_M(K) = \mathbb{E}_{\omega, y}[G K G].        [SE-2]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...channels import PosteriorChannel
from ...targets.language.expression import Expression
from ...targets.signed_permutations import Symmetries
from ._curve_means import means_of_shared_labels, shared_labels_of
from ._folding import equivariant, fold, invariances, symmetrized
from ._nested_means import Axis, nested_means, nesting_axes
from ._prior_means import prior_means

# Overlaps stay below 1 - _GAP: beyond, the posterior is a point in double precision.
_GAP = 1e-6
_BLOCK = 4096


class Averages(NamedTuple):
    """What state evolution needs to know at an overlap matrix M."""

    information: np.ndarray
    """J(M) of [SE-1], (r, r)."""
    log_evidence: float
    """Mean of log Z."""
    test_mse: float
    """Mean squared error of the posterior mean of a new label, its noise included."""

    def plus(self, other: Averages, factor: float = 1.0) -> Averages:
        """Sum with a multiple of other averages."""
        return Averages(
            self.information + factor * other.information,
            self.log_evidence + factor * other.log_evidence,
            self.test_mse + factor * other.test_mse,
        )


def averages(
    channel: PosteriorChannel,
    M: np.ndarray,
    resolution: int = 0,
    *,
    around: np.ndarray | None = None,
) -> Averages:
    """Averages over the prior mean and the label at the overlap matrix `M`.

    With as many prior means as at the overlap matrix `around`, if it is given: differences of
    neighbors are then smooth.
    """
    return mean_of(sums(channel, M, resolution, around=around))


def mean_of(total: np.ndarray) -> Averages:
    """Averages from sums over prior means."""
    weight, log_evidence, mse, *J = total
    r = math.isqrt(len(J))
    information = np.reshape(J, (r, r)) / weight
    return Averages(information, float(log_evidence / weight), float(mse / weight))


def sums(
    channel: PosteriorChannel,
    M: np.ndarray,
    resolution: int = 0,
    *,
    around: np.ndarray | None = None,
    beyond: int | None = None,
) -> np.ndarray:
    """Sums over prior means: of the weights, of log Z, of the squared error, and of J.

    Without the prior means of the resolution `beyond`, if it is given and rules are nested.
    """
    shared = means_of_shared_labels(channel, M, resolution, around=around)
    if shared is not None:
        return np.array([1.0, shared.log_evidence, shared.test_mse, *shared.information.ravel()])
    omega, weights, group = _rule(channel, M, resolution, around=around, beyond=beyond)
    V = np.eye(len(M)) - M
    J, log_evidence, mse = np.zeros_like(M), 0.0, 0.0
    for start in range(0, len(omega), _BLOCK):
        block, w = omega[start : start + _BLOCK], weights[start : start + _BLOCK]
        out = channel.outcomes(block, V)
        mass = out.weight * np.exp(out.log_z)
        total = mass.sum(axis=1)
        mean = np.einsum("mk,mk->m", mass, out.y) / total
        p = (w / total)[:, None] * mass
        chance = p.ravel()
        columns = np.ascontiguousarray(equivariant(group, block, out.g).reshape(-1, len(M)).T)
        # Not a product of matrices: so thin ones keep several threads busy for nothing.
        J += np.einsum("in,jn->ij", columns * chance, columns)
        # A label without mass has an infinite logarithm, and no weight.
        log_evidence += float(chance @ np.where(chance > 0, out.log_z.ravel(), 0.0))
        mse += float(chance @ ((out.y - mean[:, None]) ** 2).ravel())
    J = symmetrized(group.maps, J)
    return np.array([weights.sum(), log_evidence, mse, *J.ravel()])


def axes_of(channel: PosteriorChannel, M: np.ndarray) -> list[Axis] | None:
    """Axes of nested rules over prior means, None if a product rule is better."""
    if not channel.varies_at_breaks or shared_labels_of(channel, M):
        return None
    return nesting_axes(channel.target.expression, M)


def _rule(
    channel: PosteriorChannel,
    M: np.ndarray,
    resolution: int,
    *,
    kept: np.ndarray | None = None,
    around: np.ndarray | None = None,
    beyond: int | None = None,
) -> tuple[np.ndarray, np.ndarray, Symmetries]:
    """Prior means, weights up to a common factor, and the symmetries by which both are folded.

    Those of the target; if a matrix `kept` is given, which leave it as it is.
    """
    M = np.where(np.abs(M) < 1e-13, 0.0, M)  # what is zero up to rounding is zero
    expression = channel.target.expression
    axes = axes_of(channel, M if around is None else around)
    if axes is None:
        group = invariances(expression, M)
        is_graded = channel.varies_at_zero and not np.any(M - np.diag(np.diag(M)))
        means = prior_means(M, resolution, around=around, graded=is_graded)
    else:
        directions = np.array([axis.direction for axis in axes])
        group = invariances(expression, M, directions if len(axes) == len(M) else None)
        if any(axis.slopes.any() for axis in axes):  # then the axes have different roles
            stays = (np.abs(directions @ group.maps @ directions.T) > 0.5) == np.eye(len(M))
            group = Symmetries(*(part[stays.all(axis=(1, 2))] for part in group))
        means = nested_means(axes, M, resolution, around=around, beyond=beyond)
    if kept is not None:
        moved = group.maps @ kept @ group.maps.swapaxes(1, 2)
        stays = np.abs(moved - kept).max(axis=(1, 2)) < 1e-12
        group = Symmetries(group.maps[stays], group.keeps[stays])
    return *fold(group.maps, *means), group


def overlap_step(J: np.ndarray, alpha: float) -> np.ndarray:
    r"""New overlap matrix :math:`\alpha J (I + \alpha J)^{-1}` of [SE-1], kept within [0, I)."""
    information, Q = np.linalg.eigh(alpha * J)
    information = np.maximum(information, 0.0)
    return (Q * np.minimum(information / (1 + information), 1 - _GAP)) @ Q.T


def growth_operator(
    channel: PosteriorChannel, M: np.ndarray, rows: np.ndarray, resolution: int = 0
) -> np.ndarray:
    """Matrix of :math:`F_M` in [SE-2] on symmetric matrices over the span of `rows` (q, r).

    In the orthonormal basis of :func:`symmetric_basis`, so that eigenvalues are growth rates per
    unit of alpha.
    """
    basis = symmetric_basis(len(rows)).reshape(-1, len(rows) ** 2)
    shared = means_of_shared_labels(channel, M, resolution, curvature=True)
    if shared is not None:
        pairs = shared.pairs
        return basis @ _curve_growth(channel.target.expression, M, rows, pairs) @ basis.T
    omega, weights, group = _rule(channel, M, resolution, kept=rows.T @ rows)
    weights = weights / weights.sum()
    V = np.eye(len(M)) - M
    q = len(rows)
    pairs = np.zeros((q * q, q * q))
    for start in range(0, len(omega), _BLOCK):
        out = channel.outcomes(omega[start : start + _BLOCK], V, curvature=True)
        assert out.dg is not None
        mass = out.weight * np.exp(out.log_z)
        p = weights[start : start + _BLOCK, None] * mass / mass.sum(axis=1, keepdims=True)
        kept = p > 1e-14
        g = out.g[kept] @ rows.T
        G = rows @ out.dg[kept] @ rows.T + g[:, :, None] * g[:, None, :]
        flat = G.reshape(len(G), q * q)
        pairs += (flat * p[kept][:, None]).T @ flat
    # At a prior mean that was folded away, G is mirrored.
    mirrors = [np.kron(mirror, mirror) for mirror in rows @ group.maps @ rows.T]
    pairs = np.mean([mirror @ pairs @ mirror.T for mirror in mirrors], axis=0)
    # (G K G)_il = sum_jk G_ij K_jk G_kl
    operator = pairs.reshape(q, q, q, q).transpose(0, 3, 1, 2).reshape(q * q, q * q)
    return basis @ operator @ basis.T


def _curve_growth(
    expression: Expression, M: np.ndarray, rows: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """The operator on all matrices over the span of `rows`, from means of products of G."""
    pairs = np.einsum("ijkl,ai,bj,ck,dl->abcd", pairs, rows, rows, rows, rows)
    kept = rows.T @ rows
    maps = invariances(expression, M).maps
    stays = np.abs(maps @ kept @ maps.swapaxes(1, 2) - kept).max(axis=(1, 2)) < 1e-12
    mirrored = [
        np.einsum("abcd,ia,jb,kc,ld->ijkl", pairs, *(4 * [mirror]))
        for mirror in rows @ maps[stays] @ rows.T
    ]
    # (G K G)_il = sum_jk G_ij K_jk G_kl
    q = len(rows)
    return np.asarray(np.mean(mirrored, axis=0).transpose(0, 3, 1, 2).reshape(q * q, q * q))


def symmetric_basis(q: int) -> np.ndarray:
    """Orthonormal basis of the symmetric q x q matrices, (q (q + 1) / 2, q, q).

    Examples
    --------
    >>> symmetric_basis(2)[1].round(3).tolist()
    [[0.0, 0.707], [0.707, 0.0]]
    """
    basis = []
    for i in range(q):
        for j in range(i, q):
            E = np.zeros((q, q))
            E[i, j] = E[j, i] = 1.0 if i == j else np.sqrt(0.5)
            basis.append(E)
    return np.array(basis)

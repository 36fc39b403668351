"""Averages of state evolution for two variables, over labels that all prior means share."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...channels.base import PosteriorChannel
from ...channels.deterministic import DeterministicPosterior
from ...channels.noisy import NoisyPosterior
from ...channels.noisy_labels import noisy_labels
from ...channels.shared_labels import NARROWEST, SharedLabels, shared_labels
from ...targets.language.expression import Expression
from ...targets.language.structure import has_jumps
from ._curve_moments import atom_moments, curve_moments
from ._folding import invariances, symmetrized
from ._prior_means import axis_rules, merged

_SAME = 1e-9
_NARROWEST_OF_TWO = 0.012  # width that curves resolve where the posterior is wide in one direction
# With noise: how far labels spread at least, in units of the noise, and the width of the prior down
# to which curves are used; the same for a narrower prior, with panels of labels that are halved.
# Otherwise the labels of each prior mean on its own cost less.
_SPREAD, _NARROWEST_WITH_NOISE = 6.5, 0.42
_WIDE_SPREAD, _NARROWEST_IF_WIDE = 20.0, 0.2
_COMMON = 1e-5  # share of J that all rules over labels and curves lack alike
_TELLING = 10.0  # square of g for labels that were not found
_TABLE = 4_000_000  # numbers in a table of moments
_BETWEEN_LABELS = 0.12  # width of a prior whose labels are closer together than those of the rule
_PER_WIDTH, _REACH = 0.6, 6.0  # step and reach of a lattice, in widths of the prior
_FINEST_KINK = 0.05  # longest step, next to kinks
_SECOND = {(1.0, 1.0), (1.0, -1.0)}  # only the second axis is turned around


class CurveMeans(NamedTuple):
    """Averages over prior means and labels."""

    log_evidence: float
    test_mse: float
    information: np.ndarray
    """(2, 2) J(M) of [SE-1]."""
    pairs: np.ndarray
    """(2, 2, 2, 2) means of ``G_ij G_kl``, G = dg + g g^T; zero unless asked for."""


def means_of_shared_labels(
    channel: PosteriorChannel,
    M: np.ndarray,
    resolution: int,
    *,
    around: np.ndarray | None = None,
    curvature: bool = False,
) -> CurveMeans | None:
    """Averages at the overlap matrix `M`, None where labels cannot be shared.

    Parameters
    ----------
    channel : PosteriorChannel
        The channel.
    M, resolution, around
        Overlap matrix and rule over prior means, as in :func:`~._prior_means.prior_means`.
    curvature : bool
        Whether `pairs` is wanted.
    """
    deciding = M if around is None else around
    shared = shared_labels_of(channel, deciding)
    if shared is None:
        return None
    if not channel.target.noise and is_almost_known(deciding):
        return narrow_means(shared, M)
    wider = _widened(M)
    near = None if around is None else _widened(around)
    means = curve_means(channel, shared, wider, resolution, around=near, curvature=curvature)
    if wider is M:
        return means
    # What is known along a narrow direction is known in units of its width.
    scale = _root(np.eye(2) - wider) @ np.linalg.inv(_root(np.eye(2) - M))
    return means._replace(information=scale.T @ means.information @ scale)


def shared_labels_of(channel: PosteriorChannel, M: np.ndarray) -> SharedLabels | None:
    """Labels that the prior means of a channel of two variables share.

    None if the posterior is so narrow in one direction only that curves do not resolve it, unless
    rough averages will do.
    """
    target = channel.target
    if len(M) != 2 or target.channel.kind == "discrete":
        return None
    if target.noise:
        return _shared_with_noise(channel, M)
    jumps = has_jumps(target.expression.tree)
    if is_almost_known(M):
        if jumps:  # they tell more than the slope next to them
            return None
    elif not isinstance(channel, DeterministicPosterior):
        return None
    elif np.linalg.eigvalsh(M)[-1] > 1 - NARROWEST**2:
        if jumps or not channel.is_rough or not channel.has_curved_levels:
            return None
    shared = shared_labels(target.expression, channel.resolution)
    return None if shared is None or (is_almost_known(M) and shared.is_degenerate) else shared


def lost_information(channel: PosteriorChannel, M: np.ndarray) -> tuple[float, float]:
    """What shared labels may lack of J(M), as a share of it and as a multiple of the identity.

    The second is what labels tell that were not found: those far out tell more than others.
    """
    shared = shared_labels_of(channel, M)
    return (0.0, 0.0) if shared is None else (_COMMON, _TELLING * max(shared.missing, 0.0))


def _shared_with_noise(channel: PosteriorChannel, M: np.ndarray) -> SharedLabels | None:
    """The same for labels with noise; None where those of each prior mean cost less."""
    if not isinstance(channel, NoisyPosterior):
        return None
    expression, noise = channel.target.expression, channel.target.noise
    width = math.sqrt(1 - float(np.linalg.eigvalsh(M)[-1]))
    spread = math.sqrt(float(expression.second_moment()) / noise)
    if spread > _SPREAD and width > _NARROWEST_WITH_NOISE:
        return shared_labels(expression, channel.resolution)
    if spread > _WIDE_SPREAD and width > _NARROWEST_IF_WIDE:
        return shared_labels(expression, channel.resolution, halvings=1)
    return None


def is_almost_known(M: np.ndarray) -> bool:
    """Whether the posterior is narrow in every direction."""
    return bool(np.linalg.eigvalsh(M)[0] > 1 - NARROWEST**2)


def _widened(M: np.ndarray) -> np.ndarray:
    """Overlap matrix whose posterior curves resolve; M itself if they do there."""
    overlaps, Q = np.linalg.eigh(M)
    if overlaps[-1] <= 1 - _NARROWEST_OF_TWO**2:
        return M
    return (Q * np.minimum(overlaps, 1 - _NARROWEST_OF_TWO**2)) @ Q.T


def _root(V: np.ndarray) -> np.ndarray:
    """Symmetric root of a covariance."""
    variances, Q = np.linalg.eigh(V)
    return np.asarray((Q * np.sqrt(variances)) @ Q.T)


def narrow_means(shared: SharedLabels, M: np.ndarray) -> CurveMeans:
    r"""Averages where the label determines z in the direction of the gradient.

    .. math::
        J = \mathbb{E}_z \frac{\nabla f \nabla f^T}{s}, \qquad
        \mathbb{E} \log Z = -\tfrac12 \mathbb{E} \log 2\pi e s, \qquad
        s = \nabla f^T V \nabla f                                                       [CM-1]

    up to a share of the order of the width :math:`\sqrt{V}`. The trace of V J is the probability
    p that the label varies with z, so :math:`V' = (\alpha J)^{-1}` shrinks by r/(alpha p) from one
    iteration to the next: perfect recovery is stable from alpha = r/p on.
    """
    V = np.eye(2) - M
    chance, gradient, log_slope = shared.cloud
    s = np.einsum("in,ij,jn->n", gradient, V, gradient)
    J = (gradient * (chance / s)) @ gradient.T
    log_evidence = chance @ (log_slope - 0.5 * np.log(2 * math.pi * math.e * s))
    mse = chance @ (s * np.exp(-2 * log_slope))
    J = symmetrized(invariances(shared.expression, M).maps, J)
    return CurveMeans(float(log_evidence), float(mse), J, np.zeros((2, 2, 2, 2)))


def curve_means(
    channel: PosteriorChannel,
    shared: SharedLabels,
    M: np.ndarray,
    resolution: int,
    *,
    around: np.ndarray | None = None,
    curvature: bool = False,
) -> CurveMeans:
    """Averages from the level curves of the labels, and from their atoms."""
    from ._curve_kernels import add_labels

    overlaps, Q = np.linalg.eigh(M)
    overlaps = merged(overlaps)
    variances = 1 - overlaps
    curves = shared.curves(math.sqrt(float(variances.min())))
    deciding = overlaps if around is None else merged(np.linalg.eigvalsh(around))
    rules = axis_rules(deciding, resolution)
    mirrors = invariances(shared.expression, M).maps
    rules = _folded(rules, Q.T @ mirrors @ Q)
    means = [np.sqrt(m) * v for m, (v, _) in zip(overlaps, rules, strict=True)]
    chances = [w for _, w in rules]
    noise = channel.target.noise
    noisy = noisy_labels(shared, noise) if noise else None
    labels = shared.rule if noisy is None else noisy.rule
    mean = np.zeros((len(means[0]), len(means[1])))
    totals, products = np.zeros(5), np.zeros((3, 3))
    order = 3 if curvature else 2
    row = order**2 * len(means[1]) * (len(shared.rule) + len(labels))
    rows = max(1, _TABLE // row)
    add: Any = add_labels
    for start in range(0, len(means[0]), rows):
        some = slice(start, start + rows)
        at: Any = (Q, [means[0][some], means[1]], variances, order)
        sums = curve_moments(curves, *at)
        if len(shared.atoms.values):
            sums = np.concatenate([sums, atom_moments(shared.atoms, *at)])
        if noisy is not None:
            sums = np.tensordot(noisy.kernel, sums, axes=1)
        here = chances[0][some], chances[1]
        add(sums, labels, here, variances, curvature, mean[some], totals, products)
    products += np.triu(products, 1).T
    first, second = Q.T
    cross = np.outer(first, second)
    basis = np.array([np.outer(first, first), cross + cross.T, np.outer(second, second)])
    J = np.tensordot(totals[2:], basis, axes=1)
    pairs = np.einsum("ab,aij,bkl->ijkl", products, basis, basis)
    log_evidence, square = totals[:2]
    chance = np.outer(*chances).ravel()
    if math.sqrt(float(variances.min())) < _BETWEEN_LABELS:
        square = float(shared.expression.second_moment()) + noise
        if has_jumps(shared.expression.tree):
            omega = np.stack(np.meshgrid(*means, indexing="ij"), axis=-1).reshape(-1, 2) @ Q.T
            mean = channel.mean(omega, np.eye(2) - M)
        else:
            mean = _lattice_mean(shared.expression, means, Q, np.sqrt(variances))
    mse = square - chance @ mean.ravel() ** 2
    # Not divided by the mass of the labels: what is lost of them shows as a difference of rules.
    return CurveMeans(float(log_evidence), float(mse), symmetrized(mirrors, J), pairs)


def _lattice_mean(
    expression: Expression, means: list[np.ndarray], Q: np.ndarray, widths: np.ndarray
) -> np.ndarray:
    """Mean label (n,) at a product of prior means, by the trapezoidal rule along eigenvectors.

    Examples
    --------
    >>> ends = [np.array([-1.0, 1.0]), np.array([2.0])]
    >>> found = _lattice_mean(Expression("z1**2*z2"), ends, np.eye(2), np.array([0.1, 0.05]))
    >>> found.round(6).tolist()
    [2.02, 2.02]
    """
    factors, places = [], []
    for omega, width in zip(means, widths, strict=True):
        step = min(_PER_WIDTH * width, _FINEST_KINK)
        first, last = omega.min() - _REACH * width, omega.max() + _REACH * width
        z, step = np.linspace(first, last, math.ceil((last - first) / step) + 1, retstep=True)
        away = (z - omega[:, None]) / width
        factors.append(np.exp(-(away**2) / 2) * (step / (width * math.sqrt(2 * math.pi))))
        places.append(z)
    grid = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1) @ Q.T
    return np.asarray(factors[0] @ expression(grid) @ factors[1].T).ravel()


def _folded(
    rules: list[tuple[np.ndarray, np.ndarray]], maps: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rules over the positive half of each axis that a symmetry (k, 2, 2) turns around.

    Examples
    --------
    >>> rule = np.array([-1.0, 0.0, 1.0]), np.array([0.25, 0.5, 0.25])
    >>> first, second = _folded([rule, rule], np.array([np.eye(2), -np.eye(2)]))
    >>> first[1].tolist(), second[1].tolist()
    ([0.5, 0.5], [0.25, 0.5, 0.25])
    """
    signs = np.einsum("kii->ki", maps)[np.abs(maps[:, 0, 1]) < _SAME]
    turns = {(float(a), float(b)) for a, b in signs.round()}
    both = {(1.0, -1.0), (-1.0, 1.0)} <= turns
    result = []
    for axis, (v, w) in enumerate(rules):
        if both or (any(turn[axis] < 0 for turn in turns) and (axis == 0 or turns == _SECOND)):
            kept = v > -_SAME
            v, w = v[kept], np.where(v > _SAME, 2 * w, w)[kept]
        result.append((v, w))
    return result

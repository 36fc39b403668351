"""Samples from which the first stage sees the directions, in the limit of large d."""

from __future__ import annotations

import math

import numpy as np

from ...analysis.depth.chain import Chain, chain
from ...base.errors import OutOfRegime
from ...base.estimate import Estimate, roughest
from ...targets.hierarchical import HierarchicalTarget, QuadraticForms
from ._labels import Score, checked_score

_REACH, _NODES = 10.0, 40_000  # an even number: a jump at 0 must not fall on a node
_NOISE_NODES, _NOISY_LABELS = 32, 2001


def first_stage_threshold(target: HierarchicalTarget, score: Score = "gauss") -> Estimate:
    r"""Ratio n_c/(d K) from which the first stage sees the K directions of a target.

    .. math:: \frac{n_c}{dK} = \frac{1}{2 w_2\,\mathrm{corr}(T(y), h)^2}                [DT-5]

    with :math:`w_2` the share of the quadratic part of the top feature h in the directions.

    Parameters
    ----------
    target : Sight, Might or Tree
        The target, Gaussian features assumed.
    score : {"gauss", "rank", "label"}
        Function T of the label: Gaussian quantile of its rank, its rank, or itself. The first is
        the best function, E[h | y], for every increasing outer function without noise.

    Returns
    -------
    Estimate
        Infinite if the label or the feature has no such part.

    Examples
    --------
    >>> from gradone import Sight
    >>> t = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> [round(first_stage_threshold(t, s).value, 5) for s in ("label", "rank", "gauss")]
    [0.82301, 0.69813, 0.66667]
    """
    if isinstance(target, QuadraticForms):
        raise OutOfRegime(
            "quadratic forms use every direction, so there is no first layer to learn"
        )
    found = chain(target)
    share = _quadratic_share(found)
    correlation = score_correlation(target, score)
    if share.is_zero or correlation.is_zero:
        return Estimate(math.inf, 0.0, roughest(share.kind, correlation.kind))
    value = 1 / (2 * share.value * correlation.value)
    error = value * (share.error / share.value + correlation.error / correlation.value)
    return Estimate(value, error, roughest(share.kind, correlation.kind))


def _quadratic_share(found: Chain) -> Estimate:
    """Share of the top feature that is quadratic in single directions."""
    value, upper = 1.0, 1.0
    for level in range(len(found.inners)):
        degree = 2 if level == 0 else 1
        shares = found.shares(level, degree)
        value, upper = value * float(shares.value[degree]), upper * float(shares.upper[degree])
    return Estimate(value, upper - value, "quadrature" if upper > value else "exact")


def score_correlation(target: HierarchicalTarget, score: Score = "gauss") -> Estimate:
    r"""Squared correlation of a score of the label with a Gaussian top feature.

    Examples
    --------
    >>> from gradone import Sight
    >>> t = Sight(outer="sign(h)", inner="He2(z)/2", exponent=0.5)
    >>> score_correlation(t, "label").agrees_with(2 / np.pi)
    True
    """
    score = checked_score(score)
    outer = chain(target).outer
    if outer.r == 1 and score == "label":
        # For a sum of branches the factors 1/r of signal and directions cancel.
        linear, total = outer.coefficient(1), outer.null.value + target.noise
        value = linear.value**2 / total
        error = (2 * abs(linear.value) * linear.error + value * outer.null.error) / total
        return Estimate(value, error, roughest(linear.kind, outer.null.kind))
    if outer.r > 1 or getattr(target, "branches", 1) > 1:
        raise OutOfRegime(
            f"the limit of large d with score {score!r} is known for one top feature, this target "
            "has several; use score='label' for a sum of branches, or first_stage at finite d"
        )
    fine, coarse = (_correlation(target, score, nodes) for nodes in (_NODES, _NODES // 2))
    return Estimate(fine, abs(fine - coarse) + 1e-9, "quadrature")


def _correlation(target: HierarchicalTarget, score: Score, nodes: int) -> float:
    """Squared correlation on a grid of the feature, and of the noise if there is some."""
    if target.noise:
        nodes //= _NOISE_NODES // 2
    u = (np.arange(nodes) + 0.5) * (2 * _REACH / nodes) - _REACH
    weight = np.exp(-(u**2) / 2)
    weight /= weight.sum()
    y = np.asarray(chain(target).outer.expression(u[:, None]))
    if target.noise:
        points, shares = np.polynomial.hermite_e.hermegauss(_NOISE_NODES)
        t = _noisy_scores(y, weight, points, math.sqrt(target.noise), score)
        weight, u = np.outer(weight, shares / shares.sum()).ravel(), np.repeat(u, _NOISE_NODES)
    else:
        t = _scores(y, weight, score)
    t = t - weight @ t
    return float((weight @ (t * u)) ** 2 / ((weight @ t**2) * (weight @ u**2)))


def _scores(y: np.ndarray, weight: np.ndarray, score: Score) -> np.ndarray:
    """Scores of weighted labels; equal labels share the mean of theirs."""
    from scipy.special import ndtri

    _, place = np.unique(y, return_inverse=True)
    mass = np.bincount(place, weight)
    above = np.cumsum(mass)
    if score == "rank":
        return np.asarray((above - mass / 2)[place])
    ends = ndtri(np.clip(np.concatenate([[0.0], above]), 0.0, 1.0))
    density = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
    return np.asarray((-np.diff(density) / mass)[place])


def _noisy_scores(
    y: np.ndarray, weight: np.ndarray, points: np.ndarray, sigma: float, score: Score
) -> np.ndarray:
    """Scores of y + sigma * points, from the law of the noisy label, flat."""
    from scipy.special import ndtr, ndtri

    grid = np.linspace(y.min() - 12 * sigma, y.max() + 12 * sigma, _NOISY_LABELS)
    rank = np.array([weight @ ndtr((value - y) / sigma) for value in grid])
    scores = rank if score == "rank" else ndtri(np.clip(rank, 1e-300, 1 - 1e-16))
    return np.interp((y[:, None] + sigma * points).ravel(), grid, scores)

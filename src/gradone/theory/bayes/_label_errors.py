r"""Probability that the most probable label of a discrete channel is wrong.

With prior means :math:`\omega = L u`, :math:`L L^\top = M`, u standard normal,

.. math:: P(\hat y \ne y) = \mathbb{E}_u \bigl[1 - \max_y Z(y | L u, I - M)\bigr].          [WL-1]

The largest of several probabilities has kinks where two of them are equal. No rule with nodes in
fixed places converges fast there, and the difference of two such rules says little of their error.
Here lines along the last coordinate are cut at their kinks; what is left as a function of the other
coordinates is smooth but for a few places, next to which panels are halved.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...base.estimate import Estimate
from ...channels import PosteriorChannel
from ._label_lines import RADIUS, LabelLines, Panels, chance_of_error


class Rule(NamedTuple):
    """Gauss-Legendre rules in panels."""

    order: int
    """Number of nodes."""
    length: float
    """Of panels, in units of the scale on which something varies."""


class Integrals(NamedTuple):
    """Integrals over panels of the first coordinate."""

    value: np.ndarray
    """(n,)"""
    is_smooth: np.ndarray
    """(n,) whether all lines that start in a panel have as many kinks."""
    u: np.ndarray
    """(m, k) all nodes."""
    share: np.ndarray
    """(m,) what each contributes to the sum."""


class Pieces(NamedTuple):
    """Panels of the first coordinate with their integrals."""

    low: np.ndarray
    high: np.ndarray
    value: np.ndarray
    error: np.ndarray


# Two rules whose difference is the error, by the number of coordinates.
_RULES = {
    1: (Rule(7, 2.0), Rule(10, 2.0)),
    2: (Rule(5, 2.2), Rule(7, 1.9)),
    3: (Rule(3, 2.2), Rule(4, 1.9)),
    4: (Rule(2, 2.2), Rule(3, 1.9)),
}
# The same for labels whose probabilities are sums of products, which cost next to nothing.
_PRODUCT_RULES = _RULES | {3: (Rule(5, 2.2), Rule(6, 1.9)), 4: (Rule(3, 2.2), Rule(4, 1.9))}
_ENOUGH = 1e-5  # relative error with which panels are halved no more
_MANY = {1: 10_000, 2: 10_000, 3: 5_000, 4: 5_000}  # prior means with which they are not, by r
_CHECKED = 50  # prior means at which the channel is compared with a finer one
# Stated over found error with several coordinates: most of it comes from panels in which kinks end
# or are almost parallel to the lines, where the difference of two rules is a matter of chance.
_SAFETY = 2.0
_ROUGH = 3e-3  # relative error of a panel in which kinks end
_CENTRAL = 4.0  # kinks that are farther out do not matter


def zero_one_error(channel: PosteriorChannel, M: np.ndarray) -> Estimate:
    """Probability that the most probable label of a discrete channel is wrong, [WL-1].

    Parameters
    ----------
    channel : PosteriorChannel
        Channel of a target that takes finitely many values.
    M : array (r, r)
        Overlap matrix.

    Returns
    -------
    Estimate
        Its error is what two rules differ by, summed over panels of the first coordinate, and what
        a finer channel changes.

    Examples
    --------
    The angle between the direction of a sign and its estimate, over pi:

    >>> from gradone import Target
    >>> from gradone.channels import posterior_channel
    >>> found = zero_one_error(posterior_channel(Target("sign(z)")), np.array([[0.9]]))
    >>> round(found.value, 7), round(float(np.arccos(np.sqrt(0.9)) / np.pi), 7)
    (0.1024164, 0.1024164)
    """
    from scipy.special import chdtrc

    lines = LabelLines(channel, M)
    if lines.k == 0:
        u = np.zeros((1, 0))
        chance = chance_of_error(lines.log_z(u))
        return Estimate(float(chance[0]), _channel_error(lines, u, chance) + 1e-15, "quadrature")
    rules = (_PRODUCT_RULES if lines.is_product else _RULES)[lines.k]
    start = _panels(lines, np.zeros((1, lines.k)), 0, rules[0].length)
    first, second = (_integrals(lines, start.low, start.high, rule) for rule in rules)
    gaps = np.abs(second.value - first.value)
    if lines.k == 2:
        # Where kinks end both rules are off by about as much, and may agree by chance.
        gaps = np.maximum(gaps, np.where(second.is_smooth, 0.0, _ROUGH * second.value))
    pieces = Pieces(start.low, start.high, second.value, gaps)
    while pieces.error.sum() > _ENOUGH * pieces.value.sum() and lines.evaluated < _MANY[len(M)]:
        worst = pieces.error > pieces.error.max() / 4
        halves = _halved(lines, Pieces(*(part[worst] for part in pieces)), rules)
        pieces = Pieces(
            *(np.concatenate([a[~worst], b]) for a, b in zip(pieces, halves, strict=True))
        )
    value = float(pieces.value.sum())
    beyond = float(chdtrc(lines.k, RADIUS[lines.k] ** 2))
    by_channel = _channel_error(lines, first.u, first.share)
    by_rule = (_SAFETY if lines.k > 1 else 1.0) * float(pieces.error.sum())
    return Estimate(value, by_rule + by_channel + beyond, "quadrature")


def _halved(lines: LabelLines, pieces: Pieces, rules: tuple[Rule, Rule]) -> Pieces:
    """Both halves of every panel."""
    middle = (pieces.low + pieces.high) / 2
    low, high = np.concatenate([pieces.low, middle]), np.concatenate([middle, pieces.high])
    coarse, fine = (_integrals(lines, low, high, rule).value for rule in rules)
    # Both rules may agree by chance: then what the whole panel was off by tells more.
    changes = np.abs(fine.reshape(2, -1).sum(axis=0) - pieces.value)
    return Pieces(low, high, fine, np.maximum(np.abs(fine - coarse), np.tile(changes / 2, 2)))


def _panels(lines: LabelLines, points: np.ndarray, axis: int, length: float) -> Panels:
    """Panels of one coordinate; those of the last are cut at kinks."""
    later = tuple(range(axis + 1, lines.k))
    if later:
        return lines.panels(points, axis, length, later=later)
    return lines.cut_panels(points, axis, length)


def _integrals(lines: LabelLines, low: np.ndarray, high: np.ndarray, rule: Rule) -> Integrals:
    """Integrals of [WL-1] over panels of the first coordinate."""
    x, w = _gauss_legendre(rule.order)
    count = len(low)
    owner, u, weight = np.arange(count), np.zeros((1, lines.k)), np.ones(1)
    line = np.zeros(count, np.int64)
    for axis in range(lines.k):
        if axis > 0:
            line, low, high = _panels(lines, u, axis, rule.length)
            owner = owner[line]
        place = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * x
        density = (1 + lines.folded[axis]) * np.exp(-(place**2) / 2) / np.sqrt(2 * np.pi)
        weight = ((weight[line] * (high - low) / 2)[:, None] * w * density).ravel()
        u, owner = np.repeat(u[line], rule.order, axis=0), np.repeat(owner, rule.order)
        u[:, axis] = place.ravel()
    logs = lines.log_z(u)
    share = weight * chance_of_error(logs)
    value = np.bincount(owner, share, minlength=count)
    line, which = np.repeat(line, rule.order), logs.argmax(axis=1)
    central = (line[1:] == line[:-1]) & (np.abs(u[1:, -1]) < _CENTRAL)
    changes = np.bincount(line[1:], central & (which[1:] != which[:-1]))[line]
    most, least = np.zeros(count), np.full(count, np.inf)
    np.maximum.at(most, owner, changes)
    np.minimum.at(least, owner, changes)
    return Integrals(value, most <= least, u, share)


def _channel_error(lines: LabelLines, u: np.ndarray, share: np.ndarray) -> float:
    """What a finer channel changes, from a sample of the nodes."""
    total = np.cumsum(share)
    if not share.any():
        return 0.0
    at = np.searchsorted(total, (np.arange(_CHECKED) + 0.5) / _CHECKED * total[-1])
    at = u[np.minimum(at, len(u) - 1)]
    usual, finer = (
        chance_of_error(lines.log_z(at, channel))
        for channel in (lines.channel, lines.channel.finer())
    )
    return float(total[-1] * np.mean(np.abs(finer / usual - 1)))


@lru_cache(maxsize=16)
def _gauss_legendre(order: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(order)

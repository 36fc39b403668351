"""Branches of fixed points, and the amounts of data at which they appear, win and vanish."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ...base.estimate import Estimate
from ...base.seeds import stream
from ...channels.averages.moments import PERFECT, total
from ._fixed_points import UNLEARNED, FixedPoint, StateEvolution
from ._free_entropy import entropy_of, free_entropy, sharpening

_SAME = 2e-3  # distance of overlap matrices that counts as none
_RANDOM_STARTS = 4
_OVERLAPS = np.array([*np.linspace(0.04, 0.96, 24), 0.98, 0.99, 0.999, 0.9999])
_NOTICEABLE = 2e-3  # relative decrease of alpha(q) that is more than an error
_TRIALS = np.array([0.97, 1.01, 1.03, 1.06, 1.1, 1.25])  # amounts of data over the spinodal
_NEVER = 1e3
_TOLERANCE = 1e-4


class Branch(NamedTuple):
    """A stable fixed point and its free entropy."""

    point: FixedPoint
    entropy: Estimate


class HardPhase(NamedTuple):
    """Amounts of data between which a better estimate exists than efficient algorithms find."""

    spinodal: Estimate
    """A better fixed point exists from here on."""
    information: Estimate
    """It is the Bayes-optimal one from here on: the information-theoretic threshold."""
    algorithmic: Estimate
    """The algorithm finds it from here on; infinite if never at n = O(d)."""


def branches(evolution: StateEvolution, alpha: float) -> list[Branch]:
    """All stable fixed points found, the one of the algorithm first.

    Starts: uninformed, informed, informed in a part of the directions, and random. Points that
    differ by a symmetry of the target have one free entropy and one spectrum, and count once.
    """
    points = [evolution.uninformed(alpha), evolution.informed(alpha)]
    for start in _starts(evolution.r):
        points.append(evolution.informed(alpha, start))
    found: list[Branch] = []
    for point in points:
        if all(_distance(point.M, other.point.M) > _SAME for other in found):
            found.append(Branch(point, entropy_of(evolution, point, alpha)))
    return found


def _starts(r: int) -> list[np.ndarray]:
    """Overlap matrices from which else to iterate: some directions known, others hardly."""
    known = itertools.product((0.02, 0.9), repeat=r)
    partly = [np.diag(diagonal) for diagonal in known if 0 < sum(diagonal) - 0.02 * r < 0.88 * r]
    if r == 2:  # in three and more dimensions rotated starts cost too much
        rng = stream(0, "init", theory="bayes_optimal", r=r)
        for _ in range(_RANDOM_STARTS):
            Q, _ = np.linalg.qr(rng.standard_normal((r, r)))
            partly.append((Q * rng.uniform(0.1, 0.95, r)) @ Q.T)
    return partly or [np.full((1, 1), q) for q in (0.3, 0.6)]


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Distance of the spectra of two overlap matrices."""
    return float(np.abs(np.linalg.eigvalsh(a) - np.linalg.eigvalsh(b)).max())


def hard_phase(evolution: StateEvolution) -> HardPhase | None:
    """Hard phase of a target; None if the informed start never ends elsewhere."""
    isotropic = _isotropic_spinodal(evolution)
    if isotropic is None:
        return None
    alphas = isotropic.value * _TRIALS
    split = next((i for i, a in enumerate(alphas) if _are_split(evolution, a)), None)
    if split is None:
        return None
    alpha = alphas[split]
    algorithmic = _end_of_split(evolution, alpha)
    informed = evolution.informed_overlap(alpha)
    if k := int((np.linalg.eigvalsh(informed) > PERFECT).sum()):
        # Perfect recovery of k directions is possible, and optimal, as soon as [FE-2] diverges
        # upwards; its basin of attraction is narrow at first.
        perfect = Estimate(k / max(sharpening(evolution, informed), 1))
        return HardPhase(perfect, perfect, algorithmic)
    if _is_isotropic(informed):
        spinodal = isotropic
    elif split:
        spinodal = _edge(lambda a: _are_split(evolution, a), alphas[split - 1], alpha)
    else:
        spinodal = Estimate(alpha, alpha, "iteration", "an upper bound")
    low, high = spinodal.value * (1 + 2 * _TOLERANCE), alpha
    while not _informed_wins(evolution, high):
        low, high = high, 1.1 * high
    information = _edge(lambda a: _informed_wins(evolution, a), low, high)
    return HardPhase(spinodal, information, algorithmic)


def _end_of_split(evolution: StateEvolution, alpha: float) -> Estimate:
    """Amount of data above `alpha` at which the uninformed start finds the better fixed point."""
    overlaps, Q = np.linalg.eigh(evolution.uninformed_overlap(alpha))
    unknown, known = Q[:, overlaps < UNLEARNED].T, Q[:, overlaps >= UNLEARNED].T
    if len(unknown):
        # Perfect knowledge of the learned directions gives the fastest growth there is.
        fastest = evolution.growth_modes((1 - 1e-4) * known.T @ known, unknown)[0][-1]
        if fastest * _NEVER < 1:
            return Estimate(math.inf, 0.0, "iteration", "the unlearned directions never grow")
    low, high = alpha, 1.3 * alpha
    while _are_split(evolution, high):
        low, high = high, 1.3 * high
        if high > _NEVER:
            return Estimate(math.inf, 0.0, "iteration", f"still split at alpha = {low:.3g}")
    return _edge(lambda a: not _are_split(evolution, a), low, high)


def _are_split(evolution: StateEvolution, alpha: float) -> bool:
    """Whether informed and uninformed starts end at different fixed points."""
    pair = evolution.uninformed_overlap(alpha), evolution.informed_overlap(alpha)
    return _distance(*pair) > _SAME


def _informed_wins(evolution: StateEvolution, alpha: float) -> bool:
    """Whether the informed fixed point has the larger free entropy."""
    uninformed, informed = (
        free_entropy(evolution, M, evolution.averages(M), alpha)
        for M in (evolution.uninformed_overlap(alpha), evolution.informed_overlap(alpha))
    )
    return informed > uninformed


def _isotropic_spinodal(evolution: StateEvolution) -> Estimate | None:
    r"""Where a second branch of multiples of the identity begins; None if there is none.

    The amount of data at which q I reproduces its own trace,
    :math:`\alpha(q) = q r / ((1 - q) \mathrm{Tr} J)`, has more than one branch where it decreases.
    """
    identity = np.eye(evolution.r)

    def data(q: float) -> float:
        trace = float(np.trace(evolution.averages(q * identity).information))
        return q * evolution.r / ((1 - q) * max(trace, 1e-300))

    alphas = np.array([data(q) for q in _OVERLAPS])
    lowest = np.minimum.accumulate(alphas[::-1])[::-1]  # of all larger overlaps
    falls = alphas > (1 + _NOTICEABLE) * lowest
    if not falls.any():
        return None
    i = int(np.flatnonzero(alphas == lowest[falls].min())[0])
    if i + 1 == len(alphas):
        return Estimate(alphas[i], _NOTICEABLE * alphas[i], "iteration")
    bracket = tuple(_OVERLAPS[[i - 1, i + 1]])
    q = float(minimize_scalar(data, bounds=bracket, method="bounded").x)
    found, sources = evolution.channel.estimate(q * identity)
    share = np.trace(total(sources).information) / np.trace(found.information)
    return Estimate(data(q), float(data(q) * (share + _TOLERANCE**2)), "iteration")


def _is_isotropic(M: np.ndarray) -> bool:
    """Whether an overlap matrix is a multiple of the identity."""
    return bool(np.abs(M - M[0, 0] * np.eye(len(M))).max() < _SAME)


def _edge(holds: Callable[[float], bool], low: float, high: float) -> Estimate:
    """Smallest value at which a claim holds, between one where it fails and one where it holds."""
    if holds(low):
        return Estimate(low, _TOLERANCE * low, "iteration")
    while high - low > _TOLERANCE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Estimate((low + high) / 2, high - low, "iteration")

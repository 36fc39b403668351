r"""How little a label can reveal that sees its variables only through fast phases.

Let the label be any function of phases
:math:`\theta_j = \langle w_j, z \rangle + c_j(z') \bmod 2\pi` (and of noise), where the
:math:`z'` are variables that no :math:`w_j` contains. A function of :math:`\theta` reveals no more
than :math:`\theta`. Its density is uniform up to
:math:`\delta = \sum_{n \ne 0} e^{-|w_n|^2/2}` with :math:`w_n = \sum_j n_j w_j`, and by Parseval's
identity the matrices [OG-1] obey

.. math:: \operatorname{tr} T_k \le \frac{1}{1 - \delta} \sum_{n \ne 0} \sum_{|\beta| = k}
          \big|\mathbb{E}[\mathrm{he}_\beta(z)\, e^{-i n\cdot\theta}]\big|^2
          \le \frac{1}{1 - \delta} \sum_{n \ne 0} e^{-|w_n|^2} \sum_{j=0}^k
          \frac{|w_n|^{2j}}{j!}. \qquad [PH-1]

The last sum is the probability that a Poisson number of mean :math:`|w_n|^2` is at most k. It falls
with the mean, so the smallest singular value s of the waves :math:`w_j` is enough:
:math:`|w_n| \ge s |n|`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...targets.language.coordinates import rewrite
from ...targets.language.expression import Expression
from ...targets.language.structure import affine_form
from ...targets.language.tree import Call, Node, Sum, Variable, children, nodes, variables
from ...targets.subspace import Subspace

_ROUNDING = 1e-12
_LARGEST_DENOMINATOR = 64
_SQUARES = 32  # lattice points with a larger square of their length add nothing
_SLOWEST = 2.0  # phases that are slower are far from uniform


class Phases(NamedTuple):
    """Number of independent phases, and the smallest singular value of their waves."""

    number: int
    slowest: float


def phases(f: Expression, known: Subspace) -> Phases | None:
    """Phases through which alone a target sees the directions that are not known, if there are.

    Examples
    --------
    >>> phases(Expression("sin(8*z1)*abs(cos(7*z2 + 1))"), Subspace.zero(2))
    Phases(number=2, slowest=7.0)
    >>> phases(Expression("sin(8*z1 + z2**2) + tanh(z3)"), Subspace.span([[0.0, 0.0, 1.0]]))
    Phases(number=1, slowest=8.0)
    >>> phases(Expression("sin(8*z1)*z2"), Subspace.zero(2)) is None
    True
    """
    if not any(_is_wave(node) for node in nodes(f.tree)):
        return None
    if known.dim:
        f = rewrite(f, np.vstack([known.basis, known.complement().basis]))
    unknown = range(known.dim + 1, f.r + 1)
    found = _phases(f.tree, f.r, unknown)
    if not found:
        return None
    mixed = {i for phase in found for i in phase.others}
    axes = [i - 1 for i in unknown if i not in mixed]
    waves = _independent([phase.wave[axes] for phase in found])
    if waves is None or not len(waves) <= len(axes):
        return None
    return Phases(len(waves), float(np.linalg.svd(waves, compute_uv=False)[-1]))


def largest_strength(found: Phases | None, k: int) -> float:
    r"""Bound on the strength of order k of a label that sees phases only [PH-1]; else infinite.

    The largest eigenvalue of :math:`N_k` is at most :math:`\operatorname{tr} T_k`, and that of
    :math:`F` at most :math:`\mathbb{E} |G|_F^2 = 2 \operatorname{tr} T_2`.

    Examples
    --------
    >>> f = Expression("sin(8*z1)*sin(7*z2)")
    >>> f"{largest_strength(phases(f, Subspace.zero(2)), 2):.0e}"
    '5e-18'
    """
    from scipy.special import gammaincc

    if found is None or found.slowest < _SLOWEST:
        return math.inf
    points = _lattice_points(found.number)
    mean = found.slowest**2 * np.arange(1, len(points) + 1)
    unevenness = float(points @ np.exp(-mean / 2))
    if unevenness >= 1:
        return math.inf
    trace = float(points @ gammaincc(k + 1, mean)) / (1 - unevenness)
    return 2 * trace if k == 2 else trace


@lru_cache(maxsize=16)
def _lattice_points(dim: int) -> np.ndarray:
    """How many integer vectors have the squared length 1, 2, ...: powers of a theta series."""
    theta = np.zeros(_SQUARES + 1)
    theta[[n * n for n in range(math.isqrt(_SQUARES) + 1)]] = 2.0
    theta[0] = 1.0
    power = np.ones(1)
    for _ in range(dim):
        power = np.convolve(power, theta)[: _SQUARES + 1]
    return power[1:]


def _is_wave(node: Node) -> bool:
    return isinstance(node, Call) and node.name in ("sin", "cos")


class _Phase(NamedTuple):
    wave: np.ndarray
    others: frozenset[int]  # unknown variables in what is added to the linear form


def _phases(node: Node, r: int, unknown: Collection[int]) -> list[_Phase] | None:
    """Phases in a tree; None if unknown variables stand elsewhere too."""
    if not set(variables(node)) & set(unknown):
        return []
    if isinstance(node, Variable):
        return None
    if _is_wave(node):
        (argument,) = children(node)
        terms = argument.terms if isinstance(argument, Sum) else (argument,)
        forms = {term: affine_form(term, r) for term in terms}
        wave = sum((form[0] for form in forms.values() if form is not None), np.zeros(r))
        rest = {i for term, form in forms.items() if form is None for i in variables(term)}
        if any(wave[i - 1] for i in set(unknown) - rest):
            return [_Phase(wave, frozenset(rest & set(unknown)))]
    found: list[_Phase] = []
    for part in children(node):
        inside = _phases(part, r, unknown)
        if inside is None:
            return None
        found += inside
    return found


def _independent(waves: list[np.ndarray]) -> np.ndarray | None:
    """Waves of which all others are multiples; None if one vanishes or has an irrational ratio."""
    found: list[np.ndarray] = []
    for wave in waves:
        if not wave.any():
            return None
        for i, other in enumerate(found):
            ratio = float(wave @ other / (other @ other))
            if np.abs(wave - ratio * other).max() > _ROUNDING * np.abs(wave).max():
                continue
            fraction = Fraction(ratio).limit_denominator(_LARGEST_DENOMINATOR)
            if abs(ratio - fraction) > _ROUNDING * abs(ratio):
                return None
            found[i] = other / fraction.denominator
            break
        else:
            found.append(wave)
    return np.array(found)

r"""Ends of the bulk of a label-weighted covariance, for any law of the weights.

For :math:`C = \frac1n\sum_\mu t_\mu x_\mu x_\mu^\top` with :math:`t_\mu = T(y_\mu)` and standard
Gaussian inputs of dimension :math:`d = n/\alpha`, the bulk ends where

.. math:: \mathbb{E}\Big[\frac{t^2}{(w - t)^2}\Big] = \frac1\alpha, \qquad
          x(w) = w\Big(\frac1\alpha + \mathbb{E}\Big[\frac{t}{w-t}\Big]\Big),           [DT-2]

for w above all nonzero t (upper end) and below them (lower end). If the mean stays below
:math:`1/\alpha` up to the end of the law, w is that end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...base.errors import BadData, OutOfRegime
from ...base.estimate import Estimate, Kind
from ...base.seeds import stream
from ...calculus.line import gauss_legendre
from ...calculus.sobol import MAX_DIMENSION, REPLICATES, SobolSequence, gaussian_points
from ...targets.channel import OutputChannel
from ...targets.language.bounds import directions, interval, local_infinities
from ...targets.language.expression import Expression
from ...targets.language.functions import substitute
from ...targets.language.tree import Node, Variable, add, multiply, number
from ...targets.target import Target, one_variable
from ._spectrum import edge

_REACH, _PANEL = 9.0, 0.5  # of the Gaussian variable; the mass beyond is 2e-19
_SPREAD, _SHORTEST = 1 / 16, 1e-9  # share of the range of t in a panel; its length
_RADII = (30.0, 1e3, 1e6)  # where the law is looked at beyond its mass
_INSIDE = 1e-12  # distance of a point from the end of its panel
_FAR = 6.0  # panels beyond, of mass 2e-9, are not halved
_FINE, _COARSE = 24, 16
_POINTS = 2**14  # in each replicate of a law of several variables
_STUDENT_99 = 2.9467128834752  # two-sided, REPLICATES - 1 = 15 degrees of freedom
_ROUNDING = 1e-12


@dataclass(frozen=True)
class BulkEdges:
    r"""Ends of the bulk, and the share of eigenvalues that are zero.

    Parameters
    ----------
    low, high : Estimate
        Outer ends of the continuous part of the spectrum. A law without an upper end has the
        upper edge ``inf``: the largest eigenvalue grows with n.
    zeros : Estimate
        Share of the eigenvalues that are exactly zero, :math:`(1 - \\alpha P(t \\ne 0))_+`.
    """

    low: Estimate
    high: Estimate
    zeros: Estimate


class _Law(NamedTuple):
    """Values of the weight with their probabilities; which sides have no end."""

    t: np.ndarray
    share: np.ndarray
    endless: tuple[bool, bool] = (False, False)


def label_weighted_edges(
    weights: Target | str | Sequence[float] | np.ndarray,
    *,
    alpha: float,
    shares: Sequence[float] | np.ndarray | None = None,
    transform: str = "y",
) -> BulkEdges:
    r"""Ends of the bulk of :math:`\frac1n\sum_\mu T(y_\mu)\,x_\mu x_\mu^\top` [DT-2].

    The bulk knows the law of the weights alone: directions that the label depends on add at most
    a few eigenvalues outside of it.

    Parameters
    ----------
    weights : Target, str or array
        The target whose labels y are weighed, or the values of the weights themselves.
    alpha : float
        Samples per dimension, n/d.
    shares : array, optional
        Probabilities of the values; equal ones if they are not given. So n weights of a sample give
        the bulk for this sample.
    transform : str
        The function T of ``y``, for a target.

    Returns
    -------
    BulkEdges
        `low`, `high` and the share of `zeros`, each with an error.

    Notes
    -----
    In dimension d the extreme eigenvalues of the bulk are within a few :math:`d^{-2/3}` of its
    ends. The bulk may have gaps between them. Values with shares and discrete labels are exact up
    to rounding; labels of one Gaussian variable are integrated, of several drawn.

    References
    ----------
    Marchenko & Pastur 1967; Silverstein & Choi 1995; dandi2025depth

    Examples
    --------
    Without labels these are the ends :math:`(1 \pm \alpha^{-1/2})^2` of Marchenko and Pastur:

    >>> found = label_weighted_edges([1.0], alpha=4.0)
    >>> round(found.low.value, 9), round(found.high.value, 9)
    (0.25, 2.25)
    >>> label_weighted_edges("sign(z)", alpha=2.0).high
    1.665095338393 ± 3e-12 (quadrature)
    >>> label_weighted_edges("z1*z2", alpha=2.0).high.value
    inf
    """
    if isinstance(alpha, bool) or not np.isscalar(alpha) or not 0 < float(alpha) < math.inf:  # type: ignore[arg-type]
        raise BadData(
            f"alpha must be a finite number > 0, the samples per dimension, got {alpha!r}"
        )
    alpha = float(alpha)  # type: ignore[arg-type]
    if isinstance(weights, Target | str):
        if shares is not None:
            raise BadData("shares are for given values; a target knows the law of its labels")
        target = Target(weights) if isinstance(weights, str) else weights
        laws, kind = _laws(target, one_variable(transform, "the transform", letter="y"))
    else:
        given = _given(weights, shares)
        taken = given.share > 0
        laws, kind = [_Law(given.t[taken], given.share[taken])], "quadrature"
    t, share, _ = laws[0]
    scale = float(np.abs(t[share > 0]).max()) * (1 + 1 / alpha)
    zeros = [max(0.0, 1 - alpha * float(law.share[law.t != 0].sum())) for law in laws]
    return BulkEdges(
        low=_combined([_end(law, alpha, -1) for law in laws], kind, scale),
        high=_combined([_end(law, alpha, 1) for law in laws], kind, scale),
        zeros=_combined(zeros, kind, 1.0),
    )


def _end(law: _Law, alpha: float, side: int) -> float:
    """One end of the bulk."""
    if law.endless[(side + 1) // 2]:
        return side * math.inf
    return edge(law.t, law.share, alpha, side)[1]


def _combined(found: list[float], kind: Kind, scale: float) -> Estimate:
    """Number from one law, from a law and its variations, or from replicates of a law."""
    if math.isinf(found[0]):
        side = "upper" if found[0] > 0 else "lower"
        return Estimate(
            found[0],
            note=f"the weights have no {side} end; use a bounded transform, or the n weights of a "
            "sample",
        )
    rounding = _ROUNDING * (abs(found[0]) + scale)
    if kind == "monte_carlo":
        whole, parts = found[0], np.array(found[1:])
        # A part has fewer labels near the end of the law: its bias bounds that of the whole.
        error = _STUDENT_99 * parts.std(ddof=1) / math.sqrt(len(parts))
        return Estimate(whole, float(error + abs(whole - parts.mean())) + rounding, kind)
    # Twice: at the end of the law a rule of n nodes converges as slowly as 1/n.
    error = 2 * sum(abs(other - found[0]) for other in found[1:])
    return Estimate(found[0], error + rounding, kind)


def _given(values: Any, shares: Any) -> _Law:
    """Law from values and their probabilities."""
    try:
        t = np.asarray(values, dtype=np.float64)
        p = np.full(t.shape, 1.0) if shares is None else np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadData(
            "weights must be a target, its text, or a list of numbers with optional shares"
        ) from None
    if t.ndim != 1 or not t.size or not np.isfinite(t).all() or not t.any():
        raise BadData("weights must be a list of finite numbers that are not all zero")
    if p.shape != t.shape or not np.isfinite(p).all() or (p < 0).any() or not p[t != 0].any():
        raise BadData(
            f"shares must be one number >= 0 for each of the {t.size} weights, not all zero; got "
            f"the shape {p.shape}"
        )
    return _Law(t, p / p.sum())


def _laws(target: Target, transform: Expression) -> tuple[list[_Law], Kind]:
    """Law of T(y), followed by variations that show its error."""
    label: Node = target.joint.tree
    r = target.joint.r
    if target.noise:
        r += 1
        size = number(Fraction(math.sqrt(target.noise)))
        label = add((label, multiply((size, Variable("z", r)))))
    tree = substitute(transform.tree, {Variable("y", 1): label})
    weight = Expression.from_tree(tree, r=r)
    if not weight.variables:
        return [_given([float(weight(np.zeros(r)))], None)], "quadrature"
    if weight.is_discrete:
        return _discrete(weight)
    far = _far_law(weight)
    if len(weight.variables) == 1 and not weight.breaks[1]:
        (i,) = weight.variables
        one = Expression.from_tree(substitute(tree, {Variable("z", i): Variable("z", 1)}), r=1)
        return [_with_ends(_on_panels(one, n), far) for n in (_FINE, _COARSE)], "quadrature"
    return [_with_ends(law, far) for law in _drawn(weight)], "monte_carlo"


def _far_law(weight: Expression) -> _Law:
    """Values far away, of no probability, which may be ends of the law; and sides without end."""
    rays = directions(weight.r)
    near, far, farthest = (np.asarray(weight(radius * rays)) for radius in _RADII)
    seen = np.concatenate([near, far, farthest])
    endless = []
    for side, bound, jump in zip(
        (-1, 1), interval(weight.tree), local_infinities(weight.tree), strict=True
    ):
        low, high = (float(np.nan_to_num(side * t, nan=-np.inf).max()) for t in (far, farthest))
        endless.append(math.isinf(bound) and (jump or high > low + 0.1 * abs(low)))
    seen = seen[np.isfinite(seen)]
    return _Law(seen, np.zeros(len(seen)), (endless[0], endless[1]))


def _with_ends(law: _Law, far: _Law) -> _Law:
    """Law that knows its ends, also where it has no mass."""
    down, up = far.endless
    low, high = law.t.min() if down else -math.inf, law.t.max() if up else math.inf
    ends = far.t[(far.t > low) & (far.t < high)]
    share = np.concatenate([law.share, np.zeros(len(ends))])
    return _Law(np.concatenate([law.t, ends]), share, far.endless)


def _discrete(weight: Expression) -> tuple[list[_Law], Kind]:
    """Law of a weight with finitely many values; each probability is moved by its error."""
    atoms = OutputChannel(weight).atoms
    t = np.array([atom.value for atom in atoms])
    p = np.array([atom.probability.value for atom in atoms])
    laws = [_given(t, p)]
    for i, atom in enumerate(atoms):
        if atom.probability.error:
            moved = p.copy()
            moved[i] += atom.probability.error
            laws.append(_given(t, moved))
    return laws, "quadrature"


def _on_panels(weight: Expression, n: int) -> _Law:
    """Law of a function of one Gaussian variable, by Gauss-Legendre rules between its kinks."""
    nodes, rule = gauss_legendre(n)
    # With the ends, but not on a jump; they have no weight.
    seen, rule = np.array([_INSIDE, *nodes, 1 - _INSIDE]), np.array([0.0, *rule, 0.0])
    grid = np.arange(-_REACH, _REACH + _PANEL / 2, _PANEL)
    ends = np.unique([*grid, *(k for k in weight.kinks if abs(k) < _REACH)])
    low, high = ends[:-1], ends[1:]
    values, density = [], []
    range_of_t = float(np.ptp(weight(np.linspace(-4.0, 4.0, 1025)[:, None])))
    while len(low):
        z = low[:, None] + (high - low)[:, None] * seen
        t = np.asarray(weight(z[..., None]))
        # Steep functions vary too much in a panel: halve it.
        poor = (np.ptp(t, axis=1) > _SPREAD * range_of_t) & (high - low > _SHORTEST)
        poor &= np.minimum(np.abs(low), np.abs(high)) < _FAR
        mass = np.exp(-z * z / 2) * rule * (high - low)[:, None]
        values.append(t[~poor].ravel())
        density.append(mass[~poor].ravel())
        middle = (low[poor] + high[poor]) / 2
        low, high = np.concatenate([low[poor], middle]), np.concatenate([middle, high[poor]])
    return _given(np.concatenate(values), np.concatenate(density))


def _drawn(weight: Expression) -> list[_Law]:
    """Law of a function of several Gaussian variables: all points, then each replicate."""
    used = weight.variables
    if len(used) > MAX_DIMENSION:
        raise OutOfRegime(
            f"the weights depend on {len(used)} variables, at most {MAX_DIMENSION} can be drawn "
            "here; give the weights of a sample as an array"
        )
    parts = []
    for i in range(REPLICATES):
        rng = stream(0, "data", part="weights of the theory", replicate=i)
        z = np.zeros((_POINTS, weight.r))
        z[:, [j - 1 for j in used]] = gaussian_points(SobolSequence(len(used), rng).draw(_POINTS))
        parts.append(_given(weight(z), None))
    whole = _given(np.concatenate([part.t for part in parts]), None)
    return [whole, *parts]

r"""Exponents of targets whose directions are coordinates of inputs that are not Gaussian.

With the orthonormal polynomials p_k of the law of a coordinate,

.. math:: y = \sum_\beta h_\beta \prod_i p_{\beta_i}(z_i), \qquad
          k_t = \min\{|\beta_{\setminus U}| : h_\beta \ne 0, \beta \not\subset U\},     [AN-8]

where U are the coordinates learned so far; each step adds all coordinates of the minimizers. On
the cube the products are the characters :math:`\chi_S`. Queries of any function of a label see the
sets S with :math:`\mathbb{E}[1(y = c)\chi_S] \ne 0` for some value c.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import OutOfRegime
from ...targets.on_inputs import OnInputs
from ...targets.target import Target

_ZERO = 1e-9  # of the standard deviation of the labels
_DEGREE = {1: 12, 2: 10, 3: 6}  # of each coordinate, by r; lower for more
_POINTS = {1: 80, 2: 60, 3: 30}

Leaps = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class CoordinateAnalysis:
    """Exponents of a target on coordinates of a product law.

    Parameters
    ----------
    target : OnInputs
        The target and its inputs.
    steps, query_steps : tuple of (order, coordinates)
        Steps in which correlation queries, and queries of any function of the label, find the
        directions, counted from 1. The latter are known on the cube alone.

    Examples
    --------
    >>> found = coordinate_analysis(Target("z1*z2*z3 + 2*z1*z2*z4").on("rademacher", "axes"))
    >>> found.information_exponent, found.leap_exponent, found.query_exponent, found.query_leap
    (3, 3, 2, 2)
    """

    target: OnInputs
    steps: Leaps
    query_steps: Leaps | None = None

    @property
    def information_exponent(self) -> int | None:
        """Order of the first step of correlation queries."""
        return self.steps[0][0] if self.steps else None

    @property
    def leap_exponent(self) -> int | None:
        """Largest order of a step of correlation queries."""
        return max((order for order, _ in self.steps), default=None)

    @property
    def query_exponent(self) -> int | None:
        """Order of the first step of statistical queries."""
        return self.query_steps[0][0] if self.query_steps else None

    @property
    def query_leap(self) -> int | None:
        """Largest order of a step of statistical queries."""
        return max((order for order, _ in self.query_steps or ()), default=None)

    def summary(self) -> str:
        """The analysis as text for a terminal."""
        lines = [self.target.text]
        for name, steps in (("correlation queries", self.steps), ("queries", self.query_steps)):
            for order, found in steps or ():
                coordinates = ", ".join(f"z{i}" for i in found)
                lines.append(f"{name}: {coordinates} by a leap of order {order}")
        if not self.steps:
            lines.append("correlation queries see nothing")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, ready for JSON."""
        return {
            "target": self.target.text,
            "information_exponent": self.information_exponent,
            "leap_exponent": self.leap_exponent,
            "query_exponent": self.query_exponent,
            "query_leap": self.query_leap,
            "steps": [[order, list(found)] for order, found in self.steps],
        }


def coordinate_analysis(target: OnInputs) -> CoordinateAnalysis:
    """Exponents of a target whose directions are coordinates of a product law [AN-8]."""
    plain = target.target
    if target.situation != "axes" or not isinstance(plain, Target):
        raise OutOfRegime(f"these exponents are for coordinates: {target.situation_in_words}")
    if plain.q:
        raise OutOfRegime("the target has latent noise, whose mean is known for Gaussian z alone")
    r = target.r
    count = _POINTS.get(r, 16)
    points, weights = target.inputs.rule(count)
    degree = min(_DEGREE.get(r, 3), len(points) - 1)
    polynomials = _orthonormal(points[:, 0], weights, degree)
    shape = (len(points),) * r
    y = np.asarray(plain.mean(target.z_rule(count)[0]), np.float64).reshape(shape)
    steps = _leaps(_visible(y, polynomials, weights), r)
    queries = None
    if len(points) == 2:  # the cube: labels of finitely many values, up to rounding
        values = np.unique(y.round(12))
        seen = {b for c in values for b in _visible((y.round(12) == c) * 1.0, polynomials, weights)}
        queries = _leaps(seen, r)
    return CoordinateAnalysis(target, steps, queries)


def _orthonormal(x: np.ndarray, weights: np.ndarray, degree: int) -> np.ndarray:
    """Values (degree + 1, m) of orthonormal polynomials at the points of a rule."""
    rows = [np.ones_like(x)]
    for _ in range(degree):
        new = x * rows[-1]
        for _ in range(2):  # twice: rounding of the first time
            for row in rows:
                new = new - float(weights @ (new * row)) * row
        rows.append(new / np.sqrt(float(weights @ new**2)))
    return np.stack(rows)


def _visible(y: np.ndarray, polynomials: np.ndarray, weights: np.ndarray) -> set[tuple[int, ...]]:
    """Degrees of the products of polynomials with which a function is correlated."""
    found = y
    for _ in range(y.ndim):  # each turn takes the first axis and puts its degree last
        found = np.tensordot(found, polynomials * weights, axes=(0, 1))
    size = np.abs(y).max()
    places = np.argwhere(np.abs(found) > _ZERO * max(float(size), 1e-300))
    return {tuple(place) for place in places.tolist() if any(place)}


def _leaps(visible: Iterable[tuple[int, ...]], r: int) -> Leaps:
    left, known, steps = set(visible), set[int](), []
    while left:
        outside = {b: sum(b[i] for i in range(r) if i not in known) for b in left}
        order = min(outside.values())
        chosen = [b for b in left if outside[b] == order]
        new = {i for b in chosen for i in range(r) if b[i] and i not in known}
        steps.append((order, tuple(i + 1 for i in sorted(new))))
        known |= new
        left = {b for b in left if any(b[i] for i in set(range(r)) - known)}
    return tuple(steps)

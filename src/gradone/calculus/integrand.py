r"""What the integration rules must know about a function: breaks, growth, and how it splits.

The rules of this room never look into a function; they trust what is declared here. The expression
language declares it for every typed function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from .polynomial import Polynomial


@dataclass(frozen=True)
class Plane:
    r"""Hyperplane :math:`\langle w, z\rangle = c` on which a function may jump or have a kink."""

    normal: tuple[float, ...]
    offset: float


@dataclass(frozen=True)
class Integrand:
    r"""Function of ``r`` Gaussian variables that cannot be split further.

    Parameters
    ----------
    function : callable
        ``columns -> values``: takes a list of ``r`` arrays that broadcast against each other.
    r : int
        Number of variables.
    planes : tuple of Plane
        Where it or a derivative jumps.
    is_curved : bool
        Whether it also breaks on surfaces that are not planes.
    is_singular : bool
        Whether a derivative is unbounded at a break.
    degree, linear, quadratic : float
        Growth: :math:`|f| \le C(1+|z|)^p e^{a|z|+b|z|^2}`.
    pieces : tuple of Polynomial, optional
        For r = 1: the polynomial between each two consecutive breaks, if it is one everywhere.
    sharp : tuple of float
        For r = 1: points between which it changes on no shorter scale than their distance.
    thin : tuple of float
        Probability of layers so thin that a rule may step over them, and the size of the function
        there; for r = 1 only if they are not all in `sharp`.
    tilt : float
        For r = 1: the values are those of :math:`f(z)\, e^{-b z^2}` with this b, which do not
        overflow; the growth is that of f.
    """

    function: Callable[[Sequence[np.ndarray]], Any]
    r: int
    planes: tuple[Plane, ...] = ()
    is_curved: bool = False
    is_singular: bool = False
    degree: float = 0.0
    linear: float = 0.0
    quadratic: float = 0.0
    pieces: tuple[Polynomial, ...] | None = None
    sharp: tuple[float, ...] = ()
    thin: tuple[float, float] = (0.0, 0.0)
    tilt: float = 0.0

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Values at points given by columns, broadcast to their common shape."""
        values = np.asarray(self.function(columns), dtype=np.float64)
        # A node may fall on the singular surface itself, a set of measure zero; and where a fast
        # function overflows the density underflows.
        if self.is_singular or (self.quadratic and not self.tilt):
            values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
        return np.broadcast_to(values, np.broadcast_shapes(*(np.shape(c) for c in columns)))

    @property
    def breaks(self) -> tuple[float, ...]:
        """For r = 1: the break points in increasing order."""
        return tuple(sorted({plane.offset / plane.normal[0] for plane in self.planes}))

    def reach(self, order: int = 0) -> float:
        """Radius beyond which the function times a polynomial of degree `order` has no weight."""
        width = 1 / math.sqrt(max(1 - 2 * self.quadratic, 1e-6 if self.tilt else 0.05))
        return width * (8.3 + 0.7 * math.sqrt(self.degree + order) + self.linear * width)

    @property
    def beyond_reach(self) -> float:
        """Share of the weight of a fast function that lies where it overflows."""
        largest = math.sqrt(700 / self.quadratic) if self.quadratic else math.inf
        return math.erfc(min(self.reach(), largest) * math.sqrt(max(0.5 - self.quadratic, 0.0)))


@dataclass(frozen=True)
class Block:
    """Factor of a term: a function of some of the variables, or of one linear form of them.

    Parameters
    ----------
    axes : tuple of int
        Variables it depends on, counted from 0.
    integrand : Integrand
        Function of these variables; of one variable if `direction` is given.
    direction : tuple of float, optional
        Unit vector w over `axes`: the block is ``integrand(<w, z>)``.
    """

    axes: tuple[int, ...]
    integrand: Integrand
    direction: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Term:
    """Product of blocks that share no variable, times a coefficient."""

    coefficient: Fraction
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class SeparableSum:
    """Polynomial part (integrated exactly) plus terms whose blocks are independent.

    Examples
    --------
    >>> f = SeparableSum.of(np.abs, kinks=[0.0])
    >>> len(f.terms), f.r
    (1, 1)
    """

    r: int
    polynomial: Polynomial
    terms: tuple[Term, ...] = field(default=())

    @classmethod
    def of(
        cls, function: Callable[..., Any], *, r: int = 1, kinks: Sequence[float] = ()
    ) -> SeparableSum:
        """Form of a plain callable ``function(z_1, ..., z_r)`` on arrays.

        `kinks` are the points (for r = 1) where it or its derivative jumps.
        """
        integrand = Integrand(
            lambda columns: function(*columns),
            r,
            tuple(Plane((1.0,), float(kink)) for kink in kinks),
            degree=4.0,
        )
        term = Term(Fraction(1), (Block(tuple(range(r)), integrand),))
        return cls(r, Polynomial.constant(0, r), (term,))

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Values at points given by columns that broadcast against each other."""
        total = self.polynomial(columns)
        for term in self.terms:
            value: np.ndarray | float = float(term.coefficient)
            for block in term.blocks:
                inside = [columns[axis] for axis in block.axes]
                if block.direction is not None:
                    inside = [np.tensordot(block.direction, np.broadcast_arrays(*inside), axes=1)]
                value = value * block.integrand(inside)
            total = total + value
        return total

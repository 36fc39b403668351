"""Output channels: the law of the label given the projections of the input."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from ..base.arrays import as_floats
from ..base.errors import OutOfRegime
from ..base.estimate import Estimate
from ..base.seeds import stream
from ..calculus.sobol import REPLICATES, SobolSequence
from .language.average import averaged
from .language.expression import Expression
from .language.pieces import Pieces
from .language.tree import Node, add, multiply, number

Kind = Literal["deterministic", "discrete", "mixed", "noisy"]

_SCALES = (1.0, 0.25, 2.0, 4.0)  # a wide cloud finds values that are taken rarely
_POINTS = 2**14
_DRAWS = 2**16  # points in each replicate when probabilities are counted
_MAX_LAGRANGE = 6
_SAME = 1e-9  # relative distance of two values that differ by rounding only
_STUDENT_99 = 2.9467128834752  # two-sided, REPLICATES - 1 = 15 degrees of freedom


class Atom(NamedTuple):
    """A value that the label takes with positive probability."""

    value: float
    probability: Estimate


@dataclass(frozen=True)
class OutputChannel:
    r"""Law P(y | z) of the label :math:`y = g(z, \xi) + \sqrt{\Delta}\,\zeta`.

    Parameters
    ----------
    function : Expression
        The function g.
    noise : float
        Variance :math:`\Delta` of the label noise.
    latent : int
        How many of the last variables of g are latent noise.

    Examples
    --------
    >>> from gradone import Target
    >>> Target("sign(z1) + sign(z2)").channel.kind, Target("relu(z)").channel.kind
    ('discrete', 'mixed')
    >>> [(a.value, round(float(a.probability), 12)) for a in Target("relu(z)").channel.atoms]
    [(0.0, 0.5)]
    """

    function: Expression
    noise: float = 0.0
    latent: int = 0

    @property
    def r(self) -> int:
        """Number of projections."""
        return self.function.r - self.latent

    @cached_property
    def kind(self) -> Kind:
        """What the law of the label is.

        ``"noisy"``: a density for each z. Without noise the label is a function of z:
        ``"discrete"`` if it takes finitely many values, ``"mixed"`` if some values have positive
        probability and others have not (``relu``), else ``"deterministic"``.
        """
        if self.noise:
            return "noisy"
        if self.function.is_discrete:
            return "discrete"
        return "mixed" if len(self._values) else "deterministic"

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Values of positive probability under Gaussian z, in increasing order."""
        if self.noise:
            return ()
        values = self._values
        if self.function.r == 1 and not self.function.breaks[1]:
            probabilities = self._between_kinks(values)
        elif self.function.is_discrete and len(values) <= _MAX_LAGRANGE:
            probabilities = [self._lagrange(values, i) for i in range(len(values))]
        else:
            probabilities = self._by_counting(values)
        return tuple(Atom(float(v), p) for v, p in zip(values, probabilities, strict=True))

    @property
    def values(self) -> np.ndarray:
        """Values of positive probability, in increasing order; their probabilities in `atoms`."""
        return np.empty(0) if self.noise else self._values

    def indicators(self) -> tuple[Expression, ...] | None:
        """Probabilities of the values of a discrete label as functions of z; None if too many.

        Without latent noise they are indicators.

        Examples
        --------
        >>> [abs(float(f([[0.3]])[0])) for f in OutputChannel(Expression("sign(z)")).indicators()]
        [0.0, 1.0]
        """
        values = self._values
        if not self.function.is_discrete or not 1 <= len(values) <= _MAX_LAGRANGE:
            return None
        indicators = (self._indicator(values, i) for i in range(len(values)))
        return tuple(averaged(indicator, self.r) for indicator in indicators)

    def log_likelihood(self, y: Any, z: Any) -> Any:
        r"""Logarithm of P(y | z), elementwise.

        The Gaussian density for a noisy label; for a discrete one the probability of its value,
        so that without latent noise it is 0 where ``y = g(z)`` and :math:`-\infty` elsewhere.

        Parameters
        ----------
        y : array (...)
            Labels.
        z : array (..., r)
            Projections.

        Examples
        --------
        >>> from gradone import Target
        >>> Target("sign(z)").channel.log_likelihood([1.0, 1.0], [[0.3], [-0.3]])
        array([  0., -inf])
        """
        kind = self.kind
        if self.latent:
            return self._log_probability(y, z)
        if kind in ("deterministic", "mixed"):
            raise OutOfRegime(
                f"the output of '{self.function.text}' is {kind}: without noise the law of y "
                "given z is a point mass on g(z) and has no density. Give the target a noise > 0."
            )
        mean = self.function(z)
        xp, y = as_floats(y)
        if kind == "noisy":
            return -((y - mean) ** 2) / (2 * self.noise) - math.log(2 * math.pi * self.noise) / 2
        same = xp.abs(y - mean) <= _SAME * (1.0 + xp.abs(mean))
        zero = xp.zeros_like(mean)
        return xp.where(same, zero, zero - math.inf)

    def _log_probability(self, y: Any, z: Any) -> Any:
        """Logarithm of P(y | z) of a discrete label with latent noise."""
        indicators = None if self.noise else self.indicators()
        if indicators is None:
            raise OutOfRegime(
                "with latent noise the law of y given z has a formula for labels of at most "
                f"{_MAX_LAGRANGE} values only, without label noise"
            )
        xp, y = as_floats(y)
        total = xp.zeros_like(y)
        for value, indicator in zip(self._values, indicators, strict=True):
            same = xp.abs(y - value) <= _SAME * (1.0 + abs(value))
            total = xp.where(same, xp.clip(indicator(z), 0.0, 1.0), total)
        with np.errstate(divide="ignore"):
            return xp.log(total)

    def draw(self, z: Any, rng: np.random.Generator) -> Any:
        """Labels drawn from P(y | z), in the array library of `z`."""
        xp, z = as_floats(z)

        def gaussian(*shape: int) -> Any:
            return xp.asarray(rng.standard_normal(shape), dtype=z.dtype)

        if self.latent:
            z = xp.concat([z, gaussian(*z.shape[:-1], self.latent)], axis=-1)
        y = self.function(z)
        return y + math.sqrt(self.noise) * gaussian(*y.shape) if self.noise else y

    # ---- atoms

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.function.tree, self.function.r)

    @cached_property
    def _values(self) -> np.ndarray:
        """Values of positive probability, in increasing order."""
        if not self._pieces.switches:
            return np.empty(0)
        if self.function.r == 1 and not self.function.breaks[1]:
            return _distinct(self._constants(self._between[:, None]))
        cloud = stream(0, "points", r=self.function.r).standard_normal((_POINTS, self.function.r))
        return _distinct(np.concatenate([self._constants(scale * cloud) for scale in _SCALES]))

    def _constants(self, z: np.ndarray) -> np.ndarray:
        """Value around each point where the function is constant there, else NaN."""
        if self.function.is_discrete:
            return np.asarray(self.function(z))
        return self._pieces.constants(z)

    @cached_property
    def _edges(self) -> np.ndarray:
        return np.array([-math.inf, *self.function.kinks, math.inf])

    @cached_property
    def _between(self) -> np.ndarray:
        """One point of every interval between the kinks (r = 1)."""
        kinks = np.array(self.function.kinks)
        if not len(kinks):
            return np.zeros(1)
        return np.array([kinks[0] - 1, *(kinks[:-1] + kinks[1:]) / 2, kinks[-1] + 1])

    def _between_kinks(self, values: np.ndarray) -> list[Estimate]:
        """Gaussian measure of the intervals where a function of one variable is constant."""
        below = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in self._edges])
        which = _nearest(self._constants(self._between[:, None]), values)
        masses = np.diff(below)
        return [
            Estimate(float(masses[which == i].sum()), 1e-15, "quadrature")
            for i in range(len(values))
        ]

    def _indicator(self, values: np.ndarray, i: int) -> Expression:
        """Polynomial in g that is 1 at value i and 0 at the others (Lagrange)."""
        exact = [Fraction(c).limit_denominator(10**6) for c in values]
        close = [f if float(f) == c else Fraction(c) for f, c in zip(exact, values, strict=True)]
        factors: list[Node] = [
            multiply((number(1 / (close[i] - c)), add((self.function.tree, number(-c)))))
            for k, c in enumerate(close)
            if k != i
        ]
        return Expression.from_tree(multiply(factors), r=self.function.r)

    def _lagrange(self, values: np.ndarray, i: int) -> Estimate:
        """Mean of the indicator of value i."""
        mean = self._indicator(values, i).mean()
        return Estimate(min(max(mean.value, 0.0), 1.0), mean.error + 1e-15, mean.kind)

    def _by_counting(self, values: np.ndarray) -> list[Estimate]:
        """Shares of scrambled Sobol points, with the half-width of a 99 % interval."""
        r = self.function.r
        shares = np.empty((REPLICATES, len(values)))
        for i in range(REPLICATES):
            points = SobolSequence(r, stream(0, "points", r=r, replicate=i)).draw(_DRAWS)
            which = _nearest(self._constants(ndtri(points)), values)
            shares[i] = np.bincount(which[which >= 0], minlength=len(values)) / _DRAWS
        spread = shares.std(axis=0, ddof=1) / math.sqrt(REPLICATES)
        # Never below what a count of zero leaves open: (1 - p)^N = 0.01.
        errors = np.maximum(_STUDENT_99 * spread, math.log(100) / (REPLICATES * _DRAWS))
        return [
            Estimate(float(share), float(error), "monte_carlo")
            for share, error in zip(shares.mean(axis=0), errors, strict=True)
        ]


def _distinct(values: np.ndarray) -> np.ndarray:
    """Different values in increasing order; NaN and differences by rounding do not count."""
    ordered = np.unique(values[np.isfinite(values)])
    if not len(ordered):
        return ordered
    new = np.diff(ordered) > _SAME * (1 + np.abs(ordered[1:]))
    return ordered[np.concatenate([[True], new])]


def _nearest(found: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Index of each found number among the values, -1 if it is none of them."""
    if not len(values):
        return np.full(len(found), -1)
    gaps = np.abs(found[:, None] - values)
    which = np.where(np.isnan(found), 0, np.nan_to_num(gaps, nan=np.inf).argmin(axis=1))
    same = gaps[np.arange(len(found)), which] <= 2 * _SAME * (1 + np.abs(values[which]))
    return np.where(same, which, -1)

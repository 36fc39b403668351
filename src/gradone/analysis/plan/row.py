"""One algorithm of a plan: the data it needs, and what it learns with the data at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ...base.estimate import Estimate
from ...targets.subspace import Subspace


@dataclass(frozen=True)
class Sizes:
    """Input dimension, samples and width of a plan.

    Examples
    --------
    >>> Sizes(d=1000, n=10**6, width=1000).kappa
    1
    """

    d: int
    n: int
    width: int

    @property
    def data_exponent(self) -> float:
        """Samples as a power of the dimension, log n / log d."""
        return math.log(self.n) / math.log(self.d)

    @property
    def width_exponent(self) -> float:
        """Width as a power of the dimension, log p / log d."""
        return math.log(self.width) / math.log(self.d)

    def margin(self, exponent: float, with_log: bool = False) -> float:
        """Power of d by which the samples exceed d to the exponent, or that times log d.

        Examples
        --------
        >>> sizes = Sizes(d=1000, n=5000, width=1000)
        >>> round(sizes.margin(1.0), 2), round(sizes.margin(1.0, with_log=True), 2)
        (0.23, -0.05)
        """
        logarithm = math.log(math.log(self.d)) / math.log(self.d) if with_log else 0.0
        return self.data_exponent - exponent - logarithm

    @property
    def kappa(self) -> int:
        """Degree that the readout can fit, the whole part of min(log n, log p) / log d."""
        # log(d**2) / log(d) may come out as 2 - 1e-16.
        return math.floor(min(self.data_exponent, self.width_exponent) + 1e-9)


REGIMES = ((1, 0), (1, 1), (1, 2), (2, 1), (2, 2))  # powers of d of the samples and the width


@dataclass(frozen=True)
class Regime:
    r"""What an algorithm learns when n and the width p grow as powers of d.

    Parameters
    ----------
    algorithm : str
        Its name.
    samples, width : int
        The powers: :math:`n \sim d^{samples}`, :math:`p \sim d^{width}`.
    terms : str
        Hermite terms that it learns.
    plateau : Estimate
        Error that it keeps.
    """

    algorithm: str
    samples: int
    width: int
    terms: str
    plateau: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return {**vars(self), "plateau": self.plateau.to_dict()}


@dataclass(frozen=True)
class PlanRow:
    r"""One algorithm of a plan.

    Parameters
    ----------
    algorithm : str
        Its name.
    needs : str
        Samples that it needs, in words.
    exponent : float
        They grow as this power of d; infinite if no power is enough.
    margin : float
        log n / log d minus the exponent, and minus that of log d where it multiplies the samples
        (for kernels, the smaller of log n and log p).
    learns : str
        What it learns when it has these samples.
    here : str
        Hermite terms that it learns at the given sizes.
    reached : Subspace, optional
        Directions that it learns at the given sizes.
    plateau : Estimate, optional
        Error that it keeps at the given sizes.
    constant : Estimate, optional
        Samples divided by d to the exponent, where theory gives the constant.
    steps : int, optional
        Number of giant steps; 0 for kernels.
    plateaus, terms : tuple
        For giant steps and kernels: error kept, and terms learned, when n and the width are of
        order 1, d and d^2 beyond what the steps need: by the degree 0, 1, 2 of the readout.
    with_log : bool
        Whether a logarithm of d multiplies the samples.
    is_weak : bool
        Whether it finds an overlap with the directions only, not the directions themselves.
    note : str
        What a reader should know.
    cites : tuple of str
        Keys of references.
    """

    algorithm: str
    needs: str
    exponent: float
    margin: float
    learns: str
    here: str = ""
    reached: Subspace | None = None
    plateau: Estimate | None = None
    constant: Estimate | None = None
    steps: int | None = None
    plateaus: tuple[Estimate, ...] = ()
    terms: tuple[str, ...] = ()
    with_log: bool = False
    is_weak: bool = False
    note: str = ""
    cites: tuple[str, ...] = field(default=(), repr=False)

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """What is learned in each regime of samples and width that are enough for the steps."""
        if not self.plateaus:
            return ()
        least = 0.0 if self.steps == 0 else self.exponent
        degrees = ((n, p, min(n, p)) for n, p in REGIMES if n >= least)
        return tuple(
            Regime(self.algorithm, n, p, self.terms[degree], self.plateaus[degree])
            for n, p, degree in degrees
        )

    @property
    def rank(self) -> tuple[float, bool, bool, float, float, float]:
        """Key that sorts rows by the data they need.

        Among equal powers of d weak recovery comes last, among equals the smaller error first.
        """
        constant = 0.0 if self.constant is None else self.constant.value
        error = math.inf if self.plateau is None else self.plateau.value
        steps = float(self.steps or 0)
        return (self.exponent, self.is_weak, self.with_log, constant, error, steps)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, ready for JSON; what is infinite becomes None."""
        return {
            "algorithm": self.algorithm,
            "needs": self.needs,
            "exponent": finite(self.exponent),
            "with_log": self.with_log,
            "is_weak": self.is_weak,
            "constant": self.constant and self.constant.to_dict(),
            "margin": finite(self.margin),
            "learns": self.learns,
            "here": self.here,
            "reached": None if self.reached is None else self.reached.basis.tolist(),
            "plateau": self.plateau and self.plateau.to_dict(),
            "steps": self.steps,
            "plateaus": [e.to_dict() for e in self.plateaus],
            "terms": list(self.terms),
            "note": self.note,
            "cites": list(self.cites),
        }


def finite(x: float) -> float | None:
    """Number, or None if it is infinite."""
    return float(x) if math.isfinite(x) else None

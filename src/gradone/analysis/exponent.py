"""Integer exponents that are decided by a threshold, and the decision itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.estimate import Estimate, Kind, compact

# Energies are compared with the variance of the function. What lies below the first number is as
# small as the rounding of typed constants such as 0.70710678; what lies above is nonzero.
FLOOR: dict[str, float] = {"exact": 1e-16, "quadrature": 1e-14, "monte_carlo": 2e-4}
# Where no long decimals are typed, only the rounding of the arithmetic is left.
ARITHMETIC = 1e-26
# With less accurate integrals, an energy known to be this small still counts as zero.
_SMALL = 1e-10
# A Monte Carlo error is a 99 % half-width, at least 2.58 standard errors: this makes it 6.
SAFETY = 2.4
# With 15 degrees of freedom, four such errors are exceeded once in 10^9: then small is not zero.
_SURE, _SURELY_SEEN = 4.0, 1e-6
# Zeros are believed next to a signal that exceeds what they may hide.
_CLEARLY = {"exact": 1.0, "quadrature": 1e-6, "monte_carlo": 0.1}


@dataclass(frozen=True)
class Exponent:
    """Integer exponent with the margin that decided it.

    Parameters
    ----------
    value : int or None
        The exponent; None if it is larger than the orders looked at, or could not be decided.
    note : str
        The numbers that decided; for None the reason, ``"> 12"`` or ``"undecided: ..."``.

    Examples
    --------
    >>> Exponent(2, "|C_1|^2 = 0, exactly; |C_2|^2/2! = 2")
    2 (|C_1|^2 = 0, exactly; |C_2|^2/2! = 2)
    """

    value: int | None
    note: str = ""

    def __repr__(self) -> str:
        if self.value is None:
            return self.note or "undecided"
        return f"{self.value} ({self.note})" if self.note else str(self.value)


@dataclass(frozen=True)
class Energy:
    r"""Sum of squared coefficients, with bounds that say whether it vanishes.

    Parameters
    ----------
    value, low, high : float
        The sum; bounds from below and from above.
    kind : str
        How it was found.
    sure : float
        Part of the sum from coefficients that are beyond all doubt, for Monte Carlo.
    """

    value: float
    low: float
    high: float
    kind: Kind
    sure: float = 0.0

    @classmethod
    def of(cls, value: np.ndarray, error: np.ndarray, kind: Kind) -> Energy:
        r"""Energy of coefficients with errors.

        A coefficient counts for the lower bound only if it exceeds its error 2.4 times (six
        standard errors for Monte Carlo), so squared noise never looks like a signal.
        """
        size = np.abs(value)
        sure = size > SAFETY * error
        return cls(
            float((size**2).sum()),
            float(((size - error)[sure] ** 2).sum()),
            float(((size + error) ** 2).sum()),
            kind,
            float((size[size > _SURE * error] ** 2).sum()),
        )

    def hides_behind(self, signal: Energy) -> bool:
        """Whether a zero may hide a value that matters next to a signal."""
        return self.high > _CLEARLY.get(self.kind, 0.1) * signal.value

    def is_nonzero(
        self, scale: float, *, floor: float | None = None, slack: float = 0.0
    ) -> bool | None:
        """True or False, or None if the margin is too thin to say.

        Parameters
        ----------
        scale : float
            Variance of the function.
        floor : float, optional
            Share of it below which nothing counts.
        slack : float
            Share of it that errors of the learned directions may pretend.

        Examples
        --------
        >>> noise = Energy.of(np.array([1e-3]), np.array([5e-2]), "monte_carlo")
        >>> noise.is_nonzero(1.0) is None
        True
        """
        share = FLOOR.get(self.kind, FLOOR["monte_carlo"]) if floor is None else floor
        floor = share * scale
        if self.low > max(floor, slack * scale):
            return True
        if self.kind == "monte_carlo" and self.sure > max(_SURELY_SEEN, slack) * scale:
            return True
        lax = _SMALL * scale if self.kind == "quadrature" else floor
        if self.low and self.kind == "monte_carlo":
            return None  # significant, but too small to rely on
        return False if self.high <= (lax if not self.low else floor) else None

    @property
    def estimate(self) -> Estimate:
        """The energy as a number with its error."""
        error = max(self.high - self.value, self.value - self.low if self.low else 0.0)
        return Estimate(self.value, error, self.kind)

    def __repr__(self) -> str:
        if self.kind == "exact" or not self.high:
            return f"{self.value:.6g}"
        return compact(self.estimate)

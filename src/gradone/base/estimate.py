"""A number together with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["exact", "quadrature", "iteration", "monte_carlo", "extrapolation"]

# An estimate is as rough as its roughest part.
_ROUGHNESS: dict[str, int] = {
    "exact": 0,
    "quadrature": 1,
    "iteration": 2,
    "extrapolation": 3,
    "monte_carlo": 4,
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with an absolute error.

    Parameters
    ----------
    value : float
        The number; ``inf`` is allowed (a threshold that is never reached).
    error : float
        Absolute bound on the error; for ``kind="monte_carlo"`` the half-width of a 99 % interval.
    kind : str
        How it was found: ``"exact"``, ``"quadrature"``, ``"iteration"``, ``"extrapolation"`` or
        ``"monte_carlo"``.
    note : str
        What a reader should know: a margin, a reason.

    Examples
    --------
    >>> Estimate(0.3989422804, 1e-9, "quadrature")
    0.398942280 ± 1e-09 (quadrature)
    >>> float(Estimate(0.5, 0.0, "exact")) * 2
    1.0
    """

    value: float
    error: float = 0.0
    kind: Kind = "exact"
    note: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.value) or not self.error >= 0:
            raise ValueError(
                f"an Estimate needs a number and an error >= 0, got {self.value} ± {self.error}"
            )

    def __float__(self) -> float:
        return float(self.value)

    def agrees_with(self, other: Estimate | float, factor: float = 1.5) -> bool:
        """Whether two numbers differ by at most `factor` times their combined error.

        Examples
        --------
        >>> Estimate(1.00, 0.01, "monte_carlo").agrees_with(1.005)
        True
        """
        other = as_estimate(other)
        if math.isinf(self.value) or math.isinf(other.value):
            return self.value == other.value
        return abs(self.value - other.value) <= factor * math.hypot(self.error, other.error)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an infinite value becomes None and says so in the note.

        Examples
        --------
        >>> Estimate(math.inf).to_dict()
        {'value': None, 'error': 0.0, 'kind': 'exact', 'note': 'infinite'}
        """
        is_finite = math.isfinite(self.value)
        return {
            "value": self.value if is_finite else None,
            "error": self.error if math.isfinite(self.error) else None,
            "kind": self.kind,
            "note": self.note or ("" if is_finite else "infinite"),
        }

    @property
    def is_zero(self) -> bool:
        """Whether zero lies within the error."""
        return abs(self.value) <= self.error

    def __repr__(self) -> str:
        if math.isinf(self.value):
            return f"{self.value} ({self.kind})" + (f", {self.note}" if self.note else "")
        if self.error == 0:
            return f"{self.value:.12g} ({self.kind})" + (f", {self.note}" if self.note else "")
        digits = min(15, max(0, -math.floor(math.log10(self.error))))
        number = f"{self.value:.{digits}f}" if abs(self.value) < 1e6 else f"{self.value:.9g}"
        return f"{number} ± {self.error:.0e} ({self.kind})" + (
            f", {self.note}" if self.note else ""
        )


def as_estimate(number: Estimate | float) -> Estimate:
    """Number as an :class:`Estimate`; a plain number counts as exact.

    Examples
    --------
    >>> as_estimate(2.0)
    2 (exact)
    """
    return number if isinstance(number, Estimate) else Estimate(float(number))


def roughest(*kinds: Kind) -> Kind:
    """Kind of a quantity that is computed from parts of these kinds.

    Examples
    --------
    >>> roughest("exact", "monte_carlo", "quadrature")
    'monte_carlo'
    """
    return max(kinds, key=lambda kind: _ROUGHNESS[kind], default="exact")


def compact(x: Estimate) -> str:
    """Four digits, or fewer with the error of the last one in brackets; the size if that is all.

    Examples
    --------
    >>> compact(Estimate(2.467401100272, 2e-13)), compact(Estimate(0.575181, 1.2e-4))
    ('2.467', '0.5752(1)')
    >>> compact(Estimate(0.7504, 4e-3)), compact(Estimate(959334.0, 1e6)), compact(Estimate(0.5))
    ('0.750(4)', 'about 1e6', '0.5')
    >>> compact(Estimate(3.6011e-6, 4e-11)), compact(Estimate(0.0, 1e-12)), compact(Estimate(2e5))
    ('3.601e-6', '0 ± 1e-12', '2e5')
    """
    value, error = x.value, x.error
    if not math.isfinite(value):
        return str(value)
    if error == 0 or (value and error < 5 * 10.0 ** (_place(value) - 4)):
        return _plain(f"{value:.4g}")
    if abs(value) <= error / 2:
        return _plain(f"0 ± {error:.0e}")
    if error > abs(value) / 3:
        return _plain(f"about {value:.0e}")
    digits = -_place(error)
    last = round(error * 10.0**digits)
    if last == 10:
        digits, last = digits - 1, 1
    if digits < 0 or _place(value) < -3:
        shown = f"{value:.{max(0, _place(value) + digits)}e}"
        mantissa, _, power = shown.partition("e")
        return f"{mantissa}({last})e{int(power)}"
    return f"{value:.{digits}f}({last})"


def _place(x: float) -> int:
    """Decimal place of the first digit."""
    return math.floor(math.log10(abs(x)))


def _plain(text: str) -> str:
    """Powers of ten without a plus sign and without leading zeros: 1e+06 becomes 1e6."""
    mantissa, e, power = text.partition("e")
    return f"{mantissa}e{int(power)}" if e and power[1:].isdigit() else text

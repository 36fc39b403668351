"""Names of numbers: thresholds of balanced sign labels are powers of pi."""

from __future__ import annotations

import math
from fractions import Fraction

from ..base.estimate import Estimate

_CLOSE = 1e-9  # a number known to nine digits meets one of fifty others by chance once in 10^7
_POWERS = {1: "π", 2: "π²", 3: "π³", 4: "π⁴"}
_KNOWN = {
    math.pi**power * float(factor): (factor, name)
    for power, name in _POWERS.items()
    for factor in {Fraction(a, b) for a in (1, 3) for b in (1, 2, 4, 8, 16)}
}


def closed_form(x: Estimate) -> str:
    """Name of a number that is known to nine digits, or an empty text.

    Examples
    --------
    >>> closed_form(Estimate(2.4674011002723, 2e-13)), closed_form(Estimate(2.4674, 7e-4))
    ('π²/4', '')
    """
    if not x.error <= _CLOSE * abs(x.value) or not math.isfinite(x.value):
        return ""
    for value, (factor, name) in _KNOWN.items():
        if abs(x.value - value) <= _CLOSE * value:
            top = name if factor.numerator == 1 else f"{factor.numerator}{name}"
            return top if factor.denominator == 1 else f"{top}/{factor.denominator}"
    return ""

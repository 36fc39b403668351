r"""Signs that the form of an expression proves, whatever its values round to.

``exp(-1000*z1**2)`` and ``1 - tanh(z1)`` are positive everywhere, also where they underflow or
round to zero. Each part is given bounds, with a word on whether they are ever reached.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from .tree import Call, Node, Number, Pi, Power, Product, Quotient, Sum, fold


class _Range(NamedTuple):
    low: float
    high: float
    reaches_low: bool
    reaches_high: bool

    @property
    def sign(self) -> int:
        """1 or -1 if zero is not inside, else 0."""
        if self.low > 0 or (self.low == 0 and not self.reaches_low):
            return 1
        return -1 if self.high < 0 or (self.high == 0 and not self.reaches_high) else 0


_ALL = _Range(-math.inf, math.inf, False, False)
_POSITIVE = _Range(0.0, math.inf, False, False)
_NOT_NEGATIVE = _Range(0.0, math.inf, True, False)
_WITH_SIGN = {1: _POSITIVE, 0: _ALL, -1: _Range(-math.inf, 0.0, False, False)}
_CALLS = {
    "exp": _POSITIVE,
    "softplus": _POSITIVE,
    "sigmoid": _Range(0.0, 1.0, False, False),
    "tanh": _Range(-1.0, 1.0, False, False),
    "erf": _Range(-1.0, 1.0, False, False),
    "sin": _Range(-1.0, 1.0, True, True),
    "cos": _Range(-1.0, 1.0, True, True),
}


@lru_cache(maxsize=4096)
def certain_sign(node: Node) -> int:
    """1 or -1 if a node is positive or negative at every point, 0 if that is not certain.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> [certain_sign(parse(text)) for text in ("tanh(z1) - 1", "sigmoid(z1)**2", "z1**2")]
    [-1, 1, 0]
    """
    return fold(node, _range).sign


def _range(part: Node, parts: list[_Range]) -> _Range:
    match part:
        case Number(value=value):
            return _Range(float(value), float(value), True, True)
        case Pi():
            return _Range(3.0, 4.0, False, False)
        case Sum():
            low, high = sum(p.low for p in parts), sum(p.high for p in parts)
            return _Range(
                low, high, all(p.reaches_low for p in parts), all(p.reaches_high for p in parts)
            )
        case Product(factors=(Number(value=value), _)):
            low, high, reaches_low, reaches_high = parts[1]
            ends = (float(value) * low, reaches_low), (float(value) * high, reaches_high)
            (low, reaches_low), (high, reaches_high) = ends if value > 0 else ends[::-1]
            return _Range(low, high, reaches_low, reaches_high)
        case Product() | Quotient():
            return _WITH_SIGN[math.prod(p.sign for p in parts)]
        case Power(exponent=k) if k % 2:
            return _WITH_SIGN[parts[0].sign]
        case Power() | Call(name="abs" | "sqrt"):
            return _POSITIVE if parts[0].sign else _NOT_NEGATIVE
        case Call(name="relu"):
            return _POSITIVE if parts[0].sign > 0 else _NOT_NEGATIVE
        case Call(name="max"):
            return _WITH_SIGN[max(p.sign for p in parts)]
        case Call(name="min"):
            return _WITH_SIGN[min(p.sign for p in parts)]
        case Call(name=name):
            return _CALLS.get(name, _ALL)
        case _:
            return _ALL

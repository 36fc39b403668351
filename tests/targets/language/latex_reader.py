r"""Values of the LaTeX that gradone prints, by a reader of its own (recursive descent).

It knows how mathematicians read: juxtaposition is a product, fractions and brackets group, an
exponent belongs to what stands directly before it.
"""

import re
from typing import Any

import numpy as np

from .oracle import NUMPY, hermite

_TOKEN = re.compile(
    r"\\left\(|\\right\)|\\left\||\\right\||\\frac|\\sqrt|\\pi|\\,|\\mathrm\{He\}_\{(?P<order>\d+)\}"
    r"|\\operatorname\{(?P<word>\w+)\}|\\(?P<name>\w+)|z_\{(?P<index>\d+)\}"
    r"|(?P<number>\d+\.?\d*)|[{}^+,-]|\s+"
)


class LatexReader:
    def __init__(self, text: str, variables: list[np.ndarray]) -> None:
        self.variables, self.tokens, position = variables, [], 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            assert match, f"cannot read {text[position : position + 30]!r}"
            position = match.end()
            if match.group().strip() and match.group() != r"\,":
                self.tokens.append(match)

    def value(self) -> Any:
        result = self._sum()
        assert not self.tokens, "something is left over"
        return result

    def _next(self) -> str:
        return self.tokens[0].group() if self.tokens else ""

    def _take(self, text: str) -> bool:
        if self._next() == text:
            self.tokens.pop(0)
            return True
        return False

    def _expect(self, text: str) -> None:
        assert self._take(text), f"expected {text}, found {self._next()!r}"

    def _sum(self) -> Any:
        sign = -1.0 if self._take("-") else 1.0
        total = sign * self._product()
        while self._next() in ("+", "-") and self._next():
            sign = -1.0 if self._take("-") else (self._take("+"), 1.0)[1]
            total = total + sign * self._product()
        return total

    def _product(self) -> Any:
        total = self._power()
        while self._next() not in ("", "+", "-", "}", ",", r"\right)", r"\right|"):
            total = total * self._power()
        return total

    def _power(self) -> Any:
        base = self._atom()
        if self._take("^"):
            return base ** int(self._group())
        return base

    def _group(self) -> Any:
        self._expect("{")
        value = self._sum()
        self._expect("}")
        return value

    def _arguments(self) -> list[Any]:
        self._expect(r"\left(")
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._expect(r"\right)")
        return values

    def _atom(self) -> Any:
        if self._next() == r"\left(":
            return self._arguments()[0]
        match = self.tokens.pop(0)
        text = match.group()
        if text == r"\left|":
            value = self._sum()
            self._expect(r"\right|")
            return np.abs(value)
        if text == r"\frac":
            top = self._group()
            return top / self._group()
        if text == r"\sqrt":
            return np.sqrt(self._group())
        if text == r"\pi":
            return np.pi
        if match["order"]:
            return hermite(int(match["order"]), *self._arguments())
        if match["index"]:
            return self.variables[int(match["index"]) - 1]
        if match["number"]:
            return float(match["number"])
        return NUMPY.functions[match["word"] or match["name"]](*self._arguments())

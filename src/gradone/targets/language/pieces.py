"""Pieces of a function: the smooth formulas between its kinks and jumps, and where they rule.

``relu(z)`` has two pieces, ``z`` and ``0``. On each piece a function of the language is analytic,
so it takes a value with positive probability only if one of its pieces is a constant. This is
decided from the formulas, not from repeated values: ``tanh(30*z)`` rounds to 1 on almost half of
the line and has no atom.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from ...base.errors import TargetError
from ...calculus.polynomial import Polynomial
from .evaluate import constant_value, evaluate
from .functions import FUNCTIONS, rebuild
from .polynomials import polynomial_of
from .tree import Call, Node, children, fold, is_constant, nodes

_MAX_PIECES = 4096


class Pieces:
    """Pieces of a function.

    Parameters
    ----------
    tree : Node
        The function.
    r : int
        Number of variables.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> pieces = Pieces(parse("relu(z) + 1"), 1)
    >>> pieces.constants(np.array([[-1.0], [2.0]]))
    array([ 1., nan])
    """

    def __init__(self, tree: Node, r: int) -> None:
        self.tree, self.r = tree, r
        self._known: dict[bytes, float] = {}
        self._formulas: dict[tuple[Node, tuple[int, ...]], Node] = {}

    @cached_property
    def switches(self) -> tuple[Call, ...]:
        """Parts of the function that choose between formulas."""
        return tuple(
            part
            for part in nodes(self.tree)
            if isinstance(part, Call) and FUNCTIONS[part.name].branches is not None
        )

    def constants(self, z: np.ndarray) -> np.ndarray:
        """Value around each point of `z` (n, r) where the function is constant there, else NaN."""
        if not self.switches:
            return np.full(len(z), np.nan)
        patterns, which = self._patterns(z)
        return np.array([self._constant(pattern) for pattern in patterns])[which]

    def same_constants(self, z: np.ndarray) -> np.ndarray:
        """Number of the constant piece around each point of `z` (n, r), -1 where it is none.

        Pieces with the same formula have the same number: two constants that are different but
        round to one value do not.
        """
        if not self.switches:
            return np.full(len(z), -1)
        patterns, which = self._patterns(z)
        numbers: dict[Node, int] = {}
        found = [
            -1
            if np.isnan(self._constant(pattern))
            else numbers.setdefault(self._formula(pattern), len(numbers))
            for pattern in patterns
        ]
        return np.array(found)[which]

    def polynomials(self, z: np.ndarray) -> tuple[Polynomial, ...] | None:
        """Polynomial around each point of `z` (n, r), None if the function is not one at all."""
        if not self.switches:
            found = self._polynomial(self.tree)
            return None if found is None else (found,) * len(z)
        patterns, which = self._patterns(z)
        pieces = []
        for pattern in patterns:
            piece = self._polynomial(self._formula(pattern))
            if piece is None:
                return None
            pieces.append(piece)
        return tuple(pieces[i] for i in which)

    def _polynomial(self, piece: Node) -> Polynomial | None:
        if is_constant(piece):
            value = constant_value(piece)
            return Polynomial.constant(Fraction(value), self.r) if np.isfinite(value) else None
        return polynomial_of(piece, self.r)

    def _patterns(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Different patterns of choices at points, and which of them each point has."""
        choices = np.stack([self._choice(part, z) for part in self.switches], axis=1)
        # One word for each pattern: sorting words is far faster than sorting rows.
        words = np.ascontiguousarray(choices).view(f"S{choices.shape[1]}")[:, 0]
        _, first, inverse = np.unique(words, return_index=True, return_inverse=True)
        return choices[first], inverse

    def _choice(self, part: Call, z: np.ndarray) -> np.ndarray:
        """Index of the alternative that the part follows at each point."""
        value = evaluate(part, z)
        alternatives = _alternatives(part)
        with np.errstate(invalid="ignore"):  # infinities far out
            gaps = np.stack([np.abs(evaluate(other, z) - value) for other in alternatives])
        return gaps.argmin(axis=0).astype(np.int8)

    def _constant(self, pattern: np.ndarray) -> float:
        """Value of the piece with this pattern of choices, NaN if it is not a constant."""
        key = pattern.tobytes()
        if key not in self._known:
            if len(self._known) >= _MAX_PIECES:
                return float("nan")
            self._known[key] = self._value(pattern)
        return self._known[key]

    @cached_property
    def _inside(self) -> dict[Node, tuple[int, ...]]:
        """Which switches each part contains, itself included."""
        place: dict[Node, int] = {part: i for i, part in enumerate(self.switches)}

        def combine(part: Node, found: list[set[int]]) -> set[int]:
            inside = set().union(*found) | ({place[part]} if part in place else set())
            known[part] = tuple(sorted(inside))
            return inside

        known: dict[Node, tuple[int, ...]] = {}
        fold(self.tree, combine)
        return known

    def _formula(self, pattern: np.ndarray) -> Node:
        """The smooth formula with this pattern of choices; parts are shared between patterns."""

        def visit(part: Node) -> Node:
            inside = self._inside[part]
            if not inside:
                return part
            key = part, tuple(pattern[list(inside)].tolist())
            if key not in self._formulas:
                parts = [visit(child) for child in children(part)]
                if isinstance(part, Call) and part in self.switches:
                    choice = pattern[self.switches.index(part)]
                    found = _alternatives(Call(part.name, tuple(parts)))[choice]
                else:
                    found = rebuild(part, parts)
                self._formulas[key] = found
            return self._formulas[key]

        return visit(self.tree)

    def _value(self, pattern: np.ndarray) -> float:
        try:
            piece = self._formula(pattern)
            if not is_constant(piece):
                polynomial = polynomial_of(piece, self.r)
                if polynomial is None or polynomial.degree > 0:
                    return float("nan")
                return float(polynomial.expectation())
            value = constant_value(piece)
        except (TargetError, ZeroDivisionError):  # no such piece, or numbers too long to handle
            return float("nan")
        return value if np.isfinite(value) else float("nan")


def _alternatives(part: Call) -> tuple[Node, ...]:
    branches = FUNCTIONS[part.name].branches
    if branches is None:
        raise AssertionError(part)
    return branches(*part.arguments)

"""What gradone knows about one function of the language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from .images import Interval
from .tree import ONE, Node

Growing = Literal["bounded", "like argument", "root", "logarithm", "exponential"]


@dataclass(frozen=True)
class Function:
    r"""What gradone knows about one function of the language.

    Parameters
    ----------
    latex : str
        Pattern with ``#1`` (and ``#2``) for the arguments, as in TeX macros.
    evaluate : callable
        ``(xp, *arrays) -> array`` in the namespace ``xp``.
    source : str
        The same as scalar Python text on ``math``, for compiled code. Not-a-number must stay so.
    derivatives : tuple of callables
        One for each argument: nodes of the arguments -> node of the partial derivative.
    image : callable
        Intervals of the arguments -> interval that contains every value.
    growing : str
        How fast ``|f(u)|`` grows with ``|u|``.
    parity : str
        ``"even"``, ``"odd"`` or ``"none"``.
    degree : int
        Degree if it is a polynomial, else 0.
    homogeneity : float, optional
        ``k`` if ``f(t u) = t^k f(u)`` for all ``t > 0``.
    branches : callable, optional
        For functions that are not smooth: nodes of the arguments -> the smooth alternatives.
    breaks_at : callable, optional
        Nodes of the arguments -> node whose zeros are the points where it is not smooth.
    is_singular : bool
        Whether a derivative is unbounded at the break (``sqrt``, ``log``).
    zeros : str
        Where it vanishes: where its ``"argument"`` does, ``"never"``, or ``"elsewhere"``.
    increasing : bool
        Whether it increases strictly wherever it is defined.
    exact : callable, optional
        Rational arguments -> rational value.
    """

    latex: str
    evaluate: Callable[..., Any]
    source: str
    derivatives: tuple[Callable[..., Node], ...]
    image: Callable[..., Interval]
    growing: Growing
    parity: Literal["even", "odd", "none"] = "none"
    degree: int = 0
    homogeneity: float | None = None
    branches: Callable[..., tuple[Node, ...]] | None = None
    breaks_at: Callable[..., Node] | None = None
    is_singular: bool = False
    zeros: Literal["argument", "never", "elsewhere"] = "elsewhere"
    increasing: bool = False
    exact: Callable[..., Fraction] | None = None

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.derivatives)

    def branches_of(self, *arguments: Node) -> tuple[Node, ...]:
        """Smooth alternatives at the given arguments; none for a smooth function."""
        return self.branches(*arguments) if self.branches else ()

    def break_of(self, *arguments: Node) -> Node:
        """Node whose zeros are the breaks; a constant if there are none."""
        return self.breaks_at(*arguments) if self.breaks_at else ONE

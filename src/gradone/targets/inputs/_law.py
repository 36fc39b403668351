"""What every law of the inputs states, and the table in which it is found."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...base.errors import BadData
from ...base.registry import Registry
from ...base.seeds import stream

_POINTS = 20  # of a coordinate, for its fourth moment

LAWS = Registry("law of the inputs", "gradone.targets.inputs")

Fill = Callable[[np.ndarray], None]
"""Writes the next rows of a data set into an array."""
Rule = tuple[np.ndarray, np.ndarray]
"""Points (m, k) and weights (m,) of an average."""


class Law(ABC):
    """One law of the rows of X. It is immutable, and equal laws have equal texts.

    A law is a file of this folder with a class under ``@LAWS.add("name")``.

    Notes
    -----
    Rows come in order from one stream of random numbers, so that a larger sample extends a smaller
    one. A law of independent coordinates of mean 0 and variance 1 sets `is_product` and tells the
    `rule` of one of them.
    """

    name: ClassVar[str]
    """Name in the table; set by ``LAWS.add``."""
    is_product: ClassVar[bool] = False
    """Whether the coordinates are independent, all of one law of mean 0 and variance 1."""
    is_rotation_invariant: ClassVar[bool] = False
    """Whether all directions are alike, so that axes are as good as random directions."""
    is_standardized: ClassVar[bool] = False
    """Whether the projections z are divided by their standard deviations."""
    is_stored: bool = True
    """Whether its text is enough to draw it again, elsewhere."""
    arguments: dict[str, Any]
    """What it was made with, without what is the default."""

    @property
    def text(self) -> str:
        """What one would type; it enters the names of stored cells.

        Examples
        --------
        >>> as_law("gaussian( power_law = 1/2 )").text
        'gaussian(power_law=0.5)'
        """
        inner = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{self.name}({inner})" if inner else self.name

    def __repr__(self) -> str:
        return f"inputs.{self.text}" if self.arguments else f"inputs.{self.name}()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Law) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @abstractmethod
    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d)."""

    def check(self, d: int) -> None:  # noqa: B027 - most laws exist in all of them
        """Refuse a dimension in which the law does not exist."""

    def source(self, d: int, *, seed: int, replicate: int, role: str) -> Fill:
        """What fills the blocks of one data set, one after the other."""
        rng = stream(seed, role, d=d, replicate=replicate)
        return lambda out: self.draw(rng, out)

    def rows_of(self, role: str) -> int | None:
        """Number of rows that there are at most; None without a limit."""
        return None

    def covariance(self, d: int) -> np.ndarray:
        """Covariance of a row, as its diagonal (d,) or as a matrix (d, d)."""
        return np.ones(d)

    def cumulants(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""Skewness and excess kurtosis (r,) of the projections on rows W (r, d) of norm 1.

        For independent coordinates :math:`\kappa_3\sum_i w_i^3` and
        :math:`\kappa_4\sum_i w_i^4`.

        Examples
        --------
        >>> spread = np.full((1, 100), 0.1)
        >>> [as_law(name).cumulants(spread)[1].round(4) for name in ("rademacher", "sphere")]
        [array([-0.02]), array([-0.0588])]
        """
        points, weights = self.rule(_POINTS)
        third, fourth = (float(weights @ points[:, 0] ** k) for k in (3, 4))
        return third * (W**3).sum(axis=1), (fourth - 3) * (W**4).sum(axis=1)

    def rule(self, count: int) -> Rule:
        """About `count` points (m, 1) and weights of one coordinate of a product."""
        raise NotImplementedError


def as_law(given: Any) -> Law:
    """Law that is given as itself or by its text.

    Examples
    --------
    >>> as_law("rademacher")
    inputs.rademacher()
    >>> as_law("radmacher")
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown law of the inputs 'radmacher'. Known: ...
    """
    if isinstance(given, Law):
        return given
    if not isinstance(given, str):
        raise BadData(
            f"inputs must be a law such as gd.inputs.rademacher() or its text, got {given!r}"
        )
    text = given.strip()
    if "(" not in text:
        found: Law = LAWS[text]()
        return found
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise SyntaxError
        arguments = {str(one.arg): _number(one.value) for one in call.keywords}
    except (SyntaxError, ValueError):
        raise BadData(
            f"'{given}' is no law of the inputs; write a name such as rademacher, or "
            "gaussian(power_law=0.5)"
        ) from None
    kind = LAWS[call.func.id]
    try:
        law: Law = kind(**arguments)
    except TypeError as error:
        raise BadData(f"{call.func.id}: {error}") from None
    return law


def _number(node: ast.expr) -> Any:
    """A literal, or a quotient of two numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        below = ast.literal_eval(node.right)
        if not below:
            raise ValueError
        return ast.literal_eval(node.left) / below
    return ast.literal_eval(node)

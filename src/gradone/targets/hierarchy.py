"""What all hierarchical targets share: identity, checked parts, samples."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.errors import BadData, TargetError
from ..base.seeds import stream
from .language.expression import Expression
from .realization import Realization
from .sampled import Sampled
from .target import checked_noise, html_formula, one_variable, variance

Signs = str | tuple[Any, ...]

# A typed constant such as 0.797884560803 centers a function up to its own rounding.
_CENTERED = 1e-9


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HierarchicalTarget(Sampled):
    """Function of a few nonlinear features of many hidden directions.

    Parameters
    ----------
    noise : float
        Variance of the label noise.

    Notes
    -----
    ``text`` is what one would type, without the noise; two targets are equal when their parts are,
    expressions being compared in canonical form.
    """

    kind = ("a hierarchical target", "hierarchical targets such as gd.Sight and gd.Tree")

    noise: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        self._set("noise", checked_noise(self.noise))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @abstractmethod
    def widths(self, d: int) -> tuple[int, ...]:
        """Number of features of each level in dimension d, from the directions to the top."""

    @abstractmethod
    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> Realization:
        """Target in dimension d: directions and signs are drawn, labels can be computed."""

    # ---- identity

    def _typed(self, *, canonical: bool = False, noise: bool = False) -> str:
        """Call that rebuilds the target; what equals its default is left out, except numbers."""
        parts = []
        for part in fields(self):
            value = getattr(self, part.name)
            if not part.init or (part.name == "noise" and not (noise and value)):
                continue
            optional = part.name in ("signs", "standardize", "count")
            if optional and part.default is not MISSING and value == part.default:
                continue
            if canonical:
                value = self._canonical_part(part.name, value)
            elif isinstance(value, tuple):
                value = _lists(value)
            parts.append(f"{part.name}={value!r}")
        order = [p for p in parts if not p.startswith("noise=")]
        order += [p for p in parts if p.startswith("noise=")]
        return f"{type(self).__name__}({', '.join(order)})"

    @staticmethod
    def _canonical_part(name: str, value: Any) -> Any:
        if name == "outer":
            return _canonical(value, "h")
        if name == "inner":
            return _canonical(value, "z")
        if name == "inners":
            return [_canonical(text, "z") for text in value]
        return _lists(value) if isinstance(value, tuple) else value

    @property
    def text(self) -> str:
        """The target as one would type it, without the noise."""
        return self._typed()

    @property
    def canonical(self) -> str:
        """Text with every expression in canonical form."""
        return self._typed(canonical=True)

    @property
    def parts(self) -> dict[str, Any]:
        """Arguments that rebuild the target, every expression in canonical form.

        Examples
        --------
        >>> from gradone import Sight
        >>> Sight(outer="h*3", inner="He2(z)", exponent=0.5, noise=0.1).parts
        {'noise': 0.1, 'outer': '3*h1', 'inner': 'He2(z1)', 'exponent': 0.5, 'signs': 'random'}
        """
        return {
            part.name: self._canonical_part(part.name, getattr(self, part.name))
            for part in fields(self)
            if part.init
        }

    @property
    @abstractmethod
    def latex(self) -> str:
        """LaTeX of the definition."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HierarchicalTarget):
            return NotImplemented
        return (self.canonical, self.noise) == (other.canonical, other.noise)

    def __hash__(self) -> int:
        return hash((self.canonical, self.noise))

    def __repr__(self) -> str:
        return self._typed(noise=True)

    def _repr_html_(self) -> str:
        return html_formula(self.latex, self.noise)

    def __reduce__(self) -> tuple[Any, ...]:
        values = {part.name: getattr(self, part.name) for part in fields(self) if part.init}
        return (_rebuild, (type(self), values))


def _rebuild(kind: type[HierarchicalTarget], values: dict[str, Any]) -> HierarchicalTarget:
    return kind(**values)


@lru_cache(maxsize=256)  # hashes and comparisons of targets ask for it again and again
def _canonical(text: str, letter: str) -> str:
    return Expression(text, letter=letter).canonical


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def inner_function(text: str) -> tuple[Expression, float]:
    """Inner function, centered under the standard Gaussian, and its variance.

    Examples
    --------
    >>> inner_function("z**2")
    Traceback (most recent call last):
    gradone.base.errors.TargetError: the inner function must have mean 0 ...
    """
    expression = one_variable(text, "the inner function")
    mean, size = expression.mean(), float(variance(expression))
    if abs(mean.value) > mean.error + _CENTERED * math.sqrt(size):
        raise TargetError(
            f"the inner function must have mean 0 for Gaussian z, '{expression.text}' has mean "
            f"{mean.value:.12g}: the feature h would have a mean of order sqrt(D). "
            f"Write {expression.text} {'-' if mean.value > 0 else '+'} {abs(mean.value):.12g}."
        )
    return expression, size


def checked_exponent(exponent: Any) -> float:
    """Exponent of the number of directions, in (0, 1]."""
    if isinstance(exponent, bool | str) or not np.isscalar(exponent) or not 0 < exponent <= 1:  # type: ignore[operator]
        raise BadData(f"an exponent must be a number in (0, 1], got {exponent!r}")
    return float(exponent)  # type: ignore[arg-type]


def power_width(d: int, exponent: float) -> int:
    """Integer part of a power of the dimension, guarded against rounding.

    Examples
    --------
    >>> power_width(27, 1 / 3), [power_width(d, 0.5) for d in (64, 128, 256)]
    (3, [8, 11, 16])
    """
    return math.floor(d**exponent + 1e-9)


def checked_signs(signs: Any) -> Signs:
    """Choice of the weights a: a word, or numbers as nested tuples."""
    if isinstance(signs, str):
        if signs not in ("random", "ones"):
            raise BadData(f"signs must be 'random', 'ones' or an array, got {signs!r}")
        return signs

    def numbers(item: Any) -> Any:
        if isinstance(item, np.ndarray | list | tuple):
            return tuple(numbers(part) for part in item)
        value = float(item)
        if not math.isfinite(value):
            raise ValueError
        return value

    try:
        found = numbers(signs)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, tuple) or not found:
        raise BadData(f"signs must be 'random', 'ones' or an array of numbers, got {signs!r}")
    return found


def drawn_signs(
    signs: Signs, shapes: Sequence[tuple[int, int]], *, d: int, seed: int, replicate: int
) -> list[np.ndarray]:
    """Weights a of every level, arrays (branches, number of features below)."""
    if isinstance(signs, tuple):
        given = [signs] if len(shapes) == 1 else list(signs)
        try:
            return [
                np.array(part, dtype=float).reshape(shape)
                for part, shape in zip(given, shapes, strict=True)
            ]
        except ValueError:
            raise BadData(
                f"in dimension d = {d} signs must have the shapes "
                f"{', '.join(map(str, shapes))} (branches, number of features), one for each level"
            ) from None
    if signs == "ones":
        return [np.ones(shape) for shape in shapes]
    found = []
    for level, shape in enumerate(shapes):
        rng = stream(seed, "directions", d=d, replicate=replicate, part="signs", level=level)
        found.append(2.0 * rng.integers(0, 2, shape) - 1.0)
    return found

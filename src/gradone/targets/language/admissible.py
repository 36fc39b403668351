"""What cannot be a target: constants, poles, complex values, infinite variance."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...base.errors import TargetError
from .bounds import directions, growth, interval, local_infinities
from .evaluate import constant_value, evaluate_columns
from .functions import FUNCTIONS, hermite_polynomial
from .lines import sharp_points
from .printing import text_of
from .structure import affine_form, typed_forms
from .tree import (
    Call,
    Node,
    Power,
    Product,
    Quotient,
    Sum,
    fold,
    is_constant,
    nodes,
    variables,
)

_RADIUS = 8.0
_TOO_LARGE = 1e100  # squares, and sums of squares, must stay finite
_MAX_SEARCHED = 150  # parts of denominators, logarithms and roots that are searched for zeros


@np.errstate(all="ignore")  # what overflows here is refused, not reported
def check_admissible(node: Node, text: str, *, what: str = "the target") -> None:
    """Raise :class:`TargetError`, naming the part that is to blame, if a node is not a target.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> check_admissible(parse("1/z1"), "1/z1")
    Traceback (most recent call last):
    gradone.base.errors.TargetError: '1/z1' has a pole: its denominator 'z1' vanishes ...
    """
    if is_constant(node):
        raise TargetError(
            f"'{_short(text)}' is a constant; {what} must depend on at least one variable"
        )
    searched = 0
    for part in nodes(node):
        inside = _unproven(part)
        if inside is None:
            continue
        searched += 3 + len(nodes(inside))
        if searched > _MAX_SEARCHED:
            raise TargetError(
                f"'{_short(text)}' has too many denominators, logarithms and roots to be checked "
                "for poles. Write it with fewer of them, or such that they are plainly positive: "
                "1 + (...)**2"
            )
        if isinstance(part, Quotient):
            _refuse_pole(part)
        elif isinstance(part, Call):
            _refuse_negative(part)
    _refuse_infinite_variance(node, text)
    _refuse_infinite(node, text, what)


def _unproven(part: Node) -> Node | None:
    """Denominator that may vanish, or argument of log or sqrt that may be negative, if any."""
    match part:
        case Quotient(denominator=inside):
            low, high = interval(inside)
            return None if low > 0 or high < 0 else inside
        case Call(name="log" | "sqrt", arguments=(inside,)):
            return None if interval(inside)[0] >= 0 else inside
        case _:
            return None


def _refuse_pole(part: Quotient) -> None:
    if _vanishes(part.denominator):
        raise TargetError(
            f"'{_short(text_of(part))}' has a pole: its denominator "
            f"'{_short(text_of(part.denominator))}' vanishes somewhere. "
            "Keep it away from zero, for example 1/(1 + z1**2)"
        )


def _vanishes(node: Node) -> bool:
    if is_constant(node):
        return not abs(constant_value(node)) > 0
    match node:
        case Product(factors=factors):
            return any(_vanishes(factor) for factor in factors)
        case Power(base=base):
            return _vanishes(base)
    if affine_form(node, max(variables(node))) is not None:
        return True  # somewhere, however far out
    signs = _values(node, _lines(max(variables(node))))
    if signs.min() < 0 < signs.max():
        return True
    value, scale, _ = _smallest(node, np.abs)
    return value < 1e-7 * scale


def _refuse_negative(part: Call) -> None:
    argument = part.arguments[0]
    if is_constant(argument):
        value, rounding = constant_value(argument), 0.0
    else:
        value, _, point = _smallest(argument, lambda values: values)
        rounding = 1e-13 * min(_magnitude(argument, point), 1e300)  # a logarithm may be infinite
    if value < -rounding:
        raise TargetError(
            f"'{_short(text_of(part))}' is not real: '{_short(text_of(argument))}' takes negative "
            f"values. Use {part.name}(abs(...)) or keep the argument positive"
        )


def _refuse_infinite_variance(node: Node, text: str) -> None:
    for part in nodes(node):
        match part:
            case Call(name="exp", arguments=(argument,)) if local_infinities(argument)[1]:
                raise TargetError(
                    f"'{_short(text_of(part))}' may have a pole: the logarithm in "
                    f"'{_short(text_of(argument))}' has no lower bound. "
                    "Keep its argument away from zero, for example log(1 + z1**2)"
                )
    size = growth(node)
    if not size.is_square_integrable:
        culprit = next(p for p in nodes(node) if not growth(p).is_square_integrable)
        raise TargetError(
            f"'{_short(text)}' is not square integrable under the Gaussian: "
            f"'{_short(text_of(culprit))}' grows too fast. "
            "exp(u) needs u to grow at most linearly, or quadratically with a coefficient below 1/4"
        )
    # E exp(2 a |z| + 2 b z^2) is about exp(2 a^2 / (1 - 4 b)).
    if 2 * size.linear**2 / (1 - 4 * size.quadratic) > math.log(_TOO_LARGE):
        raise TargetError(
            f"'{_short(text)}' is too large: its mean square exceeds {_TOO_LARGE:.0e}. "
            "Use a smaller factor inside exp"
        )


def _refuse_infinite(node: Node, text: str, what: str) -> None:
    points = _cloud(max(variables(node)))
    values = _values(node, points)
    bad = ~(np.abs(values) < _TOO_LARGE)
    if bad.any():
        z = points[np.flatnonzero(bad)[0]]
        culprit = next(p for p in nodes(node) if not abs(_values(p, z[None, :])[0]) < _TOO_LARGE)
        where = ", ".join(f"z{i} = {z[i - 1]:.3g}" for i in variables(node))
        number = float(_values(culprit, z[None, :])[0])
        problem = f"is {number:.0e}" if math.isfinite(number) else "is not a finite number"
        raise TargetError(
            f"'{_short(text_of(culprit))}' {problem} at {where}; {what} must be finite, and "
            f"below {_TOO_LARGE:.0e}, everywhere that matters (|z| < 8)"
        )
    if _is_constant(values) and _is_constant(np.append(values, _at_sharp_points(node))):
        raise TargetError(f"'{_short(text)}' is a constant: it is {values[0]:.6g} everywhere")


def _is_constant(values: np.ndarray) -> bool:
    return bool(np.ptp(values) <= 1e-13 * (1e-200 + np.abs(values).max()))


def _at_sharp_points(node: Node) -> np.ndarray:
    """Values where a function may change within a narrow interval of its linear forms."""
    r = max(variables(node))
    lines = [np.outer(sharp_points(node, w).points, w) for w in [*np.eye(r), *typed_forms(node, r)]]
    return _values(node, np.concatenate([np.zeros((1, r)), *lines]))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _values(node: Node, points: np.ndarray) -> np.ndarray:
    values = evaluate_columns(node, lambda i: points[..., i - 1])
    return np.broadcast_to(np.asarray(values, dtype=np.float64), points.shape[:-1])


@lru_cache(maxsize=16)
def _cloud(r: int) -> np.ndarray:
    """Two thousand fixed points with |z| <= 8, dense near the origin."""
    rng = np.random.default_rng(7)
    directions = rng.standard_normal((2000, r))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = directions * (_RADIUS * rng.random((2000, 1)))
    points.setflags(write=False)
    return points


@lru_cache(maxsize=16)
def _lines(r: int) -> np.ndarray:
    """64 fixed lines (half of them through the origin), 161 points on each."""
    rng = np.random.default_rng(11)
    along = directions(r)[:64]
    start = rng.standard_normal((len(along), 1, r))
    start[::2] = 0.0
    points = start + along[:, None, :] * np.linspace(-_RADIUS, _RADIUS, 161)[:, None]
    points.setflags(write=False)
    return points


def _smallest(
    node: Node, size: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float, np.ndarray]:
    """Smallest ``size(value)`` found by a shrinking search, the typical size, and the place."""
    lines = _lines(max(variables(node)))
    points = lines.reshape(-1, lines.shape[-1])
    values = np.nan_to_num(size(_values(node, points)), nan=np.inf)
    near = np.linalg.norm(points, axis=1) < 2.0
    scale = float(np.median(np.abs(values[near]))) or 1.0
    best = points[np.argpartition(values, 8)[:8]]
    smallest, place = float(values.min()), points[values.argmin()]
    rng, radius, idle = np.random.default_rng(13), 0.5, 0
    for _ in range(45):
        cloud = best[:, None, :] + radius * rng.standard_normal((len(best), 16, best.shape[1]))
        cloud = np.concatenate([best[:, None, :], cloud], axis=1)
        values = np.nan_to_num(size(_values(node, cloud)), nan=np.inf)
        best = cloud[np.arange(len(best)), values.argmin(axis=1)]
        idle = 0 if values.min() < smallest - 1e-3 * abs(smallest) else idle + 1
        if values.min() < smallest:
            smallest, place = float(values.min()), best[values.min(axis=1).argmin()]
        if idle == 5:  # a minimum that is not zero
            break
        radius *= 0.65
    return smallest, min(scale, 1e300), place


def _magnitude(node: Node, point: np.ndarray) -> float:
    """Value at a point if nothing cancelled: what rounding is relative to."""

    def combine(part: Node, parts: list[float]) -> float:
        match part:
            case Sum():
                return sum(parts)
            case Product():
                return math.prod(parts)
            case Power(exponent=exponent):
                return float(np.power(parts[0], exponent))
            case Call(name=name) if FUNCTIONS[name].degree:
                coefficients = np.abs(hermite_polynomial(FUNCTIONS[name].degree))
                return float(np.polynomial.polynomial.polyval(parts[0], coefficients))
            case _:
                return abs(float(_values(part, point[None, :])[0]))

    with np.errstate(all="ignore"):
        return fold(node, combine)

"""What cannot be a target: constants, poles, complex values, infinite variance."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...base.errors import TargetError
from .bounds import directions, growth, interval
from .evaluate import evaluate_columns
from .printing import text_of
from .tree import Call, Node, Quotient, is_constant, nodes, variables

_RADIUS = 8.0


def check_admissible(node: Node, text: str) -> None:
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
            f"'{_short(text)}' is a constant; a target must depend on at least one variable"
        )
    for part in nodes(node):
        if isinstance(part, Quotient):
            _refuse_pole(part)
        elif isinstance(part, Call) and part.name in ("log", "sqrt"):
            _refuse_negative(part)
    if not growth(node).is_square_integrable:
        culprit = next(p for p in nodes(node) if not growth(p).is_square_integrable)
        raise TargetError(
            f"'{_short(text)}' is not square integrable under the Gaussian: "
            f"'{_short(text_of(culprit))}' grows too fast. "
            "exp(u) needs u to grow at most linearly, or quadratically with a coefficient below 1/4"
        )
    _refuse_infinite(node, text)


def _refuse_pole(part: Quotient) -> None:
    low, high = interval(part.denominator)
    if low > 0 or high < 0:
        return
    values, scale = _smallest(part.denominator, np.abs)
    signs = _along_lines(part.denominator)
    if (signs.min() < 0 < signs.max()) or values < 1e-7 * scale:
        raise TargetError(
            f"'{_short(text_of(part))}' has a pole: its denominator "
            f"'{_short(text_of(part.denominator))}' vanishes somewhere. "
            "Keep it away from zero, for example 1/(1 + z1**2)"
        )


def _refuse_negative(part: Call) -> None:
    argument = part.arguments[0]
    if interval(argument)[0] >= 0:
        return
    value, scale = _smallest(argument, lambda values: values)
    if value < -1e-9 * scale:
        raise TargetError(
            f"'{_short(text_of(part))}' is not real: '{_short(text_of(argument))}' takes negative "
            f"values. Use {part.name}(abs(...)) or keep the argument positive"
        )


def _refuse_infinite(node: Node, text: str) -> None:
    points = _cloud(max(variables(node)))
    values = _values(node, points)
    bad = ~np.isfinite(values)
    if bad.any():
        z = points[np.flatnonzero(bad)[0]]
        culprit = next(p for p in nodes(node) if not np.isfinite(_values(p, z[None, :])).all())
        where = ", ".join(f"z{i} = {z[i - 1]:.3g}" for i in variables(node))
        raise TargetError(
            f"'{_short(text_of(culprit))}' is not a finite number at {where}; "
            "a target must be finite everywhere that matters (|z| < 8)"
        )
    if np.ptp(values) <= 1e-13 * (1 + np.abs(values).max()):
        raise TargetError(f"'{_short(text)}' is a constant: it is {values[0]:.6g} everywhere")


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


def _along_lines(node: Node) -> np.ndarray:
    return _values(node, _lines(max(variables(node))))


def _smallest(
    node: Node, size: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float]:
    """Smallest ``size(value)`` found by a shrinking search, and the typical size."""
    lines = _lines(max(variables(node)))
    points = lines.reshape(-1, lines.shape[-1])
    with np.errstate(all="ignore"):
        values = np.nan_to_num(size(_values(node, points)), nan=np.inf)
        scale = float(np.median(np.abs(values))) or 1.0
        best = points[np.argsort(values)[:8]]
        smallest = float(values.min())
        rng, radius = np.random.default_rng(13), 0.5
        for _ in range(45):
            cloud = best[:, None, :] + radius * rng.standard_normal((len(best), 16, best.shape[1]))
            cloud = np.concatenate([best[:, None, :], cloud], axis=1)
            values = np.nan_to_num(size(_values(node, cloud)), nan=np.inf)
            best = cloud[np.arange(len(best)), values.argmin(axis=1)]
            smallest, radius = min(smallest, float(values.min())), 0.65 * radius
    return smallest, min(scale, 1e300)

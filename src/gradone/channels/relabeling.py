"""Invertible outer functions of a formula, taken off together with their effect on a density."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..targets.language.evaluate import constant_value
from ..targets.language.tree import (
    Call,
    Node,
    Power,
    Product,
    Quotient,
    Sum,
    add,
    is_constant,
    multiply,
)

Inverse = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Step(NamedTuple):
    """One invertible function: its inverse with the log of the inverse's slope, and itself."""

    inverse: Inverse
    forward: Callable[[np.ndarray], np.ndarray]


class Relabeled(NamedTuple):
    r"""A formula :math:`g = \psi(f)` with :math:`\psi` invertible.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> from gradone.targets.language.printing import text_of
    >>> whole = without_relabeling(parse("2*tanh(z1*z2) - 1"))
    >>> text_of(whole.inner), whole(np.array([-1.0, 5.0]))
    ('z1*z2', (array([ 0., nan]), array([-0.69314718,         nan])))
    """

    inner: Node
    steps: tuple[Step, ...]

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""Inner label :math:`x = \psi^{-1}(y)`, NaN if there is none, and log |dx/dy|."""
        x, log_slope = np.asarray(y, dtype=np.float64), np.zeros(np.shape(y))
        with np.errstate(all="ignore"):
            for step in self.steps:
                x, slope = step.inverse(x)
                log_slope = log_slope + slope
        return x, log_slope

    def label(self, x: np.ndarray) -> np.ndarray:
        r"""Label :math:`y = \psi(x)` of inner labels."""
        with np.errstate(all="ignore"):
            for step in reversed(self.steps):
                x = step.forward(x)
        return x


def without_relabeling(node: Node) -> Relabeled:
    """Formula without its outermost invertible functions, and how labels are translated."""
    steps: list[Step] = []
    while (found := _outermost(node)) is not None:
        node, step = found
        steps.append(step)
    return Relabeled(node, tuple(steps))


def _outermost(node: Node) -> tuple[Node, Step] | None:
    match node:
        case Call(name=name, arguments=(argument,)) if name in _INVERSES:
            return argument, _INVERSES[name]
        case Power(base=base, exponent=k) if k % 2:
            return base, _root(k)
        case Quotient(numerator=top, denominator=bottom) if is_constant(top):
            return bottom, _reciprocal(constant_value(top))
        case Product(factors=factors) if is_constant(factors[0]):
            fixed = [f for f in factors if is_constant(f)]
            scale = constant_value(multiply(fixed))
            return multiply(f for f in factors if not is_constant(f)), _affine(0.0, scale)
        case Sum(terms=terms) if any(map(is_constant, terms)):
            shift = constant_value(add(t for t in terms if is_constant(t)))
            return add(t for t in terms if not is_constant(t)), _affine(shift, 1.0)
        case _:
            return None


def _affine(shift: float, scale: float) -> Step:
    slope = -math.log(abs(scale))
    return Step(
        lambda y: ((y - shift) / scale, np.full(np.shape(y), slope)), lambda x: scale * x + shift
    )


def _root(k: int) -> Step:
    def inverse(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.copysign(np.abs(y) ** (1 / k), y)
        return x, -math.log(k) - (k - 1) * np.log(np.abs(x))

    return Step(inverse, lambda x: x**k)


def _reciprocal(scale: float) -> Step:
    return Step(
        lambda y: (scale / y, math.log(abs(scale)) - 2 * np.log(np.abs(y))), lambda x: scale / x
    )


def _inverse_erf(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import erfinv

    x = erfinv(y)
    return x, x * x + math.log(math.sqrt(math.pi) / 2)


def _erf(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    return np.asarray(erf(x))


def _logit(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.log(y) - np.log1p(-y), -np.log(y) - np.log1p(-y)


def _inverse_softplus(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    gap = np.log(-np.expm1(-y))
    return y + gap, -gap


def _square(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y = np.where(y >= 0, y, np.nan)
    return y * y, np.log(2 * y)


_INVERSES: dict[str, Step] = {
    "erf": Step(_inverse_erf, _erf),
    "exp": Step(lambda y: (np.log(y), -np.log(y)), np.exp),
    "log": Step(lambda y: (np.exp(y), y), np.log),
    "sigmoid": Step(_logit, lambda x: 1 / (1 + np.exp(-x))),
    "softplus": Step(_inverse_softplus, lambda x: np.logaddexp(x, 0.0)),
    "sqrt": Step(_square, np.sqrt),
    "tanh": Step(lambda y: (np.arctanh(y), -np.log1p(-y * y)), np.tanh),
}

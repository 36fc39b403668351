r"""Losses of an output f on a label y, by name or as a formula, with what a gradient needs of them.

Gradients see a loss through its residual alone, minus its derivative by the output:

.. math:: e(y, f) = -\frac{\partial \ell}{\partial f}. \qquad [LS-1]
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..base.errors import BadData, TargetError, did_you_mean
from ..base.seeds import stream
from .language.breaks import break_planes
from .language.derivative import derivative
from .language.evaluate import evaluate_columns
from .language.parser import parse
from .language.tree import Node, negate, variables
from .target import Target

# Residuals, in y and f; s is the scale of the loss.
_RESIDUALS = {
    "square": "y - f",
    "correlation": "y",
    "logistic": "(y - tanh(f/2))/2",
    "smooth_hinge": "y*clip(1 - y*f, 0, 1)",
    "huber": "clip(y - f, -s, s)",
    "pseudo_huber": "(y - f)/sqrt(1 + ((y - f)/s)^2)",
    "absolute": "sign(y - f)",
}
LOSSES = tuple(_RESIDUALS)
SCALED = ("huber", "pseudo_huber")
BINARY = ("logistic", "smooth_hinge")


class Residual:
    r"""The residual e(y, f) of a loss, as a function of arrays and as a formula.

    Parameters
    ----------
    loss : str
        ``"square"``, ``"correlation"``, ``"logistic"``, ``"smooth_hinge"``, ``"huber"``,
        ``"pseudo_huber"``, ``"absolute"``, or a formula of ``y`` and ``f`` whose derivative is
        taken.
    scale : float
        Where ``"huber"`` and ``"pseudo_huber"`` turn from squares to absolute values.

    Examples
    --------
    >>> Residual("huber")(np.array([3.0, 0.5]), np.array([0.0, 0.0]))
    array([1. , 0.5])
    >>> Residual("(y - f)^2/2")(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    def __init__(self, loss: str, scale: float = 1.0) -> None:
        self.loss = loss
        self.tree, self.slope_tree = _trees(loss, float(scale))

    def __call__(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Values at labels and outputs that broadcast against each other."""
        return _values(self.tree, y, f)

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Derivative by the output, away from jumps."""
        return _values(self.slope_tree, y, f)

    @property
    def needs_signs(self) -> bool:
        """Whether labels must be -1 and 1."""
        return self.loss in BINARY

    @cached_property
    def planes(self) -> list[tuple[tuple[float, ...], float]]:
        """Lines n y + m f = c on which the residual or its slope jumps, as ((n, m), c)."""
        return [(plane.normal, plane.offset) for plane in break_planes(self.tree, 2)[0]]

    @cached_property
    def has_kinks(self) -> bool:
        """Whether the residual or its slope jumps somewhere."""
        return bool(self.planes) or break_planes(self.tree, 2)[1]

    def breaks(self, y: np.ndarray, f: np.ndarray) -> list[np.ndarray]:
        """Quantities that change sign where the residual or its slope jumps."""
        found = [normal[0] * y + normal[1] * f - offset for normal, offset in self.planes]
        if self.loss == "smooth_hinge":  # curved in the plane of y and f, but y is a sign
            found = [y * f, 1 - y * f]
        return found


def read_loss(loss: Any) -> str:
    """The name of a loss, or a formula of y and f that can be read.

    Examples
    --------
    >>> read_loss("abs(y - f)^3")
    'abs(y - f)^3'
    >>> read_loss("squared")
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown loss 'squared'; it is one of 'square', 'correlation', ...
    """
    if isinstance(loss, str) and loss in LOSSES:
        return loss
    if isinstance(loss, str) and re.search(r"\bf\b", loss):
        _trees(loss, 1.0)
        return loss
    raise BadData(
        f"unknown loss {loss!r}; it is one of {', '.join(map(repr, LOSSES))}, or a formula of the "
        f"label y and the output f, such as '(y - f)^4/4'.{did_you_mean(str(loss), LOSSES)}"
    )


def check_labels(loss: str, target: Target) -> None:
    """Refuse a loss for signs where labels are other numbers.

    Examples
    --------
    >>> check_labels("logistic", Target("He2(z)"))
    Traceback (most recent call last):
    gradone.base.errors.BadData: logistic loss needs labels -1 and 1: write sign(...)
    """
    if loss not in BINARY:
        return
    z = stream(0, "test", part="labels").standard_normal((256, target.joint.r))
    if target.noise or not (np.abs(target.joint(z)) == 1).all():
        raise BadData(f"{loss} loss needs labels -1 and 1: write sign(...)")


@lru_cache(maxsize=64)
def _trees(loss: str, scale: float) -> tuple[Node, Node]:
    """Formulas of the residual and of its derivative by the output; y is z1, f is z2."""
    if loss in _RESIDUALS:
        tree = _read(_RESIDUALS[loss], scale)
    else:
        whole = _read(loss, scale)
        if 2 not in variables(whole):
            raise BadData(f"the loss {loss!r} does not depend on the output f")
        tree = negate(derivative(whole, 2))
    return tree, derivative(tree, 2)


def _read(text: str, scale: float) -> Node:
    names = {"y": "z1", "f": "z2", "s": repr(scale)}
    if match := re.search(r"\bz\d*\b", text):
        raise BadData(
            f"the loss {text!r} is a function of the label y and the output f, not of "
            f"{match.group()}"
        )
    try:
        return parse(
            re.sub(r"\b[yfs]\b", lambda match: names[match.group()], text), what="the loss"
        )
    except TargetError as error:
        raise BadData(f"the loss {text!r}, with z1 for y and z2 for f: {error}") from None


def _values(tree: Node, y: np.ndarray, f: np.ndarray) -> np.ndarray:
    found: Any = evaluate_columns(tree, lambda index: y if index == 1 else f)
    return np.broadcast_to(found, np.broadcast(y, f).shape).astype(np.float64)

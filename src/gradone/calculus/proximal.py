r"""Proximal maps of convex losses, compiled.

For labels :math:`y = \pm 1` a loss is a function of the margin :math:`t = y f`; for real labels of
the residual :math:`e = y - f`. The proximal map and the output function of a loss :math:`\ell` are

.. math::
    x(t) = \arg\min_x \frac{(x - t)^2}{2V} + \ell(x), \qquad
    \gamma(t) = \frac{x(t) - t}{V} = -\ell'(x(t)).                                     [PX-1]

=========  =============================================================================
logistic   :math:`\ell(x) = \log(1 + e^{-x})`
hinge      :math:`\ell(x) = \max(0, 1 - x)`
Huber      :math:`\ell(e) = e^2/2` for :math:`|e| \le \delta`, else :math:`\delta|e| - \delta^2/2`
=========  =============================================================================
"""

from __future__ import annotations

import math

from ..base.machine_code import njit

LOGISTIC, HINGE = 0, 1
MARGIN_LOSSES = {"logistic": LOGISTIC, "hinge": HINGE}

_MOST_STEPS = 100
_EPS = 2.0**-52


@njit(cache=True, nogil=True, error_model="numpy")
def logistic_proximal(t: float, V: float) -> float:
    r"""Proximal map of the logistic loss: the root of :math:`x = t + V/(1 + e^x)`.

    Examples
    --------
    >>> x = logistic_proximal(-1.0, 3.0)
    >>> abs(x + 1.0 - 3.0 / (1.0 + math.exp(x))) < 1e-14
    True
    """
    # From these starts Newton's iteration never leaves the side of the root on which it is: the
    # function is convex for x > 0 and concave for x < 0. Started in between it can cycle.
    x = max(t, 0.0) if t + 0.5 * V > 0 else min(0.0, t + V)
    for _ in range(_MOST_STEPS):
        e = math.exp(-abs(x))
        s = e / (1.0 + e) if x > 0 else 1.0 / (1.0 + e)  # 1 / (1 + exp(x))
        step = (x - t - V * s) / (1.0 + V * s * (1.0 - s))
        x -= step
        if abs(step) <= 4.0 * _EPS * (1.0 + abs(x)):
            break
    return x


@njit(cache=True, nogil=True, error_model="numpy")
def hinge_proximal(t: float, V: float) -> float:
    """Proximal map of the hinge loss: t beyond the margin, else up to V closer to it.

    Examples
    --------
    >>> [hinge_proximal(t, 0.5) for t in (2.0, 0.75, -1.0)]
    [2.0, 1.0, -0.5]
    """
    return t if t >= 1.0 else min(t + V, 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def huber_proximal(e: float, V: float, delta: float) -> float:
    """Residual after the proximal step of the Huber loss, from the residual e before it.

    Examples
    --------
    >>> [huber_proximal(e, 1.0, 1.0) for e in (1.0, 4.0, -4.0)]
    [0.5, 3.0, -3.0]
    """
    if abs(e) <= delta * (1.0 + V):
        return e / (1.0 + V)
    return e - V * math.copysign(delta, e)


@njit(cache=True, nogil=True, error_model="numpy")
def margin_proximal(kind: int, t: float, V: float) -> float:
    """Proximal map of the loss of the margin with this number (``MARGIN_LOSSES``).

    Examples
    --------
    >>> margin_proximal(HINGE, 0.75, 0.5)
    1.0
    """
    return hinge_proximal(t, V) if kind == HINGE else logistic_proximal(t, V)


@njit(cache=True, nogil=True, error_model="numpy")
def margin_output(kind: int, t: float, V: float, x: float) -> float:
    r"""Output function :math:`\gamma(t)` [PX-1] where the proximal point x is known.

    Examples
    --------
    >>> margin_output(HINGE, 0.75, 0.5, 1.0)
    0.5
    """
    if kind == HINGE:
        return 0.0 if t >= 1.0 else min((1.0 - t) / V, 1.0)
    # The slope of the loss: x - t would cancel where V is large.
    e = math.exp(-abs(x))
    return e / (1.0 + e) if x > 0 else 1.0 / (1.0 + e)


@njit(cache=True, nogil=True, error_model="numpy")
def margin_loss(kind: int, x: float) -> float:
    """Loss at a margin x.

    Examples
    --------
    >>> margin_loss(HINGE, -1.0), round(margin_loss(LOGISTIC, 0.0), 6)
    (2.0, 0.693147)
    """
    if kind == HINGE:
        return max(0.0, 1.0 - x)
    return math.log1p(math.exp(-abs(x))) + max(-x, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def huber_loss(e: float, delta: float) -> float:
    """Huber loss of a residual.

    Examples
    --------
    >>> huber_loss(0.5, 1.0), huber_loss(-3.0, 1.0)
    (0.125, 2.5)
    """
    size = abs(e)
    return 0.5 * e * e if size <= delta else delta * (size - 0.5 * delta)

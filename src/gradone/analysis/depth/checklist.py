r"""The assumptions under which three layers provably beat two, checked one by one.

The theorem on hierarchical targets has essential conditions, without which its conclusion is not
expected, and technical ones, which the proof uses; published experiments break several of these.
With s the standard deviation of the feature h and :math:`\sigma` the activation:

====  =========  =============================================================================
E1    essential  :math:`\mathrm{IE}(g) = 1`: :math:`\mathbb{E}[g(su)u] \ne 0`
E2    essential  :math:`\mathrm{IE}(P) \le 2` and leap of P at most 2
E3    essential  :math:`\mathbb{E}[\sigma \mathrm{He}_j] \ne 0` for 1 <= j <= k, polynomial growth
T1    technical  :math:`a_i = 1`
T2    technical  correlation loss in the first stage
T3    technical  layers re-initialized between the stages
T4    technical  :math:`\mathbb{E}[P(u)u] = 0`
T5a   technical  :math:`\mathbb{E}[\sigma(\sigma(u))u] = 0`
T5b   technical  :math:`\mathbb{E}[\sigma(\sigma(u))\mathrm{He}_2] \mathbb{E}[P \mathrm{He}_2] > 0`
T6    technical  :math:`\mathbb{E}[g(su)\mathrm{He}_j] = 0` for 1 < j <= k
====  =========  =============================================================================
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ...base.errors import BadData
from ...base.estimate import Estimate
from ...targets.activation import Activation
from ...targets.hierarchical import HierarchicalTarget
from ...targets.hierarchy import Signs, checked_signs
from .activation_conditions import is_expressive, twice_activated
from .chain import Chain, chain, flat_weights
from .compositional import HIGHEST, LevelExponents, is_nonzero, level_exponents, shown
from .condition import Condition, decided, degree_name


def checklist(
    target: HierarchicalTarget,
    activation: str = "relu(z)",
    k: int | None = None,
    loss: Literal["correlation", "square"] = "correlation",
    reinitialized: bool = True,
    signs: Signs | None = None,
    bias: float = 0.0,
) -> tuple[Condition, ...]:
    r"""Assumptions of the depth theorem for a target and a network.

    Parameters
    ----------
    target : HierarchicalTarget
        The target.
    activation : str
        Activation of the network.
    k : int, optional
        Degree up to which the network must be expressive; the degree of the inner functions.
    loss : str
        Loss of the first stage, ``"correlation"`` or ``"square"``.
    reinitialized : bool
        Whether the layers are drawn anew between the stages.
    signs : str or array, optional
        Weights a of the target, by default its own.
    bias : float
        Half-width of the law of random biases, :math:`b \sim U(-\text{bias}, \text{bias})`.
        Biases count for expressivity (E3); T5 is stated without them.

    Returns
    -------
    tuple of Condition
        E1, E2, E3, T1, ..., T6. A failed technical condition is no obstacle to learning.

    References
    ----------
    dandi2025depth

    Examples
    --------
    >>> from gradone.targets.hierarchical import Sight
    >>> t = Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6")
    >>> {c.id: c.verdict for c in checklist(t) if c.verdict != "holds"}
    {'E3': 'fails', 'T1': 'fails', 'T5a': 'fails', 'T6': 'fails'}
    """
    found, exponents = chain(target), level_exponents(target)
    sigma = Activation(activation)
    degree = _checked_degree(k, found)
    if loss not in ("correlation", "square"):
        raise BadData(f"loss must be 'correlation' or 'square', got {loss!r}")
    if isinstance(bias, bool | str) or not (math.isfinite(bias) and bias >= 0):
        raise BadData(f"bias, the half-width of the random biases, must be >= 0, got {bias!r}")
    weights = getattr(target, "signs", "balanced") if signs is None else checked_signs(signs)
    return (
        _outer_is_linear(exponents, found),
        _inner_is_low(exponents),
        is_expressive(sigma, degree, bias),
        _weights_are_one(weights),
        Condition(
            "T2",
            "technical",
            "correlation loss in the first stage",
            "holds" if loss == "correlation" else "fails",
            None,
            f"the loss is the {loss} loss",
        ),
        Condition(
            "T3",
            "technical",
            "the layers are re-initialized between the stages",
            "holds" if reinitialized else "fails",
            None,
            "they are" if reinitialized else "the layers are not re-initialized",
        ),
        _no_linear_spike(found),
        *twice_activated(sigma, found, bias),
        _outer_has_no_more(found, degree),
    )


def _checked_degree(k: int | None, found: Chain) -> float:
    if k is None:
        return max(P.degree for P in found.inners)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise BadData(f"k must be a whole number >= 1, got {k!r}")
    return int(k)


def _outer_is_linear(exponents: LevelExponents, found: Chain) -> Condition:
    value = found.outer.amplitude(1)
    answer = is_nonzero(value, found.outer.null.value)
    return Condition(
        "E1",
        "essential",
        "IE(g) = 1: E[g(s u) u] is not 0",
        decided(answer),
        value,
        f"IE(g) = {exponents.outer!r}" if answer else f"mu_1 = {shown(value)}",
    )


def _inner_is_low(exponents: LevelExponents) -> Condition:
    values = [e.value for e in exponents.inner]
    total = math.prod(v for v in values if v is not None)
    too_high = total > 2 or any(e.note.startswith(">") for e in exponents.inner)
    answer = False if too_high else None if None in values else True
    notes = [f"IE(P_{i}) = {e!r}" for i, e in enumerate(exponents.inner, 1)]
    if len(notes) == 1:
        notes = [notes[0].replace("P_1", "P")]
    compositional = exponents.compositional[0].value
    if compositional is not None:
        notes.append(f"CIE(1) = {compositional}")
    return Condition(
        "E2",
        "essential",
        "IE(P) and the leap of P are at most 2 (over all levels together)",
        decided(answer),
        None if None in values else Estimate(float(total)),
        "; ".join(notes),
    )


def _weights_are_one(weights: Signs) -> Condition:
    if isinstance(weights, str):
        ones, why = weights == "ones", {"ones": "a_i = 1"}.get(weights, f"{weights} signs")
    else:
        values = np.unique(np.array(flat_weights(weights)))
        ones = bool((values == 1).all())
        why = "a_i = 1" if ones else f"a_i from {values.min():g} to {values.max():g}"
    return Condition("T1", "technical", "a_i = 1 for all i", decided(ones), None, why)


def _no_linear_spike(found: Chain) -> Condition:
    coefficients = [P.coefficient(1) for P in found.inners]
    answers = [is_nonzero(c, P.null.value) for c, P in zip(coefficients, found.inners, strict=True)]
    # A linear part of the label needs one at every level.
    answer = True if False in answers else None if None in answers else False
    least = min(coefficients, key=lambda c: abs(c.value))
    names = ["P"] if len(coefficients) == 1 else [f"P_{i}" for i in range(1, 1 + len(coefficients))]
    return Condition(
        "T4",
        "technical",
        "IE(P) is not 1: E[P(u) u] = 0, else one direction stands out",
        decided(answer),
        least,
        ", ".join(
            f"E[{name}(u) u] = {shown(c)}" for name, c in zip(names, coefficients, strict=True)
        ),
    )


def _outer_has_no_more(found: Chain, degree: float) -> Condition:
    g = found.outer
    last = int(min(degree, HIGHEST, max(g.degree, 2)))
    sizes = {j: g.amplitude(j) for j in range(2, last + 1)}
    answers = {j: is_nonzero(e, g.null.value) for j, e in sizes.items()}
    first = next((j for j, nonzero in answers.items() if nonzero), None)
    answer: bool | None = first is None
    if first is None and (None in answers.values() or (degree > last and g.degree > last)):
        answer = None
    largest = max(sizes.values(), key=lambda e: abs(e.value), default=Estimate(0.0))
    shown_sizes = ", ".join(f"mu_{j} = {shown(e)}" for j, e in sizes.items())
    return Condition(
        "T6",
        "technical",
        f"E[g(s u) He_j(u)] = 0 for 1 < j <= {degree_name(degree)}",
        decided(answer),
        largest if first is None else sizes[first],
        shown_sizes or "there is no such j",
    )

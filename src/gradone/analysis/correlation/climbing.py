r"""Which Hermite coefficients of an activation the staircase of a target needs.

A term of degree m feeds its last direction through

.. math:: c_m(b) = \mathbb{E}[\sigma(G + b)\,\mathrm{He}_m(G)]    \qquad [AN-10]

once the other ones are learned: a student in which it vanishes for all biases b never climbs it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...targets.activation import Activation
from ...targets.language.coordinates import rewrite
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from .leap import giant_step_staircase

_DEGREE = {1: 9, 2: 8, 3: 7}
_SEEN = 1e-6  # share of the energy of the target, or of the activation


def staircase_degrees(expression: Expression) -> tuple[int, ...]:
    """For each giant step, the lowest degree of a term that shows its new directions.

    Examples
    --------
    >>> staircase_degrees(Expression("z1 + z1*z2 + z1*z2*z3"))
    (1, 2, 3)
    """
    degrees: list[int] = []
    known = Subspace.zero(expression.r)
    for reached in giant_step_staircase(expression):
        new = reached.basis - reached.basis @ known.projector
        fresh = Subspace.span(new[np.linalg.norm(new, axis=1) > 1e-6], expression.r)
        frame = np.vstack([known.basis, fresh.basis, reached.complement().basis])
        f = rewrite(expression, frame)
        polynomial = f.polynomial
        most = _DEGREE.get(f.r, 6) if polynomial is None else polynomial.degree
        expansion = f.hermite(most)
        a, b = known.dim, known.dim + fresh.dim
        feeds = (expansion.indices[:, a:b].sum(axis=1) == 1) & (
            expansion.indices[:, b:].sum(axis=1) == 0
        )
        energy = expansion.value**2
        feeds &= energy > _SEEN * energy.sum()
        degrees.append(int(expansion.indices[feeds].sum(axis=1).min(initial=most)))
        known = reached
    return tuple(degrees)


def blind_degrees(
    activation: Activation, degrees: Sequence[int], biases: Sequence[float] = (0.0,)
) -> tuple[int, ...]:
    """Degrees that no neuron sees: their coefficient [AN-10] vanishes for all biases.

    Examples
    --------
    >>> relu = Activation("relu(z)")
    >>> blind_degrees(relu, [1, 2, 3]), blind_degrees(relu, [1, 2, 3], [-0.5, 0.5])
    ((3,), ())
    """
    z = np.linspace(-12.0, 12.0, 24_001)
    weight = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    values = np.array([np.asarray(activation(z + b)) for b in biases])
    scale = float((values**2 @ weight).max())
    blind = []
    for m in sorted(set(degrees)):
        basis = np.polynomial.hermite_e.hermeval(z, [0.0] * m + [1.0]) / math.sqrt(
            math.factorial(m)
        )
        if float(((values @ (basis * weight)) ** 2).max()) < _SEEN * scale:
            blind.append(m)
    return tuple(blind)

"""Hermite terms of a function that a learner with some directions and a low degree can fit."""

from __future__ import annotations

import math

import numpy as np

from ...base.errors import OutOfRegime
from ...calculus.hermite import factorials
from ...targets.facts import linear_form
from ...targets.language.coordinates import rewrite
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from ..exponent import FLOOR

MOST = 5
_DEGREE = {1: 9, 2: 8, 3: 7}


def hermite_terms(expression: Expression, subspace: Subspace, kappa: int) -> str:
    r"""Terms of degree at most kappa in the directions outside a subspace, as text.

    Parameters
    ----------
    expression : Expression
        The function.
    subspace : Subspace
        Directions in which any degree is learned.
    kappa : int
        Largest degree in the other directions.

    Notes
    -----
    Terms are sorted by degree; at most five are shown. Where the subspace is oblique, the terms
    are written in unit vectors ``u1, u2, ...`` along it and across.

    Examples
    --------
    >>> hermite_terms(Expression("z1 + He2(z2) + He2(z1)*z2"), Subspace.span([[1.0, 0.0]]), 1)
    'z1 + He2(z1)*z2'
    >>> hermite_terms(Expression("sign(z1*z2)"), Subspace.zero(2), 1)
    'nothing'
    """
    r = expression.r
    axes = [i for i in range(r) if subspace.contains(np.eye(r)[i])]
    legend = ""
    if len(axes) == subspace.dim:
        frame, inside = np.eye(r), np.isin(np.arange(r), axes)
        names = [f"z{i + 1}" for i in range(r)]
    else:
        frame = np.vstack([subspace.basis, subspace.complement().basis])
        inside = np.arange(r) < subspace.dim
        names = [f"u{i + 1}" for i in range(r)]
        along = ", ".join(
            f"{u} along {linear_form(w.tolist())}" for u, w in zip(names, frame, strict=True)
        )
        legend = f" ({along})"
    polynomial = expression.polynomial
    most = _DEGREE.get(r, 6) if polynomial is None else polynomial.degree
    try:
        expansion = rewrite(expression, frame).hermite(most)
    except OutOfRegime:
        return f"degree {kappa} and less across {subspace!r}"
    energy = expansion.value**2
    indices = expansion.indices
    floor = math.sqrt(FLOOR["exact"]) if polynomial is not None else FLOOR["quadrature"]
    present = (energy > floor * energy.sum()) & (np.abs(expansion.value) > 3 * expansion.error)
    learned = present & (indices[:, ~inside].sum(axis=1) <= kappa)
    coefficients = expansion.value / np.sqrt(factorials(indices))
    shown = np.flatnonzero(learned)
    if not len(shown):
        return "nothing"
    text = ""
    for i in shown[:MOST]:
        text = _append(text, float(coefficients[i]), _monomial(indices[i], names))
    is_cut = len(shown) > MOST or (polynomial is None and bool(inside.any()))
    return text + (" + ..." if is_cut else "") + legend


def _monomial(beta: np.ndarray, names: list[str]) -> str:
    factors = [
        name if k == 1 else f"He{k}({name})" for k, name in zip(beta, names, strict=True) if k
    ]
    return "*".join(factors)


def _append(text: str, coefficient: float, monomial: str) -> str:
    size = f"{abs(coefficient):.3g}"
    term = size if not monomial else monomial if size == "1" else f"{size}*{monomial}"
    if not text:
        return ("-" if coefficient < 0 else "") + term
    return text + (" - " if coefficient < 0 else " + ") + term

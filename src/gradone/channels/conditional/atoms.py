r"""Exact rules for labels of finitely many values.

With the Hermite coefficients :math:`a_\beta(v) = \mathbb{E}[\mathrm{he}_\beta(z)\,P(v \mid z)]` of
the probabilities of its values, a label has the matrices [OG-1]

.. math:: T_k = \sum_v \frac{a_\beta(v)\,a_{\beta'}(v)}{a_0(v)}. \qquad [AT-1]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...base.errors import OutOfRegime
from ...calculus.cells import level_sets
from ...calculus.expansion import hermite_expansion
from ...calculus.hermite import multi_indices
from ...calculus.integrand import Integrand
from ...targets.channel import OutputChannel
from ...targets.language.evaluate import evaluate_columns
from .gram import OutputGram
from .label import Grams, Label

_NEVER = 1e-12  # probability of a value that counts as none


class BetweenPlanes:
    """Labels that are constant between planes: the level sets are cells, nearly closed forms.

    Examples
    --------
    >>> from gradone.targets.language.expression import Expression
    >>> label = Label(Expression("sign(z1*z2)"), 0.0)
    >>> BetweenPlanes.covers(label), BetweenPlanes.grams(label, [2])[2].value[1, 1].round(9)
    (True, np.float64(0.405284735))
    """

    @staticmethod
    def covers(label: Label) -> bool:
        """Whether the label is discrete, without noise of any kind."""
        return not label.noise and not label.latent and label.f.is_discrete

    @staticmethod
    def grams(label: Label, orders: Sequence[int]) -> Grams | None:
        """Matrices [AT-1]; None if the breaks are curved, or the planes too many."""
        f, degree = label.f, max(orders)
        planes, is_curved = f.breaks
        function = Integrand(
            lambda columns: evaluate_columns(f.tree, lambda i: columns[i - 1]),
            f.r,
            planes,
            is_curved,
        )
        sets = level_sets(function, degree)
        if sets is None:
            return None
        coefficients = sets.coefficients[tuple(multi_indices(f.r, degree).T)]
        return _sums(coefficients, np.full_like(coefficients, sets.error), f.r, orders)


class Indicators:
    """Labels whose probabilities given z have formulas, with latent noise or without."""

    @staticmethod
    def covers(label: Label) -> bool:
        """Whether the label is discrete, without noise that is added to it."""
        return not label.noise and label.f.is_discrete

    @staticmethod
    def grams(label: Label, orders: Sequence[int]) -> Grams | None:
        """Matrices [AT-1]; None if only Monte Carlo could expand the probabilities."""
        f, degree = label.f, max(orders)
        blocks = [block.integrand for term in f.form.terms for block in term.blocks]
        # Curved breaks leave Monte Carlo, and squared noise would pass for a signal.
        if not label.latent and any(block.r > 1 and block.is_curved for block in blocks):
            return None
        try:
            probabilities = OutputChannel(f, latent=label.latent).indicators()
        except OutOfRegime:
            return None
        if probabilities is None:
            return None
        expansions = [hermite_expansion(p.form, degree) for p in probabilities]
        if any(e.kind == "monte_carlo" for e in expansions):
            return None
        coefficients, errors = (
            np.array(rows).T
            for rows in ([e.value for e in expansions], [e.error for e in expansions])
        )
        return _sums(coefficients, errors, f.r - label.latent, orders)


def _sums(coefficients: np.ndarray, errors: np.ndarray, r: int, orders: Sequence[int]) -> Grams:
    """Matrices [AT-1] from coefficients (multi-indices, values) and their errors."""
    degree = max(orders)
    p = coefficients[0]
    seen = p > _NEVER
    result = {}
    for k in orders:
        rows = multi_indices(r, degree).sum(axis=1) == k
        a, error = coefficients[rows][:, seen], errors[rows][:, seen].max(axis=0, initial=0.0)
        size = np.abs(a).max(axis=0, initial=0.0)
        bias = float(((2 * size * error + error**2) / p[seen]).sum())
        result[k] = OutputGram((a / p[seen]) @ a.T, bias + 1e-15)
    return result

r"""Whether directions already found are known perfectly at a given amount of data.

State evolution of a block with overlap q I, the other directions being unknown, moves upwards as
long as

.. math:: \alpha\,\lambda_{\min}\big(\mathbb{E}[m m^\top]\big) > q, \qquad
          m = \mathbb{E}[t \mid y, \omega], \quad
          z_U = \sqrt q\,\omega + \sqrt{1-q}\,t. \qquad [LE-2]

If that holds for every q in (0, 1), the block is recovered perfectly and conditioning on it exactly
is no idealization.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...calculus.sobol import SobolSequence, gaussian_points
from ...channels.conditional.gram import average
from ...channels.conditional.labels import simpler_label
from ...channels.conditional.slicing import label_rounding, sliced_grams
from ...targets.language.coordinates import rewrite
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.expression import Expression
from ...targets.language.tree import Node
from ...targets.subspace import Subspace
from .operators import SAFETY

_OVERLAPS = (0.95, 0.85, 0.65, 0.4, 0.15)  # it is the last steps that most targets do not take
_NODES = 8
_FEW, _POINTS = 1 << 12, 1 << 14  # of a first look, and where that leaves it open


def is_perfectly_recovered(
    expression: Expression, noise: float, known: Subspace, alpha: float
) -> bool:
    """Whether state evolution drives the overlap of the known block to one at this alpha.

    Noisy and discrete outputs never allow it.
    """
    if noise > 0 or expression.is_discrete or not math.isfinite(alpha):
        return False
    f = rewrite(expression, np.vstack([known.basis, known.complement().basis]))
    label = simpler_label(f.tree, f.variables, is_noisy=False).tree
    return all(_moves_upwards(label, f.r, known.dim, q, alpha) for q in _OVERLAPS)


def _moves_upwards(label: Node, r: int, dim: int, q: float, alpha: float) -> bool:
    """Whether the overlap grows from q [LE-2]."""
    sequence = SobolSequence(dim, np.random.default_rng(1618))
    omegas = math.sqrt(q) * gaussian_points(sequence.draw(_NODES))
    gap, rounding = 0.0, label_rounding(label, r)
    for points in (_FEW, _POINTS):
        functions = [_partly_known(label, q, seen) for seen in omegas]
        grams = [sliced_grams(g, r, [1], points=points, rounding=rounding)[1] for g in functions]
        mean = average(grams, np.full(_NODES, 1 / _NODES))
        strength = mean.functional(
            lambda m: float(np.linalg.eigvalsh(m[:dim, :dim])[0]), slope=float(dim)
        )
        gap = alpha * strength.value - q
        if abs(gap) > SAFETY[strength.kind] * alpha * strength.error:
            break
    return gap > 0


def _partly_known(
    label: Node, q: float, seen: np.ndarray
) -> Callable[[Sequence[np.ndarray]], np.ndarray]:
    """The label as a function of what is not yet known of the first variables, and the others."""
    unseen = math.sqrt(1 - q)

    def values(columns: Sequence[np.ndarray]) -> np.ndarray:
        known = [u + unseen * t for u, t in zip(seen, columns, strict=False)]
        z = [*known, *columns[len(known) :]]
        return np.asarray(evaluate_columns(label, lambda i: z[i - 1]))

    return values

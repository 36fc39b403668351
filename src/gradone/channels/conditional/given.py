r"""What the output reveals about the hidden directions, given those already known.

For :math:`D_\beta = \mathbb{E}[\mathrm{he}_\beta(z_\perp) \mid y, z_U]` the matrices
:math:`T_k(U) = \mathbb{E}[D_\beta D_{\beta'}]`, :math:`|\beta| = |\beta'| = k`, decide which
directions can be learned next, and at which price. Fixing :math:`z_U` leaves a smaller target, so
one piece of code serves every stage; each smaller target is treated by the most accurate method
that applies to its kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ...targets.language.coordinates import rewrite
from ...targets.language.expression import Expression
from ...targets.language.structure import parity
from ...targets.language.transform import given
from ...targets.language.tree import Node, variables
from ...targets.subspace import Subspace
from .effort import Effort
from .label import POINTS, Grams, Label
from .labels import simpler_label
from .last_unknown import last_unknown_grams
from .merged import with_merged_labels
from .output import no_gram, output_grams
from .over_known import over_line, over_points
from .slicing import Slices
from .symmetry import invariant_part, vanishes
from .symmetry import unknown as still_unknown

_FEWEST = 1 << 16  # function values of one condition
_MAX_PANELS, _MORE_PANELS = 5, 12
_NODES, _MORE_NODES = 64, 4096
_MATTERS, _HARDLY = 0.03, 1e-3  # importance of conditions that deserve more points, and fewer
_ANYWHERE = 0.5  # value of a known variable on which nothing depends


def conditional_grams(
    expression: Expression,
    noise: float,
    known: Subspace,
    orders: Sequence[int],
    *,
    points: int = POINTS,
    latent: int = 0,
) -> Grams:
    """Matrices T_k(U) on the complement of a known subspace, in its basis.

    Known variables that the label shows by a known term or factor only are not averaged over: the
    result does not depend on them.
    """
    if known.dim == 0:
        found = output_grams(expression, noise, orders, points=points, latent=latent)
        if noise:
            return found
        label = simpler_label(expression.tree, expression.variables, is_noisy=False)
        found = with_merged_labels(found, label.tree, range(1, expression.r + 1), expression.r)
        return {k: invariant_part(gram, expression, known, k, latent) for k, gram in found.items()}
    hidden = np.eye(expression.r)[expression.r - latent :]
    f = rewrite(expression, np.vstack([known.basis, still_unknown(known, latent).basis, hidden]))
    unknown = range(known.dim + 1, f.r + 1)
    q = len(unknown) - latent
    label = simpler_label(f.tree, unknown, is_noisy=noise > 0)
    parts = (label.tree, *label.factors)
    used = sorted({i for part in parts for i in variables(part)} - set(unknown))

    def smaller(node: np.ndarray) -> Expression:
        return given(f, {i + 1: float(u) for i, u in enumerate(node)})

    def at(node: np.ndarray, share: int, scramble: int) -> Grams:
        least = max(points // share, _FEWEST)
        return output_grams(
            smaller(node), noise, seen, points=least, scramble=scramble, latent=latent
        )

    def sliced(node: np.ndarray, importance: float) -> Grams:
        few = _FEWEST >> (1 if importance > _MATTERS else 3 if importance > _HARDLY else 5)
        return Slices.grams(Label(smaller(node), noise, points=few), seen)

    seen = [k for k in orders if not vanishes(expression, known, k, latent)]
    if not seen:
        return {k: no_gram(q, k) for k in orders}
    # The last direction changes sign under a symmetry, if there is one.
    is_even = len(unknown) == 1 and vanishes(expression, known, 1)

    def at_all(
        values: np.ndarray, share: int, importance: np.ndarray, effort: Effort
    ) -> list[Grams]:
        nodes = np.full((len(values), known.dim), _ANYWHERE)
        nodes[:, [i - 1 for i in used]] = values
        if len(unknown) == 1:
            return last_unknown_grams(
                f, noise, nodes, seen, sliced, importance, effort, is_even=is_even
            )
        # Points of their own for each condition: their errors average out.
        return [at(node, share, i) for i, node in enumerate(nodes)]

    if not used:
        (found,) = at_all(np.zeros((1, 0)), 1, np.ones(1), Effort())
    elif len(used) == 1:
        mirror = _mirror(parts, used[0], unknown)
        mirror = mirror and tuple(i for i in mirror if i < q)
        # Where one variable is left a condition costs little.
        panels = _MORE_PANELS if len(unknown) == 1 or points > POINTS else _MAX_PANELS
        found = over_line(at_all, seen, mirror, q, panels)
    else:
        # Finitely many outputs of one variable cost little.
        is_cheap = len(unknown) == 1 and f.is_discrete and not noise
        count = _MORE_NODES if is_cheap else _NODES
        found = over_points(at_all, seen, len(used), count)
    found = {k: found.get(k) or no_gram(q, k) for k in orders}
    if not noise:
        found = with_merged_labels(found, label.tree, unknown, f.r)
    return {k: invariant_part(gram, expression, known, k, latent) for k, gram in found.items()}


def _mirror(parts: tuple[Node, ...], known: int, unknown: Sequence[int]) -> tuple[int, ...] | None:
    """Unknown variables (from 0) that must change sign with a known one to leave f or -f.

    Then T_k at -u follows from T_k at u. None if there is no such symmetry.
    """
    for size in range(len(unknown) + 1):
        for flipped in itertools.combinations(unknown, size):
            if all(parity(part, (known, *flipped)) is not None for part in parts):
                return tuple(i - unknown[0] for i in flipped)
    return None

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
from functools import lru_cache

import numpy as np

from ...base.errors import OutOfRegime
from ...calculus.cells import level_sets
from ...calculus.embedding import embedding, order_indices
from ...calculus.expansion import hermite_expansion
from ...calculus.hermite import multi_indices
from ...calculus.integrand import Integrand
from ...targets.channel import OutputChannel
from ...targets.frame import typed_frame
from ...targets.language.coordinates import rewrite
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.expression import Expression
from ...targets.language.latent import without_added_noise
from ...targets.language.structure import parity
from ...targets.language.transform import given
from ...targets.language.tree import Node, Variable, variables
from ...targets.subspace import Subspace
from .branches import branch_grams
from .effort import Effort
from .gram import OutputGram
from .labels import simpler_label
from .last_unknown import last_unknown_grams
from .merged import with_merged_labels
from .noisy_line import noisy_line_grams
from .over_known import Grams, over_line, over_points
from .slicing import sliced_grams
from .symmetry import invariant_part, vanishes
from .symmetry import unknown as still_unknown

_POINTS, _FEWEST = 1 << 19, 1 << 16
_MAX_PANELS, _MORE_PANELS = 5, 12
_NODES, _MORE_NODES = 64, 4096
_MATTERS, _HARDLY = 0.03, 1e-3  # importance of conditions that deserve more points, and fewer
_ANYWHERE = 0.5  # value of a known variable on which nothing depends


def output_grams(
    expression: Expression,
    noise: float,
    orders: Sequence[int],
    *,
    points: int = _POINTS,
    scramble: int = 0,
    latent: int = 0,
) -> Grams:
    """Matrices T_k of a target, nothing being known yet.

    Parameters
    ----------
    expression : Expression
        The noiseless target.
    noise : float
        Variance of the label noise.
    orders : sequence of int
        Values of k.
    points : int
        Function values for the method of slices.
    scramble : int
        Which points that method draws.
    latent : int
        How many of the last variables are latent noise: the label depends on them, T_k is about
        the others.
    """
    label = simpler_label(expression.tree, expression.variables, is_noisy=noise > 0).tree
    if latent:
        label, added = without_added_noise(label, _last_variables(expression, latent))
        noise += added
    if label is not expression.tree:
        expression = Expression.from_tree(label, letter=expression.letter, r=expression.r)
    found = None
    if latent and not noise and expression.is_discrete:
        found = _probability_grams(expression, latent, orders)
    if found is not None:
        return found
    found = _known_grams(expression, noise, tuple(orders), points, scramble)
    return {k: _of_first(gram, expression.r, latent, k) for k, gram in found.items()}


def _last_variables(expression: Expression, latent: int) -> list[Variable]:
    first = expression.r - latent
    return [Variable(expression.letter, first + i) for i in range(1, latent + 1)]


def _of_first(gram: OutputGram, r: int, latent: int, k: int) -> OutputGram:
    """Block of T_k whose features contain no latent variable."""
    if not latent:
        return gram
    kept = ~order_indices(r, k)[:, r - latent :].any(axis=1)
    bias = np.broadcast_to(gram.bias, gram.value.shape)[np.ix_(kept, kept)]
    replicates = None if gram.replicates is None else gram.replicates[:, kept][:, :, kept]
    return OutputGram(gram.value[np.ix_(kept, kept)], bias, replicates)


@lru_cache(maxsize=128)  # conditions that differ by a shift of the label are one problem
def _known_grams(
    expression: Expression, noise: float, orders: tuple[int, ...], points: int, scramble: int
) -> Grams:
    if _is_constant(expression):
        return {k: _zero(expression.r, k) for k in orders}
    framed = typed_frame(expression)
    f, nothing = framed.expression, Subspace.zero(framed.expression.r)
    # Orders 1 and 2 together share their points with all other targets.
    seen = orders if max(orders) <= 2 else [k for k in orders if not vanishes(f, nothing, k)]
    inner = {k: _zero(f.r, k) for k in orders}
    if seen:
        inner |= _grams(f, noise, seen, points, scramble)
    inner = {k: invariant_part(gram, f, nothing, k) for k, gram in inner.items()}
    if np.array_equal(framed.rows, np.eye(expression.r)):
        return inner
    return {k: _embedded(gram, framed.rows, k) for k, gram in inner.items()}


def _is_constant(f: Expression) -> bool:
    """Whether a target varies by no more than the rounding of the numbers in it.

    Fixing known variables often leaves a constant plus terms that should have cancelled; without
    noise these would reveal everything.
    """
    if not f.variables:
        return True
    # Far out as well: a function may be constant except where z is large.
    cloud = np.random.default_rng(41).standard_normal((64, f.r))
    values = np.asarray(f(np.concatenate([cloud, 3 * cloud, 9 * cloud])))
    return bool(np.ptp(values) <= 1e-11 * max(1.0, float(np.abs(values).max())))


def _grams(f: Expression, noise: float, orders: Sequence[int], points: int, scramble: int) -> Grams:
    if not noise and f.is_discrete:
        atoms = _atom_grams(f, orders)
        if atoms is not None:
            return atoms
    if f.r == 1:
        slope = f.derivative()
        if not noise:
            found = branch_grams(
                lambda z: f(z[..., None]), lambda z: slope(z[..., None]), f.kinks, orders
            )
        else:
            found = noisy_line_grams(lambda z: f(z[..., None]), f.kinks, noise, orders)
        if found is not None:
            return found
    return _by_slices(f, noise, orders, points, scramble)


def _by_slices(
    f: Expression, noise: float, orders: Sequence[int], points: int, scramble: int
) -> Grams:
    return sliced_grams(
        lambda columns: evaluate_columns(f.tree, lambda i: columns[i - 1]),
        f.r,
        orders,
        noise=noise,
        points=points,
        scramble=scramble,
    )


def _zero(r: int, k: int) -> OutputGram:
    m = len(order_indices(r, k))
    return OutputGram(np.zeros((m, m)), 0.0)


def _atom_grams(f: Expression, orders: Sequence[int]) -> Grams | None:
    """Finitely many outputs: T_k = sum over atoms of a a^T / p with Hermite coefficients a."""
    degree = max(orders)
    found = _atoms_between_planes(f, degree) or _atoms_by_terms(f, degree)
    return None if found is None else _sums_over_atoms(*found, f.r, orders)


def _probability_grams(f: Expression, latent: int, orders: Sequence[int]) -> Grams | None:
    """The same with latent noise: a are the coefficients of the probabilities P(y | z)."""
    degree = max(orders)
    try:
        probabilities = OutputChannel(f, latent=latent).indicators()
    except OutOfRegime:
        return None
    if probabilities is None:
        return None
    expansions = [hermite_expansion(p.form, degree) for p in probabilities]
    if any(e.kind == "monte_carlo" for e in expansions):
        return None
    coefficients = np.array([e.value for e in expansions]).T
    errors = np.array([e.error for e in expansions]).T
    return _sums_over_atoms(coefficients, errors, f.r - latent, orders)


def _sums_over_atoms(
    coefficients: np.ndarray, errors: np.ndarray, r: int, orders: Sequence[int]
) -> Grams:
    degree = max(orders)
    p = coefficients[0]
    seen = p > 1e-12
    result = {}
    for k in orders:
        rows = multi_indices(r, degree).sum(axis=1) == k
        a, error = coefficients[rows][:, seen], errors[rows][:, seen].max(axis=0, initial=0.0)
        size = np.abs(a).max(axis=0, initial=0.0)
        bias = float(((2 * size * error + error**2) / p[seen]).sum())
        result[k] = OutputGram((a / p[seen]) @ a.T, bias + 1e-15)
    return result


_Atoms = tuple[np.ndarray, np.ndarray]  # coefficients (multi-indices, atoms) and their errors


def _atoms_between_planes(f: Expression, degree: int) -> _Atoms | None:
    """Coefficients of the level sets if the output is constant between planes."""
    planes, is_curved = f.breaks
    function = Integrand(
        lambda columns: evaluate_columns(f.tree, lambda i: columns[i - 1]), f.r, planes, is_curved
    )
    sets = level_sets(function, degree)
    if sets is None:
        return None
    coefficients = sets.coefficients[tuple(multi_indices(f.r, degree).T)]
    return coefficients, np.full_like(coefficients, sets.error)


def _atoms_by_terms(f: Expression, degree: int) -> _Atoms | None:
    """The same from indicators that are polynomials in f, whose terms may separate."""
    blocks = [block.integrand for term in f.form.terms for block in term.blocks]
    indicators = OutputChannel(f).indicators()
    # Curved breaks leave Monte Carlo, and squared noise would pass for a signal.
    if indicators is None or any(block.r > 1 and block.is_curved for block in blocks):
        return None
    expansions = [hermite_expansion(indicator.form, degree) for indicator in indicators]
    if any(e.kind == "monte_carlo" for e in expansions):
        return None
    return np.array([e.value for e in expansions]).T, np.array([e.error for e in expansions]).T


def _embedded(gram: OutputGram, rows: np.ndarray, k: int) -> OutputGram:
    """T_k in all variables when the target depends on the coordinates t = B z only."""
    matrix = embedding(rows, k)

    def lift(x: np.ndarray) -> np.ndarray:
        return matrix @ x @ matrix.T

    size = np.abs(matrix)
    bias = size @ np.broadcast_to(gram.bias, gram.value.shape) @ size.T
    replicates = None if gram.replicates is None else lift(gram.replicates)
    return OutputGram(lift(gram.value), bias, replicates)


def conditional_grams(
    expression: Expression,
    noise: float,
    known: Subspace,
    orders: Sequence[int],
    *,
    points: int = _POINTS,
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
        return _by_slices(smaller(node), noise, seen, few, 0)

    seen = [k for k in orders if not vanishes(expression, known, k, latent)]
    if not seen:
        return {k: _zero(q, k) for k in orders}
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
        panels = _MORE_PANELS if len(unknown) == 1 or points > _POINTS else _MAX_PANELS
        found = over_line(at_all, seen, mirror, q, panels)
    else:
        # Finitely many outputs of one variable cost little.
        is_cheap = len(unknown) == 1 and f.is_discrete and not noise
        count = _MORE_NODES if is_cheap else _NODES
        found = over_points(at_all, seen, len(used), count)
    found = {k: found.get(k) or _zero(q, k) for k in orders}
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

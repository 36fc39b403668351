r"""Which directions efficient algorithms can learn, in which order, and from how much data.

The filtration of statistical queries (Troiani et al. 2024; Damian, Lee, Bruna 2025): starting from
U = {0}, find the smallest order k at which the output, together with the variables already known,
reveals something about the others,

.. math:: D_k(y, z_U) = \mathbb{E}[\mathrm{He}_k(z_\perp) \mid y, z_U], \qquad
          N_k = \mathbb{E}[D_{(1)} D_{(1)}^\top], \qquad [LE-1]

add the range of :math:`N_k` to U, and repeat. Order 1 is *trivial* (any :math:`n/d > 0`), order 2
*easy* (above a threshold), order 3 and more *hard* (never at n = O(d)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...base.estimate import Estimate
from ...calculus.output_gram import OutputGram
from ...targets.language.expression import Expression
from ..exponent import Exponent
from ..frame import linear_forms, natural_frame
from ..subspace import Subspace
from .embedding import order_indices
from .output import conditional_grams
from .recovery import is_perfectly_recovered

CLASSES = {1: "trivial", 2: "easy"}
_MAX_ORDER = 12
_FLOOR = {"quadrature": 1e-9, "monte_carlo": 2e-4}
# A Monte Carlo error is a 99 % half-width, at least 2.58 standard errors: this makes it 6.
_SAFETY = 2.4
_MORE_POINTS = 1 << 21


@dataclass(frozen=True)
class Stage:
    """One step of the grand staircase.

    Parameters
    ----------
    subspace : Subspace
        Everything known after this step.
    new : Subspace
        What this step adds.
    order : int
        Order k of the query that reveals it: 1 trivial, 2 easy, 3 or more hard.
    threshold : Estimate
        Value of alpha = n/d above which it opens, the earlier directions being known perfectly;
        infinite for hard directions.
    is_bound : bool
        Whether algorithms may need more, because the earlier directions are not yet known
        perfectly at this alpha.
    reason : str
        The quantity that decided.
    """

    subspace: Subspace
    new: Subspace
    order: int
    threshold: Estimate
    is_bound: bool
    reason: str

    @property
    def learnability(self) -> str:
        """``"trivial"``, ``"easy"`` or ``"hard"``."""
        return CLASSES.get(self.order, "hard")


@dataclass(frozen=True)
class Learnability:
    """Answer of :func:`learnability`.

    Parameters
    ----------
    stages : tuple of Stage
        The filtration, in order.
    unused : Subspace
        Directions that the target does not depend on.
    undecided : str
        Why the filtration stopped early, or an empty text.
    """

    stages: tuple[Stage, ...]
    unused: Subspace
    undecided: str = ""
    notes: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """Class of each stage."""
        return tuple(stage.learnability for stage in self.stages)

    @property
    def generative_exponent(self) -> Exponent:
        """Smallest order at which anything is revealed: the order of the first stage."""
        if not self.stages:
            return Exponent(None, self.undecided or f"> {_MAX_ORDER}")
        return Exponent(self.stages[0].order, self.stages[0].reason)

    @property
    def generative_leap(self) -> Exponent:
        """Largest order of all stages."""
        if self.undecided or not self.stages:
            return Exponent(None, self.undecided or f"> {_MAX_ORDER}")
        worst = max(self.stages, key=lambda stage: stage.order)
        return Exponent(worst.order, worst.reason)

    @property
    def never(self) -> Subspace:
        """Directions that the target uses and that are never learned at n = O(d)."""
        open_ = Subspace.zero(self.unused.r)
        for stage in self.stages:
            if math.isfinite(stage.threshold.value):
                open_ = stage.subspace
        used = self.unused.complement()
        rest = used.basis - used.basis @ open_.projector
        return Subspace.span(rest[np.linalg.norm(rest, axis=1) > 1e-6], used.r)


@lru_cache(maxsize=64)
def learnability(expression: Expression, noise: float = 0.0) -> Learnability:
    r"""Stages in which the directions of a target can be learned by efficient algorithms [LE-1].

    Parameters
    ----------
    expression : Expression
        The noiseless target.
    noise : float
        Variance of the label noise.

    Returns
    -------
    Learnability
        Stages with their classes and thresholds.

    Notes
    -----
    Easy directions open at :math:`\alpha_c = 1/\lambda_{\max}(F)` with
    :math:`F(M) = \mathbb{E}[G M G]`, :math:`G = \mathbb{E}[z_\perp z_\perp^\top - I \mid y, z_U]`,
    on symmetric matrices with the Frobenius product; the directions are the range of the positive
    eigen-matrix.

    Examples
    --------
    >>> answer = learnability(Expression("sign(z1*z2)"))
    >>> answer.classes, round(float(answer.stages[0].threshold), 6)
    (('easy',), 2.467401)
    """
    framed = natural_frame(expression)
    f, rows = framed.expression, framed.rows
    known = Subspace.zero(len(rows))
    stages: list[Stage] = []
    threshold, undecided = Estimate(0.0), ""
    is_exact = True
    while known.dim < len(rows):
        found = _next(f, noise if is_exact else _blurred(f, noise), known)
        if isinstance(found, str):
            undecided = found
            break
        order, new, strength, exact, reason = found
        is_exact = is_exact and exact
        if order == 2:
            alpha = _inverse(strength)
            threshold = alpha if alpha.value > threshold.value else threshold
        elif order > 2:
            threshold = Estimate(math.inf, note=f"order {order} > 2")
        is_bound = (
            order == 2
            and known.dim > 0
            and not is_perfectly_recovered(f, noise, known, threshold.value)
        )
        known = known + new
        stages.append(
            Stage(
                Subspace.span(known.basis @ rows, expression.r),
                Subspace.span(new.basis @ rows, expression.r),
                order,
                threshold,
                is_bound,
                reason,
            )
        )
    used = Subspace.span(rows, expression.r)
    notes = () if is_exact else ("a learned subspace was estimated, not derived",)
    return Learnability(tuple(stages), used.complement(), undecided, notes)


def _inverse(x: Estimate) -> Estimate:
    return Estimate(1 / x.value, x.error / x.value**2, x.kind)


def _blurred(f: Expression, noise: float) -> float:
    """Noise that hides what an error of the known subspace would reveal; it adds no information."""
    variance = f.second_moment().value - f.mean().value ** 2
    return max(noise, (0.03**2) * variance)


_Found = tuple[int, Subspace, Estimate, bool, str]


def _next(f: Expression, noise: float, known: Subspace) -> _Found | str:
    """Next step of the filtration, or why it cannot be said."""
    complement = known.complement()
    q = complement.dim
    vanished: list[str] = []
    # Orders 1 and 2 cost little more than one of them; higher ones are rarely needed.
    groups = [(1, 2), *((k,) for k in range(3, _max_order(q) + 1))]
    for orders in groups:
        grams = conditional_grams(f, noise, known, orders)
        for k in orders:
            gram, strength = grams[k], _strength(grams[k], q, k)
            verdict = _is_nonzero(strength)
            if verdict is None and gram.kind == "monte_carlo":
                gram = conditional_grams(f, noise, known, [k], points=_MORE_POINTS)[k]
                strength = _strength(gram, q, k)
                verdict = _is_nonzero(strength)
            name = f"E|E[He_{k}(z) | y{', known' if known.dim else ''}]|^2"
            if verdict is None:
                return f"undecided: {name} = {strength} is too close to zero"
            if verdict:
                new, is_exact = _directions(gram, q, k, strength, f, complement)
                reason = "; ".join([*vanished, f"{name} > 0: {strength}"])
                return k, new, strength, is_exact, reason
            vanished.append(f"{name} = {strength.value:.1e} ± {strength.error:.0e}, zero")
    return f"> {_max_order(q)}: " + "; ".join(vanished[-2:])


def _max_order(q: int) -> int:
    return {1: _MAX_ORDER, 2: 8, 3: 6}.get(q, 4)


def _is_nonzero(strength: Estimate) -> bool | None:
    floor = _FLOOR[strength.kind]
    if strength.value > max(floor, _SAFETY * strength.error):
        return True
    if strength.value + _SAFETY * strength.error < 10 * floor:
        return False
    return None


# ---- what a matrix T_k says about directions


def _full_tensor(gram: np.ndarray, q: int, k: int) -> np.ndarray:
    """E[D (x) D] with D the unnormalized tensor of order k: shape (q,) * 2k as (q^k, q^k)."""
    indices = order_indices(q, k)
    row_of = {tuple(b): i for i, b in enumerate(indices.tolist())}
    entries = np.array(
        [
            row_of[tuple(int((np.array(e) == axis).sum()) for axis in range(q))]
            for e in np.ndindex(*(q,) * k)
        ]
    )
    scale = np.sqrt([math.prod(math.factorial(b) for b in beta) for beta in indices.tolist()])
    return (gram * np.outer(scale, scale))[np.ix_(entries, entries)]


def _unfolding(gram: np.ndarray, q: int, k: int) -> np.ndarray:
    """Matrix N_k = E[D_(1) D_(1)^T] / k!, shape (q, q)."""
    tensor = _full_tensor(gram, q, k).reshape(q, q ** (k - 1), q, q ** (k - 1))
    return np.einsum("aibi->ab", tensor) / math.factorial(k)


def symmetric_basis(q: int) -> np.ndarray:
    """Orthonormal basis of symmetric q x q matrices."""
    basis = []
    for i in range(q):
        for j in range(i, q):
            matrix = np.zeros((q, q))
            matrix[i, j] = matrix[j, i] = 1.0 if i == j else 1 / math.sqrt(2)
            basis.append(matrix)
    return np.array(basis)


def _easy_operator(gram: np.ndarray, q: int) -> np.ndarray:
    r"""Matrix of :math:`F(M) = \mathbb{E}[G M G]` in the basis of symmetric matrices."""
    tensor = _full_tensor(gram, q, 2).reshape(q, q, q, q)  # E[G_ij G_kl]
    basis = symmetric_basis(q)
    return np.einsum("ail,ijkl,bjk->ab", basis, tensor, basis)


def _operator(gram: np.ndarray, q: int, k: int) -> np.ndarray:
    """Symmetric matrix whose largest eigenvalue is the strength of order k."""
    return _easy_operator(gram, q) if k == 2 else _unfolding(gram, q, k)


def _strength(gram: OutputGram, q: int, k: int) -> Estimate:
    """Largest eigenvalue with its error, degenerate eigenvalues averaged."""
    values = np.linalg.eigvalsh(_operator(gram.value, q, k))
    spread = 2 * float(np.abs(_operator(gram.entry_error(), q, k)).max())
    size = max(1, int((values > values[-1] - spread - 1e-9).sum()))

    def mean_of_top(matrix: np.ndarray) -> float:
        return float(np.linalg.eigvalsh(_operator(matrix, q, k))[-size:].mean())

    estimate = gram.functional(mean_of_top, slope=0.0)
    bias = _operator(np.broadcast_to(gram.bias, gram.value.shape), q, k)
    error = estimate.error + float(np.abs(bias).max(initial=0.0))
    return Estimate(estimate.value, error, estimate.kind)


def _directions(
    gram: OutputGram, q: int, k: int, strength: Estimate, f: Expression, complement: Subspace
) -> tuple[Subspace, bool]:
    """Directions that a nonzero T_k reveals, in the frame of f, and whether they are exact."""
    projector, spread = _projector(gram.value, q, k, strength), 0.0
    dim = round(float(np.trace(projector)))
    if gram.replicates is not None:
        others = [_projector(r, q, k, strength) for r in gram.replicates]
        spread = 3 * float(np.std([np.linalg.norm(p - projector) for p in others]) * len(others))
        spread += (
            3
            * math.sqrt(len(others))
            * float(np.mean([np.linalg.norm(p - projector) for p in others]))
        )
    values, vectors = np.linalg.eigh(projector)
    found = Subspace.span(vectors[:, values > 0.5].T @ complement.basis, f.r)
    if gram.kind == "quadrature":
        return found, True
    snapped = _snapped(found, dim, f, complement, max(spread, 1e-3))
    return (found, False) if snapped is None else (snapped, True)


def _projector(gram: np.ndarray, q: int, k: int, strength: Estimate) -> np.ndarray:
    """Projector on the directions: range of N_k, or of the top eigen-matrices of F."""
    if k == 2:
        values, vectors = np.linalg.eigh(_easy_operator(gram, q))
        top = values > values[-1] - max(4 * strength.error, 1e-7 * values[-1])
        matrices = np.einsum("av,aij->vij", vectors[:, top], symmetric_basis(q))
        matrix = np.einsum("vij,vkj->ik", matrices, matrices)
        eigenvalues, eigenvectors = np.linalg.eigh(matrix)
        chosen = eigenvectors[:, eigenvalues > 1e-2 * eigenvalues[-1]]
        return chosen @ chosen.T
    values, vectors = np.linalg.eigh(_unfolding(gram, q, k))
    floor = max(_FLOOR[strength.kind], _SAFETY * strength.error, 1e-6 * values[-1])
    chosen = vectors[:, values > floor]
    return chosen @ chosen.T


def _snapped(
    found: Subspace, dim: int, f: Expression, complement: Subspace, tolerance: float
) -> Subspace | None:
    """Subspace spanned by linear forms of the target, if one lies within the error of `found`."""
    forms = [*linear_forms(f), *np.eye(f.r)]
    sums = [np.sum(forms[: -f.r], axis=0), np.ones(f.r)] if len(forms) > f.r else [np.ones(f.r)]
    forms += [a + s * b for i, a in enumerate(forms) for b in forms[:i] for s in (1.0, -1.0)]
    forms += sums
    projected = [complement.projector @ w for w in forms]
    units = [w / np.linalg.norm(w) for w in projected if np.linalg.norm(w) > 1e-6]
    near = [w for w in units if np.linalg.norm(w - found.projector @ w) < tolerance]
    near.sort(key=lambda w: float(np.linalg.norm(w - found.projector @ w)))
    for count in range(dim, len(near) + 1):
        candidate = Subspace.span(np.array(near[:count]), f.r)
        if candidate.dim == dim:
            return candidate if candidate.distance(found) < tolerance else None
    return None

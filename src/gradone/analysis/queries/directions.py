"""Directions that a matrix T_k reveals, as true subspaces."""

from __future__ import annotations

import math

import numpy as np

from ...base.estimate import Estimate
from ...channels.conditional.gram import OutputGram
from ...targets.language.bounds import quadratic_form
from ...targets.language.coordinates import linear_forms
from ...targets.language.expression import Expression
from ...targets.language.polynomials import polynomial_of
from ...targets.language.tree import nodes
from ...targets.rotations import symmetric_basis
from ...targets.subspace import Subspace
from .operators import SAFETY, easy_operator, unfolding


def revealed_directions(
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
    snapped = typed_subspace(found, dim, f, complement, max(spread, 1e-3))
    return (found, False) if snapped is None else (snapped, True)


def _projector(gram: np.ndarray, q: int, k: int, strength: Estimate) -> np.ndarray:
    """Projector on the directions: range of N_k, or of the top eigen-matrices of F."""
    if k == 2:
        values, vectors = np.linalg.eigh(easy_operator(gram, q))
        top = values > values[-1] - max(4 * strength.error, 1e-7 * values[-1])
        # An eigen-matrix is known up to the error over the gap to the others.
        gap = values[-1] - max(float(values[~top].max(initial=0.0)), 0.0)
        blur = 5 * strength.error / max(gap, strength.error, 1e-300) + 1e-6
        matrices = np.einsum("av,aij->vij", vectors[:, top], symmetric_basis(np.eye(q)))
        matrix = np.einsum("vij,vkj->ik", matrices, matrices)
        eigenvalues, eigenvectors = np.linalg.eigh(matrix)
        chosen = eigenvectors[:, eigenvalues > blur**2 * eigenvalues[-1]]
        return chosen @ chosen.T
    values, vectors = np.linalg.eigh(unfolding(gram, q, k))
    # Small next to the largest one or to the errors: not revealed at this order.
    floor = max(SAFETY[strength.kind] * strength.error, 1e-6 * values[-1])
    chosen = vectors[:, values > floor]
    return chosen @ chosen.T


def typed_subspace(
    found: Subspace, dim: int, f: Expression, complement: Subspace, tolerance: float
) -> Subspace | None:
    """Subspace spanned by linear forms of the target, if one lies within the error of `found`."""
    forms = [*linear_forms(f), *np.eye(f.r)]
    axes = _principal_axes(f)
    sums = [np.sum(forms[: -f.r], axis=0), np.ones(f.r)] if len(forms) > f.r else [np.ones(f.r)]
    forms += [a + s * b for i, a in enumerate(forms) for b in forms[:i] for s in (1.0, -1.0)]
    forms += [*sums, *axes]
    projected = [complement.projector @ w for w in forms]
    units = [w / np.linalg.norm(w) for w in projected if np.linalg.norm(w) > 1e-6]
    near = [w for w in units if np.linalg.norm(w - found.projector @ w) < tolerance]
    near.sort(key=lambda w: float(np.linalg.norm(w - found.projector @ w)))
    for count in range(dim, len(near) + 1):
        candidate = Subspace.span(np.array(near[:count]), f.r)
        if candidate.dim == dim:
            return candidate if candidate.distance(found) < tolerance else None
    return None


def _principal_axes(f: Expression) -> list[np.ndarray]:
    """Eigenvectors of the quadratic polynomials that occur in a target."""
    axes: list[np.ndarray] = []
    for part in nodes(f.tree):
        polynomial = polynomial_of(part, f.r)
        if polynomial is not None and polynomial.degree == 2:
            axes += list(np.linalg.eigh(quadratic_form(polynomial))[1].T)
    return axes

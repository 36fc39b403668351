"""Subspaces of the space of target directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.errors import BadData
from .rotations import spanning_rows, tidy_rows


@dataclass(frozen=True, eq=False)
class Subspace:
    """Linear subspace of R^r.

    Parameters
    ----------
    basis : ndarray, shape (k, r)
        Orthonormal rows.

    Examples
    --------
    >>> u = Subspace.span([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    >>> u.dim, u.contains([0.0, 1.0, 0.0]), u
    (2, True, span(z1, z2))
    """

    basis: np.ndarray

    def __post_init__(self) -> None:
        basis = np.array(self.basis, dtype=np.float64)
        if basis.ndim != 2 or not np.allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-8):
            raise ValueError("a Subspace needs orthonormal rows, shape (k, r); use Subspace.span")
        basis.setflags(write=False)
        object.__setattr__(self, "basis", basis)

    @classmethod
    def span(
        cls, vectors: Sequence[Sequence[float]] | np.ndarray, r: int | None = None
    ) -> Subspace:
        """Span of vectors (rows); `r` is needed if there are none."""
        matrix = np.asarray(vectors, dtype=np.float64).reshape(-1, r or np.shape(vectors)[-1])
        return cls(spanning_rows(matrix))

    @classmethod
    def zero(cls, r: int) -> Subspace:
        """The subspace that contains only 0."""
        return cls(np.zeros((0, r)))

    @classmethod
    def full(cls, r: int) -> Subspace:
        """The whole space."""
        return cls(np.eye(r))

    @property
    def dim(self) -> int:
        """Dimension."""
        return len(self.basis)

    @property
    def r(self) -> int:
        """Dimension of the space around it."""
        return self.basis.shape[1]

    @property
    def projector(self) -> np.ndarray:
        """Orthogonal projector, shape (r, r)."""
        return self.basis.T @ self.basis

    def contains(self, vector: Sequence[float] | np.ndarray, tolerance: float = 1e-6) -> bool:
        """Whether a vector lies in the subspace, up to a relative tolerance."""
        v = np.asarray(vector, dtype=np.float64)
        if v.shape != (self.r,):
            raise BadData(f"a vector of this space has {self.r} entries, got shape {v.shape}")
        rest = v - self.projector @ v
        return float(np.linalg.norm(rest)) <= tolerance * max(float(np.linalg.norm(v)), 1e-300)

    def distance(self, other: Subspace) -> float:
        """Largest principal angle's sine (operator norm of the difference of the projectors)."""
        return float(np.linalg.norm(self.projector - other.projector, ord=2))

    def complement(self) -> Subspace:
        """Orthogonal complement."""
        if self.dim == 0:
            return Subspace.full(self.r)
        _, _, rows = np.linalg.svd(self.basis, full_matrices=True)
        return Subspace(tidy_rows(rows[self.dim :]))

    def __add__(self, other: Subspace) -> Subspace:
        return Subspace.span(np.vstack([self.basis, other.basis]), self.r)

    def __repr__(self) -> str:
        return self.describe("z")

    def describe(self, letter: str) -> str:
        """Subspace in words, with axes where it is spanned by axes."""
        if self.dim == 0:
            return "{0}"
        axes = [i for i in range(self.r) if self.contains(np.eye(self.r)[i])]
        if len(axes) == self.dim:
            names = [f"{letter}{i + 1}" for i in axes]
        else:
            names = [_form(row, letter) for row in self.basis]
        return f"span({', '.join(names)})"


def _form(row: np.ndarray, letter: str) -> str:
    """Unit vector as a linear form, scaled to small integers if it is proportional to some."""
    for scale in range(1, 13):
        lead = np.abs(row[np.abs(row) > 1e-6]).min()
        scaled = row / lead * scale
        if np.abs(scaled - scaled.round()).max() < 1e-6 and np.abs(scaled).max() < 50:
            numbers = [int(x) for x in scaled.round()]
            terms = [
                ("" if abs(c) == 1 else f"{abs(c)}*") + f"{letter}{i + 1}"
                for i, c in enumerate(numbers)
                if c
            ]
            signs = [c < 0 for c in numbers if c]
            text = ("-" if signs[0] else "") + terms[0]
            for term, minus in zip(terms[1:], signs[1:], strict=True):
                text += (" - " if minus else " + ") + term
            return text
    return "(" + ", ".join(f"{x:.3g}" for x in row) + ")"

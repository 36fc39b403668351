"""The hierarchical target that does not narrow: many quadratic forms of the whole input."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.memory import require_memory
from ..base.seeds import stream
from .directions import orthonormal_rows
from .hierarchy import HierarchicalTarget
from .language.expression import Expression
from .language.tree import Sum
from .realization import Realization
from .sampled import whole_number
from .sampling import Labels
from .target import one_variable

_PRODUCTS = 2**21  # numbers that are held at once while the forms are computed


class QuadraticRealization(Realization):
    r"""Balanced quadratic forms of the input in a given dimension.

    A form with as many signs + as - needs half of its directions only:
    :math:`W^T \mathrm{diag}(a) W = 2 W_+^T W_+ - I`.

    Parameters
    ----------
    rows : ndarray (count, k, d)
        Orthonormal rows :math:`W_+` of every form, those with sign +; k is d/2, rounded up.
    function : Expression
        The outer function.
    """

    def __init__(self, rows: np.ndarray, function: Expression) -> None:
        # Every direction is used: the hidden subspace is the whole space.
        super().__init__(np.eye(rows.shape[2]))
        self.rows, self._function = rows, function
        self.count = rows.shape[0]

    @property
    def signs(self) -> np.ndarray:
        """Signs a (count, d), the positive ones first."""
        positive = np.arange(self.d) < self.rows.shape[1]
        return np.broadcast_to(np.where(positive, 1.0, -1.0), (self.count, self.d))

    @property
    def matrices(self) -> np.ndarray:
        """Matrices A of the forms, (count, d, d)."""
        require_memory(
            2 * 8 * self.count * self.d**2, "the matrices of the forms", "Use a smaller d or count."
        )
        products = np.matmul(self.rows.transpose(0, 2, 1), self.rows)
        return (2 * products - np.eye(self.d)) / math.sqrt(self.d)

    @property
    def feature_widths(self) -> tuple[int, ...]:
        """Number of forms."""
        return (self.count,)

    def label(self, X: np.ndarray, xi: np.ndarray | None = None) -> Labels:
        """Noiseless labels and features of one block of rows."""
        h = self._forms(X)
        y = self._function(h[..., None]).sum(axis=1) / math.sqrt(self.count)
        return y, (h,)

    def _forms(self, X: np.ndarray) -> np.ndarray:
        k = self.rows.shape[1]
        squares = np.empty((len(X), self.count))
        step = max(1, _PRODUCTS // (max(len(X), 1) * k))
        for start in range(0, self.count, step):
            rows = self.rows[start : start + step]
            z = (X @ rows.reshape(-1, self.d).T).reshape(len(X), len(rows), k)
            squares[:, start : start + step] = np.einsum("njk,njk->nj", z, z)
        lengths = np.einsum("nd,nd->n", X, X)
        trace = 2 * k - self.d
        return (2 * squares - lengths[:, None] - trace) / math.sqrt(self.d)

    def h(self, X: Any) -> np.ndarray:
        """Values of the forms, (n, count)."""
        return self._in_blocks(X, self._forms)

    def levels(self, X: Any) -> tuple[np.ndarray, ...]:
        """Features of every level: the forms alone."""
        return (self.h(X),)


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticForms(HierarchicalTarget):
    r"""Sum over many quadratic forms of the input; no layer is narrower than the input.

    .. math::
        h_j = x^T A_j x - \mathrm{tr}\,A_j, \qquad
        A_j = \frac{W_j^T \mathrm{diag}(a_j) W_j}{\sqrt{d}}, \qquad
        y = \frac{1}{\sqrt{m}} \sum_{j=1}^{m} g(h_j)

    with Haar distributed rotations :math:`W_j` and balanced signs: as many + as -, and one more +
    in odd dimension. Then :math:`\mathbb{E} h_j = 0` and :math:`\mathrm{Var}\,h_j = 2`.

    Parameters
    ----------
    outer : str
        The function g of ``h``.
    count : int, optional
        Number m of forms; d if it is not given.
    noise : float
        Variance of the label noise.

    Notes
    -----
    Memory for m d^2 / 2 numbers is needed. ``W_star`` of a sample is the identity, because the
    target depends on every direction; the forms are ``realization(d).matrices``.

    Examples
    --------
    >>> t = QuadraticForms(outer="tanh(h)")
    >>> t.sample(n=10, d=16)
    Sample(X (10, 16), y (10,), W_star (16, 16), features (10, 16), float64)
    """

    outer: str
    count: int | None = None
    _outer: Expression = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        outer = one_variable(self.outer, "the outer function", letter="h")
        self._set("_outer", outer)
        self._set("outer", outer.text)
        if self.count is not None:
            self._set("count", whole_number("count", self.count))

    def widths(self, d: int) -> tuple[int, ...]:
        """Number of directions and of forms in dimension d."""
        return (whole_number("d", d), self.count or d)

    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> QuadraticRealization:
        """Target in dimension d: the rotations are drawn, labels can be computed."""
        d, count = self.widths(d)
        k = (d + 1) // 2
        require_memory(
            8 * count * k * d + 8 * 2 * _PRODUCTS,
            f"the directions of {count} quadratic forms in dimension {d}",
            "Use a smaller d or count.",
        )
        rows = np.empty((count, k, d))
        for j in range(count):
            # A stream for each form: more forms extend fewer.
            rng = stream(seed, "directions", d=d, replicate=replicate, form=j)
            rows[j] = orthonormal_rows(rng.standard_normal((k, d)))
        return QuadraticRealization(rows, self._outer)

    @property
    def latex(self) -> str:
        """LaTeX of the definition."""
        g = self._outer.latex.replace("h_{1}", "h_{j}")
        g = rf"\left({g}\right)" if isinstance(self._outer.tree, Sum) else g
        m = self.count or "d"
        return (
            rf"y = \frac{{1}}{{\sqrt{{{m}}}}} \sum_{{j=1}}^{{{m}}} {g}, \quad "
            r"h_{j} = x^{T} A_{j} x - \mathrm{tr} A_{j}, \quad "
            r"A_{j} = \frac{1}{\sqrt{d}} W_{j}^{T} \mathrm{diag}\left(a_{j}\right) W_{j}"
        )

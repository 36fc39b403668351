"""Deep hierarchical targets: a tree of features, level above level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..base.errors import BadData
from .directions import hidden_directions
from .hierarchy import (
    HierarchicalTarget,
    Signs,
    checked_exponent,
    checked_signs,
    drawn_signs,
    inner_function,
)
from .language.expression import Expression
from .realization import LayeredRealization
from .sampled import whole_number
from .target import one_variable


@dataclass(frozen=True, eq=False, repr=False)
class Tree(HierarchicalTarget):
    r"""Deep Gaussian hierarchical target: features of features on disjoint blocks.

    .. math::
        h^{(1)} = W^\star x \in \mathbb{R}^{D_1}, \qquad
        h^{(l+1)}_j = \frac{1}{\sqrt{B_l}} \sum_{i \in \text{block } j} a_i P_l(h^{(l)}_i), \qquad
        y = g(h^{(L)}), \quad D_L = 1

    with blocks of :math:`B_l = D_l / D_{l+1}` features and :math:`D_l \approx d^{\epsilon_l}`.

    Parameters
    ----------
    outer : str
        The function g of ``h``.
    inners : sequence of str
        The functions :math:`P_1, P_2, \dots` of ``z`` from the bottom to the top, each with mean 0
        under the standard Gaussian.
    exponents : sequence of float
        :math:`1 \ge \epsilon_1 > \epsilon_2 > \dots > 0`, one for each inner function.
    signs : str or sequence of arrays
        Weights a: ``"random"`` signs, ``"ones"``, or one array (D_l,) for each inner function.
    standardize : bool
        Divide the features of every level between z and the top by the standard deviation of their
        inner function, so that they have variance 1 and the next inner function, which is centered
        for unit variance, stays centered. The topmost feature is never rescaled.
    noise : float
        Variance of the label noise.

    Notes
    -----
    The widths are chosen from the top down, so that the blocks have equal sizes: the highest is
    :math:`\lfloor d^{\epsilon} \rfloor`, and each lower one is the largest multiple of the one
    above it that does not exceed :math:`d^{\epsilon_l}`. With one inner function the target is a
    :class:`Sight`, number for number.

    Examples
    --------
    >>> t = Tree(outer="tanh(3*h)", inners=["He2(z)/2", "He2(z)/2"], exponents=[0.7, 0.4])
    >>> t.widths(1000)
    (120, 15, 1)
    >>> t.sample(n=10, d=1000)
    Sample(X (10, 1000), y (10,), W_star (120, 1000), features (10, 15), (10, 1), float64)
    """

    outer: str
    inners: Sequence[str]
    exponents: Sequence[float]
    signs: Signs = "random"
    standardize: bool = True
    _outer: Expression = field(init=False)
    _inners: tuple[Expression, ...] = field(init=False)
    inner_variances: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        outer = one_variable(self.outer, "the outer function", letter="h")
        if isinstance(self.inners, str) or not isinstance(self.inners, Sequence) or not self.inners:
            raise BadData(f"inners must be a list of texts, one per level, got {self.inners!r}")
        found = [inner_function(text) for text in self.inners]
        exponents = tuple(checked_exponent(e) for e in np.atleast_1d(self.exponents))
        if len(exponents) != len(found):
            raise BadData(
                f"Tree needs one exponent for each inner function, got {len(exponents)} exponents "
                f"and {len(found)} inner functions"
            )
        if any(low <= high for low, high in zip(exponents, exponents[1:], strict=False)):
            raise BadData(f"exponents must decrease from level to level, got {list(exponents)}")
        self._set("_outer", outer)
        self._set("outer", outer.text)
        self._set("_inners", tuple(inner for inner, _ in found))
        self._set("inners", tuple(inner.text for inner, _ in found))
        self._set("inner_variances", tuple(size for _, size in found))
        self._set("exponents", exponents)
        self._set("signs", checked_signs(self.signs))
        self._set("standardize", bool(self.standardize))

    def widths(self, d: int) -> tuple[int, ...]:
        """Number of features of each level, from the directions to the top."""
        d = whole_number("d", d)
        found = [1]
        for exponent in reversed(self.exponents):
            block = math.floor(d**exponent / found[0] + 1e-9)
            found.insert(0, max(block, 1) * found[0])
        return tuple(found)

    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> LayeredRealization:
        """Target in dimension d: directions and signs are drawn, labels can be computed."""
        widths = self.widths(d)
        W_star = hidden_directions(widths[0], d, seed=seed, replicate=replicate)
        shapes = [(1, width) for width in widths[:-1]]
        scales = [1.0] * len(self._inners)
        if self.standardize:
            scales[:-1] = [1 / math.sqrt(size) for size in self.inner_variances[:-1]]
        return LayeredRealization(
            W_star,
            inners=self._inners,
            signs=drawn_signs(self.signs, shapes, d=d, seed=seed, replicate=replicate),
            sizes=[low // high for low, high in zip(widths, widths[1:], strict=False)],
            scales=scales,
            outer=lambda h: np.asarray(self._outer(h)),
        )

    @property
    def latex(self) -> str:
        """LaTeX of the definition."""
        g = self._outer.latex.replace("h_{1}", "h")
        parts = [rf"y = {g}"]
        for level, (inner, size) in enumerate(
            zip(self._inners, self.inner_variances, strict=True), 1
        ):
            top = level == len(self._inners)
            scale = rf"{size:.4g} \, " if self.standardize and not top else ""
            name = "h" if top else f"h^{{({level + 1})}}_{{j}}"
            below = "z_{i}" if level == 1 else f"h^{{({level})}}_{{i}}"
            P = inner.latex.replace("z_{1}", "z")
            parts.append(
                rf"{name} = \frac{{1}}{{\sqrt{{{scale}B_{{{level}}}}}}} "
                rf"\sum_{{i}} a_{{i}} P_{{{level}}}\left({below}\right), "
                rf"\quad P_{{{level}}}(z) = {P}"
            )
        return r", \quad ".join(parts)

"""Single- and multi-index hierarchical targets: SIGHT and MIGHT."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ..base.errors import BadData, TargetError
from .directions import hidden_directions
from .hierarchy import (
    HierarchicalTarget,
    Signs,
    checked_exponent,
    checked_signs,
    drawn_signs,
    inner_function,
    power_width,
)
from .language.expression import Expression
from .language.tree import Sum
from .realization import LayeredRealization
from .sampled import whole_number
from .target import one_variable


class _Branches(HierarchicalTarget):
    """Branches that share one inner function: everything of SIGHT and MIGHT but the outer one."""

    inner: str
    exponent: float
    signs: Signs
    branches: int
    _inner: Expression
    inner_variance: float

    def _check_parts(self) -> None:
        inner, size = inner_function(self.inner)
        self._set("_inner", inner)
        self._set("inner", inner.text)
        self._set("inner_variance", size)
        self._set("exponent", checked_exponent(self.exponent))
        self._set("signs", checked_signs(self.signs))

    def inner_dimension(self, d: int) -> int:
        r"""Number of directions of one branch, :math:`D = \lfloor d^\epsilon \rfloor`."""
        d = whole_number("d", d)
        D = power_width(d, self.exponent)
        if self.branches * D > d:
            raise BadData(
                f"{self.branches} branches of D = {D} directions need branches * D <= d, here "
                f"d = {d}; use fewer branches, a smaller exponent or a larger d"
            )
        return D

    def widths(self, d: int) -> tuple[int, ...]:
        """Number of directions and of features h in dimension d."""
        return (self.branches * self.inner_dimension(d), self.branches)

    @abstractmethod
    def _outer_values(self, h: np.ndarray) -> np.ndarray:
        """Labels without noise from the features h (n, branches)."""

    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> LayeredRealization:
        """Target in dimension d: directions and signs are drawn, labels can be computed."""
        D = self.inner_dimension(d)
        W_star = hidden_directions(self.branches * D, d, seed=seed, replicate=replicate)
        signs = drawn_signs(self.signs, [(self.branches, D)], d=d, seed=seed, replicate=replicate)
        return LayeredRealization(
            W_star,
            inners=[self._inner],
            signs=signs,
            sizes=[D],
            scales=[1.0],
            outer=self._outer_values,
        )

    def _latex_of_features(self, m: str) -> str:
        h, a, z = ("h_{m}" if m else "h", f"a_{{{m}i}}", f"z_{{{m}i}}")
        P = self._inner.latex.replace("z_{1}", "z")
        return (
            rf"{h} = \frac{{1}}{{\sqrt{{D}}}} \sum_{{i=1}}^{{D}} {a} P\left({z}\right), \quad "
            rf"P(z) = {P}, \quad D = \lfloor d^{{{self.exponent:g}}} \rfloor"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Sight(_Branches):
    r"""Single-index Gaussian hierarchical target.

    .. math::
        y = g(h), \qquad h = \frac{1}{\sqrt{D}} \sum_{i=1}^{D} a_i P(z_i), \qquad
        z = W^\star x, \quad D = \lfloor d^\epsilon \rfloor

    Parameters
    ----------
    outer : str
        The function g of ``h``.
    inner : str
        The function P of ``z``, with mean 0 under the standard Gaussian. It is taken as typed:
        nothing is normalized, Var h = Var P.
    exponent : float
        :math:`\epsilon` in (0, 1].
    signs : str or array (D,)
        Weights a: ``"random"`` signs, ``"ones"``, or given numbers.
    noise : float
        Variance of the label noise.

    Examples
    --------
    >>> t = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> t.sample(n=100, d=64)
    Sample(X (100, 64), y (100,), W_star (8, 64), features (100, 1), float64)
    >>> t
    Sight(outer='tanh(3*h)', inner='He2(z)/2 + He3(z)/6', exponent=0.5)
    """

    outer: str
    inner: str
    exponent: float = 0.5
    signs: Signs = "random"
    _outer: Expression = field(init=False)
    branches: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_parts()
        outer = one_variable(self.outer, "the outer function", letter="h")
        self._set("_outer", outer)
        self._set("outer", outer.text)

    def _outer_values(self, h: np.ndarray) -> np.ndarray:
        return np.asarray(self._outer(h))

    @property
    def latex(self) -> str:
        """LaTeX of the definition."""
        g = self._outer.latex.replace("h_{1}", "h")
        return rf"y = {g}, \quad {self._latex_of_features('')}"


@dataclass(frozen=True, eq=False, repr=False)
class Might(_Branches):
    r"""Multi-index Gaussian hierarchical target, r branches on disjoint sets of directions.

    .. math::
        h_m = \frac{1}{\sqrt{D}} \sum_{i=1}^{D} a_{mi} P(z_{mi}), \qquad
        y = \frac{1}{\sqrt{r}} \sum_{m=1}^{r} g(h_m) \quad\text{or}\quad y = g(h_1, \dots, h_r)

    Parameters
    ----------
    outer : str
        A function g of ``h`` is summed over the branches and divided by the root of their number;
        a function of ``h1 ... hr`` is taken as it is.
    inner : str
        The function P of ``z``, with mean 0 under the standard Gaussian, taken as typed.
    branches : int
        Number r of features.
    exponent : float
        D is the integer part of ``d**exponent``; ``branches * D <= d`` is needed.
    signs : str or array (branches, D)
        Weights a: ``"random"`` signs, ``"ones"``, or given numbers.
    noise : float
        Variance of the label noise.

    Examples
    --------
    >>> t = Might(outer="h1*h2", inner="He2(z)", branches=2)
    >>> t.sample(n=10, d=64).h.shape, t.inner_dimension(64)
    ((10, 2), 8)
    """

    outer: str
    inner: str
    branches: int = 3
    exponent: float = 0.5
    signs: Signs = "random"
    _outer: Expression = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_parts()
        self._set("branches", whole_number("branches", self.branches))
        outer = Expression(self.outer, letter="h", what="the outer function")
        if outer.r not in (1, self.branches):
            raise TargetError(
                f"the outer function '{outer.text}' uses h1..h{outer.r}, the target has "
                f"branches = {self.branches}. Write a function of h, which is summed over the "
                f"branches, or set branches={outer.r}."
            )
        self._set("_outer", outer)
        self._set("outer", outer.text)

    def _outer_values(self, h: np.ndarray) -> np.ndarray:
        if self._outer.r > 1 or self.branches == 1:
            return np.asarray(self._outer(h))
        total: np.ndarray = self._outer(h[..., None]).sum(axis=1)
        return total / math.sqrt(self.branches)

    @property
    def latex(self) -> str:
        """LaTeX of the definition."""
        g = self._outer.latex
        if self._outer.r == 1 and self.branches > 1:
            g = g.replace("h_{1}", "h_{m}")
            g = rf"\left({g}\right)" if isinstance(self._outer.tree, Sum) else g
            g = rf"\frac{{1}}{{\sqrt{{{self.branches}}}}} \sum_{{m=1}}^{{{self.branches}}} {g}"
        return rf"y = {g}, \quad {self._latex_of_features('m')}"

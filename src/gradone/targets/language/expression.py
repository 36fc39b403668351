"""A checked expression: everything that gradone knows about a typed function."""

from __future__ import annotations

import numbers
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...base.errors import BadData
from ...base.estimate import Estimate
from ...calculus.expansion import (
    FEWEST_SAMPLES,
    HermiteExpansion,
    expectation,
    hermite_expansion,
    knows_its_square,
)
from ...calculus.integrand import Plane, SeparableSum
from ...calculus.polynomial import Polynomial
from .admissible import check_admissible
from .breaks import break_planes
from .derivative import derivative
from .evaluate import evaluate
from .parser import parse
from .polynomials import polynomial_of
from .printing import latex_of, text_of
from .separate import separable_sum
from .structure import Parity, homogeneity, is_piecewise_constant, linear_span, parity
from .tree import Node, power, variables

_ENERGIES, _LEAPS = 10, 12  # usual degrees


class Expression:
    """Function of Gaussian variables, given as text.

    Parameters
    ----------
    text : str
        A function of ``z1 ... z9`` (``z`` means ``z1``).
    letter : str
        Letter of the variables; outer functions of hierarchical targets use ``h``.
    what : str
        What errors call the function.

    Examples
    --------
    >>> f = Expression("relu(z) + z^2")
    >>> f.canonical, f.r, f([[2.0]])
    ('relu(z1) + z1**2', 1, array([6.]))
    """

    def __init__(self, text: str, *, letter: str = "z", what: str = "the target") -> None:
        tree = parse(text, letter=letter, what=what)
        check_admissible(tree, text, what=what)
        self._set(tree, text.strip(), letter)

    @classmethod
    def from_tree(cls, tree: Node, *, letter: str = "z", r: int | None = None) -> Expression:
        """Expression of a tree that was derived from a checked one; it is not checked again."""
        expression = cls.__new__(cls)
        expression._set(tree, text_of(tree), letter, r)
        return expression

    def _set(self, tree: Node, text: str, letter: str, r: int | None = None) -> None:
        self.tree, self.text, self.letter = tree, text, letter
        self.variables = variables(tree)
        self.r = r or max(self.variables, default=1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and (self.tree, self.r) == (other.tree, other.r)

    def __hash__(self) -> int:
        return hash((self.tree, self.r))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self.tree, self.text, self.letter, self.r))

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __call__(self, z: Any) -> Any:
        """Values at points ``z`` of shape ``(..., r)``, in the array library of `z`."""
        shape = tuple(getattr(z, "shape", None) or np.shape(z))
        if not shape or shape[-1] != self.r:
            raise BadData(
                f"points must have the shape (..., {self.r}) because the function has r = {self.r} "
                f"variables, got {shape}"
            )
        return evaluate(self.tree, z)

    @cached_property
    def canonical(self) -> str:
        """Canonical text: the same for texts that differ by order or brackets only."""
        return text_of(self.tree)

    @cached_property
    def latex(self) -> str:
        """LaTeX of the function."""
        return latex_of(self.tree)

    def derivative(self, index: int = 1) -> Expression:
        """Partial derivative with respect to variable `index`, valid away from jumps."""
        return Expression.from_tree(derivative(self.tree, index), letter=self.letter, r=self.r)

    # ---- structure

    @cached_property
    def polynomial(self) -> Polynomial | None:
        """The function as an exact polynomial, or None if it is not one."""
        return polynomial_of(self.tree, self.r)

    def parity(self, *flipped: int) -> Parity:
        """``"even"`` or ``"odd"`` when the given variables change sign together, else None."""
        return parity(self.tree, flipped)

    @property
    def even_in(self) -> tuple[int, ...]:
        """Variables in which the function is even."""
        return tuple(i for i in self.variables if parity(self.tree, (i,)) == "even")

    @property
    def odd_in(self) -> tuple[int, ...]:
        """Variables in which the function is odd."""
        return tuple(i for i in self.variables if parity(self.tree, (i,)) == "odd")

    def homogeneity(self, *scaled: int) -> float | None:
        """Degree of homogeneity in the given variables (default: all together), or None."""
        return homogeneity(self.tree, scaled or self.variables)

    @cached_property
    def span(self) -> np.ndarray:
        """Orthonormal rows (k, r) of the linear forms that the function depends on."""
        return linear_span(self.tree, self.r)

    @property
    def is_discrete(self) -> bool:
        """Whether the function takes finitely many values."""
        return is_piecewise_constant(self.tree)

    @property
    def is_separable_sum(self) -> bool:
        """Whether it is a sum of functions that share no variable."""
        return self._is_split_by_terms(product=False)

    @property
    def is_separable_product(self) -> bool:
        """Whether it is a product of functions that share no variable."""
        return self._is_split_by_terms(product=True)

    def _is_split_by_terms(self, *, product: bool) -> bool:
        form = self.form
        axes = [tuple(a for b in t.blocks for a in b.axes) for t in form.terms]
        if product:
            if self.polynomial is not None:
                return len(self.polynomial.coefficients) == 1
            return (
                not form.polynomial.coefficients
                and len(form.terms) == 1
                and all(len(b.axes) == 1 for b in form.terms[0].blocks)
            )
        monomials = [m for m in form.polynomial.coefficients]
        return all(len(a) == 1 for a in axes) and all(sum(k > 0 for k in m) <= 1 for m in monomials)

    @cached_property
    def breaks(self) -> tuple[tuple[Plane, ...], bool]:
        """Planes of jumps and kinks, and whether there are curved ones besides."""
        return break_planes(self.tree, self.r)

    @property
    def kinks(self) -> tuple[float, ...]:
        """For r = 1: points where the function or its derivative jumps."""
        if self.r != 1:
            raise BadData(f"kinks are points only for r = 1, here r = {self.r}; see .breaks")
        return tuple(sorted(plane.offset for plane in self.breaks[0]))

    # ---- Gaussian calculus

    @cached_property
    def form(self) -> SeparableSum:
        """The function as the integration rules see it."""
        return separable_sum(self.tree, self.r)

    @cached_property
    def square(self) -> SeparableSum:
        """The squared function as the integration rules see it."""
        return separable_sum(power(self.tree, 2), self.r)

    def mean(self) -> Estimate:
        """Gaussian mean."""
        return self._mean

    @cached_property
    def _mean(self) -> Estimate:
        return expectation(self.form)

    def second_moment(self) -> Estimate:
        """Gaussian mean of the square."""
        return self._second_moment

    @cached_property
    def _second_moment(self) -> Estimate:
        return expectation(self.square)

    def hermite(self, degree: int) -> HermiteExpansion:
        """Hermite coefficients, tensors and energies up to a total degree."""
        if isinstance(degree, bool) or not isinstance(degree, numbers.Integral) or degree < 0:
            raise BadData(f"a degree is an integer >= 0, got {degree!r}")
        return _expansion(self, int(degree))


def _restore(tree: Node, text: str, letter: str, r: int) -> Expression:
    """Expression that crossed a process boundary; what was derived from it is derived again."""
    expression = Expression.__new__(Expression)
    expression._set(tree, text, letter, r)
    return expression


@lru_cache(maxsize=128)
def _expansion(expression: Expression, degree: int) -> HermiteExpansion:
    form = expression.form
    widest = max((len(block.axes) for term in form.terms for block in term.blocks), default=0)
    # Energies and leaps are asked for together, up to different degrees.
    if degree in range(_ENERGIES, _LEAPS) and widest <= 2:
        return _expansion(expression, _LEAPS).up_to(degree)
    expansion = hermite_expansion(form, degree)
    if knows_its_square(form, degree):
        return expansion
    # As many points as coefficients of high degrees have: they share the error.
    samples = FEWEST_SAMPLES if degree > 2 else None
    return replace(expansion, second_moment=expectation(expression.square, samples=samples))

"""Targets: multi-index functions of a Gaussian input, given as text."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arrays import as_floats
from ..base.errors import BadData, TargetError, TargetSyntaxError
from ..base.estimate import Estimate, roughest
from .channel import OutputChannel
from .directions import hidden_directions
from .language.expression import Expression
from .language.parser import MAX_VARIABLES
from .realization import IndexRealization
from .sampled import Sampled, whole_number

if TYPE_CHECKING:
    from ..calculus.expansion import HermiteExpansion


@dataclass(frozen=True, eq=False, repr=False)
class Target(Sampled):
    r"""Multi-index function of a high-dimensional Gaussian input, with label noise.

    .. math:: y = g(W^\star x) + \sqrt{\Delta}\,\xi, \qquad x \sim N(0, I_d), \quad \xi \sim N(0, 1)

    with r orthonormal rows in :math:`W^\star`.

    Parameters
    ----------
    text : str
        The function g of ``z1 ... z9``; ``z`` means ``z1``. r is the largest index used.
    noise : float
        Variance :math:`\Delta` of the label noise.

    Notes
    -----
    Two targets are equal when their canonical texts and their noises are.

    Examples
    --------
    >>> t = Target("He2(z1) + sign(z1*z2*z3)")
    >>> t.r, t([[0.0, 1.0, -1.0]]), t.variance
    (3, array([-1.]), 3.000000000000000 ± 5e-15 (quadrature))
    >>> Target("z2 + z1", noise=0.1) == Target("z1 + z2", noise=0.1)
    True
    """

    text: str
    noise: float = 0.0
    expression: Expression = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", _read(self.text))
        object.__setattr__(self, "text", self.text.strip())
        object.__setattr__(self, "noise", checked_noise(self.noise))

    # ---- identity

    @property
    def canonical(self) -> str:
        """Canonical text: the same for texts that differ by order or brackets only."""
        return self.expression.canonical

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Target):
            return NotImplemented
        return (self.canonical, self.noise) == (other.canonical, other.noise)

    def __hash__(self) -> int:
        return hash((self.canonical, self.noise))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.text, self.noise))

    def __repr__(self) -> str:
        noise = f", noise={self.noise!r}" if self.noise else ""
        return f"Target({self.text!r}{noise})"

    def _repr_html_(self) -> str:
        return html_formula(f"y = {self.latex}", self.noise)

    # ---- the function

    @property
    def r(self) -> int:
        """Number of hidden directions: the largest index used."""
        return self.expression.r

    @property
    def latex(self) -> str:
        """LaTeX of the function g."""
        return self.expression.latex

    def __call__(self, z: Any) -> Any:
        """Noiseless values at points ``z`` (..., r), in the array library of `z`."""
        return self.expression(z)

    @property
    def link(self) -> Callable[[Any], Any]:
        """For r = 1, the function g of one number, applied to every entry of an array.

        Examples
        --------
        >>> Target("z**2").link([1.0, 2.0, 3.0])
        array([1., 4., 9.])
        """
        if self.r != 1:
            raise BadData(
                f"link is a function of one variable, the target has r = {self.r}; "
                f"call the target on points (..., {self.r}) instead"
            )
        return self._entrywise

    def _entrywise(self, z: Any) -> Any:
        _, z = as_floats(z)
        return self.expression(z[..., None])

    @property
    def kinks(self) -> tuple[float, ...]:
        """For r = 1: points where the function or its derivative jumps."""
        return self.expression.kinks

    @cached_property
    def channel(self) -> OutputChannel:
        """Law of the label given the projections, P(y | z)."""
        return OutputChannel(self.expression, self.noise)

    # ---- Gaussian calculus

    def hermite(self, degree: int) -> HermiteExpansion:
        """Hermite coefficients, tensors and energies of g up to a total degree."""
        return self.expression.hermite(degree)

    @property
    def variance(self) -> Estimate:
        """Gaussian variance of the function g; the label noise does not count."""
        return variance(self.expression)

    # ---- samples

    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> IndexRealization:
        """Target in dimension d: the hidden directions are drawn, labels can be computed."""
        W_star = hidden_directions(self.r, whole_number("d", d), seed=seed, replicate=replicate)
        return IndexRealization(W_star, self.expression)


def _read(text: str) -> Expression:
    """Function of a target; a name of the zoo in place of a formula is called so."""
    try:
        return Expression(text)
    except TargetSyntaxError:
        from .zoo import zoo  # the zoo is made of targets

        entry = zoo().find(text.strip().replace("_", "-")) if isinstance(text, str) else None
        if entry is None:
            raise
        raise TargetSyntaxError(
            f"'{text.strip()}' is not a formula but the name of a target of the zoo",
            hint=f'Write gd.zoo("{entry.name}"), or its formula: {entry.formula}',
        ) from None


def Committee(r: int = 3, activation: str = "erf(z)", *, noise: float = 0.0) -> Target:
    r"""Committee machine: the mean of one activation over r directions.

    .. math:: g(z) = \frac{1}{r} \sum_{i=1}^{r} \sigma(z_i)

    Parameters
    ----------
    r : int
        Number of directions, 1 to 9.
    activation : str
        The function :math:`\sigma` of ``z``.
    noise : float
        Variance of the label noise.

    Examples
    --------
    >>> Committee(r=3, activation="erf(z)")
    Target('(erf(z1) + erf(z2) + erf(z3))/3')
    """
    r = whole_number("r", r)
    if r > MAX_VARIABLES:
        raise BadData(f"r must be at most {MAX_VARIABLES}, got {r}")
    function = one_variable(activation, "the activation of a committee")
    terms = [re.sub(r"\bz1?\b", f"z{i}", function.text) for i in range(1, r + 1)]
    return Target(f"({' + '.join(terms)})/{r}" if r > 1 else terms[0], noise=noise)


def as_target(target: Sampled | str) -> Sampled:
    """Target itself; a text is read as a noiseless target.

    Examples
    --------
    >>> as_target("z1*z2")
    Target('z1*z2')
    """
    if isinstance(target, str):
        return Target(target)
    if not isinstance(target, Sampled):
        raise BadData(
            f"a target or its text is needed, got {type(target).__name__}; "
            'write gd.Target("He2(z1) + z2") or the text alone'
        )
    return target


def one_variable(text: str, what: str, *, letter: str = "z") -> Expression:
    """Expression of one variable, checked."""
    expression = Expression(text, letter=letter, what=what)
    if expression.r != 1:
        raise TargetError(
            f"{what} is a function of {letter} alone, but '{expression.text}' uses "
            + ", ".join(f"{letter}{i}" for i in expression.variables)
        )
    return expression


def variance(expression: Expression) -> Estimate:
    r"""Gaussian variance of an expression.

    Examples
    --------
    >>> variance(Expression("He2(z)/2 + He3(z)/6"))
    0.666666666667 (exact)
    """
    if (p := expression.polynomial) is not None:
        return Estimate(float((p * p).expectation() - p.expectation() ** 2))
    mean, second = expression.mean(), expression.second_moment()
    error = second.error + (2 * abs(mean.value) + mean.error) * mean.error
    if mean.value:
        error += np.finfo(float).eps * second.value  # rounding of the difference
    kind = roughest(mean.kind, second.kind)
    return Estimate(max(second.value - mean.value**2, 0.0), error, kind)


def checked_noise(noise: Any) -> float:
    """Variance of the label noise, checked."""
    try:
        number = float(noise)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0) or isinstance(noise, str | bool):
        raise BadData(
            f"noise is the variance of the label noise, a finite number >= 0, got {noise!r}"
        )
    return number + 0.0  # -0.0 becomes 0.0


def html_formula(latex: str, noise: float) -> str:
    """Formula for a notebook, with the label noise when there is some."""
    added = rf" + \sqrt{{{noise:g}}}\,\xi" if noise else ""
    return f"<span>${html.escape(latex + added, quote=False)}$</span>"

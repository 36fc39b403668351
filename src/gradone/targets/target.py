"""Targets: multi-index functions of a Gaussian input, given as text."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arrays import as_floats
from ..base.errors import BadData, OutOfRegime, TargetError, TargetSyntaxError
from ..base.estimate import Estimate, roughest
from .channel import OutputChannel
from .directions import hidden_directions
from .language.average import averaged
from .language.expression import Expression
from .language.latent import Formula, formula_of, read_formula, with_latent_names
from .language.parser import MAX_VARIABLES
from .language.tree import add, negate, power
from .realization import IndexRealization
from .sampled import Sampled, whole_number

if TYPE_CHECKING:
    from ..calculus.expansion import HermiteExpansion


@dataclass(frozen=True, eq=False, repr=False)
class Target(Sampled):
    r"""Multi-index function of a high-dimensional Gaussian input, with noise.

    .. math:: y = g(W^\star x, \xi) + \sqrt{\Delta}\,\zeta, \qquad
              x \sim N(0, I_d), \quad \xi \sim N(0, I_q), \quad \zeta \sim N(0, 1)

    with r orthonormal rows in :math:`W^\star`; q = 0 unless the text contains latent noise.

    Parameters
    ----------
    text : str
        The function g of ``z1 ... z9``; ``z`` means ``z1``. r is the largest index used. Latent
        noise that nobody sees is ``xi``, or ``xi1 ... xi9``.
    noise : float
        Variance :math:`\Delta` of the label noise.

    Notes
    -----
    Two targets are equal when their canonical texts and their noises are. Latent noise that is
    added to everything else is label noise: ``z1*z2 + 0.3*xi`` is ``z1*z2`` with the noise 0.09.

    Examples
    --------
    >>> t = Target("He2(z1) + sign(z1*z2*z3)")
    >>> t.r, t([[0.0, 1.0, -1.0]]), t.variance
    (3, array([-1.]), 3.000000000000000 ± 5e-15 (quadrature))
    >>> Target("z2 + z1", noise=0.1) == Target("z1 + z2", noise=0.1)
    True
    >>> Target("sign(z1*z2 + 0.3*xi)").q, Target("z1*z2 + 0.3*xi")
    (1, Target('z1*z2', noise=0.09))
    """

    kind = ("a function of a few directions", "functions of a few directions")

    text: str
    noise: float = 0.0
    formula: Formula = field(init=False)

    def __post_init__(self) -> None:
        formula = _read(self.text)
        object.__setattr__(self, "formula", formula)
        object.__setattr__(self, "text", formula.text)
        object.__setattr__(self, "noise", checked_noise(self.noise) + formula.noise)

    @classmethod
    def of(
        cls, expression: Expression, noise: float = 0.0, *, latent: int = 0, text: str = ""
    ) -> Target:
        """Target of an expression that was derived from a checked one, shown as `text`.

        The last `latent` variables are latent noise.

        Examples
        --------
        >>> Target.of(Expression("relu(z)").derivative(), noise=0.1)
        Target('step(z1)', noise=0.1)
        """
        formula = formula_of(expression, latent)
        formula = replace(formula, text=text or formula.text)
        return _restored(cls, formula, checked_noise(noise))

    # ---- identity

    @property
    def canonical(self) -> str:
        """Canonical text: the same for texts that differ by order or brackets only."""
        return self.formula.canonical

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Target):
            return NotImplemented
        return (self.canonical, self.noise) == (other.canonical, other.noise)

    def __hash__(self) -> int:
        return hash((self.canonical, self.noise))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (type(self), self.formula, self.noise))

    def __repr__(self) -> str:
        noise = f", noise={self.noise!r}" if self.noise else ""
        return f"Target({self.text!r}{noise})"

    def _repr_html_(self) -> str:
        return html_formula(f"y = {self.latex}", self.noise)

    # ---- the function

    @property
    def r(self) -> int:
        """Number of hidden directions: the largest index used."""
        return self.formula.r

    @property
    def q(self) -> int:
        """Number of latent variables."""
        return self.formula.q

    @property
    def variables(self) -> tuple[int, ...]:
        """Indices of the directions that occur in the text."""
        return tuple(i for i in self.joint.variables if i <= self.r)

    @property
    def latex(self) -> str:
        """LaTeX of the function g."""
        return self.formula.latex

    @property
    def joint(self) -> Expression:
        """The function g of r + q variables, the latent ones behind the others."""
        return self.formula.joint

    @property
    def expression(self) -> Expression:
        """The function g of z alone; a target with latent noise has none."""
        if self.q:
            raise TargetError(f"'{self.text}' depends on latent noise; use mean(z) or draw(z, rng)")
        return self.formula.joint

    @cached_property
    def regression(self) -> Expression:
        r"""Conditional mean :math:`\bar g(z) = \mathbb{E}[y \mid z]` as a formula.

        Examples
        --------
        >>> Target("sign(z + sqrt(0.5)*xi)").regression.canonical
        'erf(z1)'
        """
        return self._averaged(self.joint) if self.q else self.joint

    @cached_property
    def conditional_variance(self) -> Expression:
        r"""Variance :math:`\mathrm{Var}(g(z, \xi) \mid z)` as a formula, label noise left out.

        Examples
        --------
        >>> Target("z*(1 + xi/2)").conditional_variance.canonical
        'z1**2/4'
        """
        square = self._averaged(Expression.from_tree(power(self.joint.tree, 2), r=self.joint.r))
        mean = power(self.regression.tree, 2)
        return Expression.from_tree(add((square.tree, negate(mean))), r=self.r)

    def _averaged(self, joint: Expression) -> Expression:
        try:
            return averaged(joint, self.r)
        except OutOfRegime as error:
            raise OutOfRegime(with_latent_names(str(error), self.r)) from None

    def __call__(self, z: Any, xi: Any = None) -> Any:
        """Values at points ``z`` (..., r) and latent ``xi`` (..., q), without label noise."""
        if xi is None:
            return self.expression(z)
        xp, z = as_floats(z)
        _, xi = as_floats(xi)
        if tuple(xi.shape) != (*z.shape[:-1], self.q):
            raise BadData(
                f"xi must have the shape (..., {self.q}) of the points, got {tuple(xi.shape)} for "
                f"points {tuple(z.shape)}"
            )
        return self.joint(xp.concat([z, xi], axis=-1))

    def mean(self, z: Any) -> Any:
        """Conditional mean of the label at points ``z`` (..., r)."""
        return self.regression(z)

    def draw(self, z: Any, rng: np.random.Generator) -> Any:
        """Labels drawn at points ``z`` (..., r), with latent and label noise."""
        return self.channel.draw(z, rng)

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
        return OutputChannel(self.joint, self.noise, self.q)

    # ---- Gaussian calculus

    def hermite(self, degree: int) -> HermiteExpansion:
        """Hermite coefficients, tensors and energies of E[y | z] up to a total degree."""
        return self.regression.hermite(degree)

    @property
    def variance(self) -> Estimate:
        """Gaussian variance of the function g; label noise does not count, latent noise does."""
        return variance(self.joint)

    @cached_property
    def noise_variance(self) -> Estimate:
        r"""What no function of z explains: :math:`\Delta + \mathbb{E}\,\mathrm{Var}(y \mid z)`.

        Examples
        --------
        >>> round(Target("sign(z + sqrt(0.5)*xi)").noise_variance.value, 10)
        0.5354409456
        """
        if not self.q:
            return Estimate(self.noise)
        whole, mean = self.joint.second_moment(), self.regression.second_moment()
        left = max(whole.value - mean.value, 0.0)
        kind = roughest(whole.kind, mean.kind)
        return Estimate(self.noise + left, whole.error + mean.error, kind)

    @cached_property
    def averaged(self) -> Target:
        r"""Target :math:`\bar g(z)` whose label noise has the variance `noise_variance`.

        What is linear in y, and what is quadratic in it to leading order in a high dimension, is
        the same for both: random features, kernels and one large step see no other noise.

        Examples
        --------
        >>> Target("(z + xi/2)**2").averaged
        Target('z1**2 + 0.25', noise=1.125)
        """
        if not self.q:
            return self
        if not self.regression.variables:
            raise OutOfRegime(
                f"'{self.text}' has the same mean for every z: whoever is linear in the label sees "
                "nothing but noise"
            )
        return Target.of(self.regression, self.noise_variance.value)

    # ---- samples

    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> IndexRealization:
        """Target in dimension d: the hidden directions are drawn, labels can be computed."""
        W_star = hidden_directions(self.r, whole_number("d", d), seed=seed, replicate=replicate)
        return IndexRealization(W_star, self)


def _restored(kind: type[Target], formula: Formula, noise: float) -> Target:
    """Target that crossed a process boundary."""
    target = kind.__new__(kind)
    object.__setattr__(target, "formula", formula)
    object.__setattr__(target, "text", formula.text)
    object.__setattr__(target, "noise", noise)
    return target


def _read(text: str) -> Formula:
    """Function of a target; a name of the zoo in place of a formula is called so."""
    try:
        return read_formula(text)
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

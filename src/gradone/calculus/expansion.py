r"""Hermite expansion of a function of several Gaussian variables.

.. math::
    f = \sum_\beta \frac{c_\beta}{\beta!}\,\mathrm{He}_\beta, \qquad
    c_\beta = \mathbb{E}\Big[f(z)\prod_i \mathrm{He}_{\beta_i}(z_i)\Big], \qquad
    W_k = \sum_{|\beta|=k} \frac{c_\beta^2}{\beta!} = \frac{\|C_k\|_F^2}{k!}
    \qquad [GC-1]
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.curves import curve
from ..base.errors import OutOfRegime
from ..base.estimate import Estimate, Kind, roughest
from .coefficients import BlockCoefficients
from .grid import grid_coefficients
from .hermite import factorials, multi_indices
from .integrand import Block, Integrand, SeparableSum, Term
from .line import line_coefficients
from .polynomial import Polynomial
from .sobol import sobol_coefficients

if TYPE_CHECKING:
    import xarray as xr

MAX_VARIABLES = 5
POINTS, FEWEST_SAMPLES = 1 << 22, 1 << 18


class HermiteTensor(NamedTuple):
    """Symmetric tensor with the error of each entry."""

    value: np.ndarray
    error: np.ndarray


@dataclass(frozen=True)
class HermiteExpansion:
    r"""Hermite coefficients up to a degree, with their errors.

    Parameters
    ----------
    r, degree : int
        Number of variables; largest total degree kept.
    indices : ndarray of int, shape (m, r)
        The multi-indices.
    value, error : ndarray, shape (m,)
        Orthonormal coefficients :math:`c_\beta/\sqrt{\beta!}` and their errors.
    kind : str
        How they were found.
    second_moment : Estimate
        :math:`\mathbb{E}[f^2]`.
    exact : Polynomial, optional
        The function itself, if it is a polynomial: then every answer is exact.
    """

    r: int
    degree: int
    indices: np.ndarray
    value: np.ndarray
    error: np.ndarray
    kind: Kind
    second_moment: Estimate
    exact: Polynomial | None = None

    def up_to(self, degree: int) -> HermiteExpansion:
        """The same with fewer degrees."""
        kept = self.indices.sum(axis=1) <= degree
        return replace(
            self,
            degree=min(degree, self.degree),
            indices=self.indices[kept],
            value=self.value[kept],
            error=self.error[kept],
        )

    def coefficient(self, *beta: int) -> Estimate:
        r"""Coefficient :math:`c_\beta = \mathbb{E}[f\,\mathrm{He}_\beta]`."""
        if len(beta) != self.r or sum(beta) > self.degree or min(beta) < 0:
            raise OutOfRegime(
                f"no coefficient {beta}: the expansion has r = {self.r} variables and total "
                f"degree at most {self.degree}"
            )
        if self.exact is not None:
            return Estimate(float(self.exact.hermite_coefficient(beta)))
        row = int(np.flatnonzero((self.indices == beta).all(axis=1))[0])
        scale = math.sqrt(math.prod(map(math.factorial, beta)))
        return Estimate(float(scale * self.value[row]), float(scale * self.error[row]), self.kind)

    def tensor(self, k: int) -> HermiteTensor:
        r"""Hermite tensor :math:`C_k = \mathbb{E}[f\,\mathrm{He}_k(z)]`, shape ``(r,) * k``."""
        if not 0 <= k <= self.degree:
            raise OutOfRegime(f"no tensor of order {k}: the expansion stops at {self.degree}")
        rows = np.flatnonzero(self.indices.sum(axis=1) == k)
        scale = np.sqrt(factorials(self.indices[rows]))
        row_of = {tuple(beta): i for i, beta in enumerate(self.indices[rows].tolist())}
        where = np.zeros((self.r,) * k, dtype=np.int64)
        for entry in itertools.product(range(self.r), repeat=k):
            where[entry] = row_of[tuple(entry.count(axis) for axis in range(self.r))]
        return HermiteTensor((scale * self.value[rows])[where], (scale * self.error[rows])[where])

    def energy(self, k: int) -> Estimate:
        r"""Energy at degree k, :math:`W_k = \sum_{|\beta|=k} c_\beta^2/\beta!`."""
        if not 0 <= k <= self.degree:
            raise OutOfRegime(f"no energy at degree {k}: the expansion stops at {self.degree}")
        if self.exact is not None:
            return Estimate(float(self.exact_energies().get(k, Fraction(0))))
        at = self.indices.sum(axis=1) == k
        value, error = self.value[at], self.error[at]
        return Estimate(
            float((value**2).sum()), float((2 * np.abs(value) * error + error**2).sum()), self.kind
        )

    @property
    def energies(self) -> list[Estimate]:
        """Energies at degrees 0, ..., degree."""
        return [self.energy(k) for k in range(self.degree + 1)]

    def exact_energies(self) -> dict[int, Fraction]:
        """Nonzero energies as fractions, for polynomials only."""
        if self.exact is None:
            raise OutOfRegime("only polynomials with rational coefficients have exact energies")
        total: dict[int, Fraction] = {}
        for beta, c in self.exact.hermite_coefficients().items():
            weight = c * c / math.prod(map(math.factorial, beta))
            total[sum(beta)] = total.get(sum(beta), Fraction(0)) + weight
        return total

    @property
    def tail(self) -> Estimate:
        r"""Energy above the largest degree, :math:`\mathbb{E}[f^2] - \sum_{k\le K} W_k`."""
        if self.exact is not None:
            above = (w for k, w in self.exact_energies().items() if k > self.degree)
            return Estimate(float(sum(above, Fraction(0))))
        energies = self.energies
        value = self.second_moment.value - math.fsum(e.value for e in energies)
        error = self.second_moment.error + math.fsum(e.error for e in energies)
        return Estimate(value, error, roughest(self.kind, self.second_moment.kind))

    def to_curve(self, target: str) -> xr.Dataset:
        """Energies per degree as a labeled curve; the attribute ``tail`` holds the rest."""
        energies = self.energies
        dataset = curve(
            {
                "energy": ("degree", [e.value for e in energies]),
                "energy_err": ("degree", [e.error for e in energies]),
            },
            {"degree": np.arange(self.degree + 1)},
            source="analysis:hermite_energy",
            target=target,
            labels={"energy": ("W_k", "Hermite energy at degree k")},
        )
        return dataset.assign_attrs(tail=self.tail.value, tail_err=self.tail.error)


def hermite_expansion(
    f: SeparableSum,
    degree: int,
    *,
    tolerance: float = 1e-10,
    points: int | None = None,
) -> HermiteExpansion:
    r"""Hermite coefficients of `f` up to a total degree [GC-1].

    Parameters
    ----------
    f : SeparableSum
        The function.
    degree : int
        Largest total degree.
    tolerance : float
        Refinement of a block stops when its error is below this, relative to its size.
    points : int, optional
        Largest number of function values per block; default 4 million for product rules, and for
        Sobol points between 2^18 and 2^20, fewer when many coefficients are wanted.

    Notes
    -----
    Polynomials are exact. Blocks of one variable: closed form or adaptive panels. Blocks of two to
    five variables: tensor Gauss-Hermite if smooth, iterated Gauss-Legendre if they break on
    planes, scrambled Sobol points if they break on curved surfaces or if product rules do not
    converge. The cost of a block of s variables is at most ``points`` values times s (degree + 1).
    The second moment is that of the function if it :func:`knows_its_square`, and otherwise the sum
    of the energies kept.

    Examples
    --------
    >>> relu = SeparableSum.of(lambda z: np.maximum(z, 0.0), kinks=[0.0])
    >>> hermite_expansion(relu, 2).coefficient(2).agrees_with(1 / math.sqrt(2 * math.pi))
    True
    """
    indices = multi_indices(f.r, degree)
    root = np.sqrt(factorials(indices))
    polynomial = {beta: float(c) for beta, c in f.polynomial.hermite_coefficients().items()}
    value = np.array([polynomial.get(tuple(beta), 0.0) for beta in indices.tolist()]) / root
    error = np.zeros_like(value)
    kind: Kind = "exact"
    second: Estimate | None = None
    for term in f.terms:
        found = _term_coefficients(
            term, indices, degree, tolerance, points, squared=_is_polynomial_and_block(f, degree)
        )
        if found.square is not None:  # E[(p + b)^2] = E[p^2] + 2 E[p b] + E[b^2]
            first = math.fsum(value**2) + 2 * float(value @ found.value) + found.square.value
            rest = 2 * float(np.abs(value) @ found.error) + found.square.error
            second = Estimate(first, rest, roughest(found.kind, found.square.kind))
        value, error = value + found.value, error + found.error
        kind = roughest(kind, found.kind)
    exact = None if f.terms else f.polynomial
    if exact is not None:
        squares = (
            c * c / math.prod(map(math.factorial, beta))
            for beta, c in exact.hermite_coefficients().items()
        )
        second = Estimate(float(sum(squares, Fraction(0))))
    elif second is None:
        second = Estimate(float((value**2).sum()), float((2 * np.abs(value) * error).sum()), kind)
    return HermiteExpansion(f.r, degree, indices, value, error, kind, second, exact)


def knows_its_square(f: SeparableSum, degree: int) -> bool:
    """Whether an expansion up to a degree comes with the second moment of the function.

    That is so for polynomials, and for a polynomial plus a single block that does not separate and
    does not grow faster than a polynomial: the mean of its square comes from the same values.
    """
    return not f.terms or _is_polynomial_and_block(f, degree)


def _is_polynomial_and_block(f: SeparableSum, degree: int) -> bool:
    blocks = [block for term in f.terms for block in term.blocks]
    if len(blocks) != 1 or blocks[0].integrand.r < 2 or f.polynomial.degree > degree:
        return False
    block = blocks[0].integrand
    return not block.linear and not block.quadratic and block.degree <= degree


def expectation(
    f: SeparableSum,
    *,
    tolerance: float = 1e-12,
    points: int | None = None,
    samples: int | None = None,
) -> Estimate:
    r"""Gaussian mean :math:`\mathbb{E}[f(z)]`, :math:`z \sim \mathcal{N}(0, I_r)`.

    `points` are the function values of a block, `samples` those of them that are Sobol points.

    Examples
    --------
    >>> f = SeparableSum.of(np.cos)
    >>> expectation(f).agrees_with(math.exp(-0.5))
    True
    """
    if not f.terms:
        return Estimate(float(f.polynomial.expectation()))
    value, error = float(f.polynomial.expectation()), 0.0
    kind: Kind = "exact"
    indices = np.zeros((1, f.r), dtype=np.int64)
    for term in f.terms:
        found = _term_coefficients(term, indices, 0, tolerance, points, samples)
        value, error = value + float(found.value[0]), error + float(found.error[0])
        kind = roughest(kind, found.kind)
    return Estimate(value, error, kind)


def _term_coefficients(
    term: Term,
    indices: np.ndarray,
    degree: int,
    tolerance: float,
    points: int | None,
    samples: int | None = None,
    *,
    squared: bool = False,
) -> BlockCoefficients:
    """Orthonormal coefficients of one term at the given multi-indices, with errors.

    With the mean of its square if that is wanted, of a term with one block.
    """
    used = [axis for block in term.blocks for axis in block.axes]
    unused = [axis for axis in range(indices.shape[1]) if axis not in used]
    alive = (indices[:, unused] == 0).all(axis=1)
    c = float(term.coefficient)
    value = np.where(alive, c, 0.0)
    largest = np.abs(value)
    kind: Kind = "exact"
    square: Estimate | None = None
    for block in term.blocks:
        found = block_coefficients(
            block.integrand, degree, tolerance, points, samples, squared=squared
        )
        v, e = _at(block, found, indices)
        value, largest = value * v, largest * (np.abs(v) + e)
        kind = roughest(kind, found.kind)
        if squared and found.square is not None:
            square = Estimate(
                c * c * found.square.value, c * c * found.square.error, found.square.kind
            )
    return BlockCoefficients(value, largest - np.abs(value), kind, square=square)


def _at(
    block: Block, found: BlockCoefficients, indices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of a block at multi-indices of all variables."""
    beta = indices[:, block.axes]
    if block.direction is None:
        return found.value[tuple(beta.T)], found.error[tuple(beta.T)]
    # f = phi(<w, z>): the tensor C_k is c_k w (x) ... (x) w.
    k = beta.sum(axis=1)
    orders = np.array([math.sqrt(math.factorial(j)) for j in range(len(found.value))])
    powers = np.prod(np.array(block.direction) ** beta, axis=1) * orders[k]
    powers = powers / np.sqrt(factorials(beta))
    return found.value[k] * powers, found.error[k] * np.abs(powers)


def block_coefficients(
    f: Integrand,
    degree: int,
    tolerance: float = 1e-10,
    points: int | None = None,
    samples: int | None = None,
    *,
    squared: bool = False,
) -> BlockCoefficients:
    """Coefficients of a block by the rule that fits it; `squared`: the mean of its square too."""
    if f.r == 1:
        return line_coefficients(f, degree, tolerance)
    if f.r > MAX_VARIABLES:
        raise OutOfRegime(
            f"a part of the expression mixes {f.r} variables; integrals over more than "
            f"{MAX_VARIABLES} variables that do not separate are not computed"
        )
    found = grid_coefficients(f, degree, tolerance, points or POINTS, squared=squared)
    if found is not None:
        # All coefficients of a fast oscillation are small next to the function.
        enough = max(1e-6 * float(np.abs(found.value).max()), tolerance * found.size)
        if float(found.error.max()) <= max(enough, 1e-306):
            return found
    wanted = (degree + 1) ** (f.r - 1)
    samples = samples or points or min(max(POINTS // wanted, FEWEST_SAMPLES), 1 << 20)
    sobol = sobol_coefficients(f, degree, tolerance, samples)
    if found is None:
        return sobol
    best = sobol if float(sobol.error.max()) < float(found.error.max()) else found
    squares = [one for one in (sobol.square, found.square) if one is not None]
    return replace(best, square=min(squares, key=lambda square: square.error))

r"""Convex losses on Gaussian features: the fixed point of a few scalars.

The learner minimizes :math:`\sum_i \ell(y_i, f(x_i)) + \frac\lambda2|a|^2`. On a new input its
output is :math:`\omega + b` with :math:`(z, \omega)` jointly Gaussian, z the projections on which
the label depends, :math:`\mathbb{E}\omega^2 = q`, :math:`\mathbb{E}z\omega = m`. With the output
function :math:`g = (\eta - \omega - b)/V` of the proximal map :math:`\eta`,

.. math::
    D = -\mathbb{E}\,\partial_\omega g, \qquad G = \mathbb{E}\,g^2, \qquad
    H = \mathbb{E}\,\partial_z g, \qquad \kappa = \frac{\lambda}{\alpha D},

.. math::
    V = \frac{\mathrm{df}_1(\kappa)}{\alpha D}, \qquad
    m = \frac{H}{D} A(\kappa), \qquad
    q = \frac{G}{\alpha D^2}\,\mathrm{df}_2(\kappa) + \frac{|H|^2}{D^2} A_2(\kappa), \qquad
    \mathbb{E}\,g = 0                                                                  [EM-1]

(the last one fixes a free bias b). By Stein's lemma only averages of g itself are needed,

.. math::
    D = \frac{m\cdot\mathbb{E}[z g] - \mathbb{E}[\omega g]}{q - |m|^2}, \qquad
    H = \mathbb{E}[z g] + m D.                                                         [EM-2]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...calculus.acceleration import accelerated_fixed_point
from ...calculus.solvers import Solution

# By resolution: a coarse rule jumps by its error when the output moves its nodes.
_TOLERANCE = (1e-8, 1e-11)
_LARGEST_STEP = 3.0  # of log V, log q, b and the cosines
_SMALLEST = 1e-60
_MAX_ITER = 200
_LADDER = 0.1
_FARTHEST = 1e6


class Averages(NamedTuple):
    """Averages of the output function over a new sample."""

    D: float
    G: float
    H: np.ndarray
    mean: float
    loss: float
    """Mean training loss, of the proximal points."""


class Field(NamedTuple):
    """Law of the output on a new input."""

    V: float
    q: float
    m: np.ndarray
    b: float


class Output(Protocol):
    """Loss and labels, seen through their averages."""

    @property
    def r(self) -> int:
        """Number of projections that the label depends on."""

    def averages(self, field: Field, resolution: int = 0) -> Averages:
        """Averages at a law of the output; `resolution` 1 has finer rules than 0."""


class Traces(Protocol):
    """Sums over the spectrum of the features at one effective ridge."""

    @property
    def df1(self) -> Any:
        """Degrees of freedom."""

    @property
    def df2(self) -> Any:
        """Degrees of freedom, of the squares."""

    @property
    def learned(self) -> Any:
        """A, per unit of field variance."""

    @property
    def learned2(self) -> Any:
        """A_2, per unit of field variance."""


@dataclass(frozen=True)
class Learned:
    """Solution of the fixed point.

    ``field`` is the law of the output, ``error`` bounds the error of each of its numbers by what a
    finer quadrature and one more step change.
    """

    field: Field
    error: Field
    averages: Averages
    loss_error: float
    kappa: float
    n_iter: int
    residual: float
    converged: bool


def from_averages(
    field: Field, mean_omega_g: float, mean_z_g: np.ndarray
) -> tuple[float, np.ndarray]:
    """D and H by Stein's lemma [EM-2].

    Parameters
    ----------
    field : Field
        Law of the output.
    mean_omega_g, mean_z_g : float, array (r,)
        Averages of omega g and z g.
    """
    D = float(field.m @ mean_z_g - mean_omega_g) / max(
        field.q - float(field.m @ field.m), 1e-14 * field.q
    )
    return D, mean_z_g + field.m * D


def learn(
    output: Output,
    spectrum: Callable[[float], Traces],
    *,
    samples: float,
    ridge: float,
    free_bias: bool,
) -> Learned:
    r"""Fixed point [EM-1] for one loss, one spectrum, one ridge.

    Parameters
    ----------
    output : Output
        Loss and labels.
    spectrum : callable
        Sums at an effective ridge kappa; `learned` and `learned2` per unit of field variance.
    samples : float
        Number of samples in the units of the sums: alpha if they are per dimension.
    ridge : float
        Penalty, positive, in the same units as kappa.
    free_bias : bool
        Whether a constant is fitted at no cost.
    """

    def step(x: np.ndarray, resolution: int, is_balanced: bool, ridge: float) -> np.ndarray:
        field = _field(x)
        if is_balanced:
            field = field._replace(b=_balanced(output, field, resolution))
        found = output.averages(field, resolution)
        # Where no sample is near a bend of the hinge, D is zero up to rounding; nothing depends on
        # it there, because the sums fall with the powers of D by which they are divided.
        D = max(found.D, _SMALLEST)
        at = spectrum(ridge / (samples * D))
        slope = found.H / D
        V = at.df1 / (samples * D)
        q = found.G / (samples * D**2) * at.df2 + float(slope @ slope) * at.learned2
        b = field.b
        if free_bias and not is_balanced:
            # One Newton step for the bias, by at most 1: its equation has the slope -D.
            b += found.mean / max(D, abs(found.mean))
        return np.array([np.log(V), np.log(q), b, *(slope * at.learned / np.sqrt(q))])

    def solved(
        start: np.ndarray, resolution: int, is_balanced: bool, ridge: float = ridge
    ) -> Solution:
        # An iteration that leaves the numbers is found by what it returns, and marked.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return accelerated_fixed_point(
                lambda x: step(x, resolution, is_balanced, ridge),
                start,
                tolerance=_TOLERANCE[resolution],
                max_iter=_MAX_ITER,
                largest=_LARGEST_STEP,
            )

    def at_two_resolutions(is_balanced: bool) -> tuple[Solution, Solution]:
        coarse = solved(np.zeros(3 + output.r), 0, is_balanced)
        if not coarse.converged and ridge < _LADDER:
            # Come down from a larger ridge; V grows like 1/ridge where the data can be fitted.
            x = np.zeros(3 + output.r)
            for rung in np.geomspace(_LADDER, ridge, 2 + int(np.log10(_LADDER / ridge))):
                coarse = solved(x, 0, is_balanced, float(rung))
                x = coarse.value
        return coarse, solved(coarse.value, 1, is_balanced)

    coarse, fine = at_two_resolutions(False)
    if free_bias and not (coarse.converged and fine.converged):
        # The equation of the bias is almost a step: it needs a bracket, at ten times the cost.
        coarse, fine = at_two_resolutions(True)
    field = _field(fine.value)
    averages = output.averages(field, 1)
    before = output.averages(_field(coarse.value), 0)
    gap = np.abs(fine.value - coarse.value) + fine.error
    return Learned(
        field=field,
        error=Field(
            V=field.V * gap[0],
            q=field.q * gap[1],
            m=np.sqrt(field.q) * gap[3:] + np.abs(field.m) * gap[1],
            b=float(gap[2]),
        ),
        averages=averages,
        loss_error=abs(averages.loss - before.loss) + averages.loss * fine.error,
        kappa=ridge / (samples * max(averages.D, _SMALLEST)),
        n_iter=coarse.n_iter + fine.n_iter,
        residual=fine.residual,
        converged=coarse.converged and fine.converged,
    )


def _balanced(output: Output, field: Field, resolution: int) -> float:
    """Bias at which E g = 0; E g decreases with it."""
    from scipy.optimize import brentq

    def mean(b: float) -> float:
        return output.averages(field._replace(b=b), resolution).mean

    here = mean(field.b)
    direction, reach = (1.0 if here > 0 else -1.0), 0.1 * (1 + np.sqrt(field.q))
    other = field.b
    while mean(other := other + direction * reach) * here > 0 and reach < _FARTHEST:
        reach *= 2
    if reach >= _FARTHEST:
        return field.b
    low, high = sorted((field.b, other))
    return float(brentq(mean, low, high, xtol=1e-14, rtol=1e-14)) if here else field.b


def _field(x: np.ndarray) -> Field:
    """Law of the output of the variables (log V, log q, b, m/sqrt(q)), within what a law can be."""
    q, cosines = float(np.exp(x[1])), x[3:]
    # Mixing may leave |m|^2 < q, which every image obeys.
    length = float(np.linalg.norm(cosines))
    if length >= 1:
        cosines = cosines * (0.999 / length)
    return Field(float(np.exp(x[0])), q, np.sqrt(q) * cosines, float(x[2]))

r"""The next step of the filtration: the smallest order at which the output reveals something."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...base.estimate import Estimate, compact
from ...calculus.expansion import HermiteExpansion
from ...channels.conditional.given import conditional_grams
from ...channels.conditional.gram import OutputGram
from ...channels.conditional.symmetry import unknown, vanishes
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from ..correlation.filtration import largest_degree
from ..exponent import ARITHMETIC
from .directions import revealed_directions
from .operators import FLOOR, SAFETY, is_nonzero, query_strength
from .phases import largest_strength, phases
from .stages import MAX_ORDER

AT_LEAST = "at least"
_MORE_POINTS = 1 << 23
# Zeros are believed next to a signal that exceeds what they may hide.
_CLEARLY = {"quadrature": 1e-3, "monte_carlo": 0.2}
_TINY = 1e-300  # a bound that underflows is no zero


@dataclass(frozen=True)
class NextStage:
    """What is revealed next, and at which order.

    Parameters
    ----------
    order : int
        The order k.
    new : Subspace
        Directions that it reveals.
    strength : Estimate
        Largest eigenvalue of the operator of that order.
    is_exact : bool
        Whether the directions are derived, not estimated.
    reason : str
        The quantities that vanished, and the one that did not.
    """

    order: int
    new: Subspace
    strength: Estimate
    is_exact: bool
    reason: str


def next_stage(
    f: Expression, noise: float, known: Subspace, *, is_exact: bool = True, latent: int = 0
) -> NextStage | str:
    """Next step of the filtration, or why it cannot be said.

    Parameters
    ----------
    f : Expression
        The noiseless target.
    noise : float
        Variance of the label noise.
    known : Subspace
        What is known already.
    is_exact : bool
        Whether `known` is derived; if it is estimated, small signals may be its error.
    latent : int
        How many of the last variables are latent noise.

    Examples
    --------
    >>> found = next_stage(Expression("z1 + z2**2"), 0.0, Subspace.zero(2))
    >>> found.order, found.new
    (1, span(z1))
    """
    q = unknown(known, latent).dim
    last = {1: MAX_ORDER, 2: 8, 3: 6}.get(q, 4)
    # Orders 1 and 2 cost little more than one of them; higher ones are rarely needed, and in few
    # dimensions many of them come together.
    groups: list[tuple[int, ...]] = [(1, 2), *((k,) for k in range(3, last + 1))]
    if q == 1:
        groups = [(1, 2), tuple(range(3, last + 1))]
    elif q == 2:
        groups = [(1, 2), (3, 4), tuple(range(5, last + 1))]
    search = _Search(f, noise, known, is_exact, latent)
    for orders in groups:
        seen = [k for k in orders if not search.is_negligible(k)]
        grams = conditional_grams(f, noise, known, seen, latent=latent) if seen else {}
        for k in orders:
            answer = search.look(k, grams[k]) if k in seen else search.leave_out(k)
            if answer is not None:
                return answer
    # One order more, if the label itself correlates with it.
    correlation = search.correlation(last + 1)
    if correlation is not None:
        return search.reveal(last + 1, *correlation)
    if not search.hidden:
        return f"> {last}: all orders vanish by symmetry"
    return f"undecided: > {last}, or too small to see: all are below {search.hidden:.0e}"


class _Search:
    """Orders are looked at one after the other; what vanished is remembered."""

    def __init__(
        self, f: Expression, noise: float, known: Subspace, is_exact: bool, latent: int
    ) -> None:
        self.f, self.noise, self.known, self.is_exact = f, noise, known, is_exact
        self.latent, self.complement = latent, unknown(known, latent)
        self.phases = phases(f, known)
        self.vanished: list[str] = []
        self.hidden = 0.0  # how large a strength that was taken for zero may be

    def is_negligible(self, k: int) -> bool:
        """Whether order k is proven to be weaker than anything that counts as a signal."""
        is_line = self.complement.dim == 1 and not self.latent
        is_integrated = is_line or (self.f.is_discrete and not self.noise)
        kind = "quadrature" if is_integrated and self.is_exact else "monte_carlo"
        return largest_strength(self.phases, k) < FLOOR[kind]

    def leave_out(self, k: int) -> NextStage | str | None:
        """The stage if the label itself correlates with a negligible order; else None."""
        correlation = self.correlation(k)
        if correlation is not None:
            return self.reveal(k, *correlation)
        if vanishes(self.f, self.known, k, self.latent):
            self.vanished.append(f"order {k} vanishes by symmetry")
        else:
            most = max(largest_strength(self.phases, k), _TINY)
            self.hidden = max(self.hidden, most)
            self.vanished.append(f"order {k} vanishes: strength below {most:.0e}")
        return None

    def look(self, k: int, gram: OutputGram) -> NextStage | str | None:
        """The stage if order k reveals something; None if it vanishes; or why nobody knows."""
        strength = query_strength(gram, self.complement.dim, k)
        verdict = is_nonzero(strength, is_rough=not self.is_exact)
        if verdict is None and self._gains_from_points(gram):
            more = _MORE_POINTS if self.known.dim else _MORE_POINTS >> 2
            gram = conditional_grams(
                self.f, self.noise, self.known, [k], points=more, latent=self.latent
            )[k]
            strength = query_strength(gram, self.complement.dim, k)
            verdict = is_nonzero(strength, is_rough=not self.is_exact)
        if verdict:
            return self.reveal(k, gram, strength)
        correlation = self.correlation(k)
        if correlation is not None:
            return self.reveal(k, *correlation)
        if verdict is None:
            return f"undecided: the strength of order {k}, {_size(strength)}, is too close to zero"
        if strength.error:
            margin = SAFETY[strength.kind] * strength.error
            self.hidden = max(self.hidden, strength.value + margin)
            size = f"{strength.value:.0e} ± {strength.error:.0e}"
            self.vanished.append(f"order {k} vanishes: strength {size}")
        else:
            self.vanished.append(f"order {k} vanishes by symmetry")
        return None

    def _gains_from_points(self, gram: OutputGram) -> bool:
        """Whether more points say more; one direction given others is integrated without any."""
        if self.known.dim:
            return self.complement.dim + self.latent > 1
        return gram.kind == "monte_carlo"

    def reveal(self, k: int, gram: OutputGram, strength: Estimate) -> NextStage | str:
        """The stage of a nonzero order, if it stands out from the zeros before it."""
        size = _size(strength)
        if self.hidden > _CLEARLY[strength.kind] * strength.value:
            return (
                f"undecided: the strength of order {k}, {size}, is no larger than what lower "
                f"orders may hide, {self.hidden:.0e}"
            )
        new, is_derived = revealed_directions(
            gram, self.complement.dim, k, strength, self.f, self.complement
        )
        if not new.dim:
            return f"undecided: order {k} reveals something, {size}, but no direction"
        given = "y and what is known" if self.known.dim else "y"
        found = f"E[He_{k}(z) | {given}] does not vanish: strength {size}"
        return NextStage(k, new, strength, is_derived, "; ".join([*self.vanished, found]))

    def correlation(self, k: int) -> tuple[OutputGram, Estimate] | None:
        """Lower bound of T_k from the label itself, if its Hermite tensor of order k is not zero.

        By Cauchy-Schwarz T_k >= a a^T / Var(y) with the Hermite coefficients a: what correlates
        with the label is revealed by it, however little.
        """
        if self.known.dim:
            return None
        expansion, r = _expansion(self.f, k), self.complement.dim
        of_z = (expansion.indices[:, :r].sum(axis=1) == k) & (expansion.indices.sum(axis=1) == k)
        a, error = expansion.value[of_z], expansion.error[of_z]
        variance = _variance(self.f) + self.noise
        doubt = float((2 * np.abs(a) * error + error**2).sum())
        if not float(a @ a) > max(10 * doubt, ARITHMETIC * variance):
            return None
        gram = OutputGram(np.outer(a, a) / variance, 0.0)
        return gram, replace(query_strength(gram, r, k), note=AT_LEAST)


def _size(strength: Estimate) -> str:
    return compact(strength) + (" or more" if strength.note == AT_LEAST else "")


def _expansion(f: Expression, k: int) -> HermiteExpansion:
    """Expansion up to degree k or more: that of the leaps, which is known already."""
    return f.hermite(max(k, largest_degree(f)))


def _variance(f: Expression) -> float:
    expansion = _expansion(f, 0)
    return expansion.second_moment.value - float(expansion.value[0]) ** 2


def blurred_noise(f: Expression, noise: float, *, share: float = 0.03) -> float:
    """Noise that hides what an error of the known subspace would reveal; it adds no information.

    Its standard deviation is at least this share of that of the label.
    """
    return max(noise, share**2 * _variance(f))


def without_blur(
    f: Expression, noise: float, known: Subspace, blurred: Estimate, latent: int = 0
) -> Estimate:
    r"""Strength of order 2 for the true noise, from that for the blurred label.

    Half the blur is tried as well. What is lost is linear in its width where the output is sharp,
    and quadratic where it is not: the value lies between both extrapolations, and the error covers
    both.
    """
    if blurred_noise(f, noise) <= noise:
        return blurred
    half = blurred_noise(f, noise, share=0.015)
    gram = conditional_grams(f, half, known, [2], latent=latent)[2]
    sharper = query_strength(gram, unknown(known, latent).dim, 2)
    gap = sharper.value - blurred.value
    error = sharper.error + blurred.error + abs(gap)
    return Estimate(sharper.value + 2 / 3 * gap, error, "extrapolation")

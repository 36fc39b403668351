"""Everything that is quickly known about a target, as data: what ``gradone study`` shows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import OutOfRegime
from ..base.estimate import Estimate
from .distribution import Distribution, distribution
from .facts import target_facts
from .hierarchy import HierarchicalTarget
from .target import Target

_SAMPLES = 1 << 18
_NORMAL_99 = 2.5758293035489004


@dataclass(frozen=True, eq=False)
class Summary:
    """A target, its moments, its structure, its energies and the distribution of its labels.

    Parameters
    ----------
    target : Target or hierarchical target
        The target.
    labels : Distribution
        Distribution of the labels, noise included.
    seconds : dict of str to float
        CPU time of each part.
    d : int
        Input dimension of the labels; it matters for hierarchical targets only.
    widths : tuple of int
        Number of directions and of features of each level of a hierarchical target.
    facts : tuple of str
        What follows from its form, in words.
    notes : tuple of str
        What could not be found, and why.
    mean, variance : Estimate, optional
        Of the label without noise; from a sample for a hierarchical target.
    energies : tuple of Estimate
        Hermite energies at degrees 0, 1, ...
    tail : Estimate, optional
        Energy above the largest degree.
    """

    target: Target | HierarchicalTarget
    labels: Distribution
    seconds: dict[str, float]
    d: int
    widths: tuple[int, ...] = ()
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mean: Estimate | None = None
    variance: Estimate | None = None
    energies: tuple[Estimate, ...] = ()
    tail: Estimate | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, ready for JSON."""
        target = self.target
        found: dict[str, Any] = {"text": target.text, "latex": target.latex, "noise": target.noise}
        if isinstance(target, Target):
            found |= {"r": target.r, "variables": list(target.variables)}
        else:
            found |= {"d": self.d, "widths": list(self.widths)}
        return found | {
            "mean": self.mean and self.mean.to_dict(),
            "variance": self.variance and self.variance.to_dict(),
            "facts": list(self.facts),
            "notes": list(self.notes),
            "energies": [{"degree": k, **e.to_dict()} for k, e in enumerate(self.energies)],
            "tail": self.tail and self.tail.to_dict(),
            "labels": self.labels.to_dict(),
            "seconds": self.seconds,
        }


def summarize(
    target: Target | HierarchicalTarget, *, degree: int = 10, d: int = 64, seed: int = 0
) -> Summary:
    """Summary of a target.

    Parameters
    ----------
    target : Target or hierarchical target
        The target.
    degree : int
        Largest degree of the Hermite energies.
    d : int
        Input dimension in which a hierarchical target is sampled.
    seed : int
        Seed of the sample of labels.

    Examples
    --------
    >>> s = summarize(Target("He2(z1) + sign(z1*z2*z3)"))
    >>> round(s.energies[2].value, 9), round(s.energies[3].value, 9)
    (2.0, 0.258012275)
    """
    seconds: dict[str, float] = {}
    if isinstance(target, Target):
        return _of_expression(target, degree, seed, seconds)
    with _timed(seconds, "labels"):
        y = target.sample(_SAMPLES >> 2, d, seed=seed).y
        labels = distribution(y)
    return Summary(
        target,
        labels,
        seconds,
        d=d,
        widths=target.widths(d),
        mean=_sampled_mean(y),
        variance=_sampled_variance(y, target.noise),
    )


class Energies(NamedTuple):
    """Hermite energies at degrees 0, 1, ..., what lies above, and why there are none."""

    values: tuple[Estimate, ...] = ()
    tail: Estimate | None = None
    notes: tuple[str, ...] = ()


def hermite_energies(target: Target | HierarchicalTarget, degree: int = 10) -> Energies:
    """Energies of a target up to a degree; none of a hierarchical one, or of too many variables.

    Examples
    --------
    >>> [round(energy.value, 9) for energy in hermite_energies(Target("z1 + He2(z2)"), 2).values]
    [0.0, 1.0, 2.0]
    """
    if not isinstance(target, Target):
        return Energies()
    try:
        expansion = target.hermite(degree)
    except OutOfRegime as reason:
        return Energies(notes=(f"no energies: {reason}",))
    return Energies(tuple(expansion.energies), expansion.tail)


def _of_expression(target: Target, degree: int, seed: int, seconds: dict[str, float]) -> Summary:
    mean = variance = None
    with _timed(seconds, "energies"):
        energies = hermite_energies(target, degree)
        if energies.values:
            mean, variance = target.joint.mean(), target.variance
    with _timed(seconds, "labels"):
        d = max(target.r, 2)
        has_atoms = target.channel.kind in ("discrete", "mixed")
        atoms = target.channel.atoms if has_atoms else ()
        labels = distribution(target.sample(_SAMPLES, d, seed=seed).y, atoms=atoms)
    return Summary(
        target,
        labels,
        seconds,
        d=d,
        facts=target_facts(target),
        notes=energies.notes,
        mean=mean,
        variance=variance,
        energies=energies.values,
        tail=energies.tail,
    )


def _sampled_mean(y: np.ndarray) -> Estimate:
    error = _NORMAL_99 * float(y.std()) / math.sqrt(len(y))
    return Estimate(float(y.mean()), error, "monte_carlo")


def _sampled_variance(y: np.ndarray, noise: float) -> Estimate:
    squares = (y - y.mean()) ** 2
    error = _NORMAL_99 * float(squares.std()) / math.sqrt(len(y))
    return Estimate(max(float(squares.mean()) - noise, 0.0), error, "monte_carlo")


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    seconds[name] = time.process_time() - start

r"""Labels whose formulas depend on one variable u; the others only choose the formula.

.. math:: Z(y) = \sum_f \int du\, N(u)\, P(y \mid f(u))\, P(\text{region of } f \mid u)      [PO-4]

Without noise the integral over u is a sum over the roots of f(u) = y with weights ``1/|f'|``;
with noise it is taken over a lattice. ``z1**2 + sign(z1*z2*z3)`` has u = z1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ...calculus.monotone import MonotonePieces, inverse, monotone_pieces
from ...targets.language.derivative import derivative
from ...targets.language.evaluate import evaluate_columns
from ...targets.language.tree import Node, variables
from .formulas import Formula, affine_axis
from .grids import FEWEST, STEPS, lattice, root
from .label import FormulaLabel
from .regions import Points, Regions
from .sums import Rule, Sums, later

_REACH = 9.0  # of the variable u, of variance at most 1
_FAR = 9.0  # standard deviations of u around its prior mean
_NEGLIGIBLE = 1e-10  # share of the mass that is left out
_MOST_KNOWN = 64  # blocks of labels whose roots are kept


class _Roots(NamedTuple):
    """Sample of each root of f(u) = y, the root, |f'| there and the logarithm of the relabeling."""

    sample: np.ndarray
    u: np.ndarray
    steep: np.ndarray
    log_slope: np.ndarray


class Profile:
    """Formulas that are functions of u = z[axis] alone, with their regions.

    Parameters
    ----------
    parts : tuple of Formula
        The formulas.
    axis : int
        Their variable, counted from 0.
    """

    def __init__(self, parts: tuple[Formula, ...], axis: int) -> None:
        self.parts, self.axis, self.regions = parts, axis, Regions(parts)
        self._known: dict[bytes, _Roots] = {}

    @cached_property
    def _pieces(self) -> MonotonePieces:
        return monotone_pieces(_along(self.parts[0].relabeled.inner), [[]], _REACH)

    def roots(
        self, y: np.ndarray, center: np.ndarray, deviation: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Samples, places of u in units of its prior, and weights, where the formula is y."""
        sample, found, steep, log_slope = self._roots(y)
        place = (found - center[sample]) / deviation
        with np.errstate(divide="ignore"):
            unit = steep * (deviation * math.sqrt(2 * math.pi))
            weight = np.exp(log_slope - place**2 / 2) / unit
        is_near = (np.abs(place) < _FAR) & np.isfinite(weight)
        return sample[is_near], place[is_near], weight[is_near]

    def _roots(self, y: np.ndarray) -> _Roots:
        """Solutions of f(u) = y, kept: message passing asks for the same labels at every step."""
        key = y.tobytes()
        if key in self._known:
            return self._known[key]
        relabeled, pieces = self.parts[0].relabeled, self._pieces
        f = _along(relabeled.inner)
        slope = _along(derivative(relabeled.inner, self.axis + 1))
        x, log_slope = relabeled(y)
        low, high = pieces.values.min(axis=1), pieces.values.max(axis=1)
        with np.errstate(invalid="ignore"):
            sample, which = np.nonzero((x[:, None] >= low) & (x[:, None] <= high))
        u = inverse(f, slope, pieces, which, x[sample])
        found = _Roots(sample, u, np.abs(slope(which, u)), log_slope[sample])
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[key] = found
        return found

    def given(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Change of all means with u in units of its prior, and covariance when u is known."""
        gain = V[:, self.axis] / math.sqrt(V[self.axis, self.axis])
        rest = V - np.outer(gain, gain)
        rest[self.axis] = rest[:, self.axis] = 0.0
        return gain, rest


def _along(node: Node) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Function of one variable, as families of functions are given."""

    def values(_: np.ndarray, u: np.ndarray) -> np.ndarray:
        found = np.asarray(evaluate_columns(node, lambda i: u), dtype=np.float64)
        return np.broadcast_to(found, np.shape(u))

    return values


def profiles(parts: tuple[Formula, ...], noise: float) -> list[Profile] | None:
    """Profiles of all formulas; None if some formula has two variables, or two of them differ.

    Without noise every formula that is no constant has a profile of its own.
    """
    axes = [variables(part.tree) if part.constant is None else () for part in parts]
    if any(len(axis) > 1 for axis in axes):
        return None
    if not noise:
        pairs = zip(parts, axes, strict=True)
        return [Profile((part,), axis[0] - 1) for part, axis in pairs if axis]
    used = {axis[0] - 1 for axis in axes if axis}
    return [Profile(parts, *used)] if len(used) == 1 else None


class Roots:
    """Exact rule for labels without noise whose formulas have one variable each."""

    is_geometric, is_enough = False, True

    def __init__(self, label: FormulaLabel) -> None:
        self._label, self._found = label, profiles(label.parts, 0.0) or []

    @staticmethod
    def covers(label: FormulaLabel) -> bool:
        """Whether there is no noise, and every formula has one variable at most."""
        return not label.noise and profiles(label.parts, 0.0) is not None

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules with finer and finer steps between the lines of regions."""
        steps = self._label.across(*((p.regions, p.given(V)[1]) for p in self._found))
        return [later(partial(root_rule, self._found, V, h)) for h in steps]


class NoisyProfile:
    """Rule for labels with noise whose formulas have one variable, the same one of several."""

    is_geometric, is_enough = False, True

    def __init__(self, label: FormulaLabel) -> None:
        found = profiles(label.parts, label.noise)
        assert found is not None
        self._label, self._own = label, found[0]

    @staticmethod
    def covers(label: FormulaLabel) -> bool:
        """Whether all formulas have one variable, and are not affine in another one."""
        if not label.noise or label.expression.r == 1:
            return False
        return profiles(label.parts, label.noise) is not None and affine_axis(label.smooth) is None

    def rules(self, V: np.ndarray) -> list[Rule]:
        """Rules with finer and finer steps along the variable and between lines."""
        own, noise = self._own, self._label.noise
        steps = self._label.steps(STEPS, 1)
        across = self._label.across((own.regions, own.given(V)[1]))
        across = across[:1] * len(steps) if across[0] == 0 else across
        across += [across[-1]] * (len(steps) - len(across))
        return [lattice_rule(own, noise, V, *pair) for pair in zip(steps, across, strict=True)]


def root_rule(found: list[Profile], V: np.ndarray, h: float) -> Rule:
    """Rule for labels without noise that no atom has."""
    back = np.linalg.inv(root(V))
    given = [profile.given(V) for profile in found]
    laws = [profile.regions.law(rest) for profile, (_, rest) in zip(found, given, strict=True)]

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        total = Sums.zeros(*omega.shape), Sums.zeros(*omega.shape)
        for profile, (gain, _), law in zip(found, given, laws, strict=True):
            center, deviation = omega[:, profile.axis], gain[profile.axis]
            sample, u, weight = profile.roots(y, center, deviation)
            both = np.stack([weight, weight], axis=1)
            points = Points(sample, u[:, None] * gain, both, np.ones((1, len(u))))
            for sums, own in zip(total, profile.regions.sums(points, omega, law, h), strict=True):
                sums.add(own.rotated(back))
        return total

    return rule


def lattice_rule(own: Profile, noise: float, V: np.ndarray, h: float, across: float) -> Rule:
    """Rule for labels with noise: step h in u, step `across` between lines."""
    back, (gain, rest) = np.linalg.inv(root(V)), own.given(V)
    law, grid = own.regions.law(rest), lattice(1, h, _FAR)
    x, ratio = grid.x[:, 0], grid.coarse / grid.weight
    step = np.zeros(len(V))
    step[own.axis] = h * gain[own.axis]

    def rule(y: np.ndarray, omega: np.ndarray) -> tuple[Sums, Sums]:
        u = omega[:, own.axis, None] + gain[own.axis] * x
        gaps = np.empty((len(own.parts), *u.shape))
        for gap, part in zip(gaps, own.parts, strict=True):
            gap[...] = y[:, None] - evaluate_columns(part.tree, lambda i: u)
        exponent = np.log(grid.weight) - gaps**2 / (2 * noise)
        top = exponent.max(axis=(0, 2))
        likely = np.exp(exponent - top[:, None])
        whole = likely.sum(axis=0)
        sample, node = np.nonzero(whole > _NEGLIGIBLE)
        weight = np.stack([np.ones(len(node)), ratio[node]], axis=1)
        points = Points(sample, x[node, None] * gain, weight, likely[:, sample, node])
        fine, coarse = own.regions.sums(points, omega, law, across, step)
        scale = top - 0.5 * math.log(2 * math.pi * noise)
        is_seen = whole.sum(axis=1) ** 2 >= FEWEST * (whole**2).sum(axis=1)
        coarse = coarse._replace(mass=np.where(is_seen, coarse.mass, 0.0))
        fine, coarse = (sums._replace(log_scale=scale).rotated(back) for sums in (fine, coarse))
        return fine, coarse

    return rule

r"""The general rule: posterior of the projections for every target of up to four variables.

The label is one of finitely many formulas, each of them smooth and with a region of its own. What
the formulas are like decides how the integral over z is done: regions alone, or regions and one
variable (:mod:`.profiles`); a lattice, if the label is smooth enough for it (:mod:`.nodes`); roots
along the edges of a lattice (:mod:`.crossings`). Every sample is refined on its own until two
lattices agree, so that its posterior does not depend on the others.

Three rules come first where they cover the label: regions between a few planes
(:mod:`.signs`), quadratic functions (:mod:`.quadratic`) and products of powers
(:mod:`.monomial`). ``benchmarks/bayes_amp.py`` shows what each of them is worth.
"""

from __future__ import annotations

import numpy as np

from ...targets.language.derivative import derivative
from ...targets.language.expression import Expression
from ...targets.language.structure import has_jumps
from .affine import affine_parts, affine_rule, updated
from .crossings import crossing_rule
from .formulas import Formula, formulas
from .lines import is_never_zero
from .monomial import NODES as SIMPLEX
from .monomial import monomial, monomial_rule
from .nodes import affine_axis, node_mean, node_rule
from .profiles import lattice_rule, profiles, root_rule
from .quadratic import NODES as CONTOUR
from .quadratic import quadratic, quadratic_rule
from .regions import Regions, region_rule
from .sums import Moments, Rule, Sums, refined

_TOLERANCE = 3e-3  # of log Z, and of mean and covariance of z in units of the prior
_SAME = 1e-7  # relative distance from an atom below which a label is taken for it
# Steps of the lattices by their dimension; the first that is fine enough is used.
_ACROSS = {0: (1.0,), 1: (0.25, 0.125, 0.0625), 2: (0.5, 0.35, 0.25), 3: (0.7, 0.5)}
_NODES = {0: (1.0,), 1: (0.2, 0.1, 0.05, 0.025, 0.0125), 2: (0.4, 0.2), 3: (0.5,), 4: (0.7,)}
_EDGES = {1: (0.02, 0.005), 2: (0.25, 0.125, 0.0625), 3: (0.5, 0.35), 4: (0.7, 0.5)}


class General:
    """Moments of z given the label, for a function of k variables with independent noise.

    Parameters
    ----------
    expression : Expression
        The function.
    noise : float
        Variance of the label noise.
    resolution : int
        Number of times that every step is divided by two.
    exact : bool
        Whether rules may be used that cover some functions only; they are faster and as precise.
    """

    def __init__(
        self, expression: Expression, noise: float, resolution: int = 0, *, exact: bool = True
    ) -> None:
        self.expression, self.noise, self.resolution = expression, noise, resolution
        self.exact = exact
        self.parts = formulas(expression)
        self._pieces = affine_parts(self.parts, noise)
        self._profiles = profiles(self.parts, noise)
        self._quadratic = quadratic(self.parts, noise)
        self._monomial = None if noise else monomial(self.parts)
        whole = (Formula(expression.tree, (), expression.r),)
        self._smooth = self.parts if has_jumps(expression.tree) else whole
        self._affine = affine_axis(self._smooth)
        # Where the slope vanishes a label without noise says everything of the other variables.
        self._is_steep = self._affine is not None and all(
            is_never_zero(derivative(part.tree, self._affine + 1)) for part in self._smooth
        )
        constants = [part.constant for part in self.parts if part.constant is not None]
        self.values = _distinct(np.array(constants))
        self._regions = [
            Regions(tuple(p for p in self.parts if _is_close(p.constant, value)))
            for value in self.values
        ]

    def moments(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Moments:
        """Moments at labels `y` (n,), prior means `omega` (n, k), covariance `V` (k, k)."""
        tolerance = _TOLERANCE / 4**self.resolution
        if self.noise:
            exact = self._exact(V)
            rules = exact + self._noisy(V)
            return refined(rules, y, omega, tolerance, geometric=len(exact))
        n, k = omega.shape
        found = Moments(np.empty(n), np.empty((n, k)), np.empty((n, k, k)), np.empty(n))
        which = self.atom(y)
        for number in range(-1, len(self.values)):
            own = which == number
            if own.any():
                exact = self._exact(V) if number < 0 else []
                rules = exact + (self._density(V) if number < 0 else self._atom(V, number))
                part = refined(rules, y[own], omega[own], tolerance, geometric=len(exact))
                for whole, some in zip(found, part, strict=True):
                    whole[own] = some
        return found

    def atom(self, y: np.ndarray) -> np.ndarray:
        """Number of the atom that a label is, -1 if it is none."""
        which = np.full(len(y), -1)
        for number, value in enumerate(self.values):
            which[np.abs(y - value) <= _SAME * (1 + abs(value))] = number
        return which

    def mean(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Mean of the label at prior means `omega` (n, k)."""
        if len(self._regions) and not any(part.constant is None for part in self.parts):
            return self.probabilities(omega, V) @ self.values
        step = self._steps(_NODES, len(V))[-1]
        return node_mean(self._smooth, V, step)(omega)

    def probabilities(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Probabilities (n, atoms) of the atoms of the label."""
        numbers = range(len(self.values))
        return np.stack([self.outcome(number, omega, V).mass for number in numbers], axis=1)

    def outcome(self, number: int, omega: np.ndarray, V: np.ndarray) -> Sums:
        """Sums of one atom at prior means `omega` (n, k) by its first rule."""
        return self._atom(V, number)[0](np.zeros(len(omega)), omega)[0]

    # ---- rules, coarse ones first

    def _steps(self, table: dict[int, tuple[float, ...]], k: int) -> list[float]:
        return [step / 2**self.resolution for step in table[k]]

    def _across(self, *found: tuple[Regions, np.ndarray]) -> list[float]:
        """Steps between the lines in some regions; 0, the closed form, if all of them are flat."""
        k = max(regions.law(V).spread.shape[1] for regions, V in found)
        steps = self._steps(_ACROSS, max(k - 1, 0))
        is_flat = self.exact and all(regions.is_flat for regions, _ in found)
        return [0.0, *steps] if is_flat else steps

    def _exact(self, V: np.ndarray) -> list[Rule]:
        """Rules that need no lattice, for labels that are no atoms."""
        part = self.parts[0]
        if not self.exact:
            return []
        if self._profiles is not None and not self.noise:
            return []  # roots of a function of one variable: nothing is left to integrate
        if (form := self._quadratic) is not None:
            return [quadratic_rule(form, part, self.noise, V, nodes) for nodes in CONTOUR]
        if (product := self._monomial) is not None:
            return [monomial_rule(product, part, V, steps) for steps in SIMPLEX[len(V)]]
        return []

    def _atom(self, V: np.ndarray, number: int) -> list[Rule]:
        own = self._regions[number]
        return [region_rule(own, V, h) for h in self._across((own, V))]

    def _density(self, V: np.ndarray) -> list[Rule]:
        k = len(V)
        if self._pieces is not None:
            return self._affine_rules(V)
        if self._profiles is not None:
            laws = [(p.regions, p.given(V)[1]) for p in self._profiles]
            return [root_rule(self._profiles, V, h) for h in self._across(*laws)]
        rules: list[Rule] = []
        if self._is_steep:
            steps = self._steps(_NODES, k - 1)
            rules = [node_rule(self._smooth, self._affine, 0.0, V, h) for h in steps]
        return rules + [crossing_rule(self.parts, 0.0, V, h) for h in self._steps(_EDGES, k)]

    def _noisy(self, V: np.ndarray) -> list[Rule]:
        k, noise = len(V), self.noise
        if self._pieces is not None:
            return self._affine_rules(V)
        if self._affine is None and self._profiles is not None:
            own = self._profiles[0]
            steps, across = self._steps(_NODES, 1), self._across((own.regions, own.given(V)[1]))
            across = across[:1] * len(steps) if across[0] == 0 else across
            across += [across[-1]] * (len(steps) - len(across))
            pairs = zip(steps, across, strict=True)
            rules = [lattice_rule(own, noise, V, *pair) for pair in pairs]
            if k > 1:
                return rules
        else:
            steps = self._steps(_NODES, k - (self._affine is not None))
            rules = [node_rule(self._smooth, self._affine, noise, V, h) for h in steps]
        return rules + [crossing_rule(self.parts, noise, V, h) for h in self._steps(_EDGES, k)]

    def _affine_rules(self, V: np.ndarray) -> list[Rule]:
        assert self._pieces is not None
        steps = self._across(*((p.regions, updated(p, self.noise, V).rest) for p in self._pieces))
        return [affine_rule(self._pieces, self.noise, V, h) for h in steps]


def _is_close(constant: float | None, value: float) -> bool:
    return constant is not None and abs(constant - value) <= 1e-9 * (1 + abs(value))


def _distinct(values: np.ndarray) -> np.ndarray:
    """Different values in increasing order; what differs by rounding counts once."""
    ordered = np.unique(values[np.isfinite(values)])
    return ordered[np.diff(ordered, prepend=-np.inf) > 1e-9 * (1 + np.abs(ordered))]

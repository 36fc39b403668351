"""What a sweep can run: learners, engines of the exact dynamics, theories; and what each takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..base.errors import BadData
from ..dynamics import ENGINES
from ..learners import LEARNERS
from ..learners._foreign import is_foreign, name_of
from ..targets.sampled import Sampled, whole_number
from ..targets.training import parameters_of
from ..theory import THEORIES
from ..theory._registry import obstacle
from ._foreign import version_of
from .metrics import OF_DIRECTIONS, OF_PREDICTIONS

_TABLES = {"learner": LEARNERS, "engine": ENGINES, "theory": THEORIES}
KINDS = ("algorithm", *_TABLES)
"""What an entry of a spec may name: an algorithm with all its faces, or one of them."""

SAMPLES = ("n", "alpha", "kappa")
"""Three ways to say how many samples: n, n = alpha d, n = d^kappa."""
WIDTHS = ("width", "width_ratio")
"""Two ways to say how many neurons."""
FAMILIES = (SAMPLES, WIDTHS)

# One value of these is itself a list: several values are a list of lists.
_LISTS = frozenset("bias coefficients eigenvalue outliers readout record time widths".split())
# A sweep sets these itself, or they do not change a number.
_OWN = frozenset("self target student random_state replicates seed progress".split())
OF_LEARNERS = ("d", "n", "test_samples", "dtype")
OF_FOREIGN = ("parameters", "directions_from")
"""Of an estimator of somebody else: a table of its own parameters, whose names may be ours too."""
LOOK = ("label", "color", "theory_of")
"""Of an entry of a spec: its name for people, its color, and the algorithm whose theory is shown
as that of this one. They change no number."""


@dataclass(frozen=True)
class Algorithm:
    """One algorithm that a sweep can run.

    Parameters
    ----------
    kind : {"learner", "engine", "theory"}
        Estimator on samples, exact dynamics, or prediction.
    name : str
        Its name among those.
    parameters : frozenset of str
        What it takes; sizes and parameters of a learner alike.
    required : tuple of str
        What it cannot do without.
    answers : frozenset of str
        Quantities that it may report.
    numerics : str
        Version of its numbers. The class, or the engine, states it as ``numerics``, one higher
        when the numbers may change: cells that were computed before are then computed anew. Code
        that is not ours is computed anew when its source or its package changes.
    shown : str
        Its name in a result, if it is another one.
    """

    kind: str
    name: str
    parameters: frozenset[str]
    required: tuple[str, ...]
    answers: frozenset[str]
    numerics: str = "1"
    shown: str = ""

    @property
    def recipe(self) -> str:
        """Name and version of the numbers, as ``"learner:giant_step/1"``."""
        return f"{self.kind}:{self.name}/{self.numerics}"

    @property
    def key(self) -> str:
        """Key of a spec that names it."""
        return self.kind

    @property
    def source(self) -> str:
        """Its name in a result."""
        shown = self.shown or self.name.rpartition(":")[2]  # the class alone, of a stranger's
        return f"{'theory' if self.kind == 'theory' else 'simulation'}:{shown}"

    def on(self, target: Sampled) -> Algorithm:
        """What runs on a target."""
        return self

    def reason(self, target: Sampled) -> str:
        """Why it does not run on a target; empty if it does."""
        if self.kind != "theory":
            return ""
        reason = obstacle(THEORIES[self.name](), target)
        return f"'{self.name}' does not cover this target: {reason}" if reason else ""

    def told(self, target: Sampled, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments as the one that runs on a target takes them."""
        return arguments

    @property
    def is_random(self) -> bool:
        """Whether it has replicates."""
        return self.kind != "theory"

    def understands(self, name: str) -> bool:
        """Whether a parameter says something about it, directly or by its relation to another."""
        family = next((family for family in FAMILIES if name in family), (name,))
        return any(member in self.parameters for member in family)

    def arguments(self, own: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of one run: sizes that are given in one way become those that it takes.

        Parameters
        ----------
        own : mapping
            Parameters that are given for this algorithm.
        shared : mapping
            Parameters of the grid; where both speak of the same, `own` holds.

        Examples
        --------
        >>> find_algorithm("learner", "giant_step").arguments({"width_ratio": 0.5},
        ...                                                   {"d": 100, "alpha": 3.0})
        {'d': 100, 'n': 300, 'width': 50}
        >>> find_algorithm("theory", "random_features").arguments({}, {"d": 100, "n": 300})
        {'alpha': 3.0}
        """
        given = {**relevant(self, own, shared), **own}
        found = {name: value for name, value in given.items() if name in self.parameters}
        for family in FAMILIES:
            name = next((member for member in family if member in given), None)
            if name is None or not self.understands(name):
                continue
            wanted = self._wanted(family, name, name in own)
            if wanted != name:
                found.pop(name, None)
                found[wanted] = _converted(name, wanted, given)
        return {name: found[name] for name in sorted(found)}

    def needs_d(self, own: Mapping[str, Any], shared: Mapping[str, Any]) -> bool:
        """Whether d enters, as itself or because sizes are given relative to it."""
        if "d" in self.required:
            return True
        for family in FAMILIES:
            name = next((m for m in family if m in own), None)
            is_own = name is not None
            name = name or next((m for m in family if m in shared), None)
            if name and self.understands(name) and self._wanted(family, name, is_own) != name:
                return True
        return False

    def _wanted(self, family: tuple[str, ...], name: str, is_own: bool) -> str:
        """Which member of a family it takes in place of the given one."""
        # Of theories that take both, the ratio is the axis of the limit and the width a correction.
        if name == "width" and "width_ratio" in self.parameters and not is_own:
            return "width_ratio"
        return next(m for m in (name, *family) if m in self.parameters)


def relevant(
    algorithm: Algorithm, own: Mapping[str, Any], shared: Mapping[str, Any]
) -> dict[str, Any]:
    """Parameters of the grid that an algorithm takes and does not set itself."""
    kept = {}
    for name, value in shared.items():
        family = next((family for family in FAMILIES if name in family), (name,))
        if algorithm.understands(name) and not any(member in own for member in family):
            kept[name] = value
    # A size may be needed to convert another one, whether or not the algorithm takes it.
    if "d" in shared and "d" not in own and algorithm.needs_d(own, shared):
        kept["d"] = shared["d"]
    return kept


def _converted(name: str, wanted: str, given: Mapping[str, Any]) -> Any:
    """Number of samples or neurons, said in another way."""
    value = given[name]
    if "d" not in given:
        raise BadData(f"{wanted} is computed from {name} and d: give d as well")
    d = whole_number("d", given["d"])
    if name in WIDTHS:
        return _rounded(name, value, value * d, d) if wanted == "width" else value / d
    if name == "n":
        n = whole_number("n", value)
    else:
        n = _rounded(name, value, value * d if name == "alpha" else d**value, d)
    if wanted == "n":
        return n
    if wanted == "alpha":
        return n / d
    if d == 1:
        raise BadData("kappa = log n / log d needs d > 1")
    return math.log(n) / math.log(d)


def _rounded(name: str, value: float, size: float, d: int) -> int:
    """Whole number of samples or neurons."""
    if math.isfinite(size) and round(size) >= 1:
        return round(size)
    what = "neurons" if name in WIDTHS else "samples"
    hint = "" if name == "kappa" or size > 1 else f"; use {name} >= {1 / d:g}"
    count = "no" if size < 1 else "endless"
    raise BadData(f"{name} = {value:g} gives {count} {what} in d = {d}{hint}")


def one_value_is_a_list(name: str) -> bool:
    """Whether a single value of a parameter is a list, so that several are a list of lists."""
    return name in _LISTS


@lru_cache(maxsize=256)
def _described(kind: str, name: str, thing: Any) -> Algorithm:
    answers = frozenset([*OF_DIRECTIONS, *OF_PREDICTIONS, "train_mse", "train_loss"])
    if is_foreign(name):
        known = frozenset({*OF_LEARNERS, *OF_FOREIGN})
        return Algorithm(kind, name_of(thing), known, ("d", "n"), answers, version_of(thing))
    verb = {"theory": "predict", "engine": "run"}.get(kind)
    found = parameters_of(getattr(thing, verb) if verb else thing)
    parameters = [p for p in found.values() if p.name not in _OWN]
    needed = tuple(p.name for p in parameters if p.default is p.empty and p.name != "channel")
    names, version = frozenset(p.name for p in parameters), version_of(thing)
    if kind == "theory":
        return Algorithm(kind, name, names, needed, frozenset(thing.answers), version)
    if kind == "engine":
        if "n" in names:  # which it takes as alpha too: one form is enough
            names, needed = names - {"alpha"}, (*needed, "n")
        return Algorithm(kind, name, names, needed, frozenset(thing.answers), version)
    return Algorithm(kind, name, names | {*OF_LEARNERS}, ("d", "n", *needed), answers, version)


def find_algorithm(kind: str, name: str) -> Algorithm:
    """Algorithm of a kind and a name.

    Examples
    --------
    >>> find_algorithm("theory", "bayes_amp").required
    ('alpha',)
    >>> find_algorithm("engine", "sdg")
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown engine 'sdg'. Known: reused_batch, sgd. Did you mean 'sgd'?
    """
    return _described(kind, name, _TABLES[kind][name])


def all_algorithms() -> list[Algorithm]:
    """Every theory, learner and engine that there is."""
    return [find_algorithm(kind, name) for kind, table in _TABLES.items() for name in table]

"""Algorithms in a sweep: their theory and their learner, both told the same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algorithms import ALGORITHMS, Run, learner_of
from ..base.errors import BadData
from ..learners._foreign import is_foreign
from ..learners._trained import shown_name
from ..targets.sampled import Sampled
from .algorithms import KINDS, OF_LEARNERS, WIDTHS, Algorithm, find_algorithm


@dataclass(frozen=True)
class Face(Algorithm):
    """The theory or the learner of an algorithm, which is told a run in common terms.

    Parameters
    ----------
    card : str
        Name of the algorithm.
    """

    card: str = ""

    @property
    def key(self) -> str:
        """Key of a spec that names it."""
        return "algorithm"

    @property
    def source(self) -> str:
        """Its name in a result."""
        shown = self.shown or self.card
        return f"{'theory' if self.kind == 'theory' else 'simulation'}:{shown}"

    def on(self, target: Sampled) -> Algorithm:
        """The theory for the target, or the learner."""
        card = ALGORITHMS[self.card]()
        return find_algorithm(
            self.kind, card.theory_for(target) if self.kind == "theory" else self.name
        )

    def reason(self, target: Sampled) -> str:
        """Why it does not run on a target; empty if it does."""
        card = ALGORITHMS[self.card]()
        is_theory = self.kind == "theory"
        reason = card.obstacle(target) if is_theory else card.missing_simulation(target)
        return f"'{self.card}' does not cover this target: {reason}" if reason else ""

    def told(self, target: Sampled, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments that the card makes of n samples in d dimensions, and of the settings."""
        card, sizes = ALGORITHMS[self.card](), {*OF_LEARNERS}
        d, n = arguments["d"], arguments["n"]
        settings = {name: value for name, value in arguments.items() if name not in sizes}
        run = Run(target, "alpha", [n / d], d=d, settings=settings)
        if self.kind == "theory":
            return {name: _single(value) for name, value in card.theory_arguments(run).items()}
        measured = {name: value for name, value in arguments.items() if name in sizes}
        return measured | card.learner_arguments(run)


def _single(value: Any) -> Any:
    """A number in place of an array of one; arrays as lists."""
    if not isinstance(value, np.ndarray):
        return value
    return value.item() if value.size == 1 else value.tolist()


def find_algorithms(kind: str, name: str) -> list[Algorithm]:
    """What an entry of a spec names: one thing, or all faces of an algorithm.

    Examples
    --------
    >>> [face.source for face in find_algorithms("algorithm", "giant_step")]
    ['theory:giant_step', 'simulation:giant_step']
    """
    if kind != "algorithm":
        return [find_algorithm(kind, name)]
    card = ALGORITHMS[name]()
    settings = {*card.defaults, *(slider.name for slider in card.sliders)}
    faces: list[Algorithm] = []
    for one, face in (("theory", card.theory), ("learner", card.learner)):
        if face:
            plain = find_algorithm(one, face)
            sizes = OF_LEARNERS if one == "learner" else ("d", "n")
            known = frozenset({*sizes, *settings})
            faces.append(
                Face(one, face, known, ("d", "n"), plain.answers, plain.numerics, card=name)
            )
    return faces


def learner_face(name: str) -> Algorithm:
    """Learner that a name stands for: that of an algorithm is told what its card decides.

    Examples
    --------
    >>> from gradone import Target
    >>> told = learner_face("random_features").told(Target("z"), {"d": 50, "n": 100})
    >>> told["width"], learner_face("online_sgd").told(Target("z"), {"d": 50, "n": 100})
    (100, {'d': 50, 'n': 100})
    """
    plain = find_algorithm("learner", name if is_foreign(name) else learner_of(name))
    if name not in ALGORITHMS or is_foreign(name):
        return plain
    card = ALGORITHMS[name]()
    settings = {*card.defaults, *(slider.name for slider in card.sliders)}
    known = plain.parameters | (settings - {*WIDTHS})  # of which the learner takes one itself
    return Face("learner", plain.name, known, ("d", "n"), plain.answers, plain.numerics, card=name)


def faces_of(entry: Mapping[str, Any]) -> list[Algorithm]:
    """What an entry of a spec runs: what it names, and the theory that is shown beside it.

    Examples
    --------
    >>> entry = {"learner": "sklearn.linear_model:Ridge", "theory_of": "random_features"}
    >>> [face.source for face in faces_of(entry)]
    ['theory:Ridge', 'simulation:Ridge']
    """
    [kind] = [kind for kind in KINDS if kind in entry]
    found = find_algorithms(kind, entry[kind])
    if kind == "learner" and is_foreign(entry[kind]):
        found = [replace(face, shown=shown_name(face.name, entry)) for face in found]
    if like := entry.get("theory_of"):
        shown = found[0].source.partition(":")[2]
        theories = [face for face in find_algorithms("algorithm", like) if face.kind == "theory"]
        if not theories:
            raise BadData(f"'{like}' has no theory")
        # Parameters of the entry are those of its learner.
        found = [replace(face, shown=shown) for face in theories] + found
    return found

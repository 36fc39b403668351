"""One algorithm has one default of each parameter, in its theory, its engine and its learner."""

import inspect
import math

import pytest

from gradone.algorithms import ALGORITHMS
from gradone.dynamics import ENGINES
from gradone.learners import LEARNERS
from gradone.targets.training import parameters_of
from gradone.theory import THEORIES


def faces(card):
    """Functions of an algorithm whose parameters people type."""
    theory = [THEORIES[card.theory].predict] if card.theory else []
    engine = [ENGINES[card.engine].run] if card.engine else []
    return theory + engine + ([LEARNERS[card.learner]] if card.learner else [])


def defaults(function):
    """Values of the parameters that have one; None, "auto" and infinity leave the choice open."""
    found = {name: one.default for name, one in parameters_of(function).items()}
    is_open = (None, "auto", math.inf, inspect.Parameter.empty)
    return {name: value for name, value in found.items() if value not in is_open}


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_equal_things_have_equal_defaults(name):
    """Would catch: a theory of tanh beside a learner with relu."""
    given = [defaults(face) for face in faces(ALGORITHMS[name])]
    for parameter in set().union(*given):
        values = {repr(one[parameter]) for one in given if parameter in one}
        assert len(values) == 1, f"{parameter}: {values}"

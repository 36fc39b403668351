"""One algorithm has one default of each parameter, in its theory, its engine and its learner."""

import inspect
import math

import pytest

import gradone as gd
from gradone.learners import LEARNERS
from gradone.targets.training import parameters_of
from gradone.theory import THEORIES

# Name of the theory, of the engine and of the learner.
FACES = {
    "sgd": ("sgd_flow", "sgd", "online_sgd"),
    "reused_batch": ("reused_batch", "reused_batch", "reused_batch"),
    "random_features": ("random_features", None, "random_features"),
    "dot_kernel_ridge": ("lazy", None, "dot_kernel_ridge"),
    "bayes_amp": ("bayes_amp", None, "bayes_amp"),
}


def defaults(function):
    """Values of the parameters that have one; None, "auto" and infinity leave the choice open."""
    found = {name: one.default for name, one in parameters_of(function).items()}
    is_open = (None, "auto", math.inf, inspect.Parameter.empty)
    return {name: value for name, value in found.items() if value not in is_open}


@pytest.mark.parametrize(("theory", "engine", "learner"), FACES.values(), ids=FACES)
def test_equal_things_have_equal_defaults(theory, engine, learner):
    """Would catch: a theory of tanh beside a learner with relu."""
    faces = [THEORIES[theory].predict, LEARNERS[learner]]
    faces += [getattr(gd.dynamics, engine)] if engine else []
    given = [defaults(face) for face in faces]
    for name in set().union(*given):
        assert len({repr(one[name]) for one in given if name in one}) == 1, name

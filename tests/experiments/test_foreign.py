"""Learners of users in a store: what was computed by other code is computed anew."""

import importlib
import logging
import sys

import pytest

import gradone as gd
from gradone.experiments._foreign import version_of
from gradone.learners import LEARNERS

MODULE = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from gradone.base.cost import Cost

def constant():
    return {constant}

class Mine(RegressorMixin, BaseEstimator):
    cites = ()
    cost = Cost("n operations", lambda s: s.n)

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.full(len(X), constant())
"""


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """Function that writes the module of a user and registers its learner as "mine"."""
    monkeypatch.syspath_prepend(tmp_path)
    # Bytecode is told from old bytecode by second and size: two modules of a second may agree.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(constant):
        (tmp_path / "mine_module.py").write_text(MODULE.format(constant=constant))
        sys.modules.pop("mine_module", None)
        importlib.invalidate_caches()
        kind = importlib.import_module("mine_module").Mine
        monkeypatch.setitem(LEARNERS._things, "mine", kind)
        return kind

    yield make
    sys.modules.pop("mine_module", None)


def mean_square(folder):
    experiment = gd.Experiment(
        name="e",
        targets=["z"],
        algorithms=[{"learner": "mine"}],
        grid={"d": 5, "n": 10, "test_samples": 1000},
    )
    found = gd.run(experiment, store=folder / "runs.db", executor="serial", progress=False)
    return found.test_mse.item()


def test_a_changed_learner_gives_new_numbers(learner, tmp_path):
    """Failed before: the second answer was the first. The change is in a helper of the module."""
    learner(1.0000)
    first = mean_square(tmp_path)
    learner(3.000)
    second = mean_square(tmp_path)
    assert second - first == pytest.approx(8.0, abs=0.5)  # E (z - c)^2 = 1 + c^2
    learner(1.0000)
    assert mean_square(tmp_path) == first


def test_code_without_source_is_said_to_be_unknown(learner, tmp_path, caplog):
    kind = learner(1.0)
    (tmp_path / "mine_module.py").unlink()
    importlib.import_module("linecache").clearcache()
    assert version_of(kind).endswith("?")
    with caplog.at_level(logging.WARNING):
        mean_square(tmp_path)
    assert "the source of learner 'mine' cannot be read: whether it has changed" in caplog.text


def test_our_own_code_states_its_version():
    assert version_of(gd.learners.SIR) == "1"
    assert all("+" not in version_of(LEARNERS[name]) for name in LEARNERS)


def test_classes_of_installed_packages_have_their_version():
    from sklearn.linear_model import Ridge

    assert len(version_of(Ridge)) == len("1+") + 16

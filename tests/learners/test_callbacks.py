"""Callbacks of long fits, on a learner that does nothing but count."""

import pytest
from sklearn.base import BaseEstimator

from gradone.learners._callbacks import CallbackSupportMixin, fit_steps, with_callbacks

pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class Counter(CallbackSupportMixin, BaseEstimator):
    """Counts its steps up to `total`; breaks out of its own accord at `enough`."""

    def __init__(self, total=50, enough=None):
        self.total, self.enough = total, enough

    @with_callbacks
    def fit(self, X=None, y=None):
        self.count_ = 0
        for step in fit_steps(self, self.total, learned=lambda: {"count_": self.count_}):
            self.count_ += 1
            step.metadata["half"] = self.count_ / 2
            if self.enough == self.count_:
                break
        return self


class Witness:
    """Callback that writes down what it is told, and may stop the fit."""

    def __init__(self, stop_after=None):
        self.stop_after, self.told, self.fitted = stop_after, [], []

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata, fitted_estimator):
        self.told.append(f"end {context.task_name}" + (f" {metadata['half']}" if metadata else ""))
        self.fitted.append(fitted_estimator.count_)
        return context.task_name == "step" and self.fitted[-1] == self.stop_after


def test_every_step_is_announced_with_what_was_learned():
    witness = Witness()
    Counter(total=2).set_callbacks(witness).fit()
    steps = ["begin step", "end step 0.5", "begin step", "end step 1.0"]
    assert witness.told == ["setup", "begin fit", *steps, "end fit", "teardown"]
    assert witness.fitted == [1, 2, 2]


def test_a_callback_stops_the_fit_and_what_was_learned_stays():
    witness = Witness(stop_after=3)
    assert Counter().set_callbacks(witness).fit().count_ == 3
    assert witness.told[-3:] == ["end step 1.5", "end fit", "teardown"]


def test_a_fit_that_ends_of_its_own_accord_tells_so():
    witness = Witness()
    assert Counter(enough=2).set_callbacks(witness).fit().count_ == 2
    assert witness.told[-3:] == ["end step 1.0", "end fit", "teardown"]


def test_without_callbacks_it_is_a_plain_loop():
    assert Counter(total=7).fit().count_ == 7

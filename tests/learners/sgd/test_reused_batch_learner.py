"""Gradient descent on a fixed data set."""

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.datasets import load_diabetes, make_friedman2
from sklearn.model_selection import KFold, cross_val_score

import gradone as gd
from gradone.learners import ReusedBatch

from ..rotated import rotated
from .written_out import RULES, output, update

AS_IT_IS = {"standardize": False, "shuffle": False}


def data(n=11, d=5, width=3, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    return X, y, rng.standard_normal((width, d)) / np.sqrt(d)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("batch", [None, 4], ids=["all rows", "batches of 4"])
def test_updates_are_those_of_the_definition(rule, batch):
    """Five updates: with batches of 4, 4 and 3 rows the second epoch is cut short."""
    X, y, W = data()
    a, b = np.array([0.7, -1.2, 0.4]), np.array([0.1, 0.0, -0.3])
    how = {"step_size": 0.3, "train_readout": 0.2, "train_bias": 0.1, "weight_decay": 0.5}
    how |= {"rule": rule, "activation": "tanh(z)"} | RULES[rule]
    given = {"batch_size": batch, "readout": a, "bias": b, "init": W}
    learner = ReusedBatch(3, steps=5, **given, **how, **AS_IT_IS).fit(X, y)
    parts = (slice(0, 4), slice(4, 8), slice(8, 11), slice(0, 4), slice(4, 8))
    for part in parts if batch else [slice(None)] * 5:
        W, a, b = update(W, a, b, X[part], y[part], **how)
    np.testing.assert_allclose(learner.weights_, W, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(learner.readout_, a, rtol=1e-12)
    np.testing.assert_allclose(learner.bias_, b, rtol=1e-12, atol=1e-14)
    assert learner.n_iter_ == 5


@pytest.mark.parametrize(("batch", "steps"), [(None, [0, 1, 2, 3, 4, 5]), (4, [0, 3, 5])])
def test_history_is_the_training_error_after_every_epoch(batch, steps):
    X, y, W = data()
    how = {"batch_size": batch, "init": W, "step_size": 0.3, "activation": "tanh(z)"}
    learner = ReusedBatch(3, steps=5, keep_weights=True, **how, **AS_IT_IS).fit(X, y)
    assert list(learner.history_.step) == steps
    np.testing.assert_array_equal(learner.weights_history_[0], W)
    np.testing.assert_array_equal(learner.weights_history_[-1], learner.weights_)
    a, b = np.array([1.0, -1.0, 1.0]), np.zeros(3)
    errors = [np.mean((y - output(V, a, b, X, "tanh(z)")) ** 2) for V in learner.weights_history_]
    np.testing.assert_allclose(learner.history_.train_mse, errors, rtol=1e-12)
    norms = np.linalg.norm(learner.weights_history_, axis=2)
    np.testing.assert_allclose(learner.history_.weight_norm, norms, rtol=1e-12)


def test_more_rows_than_there_are_means_all_of_them():
    X, y, W = data()
    one, other = (ReusedBatch(3, steps=4, init=W, batch_size=size).fit(X, y) for size in (None, 50))
    np.testing.assert_array_equal(one.weights_, other.weights_)


def test_epochs_are_shuffled_unless_the_order_is_kept():
    X, y, W = data()
    how = {"steps": 9, "batch_size": 4, "init": W, "step_size": 0.1, "random_state": 0}
    kept, drawn = (ReusedBatch(3, shuffle=s, **how).fit(X, y) for s in (False, True))
    assert np.abs(kept.weights_ - drawn.weights_).max() > 1e-4


def test_errors_are_in_the_units_of_the_labels():
    X, y, _ = data(n=40)
    one, other = (ReusedBatch(2, steps=3, random_state=0).fit(X, s * y + 3) for s in (1, 100))
    np.testing.assert_allclose(other.history_.train_mse, 1e4 * one.history_.train_mse, rtol=1e-9)
    assert one.history_.train_mse[-1] == pytest.approx(np.mean((y + 3 - one.predict(X)) ** 2))


def test_a_step_that_is_too_large_is_named():
    X, y, _ = data(n=100)
    with pytest.raises(gd.NotConverged, match=r"ReusedBatch diverged at update \d+"):
        ReusedBatch(2, activation="z", step_size=50.0, random_state=0).fit(X, y)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"batch_size": 0}, {"width": 1.5}])
def test_wrong_parameters_are_explained(wrong):
    X, y, _ = data()
    with pytest.raises(gd.BadData, match=f"{next(iter(wrong))} must be an integer >= 1"):
        ReusedBatch(**wrong).fit(X, y)


@pytest.mark.stat
@pytest.mark.parametrize(
    ("eta", "overlap", "norm"),
    [
        (0.2, [0.0605, 0.1099, 0.1502, 0.1832], [0.8227, 0.7065, 0.6274, 0.5715]),
        (0.3, [0.0908, 0.1562, 0.2041, 0.2402], [0.7521, 0.6223, 0.5470, 0.4992]),
    ],
)
def test_overlaps_of_the_first_steps(eta, overlap, norm):
    """Reference: exact simulation of tanh(z) learned by one relu, n = 3 d, d = 6e4 (error 0.001).

    Student's threshold at 1e-6 for 16 runs, plus the error of the reference and 1/d. Would catch:
    the gradient of (y - f)^2 without the 1/2, a sum over n/d rows instead of a mean.
    """
    d, runs = 500, 16
    found = []
    for seed in range(runs):
        X, y, w = rotated(np.tanh, n=3 * d, d=d, r=1, seed=seed)
        start = np.random.default_rng(100 + seed).standard_normal((1, d))
        start -= (start @ w.T) @ w
        start /= np.linalg.norm(start)
        learner = ReusedBatch(1, steps=4, step_size=eta, init=start, keep_weights=True, **AS_IT_IS)
        W = learner.fit(X, y).weights_history_[1:, 0]
        found.append([W @ w[0], np.sum(W**2, axis=1)])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(runs)
    allowance = student.isf(5e-7, runs - 1) * spread + 0.001 + 1 / d
    assert (np.abs(mean - [overlap, norm]) < allowance).all()
    assert (spread < 0.01).all()


@pytest.mark.stat
@pytest.mark.parametrize(
    ("table", "least"),
    [
        (lambda: load_diabetes(return_X_y=True), 0.35),
        (lambda: make_friedman2(1000, noise=50, random_state=0), 0.95),
    ],
    ids=["diabetes", "friedman2"],
)
def test_defaults_learn_from_a_table(table, least):
    X, y = table()
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(ReusedBatch(random_state=0), X, y, cv=folds, scoring="r2")
    assert scores.mean() > least

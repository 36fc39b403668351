"""What FeatureClassifier finds, and how well it knows what it does not know."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import gradone as gd
from gradone.learners import FeatureClassifier

from ..rotated import cosines, rotated, sign_product

INDEX = {"members": ("linear", "index"), "cv": 1}


@pytest.mark.stat
def test_two_classes_in_four_quadrants_are_told_apart():
    """A linear classifier is right on half of the rows."""
    X, y, W = rotated(sign_product, n=3000, d=8, r=2, seed=0)
    names = np.where(y > 0, "same", "other")
    fitted = FeatureClassifier(random_state=0).fit(X[:1000], names[:1000])
    assert fitted.score(X[1000:], names[1000:]) > 0.93
    assert LogisticRegression().fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) < 0.6
    assert cosines(fitted.directions_, W).min() > 0.99
    assert fitted.transform(X).shape == (3000, 2)
    assert list(fitted.classes_) == ["other", "same"]


def test_probabilities_are_honest_and_agree_with_decisions():
    """y = 1 with probability 1 / (1 + exp(-2 z1^2 + 2)): shares in bins follow what was said."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4600, 4))
    truth = 1 / (1 + np.exp(2 - 2 * (X @ [0.6, 0.8, 0, 0]) ** 2))
    y = (rng.uniform(size=4600) < truth).astype(int)
    fitted = FeatureClassifier(random_state=0, members=("linear", "index")).fit(X[:600], y[:600])
    said = fitted.predict_proba(X[600:])
    np.testing.assert_allclose(said.sum(axis=1), 1)
    np.testing.assert_array_equal(said.argmax(axis=1), fitted.predict(X[600:]))
    np.testing.assert_array_equal(fitted.decision_function(X[600:]) > 0, said[:, 1] > 0.5)
    assert np.mean((said[:, 1] - truth[600:]) ** 2) < 0.25 * np.var(truth[600:])
    for low, high in ((0, 0.3), (0.3, 0.7), (0.7, 1)):
        some = (said[:, 1] >= low) & (said[:, 1] < high)
        assert abs(said[some, 1].mean() - truth[600:][some].mean()) < 0.08


def test_three_classes_of_a_small_table():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(FeatureClassifier(random_state=0, **INDEX), X, y, cv=3).min() > 0.9
    fitted = FeatureClassifier(random_state=0, **INDEX).fit(X, y)
    assert fitted.decision_function(X).shape == (150, 3)


def test_noise_is_answered_with_the_shares_of_the_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 4)), (rng.uniform(size=200) < 0.3).astype(int)
    fitted = FeatureClassifier(random_state=0, cv=2, members=("linear", "index")).fit(X, y)
    assert "nothing beats the mean" in fitted.diagnosis_
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], y.mean(), atol=1e-4)


def test_one_class_is_refused():
    with pytest.raises(gd.BadData, match="all 30 labels are of one class, 'a'"):
        FeatureClassifier().fit(np.random.default_rng(0).standard_normal((30, 2)), ["a"] * 30)


def test_with_many_classes_directions_are_left_out_unless_asked_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.digitize(X[:, 0], [-0.7, 0, 0.7])
    default = FeatureClassifier(random_state=0, cv=2).fit(X, y)
    asked = FeatureClassifier(random_state=0, **INDEX).fit(X, y)
    assert not default.path_
    assert "best" not in default.cv_scores_
    assert "best" in asked.cv_scores_

"""Classification with random features, against scikit-learn's linear classifiers."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

import gradone as gd
from gradone.learners import RandomFeatures, RandomFeaturesClassifier
from gradone.learners.lazy import _design, _feature_ridge

SIZES = [(80, 30), (40, 70)]  # more rows than features, and fewer
LOSSES = ["logistic", "hinge", "square"]
D = 6


def data(n, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = 1.0 + rng.standard_normal((n, D)) * np.arange(1, D + 1)
    field = X[:, 0] + np.sin(X[:, 1]) + rng.standard_normal(n) / 2
    return X, np.searchsorted(np.quantile(field, np.arange(1, classes) / classes), field)


def features(learner, X):
    """Features divided by sqrt(width), from the weights that the learner drew."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.tanh(scaled @ learner.weights_.T + learner.bias_) / np.sqrt(len(learner.bias_))


def fitted(n, width, classes=2, **parameters):
    X, y = data(n, classes)
    learner = RandomFeaturesClassifier(
        width, activation="tanh(z)", bias_scale=0.5, random_state=0, **parameters
    )
    return learner.fit(X, y), X, y


@pytest.mark.parametrize(("n", "width"), SIZES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.02, 1.0])
def test_logistic_is_that_of_scikit_learn(n, width, fit_intercept, ridge):
    learner, X, y = fitted(n, width, ridge=ridge, fit_intercept=fit_intercept, tol=1e-13)
    Phi = features(learner, X)
    other = LogisticRegression(
        C=1 / ridge, fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000, solver="newton-cg"
    ).fit(Phi, y)
    np.testing.assert_allclose(
        learner.decision_function(X), other.decision_function(Phi), atol=1e-5
    )
    np.testing.assert_allclose(learner.predict_proba(X), other.predict_proba(Phi), atol=1e-6)
    signs = 2 * y - 1
    losses = np.logaddexp(0, -signs * other.decision_function(Phi))
    assert learner.train_loss_ == pytest.approx(losses.mean(), abs=1e-6)
    assert learner.gap_ <= 1e-13


@pytest.mark.parametrize(("n", "width"), SIZES)
@pytest.mark.parametrize("ridge", [0.02, 1.0])
def test_hinge_is_the_support_vector_machine_of_libsvm(n, width, ridge):
    learner, X, y = fitted(n, width, ridge=ridge, loss="hinge", tol=1e-11)
    Phi = features(learner, X)
    other = SVC(kernel="linear", C=1 / ridge, tol=1e-9).fit(Phi, y)
    np.testing.assert_allclose(
        learner.decision_function(X), other.decision_function(Phi), atol=2e-5
    )
    losses = np.maximum(0, 1 - (2 * y - 1) * other.decision_function(Phi))
    assert learner.train_loss_ == pytest.approx(losses.mean(), abs=1e-5)


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_hinge_without_a_constant_meets_its_conditions(n, width):
    """The readout is a sum of y phi with weights in [0, 1]: 1 inside the margin, 0 outside."""
    learner, X, y = fitted(n, width, ridge=0.3, loss="hinge", fit_intercept=False, tol=1e-11)
    assert learner.intercept_ == 0
    Phi, signs = features(learner, X), 2.0 * y - 1
    margin = signs * (Phi @ learner.readout_)
    inside, outside = margin < 1 - 1e-6, margin > 1 + 1e-6
    border = ~(inside | outside)
    known = (signs[inside] @ Phi[inside]) / 0.3
    basis = (signs[border, None] * Phi[border]).T / 0.3
    weights, rest, *_ = np.linalg.lstsq(basis, learner.readout_ - known)
    assert np.abs(basis @ weights + known - learner.readout_).max() < 1e-4
    assert weights.min() > -1e-4
    assert weights.max() < 1 + 1e-4
    assert inside.any()
    assert outside.any()


@pytest.mark.parametrize(("n", "width"), SIZES)
@pytest.mark.parametrize("classes", [2, 3])
def test_squares_are_a_ridge_on_signs(n, width, classes):
    learner, X, y = fitted(n, width, classes, ridge=0.4, loss="square")
    Phi = features(learner, X)
    signs = 2.0 * (y[:, None] == np.arange(classes)) - 1
    outputs = Ridge(alpha=0.4).fit(Phi, signs).predict(Phi)
    found = learner.decision_function(X)
    np.testing.assert_allclose(found, outputs[:, 1] if classes == 2 else outputs, atol=1e-9)
    np.testing.assert_array_equal(learner.predict(X), outputs.argmax(axis=1))


@pytest.mark.parametrize("loss", LOSSES)
def test_more_classes_are_fitted_one_against_the_rest(loss):
    learner, X, y = fitted(90, 40, 3, loss=loss, ridge=0.1, tol=1e-11)
    outputs = learner.decision_function(X)
    assert outputs.shape == (90, 3)
    assert learner.readout_.shape == (3, 40)
    for k in range(3):
        alone = RandomFeaturesClassifier(
            40, activation="tanh(z)", bias_scale=0.5, random_state=0, loss=loss, ridge=0.1,
            tol=1e-11,
        ).fit(X, y == k)  # fmt: skip
        np.testing.assert_allclose(alone.decision_function(X), outputs[:, k], atol=1e-5)
    np.testing.assert_array_equal(learner.predict(X), outputs.argmax(axis=1))
    assert learner.score(X, y) > 0.6
    if loss == "logistic":
        shares = expit(outputs)
        np.testing.assert_allclose(
            learner.predict_proba(X), shares / shares.sum(axis=1, keepdims=True)
        )
    else:
        assert not hasattr(learner, "predict_proba")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("n", "width"), SIZES)
def test_a_path_is_one_fit_for_each_ridge(n, width, loss):
    X, y = data(n)
    one = RandomFeaturesClassifier(width, loss=loss, tol=1e-11, random_state=1)
    ridges = [0.05, 3.0, 0.5]
    for ridge, some in zip(ridges, one.fit_path(X, y, ridges), strict=True):
        alone = RandomFeaturesClassifier(
            width, loss=loss, ridge=ridge, tol=1e-11, random_state=1
        ).fit(X, y)
        np.testing.assert_allclose(some.decision_function(X), alone.decision_function(X), atol=1e-5)
        np.testing.assert_array_equal(some.classes_, [0, 1])
        assert some.ridge_ == ridge


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("n", "width"), SIZES)
def test_blocks_and_what_is_kept_do_not_show(n, width, loss, monkeypatch):
    X, y = data(n)
    learner = RandomFeaturesClassifier(width, loss=loss, random_state=0, tol=1e-11)
    expected = learner.fit(X, y).decision_function(X)
    monkeypatch.setattr(_feature_ridge, "HELD_BYTES", 0)
    monkeypatch.setattr(_design, "HELD_BYTES", 0)
    monkeypatch.setattr(_feature_ridge, "chunk_rows", lambda *_: 11)
    found = learner.set_params(chunk_size=11).fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
@pytest.mark.filterwarnings("ignore:RandomFeaturesClassifier stopped")
def test_the_gap_bounds_what_is_left(loss, fit_intercept, ridge):
    """Would catch: a dual point that is not feasible; a gap per row."""
    X, y = data(60)
    y[:45] = 1  # many more of one class: the constant is far from zero

    def objective(**parameters):
        learner = RandomFeaturesClassifier(
            25, loss=loss, ridge=ridge, fit_intercept=fit_intercept, random_state=0, **parameters
        ).fit(X, y)
        value = 60 * learner.train_loss_ + ridge / 2 * learner.readout_ @ learner.readout_
        return value, learner.gap_

    best, _ = objective(tol=1e-11)
    seen = []
    for steps in range(1, 9):
        value, gap = objective(max_iter=steps)
        seen.append((value - best) / value)
        assert -1e-9 <= seen[-1] <= gap * (1 + 1e-9) + 1e-12
    assert max(seen) > 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_exchanging_the_classes_exchanges_the_sign(loss):
    X, y = data(60)
    one, other = (
        RandomFeaturesClassifier(30, loss=loss, random_state=0, tol=1e-11).fit(X, labels)
        for labels in (y, 1 - y)
    )
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classes_that_can_be_separated_with_hardly_any_ridge(loss):
    """More features than rows: every labelling is separable; the hinge then has a margin of 1."""
    learner, X, y = fitted(40, 200, loss=loss, ridge=1e-7)
    assert learner.converged_
    assert learner.score(X, y) == 1.0
    margin = (2 * y - 1) * learner.decision_function(X)
    if loss == "hinge":
        assert margin.min() == pytest.approx(1.0, abs=1e-3)
        assert learner.train_loss_ < 1e-5


def test_texts_are_classes():
    X, y = data(60)
    names = np.array(["left", "right"])[y]
    learner = RandomFeaturesClassifier(30, random_state=0).fit(X, names)
    assert set(learner.predict(X)) == {"left", "right"}
    assert learner.score(X, names) > 0.8


@pytest.mark.parametrize("loss", LOSSES)
def test_a_ridge_that_is_left_open_is_a_good_one(loss):
    target = gd.Target("sign(z1 + 0.5*z2)")
    s, fresh = (target.sample(400, 30, role=role) for role in ("data", "test"))
    learner = RandomFeaturesClassifier(100, ridge=None, loss=loss, random_state=0).fit(s.X, s.y)
    path = learner.fit_path(s.X, s.y, np.logspace(-4, 4, 9))
    best = max(one.score(fresh.X, fresh.y) for one in path)
    # The loss on 80 rows chooses; shares of 80 and 400 rows are known to 0.05 and 0.02.
    assert learner.score(fresh.X, fresh.y) > best - 0.05
    assert learner.score(fresh.X, fresh.y) > 0.8


def test_the_square_loss_is_the_regression_on_signs():
    X, y = data(60)
    classifier = RandomFeaturesClassifier(30, loss="square", random_state=2).fit(X, y)
    regression = RandomFeatures(30, random_state=2).fit(X, 2.0 * y - 1)
    np.testing.assert_allclose(classifier.decision_function(X), regression.predict(X))
    assert classifier.train_loss_ == pytest.approx(regression.train_mse_)
    assert classifier.train_mse_ == pytest.approx(regression.train_mse_)


def test_one_class_is_refused():
    X, _ = data(10)
    with pytest.raises(gd.BadData, match="all 10 labels are of one class, 'a'"):
        RandomFeaturesClassifier(4).fit(X, ["a"] * 10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ridge": 0}, "ridge must be a number > 0 for loss='logistic', got 0"),
        ({"ridge": -1.0, "loss": "square"}, "ridge must be a number >= 0 for loss='square'"),
        ({"loss": "log"}, "loss must be one of 'logistic', 'hinge', 'square', got 'log'"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = data(10)
    with pytest.raises(gd.BadData, match=message):
        RandomFeaturesClassifier(4, **parameters).fit(X, y)


def test_numbers_that_are_no_classes_are_refused():
    X, _ = data(10)
    with pytest.raises(ValueError, match="Unknown label type"):
        RandomFeaturesClassifier(4).fit(X, X[:, 0])

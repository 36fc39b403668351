"""What FeatureRegressor finds, what it does not depend on, and what it says."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gradone as gd
from gradone.learners import FeatureRegressor

from ..rotated import cosines, he3, product_plus_linear, rotated, staircase

FRESH = 4000
# The search for directions alone, on one split: enough where nothing else is at stake.
INDEX = {"members": ("linear", "index"), "cv": 1}


def share(fitted, X, y):
    return 1 - np.mean((fitted.predict(X) - y) ** 2) / np.var(y)


def measured(function, *, n, d, r, seed, **parameters):
    """R² on fresh rows, overlaps with the truth, and the fitted learner."""
    X, y, W = rotated(function, n=n + FRESH, d=d, r=r, seed=seed)
    fitted = FeatureRegressor(random_state=0, **parameters).fit(X[:n], y[:n])
    found = cosines(fitted.directions_, W) if fitted.n_directions_ else np.zeros(0)
    return share(fitted, X[n:], y[n:]), found, fitted


@pytest.fixture(scope="module")
def product():
    """Rows of z1 z2 in 6 dimensions, and a learner fitted to them."""
    X, y, W = rotated(lambda a, b: a * b, n=200, d=5, r=2, seed=0)
    return X, y, W, FeatureRegressor(random_state=0, cv=2).fit(X, y)


# ---- what it finds


@pytest.mark.stat
def test_a_staircase_is_climbed_to_its_end():
    """z2 and z3 show only when z1 is known; without the second stage R² stays below 0.6."""
    r2, found, fitted = measured(staircase, n=1200, d=10, r=3, seed=0)
    assert r2 > 0.85
    assert fitted.n_directions_ == 3
    assert found.min() > 0.99
    assert len(fitted.path_) >= 2
    scores = [stage["score"] for stage in fitted.path_]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.stat
def test_what_no_low_moment_shows_is_found_through_the_kernel():
    r2, found, fitted = measured(lambda z: np.sin(3 * z), n=1000, d=8, r=1, seed=0)
    assert r2 > 0.99
    assert found.min() > 0.999
    assert "which label-conditional moments" in fitted.diagnosis_


def test_smooth_functions_of_two_directions_are_learned_to_the_noise(product):
    X, y, W, fitted = product
    fresh = np.random.default_rng(9).standard_normal((FRESH, 5))
    assert share(fitted, fresh, np.prod(fresh @ W.T, axis=1)) > 0.98
    assert cosines(fitted.directions_, W).min() > 0.995
    assert fitted.diagnosis_ == "2 directions are visible only to second order."
    np.testing.assert_allclose(fitted.directions_ @ fitted.directions_.T, np.eye(2), atol=1e-12)
    assert set(fitted.member_weights_) <= set(fitted.cv_scores_)
    assert sum(fitted.member_weights_.values()) == pytest.approx(1, abs=0.1)


def test_the_linear_part_is_one_of_the_directions():
    X, y, W = rotated(product_plus_linear, n=300, d=6, r=3, seed=1)
    fitted = FeatureRegressor(random_state=0, **INDEX).fit(X, y)
    assert fitted.n_directions_ == 3
    assert cosines(fitted.directions_, W).min() > 0.99


def test_a_linear_function_has_one_direction_and_needs_nothing_but_ridge():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((200, 5)), np.array([2.0, -1.0, 0, 0, 0.5])
    y = X @ w + 0.5 * rng.standard_normal(200)
    fitted = FeatureRegressor(random_state=0).fit(X, y)
    scaled = w * X.std(axis=0)
    assert fitted.n_directions_ == 1
    assert abs(fitted.directions_[0] @ scaled) / np.linalg.norm(scaled) > 0.99
    assert "ridge predicts best" in fitted.diagnosis_


def test_more_columns_than_rows():
    """They span all that is known: nothing is lost, and directions live in the given columns."""
    rng = np.random.default_rng(0)
    factors, mix = rng.standard_normal((360, 2)), rng.standard_normal((2, 90))
    X = factors @ mix + 0.3 * rng.standard_normal((360, 90))
    y = factors[:, 0] - 0.5 * factors[:, 1]
    fitted = FeatureRegressor(random_state=0, **INDEX).fit(X[:60], y[:60])
    assert share(fitted, X[60:], y[60:]) > 0.9
    assert fitted.directions_.shape[1] == 90
    k = fitted.n_directions_
    np.testing.assert_allclose(fitted.directions_ @ fitted.directions_.T, np.eye(k), atol=1e-10)


@pytest.mark.stat
def test_directions_get_better_with_more_rows():
    """The error 1 - cos falls like 1/n with noisy labels: eight times the rows, an eighth of it."""
    X, y, W = rotated(lambda a, b: a * b, n=1600, d=8, r=2, seed=3)
    y = y + np.random.default_rng(3).standard_normal(1600)
    few, many = (
        1 - cosines(FeatureRegressor(random_state=0, **INDEX).fit(X[:n], y[:n]).directions_, W)
        for n in (200, 1600)
    )
    assert many.sum() < 0.5 * few.sum()


def test_noise_is_answered_with_the_mean():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((150, 6)), rng.standard_normal(150)
    fitted = FeatureRegressor(random_state=0).fit(X, y)
    assert fitted.member_weights_ == {}
    np.testing.assert_allclose(fitted.predict(X), y.mean())
    assert fitted.diagnosis_.startswith("nothing beats the mean out of fold (the best member is ")
    assert "No direction was found" in fitted.diagnosis_
    with pytest.warns(UserWarning, match="transform returns no columns: nothing beats"):
        assert fitted.transform(X).shape == (150, 0)


@pytest.mark.slow
def test_noise_is_answered_with_the_mean_in_nearly_every_draw():
    """At most 10 of 200 draws find something: the rule of two standard errors."""
    misses = 0
    for draw in range(200):
        rng = np.random.default_rng([99, draw])
        X, y = rng.standard_normal((200, 8)), rng.standard_normal(200)
        fitted = FeatureRegressor(random_state=draw).fit(X, y)
        misses += bool(fitted.member_weights_) or "nothing beats the mean" not in fitted.diagnosis_
    assert misses <= 10


def test_several_labels_share_their_directions():
    X, y, W = rotated(lambda a, b: a * b, n=300, d=6, r=2, seed=0)
    Y = np.stack([y, np.tanh(X @ W[0]), np.full(300, 3.0)], axis=1)
    fitted = FeatureRegressor(random_state=0, **INDEX).fit(X, Y)
    fresh = np.random.default_rng(9).standard_normal((1000, 6))
    truth = np.stack([np.prod(fresh @ W.T, axis=1), np.tanh(fresh @ W[0])], axis=1)
    found = fitted.predict(fresh)
    assert found.shape == (1000, 3)
    assert (1 - np.mean((found[:, :2] - truth) ** 2, axis=0) / truth.var(axis=0) > 0.97).all()
    np.testing.assert_array_equal(found[:, 2], 3.0)
    assert cosines(fitted.directions_, W).min() > 0.995


# ---- what it does not depend on


def test_the_order_of_rows_does_not_matter(product):
    X, y, _, fitted = product
    order = np.random.default_rng(0).permutation(len(y))
    again = FeatureRegressor(random_state=0, cv=2).fit(X[order], y[order])
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(again.directions_, fitted.directions_)


def test_the_units_of_columns_and_labels_do_not_matter(product):
    X, y, _, fitted = product
    scale = 10.0 ** np.arange(-2, 3)
    again = FeatureRegressor(random_state=0, cv=2).fit(X * scale + 5 * scale, 100 * y - 3)
    np.testing.assert_allclose(
        (again.predict(X * scale + 5 * scale) + 3) / 100, fitted.predict(X), atol=1e-5
    )
    np.testing.assert_allclose(np.abs(again.directions_), np.abs(fitted.directions_), atol=1e-5)


@pytest.mark.stat
@pytest.mark.parametrize("function", [lambda a, b: a * b, lambda a, b: np.tanh(a) + b**2])
def test_directions_turn_with_the_inputs(function):
    """Inputs with exactly unit covariance, so that standardization does not prefer axes."""
    X, _, W = rotated(function, n=200, d=5, r=2, seed=4)
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / len(X))).T
    y = function(*(X @ W.T).T)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    fitted, turned = (FeatureRegressor(random_state=0, cv=2).fit(Z, y) for Z in (X, X @ turn))
    np.testing.assert_allclose(turned.predict(X @ turn), fitted.predict(X), atol=1e-4)
    assert turned.n_directions_ == fitted.n_directions_
    assert cosines(turned.directions_, fitted.directions_ @ turn).min() > 1 - 1e-8


def test_a_weight_counts_rows():
    X, y, _ = rotated(lambda a, b: a * b, n=120, d=4, r=2, seed=0)
    counts = np.random.default_rng(0).integers(0, 3, 120)
    small = {"random_state": 0, "cv": 2}
    counted = FeatureRegressor(**small).fit(X, y, sample_weight=counts)
    repeated = FeatureRegressor(**small).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    np.testing.assert_allclose(counted.predict(X), repeated.predict(X), atol=1e-8)


def test_weights_decide_which_rows_count():
    """Half of the rows follow another function; with tiny weights they are not heard."""
    X, y, _ = rotated(lambda a, b: a * b, n=400, d=4, r=2, seed=0)
    mixed = np.where(np.arange(400) < 200, y, -y)
    weights = np.where(np.arange(400) < 200, 1.0, 1e-6)
    fitted = FeatureRegressor(random_state=0, **INDEX).fit(X, mixed, sample_weight=weights)
    assert share(fitted, X, y) > 0.9


# ---- use


def test_tables_with_names_go_in_and_come_out(product):
    pd = pytest.importorskip("pandas")
    X, y, _, _ = product
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = FeatureRegressor(random_state=0, **INDEX).set_output(transform="pandas").fit(frame, y)
    out = fitted.transform(frame)
    assert list(out.columns) == ["featureregressor0", "featureregressor1"]
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(out, standardized @ fitted.directions_.T, atol=1e-10)
    table = fitted.loadings()
    assert list(table["feature"].values) == list("abcde")
    np.testing.assert_allclose(table["loading"], fitted.directions_.T)
    expected = np.corrcoef(np.hstack([X, out]).T)[:5, 5:]
    np.testing.assert_allclose(table["correlation"], expected, atol=1e-10)


def test_it_is_searched_over_and_chained(product):
    X, y, W, _ = product
    small = FeatureRegressor(random_state=0, n_landmarks=40, **INDEX)
    search = GridSearchCV(small, {"max_directions": [1, 2]}, cv=2).fit(X, y)
    assert search.best_params_ == {"max_directions": 2}
    chain = make_pipeline(StandardScaler(), small, Ridge()).fit(X, y)
    assert chain[:-1].transform(X).shape == (200, 2)


class Until:
    """Callback that ends the fit after some steps and remembers what it was told."""

    def __init__(self, steps):
        self.steps, self.parts = steps, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata, fitted_estimator=None):
        if metadata:
            self.parts.append(metadata["part"])
        return len(self.parts) >= self.steps


@pytest.mark.parametrize(
    ("members", "part"),
    [(("linear", "kernel", "index"), "fold 1, kernel"), (("linear", "index"), "fold 1, stage 1")],
)
def test_a_fit_that_is_stopped_keeps_the_best_so_far(product, members, part):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    X, y, W, _ = product
    watcher = Until(1)
    fitted = FeatureRegressor(random_state=0, cv=2, members=members)
    fitted.set_callbacks(watcher).fit(X, y)
    assert watcher.parts == [part]
    assert fitted.diagnosis_.endswith("The fit was stopped early; this is the best so far.")
    assert ("stage1" in fitted.cv_scores_) == ("stage" in part)
    fresh = np.random.default_rng(9).standard_normal((FRESH, 5))
    assert share(fitted, fresh, np.prod(fresh @ W.T, axis=1)) > 0.9


# ---- what it says


def test_bad_tables_are_refused_in_words():
    pd = pytest.importorskip("pandas")
    X, y = np.random.default_rng(0).standard_normal((30, 3)), np.arange(30.0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(color="red")
    with pytest.raises(gd.BadData, match="hold text, categories or dates: 'color'"):
        FeatureRegressor().fit(frame, y)
    with pytest.raises(ValueError, match="infinity"):
        FeatureRegressor().fit(np.where(X > 1, np.inf, X), y)
    with pytest.raises(gd.BadData, match="sample_weight must be 30 finite numbers >= 0"):
        FeatureRegressor().fit(X, y, sample_weight=-np.ones(30))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_directions": 0}, "max_directions"),
        ({"cv": 0}, "cv must be 'auto' or a number of folds >= 1, got 0"),
        ({"cv": "five"}, "cv must be 'auto', a number of folds or splits, got 'five'"),
        ({"members": ("forest",)}, "members must be some of 'linear', 'kernel', 'metric', 'trees'"),
        ({"min_gain": 2}, "min_gain must be a number from 0 to 1, got 2"),
    ],
)
def test_bad_parameters_are_refused_in_words(given, message):
    with pytest.raises(gd.BadData, match=message):
        FeatureRegressor(**given).fit(np.eye(30), np.arange(30.0))


def test_strange_columns_are_named():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = np.abs(X[:, 0])
    small = FeatureRegressor(random_state=0, cv=2, max_directions=1, n_landmarks=20)
    with pytest.warns(UserWarning, match=r"leaves out 1 constant column of X \(4\)"):
        small.fit(np.column_stack([X, np.ones(60)]), y)
    with pytest.warns(UserWarning, match="equal up to scale: 1 and 4"):
        small.fit(np.column_stack([X, 3 * X[:, 1] + 1]), y)
    with pytest.warns(UserWarning, match="column 4 of X is a linear function of the target"):
        small.fit(np.column_stack([X, 2 * y - 1]), y)
    with pytest.warns(UserWarning, match="fits ridge regression alone to 12 row"):
        small.fit(X[:12], y[:12])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.fit(X, y)


def test_without_signal_in_constant_labels_the_constant_is_predicted():
    X = np.random.default_rng(0).standard_normal((40, 3))
    fitted = FeatureRegressor().fit(X, np.full(40, 2.5))
    np.testing.assert_array_equal(fitted.predict(X), 2.5)


# ---- reference values: R² on 4000 fresh rows, one draw each, minus the tolerance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "n", "d", "least"),
    [
        (lambda z: z[:, 0] ** 2 - 1 + np.sign(z[:, 0] * z[:, 1] * z[:, 2]), 2000, 30, 0.835),
        (lambda z: he3(z[:, 0]) / np.sqrt(6), 1333, 50, 0.987),
        (lambda z: z[:, 0] * z[:, 1] + z[:, 2], 2000, 50, 0.990),
        (lambda z: np.maximum(z, 0).sum(axis=1), 2000, 100, 0.987),
        (lambda z: np.tanh(z[:, 0]) * z[:, 1], 2000, 50, 0.990),
        (lambda z: np.sign(z[:, 0] * z[:, 1]), 2000, 50, 0.832),
        (lambda z: np.sin(3 * z[:, 0]), 2000, 30, -0.031),
        (lambda z: np.sin(3 * z[:, 0]), 8000, 30, 0.990),
        (lambda z: np.maximum(z, 0).sum(axis=1), 1000, 30, 0.987),
        (lambda z: z[:, 0] ** 2 - 1 + np.sign(z[:, 0] * z[:, 1] * z[:, 2]), 2000, 60, 0.801),
    ],
)
def test_reference_values_on_rotated_targets(function, n, d, least):
    rng = np.random.default_rng(7005)
    X = rng.standard_normal((n + FRESH, d))
    y = function(X @ np.linalg.qr(rng.standard_normal((d, d)))[0][:, :3])
    fitted = FeatureRegressor(random_state=0).fit(X[:n], y[:n])
    assert share(fitted, X[n:], y[n:]) > least

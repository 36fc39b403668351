"""Regression with random features, against features and solutions written out here."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import erf
from sklearn.linear_model import Ridge

import gradone as gd
from gradone.learners import RandomFeatures
from gradone.learners.lazy import _design, _feature_ridge

ACTIVATIONS = {
    "tanh(z)": np.tanh,
    "relu(z - 0.5)": lambda u: np.maximum(u - 0.5, 0),
    "erf(z)": erf,
    "sign(z)": np.sign,
    "He2(z)/2 + z": lambda u: (u**2 - 1) / 2 + u,
}
SIZES = [(60, 25), (25, 60)]  # more rows than features, and fewer
D = 8


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.standard_normal((n, D)) * np.arange(1, D + 1)
    return X, np.sin(X[:, 0]) + X[:, 1] / 5 + 2.0


def features(learner, X, activation=np.tanh):
    """Features divided by sqrt(width), from the weights that the learner drew."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    fields = scaled @ learner.weights_.T + learner.bias_
    return activation(fields) / np.sqrt(len(learner.bias_))


@pytest.mark.parametrize("text", ACTIVATIONS)
@pytest.mark.parametrize(("n", "width"), SIZES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_readout_is_that_of_least_squares_written_out(text, n, width, fit_intercept):
    """Would catch: ridge times n, a half, width instead of its root, a penalized constant."""
    X, y = data(n)
    learner = RandomFeatures(
        width, activation=text, ridge=0.3, bias_scale=0.5, fit_intercept=fit_intercept
    )
    learner.fit(X, y)
    Phi = features(learner, X, ACTIVATIONS[text])
    ones = np.ones((n, 1)) * fit_intercept
    top = np.hstack([Phi, ones])
    below = np.hstack([np.sqrt(0.3) * np.eye(width), np.zeros((width, 1))])
    right = np.concatenate([y, np.zeros(width)])
    solution = np.linalg.lstsq(np.vstack([top, below]), right)[0]
    np.testing.assert_allclose(learner.readout_, solution[:-1], atol=1e-9)
    assert learner.intercept_ == pytest.approx(solution[-1] * fit_intercept, abs=1e-9)
    outputs = top @ solution
    np.testing.assert_allclose(learner.predict(X), outputs, atol=1e-9)
    assert learner.train_mse_ == pytest.approx(np.mean((y - outputs) ** 2), rel=1e-8)
    assert learner.train_loss_ == learner.train_mse_


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_the_ridge_is_that_of_scikit_learn_on_scaled_features(n, width):
    X, y = data(n)
    learner = RandomFeatures(width, activation="tanh(z)", ridge=0.7).fit(X, y)
    Phi = features(learner, X)
    np.testing.assert_allclose(
        learner.predict(X), Ridge(alpha=0.7).fit(Phi, y).predict(Phi), atol=1e-9
    )


@pytest.mark.parametrize(("n", "width"), SIZES)
@pytest.mark.parametrize("loss", ["square", "huber"])
def test_a_path_is_one_fit_for_each_ridge(n, width, loss):
    X, y = data(n)
    one = RandomFeatures(width, loss=loss, tol=1e-13, random_state=3)
    ridges = [2.0, 0.01, 0.3]
    for ridge, fitted in zip(ridges, one.fit_path(X, y, ridges), strict=True):
        alone = RandomFeatures(width, loss=loss, tol=1e-13, ridge=ridge, random_state=3).fit(X, y)
        assert fitted.ridge == fitted.ridge_ == ridge
        np.testing.assert_array_equal(fitted.weights_, alone.weights_)
        np.testing.assert_allclose(fitted.predict(X), alone.predict(X), atol=1e-6)
        assert fitted.train_mse_ == pytest.approx(alone.train_mse_, rel=1e-6)
    assert not hasattr(one, "readout_")


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_the_limit_of_no_ridge_is_the_smallest_of_the_best(n, width):
    """With more features than rows it interpolates; otherwise it is plain least squares."""
    X, y = data(n)
    learner = RandomFeatures(width, activation="tanh(z)", ridge=0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(
        learner.readout_, np.linalg.pinv(features(learner, X)) @ y, rtol=1e-6, atol=1e-6
    )
    if n < width:
        np.testing.assert_allclose(learner.predict(X), y, atol=1e-8)
        assert learner.train_mse_ < 1e-16


@pytest.mark.parametrize("value", [0.0, 3.0, -1e8])
@pytest.mark.parametrize("loss", ["square", "huber"])
@pytest.mark.parametrize("width", [10, 100])
def test_equal_labels_are_a_constant(value, loss, width):
    X, _ = data(40)
    learner = RandomFeatures(width, loss=loss, ridge=1e-3).fit(X, np.full(40, value))
    np.testing.assert_allclose(learner.predict(X), value, rtol=1e-9)
    assert learner.n_iter_ <= 2


def test_rows_that_repeat_with_other_labels_cannot_be_interpolated():
    X, y = data(20)
    X, y = np.vstack([X, X]), np.concatenate([y, y + 1])
    learner = RandomFeatures(200, ridge=0).fit(X, y)
    assert learner.train_mse_ == pytest.approx(0.25, rel=1e-6)


@pytest.mark.parametrize(("n", "width"), SIZES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_hubers_objective_has_no_lower_point(n, width, fit_intercept):
    """Another solver, from another start; and the claimed gap bounds what is left."""
    X, y = data(n)
    y = y + np.where(np.arange(n) % 7 == 0, 20.0, 0.0)
    learner = RandomFeatures(
        width, activation="tanh(z)", loss="huber", delta=0.4, ridge=0.05,
        fit_intercept=fit_intercept,
    ).fit(X, y)  # fmt: skip
    Phi = features(learner, X)

    def objective(theta):
        error = Phi @ theta[:-1] + theta[-1] * fit_intercept - y
        inside = np.abs(error) <= 0.4
        losses = np.where(inside, error**2 / 2, 0.4 * np.abs(error) - 0.08)
        slope = np.clip(error, -0.4, 0.4)
        gradient = np.append(Phi.T @ slope + 0.05 * theta[:-1], slope.sum() * fit_intercept)
        return losses.sum() + 0.025 * theta[:-1] @ theta[:-1], gradient

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.full(width + 1, 0.1)
    other = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    reached, gradient = objective(np.append(learner.readout_, learner.intercept_))
    assert np.abs(gradient).max() < 1e-5
    assert reached <= other.fun * (1 + 1e-9)
    assert other.fun >= reached * (1 - learner.gap_ - 1e-9)
    assert learner.converged_
    error = y - learner.predict(X)
    assert learner.train_mse_ == pytest.approx(np.mean(error**2))
    huber = np.where(np.abs(error) <= 0.4, error**2 / 2, 0.4 * np.abs(error) - 0.08)
    assert learner.train_loss_ == pytest.approx(huber.mean())


@pytest.mark.parametrize("loss", ["square", "huber"])
@pytest.mark.parametrize("ridge", [0.2, None])
def test_columns_of_labels_are_fitted_with_the_same_features(loss, ridge):
    X, y = data(60)
    Y = np.column_stack([y, X[:, 2], np.cos(X[:, 3])])
    learner = RandomFeatures(30, loss=loss, ridge=ridge, random_state=0, tol=1e-12).fit(X, Y)
    assert learner.readout_.shape == (3, 30)
    assert learner.predict(X).shape == (60, 3)
    for k in range(3):
        alone = RandomFeatures(30, loss=loss, ridge=learner.ridge_, random_state=0, tol=1e-12)
        np.testing.assert_allclose(
            learner.predict(X)[:, k], alone.fit(X, Y[:, k]).predict(X), atol=1e-7
        )
    error = np.mean((Y - learner.predict(X)) ** 2)
    assert learner.train_mse_ == pytest.approx(error, rel=1e-6)
    one = RandomFeatures(30, ridge=0.2).fit(X, Y[:, :1])
    assert one.predict(X).shape == (60, 1)


def test_a_wide_huber_loss_is_the_square():
    """Half the square with half the penalty has the minimum of the square with the penalty."""
    X, y = data(60)
    square = RandomFeatures(25, ridge=0.3, random_state=0).fit(X, y)
    huber = RandomFeatures(25, ridge=0.3, loss="huber", delta=1e3, random_state=0).fit(X, y)
    np.testing.assert_allclose(huber.predict(X), square.predict(X), atol=1e-6)


@pytest.mark.parametrize("loss", ["square", "huber"])
@pytest.mark.parametrize(("n", "width"), SIZES)
def test_blocks_and_what_is_kept_do_not_show(n, width, loss, monkeypatch):
    X, y = data(n)
    learner = RandomFeatures(width, loss=loss, bias_scale=1.0, random_state=0, tol=1e-12)
    expected = learner.fit(X, y).predict(X)
    monkeypatch.setattr(_feature_ridge, "HELD_BYTES", 0)
    monkeypatch.setattr(_design, "HELD_BYTES", 0)
    monkeypatch.setattr(_feature_ridge, "chunk_rows", lambda *_: 7)
    found = learner.set_params(chunk_size=7).fit(X, y).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def peak_of_fit(n, width):
    X = np.random.default_rng(0).standard_normal((n, 10))
    learner = RandomFeatures(width, activation="tanh(z)", chunk_size=500, random_state=0)
    tracemalloc.start()
    learner.fit(X, X[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_rows_times_the_width():
    """All features of 16000 rows would be 26 MB; four matrices and a block are 2 MB."""
    few, many = peak_of_fit(4_000, 200), peak_of_fit(16_000, 200)
    assert many - few < 12_000 * 8 * 6  # some vectors of the labels' length
    assert many < 6e6


def test_gaussian_and_spherical_rows():
    X = np.random.default_rng(0).standard_normal((10, 50))
    gaussian = RandomFeatures(4000, random_state=0).fit(X, X[:, 0]).weights_
    sphere = RandomFeatures(4000, init="random", random_state=0).fit(X, X[:, 0]).weights_
    np.testing.assert_allclose(np.linalg.norm(sphere, axis=1), 1.0)
    # 200000 numbers of variance 1/50: the mean square is off by 0.0032 of itself.
    assert np.mean(gaussian**2) * 50 == pytest.approx(1.0, abs=0.016)
    assert np.linalg.norm(gaussian, axis=1).std() == pytest.approx(0.1, abs=0.01)
    given = RandomFeatures(3, init=sphere[:3]).fit(X, X[:, 0]).weights_
    np.testing.assert_array_equal(given, sphere[:3])


def test_fewer_features_are_the_first_of_more():
    X, y = data(20)
    few, many = (RandomFeatures(p, random_state=5).fit(X, y).weights_ for p in (3, 9))
    np.testing.assert_array_equal(few, many[:3])


def test_the_inputs_are_used_as_they_are_without_standardization():
    X, y = data(30)
    learner = RandomFeatures(12, activation="tanh(z)", standardize=False, ridge=0.3).fit(X, y)
    Phi = np.tanh(X @ learner.weights_.T) / np.sqrt(12)
    np.testing.assert_allclose(
        learner.predict(X), Ridge(alpha=0.3).fit(Phi, y).predict(Phi), atol=1e-9
    )


@pytest.mark.parametrize("loss", ["square", "huber"])
def test_a_ridge_that_is_left_open_is_a_good_one(loss):
    target = gd.Target("z1 + 0.5*z2", noise=1.0)
    s, fresh = (target.sample(400, 40, role=role) for role in ("data", "test"))
    learner = RandomFeatures(300, ridge=None, loss=loss, random_state=0).fit(s.X, s.y)
    path = learner.fit_path(s.X, s.y, np.logspace(-3, 3, 13))
    errors = [np.mean((fresh.y - one.predict(fresh.X)) ** 2) for one in path]
    # A fifth of 400 rows tells errors apart to about 1/sqrt(80) = 0.11 of their size.
    assert np.mean((fresh.y - learner.predict(fresh.X)) ** 2) < 1.11 * min(errors)
    assert max(errors) > 1.3 * min(errors)


def test_a_ridge_cannot_be_chosen_from_equal_labels():
    X, _ = data(10)
    learner = RandomFeatures(5, ridge=None, random_state=0).fit(X, np.full(10, 3.0))
    np.testing.assert_allclose(learner.predict(X), 3.0)


def test_an_unfinished_fit_says_so():
    X, y = data(60)
    learner = RandomFeatures(25, loss="huber", delta=0.01, ridge=1e-3, max_iter=1)
    with pytest.warns(UserWarning, match="stopped after 1 steps with a gap of .* raise max_iter"):
        learner.fit(X, y)
    assert not learner.converged_
    assert learner.gap_ > learner.tol


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ridge": -0.1}, "ridge must be a number >= 0 for loss='square', got -0.1"),
        ({"ridge": 0, "loss": "huber"}, "ridge must be a number > 0 for loss='huber', got 0"),
        ({"ridge": np.nan}, "ridge must be a number >= 0"),
        ({"ridge": "1"}, "ridge must be a number >= 0"),
        ({"width": 0}, "width must be an integer >= 1, got 0"),
        ({"width": 2.5}, "width must be an integer >= 1, got 2.5"),
        ({"activation": "rel(z)"}, "unknown function 'rel'.*\n.*\n.*\n.*Did you mean 'relu'"),
        ({"activation": "z1*z2"}, "an activation is a function of z alone"),
        ({"activation": np.tanh}, "activation must be the text of a function of z"),
        ({"loss": "hubert"}, "loss must be one of 'square', 'huber', got 'hubert'. Did you mean"),
        ({"delta": 0.0}, "delta must be a number > 0, got 0.0"),
        ({"init": "uniform"}, "init must be 'random', 'gaussian' or an array"),
        ({"init": np.ones((2, 2))}, r"finite weights of shape \(4, 8\), got an array of shape"),
        ({"bias_scale": -1.0}, "bias_scale must be a number >= 0"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False, got 1"),
        ({"chunk_size": 0}, "chunk_size must be an integer >= 1"),
        ({"tol": 0}, "tol must be a number > 0"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = data(10)
    with pytest.raises(gd.GradoneError, match=message):
        RandomFeatures(**({"width": 4} | parameters)).fit(X, y)


def test_bad_data_are_refused():
    X, y = data(10)
    with pytest.raises(ValueError, match="NaN"):
        RandomFeatures(4).fit(np.where(X > 5, np.nan, X), y)
    with pytest.raises(ValueError, match="minimum of 2"):
        RandomFeatures(4).fit(X[:1], y[:1])
    with pytest.raises(gd.BadData, match="at least one value of the ridge"):
        RandomFeatures(4).fit_path(X, y, [])
    with pytest.raises(gd.BadData, match="ridge must be a number >= 0 for loss='square', got -1"):
        RandomFeatures(4).fit_path(X, y, [1.0, -1.0])


def test_an_activation_that_overflows_is_named():
    X, y = data(10)
    learner = RandomFeatures(4, activation="exp(z)", standardize=False)
    with pytest.raises(gd.BadData, match="the activation 'exp.z.' overflows on these inputs"):
        learner.fit(1e4 * X, y)

"""Giant steps: the step itself, what it learns, streams, and what is refused."""

import numpy as np
import pytest

import gradone as gd
from gradone.learners import GiantStep

PLAIN = {"standardize": False, "shuffle": False, "random_state": 0}


def squares(y, f):
    return (y - f) ** 2 / 2


def cross_entropy(y, f):
    return np.log1p(np.exp(-y * f))


def numeric_gradient(learner, weights, X, y, activation, loss=squares):
    """Minus the gradient of the mean loss by central differences, times the width."""
    bias, a = learner.bias_, learner.initial_readout_

    def risk(W):
        f = activation(X @ W.T + bias) @ a / len(a)
        return np.mean(loss(y, f))

    out, h = np.empty_like(weights), 1e-6
    for place in np.ndindex(weights.shape):
        up, down = weights.copy(), weights.copy()
        up[place] += h
        down[place] -= h
        out[place] = -(risk(up) - risk(down)) / (2 * h) * len(a)
    return out


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("reuse", [True, False])
def test_steps_follow_the_gradient_of_the_risk(symmetric, reuse):
    """Would catch: f left out of the second step, 1/width forgotten, a step on the wrong rows."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 5)), rng.standard_normal(40)
    learner = GiantStep(
        6,
        steps=2,
        activation="tanh(z)",
        step_size=0.7,
        batch_size=15,
        reuse=reuse,
        symmetric=symmetric,
        keep_weights=True,
        **PLAIN,
    ).fit(X, y)
    first, second = learner.weights_history_
    rows = slice(0, 15) if reuse else slice(15, 30)
    expected = 0.7 * numeric_gradient(learner, first, X[rows], y[rows], np.tanh)
    np.testing.assert_allclose(second - first, expected, atol=1e-8)


@pytest.mark.parametrize("symmetric", [True, False])
def test_logistic_steps_follow_the_gradient_of_the_cross_entropy(symmetric):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 5)), rng.choice([-1.0, 1.0], 40)
    learner = GiantStep(
        6, steps=2, activation="tanh(z)", step_size=5.0, batch_size=15, loss="logistic",
        symmetric=symmetric, keep_weights=True, **PLAIN,
    ).fit(X, y)  # fmt: skip
    first, second = learner.weights_history_
    rows = slice(15, 30)
    expected = numeric_gradient(learner, first, X[rows], y[rows], np.tanh, cross_entropy)
    np.testing.assert_allclose(second - first, 5 * expected, atol=1e-7)
    # What the steps see are labels as they are, standardized inputs or not.
    scaled = GiantStep(6, loss="logistic", random_state=0).fit(3 * X + 1, y)
    assert (scaled.label_mean_, scaled.label_scale_) == (0.0, 1.0)


def test_the_first_logistic_step_is_half_a_square_step():
    sample = gd.Target("sign(z1 + z1*z2)").sample(n=4000, d=40, seed=0)
    shared = {"batch_size": 3000, **PLAIN}
    half = GiantStep(8, step_size=4.0, loss="logistic", **shared).fit(sample.X, sample.y)
    whole = GiantStep(8, step_size=2.0, **shared).fit(sample.X, sample.y)
    np.testing.assert_allclose(half.weights_, whole.weights_)
    np.testing.assert_allclose(half.predict(sample.X), whole.predict(sample.X))


def test_logistic_labels_are_signs():
    X = np.random.default_rng(0).standard_normal((40, 5))
    with pytest.raises(gd.BadData, match="logistic loss needs labels -1 and 1"):
        GiantStep(4, loss="logistic").fit(X, X[:, 0])
    with pytest.raises(gd.BadData, match="preprocess=True takes a linear part off"):
        GiantStep(4, loss="logistic", preprocess=True).fit(X, np.sign(X[:, 0]))


def test_the_leap_sets_the_scale_of_the_step():
    sample = gd.Target("He2(z)").sample(n=400, d=25, seed=0)
    shared = {"batch_size": 300, "steps": 1, "keep_weights": True, **PLAIN}
    one = GiantStep(8, step_size=2.0, leap=1, **shared).fit(sample.X, sample.y)
    two = GiantStep(8, step_size=0.4, leap=2, **shared).fit(sample.X, sample.y)
    np.testing.assert_allclose(one.weights_, two.weights_)  # 0.4 * sqrt(25) = 2


def test_readout_is_ridge_regression_on_the_rows_that_no_step_has_seen():
    sample = gd.Target("tanh(z1) + z1*z2").sample(n=300, d=12, seed=1)
    learner = GiantStep(20, batch_size=100, ridge=0.3, fit_intercept=False, **PLAIN)
    learner.fit(sample.X, sample.y)
    X, y = sample.X[100:], sample.y[100:]
    features = np.maximum(X @ learner.weights_.T + learner.bias_, 0) / np.sqrt(20)
    a = np.linalg.solve(features.T @ features + 0.3 * np.eye(20), features.T @ y)
    np.testing.assert_allclose(learner.readout_, a, rtol=1e-8)
    np.testing.assert_allclose(learner.predict(X), features @ a, rtol=1e-8)
    assert learner.train_mse_ == pytest.approx(np.mean((y - features @ a) ** 2), rel=1e-8)


def test_linear_part_is_fitted_beside_the_features():
    """A network of few neurons cannot write a linear function of 30 variables; x itself can."""
    sample = gd.Target("z").sample(n=600, d=30, seed=2)
    shared = {"step_size": 0.0, "batch_size": 100, "ridge": 1e-6, **PLAIN}
    with_x = GiantStep(4, linear_part=True, **shared).fit(sample.X, sample.y)
    without = GiantStep(4, **shared).fit(sample.X, sample.y)
    assert with_x.train_mse_ < 1e-6
    assert without.train_mse_ > 0.5


def test_rescaled_rows_have_norm_one():
    sample = gd.Target("z").sample(n=200, d=10, seed=0)
    shared = {"step_size": 5.0, "batch_size": 100, **PLAIN}
    rows = GiantStep(8, rescale="rows", **shared).fit(sample.X, sample.y)
    np.testing.assert_allclose(np.linalg.norm(rows.weights_, axis=1), 1)
    rms = GiantStep(8, rescale="rms", **shared).fit(sample.X, sample.y)
    assert np.mean(np.linalg.norm(rms.weights_, axis=1) ** 2) == pytest.approx(1)


def test_preprocessing_is_given_back_to_the_predictions():
    """Labels that are linear leave nothing for the network; the prediction is still right."""
    sample = gd.Target("3*z + 2").sample(n=4000, d=10, seed=0)
    learner = GiantStep(8, preprocess=True, batch_size=3000, ridge=1e6, **PLAIN)
    learner.fit(sample.X, sample.y)
    beta = np.mean((sample.y - sample.y.mean())[:3000, None] * sample.X[:3000], axis=0)
    assert np.abs(learner.linear_ - beta).max() < 0.1
    assert np.mean((learner.predict(sample.X) - sample.y) ** 2) < 0.2


def test_a_stream_gives_the_same_network_as_its_rows_in_memory():
    target = gd.Target("z1 + z1*z2")
    shared = {"steps": 2, "batch_size": 700, "random_state": 0}
    for parameters in ({}, {"preprocess": True}, {"reuse": True}, {"standardize": False}):
        sample = target.sample(n=2500, d=20, seed=3)
        whole = GiantStep(16, shuffle=False, **shared, **parameters).fit(sample.X, sample.y)
        stream = GiantStep(16, **shared, **parameters)
        stream.fit_stream(lambda: target.stream(n=2500, d=20, chunk=333, seed=3))
        np.testing.assert_allclose(stream.weights_, whole.weights_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(stream.predict(sample.X), whole.predict(sample.X), atol=1e-7)


def test_a_stream_that_can_be_read_once_serves_where_one_pass_is_enough():
    target = gd.Target("z")
    learner = GiantStep(8, batch_size=300, standardize=False)
    learner.fit_stream(target.stream(n=500, d=10, chunk=100, seed=0))
    assert learner.train_mse_ < 1
    with pytest.raises(gd.BadData, match="can be read once and is needed twice"):
        GiantStep(8, batch_size=300).fit_stream(target.stream(n=500, d=10, chunk=100, seed=0))
    with pytest.raises(gd.BadData, match="give batch_size"):
        GiantStep(8).fit_stream(lambda: target.stream(n=500, d=10, chunk=100, seed=0))
    with pytest.raises(gd.BadData, match="no row is left"):
        GiantStep(8, batch_size=500, standardize=False).fit_stream(
            target.stream(n=500, d=10, chunk=100, seed=0)
        )


def test_bad_chunks_are_named():
    shared = {"batch_size": 2, "standardize": False}
    good = (np.eye(3), np.arange(3.0))
    with pytest.raises(gd.BadData, match="NaN or infinite"):
        GiantStep(4, **shared).fit_stream([good, (np.full((1, 3), np.nan), np.zeros(1))])
    with pytest.raises(gd.BadData, match=r"shape \(rows, 3\)"):
        GiantStep(4, **shared).fit_stream([good, (np.eye(2), np.zeros(2))])
    with pytest.raises(gd.BadData, match="no chunk"):
        GiantStep(4, **shared).fit_stream([])


def test_one_step_finds_the_linear_direction_and_two_what_couples_to_it():
    sample = gd.Target("z1 + z1*z2").sample(n=6400, d=80, seed=0)
    parameters = {"step_size": 2.0, "batch_size": 1600, "random_state": 0}
    one = GiantStep(128, steps=1, **parameters).fit(sample.X, sample.y)
    two = GiantStep(128, steps=2, **parameters).fit(sample.X, sample.y)
    assert one.directions_.shape == (1, 80)
    assert float((one.directions_ @ sample.W_star[0])[0] ** 2) > 0.8
    assert two.directions_.shape == (2, 80)
    assert (((two.directions_ @ sample.W_star.T) ** 2).sum(axis=0) > 0.6).all()


def test_noise_is_not_taken_for_a_direction():
    """Over 40 draws the chance of a false direction is below 40 * 1e-4."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(40):
        X, y = rng.standard_normal((400, 30)), rng.standard_normal(400)
        learner = GiantStep(16, steps=2, step_size=3.0, random_state=0).fit(X, y)
        found += len(learner.directions_)
    assert found == 0


@pytest.mark.parametrize("seed", range(2))
def test_neurons_that_grow_along_themselves_are_no_direction(seed):
    """A bias makes E[y relu''] w_i of order d^(-1/2), which many samples confirm.

    Would catch: that part left in, with which 16 to 31 directions are found.
    """
    sample = gd.Target("z1 + z1*z2").sample(n=100_000, d=50, seed=seed, dtype="float32")
    learner = GiantStep(200, standardize=False, shuffle=False, ridge=1.0, random_state=seed)
    directions = learner.fit(sample.X, sample.y).directions_
    assert directions.shape == (2, 50)
    assert (((directions @ sample.W_star.T) ** 2).sum(axis=0) > 0.95).all()


def test_bad_input_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    with pytest.raises(gd.BadData, match="width must be even, got 7. Use 8"):
        GiantStep(7).fit(X, y)
    with pytest.raises(gd.BadData, match="all 20 labels are equal"):
        GiantStep(8).fit(X, np.ones(20))
    with pytest.raises(ValueError, match="minimum of 2"):
        GiantStep(8).fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="NaN"):
        GiantStep(8).fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(gd.BadData, match="leaves none of the 20 samples for the readout"):
        GiantStep(8, steps=2, batch_size=10).fit(X, y)
    with pytest.raises(gd.BadData, match="step_size must be a number >= 0"):
        GiantStep(8, step_size=-1.0).fit(X, y)
    with pytest.raises(gd.BadData, match="rescale must be one of"):
        GiantStep(8, rescale="row").fit(X, y)
    with pytest.raises(gd.BadData, match="readout must be"):
        GiantStep(8, readout=np.ones(8)).fit(X, y)
    with pytest.warns(UserWarning, match=r"leaves out 1 constant column"):
        GiantStep(8).fit(np.column_stack([X, np.ones(20)]), y)

"""One step on the residual: features from the Hessian of the target, and transfer."""

import numpy as np
import pytest

import gradone as gd
from gradone.learners import ResidualStep

QUARTIC = "(z1*z2 + He3(z1)/sqrt(6) + He4(z2)/sqrt(24))/sqrt(3)"


def test_weights_are_the_gradient_of_the_residual():
    sample = gd.Target("z1*z2").sample(n=200, d=6, seed=0)
    parameters = {"standardize": False, "shuffle": False, "random_state": 0}
    learner = ResidualStep(10, batch_size=150, **parameters).fit(sample.X, sample.y)
    X, y = sample.X[:150], sample.y[:150]
    residual = y - y.mean() - X @ np.mean((y - y.mean())[:, None] * (X - X.mean(axis=0)), axis=0)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((5, 6)) / np.sqrt(6)
    signs = rng.choice([-1.0, 1.0], 5)
    gradient = signs[:, None] * ((X @ weights.T > 0) * residual[:, None]).T @ X
    gradient = np.concatenate([gradient, -gradient])
    expected = gradient / np.sqrt(np.mean(np.sum(gradient**2, axis=1)))
    np.testing.assert_allclose(learner.weights_, expected, rtol=1e-9)


@pytest.mark.stat
def test_it_learns_a_quadratic_coupling_where_ridge_on_all_inputs_learns_nothing():
    """Reference: 0.238 at n = 16384 for the target in d = 64, one seed; heavy tails."""
    d = 64
    sample = gd.Target(QUARTIC).sample(n=2 * 16384, d=d, seed=0)
    learner = ResidualStep(1024, batch_size=16384, random_state=0).fit(sample.X, sample.y)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60_000, d))
    y = gd.Target(QUARTIC)(X @ sample.W_star.T)
    assert np.mean((learner.predict(X) - y) ** 2) < 0.35 * np.var(y)
    assert (((learner.directions_ @ sample.W_star.T) ** 2).sum(axis=0) > 0.7).all()


@pytest.mark.stat
def test_features_serve_another_target_of_the_same_directions():
    d, rng = 64, np.random.default_rng(2)
    sample = gd.Target(QUARTIC).sample(n=2 * 16384, d=d, seed=0)
    learner = ResidualStep(1024, batch_size=16384, random_state=0).fit(sample.X, sample.y)
    other = gd.Target("He2(z1)/sqrt(2) + z1*He2(z2)/2 + z1*z2")
    X = rng.standard_normal((1600 + 20_000, d))
    y = other(X @ sample.W_star.T)
    before = learner.directions_.copy()
    learner.refit_readout(X[:1600], y[:1600])
    error = np.mean((learner.predict(X[1600:]) - y[1600:]) ** 2) / np.var(y[1600:])
    np.testing.assert_array_equal(learner.directions_, before)
    # The features must help: the same network from 1600 samples alone learns next to nothing.
    alone = ResidualStep(1024, random_state=0).fit(X[:1600], y[:1600])
    assert error < 0.4
    assert np.mean((alone.predict(X[1600:]) - y[1600:]) ** 2) > 1.5 * error * np.var(y[1600:])


def test_it_finds_nothing_where_the_hessian_has_mean_zero():
    sample = gd.Target("He3(z)").sample(n=3000, d=30, seed=0)
    learner = ResidualStep(64, random_state=0).fit(sample.X, sample.y)
    assert learner.directions_.shape == (0, 30)


def test_bad_input_is_refused():
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20.0)
    with pytest.raises(gd.BadData, match="width must be even"):
        ResidualStep(9).fit(X, y)
    with pytest.raises(gd.BadData, match="all 20 labels are equal"):
        ResidualStep(8).fit(X, np.ones(20))
    learner = ResidualStep(8, random_state=0).fit(X, y)
    with pytest.raises(gd.BadData, match="labels are equal"):
        learner.refit_readout(X, np.ones(20))

"""Networks trained by backpropagation, against differences, closed forms and written-out loops."""

import numpy as np
import pytest

import gradone as gd
from gradone.learners import JointNetwork
from gradone.learners.depth._network import AdamW, ReluNetwork, one_cycle


def drawn(widths, d=5, seed=0):
    """A network in float64 with all parameters drawn."""
    network = ReluNetwork((d, *widths), np.float64)
    network.parameters[:] = 0.5 * np.random.default_rng(seed).standard_normal(
        len(network.parameters)
    )
    return network


def written_out(network, x):
    """Output of one input, neuron by neuron."""
    for weights, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        x = [max(float(np.dot(w, x)) + b, 0.0) for w, b in zip(weights, bias, strict=True)]
    return float(np.dot(network.weights[-1][0], x)) + network.biases[-1][0]


@pytest.mark.parametrize("widths", [(7,), (7, 4), (6, 5, 4)])
def test_outputs_are_those_of_a_loop_over_neurons(widths):
    network, X = drawn(widths), np.random.default_rng(1).standard_normal((6, 5))
    expected = [written_out(network, list(x)) for x in X]
    np.testing.assert_allclose(network(X), expected, rtol=1e-12)


@pytest.mark.parametrize("widths", [(7,), (7, 4), (6, 5, 4)])
def test_backpropagation_agrees_with_differences(widths):
    """Central differences of step 1e-6 are off by about 1e-10; kinks that near are not met."""
    network, rng = drawn(widths), np.random.default_rng(2)
    X, y = rng.standard_normal((20, 5)), rng.standard_normal(20)
    gradient = network.backpropagation(20)
    loss = gradient(X, y)
    assert loss == pytest.approx(np.mean((y - network(X)) ** 2), rel=1e-12)
    expected, step = np.empty_like(network.parameters), 1e-6
    for k in range(len(expected)):
        sides = []
        for sign in (1, -1):
            network.parameters[k] += sign * step
            sides.append(np.mean((y - network(X)) ** 2))
            network.parameters[k] -= sign * step
        expected[k] = (sides[0] - sides[1]) / (2 * step)
    np.testing.assert_allclose(gradient.gradient, expected, rtol=1e-6, atol=1e-8)


def test_sensitivity_agrees_with_differences():
    network, X = drawn((7, 4)), np.random.default_rng(3).standard_normal((30, 5))
    step = 1e-6
    slopes = np.array(
        [(network(X + step * e) - network(X - step * e)) / (2 * step) for e in np.eye(5)]
    )
    np.testing.assert_allclose(network.sensitivity(X), slopes @ slopes.T / 30, rtol=1e-6, atol=1e-9)


def test_adamw_is_the_published_update():
    """Loshchilov and Hutter's update written out, with a rate that changes."""
    rng = np.random.default_rng(4)
    p, m, v = rng.standard_normal(6), np.zeros(6), np.zeros(6)
    moved = p.copy()
    optimizer = AdamW(moved, weight_decay=0.3)
    for t in range(1, 6):
        g, rate = rng.standard_normal(6), 0.01 * t
        optimizer.step(g, rate)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        p = p * (1 - 0.3 * rate)
        p = p - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(moved, p, rtol=1e-12)


def test_training_stays_in_single_precision():
    network = ReluNetwork((3, 4))
    gradient, optimizer = network.backpropagation(2), AdamW(network.parameters, weight_decay=0.1)
    gradient(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    optimizer.step(gradient.gradient, one_cycle(0, 10, 1e-3))
    assert {a.dtype for a in (network.parameters, gradient.gradient)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("widths", [(32,), (32, 16)])
def test_it_learns_a_function_of_few_variables(widths):
    s = gd.Target("z1*z2").sample(n=4500, d=3, seed=0)
    learner = JointNetwork(widths, steps=800, random_state=0).fit(s.X[:2500], s.y[:2500])
    error = np.mean((learner.predict(s.X[2500:]) - s.y[2500:]) ** 2)
    assert error < 0.1  # the variance of the labels is 1
    assert learner.validation_mse_ == pytest.approx(error, rel=0.6)
    assert not learner.constant_


def test_noise_is_predicted_by_the_mean_label():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((300, 20)), 3 + rng.standard_normal(300)
    learner = JointNetwork((32, 8), random_state=0).fit(X, y)
    assert learner.constant_
    np.testing.assert_allclose(learner.predict(X), y.mean(), rtol=1e-12)
    assert "The mean label is predicted" in learner.diagnosis_


def test_the_best_of_the_records_is_kept():
    s = gd.Target("tanh(z1)", noise=0.5).sample(n=300, d=30, seed=0)
    learner = JointNetwork((64, 16), random_state=0).fit(s.X, s.y)
    assert learner.validation_mse_ == pytest.approx(learner.history_.validation_mse.min().item())
    assert learner.history_.train_mse[-1] < learner.history_.train_mse[0]
    assert learner.n_iter_ == learner.history_.step[-1]


def test_a_step_that_is_too_large_is_named():
    s = gd.Target("z1").sample(n=200, d=5, seed=0)
    learner = JointNetwork((16, 8), step_size=1e30, random_state=0)
    with pytest.raises(gd.NotConverged, match=r"step_size = 1e\+30. Use a smaller"):
        learner.fit(s.X, s.y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"widths": ()}, "widths must be the widths of the hidden layers"),
        ({"widths": 100}, "widths must be the widths of the hidden layers"),
        ({"widths": (10, 0)}, "a width must be an integer >= 1, got 0"),
        ({"steps": 0}, "steps must be an integer >= 1"),
        ({"step_size": 0.0}, "step_size must be a number > 0"),
        ({"weight_decay": -1.0}, "weight_decay must be a number >= 0"),
        ({"init": "zero"}, "init must be 'random', 'gaussian' or an array"),
    ],
)
def test_bad_parameters_are_named(given, message):
    s = gd.Target("z1").sample(n=40, d=3, seed=0)
    with pytest.raises(gd.BadData, match=message):
        JointNetwork(**given).fit(s.X, s.y)


def test_hidden_layers_make_the_prediction():
    s = gd.Target("z1").sample(n=200, d=4, seed=0)
    learner = JointNetwork((16, 8), steps=100, random_state=0).fit(s.X, s.y)
    assert learner.hidden(s.X, 1).shape == (200, 16)
    first = ((s.X - learner.mean_) / learner.scale_) @ learner.weights_.T
    constant = learner.hidden(s.X, 1) - first
    np.testing.assert_allclose(constant - constant[0], 0, atol=1e-10)
    with pytest.raises(gd.BadData, match="layer must be from 1 to 2"):
        learner.hidden(s.X, 3)

"""Functions and parameters of JAX: read, watched, probed, and on the axes of the theories."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import gradone as gd
from gradone.learners._models import gradients, read_model

jax = pytest.importorskip("jax", reason="make test-torch installs it")
jnp = jax.numpy

OWN = Path(__file__).parents[2] / "examples" / "own"
D, WIDTH = 20, 40


def network(seed=0, d=D, width=WIDTH):
    first, last = jax.random.split(jax.random.key(seed))
    hidden = {"kernel": jax.random.normal(first, (d, width)) / d**0.5, "bias": jnp.zeros(width)}
    return {"hidden": hidden, "out": jax.random.normal(last, (width,)) / width**0.5}


@jax.jit
def predict(parameters, X):
    hidden = parameters["hidden"]
    return jnp.tanh(X @ hidden["kernel"] + hidden["bias"]) @ parameters["out"]


def loss(parameters, X, y):
    decay = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(parameters))
    return 0.5 * jnp.mean((predict(parameters, X) - y) ** 2) + 3e-4 * decay


@jax.jit
def descend(parameters, X, y, step_size=0.1):
    slope = jax.grad(loss)(parameters, X, y)
    return jax.tree.map(lambda p, g: p - step_size * g, parameters, slope)


@jax.jit
def adam(state, X, y):
    parameters, mean, square, t = state
    slope = jax.grad(loss)(parameters, X, y)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, slope)
    moved = jax.tree.map(
        lambda p, m, s: p
        - 0.01 * m / (1 - 0.9 ** (t + 1)) / (jnp.sqrt(s / (1 - 0.999 ** (t + 1))) + 1e-8),
        parameters, mean, square,
    )  # fmt: skip
    return moved, mean, square, t + 1


def trained(X, y, steps=400):
    """Network after steps of Adam, as a function of the inputs."""
    start = network(d=X.shape[1])
    zeros = jax.tree.map(jnp.zeros_like, start)
    state = start, zeros, zeros, 0
    for _ in range(steps):
        state = adam(state, jnp.asarray(X), jnp.asarray(y))
    return lambda X: predict(state[0], X)


def test_a_pair_is_read_exactly():
    """Single precision: JAX has no other unless it is told."""
    parameters = network()
    X = np.random.default_rng(0).standard_normal((5, D))
    model = read_model((predict, parameters), D)
    kernel, out = np.asarray(parameters["hidden"]["kernel"]), np.asarray(parameters["out"])
    hidden = np.tanh(X @ kernel)
    assert np.allclose(model.predict(X), hidden @ out, atol=1e-5)
    assert model.predict(X).dtype == np.float64
    assert np.array_equal(model.weights, kernel.T)
    slopes = (out * (1 - hidden**2)) @ kernel.T
    assert np.allclose(gradients(model.predict, X), slopes, atol=2e-3)


def test_a_loop_is_watched():
    """The same steps as a loop of one's own, number for number."""
    target = gd.Target("tanh(z)")
    parameters = network()

    def step(X, y):
        nonlocal parameters
        parameters = descend(parameters, X, y)
        return predict, parameters

    found = gd.watch(step, target, d=D, steps=60, every=20, batch_size=32, progress=False)
    own = network()
    for part in target.stream(60 * 32, D, chunk=32):
        own = descend(own, part.X, part.y)
    assert np.array_equal(own["out"], parameters["out"])
    assert found.test_mse[-1] < found.test_mse[0]
    assert dict(found.overlap.sizes) == {"step": 3, "neuron": WIDTH, "direction": 1}

    def features(X):
        hidden = parameters["hidden"]
        return jnp.tanh(X @ hidden["kernel"] + hidden["bias"])

    monitor = gd.Monitor(target, D)
    monitor(0, {"predict": lambda X: predict(parameters, X), "layers": {"hidden": features}})
    assert 0 < monitor.curve().kernel_alignment.item() < 1


def test_a_pair_is_probed():
    sample = gd.Target("z1*z2").sample(n=3000, d=D)
    found = gd.probe(trained(sample.X, sample.y), sample.X, sample.y, progress=False)
    overlaps = np.linalg.svd(found.directions @ sample.W_star.T, compute_uv=False)
    assert found.kind == "directions"
    assert len(found.directions) == 2
    assert overlaps.min() > 0.9
    frozen = (predict, network(seed=3, width=200))
    assert gd.probe(frozen, sample.X, sample.y, progress=False).kind == "lazy"


def test_momentum_stands_with_the_theories(monkeypatch):
    monkeypatch.syspath_prepend(str(OWN))
    train = importlib.import_module("gradient").train
    found = gd.compare(
        "He2(z1) + z1*z2", ["bayes_amp", "random_features", gd.Algorithm(train, label="JAX")],
        d=30, alpha=[4.0, 20.0], replicates=1, budget=600, progress=False,
    )  # fmt: skip
    assert (found.outcome == "done").all()
    mine = found.test_mse.sel(source="simulation:train", alpha=20.0)
    assert mine < 0.5 * found.test_mse.sel(source="theory:random_features", alpha=20.0)
    assert mine > found.test_mse.sel(source="theory:bayes_amp", alpha=20.0)
    assert any("JAX" in one.name for one in gd.draw("error-vs-alpha", found).series)

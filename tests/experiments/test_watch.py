"""Watched training loops: the same numbers as known ones, every way in, and what goes wrong."""

import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor

import gradone as gd
from gradone.base.errors import BadData
from gradone.experiments.foreign import EstimatorFailed
from gradone.experiments.watch import kernel_alignment

D = 30
QUIET = {"d": D, "progress": False}


def one_neuron(step_size):
    """SGD of a linear neuron on fresh batches."""
    state = {"w": np.full(D, D**-0.5)}

    def step(X, y):
        w = state["w"]
        state["w"] = w + step_size * (y - X @ w) @ X / len(y)
        now = state["w"].copy()
        return {"weights": now[None], "predict": lambda X: X @ now}

    return step


def test_a_linear_neuron_has_the_errors_of_its_weights():
    """The error of a linear function is |w - w*|^2 plus the noise, within sampling errors."""
    target = gd.Target("z", noise=0.1)
    found = gd.watch(one_neuron(0.2), target, steps=60, every=20, batch_size=10, **QUIET)
    assert found.step.values.tolist() == [20, 40, 60]
    assert np.allclose(found.time, found.step / D)
    m, q = found.overlap.values[:, 0, 0], found.norm.values[:, 0, 0]
    wanted = 1 - 2 * m + q + 0.1
    assert (np.abs(found.test_mse - wanted) < 6 * found.test_mse_err).all()
    assert np.allclose(found.cosine2[:, 0], m**2 / q)
    assert np.allclose(found.recovery[:, 0], np.abs(m) / np.sqrt(q))


def test_every_way_in_sees_the_same_training():
    target, rows = gd.Target("z"), []
    inner = one_neuron(0.2)
    functions = gd.watch(inner, target, steps=12, every=4, batch_size=5, **QUIET)

    def train(X, y):
        step = one_neuron(0.2)
        for i in range(12):
            yield step(X[5 * i : 5 * i + 5], y[5 * i : 5 * i + 5])

    once = gd.watch(train, target, steps=12, every=4, n=60, **QUIET)
    sample = target.sample(60, D)
    running = gd.watch(train(sample.X, sample.y), target, steps=12, every=4, **QUIET)
    monitor = gd.Monitor(target, D)
    for i, state in enumerate(train(sample.X, sample.y), start=1):
        rows.append(state["weights"])
        if i % 4 == 0:
            monitor(i, state)
    for other in (once, running, monitor.curve()):
        assert np.allclose(functions.test_mse, other.test_mse)
        assert np.allclose(functions.overlap, other.overlap)
    pair = gd.watch(
        ((lambda w: (lambda p, X: X @ p["a"][0], {"a": w}))(w) for w in rows),
        target, steps=12, every=4, **QUIET,
    )  # fmt: skip
    assert np.allclose(functions.test_mse, pair.test_mse)
    assert np.allclose(functions.overlap, pair.overlap)


def test_partial_fit():
    model = SGDRegressor(alpha=0.0, eta0=0.02, learning_rate="constant", random_state=0)
    found = gd.watch(model, gd.Target("z"), steps=80, batch_size=10, **QUIET)
    assert found.test_mse[-1] < 0.05 * found.test_mse[0]
    assert found.attrs["label"] == "SGDRegressor"
    assert [one.name for one in gd.draw(found, x="time", y="test_mse").series]


def test_kernel_alignment_is_that_of_the_kernels():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(40)
    for width in (7, 60):
        features = rng.standard_normal((40, width))
        H = np.eye(40) - 1 / 40
        K, L = H @ features @ features.T @ H, H @ np.outer(y, y) @ H
        wanted = np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)
        assert kernel_alignment(features, y) == pytest.approx(wanted)
    states = ({"layers": {"top": lambda X: X[:, :3]}, "weights": np.eye(2, D)} for _ in range(3))
    found = gd.watch(states, "z", steps=3, every=1, **QUIET)
    assert (found.kernel_alignment > 0).all()


def test_what_goes_wrong_is_told_with_the_name_and_the_step():
    def breaks(X, y):
        raise RuntimeError("no gradient")

    def wrong_shape(X, y):
        return lambda X: np.zeros((len(X), 2))

    def diverges(X, y):
        return np.full((1, D), np.nan)

    def silent(X, y):
        pass

    def train(X, y):
        yield np.eye(1, D)

    for step, words in [
        (breaks, "'breaks' failed at step 0: RuntimeError: no gradient"),
        (wrong_shape, "'wrong_shape' failed at step 1: .*predictions have the shape"),
        (diverges, "'diverges' failed at step 1: .*not finite: the training diverged"),
        (silent, "'silent' failed at step 0: .*let it return the network"),
    ]:
        with pytest.raises(EstimatorFailed, match=words) as error:
            gd.watch(step, "z", steps=2, every=1, **QUIET)
        assert error.value.__cause__ is not None  # the way through the user's code
    with pytest.raises(BadData, match="'train' is called once with n samples: give n"):
        gd.watch(train, "z", **QUIET)
    with pytest.raises(BadData, match="cannot be watched: give a function"):
        gd.watch(3.0, "z", **QUIET)
    monitor = gd.Monitor("z", D)
    monitor(3, np.eye(1, D))
    with pytest.raises(BadData, match="steps must grow"):
        monitor(3, np.eye(1, D))


@pytest.mark.slow
def test_a_watched_loop_agrees_with_the_engine():
    """One-pass SGD of one erf neuron in a loop and in order parameters: the same mean overlap.

    Would catch another time, another normalization, overlaps of another W_star.
    """
    d, steps, eta, replicates = 100, 400, 0.02, 16
    student = gd.Student(width=1, activation="erf(z)", readout=[1.0])
    engine = gd.dynamics.sgd(
        "erf(z)", student, d=d, steps=steps, step_size=eta, record=[0, steps], replicates=400,
        progress=False,
    ).overlap.sel(step=steps).values.ravel()  # fmt: skip
    from scipy.special import erf
    from scipy.stats import t as student_law

    found = []
    for replicate in range(replicates):
        w = np.random.default_rng(replicate).standard_normal(d)
        w /= np.linalg.norm(w)

        def train(X, y, w=w):
            for x, label in zip(X, y, strict=True):
                h = x @ w
                slope = 2 / np.sqrt(np.pi) * np.exp(-h * h)
                w = w + eta * (label - erf(h)) * slope * x
                yield w[None]

        seen = gd.watch(
            train, "erf(z)", d=d, n=steps, steps=steps, every=steps, replicate=replicate,
            progress=False,
        )  # fmt: skip
        found.append(seen.overlap.item())
    error = np.hypot(np.std(found, ddof=1) / 4, engine.std() / 20)
    gap = abs(np.mean(found) - engine.mean())
    assert gap < student_law.ppf(1 - 5e-7, replicates - 1) * error
    assert np.mean(found) > 0.3

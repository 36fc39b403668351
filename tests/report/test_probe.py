"""Probes of networks whose features are known: planted cases, chance, memory and bad input."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

import gradone as gd
from gradone.base.errors import BadData
from gradone.learners import GiantStep, RandomFeatures

D, N = 30, 3000


@pytest.fixture(scope="module")
def product():
    return gd.Target("z1*z2").sample(n=N, d=D)


@pytest.fixture(scope="module")
def trained(product):
    network = MLPRegressor(
        hidden_layer_sizes=(60,), alpha=1e-3, learning_rate_init=5e-3, max_iter=40, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge
        return network.fit(product.X, product.y)


def look(*given, **more):
    return gd.probe(*given, progress=False, **more)


def test_a_frozen_first_layer_is_lazy(product):
    frozen = RandomFeatures(width=200, random_state=0).fit(product.X, product.y)
    found = look(frozen, product.X, product.y)
    assert found.kind == "lazy"
    assert found.verdict.startswith("Lazy: no direction stands out in the first layer")
    assert len(found.directions) == 0


def test_a_giant_step_is_one_spike():
    sample = gd.Target("z1 + He2(z1)").sample(n=N, d=D)
    step = GiantStep(width=200, step_size=4.0, random_state=0).fit(sample.X, sample.y)
    found = look(step, sample.X, sample.y)
    assert found.kind == "one spike"
    assert abs(found.directions[0] @ sample.W_star[0]) > 0.9
    assert found.ansatz > 0.5


def test_a_trained_network_has_two_directions(product, trained):
    fresh = gd.Target("z1*z2").sample(n=N, d=D, role="test")
    for rows, is_fresh in ((product, False), (fresh, True)):
        found = look(trained, rows.X, rows.y, fresh=is_fresh)
        assert found.kind == "directions"
        overlaps = np.linalg.svd(found.directions @ product.W_star.T, compute_uv=False)
        assert len(found.directions) == 2
        assert overlaps.min() > 0.9
    assert found.share > 0.8
    assert found.stability > 0.95
    names = [one.name for one in found.layers]
    assert names == ["inputs", "layer 1"]
    # The product is invisible to a linear readout of the inputs, not to that of the layer.
    assert found.layers[0].linear_r2 < 0.05
    assert found.layers[1].linear_r2 > 0.7
    assert found.layers[1].outside > 0


def test_before_and_after(product, trained):
    start = MLPRegressor(
        hidden_layer_sizes=(60,), alpha=1e-3, learning_rate_init=5e-3, max_iter=1, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start.fit(product.X[:50], product.y[:50])
    found = look(trained, product.X, product.y, before=start)
    layer = found.layers[1]
    assert layer.alignment > 2 * layer.alignment_before > 0


def test_a_plain_function_and_a_table_of_layers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 10))
    y = X[:, 0] + 0.5 * X[:, 1] ** 2
    found = look(lambda X: X[:, 0] + 0.5 * X[:, 1] ** 2, X, y)
    assert found.kind == "directions"
    assert np.allclose((found.directions[:, :2] ** 2).sum(axis=1), 1.0)
    table = {"weights": rng.standard_normal((50, 10)), "layers": {"first": lambda X: X[:, :4]}}
    assert look(table, X, y).kind == "lazy"


def test_the_answer_in_text_html_and_pictures(tmp_path, product, trained):
    found = look(trained, product.X[:500], product.y[:500])
    assert "linear R²" in found.summary()
    assert found.summary().splitlines()[0] == "500 rows, 30 inputs"
    text = found.save(tmp_path / "probe.html").read_text()
    assert "<svg" in text
    assert not re.search(r"""(src|href)=["']?http""", text.replace("xlink:href", ""))
    assert found.verdict.split(":")[0] in found._repr_html_()
    assert len(found.chart().panels) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("text",), "is no model: give an estimator"),
        ((lambda X: np.zeros((len(X), 3)),), "give a function of one output"),
        ((lambda X: np.full(len(X), np.nan),), "some predictions are not finite"),
        ((np.zeros((4, 7)),), r"weights must have the shape \(width, 30\)"),
        ((MLPRegressor,), "give a fitted MLPRegressor, not its class"),
        (({"wieghts": 3},), "a table of a model has layers, predict, weights"),
    ],
)
def test_what_is_no_model_is_refused(given, words, product):
    with pytest.raises(BadData, match=words):
        look(*given, product.X, product.y)


def test_bad_data_is_refused(product):
    model = np.ones((3, D))
    for X, y, words in [
        (product.X, product.y[:-1], "needs numbers X"),
        (product.X, product.y.astype(str), "code classes as numbers first"),
        (product.X[:20], product.y[:20], "at least 40 rows"),
        (product.X, np.ones(N), "all labels are the same"),
        (np.where(product.X > 3, np.nan, product.X), product.y, "not finite"),
    ]:
        with pytest.raises(BadData, match=words):
            look(model, X, y)


NULL = 200


@pytest.mark.slow
def test_noise_is_claimed_rarely():
    """Labels without any relation to the inputs, on which one large step was made.

    The spike of the first layer is real, its direction is noise. The level is at most 2.5 %.
    """
    claims = 0
    for seed in range(NULL):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((400, 20)), rng.standard_normal(400)
        step = GiantStep(width=100, step_size=4.0, random_state=seed).fit(X, y)
        claims += len(look(step, X, y, seed=seed).directions) > 0
    assert claims <= 0.05 * NULL


BIG = """
import resource, time
import numpy as np
import gradone as gd
rng = np.random.default_rng(0)
X = rng.standard_normal((20000, 200))
y = X[:, 0] * X[:, 1] + X[:, 2]
W = rng.standard_normal((300, 200))
a = rng.standard_normal(300)
began = time.process_time()
found = gd.probe({"weights": W, "predict": lambda X: np.maximum(X @ W.T, 0) @ a,
                  "layers": {"hidden": lambda X: np.maximum(X @ W.T, 0)}}, X, y, progress=False)
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


@pytest.mark.slow
def test_a_large_table_stays_within_a_gigabyte_and_a_minute():
    run = subprocess.run(
        [sys.executable, "-c", BIG], capture_output=True, text=True, check=True, timeout=600
    )
    seconds, gigabytes = map(float, run.stdout.split())
    assert seconds < 60
    assert gigabytes < 1.0

"""One pass of SGD over real samples."""

import json

import numpy as np
import pytest
from scipy.stats import beta, ortho_group
from scipy.stats import t as student
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1, make_friedman2
from sklearn.model_selection import KFold, cross_val_score

import gradone as gd
from gradone.learners import OnlineSGD

from ..rotated import he3, rotated
from .written_out import RULES, output, pulls, update

AS_IT_IS = {"standardize": False, "shuffle": False}


def data(n=11, d=5, width=3, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    return X, y, rng.standard_normal((width, d)) / np.sqrt(d)


# ---- the update


@pytest.mark.parametrize("geometry", ["euclidean", "projected", "spherical"])
@pytest.mark.parametrize("loss", ["square", "correlation"])
@pytest.mark.parametrize("rule", RULES)
def test_update_is_that_of_the_definition(rule, loss, geometry):
    """Batches of 4, 4 and 3 rows; everything is trained, with decay, from a start off the sphere.

    Would catch: readout moved with the fields of the other gradient, a decay that misses a
    geometry, a spherical step that takes the norm of the neuron as 1, a mean over 4 of 3 rows.
    """
    X, y, W = data()
    a, b = np.array([0.7, -1.2, 0.4]), np.array([0.1, 0.0, -0.3])
    how = {"step_size": 0.3, "train_readout": 0.2, "train_bias": 0.1, "weight_decay": 0.5}
    how |= {"rule": rule, "loss": loss, "geometry": geometry, "activation": "tanh(z)"} | RULES[rule]
    learner = OnlineSGD(3, batch_size=4, readout=a, bias=b, init=W, **how, **AS_IT_IS).fit(X, y)
    for batch in (slice(0, 4), slice(4, 8), slice(8, 11)):
        W, a, b = update(W, a, b, X[batch], y[batch], **how)
    np.testing.assert_allclose(learner.weights_, W, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(learner.readout_, a, rtol=1e-12)
    np.testing.assert_allclose(learner.bias_, b, rtol=1e-12, atol=1e-14)
    assert learner.n_iter_ == 3
    np.testing.assert_allclose(learner.predict(X), output(W, a, b, X, "tanh(z)"), rtol=1e-12)


def test_gradient_is_the_derivative_of_the_loss():
    """Central differences of the mean of (y - f)^2/2; the definition above is what it should be."""
    X, y, W = data()
    a, b, h = np.array([0.7, -1.2, 0.4]), np.array([0.1, 0.0, -0.3]), 1e-5
    parameters = np.concatenate([W.ravel(), a, b])

    def loss(p):
        f = output(p[:15].reshape(3, 5), p[15:18], p[18:], X, "tanh(z)")
        return np.mean((y - f) ** 2) / 2

    slopes = [(loss(parameters + v) - loss(parameters - v)) / (2 * h) for v in h * np.eye(21)]
    found = np.concatenate([g.ravel() for g in pulls(W, a, b, X, y, "tanh(z)", "square")])
    np.testing.assert_allclose(found, -np.array(slopes), atol=1e-9)


def test_single_precision_follows_double_precision():
    X, y, W = data(n=400, d=50)
    one = OnlineSGD(3, step_size=2e-3, init=W, **AS_IT_IS).fit(X, y)
    other = OnlineSGD(3, step_size=2e-3, init=W, **AS_IT_IS).fit(X.astype(np.float32), y)
    assert other.weights_.dtype == np.float32
    tolerance = np.finfo(np.float32).eps * np.sqrt(400)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=0, atol=tolerance)


# ---- passes and chunks


def test_parts_of_the_data_are_as_good_as_all():
    X, y, W = data(n=60)
    how = {"step_size": 0.05, "batch_size": 4, "init": W, **AS_IT_IS, "train_readout": 0.01}
    whole = OnlineSGD(3, **how).fit(X, y)
    parts = OnlineSGD(3, **how)
    for part in (slice(0, 20), slice(20, 24), slice(24, 60)):
        parts.partial_fit(X[part], y[part])
    np.testing.assert_array_equal(parts.weights_, whole.weights_)
    np.testing.assert_array_equal(parts.readout_, whole.readout_)
    assert parts.n_iter_ == whole.n_iter_ == 15
    assert list(parts.history_.step)[-1] == 15


def test_chunks_do_not_show_in_the_result():
    X, y, W = data(n=61)
    how = {"step_size": 0.05, "batch_size": 4, "init": W, "random_state": 3, "standardize": False}
    one, other = OnlineSGD(3, **how).fit(X, y), OnlineSGD(3, chunk_size=7, **how).fit(X, y)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert list(other.history_.step) == [2, 4, 6, 8, 10, 12, 14, 16]  # 8 rows, whole batches


def test_fit_starts_anew_and_partial_fit_goes_on():
    X, y, _ = data(n=60)
    once, twice = (OnlineSGD(2, random_state=0).fit(X, y) for _ in range(2))
    twice.fit(X, y)
    np.testing.assert_array_equal(once.weights_, twice.weights_)
    twice.partial_fit(X[:1], y[:1])
    assert twice.n_iter_ == once.n_iter_ + 1 == 61
    with pytest.raises(ValueError, match="X has 4 features, but OnlineSGD is expecting 5"):
        twice.partial_fit(X[:, :4], y)


def test_order_of_the_rows_is_drawn_unless_it_is_kept():
    X, y, W = data(n=60)
    how = {"step_size": 0.05, "init": W, "standardize": False}
    kept, drawn = (OnlineSGD(3, random_state=0, shuffle=s, **how).fit(X, y) for s in (False, True))
    assert np.abs(kept.weights_ - drawn.weights_).max() > 1e-4


def test_scale_and_origin_of_features_and_labels_do_not_count():
    X, y, _ = data(n=200)
    scales = 10.0 ** np.arange(-2, 3)
    one = OnlineSGD(2, random_state=0).fit(X, y)
    other = OnlineSGD(2, random_state=0).fit(X * scales + 5 * scales, 1000 * y + 7)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-10)
    np.testing.assert_allclose(
        other.predict(X * scales + 5 * scales), 1000 * one.predict(X) + 7, atol=1e-7
    )


def test_standardized_training_is_training_on_standardized_numbers():
    X, y, W = data(n=60)
    X = 3 * X + 1
    how = {"step_size": 0.05, "init": W, "shuffle": False}
    one = OnlineSGD(3, **how).fit(X, y)
    u, v = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    other = OnlineSGD(3, standardize=False, **how).fit(u, v)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-10)


# ---- what it tells


def test_history_is_the_error_before_each_sample_is_used():
    X, y, W = data(n=12)
    how = {"step_size": 0.1, "activation": "tanh(z)"}
    learner = OnlineSGD(3, chunk_size=4, init=W, **how, **AS_IT_IS).fit(X, y)
    a, b, squares = np.array([1.0, -1.0, 1.0]), np.zeros(3), []
    for i in range(12):
        squares.append((y[i] - output(W, a, b, X[[i]], "tanh(z)")[0]) ** 2)
        W, a, b = update(W, a, b, X[[i]], y[[i]], **how)
    squares = np.reshape(squares, (3, 4))
    history = learner.history_
    np.testing.assert_allclose(history.online_mse, squares.mean(1), rtol=1e-10)
    np.testing.assert_allclose(history.online_mse_err, squares.std(1, ddof=1) / 2, rtol=1e-10)
    np.testing.assert_allclose(history.weight_norm[-1], np.linalg.norm(W, axis=1), rtol=1e-12)


def test_a_step_that_is_too_large_is_named():
    X, y, _ = data(n=400, d=20)
    with pytest.raises(gd.NotConverged, match=r"diverged at update \d+: with step_size = 1 ") as e:
        OnlineSGD(2, activation="z", step_size=1.0, random_state=0).fit(X, y)
    stable = float(str(e.value).split("is about ")[1].split(":")[0])
    assert 0.01 < stable < 0.1  # 2/(20 + 1 neurons and directions), width 2
    OnlineSGD(2, activation="z", step_size=stable / 2, random_state=0).fit(X, y)
    assert np.linalg.norm(e.value.last, axis=1).max() > 1e6


def test_a_part_that_diverges_leaves_what_was_learned():
    X, y, _ = data(n=400, d=20)
    learner = OnlineSGD(2, activation="z", step_size=0.02, random_state=0).fit(X, y)
    weights, updates = learner.weights_, learner.n_iter_
    with pytest.raises(gd.NotConverged, match=rf"diverged at update {updates + 1}:"):
        learner.partial_fit(1e9 * X[:1], y[:1])
    np.testing.assert_array_equal(learner.weights_, weights)
    assert learner.n_iter_ == updates


@pytest.mark.parametrize("step", [0.5, "auto"])
def test_a_decay_that_turns_the_weights_around_is_refused(step):
    X, y, _ = data(n=40)
    with pytest.raises(gd.BadData, match="step_size \\* weight_decay must be below 1"):
        OnlineSGD(2, step_size=step, weight_decay=1e4).fit(X, y)


def test_a_readout_that_runs_away_on_the_sphere_is_noticed():
    X, y, _ = data(n=400, d=20)
    how = {"geometry": "spherical", "step_size": 0.01, "train_readout": 50.0, "random_state": 0}
    with pytest.raises(gd.NotConverged, match="diverged at update"):
        OnlineSGD(2, **how).fit(X, y)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"init": "zeros"}, "unknown init 'zeros'; it is one of 'random', 'orthogonal'"),
        ({"init": np.ones((3, 4))}, r"finite numbers, 2 rows, got an array of shape \(3, 4\)"),
        ({"width": 6, "init": "orthogonal"}, "6 neurons cannot be orthogonal in d = 5"),
        ({"width": 0}, "width must be an integer >= 1, got 0"),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"chunk_size": 0}, "chunk_size must be an integer >= 1"),
        ({"rule": "sgd"}, "unknown rule 'sgd'"),
        ({"batch_size": 2.5}, "batch_size must be an integer"),
        ({"step_size": -1}, "step_size must be a finite number > 0"),
        ({"radius": 0.1}, "radius has no meaning for the rule 'plain'"),
    ],
)
def test_wrong_parameters_are_explained(wrong, text):
    X, y, _ = data(n=20)
    with pytest.raises(gd.BadData, match=text):
        OnlineSGD(**{"width": 2} | wrong).fit(X, y)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_orthogonal_neurons_stay_so_after_small_steps(batch_size):
    """Would catch: rows whose order in memory the compiled update does not take."""
    X, y, _ = data(n=21)
    given = {"width": 3, "init": "orthogonal", "step_size": 1e-9, "batch_size": batch_size}
    W = OnlineSGD(**given, random_state=0).fit(X, y).weights_
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-6)


# ---- what it learns


@pytest.mark.stat
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_learns_a_linear_direction_with_its_automatic_step(rule):
    """The squared cosine of a random direction is Beta(1/2, (d - 1)/2): chance 1e-6 is exceeded."""
    d, more = 50, {"interpolation": 0.5} if rule == "look_ahead" else {}
    for seed in range(3):
        X, y, w = rotated(np.tanh, n=2000, d=d, r=1, seed=seed)
        learner = OnlineSGD(1, rule=rule, random_state=seed, **more).fit(X, y)
        found = learner.weights_[0] / np.linalg.norm(learner.weights_[0])
        assert (found @ w[0]) ** 2 > max(0.6, beta.isf(1e-6, 0.5, (d - 1) / 2))


@pytest.mark.stat
def test_defaults_find_both_directions_of_a_product():
    """Information exponent 2: 100 d samples are 20 d log d. A random plane holds sqrt(4/d) = 0.28.

    The squared cosine of a fixed direction with 4 random neurons is Beta(2, (d - 4)/2).
    """
    d = 50
    for seed in range(3):
        X, y, w = rotated(lambda s, t: s * t, n=100 * d, d=d, r=2, seed=seed)
        plane = np.linalg.qr(OnlineSGD(random_state=seed).fit(X, y).weights_.T)[0]
        found = np.sum((w @ plane) ** 2, axis=1).min()
        assert found > max(0.8, beta.isf(1e-6, 2, (d - 4) / 2))


@pytest.mark.stat
def test_extragradient_sees_he3_in_a_linear_number_of_samples_and_plain_sgd_does_not():
    """Reference: |cos| = 0.737 after 50 d samples for d = 512, 2048 and 8192; here d = 128.

    The limit in d is reached up to 1/sqrt(d); both thresholds are Student's at 1e-6.
    """
    d, runs, cosines = 128, 12, {"plain": [], "extragradient": []}
    for seed in range(runs):
        X, y, w = rotated(he3, n=50 * d, d=d, r=1, seed=seed)
        start = np.random.default_rng(seed).standard_normal((1, d))
        start -= (start @ w.T) @ w
        start /= np.linalg.norm(start)
        for rule, found in cosines.items():
            inner = {"inner_step_size": 0.1 / d} if rule == "extragradient" else {}
            learner = OnlineSGD(1, step_size=0.1 / d, rule=rule, init=start, **inner, **AS_IT_IS)
            v = learner.fit(X, y).weights_[0]
            found.append(abs(v @ w[0]) / np.linalg.norm(v))
    plain, extra = (np.array(found) for found in cosines.values())
    quantile = student.isf(5e-7, runs - 1) / np.sqrt(runs)
    assert abs(extra.mean() - 0.737) < quantile * extra.std(ddof=1) + 1 / np.sqrt(d)
    assert (extra - plain).mean() > quantile * (extra - plain).std(ddof=1)


TABLES = {
    "diabetes": (lambda: load_diabetes(return_X_y=True), 0.25),
    "friedman1": (lambda: make_friedman1(1000, n_features=20, noise=1.0, random_state=0), 0.5),
    "friedman2": (lambda: make_friedman2(1000, noise=50, random_state=0), 0.9),
    "breast cancer": (lambda: load_breast_cancer(return_X_y=True), 0.4),
}


@pytest.mark.stat
@pytest.mark.parametrize(("table", "least"), TABLES.values(), ids=TABLES)
def test_one_pass_over_a_table_learns_something(table, least):
    X, y = table()
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(OnlineSGD(random_state=0), X, y, cv=folds, scoring="r2")
    assert scores.mean() > least


def test_directions_rotate_with_the_inputs():
    X, y, W = data(n=100)
    R = ortho_group.rvs(5, random_state=0)
    one = OnlineSGD(3, step_size=0.05, init=W, **AS_IT_IS).fit(X, y)
    other = OnlineSGD(3, step_size=0.05, init=W @ R.T, **AS_IT_IS).fit(X @ R.T, y)
    np.testing.assert_allclose(other.weights_, one.weights_ @ R.T, atol=1e-10)


def test_simulate_measures_the_overlaps_of_the_neurons():
    runs = gd.simulate(
        gd.Target("tanh(z)"), "online_sgd", d=40, alpha=[1.0, 50.0], replicates=4, progress=False,
        width=1,
    )  # fmt: skip
    cosine2 = runs.cosine2.mean("replicate").values[:, 0]
    assert cosine2[0] < 0.3 < 0.8 < cosine2[1]


def test_a_simulation_takes_an_array_of_readouts():
    found = gd.simulate(
        "z", "online_sgd", d=10, n=[20, 40], replicates=2, width=2, readout=np.array([1.0, -1.0]),
        progress=False,
    )  # fmt: skip
    assert json.loads(found.attrs["params"])["readout"] == [1, -1]

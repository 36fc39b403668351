"""Kernels of infinite width against closed forms, Monte Carlo and finite width."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import erf, ndtr
from sklearn.kernel_ridge import KernelRidge

import gradone as gd
from gradone.learners import DotKernelRidge, RandomFeatures

BARE = {"standardize": False, "fit_intercept": False}
D = 5


def kernel_of(x, other, **parameters):
    """Value of the kernel of two inputs (d,)."""
    X = np.array([other, other])
    learner = DotKernelRidge(**(BARE | parameters)).fit(X, np.array([0.0, 1.0]))
    return float(learner.kernel_matrix(np.array([x]))[0, 0])


def pair(t, s=1.0, s2=1.0):
    """Two inputs in two dimensions with <x, x'>/d = t s s', and sizes s, s'."""
    root = np.sqrt(2.0)
    return root * s * np.array([1.0, 0.0]), root * s2 * np.array([t, np.sqrt(1 - t * t)])


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = 2.0 + rng.standard_normal((n, D)) * np.arange(1, D + 1)
    return X, np.sin(X[:, 0]) + X[:, 1] / 3 + 1.0


@pytest.mark.parametrize(
    ("activation", "kernel", "value"),
    [
        ("relu(z)", "readout", 0.241372),
        ("relu(z)", "ntk", 0.241372 + 0.3 * 0.298493),
        ("erf(z)", "readout", 0.128188),
        ("erf(z)", "ntk", 0.128188 + 0.3 * 0.433165),
        ("sign(z)", "readout", 0.193973),
    ],
)
def test_reference_values(activation, kernel, value):
    assert kernel_of(*pair(0.3), activation=activation, kernel=kernel) == pytest.approx(
        value, abs=2e-6
    )


def test_reference_value_at_other_sizes():
    found = kernel_of(*pair(0.4, 1.3, 0.7), activation="erf(z)")
    assert found == pytest.approx(0.1590258960, abs=1e-9)


@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1.3, 0.7)])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("relu(z)", lambda u: np.maximum(u, 0)),
        ("abs(z)", np.abs),
        ("step(z)", lambda u: np.heaviside(u, 0.5)),
        ("sign(z)", np.sign),
        ("erf(z)", erf),
        ("erf(z/sqrt(2))", lambda u: erf(u / np.sqrt(2))),
        ("tanh(z)", np.tanh),
        ("relu(z - 0.5)", lambda u: np.maximum(u - 0.5, 0)),
        ("max(z, -1)", lambda u: np.maximum(u, -1)),
        ("He2(z) + z", lambda u: u * u - 1 + u),
    ],
)
def test_kernels_are_means_over_random_weights(name, function, sizes, rng):
    """Four million pairs; the error of the mean is known, five of them fail once in 2 million."""
    t, bias = -0.6, 0.4
    x, other = pair(t, *sizes)
    found = kernel_of(x, other, activation=name, bias_scale=bias)
    total, square, batches, size = 0.0, 0.0, 20, 10_000
    for _ in range(batches):
        w = rng.standard_normal((size, 2)) / np.sqrt(2)
        b = bias * rng.standard_normal(size)
        # The mean over w and -w, and over the two halves of b, has a smaller variance.
        values = np.zeros(size)
        for sign in (1, -1):
            values += function(sign * (w @ x) + b) * function(sign * (w @ other) + b) / 2
        total, square = total + values.sum(), square + (values**2).sum()
    n = batches * size
    mean, spread = total / n, np.sqrt((square / n - (total / n) ** 2) / n)
    assert abs(found - mean) < 5 * spread
    assert spread < 0.01


@pytest.mark.parametrize("kernel", ["readout", "ntk"])
@pytest.mark.parametrize(("closed", "same"), [("relu(z)", "z*step(z)"), ("erf(z)", "-erf(-z)")])
def test_the_series_of_a_function_with_a_closed_form(kernel, closed, same):
    """The same function in other words has no closed form; the series must say the same."""
    for t, s, s2 in [(0.3, 1.0, 1.0), (-0.5, 1.4, 0.6)]:
        expected = kernel_of(*pair(t, s, s2), activation=closed, kernel=kernel)
        other = kernel_of(*pair(t, s, s2), activation=same, kernel=kernel)
        assert other == pytest.approx(expected, abs=1e-9)


def test_a_series_against_a_plain_integral():
    """tanh at sizes 1.5 and 0.8, correlation 0.7, by integrating over two Gaussian variables."""
    t, s, s2 = 0.7, 1.5, 0.8

    def integrand(v, u):
        density = np.exp(-(u * u + v * v) / 2) / (2 * np.pi)
        return np.tanh(s * u) * np.tanh(s2 * (t * u + np.sqrt(1 - t * t) * v)) * density

    expected, _ = dblquad(integrand, -8, 8, -8, 8, epsabs=1e-9)
    found = kernel_of(*pair(t, s, s2), activation="tanh(z)")
    assert found == pytest.approx(expected, abs=1e-8)


def test_kinks_lie_where_the_preactivation_has_them():
    """Independent preactivations: the kernel is the product of P(s z > 1/2) and P(s' z > 1/2)."""
    found = kernel_of(*pair(0.0, 1.3, 0.7), activation="step(z - 0.5)")
    assert found == pytest.approx(ndtr(-0.5 / 1.3) * ndtr(-0.5 / 0.7), abs=1e-12)


def test_the_tangent_kernel_is_that_of_the_gradients(rng):
    """Mean of the products of all derivatives of a wide network, biases included."""
    x, other = pair(0.5, 1.2, 0.9)
    width = 400_000
    w, b = rng.standard_normal((width, 2)) / np.sqrt(2), 0.3 * rng.standard_normal(width)
    u, v = w @ x + b, w @ other + b
    slopes = (1 - np.tanh(u) ** 2) * (1 - np.tanh(v) ** 2)
    # Readouts of variance 1; weights and biases in units of the standard deviations at the start.
    values = np.tanh(u) * np.tanh(v) + slopes * (x @ other / 2 + 0.3**2)
    found = kernel_of(x, other, activation="tanh(z)", kernel="ntk", bias_scale=0.3)
    assert abs(found - values.mean()) < 5 * values.std() / np.sqrt(width)


def test_what_a_series_leaves_off_is_on_the_diagonal():
    """Of sign(z) the first three terms leave off 1 - 2/pi - 1/(3 pi): it acts as a ridge."""
    X, y = data(30)
    parameters = {"activation": "2*step(z) - 1", "degree": 4, "ridge": 0.2, **BARE}
    learner = DotKernelRidge(**parameters).fit(X, y)
    tail = 1 - 2 / np.pi - 1 / (3 * np.pi)
    assert learner.series_tail_ == pytest.approx(tail, abs=1e-9)
    sizes = np.linalg.norm(X, axis=1)
    t = X @ X.T / np.outer(sizes, sizes)
    K = (2 / np.pi) * t + t**3 / (3 * np.pi)
    K += np.diag(1 - np.diag(K))
    expected = np.linalg.solve(K + 0.2 * np.eye(30), y)
    np.testing.assert_allclose(learner.dual_coef_, expected, atol=1e-8)
    assert DotKernelRidge(activation="sign(z)").fit(X, y).series_tail_ == 0


def test_the_solution_is_that_of_scikit_learn_for_its_kernel():
    """sklearn's polynomial kernel (gamma <x, x'> + 1)^2 has the coefficients 1, 2, 1."""
    X, y = data(40)
    learner = DotKernelRidge("polynomial", coefficients=(1, 2, 1), ridge=0.3, **BARE).fit(X, y)
    other = KernelRidge(alpha=0.3, kernel="poly", degree=2, gamma=1 / D, coef0=1).fit(X, y)
    fresh = data(20, seed=1)[0]
    np.testing.assert_allclose(learner.predict(fresh), other.predict(fresh), atol=1e-8)
    assert learner.train_mse_ == pytest.approx(np.mean((y - other.predict(X)) ** 2), rel=1e-8)


def test_the_constant_is_free():
    """Labels moved by a constant move the predictions, and solve the bordered equations."""
    X, y = data(40)
    learner = DotKernelRidge(activation="erf(z)", ridge=0.3).fit(X, y)
    moved = DotKernelRidge(activation="erf(z)", ridge=0.3).fit(X, y + 100)
    np.testing.assert_allclose(moved.predict(X), learner.predict(X) + 100, atol=1e-8)
    K = learner.kernel_matrix(X)
    system = np.block([[K + 0.3 * np.eye(40), np.ones((40, 1))], [np.ones((1, 40)), 0.0]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(learner.dual_coef_, solution[:-1], atol=1e-9)
    assert learner.intercept_ == pytest.approx(solution[-1], abs=1e-9)


@pytest.mark.parametrize("activation", ["relu(z)", "tanh(z)"])
def test_it_is_the_limit_of_many_random_features(activation):
    """The distance of finite width shrinks like 1/sqrt(width)."""
    X, y = data(40)
    exact = DotKernelRidge(activation=activation, ridge=0.5).fit(X, y).predict(X)
    distances = []
    for width in (1_000, 64_000):
        learner = RandomFeatures(width, activation=activation, ridge=0.5, random_state=0)
        distances.append(np.abs(learner.fit(X, y).predict(X) - exact).max())
    assert distances[1] < 0.02 * y.std()
    assert distances[1] < distances[0] / 3


@pytest.mark.parametrize("activation", ["relu(z)", "tanh(z)"])
def test_blocks_do_not_show(activation):
    X, y = data(40)
    learner = DotKernelRidge(activation=activation)
    expected = learner.fit(X, y).predict(X)
    np.testing.assert_allclose(learner.set_params(chunk_size=7).fit(X, y).predict(X), expected)


@pytest.mark.parametrize("ridge", [0.2, None])
def test_columns_of_labels_have_the_same_kernel(ridge):
    X, y = data(40)
    Y = np.column_stack([y, X[:, 2]])
    learner = DotKernelRidge(ridge=ridge, random_state=0).fit(X, Y)
    for k in range(2):
        alone = DotKernelRidge(ridge=learner.ridge_).fit(X, Y[:, k])
        np.testing.assert_allclose(learner.predict(X)[:, k], alone.predict(X), atol=1e-9)
    assert learner.train_mse_ == pytest.approx(np.mean((Y - learner.predict(X)) ** 2))


def test_a_path_is_one_fit_for_each_ridge():
    X, y = data(40)
    ridges = [0.1, 3.0, 0.0]
    for ridge, one in zip(ridges, DotKernelRidge().fit_path(X, y, ridges), strict=True):
        alone = DotKernelRidge(ridge=ridge).fit(X, y)
        np.testing.assert_allclose(one.predict(X), alone.predict(X), atol=1e-8)
        assert one.train_mse_ == pytest.approx(alone.train_mse_, abs=1e-10)
    np.testing.assert_allclose(alone.predict(X), y, atol=1e-6)


def test_a_ridge_that_is_left_open_is_a_good_one():
    target = gd.Target("z1 + 0.5*z2", noise=1.0)
    s, fresh = (target.sample(300, 30, role=role) for role in ("data", "test"))
    learner = DotKernelRidge(ridge=None, random_state=0).fit(s.X, s.y)
    path = learner.fit_path(s.X, s.y, np.logspace(-3, 3, 13))
    errors = [np.mean((fresh.y - one.predict(fresh.X)) ** 2) for one in path]
    # A fifth of 300 rows tells errors apart to about 1/sqrt(60) = 0.13 of their size.
    assert np.mean((fresh.y - learner.predict(fresh.X)) ** 2) < 1.13 * min(errors)
    assert max(errors) > 1.3 * min(errors)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ridge": -1.0}, "ridge must be a number >= 0, got -1.0"),
        ({"kernel": "tangent"}, "kernel must be one of 'readout', 'ntk', 'polynomial'"),
        ({"activation": "tan(z)"}, "unknown function 'tan'"),
        ({"activation": "sign(z)", "kernel": "ntk"}, "'sign.z.' jumps at z = 0"),
        ({"activation": "step(z - 1)", "kernel": "ntk"}, "jumps at z = 1"),
        ({"kernel": "polynomial", "coefficients": (1.0, -1.0)}, "coefficients must be a number"),
        ({"degree": 0}, "degree must be an integer >= 1"),
        ({"bias_scale": -0.1}, "bias_scale must be a number >= 0"),
        ({"standardize": "yes"}, "standardize must be True or False"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = data(10)
    with pytest.raises(gd.GradoneError, match=message):
        DotKernelRidge(**({"activation": "tanh(z)"} | parameters)).fit(X, y)


def test_bad_data_are_refused():
    X, y = data(10)
    with pytest.raises(ValueError, match="NaN"):
        DotKernelRidge().fit(np.where(X > 5, np.nan, X), y)
    with pytest.raises(gd.BadData, match="at least one value of the ridge"):
        DotKernelRidge().fit_path(X, y, [])
    with pytest.raises(gd.BadData, match="'exp.z.' overflows"):
        DotKernelRidge(activation="exp(z)", standardize=False).fit(1e4 * X, y)

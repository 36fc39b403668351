"""Layer by layer: edges, scores and steps against closed forms, errors against the bars."""

import numpy as np
import pytest

import gradone as gd
from gradone.learners import DotKernelRidge, JointNetwork, Layerwise
from gradone.learners.depth._branches import Branches
from gradone.learners.depth._data import SplitData
from gradone.learners.depth._directions import bulk_edge, rank_scores
from gradone.learners.depth._first_stage import label_spectrum
from gradone.learners.depth._hermite import HermiteFeatures, hermite_products
from gradone.learners.depth._levels import StackedModel
from gradone.learners.depth._link import Link
from gradone.learners.depth._network import ReluNetwork
from gradone.learners.depth._quadratic import KrylovSpace
from gradone.learners.depth._ridge import ridge_network

PRESETS = ("practical", "spectral", "theorem")
UNBALANCED = [1.0] * 7 + [-1.0]


def canonical(signs="random"):
    return gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5, signs=signs)


def test_error(learner, target, *, n, d, seed):
    """Mean square error on 4000 fresh rows."""
    s = target.sample(n=n + 4000, d=d, seed=seed)
    learner.fit(s.X[:n], s.y[:n])
    return float(np.mean((learner.predict(s.X[n:]) - s.y[n:]) ** 2))


test_error.__test__ = False


# ---- the first stage


def test_edge_of_two_values_is_the_reference():
    """t = +-1, alpha = 2: 1.66510 of the theory note; both sides alike."""
    t = np.repeat([1.0, -1.0], 500)
    assert bulk_edge(t, 2.0) == pytest.approx(1.66510, abs=1e-4)
    assert bulk_edge(-t, 2.0) == pytest.approx(1.66510, abs=1e-4)


def test_edge_of_equal_weights_is_that_of_marchenko_and_pastur():
    """With t = 1 the matrix is a covariance: (1 + 1/sqrt(alpha))^2 above."""
    assert bulk_edge(np.ones(50), 4.0) == pytest.approx((1 + 0.5) ** 2, rel=1e-8)


@pytest.mark.parametrize("power", [1, 4])
def test_edges_hold_the_spectrum_of_labels_without_signal(power):
    """Extreme eigenvalues of drawn matrices lie within 3 widths d^(-2/3) of the edges.

    Would catch: edges of one side used for the other, off by a factor 2 for the skewed weights.
    """
    rng, d, n = np.random.default_rng(0), 200, 1000
    t = rng.random(n) ** power
    t -= t.mean()
    X = rng.standard_normal((n, d))
    values = np.linalg.eigvalsh((t[:, None] * X).T @ X / n)
    margin = 3 * d ** (-2 / 3)
    assert values[-1] == pytest.approx(bulk_edge(t, n / d), rel=margin)
    assert values[0] == pytest.approx(-bulk_edge(-t, n / d), rel=margin)


def test_scores_are_those_of_normal_order_and_ties_share():
    from scipy.stats import norm

    y = np.array([3.0, -1.0, 3.0, 10.0])
    low, mid, high, top = norm.ppf([0.125, 0.375, 0.625, 0.875])
    shared = (mid + high) / 2
    np.testing.assert_allclose(rank_scores(y), [shared, low, shared, top], atol=1e-12)
    np.testing.assert_allclose(rank_scores(np.exp(y)), rank_scores(y))


def plain_spectrum(X, t):
    """Without the correction."""
    return label_spectrum(X, t, np.random.default_rng(0), rounds=0)[0]


def test_the_spectrum_does_not_depend_on_scales_and_rotations_of_the_inputs():
    rng = np.random.default_rng(1)
    X, t = rng.standard_normal((400, 8)), rng.standard_normal(400)
    t -= t.mean()
    mixed = X @ rng.standard_normal((8, 8)) + 3.0
    np.testing.assert_allclose(
        plain_spectrum(mixed, t).values, plain_spectrum(X, t).values, rtol=1e-8, atol=1e-12
    )


def test_projected_steps_are_those_of_the_gradient():
    """[LW-3] with the gradient of y s (w.x)^2/2 written out, rows never in the eigenbasis."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((500, 6)), rng.standard_normal(500)
    y -= y.mean()
    spectrum = plain_spectrum(X, y)
    found = spectrum.power_rows(5, np.random.default_rng(3))
    # The same draws, moved sample by sample in whitened coordinates.
    draws = np.random.default_rng(3)
    start = draws.standard_normal((5, 6)) @ spectrum.vectors
    signs = draws.choice([-1.0, 1.0], (5, 1))[:, 0]
    U = (X - X.mean(0)) @ spectrum.axes.T
    size = max(abs(np.linalg.eigvalsh((y[:, None] * U).T @ U / 500)))
    for w, s, row in zip(start, signs, found, strict=True):
        w = w / np.linalg.norm(w)
        for _ in range(int(np.ceil(2 * np.log(6)))):
            gradient = s * np.mean(y[:, None] * (U @ w)[:, None] * U, axis=0)
            w = w + (gradient - w * (w @ gradient)) / size
            w = w / np.linalg.norm(w)
        np.testing.assert_allclose(row, w @ spectrum.axes, atol=1e-10)


@pytest.mark.parametrize("signs", ["random", UNBALANCED])
def test_directions_of_the_target_stand_out(signs):
    """n = 4096 is five times what the directions need: all eight, overlap^2 near 0.9."""
    s = canonical(signs).sample(n=4096, d=64, seed=3)
    found = Layerwise("spectral", widths=(200,), random_state=0).fit(s.X, s.y).directions_
    W = s.W_star.reshape(-1, 64)
    assert len(found) in (7, 8, 9)
    np.testing.assert_allclose(found @ found.T, np.eye(len(found)), atol=1e-8)
    assert np.sum((found @ W.T) ** 2) / 8 > 0.75


def test_without_signal_nothing_stands_out():
    """0.03 eigenvalues on average: of a Poisson law with mean 0.6, 8 have a chance of 3e-7."""
    rng, counts = np.random.default_rng(4), []
    for _ in range(20):
        X, y = rng.standard_normal((2048, 64)), rng.standard_normal(2048)
        counts.append(len(plain_spectrum(X, rank_scores(y)).outside))
    assert sum(counts) < 8


def test_a_linear_part_is_a_direction():
    s = gd.Target("z1 + z2**2").sample(n=2000, d=20, seed=0)
    found = Layerwise("spectral", random_state=0).fit(s.X, s.y).directions_
    assert np.all(np.sum((found @ s.W_star.T) ** 2, axis=0) > 0.9)


# ---- the second and third


def test_the_step_on_the_second_layer_is_the_ridge_fit_of_two_layers():
    """[LW-5]: rows of W2 are multiples of the readout, and the third layer sees one function."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 4)).astype(np.float32)
    y = np.tanh(X[:, 0] + X[:, 1] ** 2 - 1).astype(np.float32)
    data = SplitData(X[:240], y[:240], X[240:], y[240:])
    rows = rng.standard_normal((30, 4))
    two, three = (
        ridge_network(data, rows, widths, np.random.default_rng(6))[0]
        for widths in ((30,), (30, 8))
    )  # fmt: skip
    beta = two.weights[1][0]
    cosines = three.weights[1] @ beta / np.linalg.norm(three.weights[1], axis=1)
    np.testing.assert_allclose(abs(cosines), np.linalg.norm(beta), rtol=1e-5)
    # The readout solves the normal equations for some ridge: gradient and weights are parallel.
    F = np.maximum(X[:240].astype(float) @ rows.T + two.biases[0], 0)
    F -= F.mean(0)
    gradient = F.T @ (y[:240] - y[:240].mean() - F @ beta)
    cosine = gradient @ beta / np.linalg.norm(gradient) / np.linalg.norm(beta)
    assert cosine == pytest.approx(1, abs=1e-2)


# ---- what is learned


@pytest.mark.stat
def test_default_reaches_the_bars_of_the_example():
    """The bars are 0.32 and 0.15 for medians of many; medians of 3 vary by 0.02."""
    few = [
        test_error(Layerwise(random_state=i), canonical(), n=1782, d=64, seed=i) for i in (1, 2, 3)
    ]
    assert np.median(few) < 0.32
    assert test_error(Layerwise(random_state=0), canonical(), n=4096, d=64, seed=0) < 0.15


@pytest.mark.stat
def test_unbalanced_signs_are_learned_as_well():
    errors = [
        test_error(Layerwise(random_state=i), canonical(UNBALANCED), n=1782, d=64, seed=i)
        for i in (1, 2, 3)
    ]
    assert np.median(errors) < 0.33


@pytest.mark.stat
def test_three_layers_beat_two_and_a_warm_start_beats_a_cold_one():
    three, two, cold = (
        test_error(made, canonical(), n=4096, d=64, seed=7)
        for made in (
            Layerwise(random_state=0),
            Layerwise(widths=(256,), random_state=0),
            JointNetwork(random_state=0),
        )
    )
    assert three + 0.02 < two < 0.25
    assert three + 0.05 < cold


@pytest.mark.stat
@pytest.mark.parametrize("preset", ["spectral", "theorem"])
def test_closed_form_presets_gain_by_the_third_layer(preset):
    """At n = 4096 the note has 0.20 for three layers and 0.23-0.24 for two."""
    three, two = (
        test_error(Layerwise(preset, widths=w, random_state=0), canonical(), n=4096, d=64, seed=7)
        for w in ((600, 50), (600,))
    )
    assert three < two - 0.005 < 0.28


@pytest.mark.parametrize("preset", PRESETS)
def test_noise_is_predicted_by_the_mean_label(preset):
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((300, 20)), 2 + rng.standard_normal(300)
    learner = Layerwise(preset, random_state=0).fit(X, y)
    np.testing.assert_allclose(learner.predict(X), y.mean(), rtol=1e-12)
    assert "The mean label is predicted" in learner.diagnosis_


@pytest.mark.stat
@pytest.mark.parametrize("preset", PRESETS)
def test_inputs_may_be_correlated_and_of_any_scale(preset):
    """A linear map of the inputs: the same labels, as well explained."""
    rng = np.random.default_rng(9)
    s = gd.Target("z1**2 + z2").sample(n=3000, d=10, seed=0)
    mixed = s.X @ (np.eye(10) + 0.3 * rng.standard_normal((10, 10))) * 100 + 5
    plain, other = (
        Layerwise(preset, random_state=0).fit(X, s.y).validation_mse_ for X in (s.X, mixed)
    )
    assert max(plain, other) < 0.15 * s.y.var()


def test_bad_parameters_are_named():
    s = gd.Target("z1").sample(n=40, d=3, seed=0)
    for given, message in [
        ({"preset": "practicle"}, "Did you mean 'practical'"),
        ({"rounds": 0}, "rounds must be an integer >= 1"),
        ({"widths": (10, 10, 10), "preset": "theorem"}, "one or two hidden layers"),
    ]:
        with pytest.raises(gd.BadData, match=message):
            Layerwise(**given).fit(s.X, s.y)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_first_layer_that_cannot_hold_the_directions_is_refused(preset):
    s = gd.Target("z1**2 + z2**2 + z3**2").sample(n=1000, d=10, seed=0)
    message = r"widths\[0\] = 2 is too small for this target: 3 direction.* of at least 3 neurons"
    with pytest.raises(gd.BadData, match=message):
        Layerwise(preset, widths=(2,), random_state=0).fit(s.X, s.y)


def test_a_step_that_is_too_large_is_named():
    s = gd.Target("z1").sample(n=200, d=5, seed=0)
    with pytest.raises(gd.NotConverged, match=r"step_size = 1e\+30. Use a smaller step_size"):
        Layerwise(step_size=1e30, random_state=0).fit(s.X, s.y)


# ---- the kernel to fall back on


@pytest.mark.parametrize("ridge", [1.0, 30.0, 1000.0])
def test_the_quadratic_fit_solves_the_normal_equations(ridge):
    """All products of two inputs written out, those of different ones twice, and a constant.

    Would catch: mixed products counted once, a constant with a penalty.
    """
    rng = np.random.default_rng(11)
    X = rng.standard_normal((300, 4)) + 0.3
    y = 1 + X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    (form,) = KrylovSpace.of(X, y).fitted([ridge])
    F = np.column_stack([*(X[:, i] * X[:, j] for i in range(4) for j in range(4)), X])
    center = F.mean(axis=0)
    gram = (F - center).T @ (F - center) + ridge * np.eye(20)
    a = np.linalg.solve(gram, (F - center).T @ (y - y.mean()))
    np.testing.assert_allclose(form(X), (F - center) @ a + y.mean(), atol=1e-7)


def test_the_quadratic_fit_is_kernel_ridge_regression():
    """(x.x')^2 + x.x' + 1 with the constant free, against the learner of n coefficients."""
    rng = np.random.default_rng(12)
    d, X = 5, rng.standard_normal((80, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    (form,) = KrylovSpace.of(X, y).fitted([3.0])
    kernel = DotKernelRidge("polynomial", coefficients=(0.0, d, d**2), bias_scale=0.0, ridge=3.0,
                            standardize=False).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(form(X), kernel.predict(X), atol=1e-6)


@pytest.mark.parametrize("preset", ["spectral", "theorem"])
def test_a_quadratic_form_of_all_inputs_is_left_to_the_kernel(preset):
    """No direction stands out: what is predicted is a quadratic form, found from all rows."""
    n, s = 600, gd.QuadraticForms(outer="h", count=1).sample(n=2600, d=12, seed=0)
    learner = Layerwise(preset, widths=(200, 20), random_state=0).fit(s.X[:n], s.y[:n])
    assert learner.kernel_
    assert not learner.constant_
    assert "Ridge regression with the quadratic kernel" in learner.diagnosis_
    assert np.mean((learner.predict(s.X[n:]) - s.y[n:]) ** 2) < 0.05 * s.y.var()
    # Third differences of a quadratic form vanish.
    line = np.array([0.0, 1.0, 2.0, 3.0])[:, None] * np.ones(12)
    assert abs(np.diff(learner.predict(line), 3)[0]) < 1e-6
    assert learner.weights_.shape == (200, 12)  # still those of the network


@pytest.mark.stat
@pytest.mark.parametrize("preset", PRESETS)
def test_quadratic_forms_are_learned_as_far_as_the_data_go(preset):
    """The target that does not narrow, tanh of three forms: the sum of the forms explains 0.84."""
    n, s = 3000, gd.QuadraticForms(outer="tanh(h)", count=3).sample(n=5000, d=16, seed=0)
    learner = Layerwise(preset, random_state=0).fit(s.X[:n], s.y[:n])
    assert np.mean((learner.predict(s.X[n:]) - s.y[n:]) ** 2) < 0.2 * s.y.var()


# ---- level by level


def test_branches_have_unit_covariance():
    rng = np.random.default_rng(13)
    X, B = rng.standard_normal((500, 3)), rng.standard_normal((9, 2))
    features = HermiteFeatures.of(X, np.eye(3), 2, 0.1)
    H = Branches.whitened(features, B, features(X))(X)
    np.testing.assert_allclose(np.cov(H, rowvar=False), np.eye(2), atol=1e-9)
    np.testing.assert_allclose(H.mean(axis=0), 0, atol=1e-9)
    F = features(X)
    np.testing.assert_allclose(features.covariance, F.T @ F / 500, atol=1e-12)
    # They span the same functions.
    bare = np.column_stack([H, np.ones(500)])
    for column in (features(X) @ B).T:
        assert np.linalg.lstsq(bare, column, rcond=None)[1][0] < 1e-18 * 500


@pytest.mark.stat
def test_four_layers_learn_features_of_features():
    """Six directions, two features of three each, one feature of both: the second level is found.

    A ridge fit of two layers sees the topmost feature alone.
    """
    target = gd.Tree("tanh(1.5*h)", ["He2(z)/sqrt(2)", "0.7*z + 0.505*He2(z)"], [0.82, 0.4],
                     signs=[[1.0] * 6, [1.0, -1.0]])  # fmt: skip
    n, s = 4000, target.sample(n=6000, d=10, seed=0, replicate=2)
    errors, learners = [], []
    for widths in ((300,), (300, 100, 30)):
        learners.append(Layerwise("spectral", widths=widths, random_state=0).fit(s.X[:n], s.y[:n]))
        errors.append(np.mean((learners[-1].predict(s.X[n:]) - s.y[n:]) ** 2))
    assert errors[1] < 0.5 * errors[0]
    assert "They make" in learners[1].diagnosis_
    H = np.column_stack([learners[1].hidden(s.X[n:], 2), np.ones(2000)])
    h = s.features[0][n:]
    rest = h - H @ np.linalg.lstsq(H, h, rcond=None)[0]
    assert (rest.var(axis=0) < 0.05 * h.var(axis=0)).all()
    assert len(learners[1].hidden(s.X[n:], 3)) == 2000


def test_a_stack_of_levels_is_their_composition():
    """Two levels of branches and a network on top, each applied by hand."""
    rng = np.random.default_rng(14)
    X = rng.standard_normal((200, 3))
    levels, Z = [], X
    for k in (2, 1):
        features = HermiteFeatures.of(Z, np.eye(Z.shape[1]), 2, 0.1)
        F = features(Z)
        levels.append(Branches.whitened(features, rng.standard_normal((F.shape[1], k)), F))
        Z = levels[-1](Z)
    top = ReluNetwork((1, 4), np.float64)
    top.parameters[:] = rng.standard_normal(len(top.parameters))
    model = StackedModel(tuple(levels), top, (-1.0, 1.0))
    np.testing.assert_allclose(model(X), np.clip(top(Z), -1, 1))
    np.testing.assert_allclose(model.hidden(X, 1), X)
    np.testing.assert_allclose(model.hidden(X, 2), levels[0](X))
    np.testing.assert_allclose(model.hidden(X, 3), Z)
    np.testing.assert_allclose(model.hidden(X, 4), top.hidden(Z, 2))


# ---- several branches


def test_hermite_products_are_orthonormal():
    """All 9 products of two variables up to degree 3, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    Z = np.array([(a, b) for a in nodes for b in nodes])
    w = np.array([a * b for a in weights for b in weights]) / (2 * np.pi)
    columns = hermite_products(Z, 3)
    np.testing.assert_allclose((columns * w[:, None]).T @ columns, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(w @ columns, 0, atol=1e-12)


def test_gradient_of_a_link_agrees_with_differences():
    rng = np.random.default_rng(10)
    H = rng.standard_normal((1300, 2)) * [1.0, 3.0] + 1.0
    y = np.tanh(H[:, 0]) * H[:, 1]
    link = Link.fitted(H, y, rng)
    assert np.mean((link(H) - y) ** 2) < 0.01 * y.var()
    slopes = np.stack(
        [(link(H + 1e-5 * e) - link(H - 1e-5 * e)) / 2e-5 for e in np.eye(2)], axis=1
    )  # fmt: skip
    np.testing.assert_allclose(link.with_gradient(H)[1], slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.stat
def test_branches_are_parted():
    """Two branches of two directions each: linear functions of H explain both of them.

    One step of rank one sees their sum alone, which explains half of each.
    """
    target = gd.Might(outer="tanh(3*h)", inner="He2(z)/2", branches=2, exponent=0.34)
    n, d = 8000, 10
    s = target.sample(n=n, d=d, seed=1)
    learner = Layerwise("spectral", random_state=0).fit(s.X, s.y)
    assert "They make" in learner.diagnosis_
    H = np.column_stack([learner.hidden(s.X, 2), np.ones(n)])
    assert H.shape[1] in (3, 4)  # two or three branches: four would explain any such function
    W = s.W_star.reshape(2, -1, d)
    for m in range(2):
        z = s.X @ W[m].T
        shares = []
        for a in ([1, 1], [1, -1]):  # the signs are drawn: one of both is the feature
            h = (z**2 - 1) @ a
            rest = h - H @ np.linalg.lstsq(H, h, rcond=None)[0]
            shares.append(1 - rest.var() / h.var())
        assert max(shares) > 0.8


class Overlaps:
    """Callback that measures both hidden layers at every record, and may end the fit."""

    def __init__(self, sample, end=None):
        self.sample, self.end, self.rows, self.features = sample, end, [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.task_name != "step":
            return False
        W, rows = self.sample.W_star, fitted_estimator.weights_
        self.rows.append(np.sum((rows @ W.T) ** 2) / np.sum(rows**2))
        hidden = fitted_estimator.hidden(self.sample.X, 2)
        hidden = hidden - hidden.mean(axis=0)
        y = self.sample.y - self.sample.y.mean()
        self.features.append(np.sqrt(np.mean((y @ hidden) ** 2 / (hidden**2).sum(0) / (y @ y))))
        return len(self.rows) == self.end


@pytest.mark.parametrize("make", [JointNetwork, Layerwise])
def test_a_callback_measures_the_layers_while_they_are_learned(make):
    pytest.importorskip("sklearn.callback")
    s = gd.Target("tanh(2*z1)").sample(n=600, d=20, seed=0)
    seen = Overlaps(s)
    make(random_state=0).set_callbacks(seen).fit(s.X, s.y)
    assert seen.features[-1] > 0.7
    if make is Layerwise:  # begins with what it has found; by chance 1/20
        assert seen.rows[0] > 0.3
    else:
        assert seen.rows[0] < 0.1
        assert seen.rows[-1] > seen.rows[0]


@pytest.mark.parametrize("make", [JointNetwork, Layerwise])
def test_a_callback_may_end_the_training(make):
    """What was learned until then is kept."""
    pytest.importorskip("sklearn.callback")
    s = gd.Target("z1").sample(n=300, d=4, seed=0)
    learner = make(steps=120, random_state=0).set_callbacks(Overlaps(s, end=3)).fit(s.X, s.y)
    assert learner.n_iter_ <= 40  # twelve records of ten updates
    assert np.isfinite(learner.predict(s.X)).all()

"""Overlaps of deep networks with hierarchical targets: closed forms, chance, online sums."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.experiments.depth_metrics import (
    FeatureOverlap,
    effective_dimension,
    gram_spectrum,
    measure_features,
    row_overlap,
)
from gradone.experiments.depth_monitor import OverlapMonitor
from gradone.experiments.metrics import measure_directions
from gradone.theory import gram_levels

SIGHT = gd.Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6", exponent=0.5)
MIGHT = gd.Might("tanh(3*h)", "He2(z)/2 + He3(z)/6", branches=2, exponent=0.4)


def test_rows_of_known_overlap():
    """Rows cos(a) inside + sin(a) outside have M_W = cos(a), whatever their lengths."""
    W_star = SIGHT.realization(64).W_star
    outside = np.linalg.svd(W_star)[2][8:]
    rows = 5 * (0.6 * W_star + 0.8 * outside[:8])
    assert row_overlap(rows, W_star).value == pytest.approx([0.6])
    assert row_overlap(rows[:0], W_star).value == [0.0]
    mixed = np.concatenate([W_star, outside[:8]])  # half of the rows inside
    assert row_overlap(mixed, W_star).value == pytest.approx([math.sqrt(0.5)])


def test_chance_of_random_rows(rng):
    """Published: 0.3536 at d = 64, D = 8; the mean of 4000 rows is within 6 sigma of it."""
    found = row_overlap(rng.standard_normal((4000, 64)), SIGHT.realization(64).W_star)
    assert found.chance == pytest.approx(0.3536, abs=1e-4)
    assert found.value[0] ** 2 == pytest.approx(8 / 64, abs=6 * math.sqrt(2 * 8) / 64 / 63)


def test_each_branch_has_its_own_overlap():
    found = MIGHT.realization(64)
    D = len(found.W_star) // 2
    both = row_overlap(found.W_star[:D], found.W_star, branches=2)
    assert both.value == pytest.approx([1.0, 0.0], abs=1e-7)
    assert both.chance == pytest.approx(math.sqrt(D / 64))


def test_simulations_report_the_overlap_of_rows():
    W_star = SIGHT.realization(64).W_star
    assert measure_directions(SIGHT, W_star, W_star)["row_overlap"].value == pytest.approx(1.0)
    assert "row_overlap" not in measure_directions(gd.Target("z"), np.eye(1, 5), np.eye(1, 5))
    found = gd.simulate(SIGHT, "spectral_directions", d=16, n=4000, replicates=2, n_components=4)
    assert found.row_overlap.dims == ("n", "replicate")
    # For orthonormal directions it is the mean of the squared cosines.
    square = found.cosine2.mean("direction2")
    np.testing.assert_allclose(found.row_overlap**2, square, rtol=1e-9)


def test_online_correlations_are_those_of_all_samples(rng):
    """Would catch: means of the parts instead of the mean of all; sums that cancel."""
    h = rng.standard_normal((3000, 2))
    neurons = 1e6 + h @ rng.standard_normal((2, 5)) + rng.standard_normal((3000, 5))
    neurons[:, 4] = 7.0  # dead
    online = FeatureOverlap()
    for rows in np.split(np.arange(3000), [1, 40, 1700]):
        online.add(neurons[rows], h[rows])
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = np.corrcoef(neurons.T, h.T)[:5, 5:]
    exact[4] = 0.0
    np.testing.assert_allclose(online.correlations(), exact, atol=1e-9)
    expected = np.sqrt(np.mean(exact**2, axis=0))
    np.testing.assert_allclose(online.overlap().value, expected, atol=1e-9)


@pytest.mark.stat
def test_overlap_of_features_and_its_chance(rng):
    """A neuron h + noise of the same variance has correlation 1/sqrt(2); an unrelated one none."""
    found = MIGHT.realization(64, seed=2)
    variance = 2 / 3
    noise = np.random.default_rng(5)

    def neurons(X):
        h = found.h(X)[:, :1]
        return 10 + h + math.sqrt(variance) * noise.standard_normal(h.shape)

    measured = measure_features(MIGHT, neurons, d=64, test_samples=20_000, seed=2)
    assert measured.chance == pytest.approx(1 / math.sqrt(20_000))
    # h has heavy tails: its fourth moment is about 5 times that of a Gaussian.
    assert measured.value[0] == pytest.approx(math.sqrt(0.5), abs=6 * 3 * measured.chance)
    assert measured.value[1] < 6 * measured.chance
    directions = rng.standard_normal((64, 40)) / 8
    random = measure_features(
        MIGHT, lambda X: np.maximum(X @ directions, 0), d=64, test_samples=20_000
    )
    assert (random.value < 6 * random.chance).all()


def test_effective_dimension_is_that_of_the_span(rng):
    frame = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    for q in (5, 40):
        rows = rng.standard_normal((6000, q)) @ frame[:q]
        assert effective_dimension(rows) == pytest.approx(q, rel=0.02)
    assert effective_dimension(np.ones((3, 4))) == pytest.approx(1.0)
    with pytest.raises(gd.BadData, match="two rows"):
        effective_dimension(np.zeros((3, 4)))


@pytest.mark.stat
def test_the_spectrum_splits_after_the_first_stage(rng):
    """Rows uniform in d and then in D dimensions: levels and gaps as predicted."""
    d, p, n = 40, 800, 800
    frame = np.linalg.qr(rng.standard_normal((d, d)))[0]
    gaps = []
    for q in (d, 6):
        values = gram_spectrum(rng.standard_normal((p, q)) @ frame[:q], n=n, seed=3)
        levels = gram_levels("relu(z)", q, 2, n=n, width=p)
        first = values[1 : 1 + q].mean()
        assert first == pytest.approx(levels[1].eigenvalue.value, rel=0.06)
        last = 1 + q + q * (q + 1) // 2
        gaps.append(values[last - 1] / values[last] if last < n else math.nan)
    assert math.isnan(gaps[0]) or gaps[0] < 1.1  # level 2 is not separate before
    assert gaps[1] > 2.0


def test_a_monitor_follows_a_fit_and_stores_numbers_only():
    monitor = OverlapMonitor(SIGHT, 16, test_samples=500)
    with pytest.raises(gd.BadData, match="nothing was measured"):
        monitor.curve()
    found = SIGHT.realization(16)
    outside = np.linalg.svd(found.W_star)[2][4:8]
    for angle in (0.0, 0.5, 1.0):
        rows = np.cos(angle) * outside + np.sin(angle) * found.W_star
        monitor.record(rows, lambda X, a=angle: a * found.h(X) + 0.1 * X[:, :1])
    curve = monitor.curve()
    assert curve.row_overlap.values[:, 0] == pytest.approx(np.sin([0.0, 0.5, 1.0]), abs=1e-7)
    assert (np.diff(curve.feature_overlap.values[:, 0]) > 0).all()
    assert '"row_overlap_chance":0.5' in curve.attrs["params"]


def test_a_monitor_is_a_callback():
    from sklearn.callback import FitCallback

    class Network:
        weights_, scale_ = np.eye(16), np.ones(16)

        def hidden(self, X, layer):
            return X[:, :layer]

    class Context:
        parent = object()

    monitor = OverlapMonitor(SIGHT, 16, test_samples=100)
    assert isinstance(monitor, FitCallback)
    assert not monitor.on_fit_task_end(None, Context(), fitted_estimator=Network())
    assert monitor.curve().sizes == {"step": 1, "branch": 1}
    with pytest.raises(gd.BadData, match="does not show its network"):
        monitor.on_fit_task_end(Network(), Context())
    monitor.setup(None, None)
    with pytest.raises(gd.BadData, match="nothing"):
        monitor.curve()


def test_wrong_shapes_are_refused():
    with pytest.raises(gd.BadData, match=r"shape \(p, 64\), got \(3, 5\)"):
        row_overlap(np.ones((3, 5)), SIGHT.realization(64).W_star)
    with pytest.raises(gd.BadData, match="finite numbers"):
        measure_features(SIGHT, lambda X: np.full((len(X), 2), np.nan), d=16, test_samples=10)
    with pytest.raises(gd.BadData, match="two or more"):
        FeatureOverlap().correlations()

"""Metrics of fitted learners against closed forms."""

import numpy as np
import pytest

import gradone as gd
from gradone.experiments import metrics
from gradone.experiments.metrics import measure_directions, measure_predictions


def rows(r, d, rng):
    return np.linalg.qr(rng.standard_normal((d, r)))[0].T


def test_overlap_is_signed_and_keeps_lengths(rng):
    W_star = rows(2, 50, rng)
    M = rng.standard_normal((3, 2))
    found = measure_directions(gd.Target("z1*z2"), M @ W_star, W_star)
    np.testing.assert_allclose(found["overlap"].value, M, atol=1e-12)
    assert found["overlap"].dims == ("direction", "direction2")
    assert not found["overlap"].error.any()


def test_alignment_needs_one_found_direction_for_each_hidden_one(rng):
    W_star = rows(2, 20, rng)
    assert "overlap_aligned" not in measure_directions(gd.Target("z1*z2"), W_star[:1], W_star)
    turned = -W_star[::-1]
    found = measure_directions(gd.Target("z1*z2"), turned, W_star)["overlap_aligned"].value
    np.testing.assert_allclose(found, np.eye(2), atol=1e-12)


def test_alignment_is_for_as_many_directions_as_symmetries_are_known(rng):
    W_star = rows(6, 20, rng)
    assert "overlap_aligned" not in measure_directions(gd.Target("z1 + z6**2"), W_star, W_star)


def test_cosines_are_those_of_the_principal_angles(rng):
    """Two planes that share one direction and meet at an angle in the other."""
    W_star, other = rows(3, 40, rng)[:2], rows(3, 40, np.random.default_rng(1))
    frame = np.linalg.qr(np.vstack([W_star, other]).T)[0].T
    found = np.array([W_star[0] + W_star[1], 0.0 * W_star[0] + frame[2]])
    basis = rng.standard_normal((2, 2)) @ found  # any basis of the plane, of any length
    value = measure_directions(gd.Target("z1*z2"), basis, W_star)["cosine2"].value
    np.testing.assert_allclose(value, [1.0, 0.0], atol=1e-12)
    tilted = np.array([W_star[0], 0.6 * W_star[1] + 0.8 * frame[3]])
    value = measure_directions(gd.Target("z1*z2"), tilted, W_star)["cosine2"].value
    np.testing.assert_allclose(value, [1.0, 0.36], atol=1e-12)


def test_directions_that_are_zero_span_nothing():
    value = measure_directions(gd.Target("z1*z2"), np.zeros((2, 5)), np.eye(2, 5))["cosine2"].value
    np.testing.assert_array_equal(value, [0.0, 0.0])
    doubled = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    value = measure_directions(gd.Target("z1*z2"), doubled, np.eye(2, 3))["cosine2"].value
    np.testing.assert_allclose(value, [1.0, 0.0])


def test_no_direction_at_all():
    found = measure_directions(gd.Target("z1*z2"), np.empty((0, 5)), np.eye(2, 5))
    assert found["overlap"].value.shape == (0, 2)
    np.testing.assert_array_equal(found["cosine2"].value, [0.0, 0.0])


def test_directions_of_another_space_are_refused():
    with pytest.raises(gd.BadData, match=r"shape \(k, 5\), got \(2, 4\)"):
        measure_directions(gd.Target("z1*z2"), np.zeros((2, 4)), np.eye(2, 5))


SAMPLES = 20_000
SIGMAS = 4.9  # two-sided 1e-6


@pytest.mark.stat
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_errors_of_a_linear_predictor(noise):
    r"""E(y - w.x)^2 = |w* - w|^2 + Delta, with standard error sqrt(2/N) of that for Gaussians.

    Would catch: a factor 1/2; noise in the excess; errors measured on the training rows.
    """
    target, d = gd.Target("z", noise=noise), 30
    w_star = target.realization(d, seed=3, replicate=1).W_star[0]
    w = 0.5 * w_star + 0.1 * np.roll(w_star, 1)
    found = measure_predictions(
        target, lambda X: X @ w, d=d, test_samples=SAMPLES, seed=3, replicate=1
    )
    excess = float((w_star - w) @ (w_star - w))
    for name, exact in (("excess_mse", excess), ("test_mse", excess + noise)):
        error = exact * np.sqrt(2 / SAMPLES)
        assert abs(found[name].value - exact) < SIGMAS * error
        assert found[name].error == pytest.approx(error, rel=0.1)
    assert "zero_one_error" not in found


@pytest.mark.stat
@pytest.mark.parametrize("angle", [0.0, 0.4, 1.5])
def test_share_of_wrong_labels_is_the_angle(angle):
    """sign(w.x) and sign(w*.x) differ with probability angle/pi."""
    target, d = gd.Target("sign(z)"), 10
    w_star = target.realization(d).W_star[0]
    other = np.linalg.qr(np.stack([w_star, np.eye(d)[0]], axis=1))[0][:, 1]
    w = np.cos(angle) * w_star + np.sin(angle) * other
    found = measure_predictions(target, lambda X: np.tanh(X @ w), d=d, test_samples=SAMPLES)
    error = np.sqrt(angle / np.pi * (1 - angle / np.pi) / SAMPLES)
    assert abs(found["zero_one_error"].value - angle / np.pi) <= SIGMAS * error
    assert found["zero_one_error"].error == pytest.approx(error, rel=0.05)


def test_the_nearest_of_several_values_is_the_label():
    target = gd.Target("sign(z1) + sign(z2)")  # -2, 0, 2
    y = np.array([-2.0, 0.0, 0.0, 2.0])
    losses = metrics.zero_one_error(target, y, y, np.array([-1.1, -0.9, 1.1, 9.0]))
    np.testing.assert_array_equal(losses, [0.0, 0.0, 1.0, 0.0])


def test_labels_that_a_learner_predicts_are_not_rounded_predictions():
    """A mean of 0 and 10 is nearest to 1, which may be impossible; errors of the mean stay."""
    target = gd.Target("step(z1) + 10*step(z2)")
    W = target.realization(6).W_star

    def knows_the_first(X):
        return (X @ W[0] > 0) + 5.0

    def guesses_the_second(X):
        return (X @ W[0] > 0) + 10.0 * (X[:, 0] > -9)

    fresh = {"d": 6, "test_samples": SAMPLES}
    nearest = measure_predictions(target, knows_the_first, **fresh)
    labels = measure_predictions(target, knows_the_first, predict_label=guesses_the_second, **fresh)
    error = np.sqrt(0.25 / SAMPLES)
    assert abs(labels["zero_one_error"].value - 0.5) < SIGMAS * error
    # 5 is nearest to 1 where the label is 0 or 10, and 6 is nearest to 10 where it is 1 or 11.
    assert nearest["zero_one_error"].value == 1.0
    assert labels["test_mse"] == nearest["test_mse"]
    assert labels["test_mse"].value == pytest.approx(25.0)


def test_noisy_labels_have_no_share_of_wrong_ones():
    found = measure_predictions(
        gd.Target("sign(z)", noise=0.1), lambda X: X[:, 0], d=3, test_samples=9
    )
    assert set(found) == {"test_mse", "excess_mse"}


def test_fresh_samples_are_not_those_of_the_fit_and_chunks_do_not_matter(monkeypatch):
    target, seen = gd.Target("z1*z2", noise=0.1), []

    def predict(X):
        seen.append(X.copy())
        return X[:, 0]

    whole = measure_predictions(target, predict, d=4, test_samples=100)
    monkeypatch.setattr(metrics, "_CHUNK_NUMBERS", 4 * 7)
    parts = measure_predictions(target, predict, d=4, test_samples=100)
    assert whole["test_mse"].value == pytest.approx(parts["test_mse"].value, rel=1e-12)
    assert max(len(X) for X in seen[1:]) == 7
    np.testing.assert_array_equal(np.concatenate(seen[1:]), seen[0])
    X = target.sample(100, 4).X
    assert np.abs(seen[0] - X).min() > 0


def test_single_precision_reaches_the_predictor_and_not_the_sums():
    kinds = set()

    def predict(X):
        kinds.add(X.dtype)
        return X[:, 0]

    found = measure_predictions(gd.Target("z"), predict, d=4, test_samples=50, dtype="float32")
    assert kinds == {np.dtype("float32")}
    exact = measure_predictions(gd.Target("z"), predict, d=4, test_samples=50)
    assert found["test_mse"].value == pytest.approx(exact["test_mse"].value, rel=1e-5)


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda X: X[:, :1], r"shape \(50, 1\), not \(50,\)"),
        (lambda X: np.full(len(X), np.nan), "not finite"),
    ],
)
def test_predictions_that_are_no_numbers_are_refused(predict, message):
    with pytest.raises(gd.BadData, match=message):
        measure_predictions(gd.Target("z"), predict, d=4, test_samples=50)

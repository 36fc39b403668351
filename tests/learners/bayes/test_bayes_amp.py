"""Bayes-AMP against closed forms, identities and state evolution."""

import re
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gradone as gd
from gradone.channels.samples.channel import SampleChannel
from gradone.learners import BayesAMP
from gradone.learners.bayes import bayes_amp

PARITY = gd.Target("sign(z1*z2)")


def aligned(learner, W_star):
    """Singular values of the overlap matrix: the same for all symmetries of the target."""
    return np.linalg.svd(learner.directions_ @ W_star.T, compute_uv=False)


def fitted(target, *, alpha, d, seed, **options):
    """Learner and sample; a run that does not converge is a result like any other."""
    sample = target.sample(n=round(alpha * d), d=d, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"random_state": seed} | options
        return BayesAMP(target, **options).fit(sample.X, sample.y), sample


# ---- closed forms and identities


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_linear_channel_is_ridge_regression(rng, dtype):
    """Posterior mean of a Gaussian model, whatever AMP believes of the variances.

    Would catch: an Onsager term that is left out or filtered differently from W; a mean or a scale
    that is applied on one side only; products summed in the wrong precision.
    """
    n, d, noise = 300, 40, 0.5
    X = rng.standard_normal((n, d)).astype(dtype)
    y = X[:, 0].astype(float) + np.sqrt(noise) * rng.standard_normal(n)
    X[:, 1] = 3 * X[:, 1] - 2
    X[:, 2] = 5.0
    learner = BayesAMP(gd.Target("z1", noise=noise), tol=1e-7, max_iter=2000, random_state=0)
    with pytest.warns(UserWarning, match="constant column|centred and scaled") as caught:
        learner.fit(X, y)
    assert sorted(str(w.message)[:26] for w in caught) == [
        "BayesAMP leaves out 1 cons",
        "X was centred and scaled: ",
    ]
    used = np.delete(X.astype(float), 2, axis=1)
    Z = (used - used.mean(axis=0)) / used.std(axis=0)
    ridge = np.linalg.solve(Z.T @ Z + (d - 1) * noise * np.eye(d - 1), Z.T @ y)
    tolerance = 1e-6 if dtype == np.float64 else 100 * np.finfo(dtype).eps * np.sqrt(n)
    assert learner.converged_
    assert learner.directions_.dtype == dtype
    np.testing.assert_allclose(np.delete(learner.directions_[0], 2), ridge, atol=tolerance)
    np.testing.assert_allclose(learner.predict(X), Z @ ridge, atol=10 * tolerance)
    np.testing.assert_allclose(learner.transform(X)[:, 0], Z @ ridge, atol=10 * tolerance)


def test_standard_features_are_left_as_they_are(rng):
    """Ridge regression with X itself. Taking the sample means off would change it by 0.03."""
    X = rng.standard_normal((300, 40))
    y = X[:, 0] + rng.standard_normal(300)
    learner = BayesAMP(gd.Target("z1", noise=1.0), tol=1e-7, max_iter=2000, random_state=0)
    ridge = np.linalg.solve(X.T @ X + 40 * np.eye(40), X.T @ y)
    np.testing.assert_allclose(learner.fit(X, y).directions_[0], ridge, atol=1e-6)


def test_label_without_noise_is_solved():
    """Above alpha = 1.13 phase retrieval has the one solution; means taken off would hide it."""
    target = gd.Target("z1**2")
    learner, sample = fitted(target, alpha=3, d=150, seed=0)
    assert learner.converged_
    assert abs(aligned(learner, sample.W_star)[0] - 1) < 1e-3
    np.testing.assert_allclose(learner.predict(sample.X), sample.y, atol=0.05)


def test_prediction_is_calibrated_on_fresh_samples():
    """E[y f] = E[f^2] for a posterior mean f; both are far from E[f] = 0 and from E[y^2] = 1."""
    learner, sample = fitted(PARITY, alpha=8, d=150, seed=1)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40_000, 150))
    y, f = PARITY(X @ sample.W_star.T), learner.predict(X)
    gap = f * (y - f)
    assert np.mean(f**2) > 0.4
    # The overlap of one instance is off by O(1/sqrt(d)) from what its covariance says.
    assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap)) + 0.5 / np.sqrt(150)


def test_predicted_labels_are_the_most_probable_ones(rng):
    """By 4e4 draws of z from its posterior at each of 40 inputs. Would catch: the nearest value."""
    target = gd.Target("step(z1) + 10*step(z2)")
    sample = target.sample(n=300, d=100, seed=3)
    learner = BayesAMP(target, random_state=0).fit(sample.X, sample.y)
    X = rng.standard_normal((40, 100))
    noise = rng.multivariate_normal(np.zeros(2), learner.covariance_, size=40_000)
    labels = target(learner.transform(X)[:, None, :] + noise)
    values = np.array([0.0, 1.0, 10.0, 11.0])
    shares = (labels[:, :, None] == values).mean(axis=1)
    chosen = shares[np.arange(40), np.searchsorted(values, learner.predict_label(X))]
    assert (chosen > shares.max(axis=1) - 0.02).all()  # eight standard errors of a share
    nearest = np.abs(learner.predict(X)[:, None] - values).argmin(axis=1)
    assert (shares[np.arange(40), nearest] < shares.max(axis=1) - 0.1).any()


def test_labels_are_predicted_where_there_are_finitely_many():
    assert hasattr(BayesAMP(gd.Target("sign(z1*z2)")), "predict_label")
    for channel in (gd.Target("sign(z)", noise=0.1), gd.Target("z**2"), "sign(z)"):
        assert not hasattr(BayesAMP(channel), "predict_label")


def test_runs_from_different_starts_end_at_the_same_prediction():
    """Predictions do not depend on the symmetry (signs, order) that a run has chosen."""
    options = {"alpha": 8, "d": 100, "seed": 3, "tol": 1e-5, "damping": 0.3}
    first, sample = fitted(PARITY, **options)
    assert first.converged_
    expected = first.predict(sample.X)
    for change in ({"random_state": 77}, {"start": "spectral"}):
        other, _ = fitted(PARITY, **options, **change)
        assert other.converged_
        np.testing.assert_allclose(other.predict(sample.X), expected, atol=2e-3)


def test_order_of_samples_and_size_of_blocks_do_not_matter():
    sample = PARITY.sample(n=800, d=100, seed=3)
    order = np.random.default_rng(0).permutation(800)
    expected = BayesAMP(PARITY, random_state=0).fit(sample.X, sample.y)
    shuffled = BayesAMP(PARITY, random_state=0).fit(sample.X[order], sample.y[order])
    blocked = BayesAMP(PARITY, random_state=0, chunk_size=7).fit(sample.X, sample.y)
    np.testing.assert_allclose(shuffled.directions_, expected.directions_, atol=1e-8)
    np.testing.assert_allclose(blocked.directions_, expected.directions_, atol=1e-8)


def test_single_precision_finds_the_same_directions():
    """Two roundings, of X and of the products, and a fixed point that amplifies them."""
    sample = PARITY.sample(n=800, d=100, seed=3)
    double = BayesAMP(PARITY, tol=1e-5, random_state=0).fit(sample.X, sample.y)
    single = BayesAMP(PARITY, tol=1e-5, random_state=0).fit(sample.X.astype("f4"), sample.y)
    assert single.directions_.dtype == np.float32
    tolerance = 100 * np.finfo("f4").eps * np.sqrt(800)
    np.testing.assert_allclose(single.directions_, double.directions_, atol=tolerance)


def test_no_second_array_of_the_size_of_the_inputs_is_made(rng):
    """Would catch: a standardized copy, or one in double precision."""
    X = rng.standard_normal((4000, 400), dtype=np.float32)
    y = X[:, 0] + rng.standard_normal(4000)
    learner = BayesAMP(gd.Target("z1", noise=1.0), chunk_size=100, random_state=0)
    learner.fit(X[:100], y[:100])  # what is loaded and compiled on first use does not count
    tracemalloc.start()
    try:
        learner.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


# ---- state evolution


@pytest.mark.stat
def test_on_average_the_learner_knows_how_well_it_does():
    """All runs count; at twice the threshold of the parity. Overlaps are those of state evolution,
    see the tests of agreement.

    Would catch: the Onsager term left out, or not damped like W (tried: most runs end far off).
    """
    d, replicates = 500, 6
    runs = [fitted(PARITY, alpha=5, d=d, seed=100 + i, restarts=0) for i in range(replicates)]
    overlaps = np.array([aligned(learner, s.W_star).mean() for learner, s in runs])
    claims = np.array([np.trace(learner.overlap_) / 2 for learner, _ in runs])
    assert abs((claims - overlaps).mean()) < 1 / np.sqrt(d)
    assert overlaps.mean() > 0.7


class StartAtZero(np.random.Generator):
    """Normal numbers of a seed, except that the first array is zero."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.started = False

    def standard_normal(self, size=None, *args, **kwargs):
        numbers = super().standard_normal(size, *args, **kwargs)
        numbers, self.started = (numbers if self.started else 0 * numbers), True
        return numbers


def test_second_stage_is_reached_from_the_fixed_point_of_the_first():
    """max(z1, z2) shows z1 + z2 at any alpha, z1 - z2 only above alpha = 1.262.

    Exactly at 0 the difference never grows by itself: a run that does not test its fixed point
    ends with one direction (tried: overlaps 0.91 and 0).
    """
    target = gd.Target("max(z1, z2)", noise=0.1)
    high, sample = fitted(target, alpha=5, d=200, seed=0, random_state=StartAtZero(0))
    assert aligned(high, sample.W_star).min() > 0.8
    assert "All 2 directions were learned" in high.diagnosis_
    low, sample = fitted(target, alpha=0.6, d=200, seed=0)
    overlaps = aligned(low, sample.W_star)
    assert overlaps[0] > 0.2
    assert overlaps[1] < 2 / np.sqrt(200)
    assert "1 of 2 directions were learned" in low.diagnosis_
    form = re.search(r"([-.\d]+) z1 ([-+.\d]+) z2 was not learned", low.diagnosis_)
    np.testing.assert_allclose(
        [float(c) for c in form.groups()], np.array([1, -1]) / np.sqrt(2), atol=0.1
    )


# ---- what is reported


def test_runs_that_do_not_converge_are_reported_and_tried_again():
    sample = PARITY.sample(n=400, d=100, seed=0)
    learner = BayesAMP(PARITY, max_iter=5, restarts=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="did not converge: it stopped after 5 steps"):
        learner.fit(sample.X, sample.y)
    assert (learner.status_, learner.converged_, learner.n_iter_) == ("not converged", False, 5)
    np.testing.assert_array_equal(learner.history_["run"], np.repeat([0, 1, 2], 5))
    last = learner.history_["log_evidence"].values.reshape(3, 5)[:, -1]
    assert len(set(last)) == 3  # each from another start
    kept = learner.history_["self_overlap"].values.reshape(3, 5, 2)[last.argmax(), -1]
    np.testing.assert_allclose(np.linalg.eigvalsh(learner.overlap_), kept)


def test_labels_without_signal_are_diagnosed(rng):
    X = rng.standard_normal((600, 60))
    y = np.sqrt(2.0) * rng.standard_normal(600)
    learner = BayesAMP(gd.Target("z1", noise=1.0), random_state=0).fit(X, y)
    assert "no sign of learning" in learner.diagnosis_
    told = BayesAMP(gd.Target("z1", noise=1.0), random_state=0).fit(X, X[:, 0] + y / np.sqrt(2))
    assert told.gain_.value > told.gain_.error
    assert "The direction was learned" in told.diagnosis_


def test_correlated_features_may_diverge_and_this_is_seen(rng):
    """All features nearly equal: far outside the theory, the iteration grows without bound."""
    X = rng.standard_normal((400, 1)) + 0.1 * rng.standard_normal((400, 50))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X[:, 0] + rng.standard_normal(400)
    learner = BayesAMP(gd.Target("z1", noise=1.0), damping=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="diverged after"):
        learner.fit(X, y)
    assert learner.status_ == "diverged"
    assert np.isfinite(learner.predict(X)).all()


def test_impossible_labels_at_their_cavity_mean_are_counted(monkeypatch):
    sample = PARITY.sample(n=800, d=100, seed=3)

    def lossy(target):
        channel = SampleChannel(target)
        whole = channel.posterior

        def posterior(y, omega, V):
            out = whole(y, omega, V)
            out.log_z[:16], out.g[:16], out.dg[:16] = -np.inf, 0.0, 0.0
            return out

        channel.posterior = posterior
        return channel

    monkeypatch.setattr(bayes_amp, "sample_channel", lossy)
    with pytest.warns(UserWarning, match="16 of 800 labels are impossible"):
        learner = BayesAMP(PARITY, random_state=0).fit(sample.X, sample.y)
    assert learner.n_skipped_ == 16
    assert aligned(learner, sample.W_star).min() > 0.8


# ---- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"channel": "sign(z1*z2)"}, r"channel must be a Target, got 'sign\(z1\*z2\)'"),
        ({"start": "informed"}, "start must be 'uninformed' or 'spectral'"),
        ({"damping": 1.0}, r"damping must be a number in \[0, 1\)"),
        ({"tol": 0.0}, "tol must be a number > 0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"restarts": -1}, "restarts must be an integer >= 0"),
        ({"chunk_size": 2.5}, "chunk_size must be an integer >= 1"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    sample = PARITY.sample(n=20, d=5, seed=0)
    with pytest.raises(gd.BadData, match=message):
        BayesAMP(**({"channel": PARITY} | options)).fit(sample.X, sample.y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 5)), np.empty(0), "0 sample"),
        (np.full((3, 5), np.nan), np.ones(3), "NaN"),
        (np.eye(3)[:, :1], np.ones(3), "X has 1 columns that vary, the channel"),
        (np.eye(3), np.full(3, 0.5), "0.5"),
    ],
)
def test_bad_data_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        BayesAMP(PARITY).fit(X, y)

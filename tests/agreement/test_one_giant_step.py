"""One giant step of the learner, then a ridge readout: errors, spike and spectrum of the theory."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.learners import GiantStep

from .one_batch import agrees

BARE = {"bias_scale": 0.0, "symmetric": False, "standardize": False, "shuffle": False}
RUNS = 16

# ---- errors

SETTINGS = {
    "large batch": ("tanh(z)", 0.0, {"batch_ratio": 20.0, "step_size": 3.0, "readout_ratio": 1.6,
                                     "width_ratio": 1.0, "ridge": 0.1, "readout": "ones"}),
    "noise": ("tanh(z)", 0.1, {"batch_ratio": 4.0, "step_size": 2.0, "readout_ratio": 2.0,
                               "width_ratio": 1.5, "ridge": 0.5, "readout": "ones"}),
    "relu": ("relu(z)", 0.0, {"batch_ratio": 10.0, "step_size": 3.0, "readout_ratio": 2.0,
                              "width_ratio": 1.0, "ridge": 0.1, "readout": "ones"}),
    "two values": ("tanh(z)", 0.0, {"batch_ratio": 8.0, "step_size": 2.0, "readout_ratio": 1.5,
                                    "width_ratio": 1.0, "ridge": 0.05,
                                    "readout": {0.5: 0.5, 2.0: 0.5}}),
}  # fmt: skip


def drawn_readout(readout, width):
    """Values of a second layer with the given shares."""
    if readout == "ones":
        return np.ones(width)
    return np.concatenate(
        [np.full(round(share * width), value) for value, share in readout.items()]
    )


def errors_of_the_learner(d, activation, noise, setting, rng, n_test=4000):
    """Test error without label noise and training error of sin(z) after one step."""
    width, batch = round(setting["width_ratio"] * d), round(setting["batch_ratio"] * d)
    n = batch + round(setting["readout_ratio"] * d)
    X = rng.standard_normal((n, d), dtype=np.float32)
    y = np.sin(X[:, 0].astype(float)) + math.sqrt(noise) * rng.standard_normal(n)
    learner = GiantStep(
        width, activation=activation, step_size=setting["step_size"], batch_size=batch,
        readout=drawn_readout(setting["readout"], width), ridge=setting["ridge"],
        fit_intercept=False, random_state=rng, **BARE,
    ).fit(X, y)  # fmt: skip
    X_new = rng.standard_normal((n_test, d), dtype=np.float32)
    miss = learner.predict(X_new) - np.sin(X_new[:, 0])
    return np.mean(miss.astype(float) ** 2), learner.train_mse_


def check_errors(name, d, runs=RUNS):
    activation, noise, setting = SETTINGS[name]
    theory = gd.predict(
        gd.Target("sin(z)", noise=noise), "one_step", activation=activation,
        width=round(setting["width_ratio"] * d), **setting,
    )  # fmt: skip
    rng = np.random.default_rng([d, *name.encode()])
    found = [errors_of_the_learner(d, activation, noise, setting, rng) for _ in range(runs)]
    test, train = np.array(found).T
    for numbers, value in ((test, theory.excess_mse.item()), (train, theory.train_mse.item())):
        error = numbers.std(ddof=1) / math.sqrt(runs)
        print(f"{name} d={d}: {numbers.mean():.5f} ± {error:.5f}, theory {value:.5f}")
    # Relative corrections of order 1/d, with a factor that grows to 5 next to strong spikes. The
    # known bias is not taken off: it was read off simulations like these.
    assert agrees(test, theory.excess_mse.item(), 5 / d * theory.excess_mse.item())
    assert agrees(train, theory.train_mse.item(), 5 / d * theory.train_mse.item())


@pytest.mark.stat
@pytest.mark.parametrize("name", ["noise", "two values"])
def test_errors_of_the_learner_are_those_of_the_theory(name):
    """Would catch: a readout on the samples of the step (first), a step of twice the size."""
    check_errors(name, d=300)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_errors_of_the_learner_at_large_dimension(name):
    check_errors(name, d=1000)


# ---- spike


def leading_singular_vectors(d, step, rng, *, batch_ratio, width_ratio):
    """Largest singular value; squared cosines with the target's direction and the second layer."""
    from scipy.sparse.linalg import svds

    n, width = round(batch_ratio * d), round(width_ratio * d)
    X = rng.standard_normal((n + 2, d), dtype=np.float32)
    z = X[:, 0].astype(float)
    y = z + (z * z - 1) / 2 + 0.5 * rng.standard_normal(n + 2)
    learner = GiantStep(
        width, activation="tanh(z)", step_size=step / math.sqrt(width), batch_size=n,
        readout="gaussian", init="gaussian", ridge=1.0, random_state=rng, **BARE,
    ).fit(X, y)  # fmt: skip
    left, values, right = svds(learner.weights_.astype(float), k=1, random_state=0)
    a = learner.initial_readout_
    neurons = (left[:, 0] @ a) ** 2 / (a @ a)
    return values[0], right[0, 0] ** 2, neurons


@pytest.mark.stat
@pytest.mark.parametrize("step", [0.8, 2.0, 3.0])
def test_the_spike_leaves_the_bulk_at_the_threshold(step):
    """eta = 1.33 is the threshold. Would catch: gamma left out of the cosine, psi_2 inverted."""
    d, ratios = 600, {"batch_ratio": 2.0, "width_ratio": 1.5}
    theory = gd.predict(
        gd.Target("z + (z**2 - 1)/2", noise=0.25), "gradient_spike", step_size=step,
        activation="tanh(z)", readout="gaussian", **ratios, scaling="small",
    )  # fmt: skip
    rng = np.random.default_rng([7, round(10 * step)])
    runs = np.array([leading_singular_vectors(d, step, rng, **ratios) for _ in range(RUNS)])
    names = ("singular_value", "cosine2", "cosine2_neurons")
    expected = np.array([theory[name].item() for name in names])
    print(step, runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(RUNS), expected)
    # Below the threshold the law of Tracy and Widom, of width d^(-2/3) at the edge, and vectors
    # that feel the spike there; above it corrections of order 1/d.
    below = d ** (-2 / 3)
    allowed = np.array([2 * below, below, below]) if step < 1.33 else np.full(3, 4 / d)
    assert agrees(runs, expected, allowed)
    assert step < 1.33 or (runs[:, 0] > theory.bulk_edge.item()).all()


# ---- spectrum of the features


def feature_eigenvalues(W, rng, n):
    """Eigenvalues of the covariance of tanh features on fresh samples."""
    features = np.tanh(rng.standard_normal((n, W.shape[1]), dtype=np.float32) @ W.T)
    return np.linalg.eigvalsh((features.T @ features).astype(float) / n)


def largest_gap(eigenvalues, positions, share_below):
    """Kolmogorov-Smirnov distance of eigenvalues and a cumulative share."""
    shares = np.interp(eigenvalues, positions, share_below)
    steps = np.arange(len(eigenvalues) + 1) / len(eigenvalues)
    return max(np.abs(steps[1:] - shares).max(), np.abs(steps[:-1] - shares).max())


@pytest.mark.stat
@pytest.mark.parametrize("batch_ratio", [2.0, 8.0])
def test_spectrum_of_the_features_is_that_of_the_theory(batch_ratio):
    """Eigenvalues repel: one draw is as smooth as the theory, not rough by 1/sqrt(d) = 0.03.

    Would catch: the bulk before the step taken for that after it.
    """
    d, readout_ratio, step = 1000, 2.0, 3.0
    rng = np.random.default_rng([11, round(batch_ratio)])
    theory = gd.predict(
        "sin(z)", "feature_spectrum", readout_ratio=readout_ratio, batch_ratio=batch_ratio,
        step_size=step,
        eigenvalue=np.linspace(0.0, 1.7, 400)[1:] ** 2, activation="tanh(z)", width=d,
    ).isel(readout_ratio=0)  # fmt: skip
    batch = round(batch_ratio * d)
    X = rng.standard_normal((batch + 2, d), dtype=np.float32)
    start = rng.standard_normal((d, d))
    start /= np.linalg.norm(start, axis=1)[:, None]
    learner = GiantStep(
        d, activation="tanh(z)", step_size=step, batch_size=batch, readout="ones", init=start,
        ridge=1.0, random_state=0, **BARE,
    ).fit(X, np.sin(X[:, 0].astype(float)))  # fmt: skip
    spectra = [
        feature_eigenvalues(W, rng, round(readout_ratio * d))
        for W in (start.astype(np.float32), learner.weights_)
    ]
    share = theory.share_below.values
    for before_or_after in (0, 1):
        gap = largest_gap(
            spectra[before_or_after], theory.eigenvalue.values, share[before_or_after]
        )
        print(f"step {before_or_after}, batch ratio {batch_ratio}: {gap:.4f}")
        assert gap < 0.015
    assert largest_gap(spectra[1], theory.eigenvalue.values, share[0]) > 0.05
    # The large outlier fluctuates as the mean of tanh^2 over samples and batch does.
    expected = theory.largest_eigenvalue.sel(step=1).item()
    assert spectra[1][-1] == pytest.approx(expected, rel=0.06)
    assert int((spectra[1] > 1.1 * theory.edge.sel(step=1).item()).sum()) == 1

"""Several giant steps of the learner, each on a fresh batch, against their exact limit."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.learners import GiantStep

from .one_batch import agrees

RUNS = 16
BARE = {"standardize": False, "shuffle": False, "ridge": 1.0, "keep_weights": True}


def changes(target, rng, *, d, n, width, steps, **student):
    """Changes (steps, width, d) of the weights in every step; the directions are the first axes."""
    start = rng.standard_normal((width // 2, d))
    start /= np.linalg.norm(start, axis=1)[:, None]
    X = rng.standard_normal((steps * n + 2, d), dtype=np.float32)
    y = target(X[:, : target.r].astype(float))
    y += math.sqrt(target.noise) * rng.standard_normal(len(y))
    learner = GiantStep(
        width, steps=steps, batch_size=n, init=start, random_state=rng, **BARE, **student
    ).fit(X, y)
    weights = np.concatenate([np.vstack([start, start])[None], learner.weights_history_])
    return np.diff(weights, axis=0), learner


def cosines(changed, r):
    """Cosines (steps, width, r) of the changes with the target's directions."""
    return changed[..., :r] / np.linalg.norm(changed, axis=-1)[..., None]


# ---- orientation of the gradients

TARGETS = {
    "one curved direction": ("2*z1 + He2(z1) + z2", 0.5, 4, 1.0, "relu(z)"),
    "coupled directions": ("z1 + z1*z2", 0.0, 8, 1.5, "relu(z)"),
    "tanh with bias": ("tanh(z1) + He2(z1)*z2/2", 0.0, 4, 2.0, "tanh(z + 0.5)"),
}


def check_orientations(name, *, d, width, runs=RUNS):
    text, noise, batch_ratio, step, activation = TARGETS[name]
    target = gd.Target(text, noise=noise)
    theory = gd.predict(
        target,
        "giant_steps",
        batch_ratio=batch_ratio,
        step_size=step,
        activation=activation,
        steps=2,
        readout="signs",
        bias_scale=0.0,
    ).isel(batch_ratio=0)
    rng = np.random.default_rng([d, *name.encode()])
    found = []
    for _ in range(runs):
        changed, learner = changes(
            target, rng, d=d, n=batch_ratio * d, width=width, steps=3, activation=activation,
            step_size=step, readout="signs", bias_scale=0.0,
        )  # fmt: skip
        each = cosines(changed, 2)
        found.append(
            [each[:, learner.initial_readout_ == a].mean(axis=1) for a in theory.readout.values]
        )
    found = np.array(found)  # runs, classes, steps, directions
    expected = theory.gradient_cosine.transpose("neuron", "step", "direction").values
    error = found.std(axis=0, ddof=1) / math.sqrt(runs)
    for c in range(2):
        for t in range(3):
            print(f"{name} a={theory.readout.values[c]:+.0f} t={t + 1}:", found.mean(axis=0)[c, t],
                  "±", error[c, t], "theory", expected[c, t])  # fmt: skip
    # The output of the network is a sum over neurons that an infinite width makes a mean.
    assert agrees(found, expected, 1 / width)


@pytest.mark.stat
def test_gradients_turn_as_the_theory_says():
    """Would catch: a step of 1.5 times the size, by 30 standard errors in the second gradient."""
    check_orientations("coupled directions", d=384, width=96, runs=32)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_gradients_of_three_steps_at_large_dimension(name):
    check_orientations(name, d=1024, width=256)


# ---- one direction or two

SUM, SPAN = "z1 + z1*(z2 + z3)/sqrt(2)", "z1 + He2(z1)*z2/sqrt(2) + z1*z3"


def spread(each, shares):
    """Singular values of the cosines (neurons, directions 2 and 3) of the second gradients."""
    return np.linalg.svd(np.sqrt(shares)[:, None] * each[:, 1:], compute_uv=False)


def check_span(*, d, width, runs=RUNS):
    n, step, means = 32 * d, 2.5, {}
    for text in (SUM, SPAN):
        target = gd.Target(text)
        theory = gd.predict(
            target,
            "giant_steps",
            batch_ratio=32,
            step_size=step,
            steps=1,
            bias_scale=1.0,
            readout="signs",
        ).isel(batch_ratio=0, step=1)
        expected = spread(theory.gradient_cosine.values, theory.share.values)
        rng = np.random.default_rng([d, *text.encode()])
        found = []
        for _ in range(runs):
            changed, _ = changes(
                target, rng, d=d, n=n, width=width, steps=2, step_size=step, readout="signs",
                bias_scale=1.0,
            )  # fmt: skip
            found.append(spread(cosines(changed, 3)[1], np.full(width, 1 / width)))
        found = np.array(found)
        error = found.std(axis=0, ddof=1) / math.sqrt(runs)
        print(f"{text} d={d}: {found.mean(axis=0)} ± {error}, theory {expected}")
        # Start and noise of the batches have cosines 1/sqrt(d) with any direction at most, which
        # add to singular values in the square.
        floor = np.hypot(expected, 1 / math.sqrt(d)) - expected
        assert agrees(found, expected, floor + 1 / width)
        means[text] = found.mean(axis=0)
    assert means[SPAN][1] > 3 * means[SUM][1]


@pytest.mark.stat
def test_two_couplings_of_one_kind_open_one_direction_and_of_two_kinds_both():
    """Both targets hold z1, z2 and z3; the second step sees w2 + w3 in one, w2 and w3 in the other.

    Would catch: biases left out, with which the even coupling is missed.
    """
    check_span(d=192, width=96)


@pytest.mark.slow
def test_one_direction_or_two_at_large_dimension():
    check_span(d=512, width=256)


# ---- preprocessing

POLYNOMIAL = "(z1 + He2(z1)/2 + He4(z1)/24 + z2 + He2(z2)/2 + He4(z2)/24)/2"
PLATEAU = 9 / 64 + 1 / 384  # of a learner that knows z1 + z2 only
READOUT = {
    "readout": "gaussian", "bias_scale": 0.0, "rescale": "rms", "redraw_bias": True,
    "linear_part": True, "standardize": False, "shuffle": False,
}  # fmt: skip


def errors_with_and_without(rng, *, d, n, width):
    """Test errors with preprocessing and a step to match, and without."""
    target = gd.Target(POLYNOMIAL)
    X = rng.standard_normal((2 * n, d), dtype=np.float32)
    X_new = rng.standard_normal((20_000, d), dtype=np.float32)
    y, y_new = (target(rows[:, :2].astype(float)) for rows in (X, X_new))
    found = []
    for preprocess, step in ((True, 4 * math.sqrt(n / d)), (False, 4.0)):
        learner = GiantStep(
            width, step_size=step, batch_size=n, preprocess=preprocess, random_state=rng, **READOUT
        ).fit(X, y)
        found.append(np.mean((learner.predict(X_new) - y_new) ** 2))
    return found


@pytest.mark.stat
def test_without_its_linear_part_the_target_is_learned_beyond_the_plateau():
    """Would catch: labels from which the mean alone is taken off."""
    rng = np.random.default_rng(3)
    runs = np.array([errors_with_and_without(rng, d=64, n=64**2, width=256) for _ in range(12)])
    print(runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(12))
    assert agrees(runs[:, 1], PLATEAU, 0.3 * PLATEAU)
    assert not agrees(runs[:, 0] - runs[:, 1], 0.0)
    assert runs[:, 0].mean() < 0.75 * PLATEAU


@pytest.mark.slow
def test_preprocessing_at_the_size_of_the_reference():
    """Reference, three seeds: 0.066(2) with and 0.147(11) without preprocessing."""
    rng = np.random.default_rng(4)
    runs = np.array([errors_with_and_without(rng, d=256, n=65536, width=512) for _ in range(3)])
    print(runs)
    with_, without = runs.mean(axis=0)
    assert with_ == pytest.approx(0.066, abs=0.01)
    assert without == pytest.approx(0.147, abs=0.03)

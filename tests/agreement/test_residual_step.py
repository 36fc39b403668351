"""Features from one gradient of the residual, against a kernel on one large common test set."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.learners import DotKernelRidge, ResidualStep

from .one_batch import agrees

D, RUNS = 64, 12
FIRST = "(z1*z2 + He3(z1)/sqrt(6) + He4(z2)/sqrt(24))/sqrt(3)"  # variance 1
OTHER = "He2(z1)/sqrt(2) + z1*He2(z2)/2 + z1*z2/sqrt(2)"  # variance 2


def draw(text, n, rng, d=D):
    """Inputs and labels; the directions are the first axes."""
    X = rng.standard_normal((n, d), dtype=np.float32)
    return X, gd.Target(text)(X[:, :2].astype(float))


def error(learner, test):
    X, y = test
    return np.mean((learner.predict(X) - y) ** 2)


def show(**columns):
    for name, runs in columns.items():
        print(f"{name}: {np.mean(runs):.4f} ± {np.std(runs, ddof=1) / math.sqrt(len(runs)):.4f}")


@pytest.mark.slow
def test_it_beats_the_kernel_of_the_same_network_on_the_same_samples():
    """The arc-cosine kernel with n of order d^2 learns the quadratic part at most, of variance 1/3.

    Would catch: features of random weights, with which the network is the kernel.
    """
    rng = np.random.default_rng(0)
    test = draw(FIRST, 20_000, rng)
    moved, kernel = [], []
    for i in range(RUNS):
        X, y = draw(FIRST, 4096, rng)
        moved.append(error(ResidualStep(512, random_state=i).fit(X, y), test))
        kernel.append(error(DotKernelRidge(activation="relu(z)", random_state=i).fit(X, y), test))
    show(moved=moved, kernel=kernel, ratio=np.divide(moved, kernel))
    assert not agrees(np.subtract(kernel, moved), 0.0)
    assert np.mean(moved) < np.mean(kernel)
    assert np.mean(kernel) > 0.6 * np.var(test[1])


@pytest.mark.stat
def test_more_samples_than_the_square_of_d_find_both_directions():
    """n = 4 d^2 for the step; the error falls below what any quadratic function reaches, 2/3."""
    rng = np.random.default_rng(1)
    test = draw(FIRST, 20_000, rng)
    X, y = draw(FIRST, 2 * 16384, rng)
    learner = ResidualStep(512, batch_size=16384, random_state=0).fit(X, y)
    found = (learner.directions_[:, :2] ** 2).sum(axis=0)
    print(error(learner, test), np.var(test[1]), found)
    assert (found > 0.8).all()
    assert error(learner, test) < 0.45 * np.var(test[1])


@pytest.mark.stat
def test_features_of_one_target_serve_another_with_few_samples():
    """Features from 8 d^2 samples of one target, 400 samples of another of the same directions.

    Would catch: features that are fitted anew, which learn nothing from 400 samples.
    """
    rng = np.random.default_rng(2)
    test = draw(OTHER, 20_000, rng)
    learner = ResidualStep(256, random_state=0).fit(*draw(FIRST, 8 * D**2, rng))
    transferred, kernel = [], []
    for i in range(RUNS):
        few = draw(OTHER, 400, rng)
        transferred.append(error(learner.refit_readout(*few), test))
        kernel.append(error(DotKernelRidge(activation="relu(z)", random_state=i).fit(*few), test))
    show(transferred=transferred, kernel=kernel)
    assert not agrees(np.subtract(kernel, transferred), 0.0)
    assert np.mean(transferred) < 0.4 * np.mean(kernel)
    assert np.mean(kernel) > 0.8 * np.var(test[1])


@pytest.mark.stat
def test_what_transfer_needs_does_not_grow_with_the_dimension():
    """100 samples of the other target in d = 32 and 96, which alone tell nothing about a direction.

    Would catch: a linear part of the new labels, d coefficients, estimated and taken off first:
    its error d/n of the variance is 0.32 and 0.96.
    """
    means = {}
    for d in (32, 96):
        rng = np.random.default_rng([3, d])
        test = draw(OTHER, 10_000, rng, d)
        learner = ResidualStep(128, random_state=0).fit(*draw(FIRST, 8 * d**2, rng, d))
        runs = [error(learner.refit_readout(*draw(OTHER, 100, rng, d)), test) for _ in range(RUNS)]
        show(**{f"d = {d}": runs})
        means[d] = np.mean(runs) / np.var(test[1])
    assert means[96] < 0.75
    assert means[96] - means[32] < 0.2

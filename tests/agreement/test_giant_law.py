r"""Giant steps on samples have the law of the engine of mini-batch SGD.

The engine's network is :math:`\sum_j a_j\sigma_j`, the learner's its mean: a second layer a and the
step s of the learner are a/p and p s of the engine. One p-value for each configuration, Bonferroni
over the entries of M and Q; it must not be below 1e-4 twice.
"""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.learners import GiantStep

from .two_laws import TARGETS, compare, entries

LEAST = 1e-4
CONFIGURATIONS = {
    "one step": {"d": 30, "width": 4, "r": 1, "n": 25, "steps": 1, "noise": 0.25, "step": 2.0,
                 "activation": "relu(z)", "a": [1.0, -1.0, 0.5, 2.0]},
    "three steps": {"d": 30, "width": 3, "r": 3, "n": 40, "steps": 3, "noise": 0.0, "step": 1.5,
                    "activation": "tanh(z + 0.2)", "a": [1.0, -2.0, 1.5]},
    "more samples than dimensions": {"d": 12, "width": 4, "r": 2, "n": 100, "steps": 2,
                                     "noise": 0.25, "step": 3.0, "activation": "relu(z)",
                                     "a": [1.0, 1.0, -1.0, -1.0]},
}  # fmt: skip


def by_engine(c, *, replicates, seed, factor=1.0):
    """Entries (replicates, k) by the engine, of a wrong step size if `factor` is not 1."""
    a = np.array(c["a"])
    run = gd.dynamics.sgd(
        gd.Target(TARGETS[c["r"]][0], noise=c["noise"]), d=c["d"], width=c["width"],
        activation=c["activation"], steps=c["steps"], batch_size=c["n"],
        step_size=factor * c["step"] * len(a), readout=a / len(a), init="random",
        record=[c["steps"]], replicates=replicates, seed=seed, progress=False,
    ).isel(step=-1)  # fmt: skip
    return entries(run.overlap.values, run.norm.values, None, None)


def by_learner(c, *, replicates, seed):
    """Entries (replicates, k) by the learner on samples drawn here."""
    rng = np.random.default_rng([seed, 21])
    d, r, p, n = c["d"], c["r"], c["width"], c["n"] * c["steps"] + 2
    learner = GiantStep(
        p, steps=c["steps"], activation=c["activation"], step_size=c["step"], batch_size=c["n"],
        readout=c["a"], symmetric=False, bias_scale=0.0, ridge=1.0, standardize=False,
        shuffle=False, random_state=rng,
    )  # fmt: skip
    M, Q = np.empty((replicates, p, r)), np.empty((replicates, p, p))
    for i in range(replicates):
        X = rng.standard_normal((n, d))
        y = TARGETS[r][1](X[:, :r]) + math.sqrt(c["noise"]) * rng.standard_normal(n)
        W = learner.fit(X, y).weights_
        M[i], Q[i] = W[:, :r], W @ W.T
    return entries(M, Q, None, None)


def check_law(name, *, replicates):
    c = CONFIGURATIONS[name]
    for seed in (0, 1):
        how = {"replicates": replicates, "seed": seed}
        direct = by_learner(c, **how)
        p, _ = compare(by_engine(c, **how), direct)
        wrong, _ = compare(by_engine(c, factor=1.1, **how), direct)
        print(f"{name}: p = {p:.3g}; with a step of 1.1 times the size {wrong:.2g}")
        assert wrong < LEAST
        if p >= LEAST:
            return
    pytest.fail(f"the laws differ: p = {p:.2g}")


@pytest.mark.stat
def test_giant_steps_have_the_law_of_the_engine():
    """Would catch: a step of 1.1 times the size, tried beside the right one."""
    check_law("three steps", replicates=1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_giant_steps_have_the_law_of_the_engine_in_all_configurations(name):
    check_law(name, replicates=2000)

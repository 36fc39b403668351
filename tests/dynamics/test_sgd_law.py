"""The chain against SGD in d dimensions, written here in a few lines: equality in law."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import gradone as gd
from gradone.dynamics._start import semidefinite_factor
from gradone.targets.training import read_training

REPLICATES = 2500
CHANCE = 1e-6
TARGET = gd.Target("He2(z1) + z1*z2", noise=0.1)
ACTIVATION = "tanh(z + 0.3)"
MIXED = {
    "M": [[0.3, 0.1], [-0.2, 0.2], [0.1, -0.4]],
    "Q": [[1.0, 0.2, 0.1], [0.2, 0.8, 0.0], [0.1, 0.0, 1.1]],
}
# Two neurons on the first direction, the third a copy of no one but in their plane.
DEGENERATE = {
    "M": [[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]],
    "Q": [[1.0, 1.0, 0.6], [1.0, 1.0, 0.6], [0.6, 0.6, 1.0]],
}


def network(student, d, steps, start, rng):
    """SGD of REPLICATES networks in d dimensions: M, Q, a, b."""
    r, R, b = TARGET.r, REPLICATES, student.batch_size
    M, Q = np.array(start["M"]), np.array(start["Q"])
    W = np.zeros((R, student.width, d))
    W[:, :, :r] = M
    W[:, :, r : r + student.width] = semidefinite_factor(Q - M @ M.T, scale=np.diag(Q))
    a, bias = np.tile(student.a, (R, 1)), np.tile(student.b, (R, 1))
    s, slope, eta = student.sigma, student.sigma.derivative(), student.eta
    for _ in range(steps):
        X = rng.standard_normal((R, b, d))
        y = TARGET(X[..., :r]) + np.sqrt(TARGET.noise) * rng.standard_normal((R, b))

        def gradients(V, X=X, y=y, a=a, bias=bias):
            field = X @ V.transpose(0, 2, 1) + bias[:, None]
            e = y - (a[:, None] * s(field)).sum(-1) if student.loss == "square" else y
            push = a[:, None] * e[..., None] * slope(field)
            means = (e[..., None] * s(field)).mean(1), push.mean(1)
            return push.transpose(0, 2, 1) @ X / b, *means

        G, to_a, to_b = gradients(W)
        if student.rule in ("extragradient", "sam"):
            G, to_a, to_b = gradients(W + student.inner_eta * G)
        elif student.rule == "sam_normalized":
            norm = np.sqrt((G**2).sum((1, 2), keepdims=True))
            G, to_a, to_b = gradients(W - student.radius * G / norm)
        S = eta * G
        if student.rule in ("k_steps", "look_ahead"):
            V = W
            for _ in range(student.inner_steps):
                V = V + student.inner_eta * gradients(V)[0]
            S = (student.interpolation or 1.0) * (V - W)
        if student.geometry == "spherical":
            S = S - W * (S * W).sum(-1, keepdims=True) / (W * W).sum(-1, keepdims=True)
        W = (1 - eta * student.weight_decay) * W + S
        if student.geometry != "euclidean":
            W = W / np.linalg.norm(W, axis=-1, keepdims=True)
        a = a + (student.train_readout or 0.0) * to_a
        bias = bias + (student.train_bias or 0.0) * to_b
    return W[:, :, :r], W @ W.transpose(0, 2, 1), a, bias


def smallest_p(one, two):
    """Smallest p-value over the entries that are not constant, times their number."""
    values = []
    for x, y in zip(one, two, strict=True):
        for i in np.ndindex(x.shape[1:]):
            left, right = x[(slice(None), *i)], y[(slice(None), *i)]
            if np.ptp(right) > 1e-9:
                values.append(ks_2samp(left, right).pvalue)
    return min(values) * len(values)


def chain(d, steps, start, arguments):
    run = gd.dynamics.sgd(
        TARGET, d=d, steps=steps, init=start, record=[steps], replicates=REPLICATES, seed=1,
        width=3, activation=ACTIVATION, **{"train_readout": 1e-300, "train_bias": 1e-300}
        | arguments,
    )  # fmt: skip
    return [run[name].values[:, 0] for name in ("overlap", "norm", "readout", "bias")]


CASES = {
    "plain, trained": (30, MIXED, {"train_readout": 0.02, "train_bias": 0.03, "weight_decay": 0.5}),
    "degenerate start": (12, DEGENERATE, {"rule": "sam_normalized", "radius": 0.3}),
    "no freedom left": (5, MIXED, {"rule": "k_steps", "inner_steps": 3}),
    "batch 2 < width": (30, MIXED, {"batch_size": 2, "geometry": "spherical"}),
    "batch 60 > d": (9, MIXED, {"batch_size": 60, "step_size": 0.2}),
    "repeated, batch 2": (
        30,
        MIXED,
        {"batch_size": 2, "rule": "extragradient", "inner_step_size": 0.05, "train_bias": 0.03,
         "train_readout": 0.02, "geometry": "spherical"},
    ),
    "repeated, batch 40 > d": (
        9,
        MIXED,
        {"batch_size": 40, "rule": "k_steps", "inner_steps": 3, "step_size": 0.2},
    ),
    "repeated, batch 8": (
        30,
        MIXED,
        {"batch_size": 8, "rule": "sam_normalized", "radius": 0.3, "geometry": "projected",
         "loss": "correlation"},
    ),
}  # fmt: skip


# One case for each kind of chain is part of the daily tests.
DAILY = ("plain, trained", "batch 60 > d", "repeated, batch 2")


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.stat if c in DAILY else pytest.mark.slow) for c in CASES],
)
def test_chain_has_the_law_of_the_network(case, rng):
    """Would catch: a residual with other degrees of freedom, a Bartlett factor transposed."""
    d, start, arguments = CASES[case]
    arguments = {"step_size": 0.03} | arguments
    steps = 30 if arguments.get("batch_size", 1) == 1 else 6
    student = read_training(width=3, activation=ACTIVATION, **arguments)
    direct = network(student, d, steps, start, rng)
    assert smallest_p(chain(d, steps, start, arguments), direct) > CHANCE


@pytest.mark.stat
def test_the_comparison_sees_a_wrong_dimension(rng):
    """Power: d wrong by four of thirty, in the plain case, is rejected."""
    arguments = {"step_size": 0.1}
    student = read_training(width=3, activation=ACTIVATION, **arguments)
    direct = network(student, 30, 30, MIXED, rng)
    assert smallest_p(chain(26, 30, MIXED, arguments), direct) < CHANCE


@pytest.mark.stat
def test_law_of_the_random_start(rng):
    """Rows uniform on the sphere: entries of M and Q against normalized Gaussian vectors."""
    d, R = 8, 4000
    run = gd.dynamics.sgd(
        TARGET, d=d, width=4, activation=ACTIVATION, steps=1, step_size=0.1, record=[0],
        replicates=R, seed=5,
    )  # fmt: skip
    W = rng.standard_normal((R, 4, d))
    W /= np.linalg.norm(W, axis=-1, keepdims=True)
    direct = W[:, :, :2], W @ W.transpose(0, 2, 1)
    found = run.overlap.values[:, 0], run.norm.values[:, 0]
    np.testing.assert_allclose(np.diagonal(found[1], axis1=1, axis2=2), 1.0, rtol=1e-12)
    assert smallest_p(found, direct) > CHANCE
    # Products of entries see the joint law of rows: M_1 . M_2 and Q_12 together.
    joint = [(Q[:, 0, 1] - (M[:, 0] * M[:, 1]).sum(-1)) for M, Q in (found, direct)]
    assert ks_2samp(*joint).pvalue > CHANCE

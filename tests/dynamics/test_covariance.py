"""Inputs with several eigenvalues: the chain against SGD in d dimensions, and its limits."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

import gradone as gd
from gradone.targets.training import read_training

# As in test_optimizer_law: targets and students are compiled once.
CURVED, ACTIVATION, WIDTH, D = "He3(z1) + z1*z2", "tanh(z + 0.3)", 3, 60
TWO = {"eigenvalues": [2.5, 0.5], "fractions": [0.25, 0.75],
       "signal": [[[0.3, 0.1], [0.1, 0.1]], [[0.5, -0.5], [-0.5, 1.5]]]}  # fmt: skip
SPIKE = {"eigenvalues": [20.0, 0.7], "fractions": [1 / 60, 59 / 60], "signal": [0.0, 1 / 0.7]}
START = [[0.3, 0.1], [-0.2, 0.2], [0.1, -0.4]]
CASES = {
    "two blocks": (TWO, {"step_size": 0.01, "clip_norm": 1e9}),
    "two blocks, momentum, clip, batch 4": (
        TWO, {"step_size": 0.02, "momentum": 0.7, "clip_norm": 5.0, "batch_size": 4}),
    "spike, muon, batch 4": (SPIKE, {"step_size": 0.05, "optimizer": "muon", "batch_size": 4}),
    "two blocks, muon, momentum, batch 4": (
        TWO, {"step_size": 0.05, "optimizer": "muon", "momentum": 0.7, "batch_size": 4}),
    "two blocks, sample clip, batch 20 > 15": (
        TWO, {"step_size": 0.1, "clip_norm": 5.0, "clip": "sample", "batch_size": 20}),
    "spike, sample clip, momentum, batch 4": (
        SPIKE, {"step_size": 0.02, "momentum": 0.5, "clip_norm": 5.0, "clip": "sample",
                "batch_size": 4}),
    "two blocks, sphere": (TWO, {"step_size": 0.02, "geometry": "spherical"}),
    "spike, sphere, batch 4": (
        SPIKE, {"step_size": 0.05, "geometry": "spherical", "batch_size": 4}),
}  # fmt: skip


def chain(covariance, arguments, runs, steps=12):
    run = gd.dynamics.sgd(
        CURVED, d=D, steps=steps, init="random", record=[steps], replicates=runs, seed=3,
        width=WIDTH, activation=ACTIVATION, progress=False, covariance=covariance, **arguments,
    )  # fmt: skip
    return [run[name].values[:, 0] for name in ("overlap", "norm", "block_overlap", "block_norm")]


def network(covariance, arguments, runs, rng, steps=12):
    """The same quantities with weights, inputs and hidden directions in d dimensions."""
    student = read_training(width=WIDTH, activation=ACTIVATION, optimizers=True, **arguments)
    target, slope, a = gd.Target(CURVED), student.sigma.derivative(), np.array(student.a)
    s = np.array(covariance["eigenvalues"])
    sizes = np.round(np.array(covariance["fractions"]) * D).astype(int)
    hidden, first = np.zeros((2, D)), 0
    for size, T in zip(sizes, covariance["signal"], strict=True):
        T = np.asarray(T) * (np.eye(2) if np.ndim(T) == 0 else 1.0)
        if T.any():
            hidden[:, first : first + 2] = np.linalg.cholesky(T)
        first += size
    roots = np.sqrt(np.repeat(s, sizes))
    W = rng.standard_normal((runs, WIDTH, D))
    W /= np.linalg.norm(W, axis=-1, keepdims=True)
    V = np.zeros_like(W)
    for _ in range(steps):
        X = rng.standard_normal((runs, student.batch_size, D)) * roots
        field = X @ W.transpose(0, 2, 1)
        e = target(X @ hidden.T) - student.sigma(field) @ a
        push = a * e[..., None] * slope(field)
        if student.clip == "sample":
            lengths = np.linalg.norm(push, axis=-1) * np.linalg.norm(X, axis=-1)
            push *= np.minimum(1, student.clip_norm / lengths)[..., None]
        G = push.transpose(0, 2, 1) @ X / student.batch_size
        if student.clip_norm is not None and student.clip == "batch":
            G *= np.minimum(1, student.clip_norm / np.sqrt((G**2).sum((1, 2), keepdims=True)))
        V = student.momentum * V + G
        S = V
        if student.optimizer == "muon":
            left, _, right = np.linalg.svd(V, full_matrices=False)
            S = left @ right
        if student.geometry == "spherical":
            S = S - W * (S * W).sum(-1, keepdims=True)
        W = W + student.eta * S
        if student.geometry == "spherical":
            W /= np.linalg.norm(W, axis=-1, keepdims=True)
    ends = np.cumsum(sizes)[:-1]
    pieces, parts = np.split(W, ends, axis=-1), np.split(hidden, ends, axis=-1)
    M = np.stack([w @ h.T for w, h in zip(pieces, parts, strict=True)], axis=1)
    Q = np.stack([w @ w.transpose(0, 2, 1) for w in pieces], axis=1)
    return [np.einsum("b,nbij->nij", s, M), np.einsum("b,nbij->nij", s, Q), M, Q]


def smallest_p(one, two):
    values = []
    for x, y in zip(one, two, strict=True):
        for i in np.ndindex(x.shape[1:]):
            left, right = x[(slice(None), *i)], y[(slice(None), *i)]
            if np.ptp(right) > 1e-9:
                values.append(ks_2samp(left, right).pvalue)
    return min(values) * len(values)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_chain_has_the_law_of_the_network(case, rng):
    covariance, arguments = CASES[case]
    runs = 3000
    direct = network(covariance, arguments, runs, rng)
    assert smallest_p(chain(covariance, arguments, runs), direct) > 1e-4


@pytest.mark.usefixtures("plain_python")
def test_one_block_is_isotropic():
    """The same numbers up to the order in which they are drawn: one step, from a given start."""
    common = {"d": D, "width": WIDTH, "activation": ACTIVATION, "steps": 30, "step_size": 1e-3,
              "record": [30], "replicates": 3, "init": "orthogonal", "progress": False,
              "clip_norm": 1e9}  # fmt: skip
    plain = gd.dynamics.sgd(CURVED, **common)
    block = gd.dynamics.sgd(CURVED, **common, covariance={"eigenvalues": [1.0], "fractions": [1.0]})
    np.testing.assert_allclose(block.overlap, plain.overlap, atol=1e-12)
    np.testing.assert_allclose(block.norm, plain.norm, atol=1e-12)


@pytest.mark.slow
def test_two_blocks_at_large_d():
    """Flow of two blocks: M1, M2, Q1, Q2 at times 1 and 3, from an independent program."""
    d, runs = 2000, 80
    run = gd.dynamics.sgd(
        "z + He2(z)/2", d=d, width=1, activation="relu(z)", steps=3 * d, step_size=0.5 / d,
        record=[d, 3 * d], replicates=runs, init={"M": [[0.2]]}, progress=False,
        covariance={"eigenvalues": [2.5, 0.5], "fractions": [0.25, 0.75], "signal": [0.25, 0.75]},
    )  # fmt: skip
    expected = [[0.1763, 0.2466, 0.2776, 0.7207], [0.2974, 0.4378, 0.4319, 0.7179]]
    for i, values in enumerate(expected):
        found = np.concatenate(
            [run.block_overlap.values[:, i, :, 0, 0], run.block_norm.values[:, i, :, 0, 0]], axis=1
        )
        error = found.std(axis=0, ddof=1) / math.sqrt(runs)
        assert (np.abs(found.mean(axis=0) - values) < 5 * error + 0.001).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"covariance": {"eigenvalues": [1.0]}}, "needs the keys 'eigenvalues' and 'fractions'"),
        ({"covariance": {"eigenvalues": [1, 2], "fractions": [0.51, 0.49]}}, "whole numbers"),
        ({"covariance": {"eigenvalues": [1, 2], "fractions": [0.5, 0.4]}}, "sum to 1"),
        (
            {"covariance": {"eigenvalues": [1, 2], "fractions": [0.5, 0.5], "signal": [1, 1]}},
            "must be the identity",
        ),
        (
            {"covariance": {"eigenvalues": [1, 1], "fractions": [0.5, 0.5]}, "optimizer": "sign",
             "method": "direct"},
            "covariance with 'sign' needs eigenvectors",
        ),
    ],
)  # fmt: skip
def test_refusals(changes, message):
    with pytest.raises(gd.BadData, match=message):
        gd.dynamics.sgd(CURVED, d=D, width=WIDTH, steps=2, step_size=0.01, replicates=1, **changes)

r"""The law of an update by two ways: exact engines on order parameters, and learners on samples.

Both give, for each replicate, the entries of M = W W*^T and of the upper triangle of Q = W W^T
after some updates, and readout and bias where they are trained. The samples of the learners are
drawn here; the hidden directions are the first r axes.
"""

import numpy as np
from scipy.special import kolmogorov

import gradone as gd
from gradone.learners import OnlineSGD, ReusedBatch
from gradone.targets.activation import Activation

TARGETS = {
    1: ("He2(z1)/2 + tanh(z1)", lambda z: (z[:, 0] ** 2 - 1) / 2 + np.tanh(z[:, 0])),
    2: ("sign(z1*z2)", lambda z: np.sign(z[:, 0] * z[:, 1])),
    3: (
        "tanh(z1) + z1*z2/2 + sign(z3)/2",
        lambda z: np.tanh(z[:, 0]) + z[:, 0] * z[:, 1] / 2 + np.sign(z[:, 2]) / 2,
    ),
}
TRAINED = {
    "nothing": {},
    "readout": {"train_readout": 0.05},
    "readout and bias": {"train_readout": 0.05, "train_bias": 0.05},
}


def numbers_of_the_rule(rule, eta):
    return {
        "plain": {},
        "extragradient": {"inner_step_size": eta / 2},
        "sam": {"inner_step_size": eta / 3},
        "sam_normalized": {"radius": 0.3},
        "k_steps": {"inner_steps": 2},
        "look_ahead": {"inner_steps": 3, "interpolation": 0.5, "inner_step_size": eta / 2},
    }[rule]


def student(c):
    """Arguments that the engine and the learner have in common."""
    rows = c.get("n") if c["batch_size"] is None else c["batch_size"]
    eta = c.get("step", 0.5) / (1 + c["d"] / rows)  # in units of the curvature of a batch
    return {
        "width": c["width"], "activation": c["activation"], "rule": c["rule"], "loss": c["loss"],
        "geometry": c["geometry"], "batch_size": c["batch_size"], "step_size": eta,
        "weight_decay": c["decay"] / eta,
    } | TRAINED[c["trained"]] | numbers_of_the_rule(c["rule"], eta)  # fmt: skip


def updates(c):
    if "n" in c:
        return 5
    return 60 if c["batch_size"] == 1 else 8


def given_start(c):
    """Overlaps M and factor L of a start with two equal neurons and one on the first direction."""
    p, r = c["width"], c["r"]
    M, L = np.zeros((p, r)), np.eye(p)
    M[0, 0], L[0, 0] = 0.5, np.sqrt(0.75)
    if p == 4:
        M[1], L[1] = M[0], L[0]
        M[2, 0], L[2] = 1.0, 0.0
    return M, L


def by_engine(c, *, replicates, seed, d=None):
    """Entries (replicates, k) by the engine, of a wrong dimension if `d` is given."""
    M, L = given_start(c)
    given = {"M": M, "Q": M @ M.T + L @ L.T}
    steps = updates(c)
    common = {
        "d": c["d"] if d is None else d, "steps": steps, "record": [steps], "seed": seed,
        "init": given if c["start"] == "given" else c["start"], "replicates": replicates,
        "progress": False,
    }  # fmt: skip
    target = gd.Target(TARGETS[c["r"]][0], noise=c["noise"])
    if "n" in c:
        more = {"n": c["n"], "test_samples": 2}
        run = gd.dynamics.reused_batch(target, **common, **more, **student(c))
    else:
        run = gd.dynamics.sgd(target, **common, **student(c))
    run = run.isel(step=-1)
    return entries(*(run[name].values if name in run else None for name in NAMES))


NAMES = ("overlap", "norm", "readout", "bias")


def by_learner(c, *, replicates, seed):
    """Entries (replicates, k) by a learner on fresh samples, those of a data set for each run."""
    rng = np.random.default_rng([seed, 20])
    d, r, p, how = c["d"], c["r"], c["width"], student(c)
    init = c["start"]
    if init == "given":
        init = np.hstack([*given_start(c), np.zeros((p, d - r - p))])
    common = {"init": init, "standardize": False, "random_state": rng} | how
    common["activation"] = Activation(c["activation"])  # read once instead of in every fit
    if "n" in c:
        learner, n = ReusedBatch(steps=updates(c), **common), c["n"]
    else:
        n = c["batch_size"] * updates(c)
        learner = OnlineSGD(shuffle=False, chunk_size=n, **common)
    M, Q = np.empty((replicates, p, r)), np.empty((replicates, p, p))
    a, b = np.empty((replicates, p)), np.empty((replicates, p))
    for i in range(replicates):
        X = rng.standard_normal((n, d))
        y = TARGETS[r][1](X[:, :r]) + np.sqrt(c["noise"]) * rng.standard_normal(n)
        W = learner.fit(X, y).weights_
        M[i], Q[i], a[i], b[i] = W[:, :r], W @ W.T, learner.readout_, learner.bias_
    return entries(M, Q, a if "train_readout" in how else None, b if "train_bias" in how else None)


def entries(M, Q, a, b):
    """Columns of all quantities that can differ."""
    upper = np.triu_indices(Q.shape[-1])
    parts = [M.reshape(len(M), -1), Q[:, upper[0], upper[1]], a, b]
    return np.hstack([part for part in parts if part is not None])


# ---- comparison


def distances(order, signs):
    """Kolmogorov-Smirnov distance of every column: the largest excess of one sample in order."""
    return np.abs(np.cumsum(signs[order], axis=0)).max(axis=0)


def compare(one, other, *, permutations=0, seed=0):
    """Bonferroni p-value over the columns, and one by permutation of the replicates.

    The columns depend on each other, so that the first is too large on average; the second has the
    uniform law whatever the dependence. Columns that do not vary (norms on the sphere) are left
    out.
    """
    n, m = len(one), len(other)
    pooled = np.vstack([one, other])
    pooled = pooled[:, pooled.std(axis=0) > 1e-9]
    assert pooled.shape[1]
    order = np.argsort(pooled, axis=0)
    signs = np.concatenate([np.full(n, 1 / n), np.full(m, -1 / m)])
    found = distances(order, signs).max()
    bonferroni = min(1.0, pooled.shape[1] * kolmogorov(found * np.sqrt(n * m / (n + m))))
    rng = np.random.default_rng([seed, 30])
    larger = sum(
        distances(order, rng.permutation(signs)).max() > found - 1e-12 for _ in range(permutations)
    )
    return bonferroni, (1 + larger) / (1 + permutations)

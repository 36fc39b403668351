"""The stacked chain against optimizers in d dimensions, written with NumPy: equality in law."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import gradone as gd
from gradone.targets.training import read_training

RUNS = 4000
CHANCE = 1e-4  # the seeds are fixed: what passes once passes always
D = 60
WIDTH = 3
ACTIVATION = "tanh(z + 0.3)"
CURVED = "He3(z1) + z1*z2"
# P(y = 1) = 1/(1 + exp(-g)) with g = 2 He2(z1) + z2, by a latent uniform variable.
SIGNS = "sign(tanh(He2(z1) + z2/2) - erf(xi/sqrt(2)))"
START = {
    "M": [[0.3, 0.1], [-0.2, 0.2], [0.1, -0.4]],
    "Q": [[1.0, 0.2, 0.1], [0.2, 0.8, 0.0], [0.1, 0.0, 1.1]],
}


def residual(student, y, f):
    """Minus the derivative of the loss, typed again."""
    match student.loss:
        case "square":
            return y - f
        case "correlation":
            return y
        case "logistic":
            return y / (1 + np.exp(y * f))
        case "smooth_hinge":
            return y * np.clip(1 - y * f, 0, 1)
        case "huber":
            return np.clip(y - f, -student.loss_scale, student.loss_scale)
        case "absolute":
            return np.sign(y - f)
        case "(y - f)^4/4":
            return (y - f) ** 3


def length(G):
    return np.sqrt((G**2).sum((-2, -1), keepdims=True))


def direction(student, D_):
    """What the optimizer makes of its buffer."""
    if student.optimizer == "sgd":
        return D_
    if student.optimizer == "normalized":
        return D_ / length(D_)
    if student.orthogonalize == "newton_schulz":
        X = D_ / length(D_)
        for _ in range(5):
            A = X @ X.transpose(0, 2, 1)
            X = 3.4445 * X + (-4.7750 * A + 2.0315 * A @ A) @ X
        return X
    left, sizes, right = np.linalg.svd(D_, full_matrices=False)
    return (left * (sizes > 1e-9 * sizes[:, :1])[:, None, :]) @ right


def network(target, student, steps, rng, runs=RUNS, d=D):
    """M, V W*^T and the products of all rows of [V; W] after some steps in d dimensions."""
    M, Q = np.array(START["M"]), np.array(START["Q"])
    W = np.zeros((runs, WIDTH, d))
    W[:, :, :2], W[:, :, 2 : 2 + WIDTH] = M, np.linalg.cholesky(Q - M @ M.T)
    V = np.zeros_like(W)
    a, slope, beta = np.array(student.a), student.sigma.derivative(), student.momentum
    for step in range(steps):
        X = rng.standard_normal((runs, student.batch_size, d))
        if target.q:
            z = np.concatenate([X[..., :2], rng.standard_normal((*X.shape[:2], 1))], axis=-1)
            y = target.joint(z)
        else:
            y = target(X[..., :2])
        eta = student.eta * (1 - step / steps if student.schedule == "1 - t" else 1.0)
        ahead = eta * beta * V if student.nesterov == "look_ahead" else 0.0
        field = X @ (W + ahead).transpose(0, 2, 1)
        push = a * residual(student, y, student.sigma(field) @ a)[..., None] * slope(field)
        if student.clip == "sample":
            sizes = np.linalg.norm(push, axis=-1) * np.linalg.norm(X, axis=-1)
            push = push * np.minimum(1, student.clip_norm / sizes)[..., None]
        G = push.transpose(0, 2, 1) @ X / student.batch_size
        if student.clip_norm is not None and student.clip == "batch":
            G = G * np.minimum(1, student.clip_norm / length(G))
        V = beta * V + G
        S = direction(student, G + beta * V if student.nesterov is True else V)
        if student.geometry == "spherical":
            S = S - W * (S * W).sum(-1, keepdims=True) / (W * W).sum(-1, keepdims=True)
        W = (1 - eta * student.weight_decay) * W + eta * S
        if student.geometry != "euclidean":
            W = W / np.linalg.norm(W, axis=-1, keepdims=True)
    W_ = W.transpose(0, 2, 1)
    found = [W[:, :, :2], W @ W_]
    if beta:
        found += [V[:, :, :2], W @ V.transpose(0, 2, 1), V @ V.transpose(0, 2, 1)]
    return found


def chain(target, arguments, steps, d=D, runs=RUNS):
    run = gd.dynamics.sgd(
        target, d=d, steps=steps, init=START, record=[steps], replicates=runs, seed=3,
        width=WIDTH, activation=ACTIVATION, progress=False, **arguments,
    )  # fmt: skip
    names = ["overlap", "norm"]
    if arguments.get("momentum"):
        names += ["buffer_overlap", "buffer_product", "buffer_norm"]
    return [run[name].values[:, 0] for name in names]


def smallest_p(one, two):
    """Smallest p-value over the entries that are not constant, times their number."""
    values = []
    for x, y in zip(one, two, strict=True):
        for i in np.ndindex(x.shape[1:]):
            left, right = x[(slice(None), *i)], y[(slice(None), *i)]
            if np.ptp(right) > 1e-9 and not (len(i) == 2 and x.shape[1] == x.shape[2] < i[1]):
                values.append(ks_2samp(left, right).pvalue)
    return min(values) * len(values)


MUON = {"optimizer": "muon", "step_size": 0.05}
CASES = {
    # Those of every day use few programs.
    "heavy ball, decay": (CURVED, 20, {"momentum": 0.8, "weight_decay": 0.5}),
    "clipped batch 4, momentum": (
        CURVED, 12, {"momentum": 0.8, "clip_norm": 4.0, "batch_size": 4, "step_size": 0.02}),
    "normalized, schedule": (
        CURVED, 20, {"optimizer": "normalized", "step_size": 0.1, "schedule": "1 - t"}),
    "logistic, batch 5, momentum": (
        SIGNS, 12, {"loss": "logistic", "momentum": 0.6, "batch_size": 5, "step_size": 0.1}),
    "muon, Nesterov, batch 4": (
        CURVED, 12, {**MUON, "momentum": 0.7, "nesterov": True, "batch_size": 4}),
    "Nesterov": (CURVED, 20, {"momentum": 0.8, "nesterov": True}),
    # The rest.
    "look-ahead Nesterov": (
        CURVED, 20, {"momentum": 0.8, "nesterov": "look_ahead", "step_size": 0.02}),
    "look-ahead Nesterov, batch 4": (
        CURVED, 12, {"momentum": 0.8, "nesterov": "look_ahead", "batch_size": 4,
                     "step_size": 0.05}),
    "muon, batch 100 > d": (CURVED, 6, {**MUON, "batch_size": 100}),
    "clip": (CURVED, 20, {"clip_norm": 8.0}),
    "sample clip, batch 4": (
        CURVED, 12, {"clip_norm": 8.0, "clip": "sample", "batch_size": 4, "step_size": 0.03}),
    "sample clip, batch 70 > d": (
        CURVED, 6, {"clip_norm": 8.0, "clip": "sample", "batch_size": 70, "step_size": 0.1}),
    "logistic": (SIGNS, 20, {"loss": "logistic", "step_size": 0.05}),
    "smooth hinge": (SIGNS, 20, {"loss": "smooth_hinge"}),
    "huber": (CURVED, 20, {"loss": "huber", "loss_scale": 1.5}),
    "absolute": (CURVED, 20, {"loss": "absolute"}),
    "formula": (CURVED, 10, {"loss": "(y - f)^4/4", "step_size": 1e-5}),
    "huber, batch 4": (CURVED, 12, {"loss": "huber", "batch_size": 4, "step_size": 0.05}),
    "normalized, momentum": (
        CURVED, 20, {"optimizer": "normalized", "momentum": 0.7, "step_size": 0.05}),
    "normalized, tangent, batch 3": (
        CURVED, 12, {"optimizer": "normalized", "geometry": "spherical", "batch_size": 3,
                     "step_size": 0.1}),
    "projected, momentum": (CURVED, 20, {"momentum": 0.7, "geometry": "projected"}),
    "muon, batch 2 < width, projected": (
        CURVED, 12, {**MUON, "batch_size": 2, "geometry": "projected"}),
    "muon, batch 1": (CURVED, 20, MUON),
    "muon, Newton-Schulz, momentum": (
        CURVED, 12, {**MUON, "orthogonalize": "newton_schulz", "momentum": 0.5, "batch_size": 4}),
}  # fmt: skip
DAILY = tuple(CASES)[:6]


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.stat if c in DAILY else pytest.mark.slow) for c in CASES],
)
def test_chain_has_the_law_of_the_optimizer(case, rng):
    """Would catch: a buffer that misses the part outside the frame, a clip by another length."""
    text, steps, arguments = CASES[case]
    target = gd.Target(text)
    arguments = {"step_size": 0.01} | arguments
    runs = RUNS if case not in DAILY else 1500
    student = read_training(width=WIDTH, activation=ACTIVATION, optimizers=True, **arguments)
    direct = network(target, student, steps, rng, runs)
    assert smallest_p(chain(target, arguments, steps, runs=runs), direct) > CHANCE


@pytest.mark.slow
@pytest.mark.parametrize("case", ["heavy ball, decay", "muon, Nesterov, batch 4"])
def test_the_comparison_sees_ten_per_cent_more_degrees_of_freedom(case, rng):
    """Power: a frame in 66 instead of 60 dimensions is rejected."""
    text, steps, arguments = CASES[case]
    arguments = {"step_size": 0.03} | arguments
    student = read_training(width=WIDTH, activation=ACTIVATION, optimizers=True, **arguments)
    direct = network(gd.Target(text), student, steps, rng)
    assert smallest_p(chain(text, arguments, steps, d=66), direct) < 1e-4

"""OnlineSGD with other losses and optimizers: against torch's formulas, written out, and theory."""

import numpy as np
import pytest

import gradone as gd
from gradone.learners import OnlineSGD

RESIDUALS = {
    "square": lambda y, f: y - f,
    "huber": lambda y, f: np.clip(y - f, -1, 1),
    "absolute": lambda y, f: np.sign(y - f),
    "logistic": lambda y, f: y / (1 + np.exp(y * f)),
}
CASES = [
    {"momentum": 0.8},
    {"momentum": 0.8, "nesterov": True, "weight_decay": 0.3},
    {"momentum": 0.8, "nesterov": "look_ahead", "schedule": "1 - t"},
    {"clip_norm": 0.5},
    {"clip_norm": 0.5, "clip": "sample"},
    {"optimizer": "normalized", "loss": "huber"},
    {"optimizer": "muon", "momentum": 0.5},
    {"optimizer": "muon", "orthogonalize": "newton_schulz"},
    {"optimizer": "sign", "loss": "absolute"},
    {"optimizer": "rmsprop"},
    {"optimizer": "adam", "betas": (0.7, 0.9), "schedule": "1 - t"},
    {"loss": "logistic"},
]


def written_out(X, y, W, settings, eta=0.05):
    """Eight updates of two tanh neurons with readout (1, -1), batches of 3 rows."""
    a, V, square = np.array([1.0, -1.0]), np.zeros_like(W), np.zeros_like(W)
    beta, name = settings.get("momentum", 0.0), settings.get("optimizer", "sgd")
    one, two = settings.get("betas", (0.9, 0.999))
    for t in range(8):
        x, label = X[3 * t : 3 * t + 3], y[3 * t : 3 * t + 3]
        step = eta * (1 - t / 8 if "schedule" in settings else 1)
        ahead = settings.get("nesterov") == "look_ahead"
        h = np.tanh(x @ (W + step * beta * V * ahead).T)
        e = RESIDUALS[settings.get("loss", "square")](label, h @ a)
        each = np.einsum("n,nj,nk->njk", e, a * (1 - h**2), x)
        limit = settings.get("clip_norm", np.inf)
        if settings.get("clip") == "sample":
            sizes = np.sqrt((each**2).sum((1, 2), keepdims=True))
            each, limit = each * np.minimum(1, limit / sizes), np.inf
        G = each.mean(0)
        G = G * min(1, limit / np.linalg.norm(G))
        if name == "adam":
            V, square = one * V + (1 - one) * G, two * square + (1 - two) * G**2
            D = V / (1 - one ** (t + 1)) / (np.sqrt(square / (1 - two ** (t + 1))) + 1e-8)
        elif name == "rmsprop":
            square = two * square + (1 - two) * G**2
            D = G / (np.sqrt(square) + 1e-8)
        else:
            V = beta * V + G
            D = G + beta * V if settings.get("nesterov") is True else V
            if name == "normalized":
                D = D / np.linalg.norm(D)
            if name == "sign":
                D = np.sign(D)
            if name == "muon" and settings.get("orthogonalize") == "newton_schulz":
                D = D / np.linalg.norm(D)
                for _ in range(5):
                    A = D @ D.T
                    D = 3.4445 * D - 4.7750 * A @ D + 2.0315 * A @ A @ D
            elif name == "muon":
                values, axes = np.linalg.eigh(D @ D.T)
                D = axes @ np.diag(values**-0.5) @ axes.T @ D
        W = (1 - step * settings.get("weight_decay", 0.0)) * W + step * D
    return W


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_updates_are_those_written_out(settings, rng):
    X = rng.standard_normal((24, 5))
    y = np.sign(X[:, 0]) if settings.get("loss") == "logistic" else X[:, 0] + X[:, 1] ** 2
    W = rng.standard_normal((2, 5)) / 2
    learner = OnlineSGD(
        2, activation="tanh(z)", step_size=0.05, batch_size=3, init=W, standardize=False,
        shuffle=False, **settings,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(learner.weights_, written_out(X, y, W, settings), atol=1e-10)


def test_partial_fit_goes_on_with_the_buffer(rng):
    X, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    common = {"width": 2, "momentum": 0.9, "step_size": 0.01, "random_state": 0,
              "standardize": False, "shuffle": False}  # fmt: skip
    whole = OnlineSGD(**common).fit(X, y)
    parts = OnlineSGD(**common).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(parts.weights_, whole.weights_, rtol=1e-12)


@pytest.mark.slow
def test_normalized_gradients_find_he3_on_samples():
    """As the escape says: v != 0 for a relu, which plain SGD does not see."""
    cosines = {}
    for optimizer in ("sgd", "normalized"):
        found = []
        for seed in range(4):
            s = gd.Target("He3(z)").sample(n=6000, d=100, seed=seed)
            learner = OnlineSGD(
                1, optimizer=optimizer, geometry="projected", loss="correlation",
                standardize=False, step_size=0.3 / 10 if optimizer == "normalized" else 1e-3,
                batch_size=1, random_state=seed,
            ).fit(s.X, s.y)  # fmt: skip
            found.append(-float(learner.weights_[0] @ s.W_star[0]))
        cosines[optimizer] = np.mean(found)
    assert cosines["normalized"] > 0.7
    assert abs(cosines["sgd"]) < 0.4


def test_logistic_loss_classifies_and_refuses_other_labels(rng):
    s = gd.Target("sign(z1)").sample(n=4000, d=20, seed=0)
    learner = OnlineSGD(2, activation="tanh(z)", loss="logistic", readout=[2.0, -2.0],
                        step_size=0.05, random_state=0).fit(s.X, s.y)  # fmt: skip
    assert np.mean(np.sign(learner.predict(s.X)) == s.y) > 0.9
    with pytest.raises(gd.BadData, match="logistic loss needs labels -1 and 1"):
        learner.fit(s.X, s.y + 1)

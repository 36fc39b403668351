"""Online SGD on the cross-entropy: its gradient, its binary case, what it learns and refuses."""

import numpy as np
import pytest

import gradone as gd
from gradone.learners import OnlineSGD, OnlineSGDClassifier

PLAIN = {"standardize": False, "shuffle": False}


def cross_entropy(W, A, b, x, which):
    f = np.tanh(x @ W.T + b) @ A.T
    p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(which)), which]).mean()


def downhill(function, at, h=1e-6):
    """Minus the gradient by central differences."""
    out = np.empty_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += h
        down[place] -= h
        out[place] = -(function(up) - function(down)) / (2 * h)
    return out


def test_an_update_follows_the_gradient_of_the_cross_entropy():
    rng = np.random.default_rng(0)
    X, which = rng.standard_normal((7, 5)), np.array([0, 2, 1, 1, 0, 2, 2])
    W = rng.standard_normal((4, 5))
    learner = OnlineSGDClassifier(
        4, activation="tanh(z)", step_size=0.3, batch_size=7, init=W, bias=0.2,
        train_readout=0.2, train_bias=0.1, **PLAIN,
    ).fit(X, which)  # fmt: skip
    A = (np.arange(4) % 3 == np.arange(3)[:, None]) - 1 / 3
    b = np.full(4, 0.2)
    for found, start, eta, loss in (
        (learner.weights_, W, 0.3, lambda V: cross_entropy(V, A, b, X, which)),
        (learner.readout_, A, 0.2, lambda B: cross_entropy(W, B, b, X, which)),
        (learner.bias_, b, 0.1, lambda c: cross_entropy(W, A, c, X, which)),
    ):
        np.testing.assert_allclose(found, start + eta * downhill(loss, start), atol=1e-8)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"momentum": 0.8, "nesterov": True, "batch_size": 3},
        {"momentum": 0.8, "nesterov": "look_ahead"},
        {"optimizer": "adam", "betas": (0.7, 0.9), "step_size": 0.01},
        {"optimizer": "muon", "batch_size": 4, "geometry": "projected"},
        {"clip_norm": 0.3, "clip": "sample", "batch_size": 2, "schedule": "1 - t/2"},
    ],
)
def test_two_classes_are_the_logistic_loss(settings):
    """Outputs f/2 and -f/2: the same weights as the regressor with labels -1 and 1."""
    s = gd.Target("sign(z1 + z1*z2)").sample(n=60, d=6, seed=0)
    shared = {"activation": "tanh(z + 0.3)", "step_size": 0.1, "random_state": 3, **PLAIN}
    two = OnlineSGDClassifier(4, **shared | settings).fit(s.X, s.y)
    # Neurons speak for the first class first, hence the signs.
    one = OnlineSGD(4, loss="logistic", readout=[-1.0, 1.0, -1.0, 1.0], **shared | settings)
    one.fit(s.X, s.y)
    np.testing.assert_allclose(two.weights_, one.weights_, atol=1e-12)
    np.testing.assert_allclose(two.decision_function(s.X), one.predict(s.X), atol=1e-12)
    odds = two.predict_proba(s.X)
    np.testing.assert_allclose(np.log(odds[:, 1] / odds[:, 0]), one.predict(s.X), atol=1e-9)


def test_three_classes_are_learned_and_probabilities_are_calibrated():
    """Classes drawn from a softmax of three directions: the cross-entropy comes near its best."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30_000, 30))
    scores = 2 * X[:, :3]
    best = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    which = (rng.random(len(X))[:, None] > best.cumsum(axis=1)).sum(axis=1)
    names = np.array(["apple", "pear", "quince"])[which]
    learner = OnlineSGDClassifier(6, batch_size=20, train_readout=0.05, random_state=0)
    learner.fit(X[:25_000], names[:25_000])
    test = slice(25_000, None)
    each = np.arange(5000)
    loss = -np.log(learner.predict_proba(X[test])[each, which[test]]).mean()
    entropy = -np.log(best[test][each, which[test]]).mean()
    assert loss < entropy + 0.1 < 0.9 < np.log(3)
    assert set(learner.predict(X[test])) == set(names)
    history = learner.history_.online_loss.values
    assert history[-10:].mean() < 0.8 * history[0]


def test_partial_fit_goes_on_where_it_stopped():
    s = gd.Target("z1").sample(n=60, d=5, seed=0)
    y = np.digitize(s.y, [-0.5, 0.5])
    settings = {"momentum": 0.9, "step_size": 0.02, "random_state": 0, **PLAIN}
    whole = OnlineSGDClassifier(3, **settings).fit(s.X, y)
    parts = OnlineSGDClassifier(3, **settings)
    parts.partial_fit(s.X[:20], y[:20], classes=[0, 1, 2]).partial_fit(s.X[20:], y[20:])
    np.testing.assert_allclose(parts.weights_, whole.weights_, atol=1e-12)
    assert parts.n_iter_ == 60
    with pytest.raises(gd.BadData, match="the class 5 is new"):
        parts.partial_fit(s.X, np.full(60, 5))


def test_what_is_refused():
    X = np.random.default_rng(0).standard_normal((30, 4))
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(gd.BadData, match="of one class"):
        OnlineSGDClassifier().fit(X, np.ones(30))
    with pytest.raises(gd.BadData, match="at least two classes"):
        OnlineSGDClassifier().partial_fit(X, np.ones(30))
    with pytest.raises(gd.BadData, match="unknown optimizer"):
        OnlineSGDClassifier(optimizer="adagrad").fit(X, y)
    with pytest.raises(gd.NotConverged, match="diverged at update"):
        OnlineSGDClassifier(activation="z**2", step_size=1e3, train_readout=1e3).fit(X, y)

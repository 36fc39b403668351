"""A NumPy loop with momentum on the axes of Bayes-AMP and random features."""

import numpy as np


def train(X, y, random_state=0):
    """Two layers of rectifiers, the first one trained by gradient descent with momentum."""
    W = np.random.default_rng(random_state).standard_normal((X.shape[1], 60)) / X.shape[1] ** 0.5
    a, v = np.tile([0.1, -0.1], 30), 0.0
    for _ in range(300):
        error = np.maximum(X @ W, 0) @ a - y
        v = 0.9 * v - 0.5 * X.T @ (np.outer(error, a) * (X @ W > 0)) / len(y)
        W = W + v
    return {"weights": W.T, "predict": lambda X: np.maximum(X @ W, 0) @ a}

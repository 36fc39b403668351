"""One giant step by plain matrix products, without any code of the library."""

import math

import numpy as np

FUNCTIONS = {
    "tanh(z)": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "sin(z)": (np.sin, np.cos),
    "relu(z)": (lambda x: np.maximum(x, 0.0), lambda x: (x > 0).astype(float)),
}


def within(runs, theory, finite_size):
    """Whether a mean agrees with a number: t-quantile of 1e-6, and a stated finite-size term."""
    from scipy.special import stdtrit

    runs = np.asarray(runs)
    assert len(runs) >= 12
    sem = runs.std(ddof=1) / math.sqrt(len(runs))
    quantile = stdtrit(len(runs) - 1, 1 - 5e-7)
    return abs(runs.mean() - theory) < quantile * sem + finite_size


def sphere_rows(rng, width, d):
    W = rng.standard_normal((width, d))
    return W / np.linalg.norm(W, axis=1)[:, None]


def giant_step(rng, W, u, activation, link, noise, n, step):
    """Weights after the step; the target's direction is the first axis."""
    sigma, slope = FUNCTIONS[activation]
    X = rng.standard_normal((n, W.shape[1]))
    y = link(X[:, 0]) + math.sqrt(noise) * rng.standard_normal(n)
    field = X @ W.T
    residual = y - sigma(field) @ u / len(u)
    return W + step * u[:, None] * ((slope(field) * residual[:, None]).T @ X) / n


def spiked_rows(rng, W, u, strength, alignment, scales):
    """Rows of the spiked model: isotropic rows of the given squared norms plus the spike."""
    d = W.shape[1]
    v = rng.standard_normal(d)
    v[0] = 0.0
    v *= math.sqrt(1 - alignment**2) / np.linalg.norm(v)
    v[0] = alignment
    return np.sqrt(scales)[:, None] * W + strength * np.outer(u, v), v


def ridge_errors(rng, W, activation, link, noise, n, ridge, n_test=3000):
    """Test error without label noise, and training error, of ridge regression on features."""
    sigma, _ = FUNCTIONS[activation]
    p, d = W.shape
    X, X_new = rng.standard_normal((n, d)), rng.standard_normal((n_test, d))
    y = link(X[:, 0]) + math.sqrt(noise) * rng.standard_normal(n)
    F = sigma(X @ W.T) / math.sqrt(p)
    a = np.linalg.solve(F.T @ F + ridge * np.eye(p), F.T @ y)
    miss = link(X_new[:, 0]) - sigma(X_new @ W.T) @ a / math.sqrt(p)
    return np.mean(miss**2), np.mean((y - F @ a) ** 2)

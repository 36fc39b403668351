"""Updates of a two-layer network, written out in NumPy from the definition of the student."""

import numpy as np

ACTIVATIONS = {
    "tanh(z)": (np.tanh, lambda x: 1 / np.cosh(x) ** 2),
    "relu(z)": (lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0),
}


def output(W, a, b, X, activation):
    return sum(a[j] * ACTIVATIONS[activation][0](X @ W[j] + b[j]) for j in range(len(a)))


def pulls(W, a, b, X, y, activation, loss):
    """Downhill direction of W, a and b; a batch mean."""
    f, slope = ACTIVATIONS[activation]
    e = y - output(W, a, b, X, activation) if loss == "square" else y
    G = [a[j] * np.mean((e * slope(X @ W[j] + b[j]))[:, None] * X, axis=0) for j in range(len(a))]
    G_a = [np.mean(e * f(X @ W[j] + b[j])) for j in range(len(a))]
    G_b = [np.mean(a[j] * e * slope(X @ W[j] + b[j])) for j in range(len(a))]
    return np.array(G), np.array(G_a), np.array(G_b)


def update(
    W, a, b, X, y, *,
    activation, step_size, rule="plain", loss="square", geometry="euclidean", inner_step_size=None,
    inner_steps=2, radius=None, interpolation=None, train_readout=0.0, train_bias=0.0,
    weight_decay=0.0,
):  # fmt: skip
    """Weights, readout and bias after one update with the batch (X, y)."""

    def gradient(at):
        return pulls(at, a, b, X, y, activation, loss)

    G, G_a, G_b = gradient(W)
    match rule:
        case "plain":
            S = step_size * G
        case "extragradient":
            G, G_a, G_b = gradient(W + inner_step_size * G)
            S = step_size * G
        case "sam":
            G, G_a, G_b = gradient(W - abs(inner_step_size) * G)
            S = step_size * G
        case "sam_normalized":
            G, G_a, G_b = gradient(W - radius * G / np.sqrt(np.sum(G**2)))
            S = step_size * G
        case "k_steps" | "look_ahead":
            size = step_size if rule == "k_steps" or inner_step_size is None else inner_step_size
            V = W.copy()
            for _ in range(inner_steps):
                V = V + size * gradient(V)[0]
            S = (V - W) * (interpolation if rule == "look_ahead" else 1)
    if geometry == "spherical":
        S = S - np.sum(S * W, axis=1, keepdims=True) / np.sum(W * W, axis=1, keepdims=True) * W
    W = (1 - step_size * weight_decay) * W + S
    if geometry != "euclidean":
        W = W / np.linalg.norm(W, axis=1, keepdims=True)
    return W, a + train_readout * G_a, b + train_bias * G_b


RULES = {
    "plain": {},
    "extragradient": {"inner_step_size": 0.2},
    "sam": {"inner_step_size": 0.15},
    "sam_normalized": {"radius": 0.1},
    "k_steps": {"inner_steps": 3},
    "look_ahead": {"inner_steps": 3, "interpolation": 0.4, "inner_step_size": 0.07},
}

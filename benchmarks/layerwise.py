"""Cost and error of layerwise learning: the default against the published recipe, plainly written.

Run: python benchmarks/layerwise.py [--json FILE] [--replicates R]. Target: y = tanh(3 h) with
He2/2 + He3/6 inside and exponent 1/2, at d = 64 and n = d^1.8 = 1782. CPU times in one thread, one
fit of each for every replicate, on the same samples. Limits: the default takes at most a tenth of
the time, at a median test error that is not larger.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import math
import time
from collections.abc import Callable

import numpy as np
from _timing import options

from gradone import Sight
from gradone.learners import Layerwise

N, D, FRESH = 1782, 64, 4000
SMALL = 0.2  # scale of the upper layers at the start
SHARE = 0.7  # of the samples in a batch

Predictor = Callable[[np.ndarray], np.ndarray]


def published(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Predictor:
    """Three layers, one after the other, by gradient descent on reused samples, in float32."""
    n, d = X.shape
    p1, p2, single = math.floor(n**0.9), 100, np.float32
    X, y = X.astype(single), y.astype(single)
    W1 = rng.standard_normal((p1, d), single) / math.sqrt(d)
    W2 = SMALL * rng.standard_normal((p2, p1), single) / math.sqrt(p1)
    w3 = SMALL * rng.standard_normal(p2, single) / math.sqrt(p2)
    b1 = rng.uniform(-1, 1, p1).astype(single)
    b2 = (SMALL * rng.uniform(-1, 1, p2)).astype(single)
    batch = round(SHARE * n)

    for _ in range(round(15 * math.log(d) / SHARE)):
        rows = rng.choice(n, batch, replace=False)
        F = np.maximum(X[rows] @ W1.T + b1, 0)
        H = F @ W2.T + b2
        error = np.maximum(H, 0) @ w3 - y[rows]
        back = ((error[:, None] * w3 * (H > 0)) @ W2) * (F > 0)
        W1 -= math.sqrt(p1) / SMALL**2 * (back.T @ X[rows]) / batch

    features = np.maximum(X @ W1.T + b1, 0)
    for _ in range(round(5 * d**1.5 / SHARE)):
        rows = rng.choice(n, batch, replace=False)
        F = features[rows]
        H = F @ W2.T + b2
        error = np.maximum(H, 0) @ w3 - y[rows]
        back = error[:, None] * w3 * (H > 0)
        W2 -= 4 * math.sqrt(p2) / (SMALL * p1) * (back.T @ F) / n

    top = np.maximum(features @ W2.T + b2, 0)
    w3 = np.linalg.solve(top.T @ top + n * np.eye(p2, dtype=single), top.T @ y)
    return lambda new: np.maximum(np.maximum(new @ W1.T + b1, 0) @ W2.T + b2, 0) @ w3


def default(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Predictor:
    """The learner as it comes."""
    return Layerwise(random_state=rng).fit(X, y).predict


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--replicates", type=int, default=3)
    arguments = parser.parse_args()
    target = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    default(*(np.random.default_rng(0).standard_normal(s) for s in ((50, 3), 50)), None)  # imports
    seconds: dict[str, list[float]] = {"published": [], "default": []}
    errors: dict[str, list[float]] = {"published": [], "default": []}
    for replicate in range(arguments.replicates):
        s = target.sample(n=N + FRESH, d=D, seed=0, replicate=replicate)
        for name, fit in (("published", published), ("default", default)):
            start = time.process_time()
            predict = fit(s.X[:N], s.y[:N], np.random.default_rng(replicate))
            seconds[name].append(time.process_time() - start)
            errors[name].append(float(np.mean((predict(s.X[N:]) - s.y[N:]) ** 2)))
    for name, times in seconds.items():
        shown = ", ".join(f"{error:.3f}" for error in errors[name])
        print(
            f"{name:10} {np.median(times):7.2f} s   median {np.median(errors[name]):.3f}  ({shown})"
        )
    ratio = float(np.median(seconds["published"]) / np.median(seconds["default"]))
    better = float(np.median(errors["default"])) <= float(np.median(errors["published"]))
    print(f"{ratio:.1f} x cheaper, {'ok' if ratio >= 10 and better else 'NOT ENOUGH'}")
    result = {"seconds": seconds, "test_mse": errors, "ratio": ratio}
    print(json.dumps(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")

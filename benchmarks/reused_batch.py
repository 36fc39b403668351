"""Speed of gradient descent on a fixed data set: the engine against the network on drawn data.

Run: python benchmarks/reused_batch.py [--json FILE]. CPU times, best of 5, one thread. Limit: at
d = 5000, n = 15000, width 2, 6 steps the engine is at least 100 times faster than the direct
simulation, which draws the samples (600 MB) and makes two products with them at each step. The time
of the engine at d = 1e5 is reported.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best, options, report

from gradone.dynamics import reused_batch

ALPHA, STEP, STEPS = 3, 0.6, 6
READOUT = np.array([0.5**0.5, -(0.5**0.5)])


def direct(d: int) -> np.ndarray:
    """Gradient descent with the data matrix: overlaps at the end."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ALPHA * d, d))
    y = np.tanh(X[:, 0] + X[:, 1] ** 3 - 3 * X[:, 1])
    W = np.zeros((2, d))
    W[0, 2] = W[1, 3] = 1.0
    for _ in range(STEPS):
        fields = X @ W.T
        error = y - np.maximum(fields, 0) @ READOUT
        W += STEP / len(y) * (READOUT * error[:, None] * (fields > 0)).T @ X
    return W[:, :2]


def engine(d: int) -> np.ndarray:
    """The same in law, recorded at the end."""
    run = reused_batch(
        "tanh(z1 + He3(z2))", d=d, alpha=ALPHA, width=2, readout=READOUT, step_size=STEP,
        steps=STEPS, record=[STEPS], init="orthogonal", replicates=1, progress=False,
    )  # fmt: skip
    overlaps: np.ndarray = run.overlap.values[0, -1]
    return overlaps


if __name__ == "__main__":
    arguments = options(__doc__).parse_args()
    engine(100)  # imports
    seconds = interleaved_best(
        {"direct, d = 5000": lambda: direct(5000), "engine, d = 5000": lambda: engine(5000)}
    )
    large = interleaved_best({"engine, d = 100000": lambda: engine(100_000)}, repeats=3)
    print(f"engine at d = 1e5: {large['engine, d = 100000']:.2f} s")
    report(
        seconds, baseline="direct, d = 5000", limit=seconds["direct, d = 5000"] / 100,
        file=arguments.json, large=large,
    )  # fmt: skip

"""Speed and memory of a giant step: the learner against its bare matrix products.

Run: python benchmarks/giant_step.py [--json FILE] [--memory]. CPU times, best of 5, one thread, in
float32. Limit: one gradient of n = 16384, d = 512, width 1024 takes at most 1.3 times as long as
its two matrix products. With --memory: the peak memory that a fit on n = 262144 takes beyond the
imports, with X in memory (limit 1 GB with X) and as a stream (limit 0.2 GB).
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import subprocess
import sys

import numpy as np
from _timing import interleaved_best, options, report

from gradone import Target
from gradone.learners import GiantStep
from gradone.learners.giant._gradient import FirstLayer, GradientSum
from gradone.targets.activation import Activation

N, D, WIDTH, ROWS = 16384, 512, 1024, 2048


def products(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The two matrix products of a gradient, block by block."""
    total = np.zeros((WIDTH, D), np.float32)
    for start in range(0, N, ROWS):
        block = X[start : start + ROWS]
        total += (block @ W.T).T @ block
    return total


def gradient(layer: FirstLayer, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of the learner."""
    total = GradientSum(layer)
    for start in range(0, N, ROWS):
        total.add(X[start : start + ROWS], y[start : start + ROWS])
    return total.mean


def peak_memory(kind: str) -> None:
    """Print the peak memory in GB of one fit beyond that of a small one."""
    target = Target("z1 + z1*z2")
    n, d = 262_144, 512
    learner = GiantStep(1024, batch_size=n // 2, ridge=1.0, standardize=False, random_state=0)
    small = target.sample(n=64, d=4, seed=0)
    GiantStep(8).fit(small.X, small.y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if kind == "array":
        X = np.empty((n, d), np.float32)
        y = np.empty(n)
        at = 0
        for chunk in target.stream(n=n, d=d, chunk=8192, seed=0, dtype="float32"):
            X[at : at + len(chunk.y)], y[at : at + len(chunk.y)] = chunk.X, chunk.y
            at += len(chunk.y)
        learner.set_params(shuffle=False).fit(X, y)
    else:
        learner.fit_stream(target.stream(n=n, d=d, chunk=4096, seed=0, dtype="float32"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{kind}: {(peak - before) / 1e6:.2f} GB beyond the imports, {peak / 1e6:.2f} GB in all")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--memory", action="store_true", help="measure memory instead of time")
    parser.add_argument("--kind", choices=["array", "stream"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.kind:
        peak_memory(arguments.kind)
    elif arguments.memory:
        for kind in ("array", "stream"):  # a process each: a peak is never forgotten
            command = [sys.executable, __file__, "--kind", kind]
            subprocess.run(command, check=True)  # noqa: S603 - our own file
    else:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((N, D), dtype=np.float32)
        W = rng.standard_normal((WIDTH, D), dtype=np.float32) / np.float32(D**0.5)
        y, a = rng.standard_normal(N), rng.standard_normal(WIDTH)
        bias = rng.standard_normal(WIDTH).astype(np.float32)
        layer = FirstLayer(Activation("relu(z)"), W, bias, a, mirrored=False)
        seconds = interleaved_best(
            {"products": lambda: products(X, W), "gradient": lambda: gradient(layer, X, y)}
        )
        report(seconds, baseline="products", limit=1.3 * seconds["products"], file=arguments.json)

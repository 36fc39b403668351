"""The advantage of depth at n = d^2: test errors of three layers, two layers and the kernel.

Run: python benchmarks/depth.py [--d D] [--replicates R] [--first I] [--json FILE]. Target:
y = tanh(3 h) with He2/2 + He3/6 inside and exponent 1/2. Every replicate has a target of its own;
its learners see the same samples, and 10^4 fresh ones. Three and two layers are `Layerwise` with
first layers of equal width, the kernel is ridge regression with (x.x')^2 + x.x' + 1 whose penalty
is chosen on rows held out; next to it stands the prediction of the theory at this d. The peak
memory is that of the whole process after the first fit of three layers. Limits: three layers are
better than two in every replicate, and the memory stays below 2 GB.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _timing import options

from gradone import Sight, predict
from gradone.learners import Layerwise

# The public kernel ridge solves for n coefficients, too many here; this is the same fit.
from gradone.learners.depth._data import split_data
from gradone.learners.depth._quadratic import quadratic_fit, quadratic_refit

FRESH = 10_000
LIMIT = 2.0  # GB

Predictor = Callable[[np.ndarray], np.ndarray]


def kernel(X: np.ndarray, y: np.ndarray, seed: int) -> Predictor:
    """Ridge regression with the quadratic kernel."""
    rng = np.random.default_rng(seed)
    scales, data = split_data(X, y, owner="kernel", chunk_size=None, rng=rng)
    form = quadratic_refit(data, quadratic_fit(data)[1])
    return lambda new: scales.label_mean + scales.label_scale * form(scales.inputs(new, float))


def layers(X: np.ndarray, y: np.ndarray, seed: int, *, count: int) -> Predictor:
    """Layers found one after the other and trained together, with the widths of the default."""
    first = min(max(256, round(6 * len(y) ** 0.5)), 512)
    widths = (first, first // 5)[: count - 1]
    return Layerwise(widths=widths, random_state=seed).fit(X, y).predict


def peak_memory() -> float:
    """Largest resident memory of this process so far, in GB."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate")
    arguments = parser.parse_args()
    d, n = arguments.d, arguments.d**2
    target = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    learners = {
        "three layers": lambda *given: layers(*given, count=3),
        "two layers": lambda *given: layers(*given, count=2),
        "kernel": kernel,
    }
    errors: dict[str, list[float]] = {name: [] for name in learners}
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    memory = 0.0
    for replicate in range(arguments.first, arguments.first + arguments.replicates):
        s = target.sample(n=n + FRESH, d=d, seed=0, replicate=replicate)
        for name, fit in learners.items():
            start = time.process_time()
            made = fit(s.X[:n], s.y[:n], replicate)
            seconds[name].append(time.process_time() - start)
            memory = memory or peak_memory()
            error = float(np.mean((made(s.X[n:]) - s.y[n:]) ** 2))
            errors[name].append(error)
            print(f"replicate {replicate}, {name:13} {error:.4f}  {seconds[name][-1]:6.1f} s")
    theory = float(predict(target, "depth", kappa=2.0, d=d).lazy_excess_mse.item())
    for name, found in errors.items():
        spread = f"{min(found):.4f} to {max(found):.4f}"
        print(f"{name:13} mean {np.mean(found):.4f}, median {np.median(found):.4f}, {spread}")
    pairs = zip(errors["three layers"], errors["two layers"], strict=True)
    ok = all(three < two for three, two in pairs) and memory < LIMIT
    print(f"kernel by the theory {theory:.4f}; peak memory {memory:.2f} GB: ", end="")
    print("ok" if ok else "NOT ENOUGH")
    result = {"d": d, "n": n, "test_mse": errors, "seconds": seconds, "memory_gb": memory}
    print(json.dumps(result | {"kernel_theory": theory}))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")

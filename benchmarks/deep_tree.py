"""Two, three and four layers on a tree of two levels: test errors against the number of samples.

Run: python benchmarks/deep_tree.py [--case A] [--n 4000 8000] [--replicates R] [--first I]
[--json FILE]. Targets at d = 64 with the inner function c1 z + sqrt((1 - c1^2)/2) He2 above
He2/sqrt(2), signs + - + - ... above: A has 16 directions, 4 features, c1 = 0.7 and tanh(1.5 h), all
signs + below; B the same with alternating signs below and c1 = 0.9; C as A with 32 directions,
8 features and tanh(3 h). Columns: the quadratic kernel, then two, three and four layers of
`Layerwise`, trained ("practical") and in closed form ("spectral"); every entry is the median of the
replicates. Networks that fall back on the kernel are marked by k.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import math
import time

import numpy as np
from _timing import options
from depth import kernel

from gradone import Tree
from gradone.learners import Layerwise

DIMENSION, FRESH = 64, 4000
CASES = {  # directions, features, c1, slope of the outer function, signs below
    "A": (16, 4, 0.7, 1.5, [1.0, 1.0]),
    "B": (16, 4, 0.9, 1.5, [1.0, -1.0]),
    "C": (32, 8, 0.7, 3.0, [1.0, 1.0]),
}
LEARNERS = {
    "practical": ((256,), (256, 50), (256, 50, 20)),
    "spectral": ((600,), (600, 50), (600, 200, 50)),
}


def tree(case: str) -> Tree:
    """Target of a case."""
    low, high, c1, slope, signs = CASES[case]
    return Tree(
        f"tanh({slope}*h)",
        ["He2(z)/sqrt(2)", f"{c1}*z + {math.sqrt((1 - c1**2) / 2):.12g}*He2(z)"],
        [math.log(width + 0.5) / math.log(DIMENSION) for width in (low, high)],
        signs=[signs * (low // 2), [1.0, -1.0] * (high // 2)],
    )


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--case", choices=CASES, default="A")
    parser.add_argument("--n", type=int, nargs="+", default=[4000, 8000, 16000])
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate")
    arguments = parser.parse_args()
    target, rows = tree(arguments.case), []
    for n in arguments.n:
        found: dict[str, list[float]] = {}
        fallen: dict[str, int] = {}
        start = time.process_time()
        for replicate in range(arguments.first, arguments.first + arguments.replicates):
            s = target.sample(n=n + FRESH, d=DIMENSION, seed=0, replicate=replicate)
            X, y, X_new, y_new = s.X[:n], s.y[:n], s.X[n:], s.y[n:]
            made = {"kernel": kernel(X, y, replicate)}
            for preset, all_widths in LEARNERS.items():
                for widths in all_widths:
                    learner = Layerwise(preset, widths=widths, random_state=replicate).fit(X, y)
                    name = f"{preset} {len(widths) + 1}"
                    made[name] = learner.predict
                    fallen[name] = fallen.get(name, 0) + learner.kernel_
            for name, predict in made.items():
                found.setdefault(name, []).append(float(np.mean((predict(X_new) - y_new) ** 2)))
        shown = "  ".join(
            f"{name} {np.median(errors):.4f}{'k' * fallen.get(name, 0)}"
            for name, errors in found.items()
        )
        print(f"{arguments.case} {n}: {shown}  ({time.process_time() - start:.0f} s)", flush=True)
        rows.append({"case": arguments.case, "n": n, "test_mse": found, "fallen": fallen})
    print(json.dumps(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")

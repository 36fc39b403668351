"""What an iteration of Bayes-AMP costs.

Run: python benchmarks/bayes_amp.py [--json FILE]. CPU time, best of 5, BLAS on one thread. Limit:
an iteration for sign(z1*z2) at d = 500, n = 1500 takes at most 40 ms. The rules for the posterior
of one sample are compared in ``channel_rules.py``.
"""

import json
import math
import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best, options

import gradone as gd
from gradone.channels.samples.channel import SampleChannel
from gradone.learners._callbacks import Step
from gradone.learners._standardize import standardization
from gradone.learners.bayes._amp_iteration import run_amp
from gradone.learners.bayes._products import StandardizedProducts

LIMIT = 0.040
ITERATIONS = 10


def iteration() -> float:
    """CPU seconds of one iteration for sign(z1*z2), half way to the truth."""
    target, d = gd.Target("sign(z1*z2)"), 500
    sample = target.sample(n=1500, d=d, seed=0)
    products = StandardizedProducts(sample.X, standardization(sample.X, owner="benchmark"))
    noise = np.random.default_rng(0).standard_normal((d, 2))
    W, channel = 0.5 * (math.sqrt(d) * sample.W_star.T + noise), SampleChannel(target)

    def iterate() -> None:
        steps, rng = map(Step, range(ITERATIONS)), np.random.default_rng(0)
        run_amp(products, sample.y, channel, W=W, steps=steps, damping=0.5, tol=1e-12, rng=rng)

    return interleaved_best({"iteration": iterate})["iteration"] / ITERATIONS


def main() -> None:
    """Print the iteration."""
    chosen = options(__doc__).parse_args()
    seconds = iteration()
    ok = seconds <= LIMIT
    print(f"iteration, sign(z1*z2): {1e3 * seconds:.1f} ms (limit {1e3 * LIMIT:.0f} ms)", end=" ")
    print("ok" if ok else "TOO SLOW")
    if chosen.json:
        row = {"name": "iteration", "seconds": seconds, "limit": LIMIT, "ok": ok}
        chosen.json.write_text(json.dumps([row], indent=2) + "\n")


if __name__ == "__main__":
    main()

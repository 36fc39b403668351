"""Speed of the theory of random features: one point with squares, logistic and hinge loss.

Run: python benchmarks/random_features.py [--json FILE]. CPU times, best of 5, BLAS on one thread.
Limits: 1 ms for a point with squares, 20 ms with logistic loss. Points are those of a curve of 40
alphas (squares) or 5 (losses); the cost of a labeled curve, about 2 ms however long it is, is
shown by the calls that ask for one point. The baseline is the scalar equation solved by Brent's
method in Python.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math

import numpy as np
from _timing import interleaved_best, options, report
from scipy.optimize import brentq

import gradone as gd

LINEAR, SIGN = gd.Target("z", noise=0.1), gd.Target("sign(z)")
MU1, MU_STAR = 0.6057055096, 0.1655757411


def brent(alpha=2.0, beta=1.5, ridge=0.1):
    """Effective ridge of tanh features, by the textbook formulas."""

    def equation(log_k):
        k = math.exp(log_k)
        z = (MU_STAR**2 + k) / MU1**2
        b = z + beta - 1
        g = 2 / (b + math.sqrt(b * b + 4 * z))
        df1 = beta - k * (g + (beta - 1) / z) / MU1**2
        return k * (alpha - df1) - ridge * beta

    return math.exp(brentq(equation, -20, 5, xtol=1e-13))


def predict(target, alpha, **parameters):
    return gd.predict(
        target, "random_features", activation="tanh(z)", alpha=alpha, width_ratio=1.5, ridge=0.1,
        **parameters,
    )  # fmt: skip


def main() -> None:
    arguments = options(__doc__).parse_args()
    many, few = np.linspace(0.5, 4.0, 40), [0.5, 1.0, 2.0, 3.0, 4.0]
    jobs = {  # seconds of a job are divided by its number of points
        "Brent": (brent, 1),
        "squares, a curve": (lambda: predict(LINEAR, many), len(many)),
        "squares, one point": (lambda: predict(LINEAR, 2.0), 1),
        "logistic, a curve": (lambda: predict(SIGN, few, loss="logistic"), len(few)),
        "logistic, one point": (lambda: predict(SIGN, 2.0, loss="logistic"), 1),
        "hinge, one point": (lambda: predict(SIGN, 2.0, loss="hinge"), 1),
        "huber, one point": (lambda: predict(LINEAR, 2.0, loss="huber"), 1),
    }
    for job, _ in jobs.values():
        job()  # compiles
    seconds = interleaved_best({name: job for name, (job, _) in jobs.items()})
    each = {name: seconds[name] / points for name, (_, points) in jobs.items()}
    squares = {name: each[name] for name in ("Brent", "squares, a curve")}
    report(squares, baseline="Brent", limit=1e-3, file=None)
    report(each, baseline="Brent", limit=20e-3, file=arguments.json)


if __name__ == "__main__":
    main()

"""Speed of state evolution: one point, 20 % or more away from a threshold, to 1e-4.

Run: python benchmarks/state_evolution.py [--json FILE]. CPU times, best of 5, BLAS on one thread.
Limits: 50 ms where product structure allows, 0.3 s for r = 2, 10 s for r = 3. The baseline, for
targets with noise, is the plain iteration of the map from a small start, at the same resolution.
"""

import json
import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best, options

import gradone as gd
from gradone.channels.shared_labels import landscape_of, shared_labels
from gradone.theory.bayes._fixed_points import StateEvolution
from gradone.theory.bayes._state_evolution import averages, overlap_step

NOISELESS = {
    "z1*z2": 0.5938,
    "relu(z1) + relu(z2)": 1.2825,
    "abs(z1) + abs(z2)": 1.0680,
    "abs(z1) - abs(z2)": 0.7470,
    "z1**2 - z2**2": 0.5938,
    "z1**2 + z2**2": 1.0,
    "z1**2 + relu(z2)": 0.5618,
    "z1 + z1*z2": 1.0,
    "z1*relu(z2)": 1.0,
    "relu(z1)*relu(z2)": 3.4681,
    "max(abs(z1), abs(z2))": 1.0680,
    "tanh(z1) + tanh(z2)": 1.2629,
    "He3(z1) + z2**2": 0.8517,
    "relu(z1**2 + z2**2 - 1)": 1.0082,
    "sign(z1)*z2": 0.4576,
    "He2(z1)*z2": 1.0099,
    "z1**2*z2**2": 1.4615,
    "sigmoid(z1) + z2**2": 0.5074,
    "exp(z1)*z2": 1.0,
    "z1*z2*(z1 + z2)": 1.1319,
    "sin(z1*z2)": 1.2878,
}

NOISY = {
    ("z1**2 - z2**2", 0.01): 0.596,
    ("z1**2 + z2**2", 0.01): 1.002,
    ("z1**2 + relu(z2)", 0.01): 0.564,
    ("He2(z1)*z2", 0.01): 1.020,
    ("sigmoid(z1) + z2**2", 0.01): 0.509,
    ("z1**2*z2**2", 0.1): 1.609,
    ("He3(z1) + z2**2", 0.1): 0.882,
    ("relu(z1**2 + z2**2 - 1)", 0.1): 1.044,
    ("z1*z2*(z1 + z2)", 0.1): 1.313,
}

POINTS = [  # target, noise, alpha, limit in seconds
    ("sign(z1*z2)", 0.0, 3.0, 0.05),
    ("sign(z1*z2)", 0.0, 4.0, 0.05),
    ("sign(z1) + sign(z2)", 0.0, 2.6, 0.3),
    ("sign(z1 + z2**2 - 1)", 0.0, 4.0, 0.3),
    ("z1*z2", 0.1, 1.0, 0.3),
    ("max(z1, z2)", 0.1, 2.5, 0.3),
    ("max(z1, z2)", 0.0, 1.25, 0.3),  # its stages open at 0 and 0.997
    # Its stages open at 0 and 1.36; the posterior is narrow at the largest alphas.
    *(("relu(z1) + relu(z2)", 0.01, alpha, 0.3) for alpha in (0.4, 1.0, 1.7, 2.0, 2.5, 3.0, 10.0)),
    ("relu(z1)*z2", 0.01, 5.0, 0.3),
    ("tanh(z1) + relu(z2)", 0.01, 2.0, 0.3),
    ("tanh(z1) + relu(z2)", 0.01, 10.0, 0.3),
    ("abs(z1) + tanh(z2)", 0.01, 3.0, 0.3),
    ("z1*tanh(z2)", 0.01, 5.0, 0.3),
    ("z1**2 + relu(z2)", 0.1, 3.0, 0.3),
    ("relu(z1) + relu(z2) + relu(z1 + z2)", 0.05, 5.0, 0.3),  # breaks in three directions
    # Up to perfect recovery.
    ("z1*z2", 0.0, 2.5, 0.3),
    ("abs(z1) + abs(z2)", 0.0, 3.0, 0.3),
    # 0.8 and 1.2 times the threshold of the last stage, or 1 if all open at 0.
    *(
        (text, noise, round(factor * threshold, 4), 0.3)
        for (text, noise), threshold in NOISY.items()
        for factor in (0.8, 1.2)
    ),
    *(
        (text, 0.0, round(factor * threshold, 4), 0.3)
        for text, threshold in NOISELESS.items()
        for factor in (0.8, 1.2)
    ),
    ("tanh(z1*z2) + 0.5*z3", 0.05, 2.5, 10.0),
    ("z1**2 + sign(z1*z2*z3)", 0.0, 3.0, 10.0),
    ("z1*z2*z3", 0.0, 3.2, 10.0),  # up to perfect recovery
    ("z1*z2 + z3**2", 0.0, 2.0, 10.0),
    ("z1*z2 + z3**2", 0.1, 2.0, 10.0),
    ("z1**2 + z2*z3", 0.01, 2.0, 10.0),
]


def plain(evolution, alpha):
    """The map iterated from 1e-3 until it moves by less than 1e-6."""
    M = 1e-3 * np.eye(evolution.r)
    for _ in range(2000):
        new = overlap_step(averages(evolution.channel(0), M).information, alpha)
        if np.abs(new - M).max() < 1e-6:
            break
        M = new
    return M


def main() -> None:
    arguments = options(__doc__).parse_args()
    print(f"{'':48}{'CPU':>10}{'error':>10}{'plain':>10}   limit")
    results = []
    for text, noise, alpha, limit in POINTS:
        target = gd.Target(text, noise=noise)

        def point(target=target, alpha=alpha):
            shared_labels.cache_clear()  # nothing is remembered of the point before
            landscape_of.cache_clear()
            return gd.predict(target, "bayes_amp", alpha=alpha)

        error = float(point().overlap_err.max())  # also compiles
        seconds = interleaved_best({"point": point}, repeats=5)["point"]
        baseline = float("nan")
        if target.r < 3 and target.noise:
            evolution = StateEvolution(target)
            jobs = {"plain": lambda e=evolution, a=alpha: plain(e, a)}
            baseline = interleaved_best(jobs, repeats=1)["plain"]
        verdict = "ok" if seconds < limit else "TOO SLOW"
        name = f"{text}, {noise:g}, {alpha:g}"
        print(f"{name:48}{seconds:8.3f} s{error:10.0e}{baseline:8.2f} s   {limit:g} s {verdict}")
        results.append({"point": name, "seconds": seconds, "error": error, "plain": baseline})
    print(json.dumps(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""What channels cost: a point of state evolution at 1.2 times its threshold, labels included.

Run: python benchmarks/channels.py [--json FILE]. CPU times of a fresh target, best of 3, BLAS on
one thread. Limits: 0.05 s for r = 1, 0.5 s for r = 2, 5 s for r = 3; a stated error of at most
1e-3; thresholds to their stated error or to 0.3 %.
"""

import json
import math
import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from _timing import interleaved_best, options

import gradone as gd
from gradone.theory import amp_thresholds
from gradone.theory.bayes._framed import FramedEvolution

LIMITS = {1: 0.05, 2: 0.5, 3: 5.0}
POINTS = [  # target, noise, threshold of the last stage from a closed form or the literature
    ("z**2", 0.0, 0.5),
    ("He4(z)", 0.0, 0.644850),
    ("z**2", 0.1, 0.518066),
    ("z**2", 1.0, 0.646591),
    ("sign(z1*z2)", 0.0, math.pi**2 / 4),
    ("z1*z2", 0.0, 0.593751),
    ("z1*z2", 0.1, 0.6610),
    ("max(z1, z2)", 0.1, 1.262),
    ("relu(z1) + relu(z2)", 0.01, 1.3595),
    ("sign(z1) + sign(z2)", 0.0, 2.0524),
    ("z1*z2*z3", 0.0, 2.565180),
    ("tanh(z1*z2) + 0.5*z3", 0.05, 1.507),
    ("z1**2 + sign(z1*z2*z3)", 0.0, math.pi**2 / 4),
]


def main() -> None:
    """Print one row for each target."""
    chosen = options(__doc__).parse_args()
    rows = []
    print(f"{'target':26} {'noise':>5} {'CPU':>8} {'limit':>6} {'error':>8} {'threshold off':>14}")
    for text, noise, threshold in POINTS:
        target = gd.Target(text, noise=noise)
        alpha = 1.2 * threshold
        seconds = interleaved_best(
            {"point": lambda t=target, a=alpha: FramedEvolution(t).uninformed_curve([a])},
            repeats=3,
        )["point"]
        (point,) = FramedEvolution(target).uninformed_curve([alpha])
        found = amp_thresholds(target)[-1].threshold
        off = abs(found.value / threshold - 1)
        allowed = max(found.error / threshold, 3e-3)
        ok = seconds <= LIMITS[target.r] and point.error <= 1e-3 and off <= allowed
        rows.append(
            {"target": text, "noise": noise, "seconds": seconds, "limit": LIMITS[target.r]}
            | {"error": point.error, "threshold_off": off, "ok": bool(ok)}
        )
        print(
            f"{text:26} {noise:5g} {seconds:7.3f}s {LIMITS[target.r]:5g}s {point.error:8.1e} "
            f"{off:13.1e}  {'ok' if ok else 'MISSED'}",
            flush=True,
        )
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

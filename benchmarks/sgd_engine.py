"""Speed of the exact SGD engine: per step at several d, against SGD in d dimensions, compilation.

Run: python benchmarks/sgd_engine.py [--json FILE]. CPU times on one thread, best of 5; rows with a
limit say "ok" or "NOT". The fused minimum of a direct run is one pass over the numbers of a sample
for its fields, and one that changes weights and moments.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best, options
from numba import njit

import gradone as gd

STAIRCASE = "He2(z1) + sign(z1*z2*z3)"
STEPS = 200_000
STUDENTS = {
    "plain, width 1, r = 1": ("He3(z)", {"width": 1}),
    "plain, width 4, r = 3": (STAIRCASE, {"width": 4}),
    "extragradient, width 4, r = 3": (
        STAIRCASE,
        {"width": 4, "rule": "extragradient", "inner_step_size": 1e-6},
    ),
    "plain, width 8, r = 3": (STAIRCASE, {"width": 8}),
    "momentum, width 4, r = 3": (STAIRCASE, {"width": 4, "momentum": 0.9}),
    "muon, width 4, r = 3, batch 8": (
        STAIRCASE,
        {"width": 4, "optimizer": "muon", "batch_size": 8},
    ),
}
LIMITS = {
    "plain, width 4, r = 3, d = 1000: us per step": 0.42,  # 0.40 to five per cent
    "momentum, width 4, r = 3, d = 1000: us per step": 1.0,
    "muon, width 4, r = 3, batch 8, d = 1000: us per step": 8.0,
    **{f"{name}: d = 1e6 over d = 1e3": 1.05 for name in STUDENTS},
    **{f"direct {name}, over the fused minimum": 2.0 for name in ("sign", "adam")},
    **{f"first process, {kind}: s": 4.0 for kind in ("one sample", "momentum", "muon, batch")},
    **{f"second process, {kind}: s": 1.0 for kind in ("one sample", "momentum", "muon, batch")},
}
"""Largest values."""
LEAST = {"NumPy over engine, width 4, d = 10000": 200.0}
START = """
import time, numba
begin = time.process_time()
import gradone as gd
gd.dynamics.sgd({target!r}, d=1000, steps=1, step_size=1e-4, replicates=1, {arguments})
print(time.process_time() - begin)
"""


def engine(target: str, d: int, arguments: dict) -> None:
    gd.dynamics.sgd(
        target, d=d, steps=STEPS, step_size=1e-2 / d, replicates=1, record=[STEPS],
        progress=False, **arguments,
    )  # fmt: skip


def lean_network(d: int, steps: int) -> None:
    """Plain SGD of four relu neurons in d dimensions: two products with x, nothing else."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((4, d)) / np.sqrt(d)
    a, eta = np.array([1.0, -1.0, 1.0, -1.0]), 1e-2 / d
    for _ in range(steps):
        x = rng.standard_normal(d)
        field = W @ x
        e = x[0] ** 2 - 1 + np.sign(x[0] * x[1] * x[2]) - a @ np.maximum(field, 0)
        W += np.outer(eta * a * e * (field > 0), x)


@njit(cache=False, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def fused_minimum(W, hidden, first, second, X, adam):
    """What no direct run can do without: projections of a sample, one change of all numbers."""
    p, d = W.shape
    field = np.empty(p)
    for n in range(X.shape[0]):
        label = 0.0
        for k in range(hidden.shape[0]):
            for i in range(d):
                label += hidden[k, i] * X[n, i]
        for j in range(p):
            value = 0.0
            for i in range(d):
                value += W[j, i] * X[n, i]
            field[j] = value
        for j in range(p):
            for i in range(d):
                g = (label - field[j]) * X[n, i]
                if adam:
                    first[j, i] = 0.9 * first[j, i] + 0.1 * g
                    second[j, i] = 0.999 * second[j, i] + 0.001 * g * g
                    W[j, i] += 1e-9 * first[j, i] / (math.sqrt(second[j, i]) + 1e-8)
                else:
                    W[j, i] += 1e-9 if g > 0.0 else -1e-9
    return field[0]


def direct_rows() -> dict[str, float]:
    """Direct runs of signs and Adam in 10^4 dimensions, over the fused minimum."""
    d, steps, rows = 10**4, 500, {}
    rng = np.random.default_rng(0)
    W, first, second = (rng.standard_normal((4, d)) for _ in range(3))
    second, hidden = second**2, rng.standard_normal((3, d))
    for optimizer in ("sign", "adam"):

        def direct(optimizer: str = optimizer) -> None:
            gd.dynamics.sgd(
                STAIRCASE, d=d, width=4, steps=steps, step_size=1e-7, optimizer=optimizer,
                method="direct", record=[steps], replicates=1, progress=False,
            )  # fmt: skip

        def fused(adam: bool = optimizer == "adam") -> None:
            X = rng.standard_normal((steps, d), dtype=np.float32)  # samples are part of both
            fused_minimum(W, hidden, first, second, X, adam)

        direct(), fused()
        best = interleaved_best({"direct": direct, "fused": fused})
        rows[f"direct {optimizer}, width 4, d = 10000: us per step"] = 1e6 * best["direct"] / steps
        rows[f"direct {optimizer}, over the fused minimum"] = best["direct"] / best["fused"]
    return rows


def shared_rows() -> dict[str, float]:
    """Three optimizers on the same samples, over the sum of their own runs."""
    names = ["sign", "rmsprop", "adam"]

    def run(**optimizer: Any) -> None:
        gd.dynamics.sgd(
            STAIRCASE, d=10**4, width=4, steps=500, step_size=1e-7, method="direct", record=[500],
            replicates=1, progress=False, **optimizer,
        )  # fmt: skip

    jobs = {name: partial(run, optimizer=name) for name in names}
    jobs["together"] = partial(run, optimizers=names)
    jobs["together"]()
    best = interleaved_best(jobs)
    alone = sum(best[name] for name in names)
    return {"direct sign, rmsprop, adam together, over their own runs": best["together"] / alone}


def verdict(name: str, value: float) -> str:
    """Whether a row keeps its limit, if it has one."""
    if name in LIMITS:
        return f"limit {LIMITS[name]:g}: {'ok' if value <= LIMITS[name] else 'NOT'}"
    if name in LEAST:
        return f"at least {LEAST[name]:g}: {'ok' if value >= LEAST[name] else 'NOT'}"
    return ""


def first_call(folder: str, target: str, arguments: str) -> float:
    """CPU seconds of a fresh process from after `import numba` to the end of its first call."""
    code = START.format(target=target, arguments=arguments)
    environment = os.environ | {"GRADONE_CACHE": folder}
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return float(run.stdout)


def main() -> None:
    """Print the table; keep it as JSON on request."""
    arguments = options(__doc__).parse_args()
    rows: dict[str, float] = {}
    for name, (target, student) in STUDENTS.items():
        engine(target, 1000, student)  # compiled
        jobs = {
            str(d): lambda d=d, t=target, s=student: engine(t, d, s) for d in (1000, 10**4, 10**6)
        }
        best = interleaved_best(jobs)
        for d, seconds in best.items():
            rows[f"{name}, d = {d}: us per step"] = 1e6 * seconds / STEPS
        rows[f"{name}: d = 1e6 over d = 1e3"] = best["1000000"] / best["1000"]
    target, student = STUDENTS["plain, width 4, r = 3"]
    best = interleaved_best(
        {
            "NumPy": lambda: lean_network(10**4, 400),
            "engine": lambda: engine(target, 10**4, student),
        }
    )
    rows["NumPy in d = 10000 dimensions, width 4: us per step"] = 1e6 * best["NumPy"] / 400
    rows["NumPy over engine, width 4, d = 10000"] = best["NumPy"] / 400 / (best["engine"] / STEPS)
    rows |= direct_rows() | shared_rows()
    for kind, extra in {
        "one sample": "rule='extragradient', inner_step_size=1e-4, geometry='spherical'",
        "batch": "batch_size=8",
        "repeated batch": "batch_size=8, rule='extragradient', inner_step_size=1e-4",
        "momentum": "momentum=0.9",
        "muon, batch": "optimizer='muon', batch_size=8",
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            rows[f"first process, {kind}: s"] = first_call(folder, STAIRCASE, extra)
            rows[f"second process, {kind}: s"] = min(
                first_call(folder, STAIRCASE, extra) for _ in range(3)
            )
    for name, value in rows.items():
        print(f"{name:<60} {value:10.3f}  {verdict(name, value)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

"""Filtering layers on Gaussian inputs: test errors and CPU times against other learners.

Run: python benchmarks/neural_lofi.py [depth|others|presets|larger|growth] [--replicates R]
[--first I] [--seed S] [--record FILE]. Every replicate has a target of its own, with 4000 fresh
samples; all learners see the same samples. With a record a run that was cut goes on where it was,
and what the tables share is measured once. The table that is printed is that of the page on
filters.

depth    At most one layer of filters and at most three, at d = 64, and the trained layers of
         `Layerwise`. Limits, for medians of eight replicates: tanh(3 h) 0.20 at n = 1782 and 0.105
         at 4096; three branches 0.265; the tree of `deep_tree.py` 0.060; more filters better than
         one layer in at least seven of eight; at most three times the CPU time of `Layerwise`.
others   Six targets on which no setting was chosen. Limit: the mean error at most 1.03 times that
         of the quadratic kernel and of two trained layers, whichever is smaller.
presets  Against the presets of `Layerwise` and the kernel at several n. Limit: the mean error at
         most 1.03 times the smallest one.
larger   n = d^2 at d = 128 and 256. Limit: kernel > two trained layers > filters in every
         replicate.
growth   tanh(3 h) with n = 1.5, 2, 3, 4 and 6 times d^1.5 at d = 32, 64, 128 and 256: where the
         error falls as this many samples, whatever d is, its exponent is 3/2.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _record import Record
from deep_tree import tree
from depth import Predictor, kernel, layers

from gradone import Might, QuadraticForms, Sight, Target
from gradone.learners import Layerwise, NeuralLoFi
from gradone.targets.sampled import Sampled
from gradone.targets.sampling import Sample

D, FRESH = 64, 4000
WITHIN, SLOWER = 1.03, 3.0
P = "He2(z)/2 + He3(z)/6"
Fit = Callable[[np.ndarray, np.ndarray, int], Predictor]

SIGHT = Sight("tanh(3*h)", P)
MIGHT = Might("tanh(3*h)", P, branches=3, exponent=0.387)
LIMITS = {("sight", 1782): 0.20, ("sight", 4096): 0.105, ("might", 4096): 0.265}
LIMITS |= {("tree", 8000): 0.060}
TARGETS: dict[str, Sampled] = {
    "sight": SIGHT,
    "might": MIGHT,
    "tree": tree("A"),
    "forms": QuadraticForms("tanh(3*h)"),
    "slower forms": QuadraticForms("tanh(2*h)"),
    "sine": Sight("sin(2*h)", "He2(z)/sqrt(2)"),
    "two branches": Might("relu(h)", "0.5*z + 0.6*He2(z)", branches=2, exponent=0.4),
    "staircase": Target("z1 + z1*z2 + z1*z2*z3"),
    "product and line": Target("tanh(z1*z2) + z3", noise=0.1),
    "kinks": Target("relu(z1) + relu(z2) - abs(z3)", noise=0.1),
}
OTHERS = ("slower forms", "sine", "two branches", "staircase", "product and line", "kinks")
SIZES = {
    "sight": (1024, 1782, 4096, 16384),
    "might": (2048, 4096, 8192, 16384),
    "tree": (4000, 8000, 16000),
    "forms": (2048, 4096, 8192, 16384),
}


def filters(count: int) -> Fit:
    """At most so many layers of filters."""
    return lambda X, y, seed: NeuralLoFi(count, random_state=seed).fit(X, y).predict


def preset(name: str) -> Fit:
    """A preset of Layerwise as it comes."""
    return lambda X, y, seed: Layerwise(name, random_state=seed).fit(X, y).predict


LEARNERS: dict[str, Fit] = {
    "filters": filters(3),
    "one layer": filters(1),
    "kernel": kernel,
    "two layers": lambda X, y, seed: layers(X, y, seed, count=2),
    "practical": preset("practical"),
    "spectral": preset("spectral"),
}


class Cell(NamedTuple):
    """A target at a size, and the learners that are compared there, filters first."""

    target: str
    d: int
    n: int
    learners: tuple[str, ...]


def cells(what: str) -> list[Cell]:
    """Rows of a table."""
    against = ("filters", "kernel", "two layers")
    if what == "depth":
        return [Cell(name, D, n, ("filters", "one layer", "practical")) for name, n in LIMITS]
    if what == "others":
        return [Cell(name, D, n, against) for name in OTHERS for n in (2048, 4096)]
    if what == "presets":
        learners = ("filters", "kernel", "practical", "spectral")
        return [Cell(name, D, n, learners) for name, sizes in SIZES.items() for n in sizes]
    if what == "larger":
        return [Cell(name, d, d * d, against) for d in (128, 256) for name in ("sight", "might")]
    sizes = [(d, round(c * d**1.5)) for d in (32, 64, 128, 256) for c in (1.5, 2, 3, 4, 6)]
    return [Cell("sight", d, n, ("filters",)) for d, n in sizes]


class Found(NamedTuple):
    """Test errors and CPU seconds (replicates,) of the learners of a cell."""

    errors: dict[str, np.ndarray]
    seconds: dict[str, np.ndarray]


@lru_cache(1)
def samples(name: str, d: int, n: int, seed: int, replicate: int) -> Sample:
    """Samples to learn from, and fresh ones behind them."""
    return TARGETS[name].sample(n=n + FRESH, d=d, seed=seed, replicate=replicate)


def one(cell: Cell, seed: int, replicate: int, learner: str) -> tuple[float, float]:
    """Test error and CPU seconds of a learner."""
    n, s = cell.n, samples(*cell[:3], seed, replicate)
    start = time.process_time()
    made = LEARNERS[learner](s.X[:n], s.y[:n], replicate)
    seconds = time.process_time() - start
    error = float(np.mean((made(s.X[n:]) - s.y[n:]) ** 2))
    return round(error, 5), round(seconds, 2)


def measured(cell: Cell, seed: int, replicates: range, record: Record) -> Found:
    """Errors and seconds of a cell, those of the record or new ones."""
    name, d, n, learners = cell
    rows: dict[str, list[tuple[float, float]]] = {learner: [] for learner in learners}
    for replicate in replicates:
        for learner in learners:
            place = f"{name} d={d} n={n} seed={seed} {replicate} {learner}"
            rows[learner].append(record(place, partial(one, cell, seed, replicate, learner)))
    errors = {learner: np.array(found)[:, 0] for learner, found in rows.items()}
    seconds = {learner: np.array(found)[:, 1] for learner, found in rows.items()}
    return Found(errors, seconds)


def verdict(what: str, cell: Cell, found: Found) -> str:
    """Whether the limits of a table hold in a row."""
    errors, seconds = found
    own = errors["filters"]
    if what == "growth":
        return ""
    if what == "depth":
        better = int(np.sum(own < errors["one layer"]))
        slower = np.median(seconds["filters"]) / np.median(seconds["practical"])
        limit = LIMITS[cell.target, cell.n]
        ok = np.median(own) <= limit and better >= 7 / 8 * len(own) and slower <= SLOWER
        told = f"median {np.median(own):.3f} of {limit}, {better} of {len(own)}, {slower:.1f} times"
    elif what == "larger":
        pairs = zip(cell.learners[1:], (*cell.learners[2:], "filters"), strict=True)
        ok = all((errors[a] > errors[b]).all() for a, b in pairs)
        told = "ordered"
    else:
        ratio = own.mean() / min(errors[name].mean() for name in cell.learners[1:])
        ok, told = ratio <= WITHIN, f"{ratio:.3f}"
    return told if ok else f"{told}: NOT ENOUGH"


def table(what: str, rows: list[tuple[Cell, Found]]) -> str:
    """Means, smallest and largest test errors, and median CPU seconds, as a table of Markdown."""
    learners = rows[0][0].learners
    lines = ["| " + " | ".join(("target", "d", "n", *learners, "CPU s", "")) + " |"]
    lines.append("|---" * (len(learners) + 5) + "|")
    for cell, found in rows:
        errors = [f"{e.mean():.3f} ({e.min():.3f} to {e.max():.3f})" for e in found.errors.values()]
        seconds = ", ".join(f"{np.median(s):.1f}" for s in found.seconds.values())
        entries = (cell.target, str(cell.d), str(cell.n), *errors, seconds)
        lines.append("| " + " | ".join((*entries, verdict(what, cell, found))) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    modes = ("depth", "others", "presets", "larger", "growth")
    parser.add_argument("what", nargs="?", choices=modes, default="depth")
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate")
    parser.add_argument("--seed", type=int, default=24, help="of the targets and the samples")
    parser.add_argument("--d", type=int, help="only this dimension")
    parser.add_argument("--record", type=Path, help="where measurements are kept and looked up")
    given = parser.parse_args()
    replicates = range(given.first, given.first + given.replicates)
    chosen = [cell for cell in cells(given.what) if given.d in (None, cell.d)]
    record = Record(given.record, sum(len(cell.learners) for cell in chosen) * len(replicates))
    rows = [(cell, measured(cell, given.seed, replicates, record)) for cell in chosen]
    print(table(given.what, rows))

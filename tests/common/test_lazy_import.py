"""Starting gradone is quick because nothing heavy is imported before it is needed."""

import os
import subprocess
import sys

HEAVY = "scipy scipy.stats sympy sklearn xarray matplotlib numba dask pandas pydantic".split()


def cpu_seconds(*arguments, runs):
    """Least CPU time of a fresh interpreter, children included, over some runs."""
    times = []
    for _ in range(runs):
        before = os.times()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        times.append(
            after.children_user
            - before.children_user
            + after.children_system
            - before.children_system
        )
    return min(times)


def imported_by(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(run.stdout.split())


def test_import_loads_nothing_heavy():
    assert imported_by("import gradone").isdisjoint(HEAVY)


def test_command_line_loads_nothing_heavy():
    assert imported_by("import gradone.cli").isdisjoint([*HEAVY, "numpy"])


def test_import_costs_little_more_than_numpy():
    numpy_alone = cpu_seconds("-c", "import numpy", runs=5)
    assert cpu_seconds("-c", "import gradone", runs=5) < numpy_alone + 0.25


def test_help_is_quick():
    assert cpu_seconds("-c", "from gradone.cli import main; main()", "--help", runs=3) < 0.6


def test_one_theory_and_one_learner_load_their_own_family():
    """Would catch: a registry that imports the whole room to find one name."""
    found = imported_by("import gradone; gradone.theory.THEORIES['random_features']")
    others = [f"gradone.theory.{family}" for family in ("bayes", "sgd", "giant", "depth")]
    assert found.isdisjoint(others)
    found = imported_by("import gradone; gradone.learners.OnlineSGD")
    others = [f"gradone.learners.{family}" for family in ("bayes", "lazy", "depth", "tables")]
    assert found.isdisjoint(others)

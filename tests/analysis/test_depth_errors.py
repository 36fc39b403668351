"""Bad input to the analysis of hierarchical targets is refused with a reason.

"Canonical" is the published example: P = He2/2 + He3/6, g = tanh(3h), D about sqrt(d).
"""

import math
import subprocess
import sys

import pytest

from gradone.analysis.depth import (
    checklist,
    energies,
    non_gaussianity,
    plateau,
    required_exponent,
)
from gradone.base.errors import BadData, OutOfRegime, TargetError
from gradone.targets.hierarchical import Might, Sight, Tree
from gradone.targets.target import Target

P = "He2(z)/2 + He3(z)/6"


@pytest.fixture
def canonical():
    return Sight("tanh(3*h)", P, exponent=0.5)


def test_impossible_sizes_are_refused():
    with pytest.raises(OutOfRegime, match="with exponent 1 only one branch"):
        energies(Might("tanh(h)", P, branches=2, exponent=1.0), 2)
    with pytest.raises(BadData, match=r"branches \* D <= d"):
        non_gaussianity(Might("tanh(h)", P, branches=3, exponent=0.9), 64)
    with pytest.raises(TargetError, match="must have mean 0"):
        Sight("tanh(h)", "z**2")
    with pytest.raises(OutOfRegime, match="standardize=True"):
        energies(Tree("tanh(h)", ["He2(z)", "He2(z)"], [0.8, 0.4], standardize=False), 2)
    with pytest.raises(OutOfRegime, match="equal ones"):
        energies(Might("tanh(h)", P, branches=2, signs=[[1.0, 1.0], [2.0, 2.0]]), 2)
    with pytest.raises(OutOfRegime, match=r"\+1 or -1"):
        energies(Tree("tanh(h)", ["z", "z"], [0.8, 0.4], signs=[[1.0, 2.0], [1.0]]), 2)


def test_levels_without_standardization_use_their_variance():
    """An odd middle function stays centered at any variance."""
    free = Tree("tanh(h)", ["He2(z)", "z + He3(z)"], [0.8, 0.4], standardize=False)
    middle = "sqrt(2)*z + (2*sqrt(2)*z**3 - 3*sqrt(2)*z)"
    same = Tree("tanh(h)", ["He2(z)", middle], [0.8, 0.4])
    for a, b in zip(energies(free, 6).phi, energies(same, 6).phi, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: plateau(t, -0.1), "kappa"),
        (lambda t: plateau(t, math.nan), "kappa"),
        (lambda t: plateau(t, 1.0, "three_layers"), "Did you mean 'three_layer'"),
        (lambda t: required_exponent(t, "lazy", 0), "degree"),
        (lambda t: energies(t, -1), "degree"),
        (lambda t: energies(t, 1.5), "degree"),
        (lambda t: checklist(t, k=0), "k must be"),
        (lambda t: checklist(t, loss="hinge"), "loss"),
        (lambda t: checklist(t, bias=-1.0), "bias"),
        (lambda t: checklist(t, "z1*z2"), "activation"),
    ],
)
def test_bad_arguments_are_named(canonical, call, message):
    with pytest.raises((BadData, TargetError), match=message):
        call(canonical)


def test_plain_targets_are_refused():
    with pytest.raises(BadData, match="hierarchical target"):
        energies(Target("tanh(z)"), 2)


def test_import_is_light():
    code = (
        "import sys, gradone.analysis.depth as h;"
        "from gradone.targets.hierarchical import Sight;"
        "t = Sight('tanh(3*h)', 'He2(z)/2'); h.checklist(t); h.plateau_steps(t);"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"scipy.stats", "scipy.optimize", "sympy", "xarray", "numba", "pandas", "sklearn"}
    assert heavy.isdisjoint(run.stdout.split())

"""Reported errors bound the true ones, and no exponent is wrong: against independent truth."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

import gradone as gd
from gradone.analysis.queries.learnability import learnability
from gradone.analysis.queries.operators import query_strength
from gradone.base.estimate import Estimate
from gradone.channels.conditional.given import output_grams
from gradone.targets.language.expression import Expression

sys.path.insert(0, str(Path(__file__).parent))
from coverage_cases import CASES, SLOW, Case
from exponent_cases import EXPONENTS


@cache
def measured(case: Case) -> Estimate:
    f = Expression(case.text)
    match case.kind:
        case "threshold":
            return learnability(f, case.noise).stages[case.number].threshold
        case "strength":
            gram = output_grams(f, case.noise, [case.number])[case.number]
            return query_strength(gram, f.r, case.number)
        case _:
            return f.hermite(case.number).energy(case.number)


def deviation(case: Case) -> float:
    """Distance from the truth in units of the reported error and of the truth's own."""
    found, truth = measured(case), case.truth()
    return abs(found.value - truth.value) / (found.error + truth.error + 1e-15)


# More than a second of work.
LONGER = {"z1*z2 + z2*z3 + z1*z3", "z1*z2 + z1*z2*z3", "z1*z2 + sign(z1*z2*z3)"}
LONGER |= {"sign(z1*z2*z3*z4*z5)"}


def marks(text: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.stat] if text in LONGER else []


def marked(case: Case) -> object:
    return pytest.param(
        case, id=case.name, marks=[pytest.mark.slow] if case in SLOW else marks(case.text)
    )


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_a_number_lies_near_its_independent_value(case):
    """Would catch: operator norms, squared slice noise, roots or mass lost, blurred outputs."""
    assert deviation(case) <= 2
    if case.kind == "threshold":
        assert measured(case).error <= 0.003 * case.truth().value


@pytest.mark.slow
def test_reported_errors_bound_the_true_ones():
    missed = [f"{case.name}: {deviation(case):.2f}" for case in CASES if deviation(case) > 1]
    assert len({(case.text, case.noise) for case in CASES}) >= 100
    assert len(missed) <= 0.05 * len(CASES), "\n".join(missed)


UNDECIDED = {"sin(9*z1)", "sin(10*z1)"}  # beyond double precision


@pytest.mark.parametrize(
    ("text", "noise", "information", "leap", "generative"),
    [pytest.param(*case, marks=marks(case[0])) for case in EXPONENTS],
)
def test_no_exponent_is_wrong(text, noise, information, leap, generative):
    found = gd.analyze(gd.Target(text, noise=noise))
    exponents = (found.information_exponent, found.leap_exponent, found.generative_exponent)
    if text in UNDECIDED:
        assert exponents == (None, None, None)
        assert found.learnability is None
    else:
        assert exponents == (information, leap, generative)

"""What every theory of the table owes: its formula, its sources, its limits, sound curves."""

import functools
import inspect
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gradone as gd
from gradone.base.curves import DIMENSIONS, STATUS
from gradone.base.references import cited_keys
from gradone.targets.training import parameters_of
from gradone.theory._registry import THEORIES, Theory, obstacle

TAG = re.compile(r"\[[A-Z]{2,3}-\d+\]")
TARGETS = [
    gd.Target("z", noise=0.5),
    gd.Target("z"),
    gd.Target("sign(z1*z2)"),
    gd.Sight(outer="tanh(3*h)", inner="He2(z)/2", exponent=0.5),
]
NINE = gd.Target("z1*z2*z3*z4*z5*z6*z7*z8*z9")
VALUE = 2.0  # of an axis, where a test needs just one
# Of parameters that are no axes and have no default, by name.
PARAMETERS: dict[str, object] = {"step_size": 0.1, "batch_ratio": 4.0, "steps": 6}


@pytest.fixture(params=list(THEORIES))
def theory(request):
    return THEORIES[request.param]


@cache
def example(name):
    """Target that a theory covers, and the parameters that it needs besides the axes."""
    one = THEORIES[name]()
    covered = [target for target in TARGETS if not obstacle(one, target)]
    assert covered, f"'{name}' covers none of the targets of this test: add one that it does"
    signature = parameters_of(one.predict)
    needed = [p for p in signature if p != "target" and p not in one.axes]
    empty = inspect.Parameter.empty
    return covered[0], {p: PARAMETERS[p] for p in needed if signature[p].default is empty}


@cache
def prediction(name):
    """Curve at one point of every axis, given as a number."""
    target, parameters = example(name)
    return gd.predict(target, name, **parameters, **dict.fromkeys(THEORIES[name].axes, VALUE))


def test_there_are_theories():
    assert len(THEORIES) > 0


def test_it_is_a_theory_and_says_what_it_answers(theory):
    assert issubclass(theory, Theory)
    assert theory.answers
    assert set(theory.axes) <= DIMENSIONS
    assert set(theory.axes) <= set(inspect.signature(theory.predict).parameters)


def test_docstring_has_a_formula_with_a_tag_that_the_code_repeats(theory):
    text = inspect.getdoc(theory)
    assert ".. math::" in text
    tags = TAG.findall(text)
    assert tags, "the formula has no tag like [SE-1]"
    room = Path(inspect.getsourcefile(theory)).parent
    code = "".join(p.read_text(encoding="utf-8") for p in sorted(room.glob("*.py")))
    assert [tag for tag in tags if code.count(tag) < 2] == []


def test_regime_is_a_line_of_text(theory):
    assert len(theory.regime) > 20
    assert "\n" not in theory.regime


def test_references_resolve(theory):
    assert theory.cites
    assert cited_keys(theory) == theory.cites
    assert len(gd.cite(theory).splitlines()) == len(theory.cites)


def test_a_number_gives_a_curve_of_one_point(theory):
    found = prediction(theory.name)
    assert [found.sizes[axis] for axis in theory.axes] == [1] * len(theory.axes)
    assert [found[axis].item() for axis in theory.axes] == [VALUE] * len(theory.axes)


def test_curve_says_where_it_is_from_and_holds_what_was_promised(theory):
    found = prediction(theory.name)
    assert found.attrs["source"] == f"theory:{theory.name}"
    assert found.attrs["target"] == example(theory.name)[0].text
    quantities = {str(v).removesuffix("_err") for v in found.data_vars} - STATUS
    assert quantities
    assert quantities <= set(theory.answers)
    assert ("converged" in found) == ("status" in found)


def test_predictions_are_deterministic(theory):
    target, parameters = example(theory.name)
    axes = dict.fromkeys(theory.axes, VALUE)
    assert gd.predict(target, theory.name, **parameters, **axes).identical(prediction(theory.name))


def test_more_points_do_not_move_a_point(theory):
    """Would catch: a solver that starts each point where the one before ended, and keeps it."""
    target, parameters = example(theory.name)
    axes = dict.fromkeys(theory.axes, [1.5 * VALUE, VALUE])
    longer = gd.predict(target, theory.name, **parameters, **axes)
    point = longer.sel(dict.fromkeys(theory.axes, [VALUE]))
    for name in set(theory.answers) & set(point.data_vars):
        allowed = point[f"{name}_err"] + prediction(theory.name)[f"{name}_err"] + 1e-12
        gap = abs(point[name] - prediction(theory.name)[name])
        assert bool((gap <= allowed).all() | np.isnan(gap).all()), name


def test_a_theory_that_gives_up_leaves_nan_for_all_that_it_answers(theory, monkeypatch):
    """Would catch: a failed curve on which ``curve.test_mse`` is an AttributeError."""
    expected = prediction(theory.name)  # before the theory gives up

    def give_up(self, target, **axes):
        raise gd.NotConverged("the integrals are too rough")

    target, parameters = example(theory.name)
    monkeypatch.setattr(theory, "predict", functools.wraps(theory.predict)(give_up))
    axes = dict.fromkeys(theory.axes, VALUE)
    found = gd.predict(target, theory.name, on_failure="mark", **parameters, **axes)
    assert set(expected.data_vars) <= set(found.data_vars) | STATUS
    assert not found.converged.values.any()
    assert set(found.status.values.ravel()) == {"the integrals are too rough"}
    assert all(np.isnan(found[v].values).all() for v in found.data_vars if v not in STATUS)


def test_bad_axes_are_refused(theory):
    target, parameters = example(theory.name)
    axes = parameters | dict.fromkeys(theory.axes, VALUE)
    limits = {0.0: theory.may_be_zero, np.inf: theory.may_be_infinite}
    for axis in theory.axes:
        for bad in (0.0, -1.0, np.nan, np.inf, [], "much"):
            if isinstance(bad, float) and axis in limits.get(bad, ()):
                continue
            with pytest.raises(gd.BadData, match=axis):
                gd.predict(target, theory.name, **(axes | {axis: bad}))
    with pytest.raises(gd.BadData, match="no parameter 'astrology'"):
        gd.predict(target, theory.name, **axes, astrology=1)


def test_a_target_of_nine_directions_is_covered_or_refused_with_a_reason(theory):
    reason = obstacle(theory(), NINE)
    axes = example(theory.name)[1] | dict.fromkeys(theory.axes, VALUE)
    if reason is None:
        gd.predict(NINE, theory.name, **axes)
        return
    assert len(reason) > 10
    assert not reason.endswith(".")
    with pytest.raises(gd.OutOfRegime, match=re.escape(reason)):
        gd.predict(NINE, theory.name, **axes)

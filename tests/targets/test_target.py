"""Targets: their text is their identity, their function is g, their moments are Gaussian."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradone as gd
from gradone.targets.activation import Activation

EYE = np.eye(4)

TEXTS = ["He2(z1) + sign(z1*z2*z3)", "relu(z)", "  z1^2 - 1 ", "tanh(z2)", "sign(z1*z2)"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("noise", [0.0, 0.1, 1e-7])
def test_repr_rebuilds_the_target(text, noise):
    target = gd.Target(text, noise=noise)
    again = eval(repr(target), {"Target": gd.Target})  # noqa: S307
    assert again == target
    assert (again.text, again.noise) == (text.strip(), noise)
    assert ("noise" in repr(target)) == (noise > 0)


@pytest.mark.parametrize("text", TEXTS)
def test_pickle_gives_the_same_target_even_after_use(text):
    target = gd.Target(text, noise=0.2)
    _ = target.variance, target.channel.atoms, target.hermite(2)
    again = pickle.loads(pickle.dumps(target))  # noqa: S301
    assert again == target
    assert hash(again) == hash(target)
    assert np.array_equal(again.sample(n=5, d=9).y, target.sample(n=5, d=9).y)


def test_equal_targets_are_those_with_one_canonical_form_and_noise():
    assert gd.Target("z2*z1 + 1.0*He2(z)") == gd.Target("He2(z1) + z1*z2")
    assert len({gd.Target("z"), gd.Target("z1"), gd.Target(" z1 "), gd.Target("1*z1")}) == 1
    assert gd.Target("z") != gd.Target("z", noise=0.1)
    assert gd.Target("z1") != gd.Target("z2")
    assert gd.Target("z") != "z"


def test_a_target_cannot_be_changed():
    target = gd.Target("z")
    with pytest.raises(AttributeError):
        target.noise = 1.0
    with pytest.raises(AttributeError):
        target.text = "z**2"


def test_r_is_the_largest_index_used():
    assert [gd.Target(t).r for t in ("z", "z3", "z1*z9")] == [1, 3, 9]


@given(shape=st.lists(st.integers(0, 4), max_size=3))
def test_a_target_maps_points_to_values_of_any_shape(shape):
    z = np.zeros((*shape, 2))
    assert gd.Target("z1 + z2").__call__(z).shape == tuple(shape)


def test_a_target_follows_the_array_library(xp):
    z = xp.asarray([[0.5, 2.0], [-1.0, 3.0]], dtype=xp.float64)
    y = gd.Target("relu(z1)*z2 + He2(z1)")(z)
    assert type(y) is type(z)
    assert [float(v) for v in y] == [1.0 - 0.75, 0.0]


def test_wrong_points_are_refused():
    with pytest.raises(gd.BadData, match=r"shape \(\.\.\., 2\) because the function has r = 2"):
        gd.Target("z1*z2")([[1.0, 2.0, 3.0]])


def test_link_is_the_function_of_one_variable():
    target = gd.Target("z**2")
    assert target.link(3.0) == 9.0
    assert target.link(np.ones((2, 3))).shape == (2, 3)
    with pytest.raises(
        gd.BadData, match="link is a function of one variable, the target has r = 2"
    ):
        _ = gd.Target("z1*z2").link


def test_kinks_are_where_the_link_breaks():
    assert gd.Target("relu(z - 1) + abs(z)").kinks == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "value", "tolerance"),
    [
        ("He2(z)/2 + He3(z)/6", 2 / 3, 0.0),
        ("z1*z2 + 5", 1.0, 0.0),
        ("relu(z)", 0.5 - 1 / (2 * math.pi), 1e-13),
        ("sign(z1*z2) + 3", 1.0, 1e-13),
        ("He2(z1) + sign(z1*z2*z3)", 3.0, 1e-13),
        ("sin(z)", (1 - math.exp(-2)) / 2, 1e-13),
    ],
)
def test_variance_is_that_of_the_function(text, value, tolerance):
    estimate = gd.Target(text, noise=7.0).variance
    assert abs(estimate.value - value) <= max(tolerance, 1e-16)
    assert abs(estimate.value - value) <= estimate.error + 1e-16
    assert (estimate.kind == "exact") == (tolerance == 0)


def test_hermite_energies_are_those_of_the_function():
    assert [float(e) for e in gd.Target("He2(z1) + z2").hermite(3).energies] == [0, 1, 2, 0]


@pytest.mark.parametrize("noise", [-0.1, math.nan, math.inf, "loud", None, True])
def test_impossible_noise_is_refused(noise):
    with pytest.raises(
        gd.BadData, match="noise is the variance of the label noise, a finite number"
    ):
        gd.Target("z", noise=noise)


def test_the_notebook_shows_the_formula_and_the_noise():
    shown = gd.Target("He2(z1)", noise=0.25)._repr_html_()
    assert r"y = \mathrm{He}_{2}\left(z_{1}\right) + \sqrt{0.25}\,\xi" in shown


def test_a_committee_is_the_mean_of_its_members_typed_out():
    committee = gd.Committee(r=3, activation="erf(z)")
    assert committee.text == "(erf(z1) + erf(z2) + erf(z3))/3"
    z = np.array([[0.1, -0.7, 2.0]])
    assert committee(z) == pytest.approx(np.mean([math.erf(v) for v in z[0]]))
    assert gd.Committee(r=1, activation="relu(z)") == gd.Target("relu(z)")
    assert gd.Committee(r=9).r == 9


def test_the_activation_of_a_committee_may_be_any_function_of_z():
    committee = gd.Committee(r=2, activation="-z1 + z**2/sqrt(2)", noise=0.5)
    assert committee == gd.Target("(-z1 + z1**2/sqrt(2) - z2 + z2**2/sqrt(2))/2", noise=0.5)
    with pytest.raises(gd.TargetError, match="a function of z alone, but 'z1[*]z2' uses z1, z2"):
        gd.Committee(activation="z1*z2")


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: gd.Target("relux(z)"), "the target"),
        (lambda: Activation("relux(z)"), "the activation"),
        (lambda: gd.predict("z", "lazy", kappa=1.0, activation="relux(z)"), "the activation"),
        (lambda: gd.learners.GiantStep(activation="relux(z)").fit(EYE, EYE[0]), "the activation"),
        (lambda: gd.Committee(activation="relux(z)"), "the activation of a committee"),
        (lambda: gd.Sight(outer="relux(h)", inner="He2(z)", exponent=0.5), "the outer function"),
        (lambda: gd.Might(outer="relux(h1)", inner="He2(z)", exponent=0.5), "the outer function"),
        (lambda: gd.Sight(outer="tanh(h)", inner="relux(z)", exponent=0.5), "the inner function"),
    ],
)
def test_errors_call_a_function_what_it_is(make, what):
    with pytest.raises(gd.TargetSyntaxError, match=f"unknown function 'relux' in {what}, column 1"):
        make()


@pytest.mark.parametrize("text", ["tanh(z", "?", "2z", "(" * 30 + "z", "3"])
def test_no_error_of_an_activation_speaks_of_a_target(text):
    with pytest.raises(gd.TargetError) as caught:
        Activation(text)
    assert "the activation" in str(caught.value)
    assert "target" not in str(caught.value)


@pytest.mark.parametrize("r", [0, 10, 2.0])
def test_impossible_committees_are_refused(r):
    with pytest.raises(gd.BadData, match="r must be"):
        gd.Committee(r=r)

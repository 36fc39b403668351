"""The summary of a target: facts in words, distribution of the labels, moments."""

import json
import math

import numpy as np
import pytest

import gradone as gd
from gradone.targets.distribution import distribution
from gradone.targets.facts import facts, linear_form
from gradone.targets.language.abbreviations import ABBREVIATIONS
from gradone.targets.language.expression import Expression
from gradone.targets.language.functions import FUNCTIONS
from gradone.targets.summary import summarize
from gradone.targets.vocabulary import vocabulary


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("z1**3 + z2", "polynomial of degree 3"),
        ("tanh(z1)", "not a polynomial"),
        ("z1**2*z2", "even in z1"),
        ("z1**2*z2", "odd in z2"),
        ("He2(z1) + sign(z1*z2)", "even when both of (z1, z2) change sign"),
        ("tanh(z1 + z2)", "odd when all variables change sign"),
        ("tanh(z1 - 2*z3)", "depends on z through z1 - 2*z3 only"),
        ("tanh(z1) + relu(z2)", "sum of functions of one variable each"),
        ("tanh(z1)*relu(z2)", "product of functions of one variable each"),
        ("sign(z1*z2)", "depends on the direction of z only, not on its length"),
        ("relu(z1 + z2)**2", "homogeneous of degree 2"),
        ("step(abs(z) - 1)", "breaks on z1 = 0, z1 = -1, z1 = 1"),
        ("max(z1, z2)", "breaks on z1 - z2 = 0"),
        ("sign(z1 + z2**3/2)", "breaks on curved surfaces"),
        ("tanh(z1*z2)", "smooth"),
        ("sign(z1) + step(z2)", "takes finitely many values"),
    ],
)
def test_fact_is_stated(text, fact):
    assert fact in facts(Expression(text))


@pytest.mark.parametrize(
    ("text", "word"),
    [("z1 + z2**2", "even in z1"), ("relu(z)", "odd"), ("z1*z2", "not a"), ("z1", "finitely")],
)
def test_nothing_false_is_stated(text, word):
    assert not any(word in fact for fact in facts(Expression(text)))


def test_linear_form_is_scaled_by_its_first_coefficient():
    assert linear_form([-2.0, 1.0, 0.0]) == "z1 - 0.5*z2"


def test_distribution_is_a_probability(rng):
    y = np.maximum(rng.standard_normal(20_000), 0.0)
    found = distribution(y)
    atoms = math.fsum(p.value for _, p in found.atoms)
    assert [value for value, _ in found.atoms] == [0.0]
    assert atoms + found.shares.sum() + found.outside == pytest.approx(1.0, abs=1e-12)
    assert found.outside <= 0.01


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_discrete_labels_have_atoms_only(rng, scale):
    found = distribution(scale * rng.integers(0, 3, 10_000).astype(float))
    assert found.is_discrete
    assert [a.value for a in found.atoms] == [0.0, scale, 2 * scale]


def test_a_flat_function_is_not_an_atom(rng):
    """Would catch: telling values apart by their distance relative to the largest one."""
    assert distribution(rng.standard_normal(20_000) ** 12).atoms == ()


def test_empty_sample_is_refused():
    with pytest.raises(gd.BadData, match="at least one label"):
        distribution(np.empty(0))


def test_labels_include_the_noise():
    assert summarize(gd.Target("sign(z)", noise=0.01)).labels.atoms == ()
    atoms = summarize(gd.Target("sign(z)")).labels.atoms
    assert [(a.value, round(a.probability.value, 12)) for a in atoms] == [(-1, 0.5), (1, 0.5)]


def test_energies_add_up_to_the_second_moment():
    summary = summarize(gd.zoo("he2-parity3"))
    total = math.fsum(e.value for e in summary.energies) + summary.tail.value
    assert total == pytest.approx(summary.variance.value + summary.mean.value**2, abs=1e-12)


def test_sampled_moments_of_a_hierarchical_target_agree_with_the_exact_ones():
    """One level with the identity on top: Var y = Var P, here 1/2."""
    target = gd.zoo("sight-identity")
    summary = summarize(target, d=32)
    assert summary.widths == (5, 1)
    assert summary.variance.agrees_with(0.5)
    assert summary.mean.agrees_with(0.0)


def test_too_many_mixed_variables_give_a_note_and_the_rest():
    summary = summarize(gd.Target("tanh(z1*z2*z3*z4*z5*z6)"))
    assert summary.energies == ()
    assert "mixes 6 variables" in summary.notes[0]
    assert summary.labels.shares.sum() > 0.9


@pytest.mark.parametrize("name", ["parity3", "relu", "might3"])
def test_summary_is_json(name):
    found = json.loads(json.dumps(summarize(gd.zoo(name)).to_dict(), allow_nan=False))
    assert found["text"] == gd.zoo(name).text


def test_every_function_has_a_meaning():
    words = " ".join(vocabulary())
    missing = [
        name
        for name in (*FUNCTIONS, *ABBREVIATIONS)
        if not name.startswith("He") and name not in words
    ]
    assert missing == []
    assert all(vocabulary().values())

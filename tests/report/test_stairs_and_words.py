"""The verdict in words and the staircase picture say what the analysis says."""

import shlex

import pytest

import gradone as gd
from gradone.report.stairs import draw_stairs, giant_steps, grand_steps, level_steps
from gradone.report.study import Study
from gradone.report.words import command, exponent_cards, verdict


def analyzed(target):
    return gd.analyze(gd.Target(target) if isinstance(target, str) else target)


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        (
            "tanh(z)",
            "Trivial: all directions are visible with any number of samples proportional to d",
        ),
        ("sign(z1*z2)", "Easy: all directions are found above n/d = π²/4 = 2.467"),
        (
            "sign(z1*z2 + 0.3*z3)",
            "Easy: all directions are found above n/d = 2.073(3) or more",
        ),
        ("sign(z1*z2*z3)", "Hard: no efficient algorithm finds span(z1, z2, z3) with n = O(d)"),
    ],
)
def test_headline_names_the_class_and_what_decides(text, headline):
    assert verdict(analyzed(text))[0].startswith(headline)


def test_sentences_tell_the_stages_and_what_each_algorithm_needs():
    _, sentences = verdict(analyzed("He3(z)"))
    assert sentences[0] == "The best efficient algorithms find span(z1) at once."
    assert sentences[1] == (
        "One pass of SGD needs about d^2 samples (leap exponent 3); if SGD sees each sample twice, "
        "about d are enough (generative exponent 1)."
    )
    assert "learn nothing" in sentences[2]


def test_giant_steps_that_do_not_reach_all_directions_say_so():
    sentence = verdict(analyzed("z1 + z2 + He2(z1) + He2(z2)"))[1][-1]
    assert sentence == (
        "With n of order d, one giant step learns span(z1 + z2); 1 further direction stays hidden "
        "from giant steps."
    )


def test_depth_is_told_in_powers_of_d():
    headline, sentences = verdict(analyzed(gd.zoo("sight")))
    assert headline == "Depth helps"
    assert sentences[0] == (
        "d^1.5 samples are enough for three layers to learn everything; two layers need more than "
        "any power of d and kernels need more than any power of d."
    )
    assert sentences[1:] == [
        "An essential assumption of the theorem fails for ReLU networks: E[sigma(u) He_j(u)] is "
        "not 0 for 1 <= j <= 3; polynomial growth.",
        "3 assumptions that only the proof of the theorem uses do not hold.",
    ]


def test_steps_of_the_staircase_are_those_of_the_analysis():
    analysis = gd.analyze("z1**2 + sign(z1*z2*z3)")
    steps = grand_steps(analysis)
    assert [step.found for step in steps] == ["span(z1)", "span(z2, z3)"]
    assert steps[1].opens == "n/d > π²/4 = 2.467"
    assert [step.is_open for step in giant_steps(analysis)] == [False]
    hard = grand_steps(gd.analyze("sign(z1*z2*z3)"))
    assert [step.is_open for step in hard] == [False]
    assert [step.found for step in giant_steps(gd.analyze("z1 + z1*z2"))] == [
        "span(z1)",
        "up to span(z1, z2)",
    ]
    assert len(level_steps(gd.analyze(gd.zoo("tree")))) >= 3


def test_picture_of_the_stairs_has_all_words_even_if_they_do_not_fit():
    from gradone.report.stairs import Step

    text = "span(" + ", ".join(f"z{i}" for i in range(1, 10)) + ")" + " and more" * 10
    picture = draw_stairs([Step(text, "n/d > 1")], "stairs")
    assert f"<title>{text}</title>" in picture
    assert "…" in picture
    assert "no step" in draw_stairs([], "none")


def test_cards_have_the_numbers_without_their_units():
    cards = {name: (value, why) for name, value, why in exponent_cards(gd.analyze("z1**2"))}
    assert cards["information exponent"][0] == "2"
    assert cards["first direction opens at n/d"][0] == "0.5"


def test_command_is_safe_to_paste():
    words = command(Study(gd.Target("z1*z2", noise=0.2), d=50, budget=7.5, seed=3))
    assert shlex.split(words) == (
        ["gradone", "study", "z1*z2", "--noise", "0.2", "--d", "50"]
        + ["--budget", "7.5", "--seed", "3"]
    )
    assert "parity2" in command(Study(gd.Target("sign(z1*z2)"), d=50, budget=7.5, seed=0))

"""Labels: both renderers show the same, and what one of them could not show is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

import gradone as gd
from gradone.base.curves import QUANTITIES
from gradone.base.errors import BadData, GradoneError
from gradone.charts import _labels as labels
from gradone.charts import plain_text

SIMPLE = [*labels._SYMBOLS, *labels._FUNCTIONS, *labels._SPACES]
BUILT = [
    r"\hat f", r"\tilde{\alpha}", r"\bar x_1", r"\dot m", r"\vec v", r"\frac1n", r"\frac{a+b}{c}",
    r"\sqrt{d}", r"\mathbb{E}", r"\mathcal{N}(0,1)", r"\mathbf{w}", r"\mathrm{He}_2",
    r"\operatorname{sign}(z_1)", r"\text{test}", r"\left(x\right)", r"\left|x\right|",
    r"\left\langle x\right\rangle", r"q_{11}^{\star}", r"x^{2}_{3}",
]  # fmt: skip


def mathtext(label):
    """Matplotlib's own reading of a label; raises if it cannot be read."""
    return MathTextParser("path").parse(
        labels.to_mathtext(label), prop=FontProperties(math_fontfamily="stix")
    )


@pytest.mark.parametrize("command", [rf"x\{name} y" for name in sorted(SIMPLE)] + BUILT)
def test_every_command_of_the_subset_is_drawn_by_both(command):
    label = f"${command}$"
    labels.check_label(label)
    mathtext(label)
    shown = labels.to_html(label)
    assert "$" not in shown
    assert "\\" not in shown
    for tag in ("i", "b", "sub", "sup"):
        assert shown.count(f"<{tag}>") == shown.count(f"</{tag}>")


@pytest.mark.parametrize("name", list(gd.zoo()))
def test_the_formula_of_every_zoo_target_is_a_label(name):
    target = gd.zoo(name)
    if isinstance(target, gd.Target):
        mathtext(f"${target.latex}$")
        assert "\\" not in labels.to_html(f"${target.latex}$")


@pytest.mark.parametrize("symbol", [symbol for symbol, _ in QUANTITIES.values()])
def test_the_symbols_of_curves_are_labels(symbol):
    mathtext(f"${symbol}$")


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        (r"$\foo$", r"unknown command '\\foo'"),
        (r"$\alphaa$", "Did you mean 'alpha'"),
        ("$x", "a '\\$' is missing"),
        (r"\alpha", "between dollars"),
        ("$x_$", "nothing after it"),
        ("${x$", "'}' is missing"),
        ("$x}$", "'}' too many"),
        (r"$\left(x$", "do not match"),
        (r"$\left x$", "needs a bracket"),
        (3, "a label is text"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_reason(label, problem):
    with pytest.raises(BadData, match=problem):
        labels.check_label(label)


@given(st.text(alphabet=r"$\{}^_ab1 +fracsqtle(|)", max_size=25))
def test_a_label_is_refused_or_shown_by_both(text):
    try:
        labels.check_label(text)
    except GradoneError:
        return
    labels.to_mathtext(text)
    shown = labels.to_html(text)
    assert "$" not in shown
    assert shown.count("<sub>") == shown.count("</sub>")


def test_html_is_what_plotly_reads():
    assert labels.to_html(r"$q_{11}^{\star}$") == "<i>q</i><sub>11</sub><sup>⋆</sup>"
    assert labels.to_html(r"$\mathbb{E}(y-\hat f)^2$") == (
        "𝔼(<i>y</i> − <i>f\u0302</i>)<sup>2</sup>"
    )
    assert labels.to_html("a < b & c") == "a &lt; b &amp; c"
    assert labels.to_html(r"$\frac{1}{2n}$") == "1/(2<i>n</i>)"


def test_a_terminal_sees_no_tags():
    assert plain_text(r"$d^{3/2}$ < $\alpha$") == "d^3/2 < α"
    assert not re.search(r"[$\\<>]", plain_text(r"$\sqrt{d+1}\,\hat q_{kk}$"))

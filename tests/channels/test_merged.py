r"""Labels that saturate or underflow: what is seen is right, and what is hidden is in the error.

The reference for labels such as :math:`\tanh(az_1)\tanh(az_2)` is a label with the same level sets
that keeps its digits, the logarithm of what saturates, on scrambled Sobol points of scipy, cut into
bins, products of different scrambles only.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import qmc

from gradone.analysis.analyze import analyze
from gradone.channels.conditional.given import conditional_grams
from gradone.targets.language.expression import Expression
from gradone.targets.language.parser import parse
from gradone.targets.language.signs import certain_sign
from gradone.targets.subspace import Subspace

SCRAMBLES, POINTS, BINS = 4, 1 << 17, 4096


def grams(text: str, r: int, orders: list[int]):
    return conditional_grams(Expression(text), 0.0, Subspace.zero(r), orders)


def log_of_gap(x: np.ndarray) -> np.ndarray:
    """-log tanh|x|, also where tanh rounds to one."""
    return np.log1p(2 / np.expm1(np.minimum(2 * np.abs(x), 700.0)))


def gap(x: np.ndarray) -> np.ndarray:
    """1 - tanh|x|."""
    return 2 / (np.exp(np.minimum(2 * np.abs(x), 700.0)) + 1)


def product(a: float, b: float):
    def label(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sign(x * y) * (2000 - np.log(log_of_gap(a * x) + log_of_gap(b * y)))

    return label


def total(a: float, b: float):
    def label(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        p, q = gap(a * x), gap(b * y)
        opposite = np.sign(x) * np.sign(q - p) * (2000 + np.log(np.abs(q - p) + 1e-320))
        return np.where(x * y > 0, np.sign(x) * (10_000 - np.log(p + q)), opposite)

    return label


def second_order(label) -> np.ndarray:
    """The matrix T_2 of a label of two variables."""
    rows, shares = [], []
    edges = None
    for seed in range(SCRAMBLES):
        x, y = ndtri(np.clip(qmc.Sobol(2, seed=seed).random(POINTS), 1e-15, 1 - 1e-15)).T
        values = label(x, y)
        if edges is None:
            edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1])
        bins = np.searchsorted(edges, values)
        features = [(x * x - 1) / math.sqrt(2), x * y, (y * y - 1) / math.sqrt(2)]
        rows.append([np.bincount(bins, f, BINS) / POINTS for f in features])
        shares.append(np.bincount(bins, minlength=BINS) / POINTS)
    each, mass = np.array(rows), np.mean(shares, axis=0)
    whole = each.sum(axis=0)
    own = sum((part / mass) @ part.T for part in each)
    return ((whole / mass) @ whole.T - own) / (SCRAMBLES * (SCRAMBLES - 1))


@pytest.mark.parametrize("steep", [(5, 5), (8, 8), (20, 20), (100, 100), (20, 3)])
@pytest.mark.parametrize("make", ["tanh({a}*z1)*tanh({b}*z2)", "tanh({a}*z1) + tanh({b}*z2)"])
def test_saturated_labels_are_covered(make, steep):
    """Would catch: places that were not compared with others of the same rounded label."""
    a, b = steep
    found = grams(make.format(a=a, b=b), 2, [2])[2]
    true = second_order(product(a, b) if "*tanh" in make else total(a, b))
    # Bins of 1/4096 of the mass hide a little themselves.
    assert (np.abs(found.value - true) <= found.entry_error() + 4e-3).all()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (
            "exp(-50*z1**2) + exp(-50*z2**2)",
            "softplus(50*z1**2 - 50*z2**2) - 50*z1**2",
        ),
        ("z1*exp(-50*z2**2)", "sign(z1)*(5000 + log(abs(z1)) - 50*z2**2)"),
        ("exp(-9*z1**2)*(2 + sin(z2))", "log(2 + sin(z2)) - 9*z1**2"),
    ],
)
def test_small_labels_keep_their_digits(text, same):
    """Would catch: labels that are rounded to parts of the median; the first was off by 20 %."""
    found, other = grams(text, 2, [1, 2]), grams(same, 2, [1, 2])
    for k in (1, 2):
        error = found[k].entry_error() + other[k].entry_error()
        assert (np.abs(found[k].value - other[k].value) <= error).all()
        assert error.max() < 5e-3


def test_small_labels_of_one_variable_keep_their_digits():
    """Was 0.092 and 0.075, both to 1e-3.

    The reference: roots of the logarithm of the label, by bisection between its extrema at -2, -1/2
    and 1, on panels that shrink towards these.
    """
    found = grams("exp(-50*(z1 - 1)**2) + exp(-50*(z1 + 2)**2)", 1, [1, 2])
    for k, true in ((1, 0.13595366), (2, 0.25731139)):
        assert abs(found[k].value[0, 0] - true) <= found[k].entry_error()[0, 0] < 1e-4


@pytest.mark.parametrize(
    "text",
    [
        "sign(z1*z2) + 1e-5*1e-6*1e-6*sign(z1)",
        "sign(z1*z2)*(1 + 1e-6*1e-6*z1)",
        "exp(1e-6*1e-6*z1) + exp(1e-6*1e-6*z2)",
    ],
)
def test_labels_that_differ_in_the_last_digits_leave_it_open(text):
    """They reveal z1 or its sign, which no computation with rounded labels can see."""
    found = analyze(text)
    assert found.generative_exponent in (1, None)
    assert found.learnability in ("trivial", None)


def test_what_is_positive_by_its_form_has_its_sign_also_where_it_underflows():
    """Would catch: the sign of an exponential that is zero in floating point."""
    for text in ("exp(-1000*z1**2)", "sigmoid(1000*z1)**2", "1 - tanh(30*z1)", "2 + sin(z1)"):
        assert certain_sign(parse(text)) == 1
        assert Expression(f"z1*sign({text})").canonical == "z1"
        assert Expression(f"z1*step(-({text})) + z1").canonical == "z1"
    for text in ("z1**2", "1 + sin(z1)", "tanh(z1)", "relu(z1)", "1 - sigmoid(z1) - 0.5"):
        assert certain_sign(parse(text)) == 0

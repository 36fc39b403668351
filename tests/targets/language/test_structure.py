"""What gradone claims about an expression is true; textbook cases are recognised."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

from gradone.base.errors import TargetError
from gradone.targets.language.bounds import growth, interval
from gradone.targets.language.breaks import break_planes, kinks
from gradone.targets.language.evaluate import evaluate, evaluate_columns
from gradone.targets.language.expression import Expression
from gradone.targets.language.functions import FUNCTIONS
from gradone.targets.language.parser import parse
from gradone.targets.language.polynomials import polynomial_of
from gradone.targets.language.structure import (
    affine_form,
    homogeneity,
    is_piecewise_constant,
    linear_span,
    parity,
)

from .grammar import samples
from .oracle import EXACT, read
from .test_evaluate import SYMBOLS, SYMPY, condition

RANDOM = [text for seed in range(3) for text in samples(120, seed=600 + seed)]
SUBSETS = [(1,), (2,), (3,), (1, 2), (2, 3), (1, 2, 3)]


def values(text, points):
    return evaluate(parse(text), points)


# ---- polynomials


def test_polynomials_are_those_of_sympy_exactly():
    """Would catch: a float among the coefficients, He_k of the physicists, a lost power."""
    found = 0
    fixed = ["He12(z1)", "He3(z1 + z2/3)**2*z3", "(z1 - 0.1)**12", "He2(He3(z1) - z2)/7", "1e-1*z1"]
    for text in fixed + samples(700, seed=31, depth=3):
        if "pi" in text or any(name in text for name in FUNCTIONS if not name.startswith("He")):
            continue
        polynomial = polynomial_of(parse(text), 3)
        formula = sympy.expand(read(text, SYMPY, list(SYMBOLS)))
        is_one = formula.is_polynomial(*SYMBOLS) and not formula.has(sympy.Function, sympy.exp)
        is_one = is_one and all(c.is_Rational for c in sympy.Poly(formula, *SYMBOLS[:3]).coeffs())
        if not is_one:
            continue
        assert polynomial is not None, text
        exact = {
            tuple(map(int, m)): Fraction(int(c.p), int(c.q))
            for m, c in sympy.Poly(formula, *SYMBOLS[:3]).terms()
            if c
        }
        assert polynomial.coefficients == exact, text
        found += 1
    assert found > 40


def test_what_is_no_polynomial_is_not_called_one():
    """Would catch: a float that is close to a polynomial, pi taken for a rational."""
    for text in ("tanh(z1)", "pi*z1", "sqrt(4)*z1", "z1/(1 + z1**2)", "abs(z1)", "max(z1, z2)"):
        assert Expression(text).polynomial is None


# ---- symmetries


@pytest.mark.parametrize("flipped", SUBSETS)
def test_claimed_parity_holds(flipped, rng):
    """Would catch: the parity of a sum of even and odd, of a composition, of min and max."""
    points = rng.standard_normal((40, 3))
    mirrored = points.copy()
    mirrored[:, [i - 1 for i in flipped]] *= -1
    claims = 0
    for text in RANDOM:
        tree = parse(text)
        claim = parity(tree, flipped)
        if claim is not None:
            claims += 1
            sign = 1 if claim == "even" else -1
            gap = np.abs(evaluate(tree, mirrored) - sign * evaluate(tree, points))
            assert np.all(gap <= 1e-12 * (1 + condition(tree, points))), (text, claim)
    assert claims > 50


@pytest.mark.parametrize(
    ("text", "flipped", "expected"),
    [
        ("z1**2 + cos(z1)", (1,), "even"),
        ("He3(z1)*z2**2", (1,), "odd"),
        ("sign(z1*z2*z3)", (1,), "odd"),
        ("sign(z1*z2*z3)", (1, 2), "even"),
        ("tanh(z1)/(1 + z1**2)", (1,), "odd"),
        ("abs(z1 - z2)", (1, 2), "even"),
        ("relu(z1)", (1,), None),
        ("exp(z1) + exp(-z1)", (1,), None),
        ("z1 + z2**2", (1,), None),
        ("max(z1**2, cos(z1))", (1,), "even"),
        ("z2", (1,), "even"),
    ],
)
def test_textbook_parity(text, flipped, expected):
    """Would catch: a symmetry that later theory needs and that is not seen."""
    assert parity(parse(text), flipped) == expected


@pytest.mark.parametrize("scaled", SUBSETS)
def test_claimed_homogeneity_holds(scaled, rng):
    """Would catch: degrees that add where they multiply, a negative factor in relu."""
    points = rng.standard_normal((40, 3))
    claims = 0
    for text in RANDOM:
        tree = parse(text)
        degree = homogeneity(tree, scaled)
        if degree is not None:
            claims += 1
            for t in (0.31, 2.7):
                larger = points.copy()
                larger[:, [i - 1 for i in scaled]] *= t
                gap = np.abs(evaluate(tree, larger) - t**degree * evaluate(tree, points))
                assert np.all(gap <= 1e-11 * (1 + condition(tree, points))), (text, degree)
    assert claims > 20


@pytest.mark.parametrize(
    ("text", "degree"),
    [
        ("relu(z1 + z2)**2", 2),
        ("abs(z1*z2)", 2),
        ("sign(z1*z2)", 0),
        ("sqrt(z1**2 + z2**2)", 1),
        ("z1**2*z2/(2 + sign(z1))", 3),
        ("max(z1, z2)", 1),
        ("max(z1, 1)", None),
        ("z1 + 1", None),
        ("tanh(z1)", None),
        ("He2(z1)", None),
    ],
)
def test_textbook_homogeneity(text, degree):
    """Would catch: a constant that is not noticed."""
    assert homogeneity(parse(text), (1, 2)) == degree


# ---- linear forms


def test_claimed_linear_forms_hold(rng):
    """Would catch: a direction that is used but not in the span, a wrong offset."""
    points, other = rng.standard_normal((2, 40, 3))
    smaller = 0
    for text in RANDOM + ["tanh(z1 - z2)", "(z1 + z2)**2 + z3", "z1**2 + 2*z1*z2 + z2**2"]:
        tree = parse(text)
        form = affine_form(tree, 3)
        if form is not None:
            gap = np.abs(evaluate(tree, points) - points @ form[0] - form[1])
            assert np.all(gap <= 1e-12 * (1 + condition(tree, points))), text
        span = linear_span(tree, 3)
        smaller += len(span) < len(Expression(text).variables)
        assert np.allclose(span @ span.T, np.eye(len(span)))
        moved = points + (other - other @ span.T @ span)
        gap = np.abs(evaluate(tree, moved) - evaluate(tree, points))
        assert np.all(gap <= 1e-9 * (1 + condition(tree, points))), text
    assert smaller > 3


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("tanh(z1 + z2)", 1),
        ("z1**2 + 2*z1*z2 + z2**2", 1),
        ("He3(z1 - 2*z2)/2 + exp(2*z2 - z1)", 1),
        ("(z1 + z2)*(z1 - z2)", 2),
        ("max(z1 + z2 + z3, z1 - z3)", 2),
        ("sign(z1*z2*z3)", 3),
    ],
)
def test_textbook_spans(text, forms):
    """Would catch: a single-index model that is not recognised as one."""
    assert len(Expression(text).span) == forms


def test_claimed_discreteness_holds(rng):
    """Would catch: a continuous function that is called discrete."""
    claims = 0
    for text in [*RANDOM, "sign(z1) + step(z2 - 1)", "tanh(sign(z1*z2))", "exp(2*step(z3))"]:
        tree = parse(text)
        if is_piecewise_constant(tree):
            claims += 1
            assert len(np.unique(np.round(evaluate(tree, rng.standard_normal((500, 3))), 9))) <= 32
    assert claims >= 4


@pytest.mark.parametrize(
    ("text", "as_sum", "as_product"),
    [
        ("tanh(z1) + z2**2", True, False),
        ("tanh(z1)*abs(z2)", False, True),
        ("sign(z1*z2*z3)", False, True),
        ("exp(z1 + z2)", False, True),
        ("z1*z2 + z3", False, False),
        ("z1**2*z2", False, True),
        ("tanh(z1 + z2)", False, False),
        ("He2(z1) + He2(z2)", True, False),
    ],
)
def test_textbook_separability(text, as_sum, as_product):
    """Would catch: exp of a sum and sign of a product not taken apart."""
    expression = Expression(text)
    assert (expression.is_separable_sum, expression.is_separable_product) == (as_sum, as_product)


# ---- size


def test_values_lie_in_the_claimed_interval(rng):
    """Would catch: an even power around zero, 0 * inf, the minimum of gelu or He4."""
    points = rng.standard_normal((400, 3)) * rng.choice([0.1, 1.0, 3.0], size=(400, 1))
    for text in RANDOM + [f"{name}(z1)" for name in FUNCTIONS if FUNCTIONS[name].arity == 1]:
        if text in ("log(z1)", "sqrt(z1)"):
            continue
        tree = parse(text)
        low, high = interval(tree)
        value = evaluate(tree, points)
        slack = 1e-9 * (1 + np.abs(value))
        assert np.all((value >= low - slack) & (value <= high + slack)), (text, low, high)


def test_growth_bounds_hold(rng):
    """Would catch: a bound that cuts the tails of an integral."""
    directions = rng.standard_normal((60, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for text in RANDOM:
        tree = parse(text)
        size = growth(tree)
        bounds = []
        for radius in (2.0, 6.0, 12.0):
            value = np.abs(evaluate(tree, radius * directions))
            value = value[np.isfinite(value)].max(initial=0.0)
            rate = size.linear * radius + size.quadratic * radius**2
            bounds.append(math.log(value + 1e-300) - size.degree * math.log(1 + radius) - rate)
        # |f| <= C (1+R)^p exp(aR + bR^2) with one C: what is left must not grow exponentially.
        assert bounds[2] - max(bounds[0], bounds[1], 0.0) < 6.0, (text, size, bounds)


# ---- breaks


def test_nothing_breaks_away_from_the_claimed_planes(rng):
    """Would catch: a kink that is overlooked, so that an integral runs across it."""
    tried = 0
    t = np.linspace(-2.5, 2.5, 1501)
    for text in RANDOM:
        tree = parse(text)
        planes, is_curved = break_planes(tree, 3)
        if is_curved or not kinks(tree):
            continue
        tried += 1
        for start, along in rng.standard_normal((6, 2, 3)):
            along = along / np.linalg.norm(along)
            points = start + t[:, None] * along
            near = np.zeros(len(t), dtype=bool)
            for plane in planes:
                near |= np.abs(points @ np.array(plane.normal) - plane.offset) < 0.02
            for part in kinks(tree):
                switch = FUNCTIONS[part.name].break_of(*part.arguments)
                value = np.broadcast_to(
                    evaluate_columns(switch, lambda i, p=points: p[:, i - 1]), t.shape
                )
                change = np.sign(value[1:]) * np.sign(value[:-1]) < 0
                assert np.all(near[1:][change] | near[:-1][change]), (text, planes)
    assert tried > 60


@pytest.mark.parametrize(
    ("text", "count", "is_curved"),
    [
        ("abs(z1)", 1, False),
        ("sign(z1*z2*z3)", 3, False),
        ("max(z1, z2)", 1, False),
        ("relu(z1 + z2 - 1)", 1, False),
        ("abs(abs(z1) - 1)", 3, False),
        ("sign(He3(z1))", 3, False),
        ("sign(z1**2 - z2**2)", 2, False),
        ("relu(z1**2 + z2**2 - 1)", 0, True),
        ("abs(sin(z1))", 25, False),
        ("log(abs(z1 - 2))", 1, False),
        ("tanh(z1)*cos(z2)", 0, False),
        ("abs(1 + z1**2)", 0, False),
        ("sign(z1 - 100)*z1", 1, False),
        ("tanh(sign(1 + z1**2)*2)*abs(z1)", 1, False),
        ("max(z1 - sqrt(2), z1)", 0, False),
    ],
)
def test_textbook_breaks(text, count, is_curved):
    """Would catch: a plane that is counted twice, a sphere that is called flat."""
    expression = Expression(text)
    planes, curved = expression.breaks
    assert (len(planes), curved) == (count, is_curved)


def test_zeros_too_dense_to_be_found_are_not_invented():
    """Would catch: a jump between two points of a scan that is taken for none."""
    expression = Expression("sign(sin(1000*z1))")
    assert expression.breaks[1]  # curved: nothing is known
    assert expression.second_moment().agrees_with(1.0)
    assert expression.mean().error > 1e-6


# ---- admissible


@pytest.mark.parametrize(
    "text",
    [
        "z1", "log(abs(z1))", "1/(1 + z1**2)", "sqrt(abs(z1))", "exp(z1)", "exp(z1**2/5)",
        "exp(-z1**4)", "exp(z1*sin(z2))", "exp(z1*z2/3)", "log(1 + exp(z1))", "1/sigmoid(z1)",
        "sqrt(z1**2 - 2*z1 + 1)", "1/(z1**2 - z1 + 1)", "1/(z1**12 - z1**6 + 1)", "z1/cos(3)",
        "sin(exp(z1))", "exp(sin(exp(z1)))", "exp(-exp(z1))", "z1*log(abs(z1))", "1/log(2 + z1**2)",
        "exp(log(abs(z1)))", "sign(z1)/(2 + sign(z2))", "1/(2 - tanh(z1))", "He12(z1)*He12(z2)",
        "1/(1 + exp(-z1))", "exp(z1)/(1 + exp(z1))", "1e-20*z1", "exp(-z1)/exp(-2*z1)",
    ],
)  # fmt: skip
def test_accepted(text):
    """Would catch: a check that is too strict for ordinary targets."""
    assert math.isfinite(Expression(text).second_moment().value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("3", "is a constant"),
        ("z1 - z1", "is a constant"),
        ("sin(z1)**2 + cos(z1)**2", "constant: it is 1 everywhere"),
        ("1/z1", "has a pole: its denominator 'z1' vanishes"),
        ("1/z1**2", "has a pole"),
        ("1/(z1 - 7.5)", "has a pole"),
        ("1/(z1 + z2)", "has a pole"),
        ("1/(1 + sin(z1))", "has a pole"),
        ("1/(z1**2 + z2**2)", "has a pole"),
        ("1/abs(z1 - z2)", "has a pole"),
        ("z1/(sqrt(4) - 2)", "has a pole"),
        ("tanh(z1)/log(1 + z1**2)", "has a pole"),
        ("exp(-log(abs(z1)))", "may have a pole"),
        ("exp(log(z1**2)*sin(z1))", "may have a pole"),
        ("exp(log(abs(z1))**2)", "may have a pole"),
        ("sqrt(z1)", "'sqrt.z1.' is not real: 'z1' takes negative values"),
        ("sqrt(z1**12 - 0.001)", "is not real"),
        ("log(1 + z1)", "is not real"),
        ("sqrt(log(abs(z1)))", "is not real"),
        ("sqrt(-1)*z1", "is not real"),
        ("log(relu(z1))", "not a finite number"),
        ("log(0)*z1", "not a finite number"),
        ("exp(z1**2)", "not square integrable"),
        ("exp(z1**2/4)", "not square integrable"),
        ("exp(z1*z2/2)", "not square integrable"),
        ("exp(z1**3/1000)", "not square integrable"),
        ("exp(exp(z1))", "not square integrable"),
        ("z2 + exp(abs(z1)**3)", "'exp.abs.z1...3.' grows too fast"),
        ("exp(20*z1)", "mean square exceeds"),
        ("(1e6*1e6*1e6*1e6*z1 + 1)**12", "below 1e.100"),
    ],
)
def test_refused_with_the_reason(text, reason):
    """Would catch: an infinite variance that comes back as a large number."""
    with pytest.raises(TargetError, match=reason):
        Expression(text)


def test_exact_functions_of_numbers_are_exact():
    """Would catch: He5(2/3) in floating point."""
    for name, function in FUNCTIONS.items():
        if function.exact and function.arity == 1:
            value = parse(f"{name}(-2/3)")
            if name.startswith("He"):
                assert value.value == read(f"{name}(-2/3)", EXACT, [])
            numerical = float(evaluate(parse(f"{name}(z1)"), [-2 / 3]))
            assert float(value.value) == pytest.approx(numerical)

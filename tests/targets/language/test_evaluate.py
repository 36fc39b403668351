"""Values, derivatives, canonical text and LaTeX, against readers that share no code with ours."""

import re

import numpy as np
import pytest
import sympy

from gradone.base.arrays import to_numpy
from gradone.base.errors import BadData, TargetSyntaxError
from gradone.targets.language.breaks import kinks
from gradone.targets.language.derivative import derivative
from gradone.targets.language.evaluate import evaluate, evaluate_columns
from gradone.targets.language.expression import Expression
from gradone.targets.language.functions import FUNCTIONS
from gradone.targets.language.parser import parse
from gradone.targets.language.printing import text_of

from .grammar import samples
from .latex_reader import LatexReader
from .oracle import Algebra, numpy_function, read

SYMBOLS = sympy.symbols("z1:10", real=True)
SYMPY = Algebra(
    lambda value: sympy.Rational(value.numerator, value.denominator),
    sympy.pi,
    {
        "abs": sympy.Abs,
        "cos": sympy.cos,
        "erf": sympy.erf,
        "exp": sympy.exp,
        "gelu": lambda x: x * (1 + sympy.erf(x / sympy.sqrt(2))) / 2,
        "log": sympy.log,
        "max": sympy.Max,
        "min": sympy.Min,
        "relu": lambda x: sympy.Max(x, 0),
        "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
        "sign": sympy.sign,
        "sin": sympy.sin,
        "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
        "sqrt": sympy.sqrt,
        "step": lambda x: sympy.Heaviside(x, 0),
        "tanh": sympy.tanh,
    },
)


def argument_of(name):
    """A point in the middle of where a function lives, and not at a kink."""
    return [0.7] if FUNCTIONS[name].arity == 1 else [0.7, -0.4]


def call_text(name):
    return f"{name}(z1, z2)" if FUNCTIONS[name].arity == 2 else f"{name}(z1)"


def close(a, b, tolerance=1e-12, scale=1.0):
    return np.all(np.abs(a - b) <= tolerance * (scale + np.abs(b)))


def condition(tree, points, h=1e-9):
    """How much a relative change of the input changes the value: what rounding may do."""
    value = evaluate(tree, points)
    changed = [np.abs(evaluate(tree, points * (1 + s * h)) - value) / h for s in (1, -1)]
    return np.max(changed, axis=0)


# ---- values


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_the_value_of_sympy(name):
    """Would catch: a wrong constant in gelu, He_k of the physicists, step(0) = 1/2."""
    for point in ([0.7, -0.4], [1.9, 2.3], [0.0, 0.0] if name != "log" else [0.1, 0.1]):
        point = point[: FUNCTIONS[name].arity]
        exact = read(call_text(name), SYMPY, list(map(sympy.Float, map(str, point), [30] * 2)))
        assert close(evaluate(parse(call_text(name)), point), float(exact), 1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_random_expressions_have_the_value_of_sympy(seed, rng):
    """Would catch: a sum, quotient or power that is regrouped wrongly in canonical form."""
    for text in samples(25, seed=seed):
        tree = parse(text)
        points = np.round(rng.standard_normal((4, 3)), 3)
        ours = evaluate(tree, points)
        formula = read(text, SYMPY, list(SYMBOLS))
        for point, value, rounding in zip(points, ours, condition(tree, points), strict=True):
            at = {s: sympy.Rational(str(x)) for s, x in zip(SYMBOLS, point, strict=False)}
            exact = float(sympy.re(sympy.sympify(formula).subs(at).evalf(30)))
            assert close(value, exact, 1e-12, 1 + 1e-3 * rounding), text


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_have_the_value_of_another_reader(seed, rng):
    """Would catch: the same on many more points and shapes of expressions."""
    for text in samples(150, seed=100 + seed):
        tree = parse(text)
        points = 1.5 * rng.standard_normal((50, 3))
        expected = numpy_function(text)([points[:, i] for i in range(3)])
        assert close(evaluate(tree, points), expected, 1e-12, 1 + condition(tree, points)), text


# ---- arrays


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_speaks_the_array_api(name, xp):
    """Would catch: a NumPy-only function, float32 that becomes float64, another device."""
    tree = parse(f"{call_text(name)} + 0*z2 + 1")
    z = np.array([[0.3, -1.2], [2.0, 0.7], [1e-3, 1e-3]])
    expected = evaluate(tree, z)
    for dtype, tolerance in ((xp.float64, 1e-14), (xp.float32, 3e-5)):
        value = evaluate(tree, xp.asarray(z, dtype=dtype))
        assert value.dtype == dtype
        assert value.shape == (3,)
        assert close(np.asarray(to_numpy(value), dtype=float), expected, tolerance)


@pytest.mark.parametrize("text", samples(12, seed=77))
def test_array_libraries_agree(text, xp, rng):
    """Would catch: constants that an array library cannot mix with arrays."""
    expression = Expression(text)
    z = rng.standard_normal((2, 5, expression.r))
    value = expression(xp.asarray(z))
    assert value.shape == (2, 5)
    assert close(to_numpy(value), expression(z), 1e-12, 1 + condition(expression.tree, z))


def test_shapes_and_precision():
    """Would catch: points of the wrong width that are quietly broadcast, integers that overflow."""
    f = Expression("z1*z2 + pi")
    assert f(np.zeros((2, 3, 2))).shape == (2, 3)
    assert np.shape(f([1.0, 2.0])) == ()
    assert f(np.zeros((0, 2))).shape == (0,)
    assert f(np.ones((4, 2), dtype=np.float32)).dtype == np.float32
    assert f(np.array([[100, 100]], dtype=np.int8))[0] == pytest.approx(10000 + np.pi)
    assert f([[2, 3]])[0] == pytest.approx(6 + np.pi, rel=1e-15)
    for wrong in (np.zeros((4, 3)), np.zeros(3), 1.0, [[1.0]]):
        with pytest.raises(BadData, match="shape"):
            f(wrong)


def test_constants_and_equal_parts_fill_the_shape():
    """Would catch: a derivative that is a number and comes back as a float instead of an array."""
    slope = Expression("3*z1 + z2**2").derivative(1)
    assert slope([[1.0, 2.0], [3.0, 4.0]]).tolist() == [3.0, 3.0]


# ---- derivatives


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivative_of_every_function_is_its_finite_difference(name):
    """Would catch: a sign, a factor 2, sqrt(2 pi) in gelu, step and sign exchanged."""
    tree, point, h = parse(call_text(name) + " + z2 - z2"), np.array([0.7, -0.4]), 1e-5
    for index in (1, 2):
        step = h * np.eye(2)[index - 1]
        difference = (evaluate(tree, point + step) - evaluate(tree, point - step)) / (2 * h)
        slope = evaluate(derivative(tree, index), point)
        assert close(slope, difference, 1e-8), (name, index)


def away_from_kinks(tree, points, margin):
    """Points where no argument of abs, sign, ... is small."""
    safe = np.ones(len(points), dtype=bool)
    for part in kinks(tree):
        switch = FUNCTIONS[part.name].break_of(*part.arguments)
        value = evaluate_columns(switch, lambda i: points[:, i - 1])
        safe &= np.abs(value) > margin
    return points[safe]


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_random_expressions_are_finite_differences(seed, rng):
    """Would catch: a chain, product or quotient rule that forgets a part."""
    h, tried = 1e-5, 0
    for text in samples(60, seed=200 + seed):
        tree = parse(text)
        points = away_from_kinks(tree, rng.standard_normal((30, 3)), 0.05)
        for index in (1, 2, 3):
            shift = np.eye(3)[index - 1]
            f = {k: evaluate(tree, points + k * h * shift) for k in (-2, -1, 1, 2)}
            difference = (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)
            rougher = (f[1] - f[-1]) / (2 * h)
            slope = evaluate(derivative(tree, index), points)
            size = 1 + np.abs(f[1]) + np.abs(slope)
            known = np.abs(difference - rougher) < 1e-5 * size  # else h is too large here
            tried += known.sum()
            assert np.all(np.abs(slope - difference)[known] < 1e-5 * size[known]), (text, index)
    assert tried > 2000


def test_derivatives_are_those_of_sympy(rng):
    """Would catch: the same, to full precision."""
    texts = [t for t in samples(120, seed=11, depth=3) if not kinks(parse(t))][:25]
    for text in texts:
        tree = parse(text)
        for index in Expression(text).variables:
            slope = derivative(tree, index)
            exact = sympy.diff(read(text, SYMPY, list(SYMBOLS)), SYMBOLS[index - 1])
            point = np.round(rng.standard_normal(3), 2)
            at = {s: sympy.Rational(str(x)) for s, x in zip(SYMBOLS, point, strict=False)}
            value, rounding = evaluate(slope, point), condition(slope, point)
            assert close(value, float(exact.subs(at).evalf(30)), 1e-12, 1 + rounding), (text, index)


# ---- canonical text


@pytest.mark.parametrize("seed", range(4))
def test_canonical_text_round_trips(seed):
    """Would catch: lost brackets, an exponent or a number that cannot be read back."""
    for text in samples(250, seed=300 + seed):
        tree = parse(text)
        canonical = text_of(tree)
        assert parse(canonical) == tree, text
        assert hash(parse(canonical)) == hash(tree)
        assert text_of(parse(canonical)) == canonical
        try:
            slope = parse(text_of(derivative(tree, 1)))
        except TargetSyntaxError as problem:  # a derivative may exceed what can be typed
            is_limit = re.search("degree exceeds|has .* characters|nested|parts", str(problem))
            slope = derivative(tree, 1) if is_limit else None
        assert slope == derivative(tree, 1), text


def test_order_and_brackets_do_not_matter(rng):
    """Would catch: a sort that depends on the input, terms that are not collected."""
    parts = samples(60, seed=21, depth=2)
    for _ in range(80):
        a, b, c, d = (f"({part})" for part in rng.choice(parts, size=4))
        same = [
            [f"{a}+{b}+{c}", f"{c}+({b}+{a})", f"({a}+{c})+{b}", f"-(-{a}-{b})+{c}"],
            [f"{a}*{b}*{c}", f"{c}*({b}*{a})", f"({a}*{c})*{b}", f"-{a}*(-{b})*{c}"],
            [f"{a}*{b}/(2+{d}**2)", f"{a}/(2+{d}**2)*{b}", f"{b}*({a}*(1/({d}**2+2)))"],
            [f"{a}-({b}-{c})", f"{a}-{b}+{c}", f"{c}-({b}-{a})"],
            [f"max({a},{b})", f"max({b},{a})"],
            [f"{a}**2*{a}", f"{a}**3", f"{a}*{a}*{a}"],
        ]
        for texts in same:
            trees = {parse(text) for text in texts}
            assert len(trees) == 1, texts
    assert Expression("z1 + z2") == Expression("z2+z1")
    assert Expression("z1 + z2") != Expression("z1 - z2")


def test_trees_are_immutable_and_survive_pickling():
    """Would catch: a cached hash that goes stale, a tree that cannot be sent to a worker."""
    import pickle

    tree = parse("He2(z1)/3 + max(z1, z2)**2")
    assert pickle.loads(pickle.dumps(tree)) == tree
    with pytest.raises(AttributeError, match="immutable"):
        tree.terms = ()


# ---- LaTeX


@pytest.mark.parametrize("seed", range(4))
def test_latex_means_the_same(seed, rng):
    """Would catch: a missing bracket around a sum, an exponent on the wrong part, a lost sign."""
    for text in samples(100, seed=400 + seed):
        expression = Expression(text)
        points = rng.standard_normal((20, 3))
        with np.errstate(all="ignore"):
            value = LatexReader(expression.latex, [points[:, i] for i in range(3)]).value()
        ours = evaluate(expression.tree, points)
        rounding = 1 + 10 * condition(expression.tree, points)
        assert close(np.broadcast_to(value, 20), ours, 1e-11, rounding), (text, expression.latex)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("He2(z1)/2", r"\frac{1}{2} \mathrm{He}_{2}\left(z_{1}\right)"),
        ("(z1 + z2)**2", r"\left(z_{1} + z_{2}\right)^{2}"),
        ("-abs(z1)*pi", r"-\pi \, \left|z_{1}\right|"),
        ("sqrt(1 + z1**2)", r"\sqrt{z_{1}^{2} + 1}"),
        ("z1/(1 + z2**2)", r"\frac{z_{1}}{z_{2}^{2} + 1}"),
        ("0.001*z1", r"0.001 z_{1}"),
        ("max(z1, z2)", r"\max\left(z_{1}, z_{2}\right)"),
    ],
)
def test_latex_reads_as_it_is_written_in_papers(text, latex):
    """Would catch: Python syntax in a formula."""
    assert Expression(text).latex == latex

"""Hermite coefficients, tensors and energies against closed forms and reference values."""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from gradone.base.errors import OutOfRegime
from gradone.calculus.expansion import hermite_expansion
from gradone.calculus.hermite import hermite_table, multi_indices
from gradone.calculus.integrand import SeparableSum
from gradone.calculus.polynomial import Polynomial
from gradone.targets.activation import Activation
from gradone.targets.language.expression import Expression

REFERENCE = tomllib.loads(
    (Path(__file__).parents[1] / "reference" / "hermite_energies.toml").read_text()
)


def double_factorial(k: int) -> int:
    return math.prod(range(k, 0, -2))


def sign_coefficient(k: int) -> float:
    if k % 2 == 0:
        return 0.0
    return math.sqrt(2 / math.pi) * (-1) ** ((k - 1) // 2) * double_factorial(k - 2)


def relu_coefficient(k: int) -> float:
    if k < 2:
        return [1 / math.sqrt(2 * math.pi), 0.5][k]
    if k % 2:
        return 0.0
    return (-1) ** (k // 2 - 1) * double_factorial(k - 3) / math.sqrt(2 * math.pi)


CLOSED_FORMS = {
    "sign(z)": sign_coefficient,
    "relu(z)": relu_coefficient,
    "abs(z)": lambda k: 2 * relu_coefficient(k) if k != 1 else 0.0,
    "step(z)": lambda k: 0.5 if k == 0 else sign_coefficient(k) / 2,
    "exp(z)": lambda k: math.exp(0.5),
    "sin(2*z)": lambda k: 0.0 if k % 2 == 0 else 2**k * math.exp(-2) * (-1) ** ((k - 1) // 2),
    "cos(z)": lambda k: 0.0 if k % 2 else math.exp(-0.5) * (-1) ** (k // 2),
}


SMOOTH = {"exp(z)", "sin(2*z)", "cos(z)"}


@pytest.mark.parametrize("text", CLOSED_FORMS)
@pytest.mark.parametrize("k", range(13))
def test_coefficients_of_elementary_functions_up_to_order_12(text, k):
    """Would catch: a factor k!, a lost kink, an error estimate below the true error."""
    exact = CLOSED_FORMS[text](k)
    found = Expression(text).hermite(12).coefficient(k)
    # Smooth functions are integrated against He_k, whose size is sqrt(k!); kinks have closed forms.
    size = math.sqrt(math.factorial(k)) if text in SMOOTH else 1.0
    assert abs(found.value - exact) <= 1e-12 * max(1.0, abs(exact), 0.01 * size)
    assert abs(found.value - exact) <= found.error
    assert found.error <= 1e-14 * max(size, 1.0, abs(exact)) * (10 if text in SMOOTH else 1)


@pytest.mark.parametrize("case", REFERENCE["energy"], ids=lambda case: case["target"])
def test_energies_of_the_reference_table(case):
    expansion = Expression(case["target"]).hermite(9)
    for k, value in case["values"].items():
        assert abs(expansion.energy(int(k)).value - value) <= case["tolerance"]
    if "second_moment" in case:
        assert abs(expansion.second_moment.value - case["second_moment"]) <= 1e-9


@pytest.mark.parametrize("case", REFERENCE["tail"], ids=lambda case: case["target"])
def test_energy_above_a_degree(case):
    for k, value in case["values"].items():
        tail = Expression(case["target"]).hermite(int(k)).tail
        assert abs(tail.value - value) <= case["tolerance"]


@pytest.mark.parametrize("case", REFERENCE["moments"], ids=lambda case: case["activation"])
def test_moments_of_activations(case):
    activation = Activation(case["activation"])
    c0, c1 = activation.hermite(0).value, activation.hermite(1).value
    second = activation.expression.second_moment().value
    rest = math.sqrt(second - c0**2 - c1**2)
    np.testing.assert_allclose([c0, c1, rest], case["values"], atol=1e-9, rtol=0)


def test_parity_energies_are_the_convolution_of_those_of_sign():
    """The energies of sign(z1 z2 z3) to 1e-10, up to degree 12."""
    one = np.array([sign_coefficient(k) ** 2 / math.factorial(k) for k in range(13)])
    three = np.convolve(np.convolve(one, one), one)[:13]
    found = [e.value for e in Expression("sign(z1*z2*z3)").hermite(12).energies]
    np.testing.assert_allclose(found, three, atol=1e-13, rtol=0)


def test_product_of_two_variables_inside_tanh():
    """W_2 of tanh(z1 z2) is E[x tanh x]^2 for x = z1 z2, whose density is K_0(|x|)/pi."""
    from scipy.integrate import quad
    from scipy.special import k0

    mean, error = quad(lambda x: 2 * x * math.tanh(x) * k0(x) / math.pi, 0, 60, epsabs=1e-13)
    energy = Expression("tanh(z1*z2)").hermite(3).energy(2)
    assert energy.value == pytest.approx(mean**2, abs=2 * error + 1e-12)


def test_lowest_tensor_of_the_3_parity():
    tensor = Expression("sign(z1*z2*z3)").hermite(3).tensor(3)
    exact = np.zeros((3, 3, 3))
    for i, j, k in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]:
        exact[i, j, k] = (2 / math.pi) ** 1.5
    np.testing.assert_allclose(tensor.value, exact, atol=1e-14)
    assert tensor.error.max() < 1e-13


def test_second_tensor_of_a_quadratic_form_is_twice_its_matrix():
    tensor = Expression("z1**2 + 3*z1*z2 - z2**2/2").hermite(2).tensor(2)
    np.testing.assert_array_equal(tensor.value, [[2.0, 3.0], [3.0, -1.0]])


@pytest.mark.parametrize("text", ["relu(z1 + z2)", "max(z1, z2)*z1", "tanh(z1*z2)", "abs(z1)*z2"])
def test_energy_is_the_norm_of_the_tensor(text):
    expansion = Expression(text).hermite(6)
    for k in range(7):
        norm = float((expansion.tensor(k).value ** 2).sum()) / math.factorial(k)
        assert norm == pytest.approx(expansion.energy(k).value, abs=1e-13)


def test_a_ridge_function_has_rank_one_tensors():
    """C_k = c_k w^(x)k for f = phi(<w, z>), here against the two-variable rule."""
    ridge = Expression("tanh((3*z1 + 4*z2)/5)")
    one = Expression("tanh(z)").hermite(5)
    w = np.array([0.6, 0.8])
    tensor = ridge.hermite(5).tensor(3)
    exact = one.coefficient(3).value * np.einsum("i,j,k->ijk", w, w, w)
    np.testing.assert_allclose(tensor.value, exact, atol=1e-13)


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("max(z1, z2)", "(z1 + abs(z2))/sqrt(2)"),  # max(a, b) in the frame (a + b, a - b)/sqrt 2
        ("relu(z1)*relu(z2)", "relu((z1 + z2)/sqrt(2))*relu((z1 - z2)/sqrt(2))"),
        ("sign(z1)*z2", "sign((z1 + z2)/sqrt(2))*(z1 - z2)/sqrt(2)"),
    ],
)
def test_energies_do_not_depend_on_the_frame(text, turned):
    """A rotation of z changes which rule is used, and no energy."""
    a, b = Expression(text).hermite(8), Expression(turned).hermite(8)
    for k in range(9):
        difference = abs(a.energy(k).value - b.energy(k).value)
        assert difference <= a.energy(k).error + b.energy(k).error + 1e-14
        assert difference < 1e-10


def test_polynomials_are_exact():
    expansion = Expression("He2(z1)*z2/3 + z1**4/7").hermite(5)
    assert expansion.kind == "exact"
    assert expansion.exact_energies() == {
        0: Fraction(9, 49),
        2: Fraction(72, 49),
        3: Fraction(2, 9),
        4: Fraction(24, 49),
    }
    assert expansion.tail.value == 0
    assert expansion.tail.error == 0


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.integers(0, 4)),
        st.fractions(min_value=-5, max_value=5, max_denominator=9),
        min_size=1,
        max_size=6,
    )
)
def test_polynomial_coefficients_agree_with_sympy(coefficients):
    """Gaussian moments by sympy's own moments of a normal variable."""
    polynomial = Polynomial(coefficients, 2)
    x, y = sympy.symbols("x y")
    expression = sum(
        sympy.Rational(c.numerator, c.denominator) * x**a * y**b
        for (a, b), c in coefficients.items()
    )

    def mean(e):
        return sum(
            c
            * (sympy.factorial2(a - 1) if a % 2 == 0 else 0)
            * (sympy.factorial2(b - 1) if b % 2 == 0 else 0)
            for (a, b), c in sympy.Poly(e, x, y).terms()
        )

    he = [1, x, x**2 - 1]
    for k, factor in enumerate(he):
        exact = mean(sympy.expand(expression * factor * y))
        found = polynomial.hermite_coefficient((k, 1))
        assert Fraction(int(exact.p), int(exact.q)) == found if exact else found == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(0, 6))
def test_multi_indices_are_all_and_once(r, degree):
    rows = multi_indices(r, degree)
    assert len(rows) == math.comb(degree + r, r)
    assert len({tuple(row) for row in rows.tolist()}) == len(rows)
    assert rows.sum(axis=1).max(initial=0) == degree
    assert (np.diff(rows.sum(axis=1)) >= 0).all()


def test_hermite_polynomials_are_orthonormal():
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    table = hermite_table(nodes, 15)
    gram = (table * weights / weights.sum()) @ table.T
    np.testing.assert_allclose(gram, np.eye(16), atol=1e-12)


def test_a_plain_function_with_declared_kinks():
    f = SeparableSum.of(lambda z: np.maximum(z - 1, 0.0), kinks=[1.0])
    density = math.exp(-0.5) / math.sqrt(2 * math.pi)
    exact = density * 1.0  # c_3 = He_1(1) phi(1)
    assert hermite_expansion(f, 3).coefficient(3).value == pytest.approx(exact, abs=1e-13)


def test_what_is_not_in_the_expansion_is_refused():
    expansion = Expression("z1*z2").hermite(2)
    with pytest.raises(OutOfRegime, match="total degree at most 2"):
        expansion.coefficient(2, 1)
    with pytest.raises(OutOfRegime, match="stops at 2"):
        expansion.tensor(3)


def test_six_entangled_variables_are_refused_and_six_separable_ones_are_not():
    with pytest.raises(OutOfRegime, match="mixes 6 variables"):
        Expression("tanh(z1*z2*z3*z4*z5*z6)").hermite(2)
    parity = Expression("sign(z1*z2*z3*z4*z5*z6)").hermite(6)
    assert parity.energy(6).value == pytest.approx((2 / math.pi) ** 6, abs=1e-14)


def test_energies_as_a_curve():
    curve = Expression("z1 + He2(z2)").hermite(3).to_curve("z1 + He2(z2)")
    assert curve.energy.sel(degree=2).item() == 2.0
    assert curve.attrs["tail"] == 0.0


@pytest.mark.parametrize(
    "text",
    ["tanh(z1*z2) + z1", "sign(z1 + z2**2 - 1)", "sin(exp(z1*z2))", "relu(z1)*z2", "z1**3*z2"],
)
def test_fewer_degrees_are_a_part_of_more(text):
    """Degrees 10 to 12 are computed once; the rest of the energy is what is left."""
    f = Expression(text)
    ten, twelve = f.hermite(10), f.hermite(12)
    assert ten.degree == 10
    assert [e.value for e in ten.energies] == [e.value for e in twelve.energies[:11]]
    above = sum(e.value for e in twelve.energies[11:])
    assert ten.tail.value == pytest.approx(twelve.tail.value + above, abs=1e-12)
    alone = hermite_expansion(f.form, 10)
    for a, b in zip(ten.energies, alone.energies, strict=True):
        assert abs(a.value - b.value) <= a.error + b.error + 1e-14
    second = f.second_moment()
    assert abs(ten.second_moment.value - second.value) <= ten.second_moment.error + second.error


def test_an_oscillation_without_low_degrees_is_still_integrated_by_a_grid():
    """All its coefficients are below e^-40; the grid knows that, random points would not."""
    expansion = Expression("sin(10*z1 + z2**2/2)").hermite(10)
    assert expansion.kind == "quadrature"
    assert np.abs(expansion.value).max() < 1e-12
    assert expansion.second_moment.value == pytest.approx(0.5, abs=1e-9)

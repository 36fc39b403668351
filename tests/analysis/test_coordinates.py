"""Exponents on coordinates of inputs that are not Gaussian: the table of the cube, and others."""

import pytest

import gradone as gd


@pytest.mark.parametrize(
    ("target", "correlation", "queries"),
    [
        ("z1*z2*z3", (3, 3), (3, 3)),
        ("He3(z1)", (1, 1), (1, 1)),
        ("z1*z2*z3 + 2*z1*z2*z4", (3, 3), (2, 2)),
        ("z1 + z2 + z1*z3 - z2*z3", (1, 1), (1, 1)),
        ("z1 + z1*z2*z3", (1, 2), (1, 2)),
    ],
)
def test_the_cube(target, correlation, queries):
    found = gd.analyze(gd.Target(target).on("rademacher", "axes"))
    assert (found.information_exponent, found.leap_exponent) == correlation
    assert (found.query_exponent, found.query_leap) == queries


@pytest.mark.parametrize(
    ("target", "law", "exponents"),
    [
        ("He3(z1)", "uniform", (1, 1)),
        ("He3(z1)", "laplace", (1, 1)),
        ("z1**3 - 1.8*z1", "uniform", (3, 3)),  # the third orthogonal polynomial of the box
        ("He2(z1)", "uniform", (2, 2)),
        ("z1 + z1*z2", "laplace", (1, 1)),
        ("z1*z2", "uniform", (2, 2)),
    ],
)
def test_other_products_have_their_own_polynomials(target, law, exponents):
    found = gd.analyze(gd.Target(target).on(law, "axes"))
    assert (found.information_exponent, found.leap_exponent) == exponents
    assert found.query_exponent is None
    assert "leap of order" in found.summary()


def test_random_directions_have_the_exponents_of_gaussian_inputs():
    assert gd.analyze(gd.Target("He3(z1)").on("uniform")).information_exponent == 3

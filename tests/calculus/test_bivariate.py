"""Means of products of two functions of correlated Gaussians."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gradone.base.errors import BadData
from gradone.calculus.bivariate import bivariate_expectation
from gradone.targets.activation import Activation

correlations = st.floats(-0.999, 0.999)


def arc_cosine(rho):
    angle = math.acos(rho)
    return (math.sin(angle) + (math.pi - angle) * rho) / (2 * math.pi)


LAWS = {
    "sign(z)": lambda rho: 2 / math.pi * math.asin(rho),
    "erf(z)": lambda rho: 2 / math.pi * math.asin(2 * rho / 3),
    "relu(z)": arc_cosine,
    "exp(z)": lambda rho: math.exp(1 + rho),
    "He3(z)": lambda rho: 6 * rho**3,
}


@pytest.mark.parametrize("text", LAWS)
@settings(max_examples=12, deadline=None)
@given(correlations)
@example(4.685889112898689e-13)  # a jump that is almost along an axis
def test_kernels_with_closed_forms(text, rho):
    found = Activation(text).covariance_with(Activation(text), rho)
    assert abs(found.value - LAWS[text](rho)) <= max(found.error, 1e-13)
    assert found.error < 1e-8


@pytest.mark.parametrize("rho", [-0.8, 0.0, 0.35, 0.9])
def test_mehler_series_of_a_mixed_pair(rho):
    """E[f(u) g(v)] = sum_k c_k(f) c_k(g) rho^k / k!: the series, here for softplus and tanh."""
    f, g = Activation("softplus(z)"), Activation("tanh(z)")
    a, b = f.expression.hermite(60).value, g.expression.hermite(60).value
    series = float(np.sum(a * b * rho ** np.arange(61)))
    assert f.covariance_with(g, rho).value == pytest.approx(series, abs=1e-6)


@pytest.mark.parametrize("rho", [1.0, -1.0])
def test_degenerate_pairs_are_one_dimensional(rho):
    found = Activation("relu(z)").covariance_with(Activation("relu(z)"), rho)
    assert found.value == pytest.approx(0.5 if rho > 0 else 0.0, abs=1e-14)


def test_general_covariance():
    """E[sign(u) sign(v)] depends on the correlation only."""
    sign = Activation("sign(z)").expression.form
    found = bivariate_expectation(sign, sign, np.array([[4.0, 1.5], [1.5, 2.25]]))
    assert found.value == pytest.approx(2 / math.pi * math.asin(0.5), abs=1e-13)


def test_zero_variance():
    form = Activation("cos(z)").expression.form
    found = bivariate_expectation(form, form, np.array([[0.0, 0.0], [0.0, 1.0]]))
    assert found.value == pytest.approx(math.exp(-0.5), abs=1e-13)


def test_what_is_not_a_covariance_is_refused():
    form = Activation("relu(z)").expression.form
    with pytest.raises(BadData, match="negative eigenvalue"):
        bivariate_expectation(form, form, np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(BadData, match="symmetric 2 x 2"):
        bivariate_expectation(form, form, np.eye(3))

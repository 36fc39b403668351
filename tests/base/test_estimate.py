"""A number carries its error."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradone.base.estimate import Estimate, as_estimate, roughest

finite = st.floats(-1e6, 1e6)
errors = st.floats(1e-12, 1e3)


def test_it_prints_as_many_digits_as_it_knows():
    assert repr(Estimate(0.3989422804, 1e-9, "quadrature")) == "0.398942280 ± 1e-09 (quadrature)"
    assert repr(Estimate(math.inf, 0.0, "exact", "never")) == "inf (exact), never"
    assert repr(Estimate(2.5)) == "2.5 (exact)"


def test_it_is_a_number():
    assert float(Estimate(0.25, 0.1, "iteration")) == 0.25
    assert math.sqrt(Estimate(4.0)) == 2.0


@given(finite, errors, finite, errors)
def test_agreement_is_symmetric_and_uses_both_errors(a, da, b, db):
    x, y = Estimate(a, da, "quadrature"), Estimate(b, db, "monte_carlo")
    assert x.agrees_with(y) == y.agrees_with(x)
    assert x.agrees_with(y) == (abs(a - b) <= 1.5 * math.hypot(da, db))


def test_infinite_thresholds_agree_only_with_each_other():
    assert Estimate(math.inf).agrees_with(Estimate(math.inf))
    assert not Estimate(math.inf).agrees_with(3.0)


@pytest.mark.parametrize(("value", "error"), [(math.nan, 0.1), (1.0, -0.1), (1.0, math.nan)])
def test_a_number_without_a_meaning_is_refused(value, error):
    with pytest.raises(ValueError, match="error >= 0"):
        Estimate(value, error, "quadrature")


def test_the_roughest_part_decides_the_kind():
    assert roughest("quadrature", "exact") == "quadrature"
    assert roughest("monte_carlo", "extrapolation") == "monte_carlo"
    assert roughest() == "exact"
    assert as_estimate(3).kind == "exact"
    assert Estimate(1e-13, 1e-12, "quadrature").is_zero

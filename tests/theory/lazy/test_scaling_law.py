"""Scaling laws: reference values, slopes of the errors themselves, and the best choices."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.theory import phase_diagram, power_law, random_feature_ridge, scaling_law

INF = math.inf


@pytest.mark.parametrize(
    ("capacity", "source", "length", "width", "rates"),
    [(1.5, 0.3, 1.2, 0.6, (0.4, 0.54, 0.4)), (2.0, 0.75, 0.6, 0.4, (0.7, 0.7, 0.7))],
)
def test_reference_rates(capacity, source, length, width, rates):
    law = scaling_law(
        capacity=capacity, source=source, ridge_exponent=length, width_exponent=width, noise=0.1
    )
    assert (law.rate, law.bias_rate, law.variance_rate) == pytest.approx(rates, abs=1e-12)


@pytest.mark.parametrize(
    ("capacity", "source", "rate", "width"),
    [(2.0, 0.75, 0.75, 0.5), (1.5, 0.3, 0.4736842105, 0.5263157895)],
)
def test_reference_optimum(capacity, source, rate, width):
    law = scaling_law(capacity=capacity, source=source, noise=1.0)
    assert law.optimal_rate == law.rate == pytest.approx(rate, abs=1e-9)
    assert law.minimal_width_exponent == pytest.approx(width, abs=1e-9)


def test_root_n_features_are_enough_in_the_classical_case():
    law = scaling_law(capacity=1 + 1e-9, source=0.5, noise=1.0)
    assert law.minimal_width_exponent == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("capacity", "source", "length", "width", "regime"),
    [
        (1.5, 0.3, 1.2, 0.6, "limited by the width"),
        (2.0, 0.75, 0.6, 0.45, "limited by the ridge"),
        (1.5, 1.3, 0.5, 0.6, "limited by the ridge"),
        (1.5, 0.8, 2.0, 0.5, "limited by the width"),
        (1.4, 0.3, 3.0, 1.5, "limited by the samples"),
        (2.0, 0.9, 0.8, INF, "limited by the ridge"),
    ],
)
def test_slopes_of_the_errors_are_the_rates(capacity, source, length, width, regime):
    """Would catch: the second term of the bias left out, min(r, 1) for min(r, 1/2)."""
    n = np.array([1e9, 1e10])
    levels = power_law(capacity=capacity, source=source)
    errors = [
        random_feature_ridge(**levels, n=m, width=m**width, ridge=m ** (1 - length), noise=1.0)
        for m in n
    ]
    law = scaling_law(
        capacity=capacity, source=source, ridge_exponent=length, width_exponent=width, noise=1.0
    )
    assert law.regime == regime
    for name, rate in [("bias", law.bias_rate), ("variance", law.variance_rate)]:
        slope = -np.log10(errors[1][name].item() / errors[0][name].item())
        assert slope == pytest.approx(rate, abs=0.02), name


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("source", [0.2, 0.5, 0.75, 1.0, 1.6])
@pytest.mark.parametrize("width", [0.2, 0.45, 0.7, 1.3, INF])
def test_the_best_penalty_is_found_by_trying_all(source, width, noise):
    given = {"capacity": 1.7, "source": source, "noise": noise}
    lengths = np.linspace(0, 2.0, 4001)
    rates = phase_diagram(**given, ridge_exponent=lengths, width_exponent=width).rate.values[:, 0]
    law = scaling_law(**given, width_exponent=width)
    assert law.rate == law.best_rate == pytest.approx(rates.max(), abs=2e-3)
    assert law.ridge_exponent == law.best_ridge_exponent <= 1.7 + 1e-12
    near = rates[np.abs(lengths - law.best_ridge_exponent).argmin()]
    assert near == pytest.approx(law.best_rate, abs=5e-3)


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("source", [0.2, 0.5, 0.75, 1.0, 1.6])
def test_the_minimal_width_attains_the_optimum_and_less_does_not(source, noise):
    given = {"capacity": 2.2, "source": source, "noise": noise}
    law = scaling_law(**given)
    q = law.minimal_width_exponent
    assert scaling_law(**given, width_exponent=q).rate == pytest.approx(law.optimal_rate, abs=1e-12)
    assert scaling_law(**given, width_exponent=0.95 * q).rate < law.optimal_rate - 1e-3


def test_a_phase_diagram_is_made_of_scaling_laws():
    given = {"capacity": 1.6, "source": 0.7, "noise": 0.1}
    lengths, widths = [0.0, 0.4, 1.1, INF], [0.3, 0.8, 1.4]
    phases = phase_diagram(**given, ridge_exponent=lengths, width_exponent=widths)
    names = phases.regime.attrs["flag_meanings"]
    for length in lengths:
        for width in widths:
            law = scaling_law(**given, ridge_exponent=length, width_exponent=width)
            cell = phases.sel(ridge_exponent=length, width_exponent=width)
            assert cell.rate.item() == law.rate
            assert cell.bias_rate.item() == law.bias_rate
            assert cell.variance_rate.item() == law.variance_rate
            assert names[int(cell.regime.item())] == law.regime


def test_a_summary_is_a_page_of_text():
    text = scaling_law(capacity=2.0, source=0.75, noise=0.1, width_exponent=0.4).summary()
    assert "n^-0.7 with ridge n^(1 - 0.6)" in text
    assert "from width n^0.5" in text
    quiet = scaling_law(capacity=2.0, source=0.75, ridge_exponent=1.9).summary()
    assert "no label noise" in quiet


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity": 1.0}, "capacity must be > 1"),
        ({"source": -0.5}, "source must be a finite number > 0"),
        ({"ridge_exponent": -0.1}, "ridge_exponent must be numbers >= 0"),
        ({"ridge_exponent": "good"}, "ridge_exponent must be a number or 'best', got 'good'"),
        ({"ridge_exponent": [0.1, 0.2]}, "phase_diagram"),
        ({"width_exponent": 0.0}, "width_exponent must be a number > 0"),
        ({"noise": -1.0}, "noise must be a finite number >= 0"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(gd.BadData, match=message):
        scaling_law(**({"capacity": 2.0, "source": 0.5} | change))

"""State evolution and Bayes-AMP with latent noise: reference values and runs on data."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import gradone as gd


def point(text, alpha):
    curve = gd.predict(text, "bayes_amp", alpha=[alpha])
    error = float(curve.overlap_err.max())
    return float(curve.overlap.values.ravel()[0]), error, curve


@pytest.mark.parametrize(
    ("D", "known"),
    [
        (0.1, {1: 0.44076921, 2: 0.66579943, 5: 0.87658783}),
        (0.5, {1: 0.33122040, 2: 0.52435609, 5: 0.76402361}),
    ],
)
def test_overlap_of_probit_labels(D, known):
    for alpha, m in known.items():
        assert point(f"sign(z + sqrt({D})*xi)", alpha)[0] == pytest.approx(m, abs=2e-6)


def test_errors_of_probit_labels():
    """The best guess is sign(omega): wrong with probability arccos(sqrt(m/(1 + D)))/pi."""
    m, _, curve = point("sign(z + sqrt(0.5)*xi)", 2.0)
    wrong = float(curve.zero_one_error.squeeze())
    assert wrong == pytest.approx(math.acos(math.sqrt(m / 1.5)) / math.pi, abs=1e-5)
    assert wrong == pytest.approx(0.29863660, abs=1e-5)
    assert float(curve.test_mse.squeeze()) == pytest.approx(0.77265488, abs=1e-6)


def next_overlap(q, D, alpha):
    """One iteration for sign(z1 z2 + sqrt(D) xi): J_11 = E[(dZ)^2 (1/Z + 1/(1 - Z))]."""
    x, w = np.polynomial.hermite_e.hermegauss(120)
    w = w / w.sum()
    z1 = math.sqrt(q) * x[:, None] + math.sqrt(1 - q) * x
    S = np.sqrt(D + (1 - q) * z1**2)
    J = 0.0
    for b, share in zip(math.sqrt(q) * x, w, strict=True):
        t = z1 * b / S
        Z, rest = ndtr(t) @ w, ndtr(-t) @ w
        slope = (z1 / S * np.exp(-(t**2) / 2)) @ w / math.sqrt(2 * math.pi)
        J += share * float(w @ (slope**2 * (1 / Z + 1 / rest)))
    return alpha * J / (1 + alpha * J)


@pytest.mark.parametrize(
    ("D", "alpha", "q"),
    [(0.09, 4, 0.40988), (0.09, 6, 0.745598), (1, 6, 0.202572), (1, 10, 0.602228)],
)
def test_overlap_of_a_noisy_product_of_signs(D, alpha, q):
    """Reference values, and a fixed point of one iteration by another quadrature."""
    found, error, _ = point(f"sign(z1*z2 + {math.sqrt(D)}*xi)", alpha)
    assert found == pytest.approx(q, abs=1e-4)
    assert found == pytest.approx(next_overlap(found, D, alpha), abs=1e-5)
    assert error < 1e-4


@pytest.mark.parametrize(
    ("alpha", "m"), [(1, 0.087572), (1.5, 0.357867), (2, 0.587494), (3, 0.79540)]
)
def test_overlap_of_a_square_with_noise_inside(alpha, m):
    found, error, _ = point("(z + 0.5*xi)**2", alpha)
    assert found == pytest.approx(m, abs=2 * error + 1e-5)
    assert error < 1e-3


def test_overlap_of_flipped_labels():
    c = -ndtri(0.1)
    found, _, _ = point(f"sign(z)*sign(xi + {c:.16f})", 2.0)
    assert found == pytest.approx(0.5219825, abs=1e-6)
    found, error, _ = point(f"sign(z1*z2)*sign(xi + {c:.16f})", 6.0)
    assert found == pytest.approx(0.512844, abs=error)
    assert error < 3e-3


def test_thresholds_of_state_evolution_are_those_of_the_analysis():
    for text in ("sign(z1*z2 + 0.3*xi)", "(z + 0.5*xi)**2", "z*xi"):
        first = gd.theory.amp_thresholds(text)[0].threshold
        known = gd.analyze(text).weak_threshold
        assert (
            abs(first.value - known.value) <= 2 * (first.error + known.error) + 3e-3 * known.value
        )

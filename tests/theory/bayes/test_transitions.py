"""Close to a transition the map hardly contracts; stated errors must cover what that does."""

import numpy as np
import pytest

import gradone as gd
from gradone.theory.bayes._enclosure import enclosure


def square_map(m, alpha):
    """One iteration for z**2: the label tells a = |z|, the posterior mean is a tanh(a omega/V)."""
    V = 1 - m
    v = x = np.linspace(-7, 7, 401)
    omega = np.sqrt(m) * v[:, None]
    z = omega + np.sqrt(V) * x
    weight = np.exp(-(v[:, None] ** 2 + x**2) / 2)
    g = (z * np.tanh(z * omega / V) - omega) / V
    J = alpha * float((weight * g**2).sum() / weight.sum())
    return J / (1 + J)


@pytest.mark.parametrize(("alpha", "start"), [(0.51, 0.01), (1.1, 0.3), (1.12, 0.3), (1.127, 0.3)])
def test_phase_retrieval_up_to_its_transitions(alpha, start):
    """Learning begins at 1/2; at 1.128 the fixed point merges with another one and vanishes."""
    m = start
    while abs((once := square_map(m, alpha)) - m) > 1e-10:
        twice = square_map(once, alpha)
        m -= (once - m) ** 2 / (twice - 2 * once + m)  # Aitken's acceleration of the iteration
    slope = (square_map(m + 1e-4, alpha) - square_map(m - 1e-4, alpha)) / 2e-4
    state = gd.predict("z**2", "bayes_amp", alpha=alpha)
    assert abs(state.overlap.item() - m) < state.overlap_err.item() < 1e-3
    assert abs(state.rate.item() - slope) < state.rate_err.item() < 0.03


@pytest.mark.parametrize("alpha", [1.9999, 2.0, 2.01])
def test_a_product_is_recovered_from_two_samples_per_dimension_on(alpha):
    """Next to M = I each label fixes one of two directions: 1 - m changes by 2/alpha.

    Would catch: the slope of a coarse rule, 0.67 instead of 1 (0.9912 +- 0.001 at alpha = 2).
    """
    state = gd.predict("z1*z2", "bayes_amp", alpha=alpha)
    error = state.overlap_err.values.max()
    assert np.abs(state.overlap.values[0] - np.eye(2)).max() <= error + 1e-4 < 0.03
    assert 0 <= state.test_mse.item() <= state.test_mse_err.item() + 2e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "alpha"), [("z1 + tanh(z1*z2)", 2.08), ("relu(z1) + relu(z2)", 2.8)]
)
def test_two_directions_are_recovered_at_different_widths(text, alpha):
    """Perfect recovery from 2 (8/3 for the ramps, which hide both directions for a quarter of z).

    Would catch: a limit for narrow posteriors that holds for equal widths only; the iteration does
    not converge with it.
    """
    state = gd.predict(text, "bayes_amp", alpha=alpha)
    error = state.overlap_err.values.max()
    assert np.abs(state.overlap.values[0] - np.eye(2)).max() <= error < 1e-3


def test_an_enclosure_holds_every_fixed_point_of_maps_within_the_error():
    """A saddle-node: T(m) = m + c - (m - 1/2)^2 has its fixed point at 1/2 + sqrt(c)."""
    c, error = 1e-4, 0.5e-4

    def step(M, sign):
        return M + c + sign * error - (M - 0.5) ** 2

    above, below = enclosure(step, np.array([[0.5 + np.sqrt(c)]]), np.array([error]))
    assert 0.5 + np.sqrt(c + error) < above.item() < 0.53
    assert 0.49 < below.item() < 0.5 + np.sqrt(c - error)


def test_no_squared_error_is_negative():
    best = gd.predict("z**2", "bayes_optimal", alpha=[1.1, 1.5])
    assert (best.test_mse >= 0).all()
    assert (best.test_mse <= best.test_mse_err).all()

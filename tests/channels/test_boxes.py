"""The exact rule for labels on boxes against series of one-dimensional integrals."""

import numpy as np
import pytest
from scipy.special import erf

import gradone as gd
from gradone.channels.averages.boxes import Boxes
from gradone.channels.averages.general import ChannelAverages
from gradone.channels.averages.moments import response_matrix, total
from gradone.channels.rules import channel_averages


def parity(r):
    return gd.Target("sign(" + "*".join(f"z{i + 1}" for i in range(r)) + ")")


def parity_series(r, q):
    """J_11, mean log evidence and E[E[y|omega]^2] of sign(z1 ... zr) at M = q I.

    1/(1 - P^2) with P = prod erf(x_i) as a geometric series: products of integrals over one x.
    """
    v = np.linspace(-8.5, 8.5, 3001)
    w = np.exp(-(v**2) / 2) / np.exp(-(v**2) / 2).sum()
    e = np.abs(erf(np.sqrt(q / (2 * (1 - q))) * v))
    slope = 2 * np.exp(-q * v**2 / (1 - q)) / (np.pi * (1 - q))  # squared derivative of erf
    # Sums over k: one by one at first, then a Gauss rule for the smooth rest.
    k = np.arange(1.0, 65.0)
    x, weight = np.polynomial.legendre.leggauss(40)
    u = (np.log(64.5) + np.log(1e14)) / 2 + (np.log(1e14) - np.log(64.5)) / 2 * x
    k = np.concatenate([k, np.exp(u)])
    weight = np.concatenate([np.ones(64), weight * (np.log(1e14) - np.log(64.5)) / 2 * np.exp(u)])
    with np.errstate(divide="ignore"):
        powers = np.exp(2 * k[:, None] * np.log(e))
        below = np.exp(2 * (k[:, None] - 1) * np.log(np.maximum(e, 1e-300)))
    moments = powers @ w
    J = weight @ (below @ (w * slope) * moments ** (r - 1))
    evidence = weight @ (moments**r / (2 * k * (2 * k - 1))) - np.log(2)
    return J, evidence, moments[0] ** r


@pytest.mark.parametrize("r", [1, 2, 3, 4])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.9, 0.99])
def test_parities_are_series_of_error_functions(r, q):
    found, sources = channel_averages(parity(r)).estimate(q * np.eye(r))
    J, evidence, known = parity_series(r, q)
    error = total(sources)
    assert error.information.max() < 2e-5 * J
    assert found.information == pytest.approx(J * np.eye(r), abs=error.information.max() + 1e-6 * J)
    assert found.log_evidence == pytest.approx(evidence, abs=1e-6)
    assert found.test_mse == pytest.approx(1 - known, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "noise", "M"),
    [
        ("sign(z1*z2)", 0.0, np.diag([0.4, 0.3])),
        ("sign(z1*z2)", 0.1, np.diag([0.4, 0.3])),
        ("sign(z1*z2)", 0.0, np.diag([0.97, 0.97])),
        ("sign(z)", 0.0, np.diag([0.99])),
        pytest.param("sign(z)", 0.0, np.diag([0.9999]), marks=pytest.mark.stat),
        ("step(z1) + 10*step(z2 - 1)", 0.0, np.diag([0.5, 0.2])),
        ("sign(z1) + 2*sign(z1 - 1)", 0.05, np.diag([0.6])),
        pytest.param("sign(z1*z2*z3)", 0.0, 0.95 * np.eye(3), marks=pytest.mark.stat),
        pytest.param("sign(z1*z2*z3*z4)", 0.0, 0.5 * np.eye(4), marks=pytest.mark.stat),
        pytest.param("sign(z1*z2*z3*z4)", 0.0, 0.95 * np.eye(4), marks=pytest.mark.slow),
    ],
)
def test_the_general_rule_states_its_errors(text, noise, M):
    """Would catch: errors of extrapolated posteriors that leave out what is extrapolated."""
    target = gd.Target(text, noise=noise)
    exact = channel_averages(target).at(M)
    found, sources = ChannelAverages(target).estimate(M)
    for value, truth, error in zip(found, exact, total(sources), strict=True):
        assert np.abs(np.subtract(value, truth)).max() < 2 * np.max(error) + 1e-9


def test_derivatives_are_those_of_finite_differences():
    """responses is the derivative of J, growth its second-order twin at no overlap."""
    channel = channel_averages(gd.Target("sign(z1) + 2*step(z2 - 0.5)*sign(z1)"))
    M, h = np.diag([0.4, 0.3]), 1e-4
    E = np.diag([1.0, 0.0])
    slope = (channel.at(M + h * E).information - channel.at(M - h * E).information) / (2 * h)
    assert channel.pairs(M, response_matrix)[:, 0, 0, :] == pytest.approx(slope, abs=1e-5)


def test_what_is_covered():
    texts = [
        "sign(z1*z2)",
        "sign(z1)+step(z2-1)",
        "z1*z2",
        "sign(z1+z2**2)",
        "sign(z1+z2)+sign(z1)",
    ]
    covered = [Boxes.covers(gd.Target(text)) for text in texts]
    assert covered == [True, True, False, False, False]

"""The Bayes-optimal potential against closed forms, and its hills against fixed points."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from gradone.algorithms.predict import predict
from gradone.base.errors import BadData, OutOfRegime
from gradone.targets.target import Target
from gradone.theory import bayes_potential


def test_a_linear_target_in_closed_form():
    """The evidence is Gaussian with variance 1 - q + noise."""
    q, noise = np.array([0.0, 0.2, 0.7, 0.95]), 0.3
    found = bayes_potential(Target("z", noise=noise), alpha=[0.5, 2.0], overlap=q)
    for alpha in (0.5, 2.0):
        exact = 0.5 * (q + np.log1p(-q)) - 0.5 * alpha * np.log((1 - q + noise) / (1 + noise))
        one = found.sel(alpha=alpha)
        gap = np.abs(one.free_entropy.values - exact)
        assert (gap <= one.free_entropy_err.values + 1e-12).all()
        assert one.free_entropy_err.values.max() < 1e-3


@pytest.mark.parametrize("q", [0.3, 0.8])
def test_an_oscillating_label_by_plain_integrals(q):
    """sign(cos(2.3 z)) is 1 on known intervals; their probabilities given omega are erfs."""
    edges = (2 * np.arange(-15, 16) - 0.5) * math.pi / 2.3  # cos > 0 from here on, for pi / 2.3

    def probability(omega, width):
        spread = math.sqrt(2 * width)
        ends = [math.erf((e + math.pi / 2.3 - omega) / spread) for e in edges]
        return 0.5 * sum(
            b - math.erf((e - omega) / spread) for e, b in zip(edges, ends, strict=True)
        )

    def evidence(q):
        def at(x):
            p = min(max(probability(math.sqrt(q) * x, 1 - q), 1e-300), 1 - 1e-16)
            density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
            return density * (p * math.log(p) + (1 - p) * math.log1p(-p))

        return 2 * quad(at, 0, 8, limit=400, epsabs=1e-9)[0]

    exact = 0.5 * (q + math.log1p(-q)) + 3.0 * (evidence(q) - evidence(0.0))
    found = bayes_potential("sign(cos(2.3*z))", alpha=3.0, overlap=[q])
    assert found.free_entropy.item() == pytest.approx(exact, abs=1e-5)


def test_the_highest_hill_is_the_optimum():
    best = predict("sign(cos(2.3*z))", "bayes_optimal", alpha=[2.0, 3.0])
    for i, place in enumerate(best.overlap.values.ravel()):
        around = np.clip([place - 0.01, place, place + 0.01], 0, 0.999)
        grid = [*around, 0.3, 0.6]
        found = bayes_potential("sign(cos(2.3*z))", alpha=float(best.alpha[i]), overlap=grid)
        assert np.argmax(found.free_entropy.values[0]) in ((1,) if place else (0, 1))


def test_several_directions_are_known_equally_well():
    """z1*z2 and its rotation have one potential."""
    one = bayes_potential(Target("z1*z2", noise=0.1), alpha=1.0, overlap=[0.5])
    other = bayes_potential(Target("(z1**2 - z2**2)/2", noise=0.1), alpha=1.0, overlap=[0.5])
    assert one.free_entropy.item() == pytest.approx(other.free_entropy.item(), abs=2e-3)


def test_what_is_refused():
    with pytest.raises(BadData, match=r"overlaps must lie in \[0, 1\)"):
        bayes_potential("z", alpha=1.0, overlap=[0.5, 1.0])
    with pytest.raises(OutOfRegime):
        bayes_potential("z1*z2*z3*z4*z5*z6", alpha=1.0, overlap=[0.5])

"""Bulk, outliers and overlaps of label-weighted moments, for equal and unequal covariance."""

import numpy as np
import pytest
from scipy.special import ndtri

import gradone as gd
from gradone.theory import filter_stage, label_weighted_edges


def scores(y, n):
    """Gaussian scores of ranks, cut where those of n samples end."""
    ranks = np.argsort(np.argsort(y)) + 0.5
    return ndtri(np.clip(ranks / len(y), 0.5 / n, 1 - 0.5 / n))


def test_equal_variances_give_the_known_edges():
    """[NL-1] is [DT-2] for the identity, which other code solves by a root."""
    t = np.array([-1.0, -0.5, 0.3, 2.2])
    found = filter_stage(np.full(300, 2.0), t, n=900)
    known = label_weighted_edges(t - t.mean(), alpha=3.0)
    assert found.high == pytest.approx(2 * known.high.value, rel=1e-7)
    assert found.low == pytest.approx(2 * known.low.value, rel=1e-7)


def test_reference_value_of_signs():
    assert filter_stage(np.ones(500), [-1.0, 1.0], n=1000).high == pytest.approx(1.66510, abs=1e-5)


@pytest.mark.parametrize(
    "draws", [pytest.param(6, marks=pytest.mark.stat), pytest.param(60, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("power", "place", "n"), [(0.0, 1, 2400), (0.5, 11, 4000), (1.0, 6, 1500)])
def test_outliers_and_overlaps_of_simulations(power, place, n, draws):
    """Means of p = 400 features: eigenvalues to 2 %, overlaps to 0.01 and five standard errors.

    Would catch: the edge of equal variances, which is off by factors for the last two.
    """
    p = 400
    s = np.arange(1.0, p + 1) ** -power
    rng = np.random.default_rng(0)
    eigenvalues, overlaps, seconds = [], [], []
    for _ in range(draws):
        Z = rng.standard_normal((n, p))
        y = Z[:, place - 1] ** 2 + 0.5 * rng.standard_normal(n)
        t = scores(y, n)
        phi = Z * np.sqrt(s)
        values, vectors = np.linalg.eigh((phi * t[:, None]).T @ phi / n)
        eigenvalues.append(values[-1])
        seconds.append(values[-2])
        overlaps.append(vectors[place - 1, -1] ** 2)
    z = rng.standard_normal(400_000)
    y = z**2 + 0.5 * rng.standard_normal(len(z))
    found = filter_stage(s, scores(y, n), n=n, squares=z**2, variance=s[place - 1])
    error = 5 * np.std(overlaps, ddof=1) / np.sqrt(draws)
    assert np.mean(eigenvalues) == pytest.approx(found.eigenvalue, rel=0.02)
    assert np.mean(overlaps) == pytest.approx(found.overlap2, abs=0.01 + error)
    assert np.mean(seconds) < 1.02 * found.high < np.mean(eigenvalues)


def test_a_weak_feature_has_no_eigenvalue():
    z = np.random.default_rng(1).standard_normal(50_000)
    t = scores(z**2, 200)
    found = filter_stage(np.ones(400), t, n=200, squares=z**2)
    assert np.isnan(found.eigenvalue)
    assert found.overlap2 == 0
    negative = filter_stage(np.ones(50), -t, n=2000, squares=z**2)
    assert negative.eigenvalue < negative.low


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"spectrum": [-1.0]}, "eigenvalues of a covariance"),
        ({"t": [1.0, 1.0]}, "two different finite weights"),
        ({"n": 0}, "n must be an integer"),
        ({"squares": [1.0]}, "squares must be as many"),
    ],
)
def test_what_is_no_stage_is_refused(changed, told):
    given = {"spectrum": [1.0, 1.0], "t": [-1.0, 1.0], "n": 10} | changed
    with pytest.raises(gd.BadData, match=told):
        filter_stage(given.pop("spectrum"), given.pop("t"), **given)


@pytest.mark.stat
def test_the_theory_of_the_corrected_first_layer():
    """Reference values of simulations at d = 64, n = 1782: 0.800, 0.889 and 0.938."""
    t = gd.Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6")
    kappa = np.log(1782) / np.log(64)
    one = gd.predict(t, "neural_lofi", kappa=kappa, d=64, rounds=1)
    assert one.plain_overlap2.item() == pytest.approx(0.80, abs=0.02)
    assert one.overlap2.item() == pytest.approx(0.889, abs=0.015)
    more = gd.predict(t, "neural_lofi", kappa=kappa, d=64, rounds=3)
    assert one.overlap2.item() < more.overlap2.item() < 0.938 + 0.01
    assert more.overlap2.item() == pytest.approx(0.938, abs=0.03)
    assert more.residual_share.item() < one.residual_share.item()


def test_quadratic_forms_have_no_first_layer():
    with pytest.raises(gd.OutOfRegime, match="use every direction"):
        gd.predict(gd.QuadraticForms("tanh(h)"), "neural_lofi", kappa=2.0, d=16)


def test_too_few_samples_cannot_be_whitened():
    with pytest.raises(gd.BadData, match="kappa > 1"):
        gd.predict(gd.Sight("tanh(h)", "He2(z)"), "neural_lofi", kappa=0.9, d=64)

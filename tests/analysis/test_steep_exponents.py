r"""Exponents and classes of steep and saturated functions: right, or undecided.

What an output cut into bins reveals is a lower bound of what it reveals (Jensen), also where values
round to the same number: if :math:`\sum_b p_b\,\mathbb{E}[z|b]^2` is large, the exponent is 1. Even
functions reveal nothing of the sign.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

from gradone.analysis.analyze import analyze

sys.path.insert(0, str(Path(__file__).parents[1] / "targets"))
from language.oracle import numpy_function
from language.steep import draw_steep

CLEARLY = 1e-3
FEW, VISIBLY = 400, 0.01  # bins of a sample of 2^18 points: where nothing is to be seen, 0.0015


def binned_strength(
    values: np.ndarray, feature: np.ndarray, weight: np.ndarray, most: int = 4000
) -> float:
    """Sum over bins of probability times squared conditional mean."""
    order = np.argsort(values, kind="stable")
    y, f, w = values[order], feature[order], weight[order]
    edge = np.append(True, (np.diff(y) > 0) & (np.diff(np.floor(most * np.cumsum(w))) > 0))
    bins = np.cumsum(edge) - 1
    mass, mean = np.bincount(bins, w), np.bincount(bins, w * f)
    return float((mean**2 / np.maximum(mass, 1e-300)).sum())


def true_exponent(text: str) -> int | None:
    """Generative exponent where it is clear: 1 or 2; else None."""
    z = (np.arange(-60_000, 60_000) + 0.5) * 1e-4
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    values = np.broadcast_to(numpy_function(text)([z]), z.shape)
    if np.allclose(values, values[::-1], rtol=1e-12, atol=1e-13):
        strength = binned_strength(values, (z * z - 1) / np.sqrt(2), weight)
        return 2 if strength > CLEARLY else None
    # Rounding of values that should be equal would look like a signal.
    rounded = np.round(values, 9)
    return 1 if binned_strength(rounded, z, weight) > CLEARLY else None


def assert_right(texts: list[str]) -> None:
    seen = 0
    for text in texts:
        truth, found = true_exponent(text), analyze(text)
        if truth is None or found.generative_exponent is None:
            continue
        seen += 1
        assert found.generative_exponent == truth, text
        assert found.learnability == {1: "trivial", 2: "easy"}[truth], text
    assert seen > 0.5 * len(texts)


def assert_right_of_several(texts: list[str], r: int) -> None:
    """What a sample shows clearly, or excludes, is what the analysis says, or leaves open."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    z = ndtri(np.clip(qmc.Sobol(r, seed=1).random(1 << 18), 1e-12, 1 - 1e-12))
    weight = np.full(len(z), 1 / len(z))
    seen = 0
    for text in texts:
        f = numpy_function(text)
        values, mirrored = (np.broadcast_to(f(list(s * z.T)), len(z)) for s in (1, -1))
        found = analyze(text)
        rounded = np.round(values, 9)
        if np.ptp(rounded) == 0:
            continue
        strengths = [binned_strength(rounded, x, weight, FEW) for x in z.T]
        centered = values - values.mean()
        correlations = [float(np.mean(centered * x)) ** 2 / np.var(values) for x in z.T]
        if max(strengths) > VISIBLY:
            seen += 1
            assert found.generative_exponent in (1, None), text
        if max(correlations) > CLEARLY:
            assert found.information_exponent in (1, None), text
        if np.allclose(values, mirrored, rtol=1e-12, atol=1e-13):
            seen += 1
            assert found.generative_exponent != 1, text
            assert found.information_exponent != 1, text
            assert found.learnability != "trivial", text
    assert seen > 0.5 * len(texts)


@pytest.mark.stat
def test_exponents_of_steep_functions():
    """Would catch: a sign of z that is seen in rounding, or an even form that is hidden."""
    assert_right(draw_steep(1, 25, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_exponents_of_more_steep_functions(seed):
    assert_right(draw_steep(1, 50, seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize(("r", "count"), [(2, 90), (3, 50)])
def test_exponents_of_steep_functions_of_several_variables(r, count, part):
    assert_right_of_several(draw_steep(r, count)[part::2], r)

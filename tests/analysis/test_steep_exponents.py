r"""Exponents and classes of steep and saturated functions of one variable: right, or undecided.

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


def binned_strength(values: np.ndarray, feature: np.ndarray, weight: np.ndarray) -> float:
    """Sum over bins of probability times squared conditional mean, at most 4000 bins."""
    order = np.argsort(values, kind="stable")
    y, f, w = values[order], feature[order], weight[order]
    edge = np.append(True, (np.diff(y) > 0) & (np.diff(np.floor(4000 * np.cumsum(w))) > 0))
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


@pytest.mark.stat
def test_exponents_of_steep_functions():
    """Would catch: a sign of z that is seen in rounding, or an even form that is hidden."""
    assert_right(draw_steep(1, 25, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_exponents_of_more_steep_functions(seed):
    assert_right(draw_steep(1, 50, seed=seed))

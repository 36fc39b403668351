"""Scrambled Sobol points: the sequence, its balance, its uniformity."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, qmc

from gradone.calculus.sobol import MAX_DIMENSION, SobolSequence


def test_the_plain_sequence_is_that_of_scipy():
    """Joe and Kuo's direction numbers, independently typed in scipy."""
    ours = SobolSequence(MAX_DIMENSION, None).draw(4096)
    theirs = qmc.Sobol(MAX_DIMENSION, scramble=False).random(4096)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_drawing_in_parts_gives_the_same_points():
    whole = SobolSequence(3, np.random.default_rng(0)).draw(64)
    parts = SobolSequence(3, np.random.default_rng(0))
    np.testing.assert_array_equal(whole, np.vstack([parts.draw(16), parts.draw(48)]))


@pytest.mark.parametrize("seed", range(3))
def test_a_scramble_keeps_the_balance(seed):
    """Every dyadic interval of each axis holds exactly its share; also all 2 x 2^k boxes."""
    points = SobolSequence(6, np.random.default_rng(seed)).draw(1024)
    for axis in range(6):
        counts = np.bincount((points[:, axis] * 1024).astype(int), minlength=1024)
        assert (counts == 1).all()
    boxes = (points[:, 0] * 32).astype(int) * 32 + (points[:, 1] * 32).astype(int)
    assert (np.bincount(boxes, minlength=1024) == 1).all()


@pytest.mark.stat
def test_each_scrambled_point_is_uniform():
    """The 5th point over 2000 scrambles; Kolmogorov-Smirnov at 1e-6 in each of 4 dimensions."""
    drawn = [SobolSequence(4, np.random.default_rng([1, i])).draw(8)[5] for i in range(2000)]
    for column in np.array(drawn).T:
        assert kstest(column, "uniform").pvalue > 1e-6

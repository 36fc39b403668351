"""Level sets of functions that are constant between planes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradone.calculus.cells import level_sets
from gradone.calculus.integrand import Integrand, Plane


def committee(normals, offsets=None):
    """Sum of signs of linear forms with unit normals."""
    normals = np.asarray(normals, dtype=float)
    offsets = np.zeros(len(normals)) if offsets is None else np.asarray(offsets)
    planes = tuple(Plane(tuple(w), float(c)) for w, c in zip(normals, offsets, strict=True))

    def function(z):
        forms = [sum(w * x for w, x in zip(row, z, strict=True)) for row in normals]
        return sum(np.sign(form - c) for form, c in zip(forms, offsets, strict=True))

    return Integrand(function, normals.shape[1], planes)


@pytest.mark.parametrize("rho", [-0.9, -0.2, 0.6, 0.999])
def test_two_half_planes(rho):
    """P = 1/4 + asin(rho)/(2 pi) and E[z_1; both] = phi(0) (1 + rho)/2."""
    sets = level_sets(committee([[1.0, 0.0], [rho, math.sqrt(1 - rho**2)]]), 2)
    both = sets.coefficients[..., -1]
    assert sets.values.tolist() == [-2.0, 0.0, 2.0]
    assert abs(both[0, 0] - 0.25 - math.asin(rho) / (2 * math.pi)) <= sets.error
    assert abs(both[1, 0] - (1 + rho) / (2 * math.sqrt(2 * math.pi))) <= sets.error
    assert sets.error < 1e-9


def test_three_half_spaces():
    """Orthant probability: 1/8 + (sum of asin rho_ij)/(4 pi)."""
    normals = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.36, 0.48, 0.8]])
    sets = level_sets(committee(normals), 1)
    correlations = (normals @ normals.T)[np.triu_indices(3, 1)]
    expected = 0.125 + np.arcsin(correlations).sum() / (4 * math.pi)
    assert abs(sets.coefficients[0, 0, 0, -1] - expected) <= sets.error
    assert sets.error < 1e-9


def test_indicators_add_up_to_one():
    normals = np.array([[0.8, 0.6, 0.0], [0.0, 0.6, -0.8], [0.48, 0.64, 0.6], [1.0, 0.0, 0.0]])
    sets = level_sets(committee(normals, [0.1, -0.4, 0.7, 0.0]), 2)
    total = sets.coefficients.sum(axis=-1)
    total[0, 0, 0] -= 1
    assert np.abs(total).max() <= len(sets.values) * sets.error


def test_boxes_are_exact():
    f = committee(np.eye(3), [0.5, -1.0, 0.0])
    sets = level_sets(f, 1)
    tail = [0.5 * math.erfc(c / math.sqrt(2)) for c in (0.5, -1.0, 0.0)]
    assert sets.coefficients[0, 0, 0, -1] == pytest.approx(math.prod(tail), abs=1e-15)
    density = math.exp(-0.125) / math.sqrt(2 * math.pi)  # E[z; z > 1/2]
    assert sets.coefficients[1, 0, 0, -1] == pytest.approx(density * tail[1] * tail[2], abs=1e-15)


def test_curved_breaks_are_left_to_others():
    disc = Integrand(lambda z: np.sign(z[0] ** 2 + z[1] ** 2 - 1), 2, (), is_curved=True)
    assert level_sets(disc, 1) is None

"""Energies of hierarchical targets in a given dimension: closed forms of polynomials."""

import numpy as np
import pytest

import gradone as gd
from gradone.analysis.depth import energies


def covers(estimate, exact, factor=2.6):
    """Of a 99 % half-width with 15 degrees of freedom: missed by chance once in 10^6."""
    return abs(estimate.value - exact) < factor * estimate.error


@pytest.mark.stat
@pytest.mark.parametrize("d", [16, 64])
def test_a_square_of_a_feature_at_finite_d(d):
    """h + He2(h)/2 with balanced signs: 1/2 + 1/(2D) at degree 2, 1/8 + 1/(4D) at degree 4.

    Would catch: the limit 1/2, 1/8 in place of the numbers at D, squares of noisy coefficients.
    """
    D = int(np.sqrt(d))
    t = gd.Sight("h + He2(h)/2", "He2(z)/2", exponent=0.5, signs=np.tile([1.0, -1.0], D // 2))
    found = energies(t, 4, d=d)
    exact = [0.0, 1 / 2 + 1 / (2 * D), 0.0, 1 / 8 + 1 / (4 * D)]
    for estimate, value in zip(found.phi, exact, strict=True):
        assert covers(estimate, value), (estimate, value)
        assert estimate.error < 0.03
    assert covers(found.null, sum(exact))
    assert covers(found.residual(2), exact[3])
    assert covers(found.residual(4), 0.0)
    assert not covers(found.phi[1], 0.5)


@pytest.mark.stat
def test_quadratic_forms_have_the_norm_of_their_sum():
    """y = m^(-1/2) sum_j x A_j x has the energy 2 |sum_j A_j|^2 / m at degree 2."""
    t, d = gd.QuadraticForms("h", count=3), 10
    A = t.realization(d, seed=4).matrices.sum(axis=0)
    found = energies(t, 3, d=d, seed=4)
    for estimate, value in zip(found.phi, [0.0, 2 * np.sum(A * A) / 3, 0.0], strict=True):
        assert covers(estimate, value), (estimate, value)


@pytest.mark.stat
def test_branches_and_trees_add_up():
    """Products of two branches, and a tree of linear levels, at any d."""
    might = energies(gd.Might("h1*h2", "He2(z)", branches=2), 4, d=16)
    assert covers(might.phi[3], 4.0)
    assert covers(might.phi[1], 0.0)
    tree = energies(gd.Tree("h", ["He2(z)/sqrt(2)", "z"], [0.8, 0.4]), 3, d=16)
    assert covers(tree.phi[1], 1.0)
    assert covers(tree.residual(3), 0.0)


def test_too_many_products_are_refused():
    with pytest.raises(gd.OutOfRegime, match="use a smaller degree or d"):
        energies(gd.Sight("tanh(h)", "He2(z)", exponent=1.0), 4, d=500)

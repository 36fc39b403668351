"""Kernels on inputs with a covariance: reference values, exact levels, simulations."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.base.errors import BadData, OutOfRegime, TooLarge
from gradone.theory.lazy.anisotropic_ridge import _levels, _mehler

anisotropic_ridge = gd.theory.anisotropic_ridge


def planted(d, power):
    """z1 + z2 z3 + He2(z5)/sqrt2 of standardized principal coordinates, noise .1, trace 1."""
    law = gd.inputs.gaussian(power_law=power, d=d, trace=1.0)
    s = [f"{math.sqrt(value):.15f}" for value in law.covariance(d)]
    text = f"z1/{s[0]} + z2*z3/({s[1]}*{s[2]}) + ((z4/{s[4]})**2 - 1)/sqrt(2)"
    return gd.Target(text, noise=0.1).on(law, [0, 1, 2, 4])


@pytest.mark.parametrize(
    ("d", "power", "length", "ridge", "degree", "n", "errors"),
    [
        (40, 1.2, 3.0, 1e-4, 3, [100, 400], [1.454, 0.236]),
        (50, 0.5, 2.0, 1e-3, 3, [400], [0.674]),
        pytest.param(40, 1.2, 1.0, 1e-3, 4, [100, 400], [1.314, 0.392], marks=pytest.mark.slow),
    ],
)
def test_reference_values_of_the_exact_eigenstructure(d, power, length, ridge, degree, n, errors):
    found = anisotropic_ridge(planted(d, power), n=n, ridge=ridge, length=length, degree=degree)
    assert np.allclose(found.test_mse.values.ravel(), errors, atol=6e-4)
    assert np.allclose(found.excess_mse, found.test_mse - 0.1)
    assert "ten percent" in found.attrs["caveat"]


def test_the_largest_eigenvalues_of_the_gaussian_kernel():
    on = planted(40, 1.2)
    gamma = np.concatenate(on.eigenvalues)
    values, _ = _mehler(on, gamma, _levels(40, 2), 1.0)
    assert np.allclose(np.sort(values)[:-4:-1], [0.42118212, 0.08411992, 0.04548924], rtol=1e-7)


def test_levels_carry_the_kernel_and_the_target():
    """Sum of eigenvalues is K(x, x) = 1; sum of squared coefficients is the mean of y^2."""
    law = gd.inputs.gaussian(spectrum=[0.6, 0.4])
    on = gd.Target("z1 + z1*z2").on(law, "axes")
    values, coefficients = _mehler(on, np.concatenate(on.eigenvalues), _levels(2, 30), 1.0)
    assert values.sum() == pytest.approx(1.0, abs=1e-9)
    assert coefficients @ coefficients == pytest.approx(0.6 + 0.24, rel=1e-6)


@pytest.mark.stat
def test_a_kernel_on_data_is_within_ten_percent():
    """Kernel ridge regression by hand; 24 draws. The isotropic spectrum would give 1.8."""
    on, errors = planted(40, 1.2), []
    for replicate in range(24):
        train, test = (on.sample(n, 40, replicate=replicate, role=role)
                       for n, role in ((400, "data"), (1000, "test")))  # fmt: skip
        squares = [(one.X**2).sum(axis=1) for one in (train, test)]
        K = np.exp(-(squares[0][:, None] + squares[0] - 2 * train.X @ train.X.T) / 18)
        cross = np.exp(-(squares[1][:, None] + squares[0] - 2 * test.X @ train.X.T) / 18)
        predicted = cross @ np.linalg.solve(K + 1e-4 * np.eye(400), train.y)
        errors.append(np.mean((test.y - predicted) ** 2))
    found = anisotropic_ridge(on, n=400, ridge=1e-4, length=3.0, degree=3).test_mse.item()
    spread = np.std(errors, ddof=1) / math.sqrt(24)
    # The stated ten percent, and 6.7 standard errors.
    assert abs(np.mean(errors) - found) < 0.1 * np.mean(errors) + 6.7 * spread


def test_what_is_wrong_is_told():
    on = planted(40, 1.2)
    with pytest.raises(BadData, match="either the length of a Gaussian kernel or an activation"):
        anisotropic_ridge(on, n=10, ridge=1.0)
    with pytest.raises(BadData, match="give a target on its inputs"):
        anisotropic_ridge(gd.Target("z"), n=10, ridge=1.0, length=1.0)
    with pytest.raises(TooLarge, match="use a lower degree"):
        anisotropic_ridge(on, n=10, ridge=1.0, length=1.0, degree=6)
    tilted = np.array([[2.0, 0.5], [0.5, 1.0]])
    with pytest.raises(OutOfRegime, match="not eigenvectors of the covariance"):
        anisotropic_ridge(
            gd.Target("z").on(gd.inputs.gaussian(covariance=tilted), [0]),
            n=9,
            ridge=1.0,
            length=1.0,
        )
    assert anisotropic_ridge(
        gd.Target("z").on(gd.inputs.gaussian(covariance=tilted), "eigenvectors"),
        n=9, ridge=1.0, length=1.0, degree=4,
    ).test_mse.item() > 0  # fmt: skip

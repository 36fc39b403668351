"""The presets on targets that none of them was made for, at d = 64 and n = d^2.

None of the settings is told anything about the targets. Each preset is compared with two layers
found by the same means and with ridge regression with the quadratic kernel, on the same samples.
"""

import numpy as np
import pytest
from scipy.linalg import solve
from sklearn.preprocessing import PolynomialFeatures

import gradone as gd
from gradone.learners import Layerwise

D, N, FRESH, REPLICATES = 64, 4096, 4000, 3
FIRST = {"practical": 384, "spectral": 600, "theorem": 600}  # width of the first layer

P = "He2(z)/2 + He3(z)/6"
TARGETS = {
    "other outer function, not monotone": gd.Sight("sin(2*h)", P),
    "other outer function, with a jump": gd.Sight("sign(h)", P),
    "other outer function, heavy tails": gd.Sight("h + He2(h)/2", P),
    "other inner function, even": gd.Sight("tanh(3*h)", "He2(z)/sqrt(2)"),
    "other inner function, with a linear part": gd.Sight("tanh(3*h)", "z/2 + He2(z)/2"),
    "fourteen directions": gd.Sight("tanh(3*h)", P, exponent=0.65),
    "relu": gd.Sight("relu(h)", P),
    "seven signs against one": gd.Sight("tanh(3*h)", P, signs=[1.0] * 7 + [-1.0]),
    "three branches": gd.Might("tanh(3*h)", P, branches=3, exponent=0.387),
    "product of branches": gd.Might("h1 + h1*h2", "He2(z)/sqrt(2)", branches=2, exponent=0.387),
}


def kernel_error(X, y, X_new, y_new):
    """Ridge regression on all monomials of degree 1 and 2, those of a square doubled.

    The kernel (x.x')^2 + x.x' has the features x_i^2, sqrt(2) x_i x_j and x_i. The penalty is the
    best of its path on the new rows themselves: no choice from the training data can be better.
    """
    monomials = PolynomialFeatures(2, include_bias=False)
    F = monomials.fit_transform(X.astype(np.float32))
    F_new = monomials.transform(X_new.astype(np.float32))
    mixed = (monomials.powers_ == 1).sum(axis=1) == 2
    F[:, mixed] *= np.sqrt(2)
    F_new[:, mixed] *= np.sqrt(2)
    center, mean = F.mean(axis=0), y.mean().astype(np.float32)
    F, F_new = F - center, F_new - center
    gram, right, errors = F.T @ F, F.T @ (y - mean).astype(F.dtype), []
    for power in (-1.0, -0.5, 0.0):
        ridge = float(gram.trace()) / len(gram) * 10.0**power
        a = solve(gram + ridge * np.eye(len(gram), dtype=gram.dtype), right, assume_a="pos")
        errors.append(np.mean((F_new @ a + mean - y_new) ** 2))
    return min(errors)


def errors_of(target):
    """Test errors (replicate,) of the kernel, and of two and three layers of every preset."""
    found = {}
    for replicate in range(REPLICATES):
        s = target.sample(n=N + FRESH, d=D, seed=8, replicate=replicate)
        X, y, X_new, y_new = s.X[:N], s.y[:N], s.X[N:], s.y[N:]
        made = {"kernel": kernel_error(X, y, X_new, y_new)}
        for preset, first in FIRST.items():
            for layers, widths in ((2, (first,)), (3, None)):
                learner = Layerwise(preset, widths=widths, random_state=replicate).fit(X, y)
                made[preset, layers] = np.mean((learner.predict(X_new) - y_new) ** 2)
        for name, error in made.items():
            found.setdefault(name, []).append(error)
    return {name: np.array(errors) for name, errors in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_no_preset_is_worse_than_the_kernel_and_two_layers(name):
    """Medians of three replicates; five percent are what replicates and the choice leave open."""
    errors = errors_of(TARGETS[name])
    for preset in FIRST:
        best = min(np.median(errors["kernel"]), np.median(errors[preset, 2]))
        assert np.median(errors[preset, 3]) <= 1.05 * best, preset


def fitted_error(learner, target, *, n, replicate):
    s = target.sample(n=n + FRESH, d=D, seed=0, replicate=replicate)
    learner.fit(s.X[:n], s.y[:n])
    return np.mean((learner.predict(s.X[n:]) - s.y[n:]) ** 2)


@pytest.mark.slow
def test_three_layers_learn_three_branches():
    """Two layers are at 0.16 if they are trained and at 0.24 in closed form."""
    target = TARGETS["three branches"]
    three, two = (
        [fitted_error(Layerwise(widths=widths, random_state=i), target, n=16384, replicate=i)
         for i in range(3)]
        for widths in (None, (512,))
    )  # fmt: skip
    assert np.median(three) <= 0.13
    assert max(three) < min(two)
    assert 0.14 < np.median(two) < 0.26
    closed = Layerwise("spectral", widths=(600,), random_state=0)
    assert 0.14 < fitted_error(closed, target, n=16384, replicate=0) < 0.26


@pytest.mark.slow
def test_a_tree_of_two_levels_gains_by_the_fourth_layer():
    """Sixteen directions, four features, one on top; every layer more is better when trained."""
    target = gd.Tree("tanh(1.5*h)", ["He2(z)/sqrt(2)", "0.7*z + 0.505*He2(z)"], [2 / 3, 1 / 3],
                     signs=[[1.0] * 16, [1.0, -1.0] * 2])  # fmt: skip
    assert target.widths(D) == (16, 4, 1)
    trained = {
        len(widths) + 1: fitted_error(
            Layerwise(widths=widths, random_state=0), target, n=16000, replicate=0
        )
        for widths in ((256,), (256, 50), (256, 50, 20))
    }
    assert trained[4] < trained[3] - 0.01
    assert trained[3] < trained[2] - 0.01
    levels = Layerwise("spectral", widths=(600, 200, 50), random_state=0)
    assert fitted_error(levels, target, n=16000, replicate=0) < trained[4]
    assert "They make" in levels.diagnosis_

"""Conversions of penalties: every source's own objective has the same minimizer as ours."""

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

import gradone as gd
from gradone.theory import ridge_from
from gradone.theory.lazy.ridge_from import PENALTIES

N, P = 40, 12


@pytest.fixture
def data(rng):
    return rng.standard_normal((N, P)), rng.standard_normal(N)


def ours(phi, y, ridge):
    """Predictions of the fit whose penalty is called ridge."""
    f = phi / np.sqrt(P)
    return f @ np.linalg.solve(f.T @ f + ridge * np.eye(P), f.T @ y)


# Objectives written down again, as quadratic forms a.A.a/2 - h.a of the fitted coefficients.
SQUARES = {
    "mean_half": lambda F, y, L: (F.T @ F / N + 2 * L * np.eye(P), F.T @ y / N, F),
    "mean_per_width": lambda F, y, L: (2 * F.T @ F / N + 2 * L / P * np.eye(P), 2 * F.T @ y / N, F),
    "mean": lambda F, y, L: (2 * F.T @ F / N + 2 * L * np.eye(P), 2 * F.T @ y / N, F),
}
UNSCALED = {
    "mean_half_unscaled": lambda f, y, L: (f.T @ f / N + 2 * L * np.eye(P), f.T @ y / N, f),
    "unscaled": lambda f, y, L: (f.T @ f + L * np.eye(P), f.T @ y, f),
}


@pytest.mark.parametrize("name", [*SQUARES, *UNSCALED])
def test_objectives_of_squares(data, name):
    phi, y = data
    form = SQUARES[name](phi / np.sqrt(P), y, 0.03) if name in SQUARES else None
    A, h, F = form or UNSCALED[name](phi, y, 0.03)
    ridge = ridge_from(name, 0.03, n=N, width=P)
    np.testing.assert_allclose(F @ np.linalg.solve(A, h), ours(phi, y, ridge), rtol=1e-10)


@pytest.mark.parametrize(("name", "factor"), [("kernel", 1), ("kernel_mean", N)])
def test_kernels(data, name, factor):
    phi, y = data
    K = phi @ phi.T / P
    found = K @ np.linalg.solve(K + 0.03 * factor * np.eye(N), y)
    np.testing.assert_allclose(found, ours(phi, y, ridge_from(name, 0.03, n=N)), rtol=1e-10)


def test_scikit_learn_ridge(data):
    phi, y = data
    machine = Ridge(alpha=0.7, fit_intercept=False).fit(phi / np.sqrt(P), y)
    found = machine.predict(phi / np.sqrt(P))
    np.testing.assert_allclose(found, ours(phi, y, ridge_from("sklearn_ridge", 0.7)), rtol=1e-9)


def test_scikit_learn_classifiers(data):
    """The gradient of our objective, sum of losses + ridge/2 |a|^2, vanishes at their solution."""
    phi, y = data[0] / np.sqrt(P), np.sign(data[1])
    ridge = ridge_from("sklearn_C", 4.0)
    w = LogisticRegression(C=4.0, fit_intercept=False, tol=1e-10).fit(phi, y).coef_[0]
    gradient = -phi.T @ (y / (1 + np.exp(y * (phi @ w)))) + ridge * w
    assert np.abs(gradient).max() < 1e-4 * np.abs(ridge * w).max()
    machine = LinearSVC(C=4.0, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000)
    w = machine.fit(phi, y).coef_[0]

    def objective(w):
        return np.maximum(0, 1 - y * (phi @ w)).sum() + ridge / 2 * w @ w

    moves = 0.01 * np.random.default_rng(0).standard_normal((200, P))
    assert min(objective(w + move) for move in moves) > objective(w) - 1e-6


def test_exponents_of_scaling_laws():
    assert ridge_from("exponent", 0.25, n=10_000) == pytest.approx(1000.0)


def test_the_docstring_lists_every_convention():
    text = inspect.getdoc(ridge_from)
    rows = [line for line in text.splitlines() if line.startswith('``"')]
    assert [row.split('"')[1] for row in rows] == list(PENALTIES)
    assert [row.split("  ")[-1].strip() for row in rows] == [c.formula for c in PENALTIES.values()]


@pytest.mark.parametrize(
    ("arguments", "sizes", "message"),
    [
        (("mean_halves", 1.0), {}, "unknown convention 'mean_halves'. .*Did you mean 'mean_half'"),
        (("mean_half", 1.0), {}, "'mean_half' needs n: in it ridge is 2 n L"),
        (("mean_per_width", 1.0), {}, "needs n and width"),
        (("mean", -1.0), {"n": 5}, "penalty must be a finite number >= 0, got -1.0"),
        (("mean", np.nan), {"n": 5}, "penalty must be a finite number >= 0"),
        (("mean", 1.0), {"n": 0}, "n must be a finite number > 0, got 0"),
        (("sklearn_C", 0.0), {}, "C must be a finite number > 0"),
    ],
)
def test_bad_input_is_refused(arguments, sizes, message):
    with pytest.raises(gd.BadData, match=message):
        ridge_from(*arguments, **sizes)

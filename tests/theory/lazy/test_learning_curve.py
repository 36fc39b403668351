"""Learning curves of real tables: how far they are from fits to rows of the table, in numbers."""

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge

import gradone as gd
from gradone.theory import learning_curve


@pytest.fixture(scope="module")
def digits():
    """Pixels of unit mean variance; +1 for odd digits."""
    X, y = load_digits(return_X_y=True)
    X = X - X.mean(axis=0)
    return X / np.sqrt((X**2).mean()), 2.0 * (y % 2) - 1


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_reference_values_of_the_digits(digits):
    found = learning_curve(*digits, n=[100, 400, 800], ridge=1.0)
    np.testing.assert_allclose(found.test_mse[:, 0], [0.5216, 0.3366, 0.3139], atol=5e-5)
    assert "not Gaussian" in found.attrs["caveat"].replace("\n", " ")


def measured(fit, X, y, n, rng, replicates=40):
    """Mean error on the whole table after fits to rows drawn with replacement, and its error."""
    runs = []
    for _ in range(replicates):
        rows = rng.integers(0, len(y), n)
        runs.append(fit(X[rows], y[rows], X, y))
    return np.mean(runs), np.std(runs, ddof=1) / np.sqrt(replicates)


def ridge_error(ridge):
    def fit(X, y, all_X, all_y):
        machine = Ridge(alpha=ridge, fit_intercept=False).fit(X, y)
        return np.mean((all_y - machine.predict(all_X)) ** 2)

    return fit


def label_error(ridge):
    def fit(X, y, all_X, all_y):
        machine = LogisticRegression(C=1 / ridge).fit(X, y)
        return np.mean(machine.predict(all_X) != all_y)

    return fit


@pytest.mark.stat
@pytest.mark.parametrize(
    ("n", "low", "high"),
    # Relative distance (fit - prediction)/prediction that was seen, and a margin of 2 %.
    [(100, 0.04, 0.13), (400, 0.00, 0.04), (800, -0.01, 0.03)],
)
def test_digits_are_learned_a_little_less_well_than_predicted(digits, rng, n, low, high):
    """Small samples of pixels: 8 % above the prediction; from 400 on within 2 %."""
    X, y = digits
    y = y - y.mean()
    found = learning_curve(X, y, n=n, ridge=1.0).test_mse.item()
    mean, error = measured(ridge_error(1.0), X, y, n, rng)
    allowed = student.isf(5e-7, 39) * error / found
    assert low - allowed < mean / found - 1 < high + allowed


@pytest.mark.stat
@pytest.mark.parametrize("n", [50, 200])
def test_diabetes_is_predicted_within_three_percent(diabetes, rng, n):
    """Ten features, 442 rows, close to Gaussian. Would catch: labels not centered (by 5 times)."""
    X, y = diabetes
    found = learning_curve(X, y, n=n, ridge=20.0).test_mse.item()
    mean, error = measured(ridge_error(20.0), X, y - y.mean(), n, rng)
    assert abs(mean / found - 1) < 0.03 + student.isf(5e-7, 39) * error / found


@pytest.mark.stat
@pytest.mark.parametrize(
    ("quantile", "distance"), [(0.5, 0.05), (0.75, 0.15)], ids=["balanced", "unbalanced"]
)
def test_two_classes_of_diabetes(diabetes, rng, quantile, distance):
    """Predictions are 1 to 3 % low for classes of equal size, up to 12 % for a quarter."""
    X, y = diabetes
    labels = np.where(y > np.quantile(y, quantile), "high", "low")
    found = learning_curve(X, labels, n=150, ridge=5.0, loss="logistic").zero_one_error.item()
    mean, error = measured(label_error(5.0), X, labels, 150, rng)
    chance = student.isf(5e-7, 39) * error / found
    assert -0.03 - chance < mean / found - 1 < distance + chance


def test_clusters_are_refused():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(gd.OutOfRegime, match="the classes are clusters.*loss='square'"):
        learning_curve(X, y, n=100, ridge=1.0, loss="logistic")
    assert learning_curve(X, y, n=100, ridge=1.0).test_mse.item() < y.var()


@pytest.mark.stat
def test_intervals_cover_the_truth_of_gaussian_tables(rng):
    """99 % intervals of 60 tables: fewer than 52 covered has the probability 1e-7."""
    omega, theta = np.array([2.0, 1.0, 0.5, 0.2]), np.array([1.0, -0.5, 0.3, 0.0])
    model = {"eigenvalues": omega, "coefficients": omega * theta}
    truth = gd.theory.gaussian_covariates(
        **model, rho=float(omega @ theta**2) + 1.0, n=20, ridge=1.0
    ).test_mse.item()
    covered = []
    for _ in range(60):
        X = rng.standard_normal((400, 4)) * np.sqrt(omega)
        y = X @ theta + rng.standard_normal(400)
        found = learning_curve(X + 3.0, y - 7.0, n=20, ridge=1.0)
        covered.append(abs(found.test_mse.item() - truth) < found.test_mse_err.item())
    assert sum(covered) >= 52
    # Not by being wide: a variance from 400 rows is known to 7 %, and 99 % are three times that.
    assert found.test_mse_err.item() < 0.4 * truth


def test_rows_columns_and_units(diabetes, rng):
    X, y = diabetes
    one = learning_curve(X, y, n=60, ridge=3.0).test_mse.item()
    columns = X[:, rng.permutation(10)] + rng.standard_normal(10)
    assert learning_curve(columns, 2 * y + 5, n=60, ridge=3.0).test_mse.item() == pytest.approx(
        4 * one, rel=1e-9
    )
    assert learning_curve(10 * X, y, n=60, ridge=300.0).test_mse.item() == pytest.approx(
        one, rel=1e-9
    )


def test_more_columns_than_rows(rng):
    """The same numbers come from either Gram matrix."""
    X, y = rng.standard_normal((60, 25)), rng.standard_normal(60)
    wide = np.hstack([X, np.zeros((60, 50))]) @ np.linalg.qr(rng.standard_normal((75, 75)))[0]
    one, other = (learning_curve(Z, y, n=30, ridge=1.0) for Z in (X, wide))
    assert one.test_mse.item() == pytest.approx(other.test_mse.item(), rel=1e-8)
    assert one.test_mse_err.item() == pytest.approx(other.test_mse_err.item(), rel=1e-6)


def test_a_data_frame_is_a_table():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = learning_curve(X, y, n=[50, 100], ridge=[0.1, 1.0])
    assert found.test_mse.dims == ("n", "ridge")
    assert found.attrs["target"] == "a table of 442 rows and 10 features"


NOT_A_NUMBER = np.where(np.eye(30, 3, dtype=bool), np.nan, 1.0)


@pytest.mark.parametrize(
    ("X", "y", "change", "message"),
    [
        (None, None, {"ridge": -1.0}, "ridge must be finite numbers >= 0, got -1.0"),
        (None, None, {"n": 0}, "n must be finite numbers > 0"),
        (None, np.ones(30), {}, "all labels are 1: there is nothing to learn"),
        (None, np.ones(30), {"loss": "logistic"}, "labels of two classes, got 1: 1.0"),
        (None, np.arange(30), {"loss": "logistic"}, "labels of two classes, got 30"),
        (None, np.arange(30) < 3, {"loss": "hinge"}, "at least 20 rows, got 3 rows of 'True'"),
        (None, ["a"] * 30, {}, "labels of the square loss are numbers"),
        (None, np.ones(29), {}, "one label for each of the 30 rows"),
        (None, np.append(np.ones(29), np.nan), {}, "y contains nan at row 29"),
        (None, np.append(np.ones(29), np.nan), {"loss": "hinge"}, "y contains nan at row 29"),
        (NOT_A_NUMBER, None, {}, "features contain nan at row 0, column 0"),
        (np.ones((30, 2)), None, {}, "all features are constant"),
        (np.ones((5, 2)), None, {}, r"at least 20 samples .*got shape \(5, 2\)"),
        (np.ones(30), None, {}, r"got shape \(30,\)"),
        ([["red"]] * 30, None, {}, "encode text columns"),
        (None, None, {"loss": "huber"}, "unknown loss 'huber'. Known: square, logistic, hinge"),
    ],
)
def test_bad_input_is_refused(rng, X, y, change, message):
    X = rng.standard_normal((30, 3)) if X is None else X
    y = rng.standard_normal(30) if y is None else y
    with pytest.raises(gd.BadData, match=message):
        learning_curve(X, y, **({"n": 10, "ridge": 1.0} | change))

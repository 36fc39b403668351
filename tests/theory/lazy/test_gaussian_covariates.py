"""Gaussian covariates: reference values, limits, invariances, and fits to sampled data."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.svm import LinearSVC

import gradone as gd
from gradone.theory import gaussian_covariates

from ...reference_work import reference_time

EIGENVALUES = np.repeat([4.0, 1.0, 0.25, 0.0625], 50)
COEFFICIENTS = np.sqrt(np.repeat([0.008, 0.002, 0.001, 0.0002], 50))
STEPS = {"eigenvalues": EIGENVALUES, "coefficients": COEFFICIENTS, "rho": 1.0}


@pytest.mark.parametrize(
    ("n", "excess", "train"),
    [(100, 2.23101957, 2.19427626e-4), (400, 0.954106016, 0.270269822)],
)
def test_reference_values_of_squares(n, excess, train):
    found = gaussian_covariates(**STEPS, n=n, ridge=0.5, noise=0.1)
    assert found.excess_mse.item() == pytest.approx(excess, rel=1e-8)
    assert found.test_mse.item() == pytest.approx(excess + 0.1, rel=1e-8)
    assert found.train_mse.item() == pytest.approx(train, rel=1e-8)
    assert bool(found.converged.all())


@pytest.mark.parametrize(
    ("n", "ridge", "values"),
    [
        (400, 0.5, (17.002842, 30.363595, 2.390532, 0.35716242, 0.1373027)),
        (150, 10.0, (8.6783842, 4.814505, 0.46428964, 0.43213299, 0.205514)),
    ],
)
def test_reference_values_of_the_logistic_loss(n, ridge, values):
    found = gaussian_covariates(**STEPS, n=n, ridge=ridge, loss="logistic")
    names = ["response", "norm", "overlap", "zero_one_error", "train_loss"]
    for name, value in zip(names, values, strict=True):
        assert found[name].item() == pytest.approx(value, rel=1e-6)
        assert found[f"{name}_err"].item() < 1e-7 * value


class Population:
    """Gaussian features along their eigenvectors, and a field: samples and exact errors."""

    def __init__(self, rng, *, p, unexplained, exponent=1.0):
        self.rng = rng
        self.omega = 2.0 * np.arange(1, p + 1) ** -exponent
        self.theta = rng.standard_normal(p)
        self.theta /= np.sqrt(self.omega @ self.theta**2)
        self.c, self.rho = self.omega * self.theta, 1.0 + unexplained
        self.unexplained = unexplained

    @property
    def model(self):
        return {"eigenvalues": self.omega, "coefficients": self.c, "rho": self.rho}

    def sample(self, n):
        v = self.rng.standard_normal((n, len(self.omega))) * np.sqrt(self.omega)
        return v, v @ self.theta + np.sqrt(self.unexplained) * self.rng.standard_normal(n)

    def mse(self, w):
        return self.rho - 2 * self.c @ w + self.omega @ w**2

    def error(self, w):
        return np.arccos(self.c @ w / np.sqrt(self.rho * (self.omega @ w**2))) / np.pi


def agrees(runs, theory, size):
    """Whether a mean of runs is the prediction, up to chance (1e-6) and a term of size 1/size."""
    runs = np.asarray(runs)
    spread = runs.std(ddof=1) / np.sqrt(len(runs))
    return abs(runs.mean() - theory) < student.isf(5e-7, len(runs) - 1) * spread + theory / size


@pytest.mark.stat
@pytest.mark.parametrize(("n", "ridge"), [(60, 0.05), (150, 1.0), (500, 0.2)])
def test_squares_agree_with_fits(rng, n, ridge):
    """Would catch: noise left out (30 %), df1 for df2, ridge/2 for ridge.

    The allowance is one per cent: corrections are of order 1/n, relative.
    """
    there = Population(rng, p=150, unexplained=0.3)
    found = gaussian_covariates(**there.model, n=n, ridge=ridge, noise=0.2)
    test, train = [], []
    for _ in range(60):
        v, field = there.sample(n)
        y = field + np.sqrt(0.2) * rng.standard_normal(n)
        w = np.linalg.solve(v.T @ v + ridge * np.eye(150), v.T @ y)
        test.append(there.mse(w) + 0.2)
        train.append(np.mean((y - v @ w) ** 2))
    assert agrees(test, found.test_mse.item(), 100)
    assert agrees(train, found.train_mse.item(), 100)


def logistic_fit(v, y, ridge):
    """Newton's method on the objective itself; the last column is an intercept."""
    v = np.column_stack([v, np.ones(len(y))])
    penalty = np.append(np.full(v.shape[1] - 1, ridge), 0.0)
    w = np.zeros(v.shape[1])
    for _ in range(50):
        s = expit(-y * (v @ w))
        gradient = -v.T @ (y * s) + penalty * w
        step = np.linalg.solve((v.T * (s * (1 - s))) @ v + np.diag(penalty), gradient)
        w -= step
        if np.abs(step).max() < 1e-9:
            return w[:-1], w[-1]
    raise AssertionError("Newton's method did not converge")


@pytest.mark.stat
@pytest.mark.parametrize("mean", [0.0, 0.8])
def test_logistic_fits_agree(rng, mean):
    """Would catch: ridge for ridge/2, rho without its unexplained part, a missing intercept."""
    there = Population(rng, p=120, unexplained=0.3)
    n, ridge = 400, 0.5
    found = gaussian_covariates(**there.model, n=n, ridge=ridge, loss="logistic", mean=mean)
    runs = []
    for _ in range(30):
        v, field = there.sample(n)
        y = np.where(field + mean > 0, 1.0, -1.0)
        w, b = logistic_fit(v, y, ridge)
        loss = np.mean(np.logaddexp(0, -y * (v @ w + b)))
        fresh, field = there.sample(5000)
        wrong = np.mean((field + mean > 0) != (fresh @ w + b > 0))
        runs.append([wrong, loss, there.c @ w, there.omega @ w**2, b])
    columns = np.array(runs).T
    names = ["zero_one_error", "train_loss", "overlap", "norm"]
    for name, column in zip(names, columns, strict=False):
        assert agrees(column, found[name].item(), 25), name
    if mean:
        assert agrees(columns[4], found.intercept.item(), 25)


@pytest.mark.stat
def test_hinge_fits_agree(rng):
    """Would catch: the penalty of the logistic loss halved, kinks that the quadrature misses."""
    there = Population(rng, p=100, unexplained=0.2)
    n, ridge = 250, 1.0
    found = gaussian_covariates(**there.model, n=n, ridge=ridge, loss="hinge", flips=0.05)
    wrong, losses = [], []
    for _ in range(30):
        v, field = there.sample(n)
        y = np.where(field > 0, 1.0, -1.0) * np.where(rng.random(n) < 0.05, -1.0, 1.0)
        machine = LinearSVC(
            C=1 / ridge, loss="hinge", fit_intercept=False, tol=1e-6, max_iter=200_000,
            random_state=0,
        ).fit(v, y)  # fmt: skip
        w = machine.coef_[0]
        clean = there.error(w)
        wrong.append(0.05 + 0.9 * clean)
        losses.append(np.mean(np.maximum(0, 1 - y * (v @ w))))
    assert agrees(wrong, found.zero_one_error.item(), 50)
    assert agrees(losses, found.train_loss.item(), 25)


@pytest.mark.stat
def test_huber_fits_agree_under_outliers(rng):
    """Would catch: a loss in other units than the field (its variance here is 1.3, not 1)."""
    there = Population(rng, p=80, unexplained=0.3)
    n, ridge, delta = 200, 0.5, 0.4
    found = gaussian_covariates(
        **there.model, n=n, ridge=ridge, loss="huber", delta=delta, noise=0.1, outliers=(0.2, 8.0)
    )
    excess, losses = [], []
    for _ in range(30):
        v, field = there.sample(n)
        variance = np.where(rng.random(n) < 0.2, 8.0, 0.1)
        y = field + np.sqrt(variance) * rng.standard_normal(n)

        def objective(w, v=v, y=y):
            e = y - v @ w
            size = np.abs(e)
            loss = np.where(size < delta, e * e / 2, delta * size - delta**2 / 2)
            return loss.sum() + ridge / 2 * w @ w, -v.T @ np.clip(e, -delta, delta) + ridge * w

        w = minimize(objective, np.zeros(80), jac=True, method="L-BFGS-B", tol=1e-12).x
        excess.append(there.mse(w))
        losses.append((objective(w)[0] - ridge / 2 * w @ w) / n)
    assert agrees(excess, found.excess_mse.item(), 25)
    assert agrees(losses, found.train_loss.item(), 25)
    assert found.test_mse.item() - found.excess_mse.item() == pytest.approx(0.8 * 0.1 + 0.2 * 8.0)


def test_huber_with_a_large_delta_is_a_fit_of_squares():
    given = STEPS | {"n": 250, "ridge": 0.3, "noise": 0.2}
    squares = gaussian_covariates(**given)
    huber = gaussian_covariates(**given, loss="huber", delta=1e3)
    assert huber.excess_mse.item() == pytest.approx(squares.excess_mse.item(), rel=1e-8)
    assert huber.effective_ridge.item() == pytest.approx(squares.effective_ridge.item(), rel=1e-8)
    # Half the mean square, without the penalty.
    assert huber.train_loss.item() == pytest.approx(squares.train_mse.item() / 2, rel=1e-8)


@pytest.mark.parametrize("loss", ["square", "huber", "logistic", "hinge"])
def test_only_what_can_matter_matters(rng, loss):
    """Order and signs of the coefficients, and the unit of the features, change nothing."""
    order = rng.permutation(200)
    signs = rng.choice([-1.0, 1.0], 200)
    one = gaussian_covariates(**STEPS, n=[80, 300], ridge=0.5, loss=loss)
    other = gaussian_covariates(
        eigenvalues=9 * EIGENVALUES[order],
        coefficients=3 * (signs * COEFFICIENTS)[order],
        rho=1.0,
        n=[80, 300],
        ridge=9 * 0.5,
        loss=loss,
    )
    for name in {"test_mse", "zero_one_error", "train_mse", "train_loss"} & set(one.data_vars):
        np.testing.assert_allclose(one[name].values, other[name].values, rtol=1e-8)


def test_what_is_not_explained_acts_as_noise():
    given = STEPS | {"n": 120, "ridge": 0.2}
    field = gaussian_covariates(**(given | {"rho": 1.4}), noise=0.1)
    noise = gaussian_covariates(**given, noise=0.5)
    assert field.test_mse.item() == pytest.approx(noise.test_mse.item(), rel=1e-12)
    assert field.excess_mse.item() - noise.excess_mse.item() == pytest.approx(0.4, rel=1e-10)


def test_limits_of_the_ridge():
    found = gaussian_covariates(**STEPS, n=[100, 200, 500], ridge=[0.0, 1e-9, 1e9], noise=0.1)
    ridgeless, tiny, huge = (found.test_mse.isel(ridge=i).values for i in range(3))
    unexplained = 1.0 - 0.56 + 0.1
    assert ridgeless[2] == pytest.approx(unexplained / (1 - 200 / 500), rel=1e-12)
    assert np.isinf(ridgeless[1])
    np.testing.assert_allclose(tiny[[0, 2]], ridgeless[[0, 2]], rtol=1e-6)
    np.testing.assert_allclose(huge, 1.1, rtol=1e-6)
    assert found.train_mse.sel(n=100, ridge=0.0).item() == 0


def test_it_is_the_theory_of_random_features_at_the_spectrum_of_drawn_weights(rng):
    """The two share the equations but not the spectrum: one matrix here, its limit there."""
    d, alpha, ratio, ridge = 400, 2.0, 1.5, 0.1
    W = rng.standard_normal((600, d)) / np.sqrt(d)
    linear, rest = 0.6057055096**2, 0.1655757411**2  # of tanh
    omega, U = np.linalg.eigh(linear * W @ W.T + rest * np.eye(600))
    c = np.sqrt(linear * ((U.T @ W) ** 2).sum(axis=1) / d)  # for a mean direction of the field
    # Features enter as phi/sqrt(width).
    drawn = {"eigenvalues": omega / 600, "coefficients": c / np.sqrt(600), "rho": 1.0}
    for loss, name in [("square", "test_mse"), ("logistic", "zero_one_error")]:
        target = "sign(z)" if loss == "logistic" else "z"
        limit = gd.predict(
            target, "random_features", activation="tanh(z)", alpha=alpha, width_ratio=ratio,
            ridge=ridge, loss=loss,
        )  # fmt: skip
        found = gaussian_covariates(**drawn, n=alpha * d, ridge=ridge, loss=loss)
        assert found[name].item() == pytest.approx(limit[name].item(), rel=0.01)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_mean_of_the_field_may_have_either_sign(loss):
    given = STEPS | {"n": 300, "ridge": 2.0, "loss": loss}
    up, down = (gaussian_covariates(**given, mean=mean) for mean in (1.2, -1.2))
    assert up.intercept.item() == pytest.approx(-down.intercept.item(), rel=1e-7)
    assert up.zero_one_error.item() == pytest.approx(down.zero_one_error.item(), rel=1e-8)


def test_with_a_huge_ridge_the_intercept_alone_is_fitted():
    found = gaussian_covariates(**STEPS, n=300, ridge=1e7, loss="logistic", mean=1.2)
    share = norm.cdf(1.2)
    assert found.intercept.item() == pytest.approx(np.log(share / (1 - share)), rel=1e-4)
    assert found.zero_one_error.item() == pytest.approx(1 - share, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ridge": -0.1}, r"ridge must be finite numbers >= 0, got -0.1"),
        ({"ridge": np.nan}, "ridge must be finite numbers >= 0, got nan"),
        ({"ridge": 0.0, "loss": "logistic"}, "ridge must be > 0 for the loss 'logistic'"),
        ({"eigenvalues": -EIGENVALUES}, "eigenvalues must be >= 0, got -4 at position 0"),
        ({"eigenvalues": np.where(np.arange(200) == 7, np.nan, 1)}, "got nan at position 7"),
        ({"eigenvalues": np.zeros(200)}, "all eigenvalues are zero"),
        ({"coefficients": COEFFICIENTS[:-1]}, "coefficients has 199 entries and eigenvalues 200"),
        ({"coefficients": COEFFICIENTS * np.inf}, "coefficients must be finite numbers"),
        ({"coefficients": 2 * COEFFICIENTS}, "sum of coefficients.2/eigenvalues is 2.24"),
        ({"eigenvalues": EIGENVALUES * (np.arange(200) > 0)}, "is inf, more than rho"),
        ({"rho": 0.0}, "rho must be a finite number > 0"),
        ({"n": 0}, "n must be finite numbers > 0"),
        ({"n": [10, 10]}, "twice"),
        ({"noise": -1}, "noise must be a finite number >= 0"),
        ({"noise": 0.1, "loss": "hinge"}, "labels .-1 carry no additive noise"),
        ({"flips": 0.1}, "flips are a probability below 1/2"),
        ({"flips": 0.5, "loss": "hinge"}, "flips are a probability below 1/2"),
        ({"delta": 0.0, "loss": "huber"}, "delta must be a finite number > 0"),
        ({"outliers": (0.1, 1.0)}, "outliers are .* for the loss 'huber'"),
        ({"outliers": (1.1, 1.0), "loss": "huber"}, "share in"),
        ({"mean": np.inf, "loss": "hinge"}, "mean must be a finite number"),
        ({"mean": -6.5, "loss": "hinge"}, "all labels would be of one class"),
        ({"on_failure": "ignore"}, "on_failure must be 'raise' or 'mark', got 'ignore'"),
        ({"loss": "hinges"}, "unknown loss 'hinges'. .*Did you mean 'hinge'"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = STEPS | {"n": 100, "ridge": 0.5} | change
    with pytest.raises(gd.BadData, match=message):
        gaussian_covariates(**given)


def test_points_that_fail_are_an_error_or_marked(monkeypatch):
    """A solver that gives up early: no plausible number comes out."""
    from gradone.theory.lazy import _covariate_fits

    solve = _covariate_fits.learn

    def give_up(output, spectrum, *, samples, **more):
        found = solve(output, spectrum, samples=samples, **more)
        return replace(found, converged=samples < 200)

    monkeypatch.setattr(_covariate_fits, "learn", give_up)
    given = STEPS | {"n": [100, 300], "ridge": 1.0, "loss": "logistic"}
    with pytest.raises(gd.NotConverged, match="1 of 2 points, first at n = 300.0") as info:
        gaussian_covariates(**given)
    assert info.value.last.zero_one_error.notnull().all()
    marked = gaussian_covariates(**given, on_failure="mark")
    assert marked.converged.values.ravel().tolist() == [True, False]
    assert marked.zero_one_error.isnull().values.ravel().tolist() == [False, True]
    assert "the fixed point was not reached" in marked.status.values[1, 0]


def test_a_point_with_600_features_is_quick():
    model = Population(np.random.default_rng(0), p=600, unexplained=0.3).model
    for loss in ("square", "huber", "logistic", "hinge"):
        point = partial(gaussian_covariates, **model, n=800, ridge=0.1, loss=loss)
        assert reference_time(point, 5) < 0.03, loss

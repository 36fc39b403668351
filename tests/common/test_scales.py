"""Learners at the ends of the range of floats: right to rounding, or one clear refusal."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

import gradone as gd
from gradone.base.units import check_range, units
from gradone.learners import LEARNERS, FeatureClassifier, FeatureRegressor

NAMES = list(LEARNERS)
ROWS, COLUMNS = 80, 4
# Small networks: what is tested does not depend on their size.
FEW = {"max_directions": 1, "cv": 1, "n_landmarks": 20}
GIVEN = {
    "bayes_amp": {"channel": gd.Target("z1", noise=0.1), "max_iter": 20, "restarts": 0},
    "giant_step": {"width": 24},
    "residual_step": {"width": 24},
    "random_features": {"width": 60},
    "random_features_classifier": {"width": 60},
    "layerwise": {"widths": (16, 8), "steps": 20, "rounds": 1},
    "joint_network": {"widths": (16, 8), "steps": 20},
    "online_sgd": {"width": 2},
    "online_sgd_classifier": {"width": 2},
    "reused_batch": {"width": 2, "steps": 10},
    "neural_lofi": {"layers": 2, "n_features": 30, "readout_features": 30},
    "neural_lofi_classifier": {"layers": 2, "n_features": 30, "readout_features": 30},
    "feature_regressor": FEW,
    "feature_classifier": FEW,
    "table_regressor": {"learner": FeatureRegressor(**FEW, random_state=0)},
    "table_classifier": {"learner": FeatureClassifier(**FEW, random_state=0)},
}
# Factors 1e200 and 1e-300, and more of them in the slow tests.
EXPONENTS = [
    pytest.param((664, -996), id="two"),
    pytest.param((100, 332, 996, -100, -332, -664), id="six", marks=pytest.mark.slow),
]


def learner(name):
    made = LEARNERS[name](**GIVEN.get(name, {}))
    return made.set_params(random_state=0) if "random_state" in made.get_params() else made


def data(name):
    rng = np.random.default_rng(5)
    # Not of unit size: Bayes-AMP leaves such inputs as they are.
    X = 4 * rng.standard_normal((ROWS, COLUMNS))
    y = 0.15 * X[:, 0] + 0.2 * X[:, 1] + 0.06 * X[:, 2] ** 2 + 0.1 * rng.standard_normal(ROWS)
    return X, np.sign(y) if is_classifier(learner(name)) else y


def answer(name, X, y):
    """What a learner says, up to the sign of directions; RuntimeWarnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of constant columns, of few rows
        fitted = learner(name).fit(X, y)
        if hasattr(fitted, "decision_function"):
            return fitted.decision_function(X)
        return fitted.predict(X) if hasattr(fitted, "predict") else abs(fitted.transform(X))


def has_units(name):
    """Whether predictions are in units of the labels."""
    return hasattr(LEARNERS[name], "predict") and not is_classifier(learner(name))


@pytest.mark.parametrize("exponents", EXPONENTS)
@pytest.mark.parametrize("name", NAMES)
def test_data_of_any_size_are_learned_as_those_of_unit_size(name, exponents):
    """Powers of two change no digit, so that the answers must be equal, or nearly so.

    Failed before: squares that overflow or vanish gave NaN, a false "no direction", R^2 = 0, a
    false warning of a leak, ZeroDivisionError, OverflowError, IndexError and LinAlgError.
    """
    X, y = data(name)
    cases = {"object": (X.astype(object), y.astype(object), 1.0)}
    for e in exponents:
        column = np.where(np.arange(COLUMNS) == 1, 2.0**e, 1.0)
        cases[f"X 2^{e}"] = (X * 2.0**e, y, 1.0)
        cases[f"column 2^{e}"] = (X * column, y, 1.0)
        if not is_classifier(learner(name)) and name != "bayes_amp":  # its channel has units
            cases[f"y 2^{e}"] = (X, y * 2.0**e, 2.0**e if has_units(name) else 1.0)
    expected = answer(name, X, y)
    assert expected.size
    wrong = []
    for what, (inputs, labels, unit) in cases.items():
        found = answer(name, inputs, labels) / unit
        if not np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max()):
            wrong.append(what)
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_ends_earlier(name):
    """Squares of 1e20 leave the range of float32. Failed before for all but networks of depth."""
    X, y = data(name)
    X = X.astype(np.float32)
    expected = answer(name, X, y)
    for factor in (2.0**66, 2.0**-66):
        found = answer(name, X * np.float32(factor), y)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    if not is_classifier(learner(name)) and name not in ("sir", "save", "spectral_directions"):
        with pytest.raises(gd.BadData, match=r"largest modulus in y .* worked with in float32"):
            answer(name, X, y * 1e60)


def hostile(X, y):
    """Data that hardly mean anything: each gives finite numbers or a refusal."""
    n = len(y)
    one = np.zeros(n)
    one[-1] = 1.0
    yield X * 4e306, y
    yield X * 1e-315, y
    yield X, y * 1e307
    yield X, y * 1e-315
    yield X, np.ones(n)
    yield np.ones_like(X), y
    yield np.zeros_like(X), y
    for rows in range(6):
        yield X[:rows], y[:rows]
    yield X[:, :1], y
    yield X[:, :0], y
    yield np.where(X > 4, np.nan, X), y
    yield np.where(X > 4, np.inf, X), y
    yield X, np.where(y > 0, np.nan, y)
    yield X, np.where(y > 0, -np.inf, y)
    yield X, y + 1j
    yield X + 1j, y
    yield X, np.where(y > 0, "a", "b")
    yield X, np.array([f"label {i}" for i in range(n)])
    yield X, np.array([1.0, "a"] * (n // 2), dtype=object)
    yield X, np.array([1.0, None] * (n // 2), dtype=object)
    yield X, None
    yield X, np.arange(n).astype("datetime64[D]")
    yield X, y[:-1]
    yield X, np.stack([y, y], axis=1)
    yield X, np.arange(n) * 2**54
    yield X, y.astype(np.longdouble)
    yield np.full(X.shape, "a"), y
    yield X[:, 0], y
    yield np.repeat(X[: n // 10], 10, axis=0), np.repeat(y[: n // 10], 10)
    yield X[:, [0, 0, 1, 1]], y
    yield one[:, None] * X, y
    yield X, one
    yield X + 2.0**20, y
    if y.std() < 0.99:
        yield X, y + 2.0**40
    yield X, np.where(one > 0, 1e200, y)
    yield np.where(one[:, None] > 0, 1e200, X), y


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_learned_from_is_refused_in_our_words(name):
    """Failed before: 28 to 36 of them raised errors of scikit-learn, NumPy or Python, or warned."""
    X, y = data(name)
    for number, (inputs, labels) in enumerate(hostile(X, y)):
        try:
            found = answer(name, inputs, labels)
        except gd.GradoneError:
            continue
        assert np.isfinite(found).all(), number


@pytest.mark.parametrize("name", ["random_features", "dot_kernel_ridge", "giant_step"])
def test_units_that_are_kept_must_be_sensible(name):
    X, y = data(name)
    plain = learner(name).set_params(standardize=False)
    with pytest.raises(gd.BadData, match="where they are not standardized"):
        plain.fit(X * 1e100, y)
    plain.fit(X, y)


def test_a_layerwise_network_says_what_it_lacks():
    X, y = data("layerwise")
    for inputs, labels in [(X, 0 * y), (0 * X + 1, y), (X[:2], y[:2])]:
        with pytest.raises(gd.BadData, match="rows? to learn from are all equal"):
            answer("layerwise", inputs, labels)


def test_units_are_powers_of_two_near_the_largest_number():
    values = np.array([[3e-200, 0.0, 7.0, -5e250], [0.0, 0.0, 1e60, 1.0]])
    found = units(values)
    assert (np.frexp(found)[0] == 0.5).all()
    np.testing.assert_array_equal(found[1:3], 1.0)
    ratio = np.abs(values).max(axis=0)[[0, 3]] / found[[0, 3]]
    assert ((ratio >= 1) & (ratio < 2)).all()


def test_a_refusal_names_the_column_and_its_size():
    with pytest.raises(gd.BadData, match=r"column 1 of X is 1e\+305: sizes from 9e-302 to 1e\+301"):
        check_range(np.array([[1.0, 1e305]]), "X", dtype=np.float64)

"""Spectral directions without knowledge of the link."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, ortho_group, rankdata
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.regression.dimred import SlicedAverageVarianceEstimation

import gradone as gd
from gradone.learners import SpectralDirections

from ..rotated import cosines, he3, product_plus_linear, rotated, sign_product, staircase


def finder(**parameters):
    return SpectralDirections(**{"random_state": 0} | parameters)


# ---- the numbers


def test_eigenvalues_are_those_of_the_definition():
    """Written out sample by sample, for a direction of either order; six cosines, no shrinkage."""
    X, y, _ = rotated(product_plus_linear, n=300, d=4, r=3, seed=0)
    found = finder(shrinkage=0.0, n_components=4).fit(X, y)
    x = (X - X.mean(0)) / X.std(0)
    u = np.linalg.solve(np.linalg.cholesky(x.T @ x / 300), x.T).T  # whitened, up to a rotation
    T = np.cos(np.pi * np.outer((rankdata(y) - 0.5) / 300, np.arange(1, 7)))
    T = np.linalg.qr(T - T.mean(0))[0] * np.sqrt(300)
    m = [sum(t * row for t, row in zip(T[:, b], u, strict=True)) / 300 for b in range(6)]
    values, vectors = np.linalg.eigh(sum(np.outer(v, v) for v in m))
    assert found.first_order_rank_ == 1
    assert found.eigenvalues_[0] == pytest.approx(values[-1], rel=1e-10)
    P = np.eye(4) - np.outer(vectors[:, -1], vectors[:, -1])
    A = [
        P @ sum(t * np.outer(row, row) for t, row in zip(T[:, b], u, strict=True)) @ P / 300
        for b in range(6)
    ]
    second = np.linalg.eigvalsh(sum(a @ a for a in A))[::-1]
    np.testing.assert_allclose(found.eigenvalues_[1:], second[:3], rtol=1e-10)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("function", "n", "d", "r", "ranks", "least"),
    [
        (product_plus_linear, 2000, 50, 3, (1, 3), 0.9),
        (sign_product, 2000, 50, 2, (0, 2), 0.95),
        (staircase, 2000, 30, 3, (0, 1), 0.97),
    ],
    ids=["z1*z2 + z3", "sign(z1*z2)", "He2(z1) + sign(z1*z2*z3)"],
)
def test_ranks_and_directions_of_the_reference(function, n, d, r, ranks, least, seed):
    """Nothing is found twice: the directions are as many as the larger rank."""
    X, y, W = rotated(function, n=n, d=d, r=r, seed=seed)
    found = finder().fit(X, y)
    assert (found.first_order_rank_, found.second_order_rank_) == ranks
    assert found.n_directions_ == max(ranks)
    assert cosines(found.directions_, W).min() > least
    np.testing.assert_allclose(
        found.directions_ @ found.directions_.T, np.eye(max(ranks)), atol=1e-12
    )


def test_a_parity_of_three_is_invisible_and_the_diagnosis_says_so():
    X, y, _ = rotated(lambda a, b, c: np.sign(a * b * c), n=2000, d=10, r=3, seed=0)
    found = finder().fit(X, y)
    assert found.directions_.shape == (0, 10)
    assert found.diagnosis_.startswith("no direction was found: the label is independent of X to")
    assert "(n = 2000, d = 10, p = " in found.diagnosis_
    assert "n/d = 200 is below the threshold" in found.diagnosis_
    with pytest.warns(UserWarning, match="transform returns no columns: no direction was found"):
        assert found.transform(X).shape == (2000, 0)


def test_diagnosis_counts_orders():
    X, y, _ = rotated(product_plus_linear, n=2000, d=20, r=3, seed=0)
    assert finder().fit(X, y).diagnosis_ == (
        "3 directions are visible, 2 of them only to second order."
    )
    assert finder().fit(X, X[:, 0]).diagnosis_ == "1 direction is visible to first order (trivial)."
    assert finder(n_components=3).fit(X, X[:, 0]).diagnosis_ == (
        "1 direction is visible to first order (trivial). "
        "2 more of second order were asked for; they are within chance."
    )


@pytest.mark.stat
def test_level_of_the_rank_test():
    """Each order finds something in pure noise once in 40 draws. Two-sided at 1e-6.

    Would catch: comparing with the mean or the median of the permutations (level above 0.3). More
    draws with heavy tails are among those of the other reductions.
    """
    draws, rng = 200, np.random.default_rng(5)
    found = np.zeros(2)
    for seed in range(draws):
        X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
        fit = finder(random_state=seed).fit(X, y)
        ranks = np.array([fit.first_order_rank_, fit.second_order_rank_])
        found += ranks > 0
        for rank, p in zip(ranks, fit.p_values_, strict=True):
            assert (rank > 0) == (p < 1.5 / 40)
    low, high = binom.ppf([5e-7, 1 - 5e-7], draws, 1 / 40)
    assert low <= found.min() <= found.max() <= high


# ---- symmetries


@pytest.fixture(scope="module")
def data():
    return rotated(product_plus_linear, n=1500, d=12, r=3, seed=4)


def test_coordinates_do_not_care_for_linear_maps_of_the_features(data):
    """Without shrinkage whitening undoes every linear map: the coordinates span the same space."""
    X, y, _ = data
    rng = np.random.default_rng(0)
    one = finder(shrinkage=0.0).fit(X, y)
    L = rng.standard_normal((12, 12))
    other = finder(shrinkage=0.0).fit(X @ L + 3.0, y)
    assert one.n_directions_ == other.n_directions_ == 3
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-9)
    between = cosines(one.transform(X).T, other.transform(X @ L + 3.0).T)
    np.testing.assert_allclose(between, 1, atol=1e-9)


def test_directions_rotate_with_the_inputs(data):
    """Up to the shrinkage s = 0.0026 and the sample's scales, which are off by 1/sqrt(2 n)."""
    X, y, _ = data
    R = ortho_group.rvs(12, random_state=1)
    one, other = finder().fit(X, y), finder().fit(X @ R.T, y)
    sines = np.sqrt(1 - np.minimum(cosines(one.directions_ @ R.T, other.directions_), 1) ** 2)
    assert sines.max() < 3 / np.sqrt(2 * 1500)


def test_scale_and_origin_of_the_columns_do_not_count(data):
    X, y, _ = data
    scales = 10.0 ** np.arange(-6, 6)
    scaled = X * scales + 5 * scales
    one, other = finder().fit(X, y), finder().fit(scaled, y)
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-9)
    np.testing.assert_allclose(one.transform(X), other.transform(scaled), atol=1e-9)


def test_order_of_the_rows_does_not_count(data):
    X, y, _ = data
    order = np.random.default_rng(2).permutation(len(y))
    one, other = finder().fit(X, y), finder().fit(X[order], y[order])
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-10)


@pytest.mark.parametrize("relabel", [np.exp, np.arctan, lambda y: -y], ids=["exp", "atan", "minus"])
def test_monotone_relabeling_does_not_count(data, relabel):
    X, y, _ = data
    one, other = finder().fit(X, y), finder().fit(X, relabel(y))
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-10)
    assert one.p_values_ == other.p_values_


def test_names_of_classes_do_not_count():
    X, y, _ = rotated(sign_product, n=1000, d=8, r=2, seed=0)
    words = np.where(y > 0, "even", "odd")
    one, other = finder().fit(X, y), finder().fit(X, words)
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-12)


def test_blocks_of_rows_do_not_count(data):
    X, y, _ = data
    one, other = finder().fit(X, y), finder(chunk_size=97).fit(X, y)
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-10)
    assert one.p_values_ == other.p_values_
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-10)


# ---- use


@pytest.mark.stat
@pytest.mark.parametrize(
    ("function", "n", "r"), [(he3, 1333, 1), (sign_product, 2000, 2)], ids=["He3", "sign(z1*z2)"]
)
def test_overlap_is_above_chance(function, n, r):
    """The squared cosine of a random direction is Beta(r/2, (d - r)/2): chance 1e-6 is exceeded."""
    d = 50
    chance = beta.isf(1e-6, r / 2, (d - r) / 2)
    for seed in range(12):
        X, y, W = rotated(function, n=n, d=d, r=r, seed=100 + seed)
        found = finder().fit(X, y)
        shares = np.sum((found.directions_ @ W.T) ** 2, axis=1)
        assert found.n_directions_ >= r
        assert shares[:r].min() > chance


TABLES = {
    "diabetes": (lambda: load_diabetes(return_X_y=True), 0.0),
    "friedman1": (lambda: make_friedman1(1000, n_features=20, noise=1.0, random_state=13), 0.0),
    "breast cancer": (lambda: load_breast_cancer(return_X_y=True), 0.1),
    "He3": (lambda: rotated(he3, n=1333, d=50, r=1, seed=7)[:2], 0.4),
    "sign(z1*z2)": (lambda: rotated(sign_product, n=2000, d=50, r=2, seed=7)[:2], 0.5),
}


@pytest.mark.stat
@pytest.mark.parametrize(("table", "gain"), TABLES.values(), ids=TABLES)
def test_kernel_ridge_on_the_directions_against_ridge_on_all_features(table, gain):
    """Never below by more than 0.02 in R2 (3 folds); above by `gain` where there is more to see."""
    X, y = table()
    y = (y - y.mean()) / y.std()
    folds = KFold(3, shuffle=True, random_state=13)
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))
    grid = {"alpha": [0.01, 0.1, 1.0], "gamma": [0.01, 0.03, 0.1, 0.3, 1.0]}
    kernel = make_pipeline(finder(), GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3))
    scores = [cross_val_score(m, X, y, cv=folds, scoring="r2").mean() for m in (ridge, kernel)]
    assert scores[1] - scores[0] > gain - 0.02


def test_directions_of_a_table_lie_where_its_function_does():
    """friedman1 uses the first five of twenty features; of a random direction they hold a half."""
    X, y = make_friedman1(1000, n_features=20, noise=1.0, random_state=0)
    found = finder().fit(X, y)
    assert found.n_directions_ >= 1
    assert np.linalg.norm(found.directions_[:, :5], axis=1).min() > 0.9


def test_frames_keep_their_names():
    X, y, _ = rotated(he3, n=800, d=3, r=1, seed=0)
    frame = pd.DataFrame(X, columns=["height", "width", "depth"])
    found = finder(n_components=2).set_output(transform="pandas").fit(frame, pd.Series(y))
    out = found.transform(frame)
    assert list(out.columns) == ["spectraldirections0", "spectraldirections1"]
    assert list(found.feature_names_in_) == ["height", "width", "depth"]
    expected = ((X - found.mean_) / found.scale_) @ found.directions_.T
    np.testing.assert_allclose(out.to_numpy(), expected, atol=1e-12)


def test_a_number_of_components_is_kept():
    X, y, _ = rotated(product_plus_linear, n=2000, d=10, r=3, seed=0)
    whole = finder(n_components=10).fit(X, y)
    for k in (1, 2, 5):
        some = finder(n_components=k).fit(X, y)
        np.testing.assert_allclose(some.directions_, whole.directions_[:k], atol=1e-10)


def test_more_features_than_samples():
    X, y, W = rotated(lambda z: z, n=150, d=300, r=1, seed=0)
    found = finder().fit(X, y)
    assert found.first_order_rank_ == 1
    assert cosines(found.directions_, W)[0] > 0.5
    assert "not more samples than features (n = 150, d = 300)" in found.diagnosis_


def test_a_classical_method_finds_the_same_space():
    """Sliced average variances of statsmodels, told that there are three directions."""
    X, y, _ = rotated(lambda a, b, c: a**2 + b * c, n=2000, d=10, r=3, seed=0)
    found = finder().fit(X, y)
    peer = SlicedAverageVarianceEstimation(y, X).fit().params[:, :3].T
    assert found.n_directions_ == 3
    assert cosines(found.directions_, peer).min() > 0.98


# ---- bad input


@pytest.mark.parametrize(
    ("X", "y", "text"),
    [
        (np.zeros((1, 3)), [1.0], "minimum of 2 is required"),
        (np.eye(3), [1.0, 1.0, 1.0], r"all 3 labels are equal to 1\.0"),
        (np.array([[np.nan, 1.0], [0.0, 1.0]]), [0.0, 1.0], "contains NaN"),
        (np.eye(3), [0.0, np.nan, 1.0], "contains NaN"),
        (np.eye(3), None, "requires y to be passed"),
    ],
    ids=["one row", "constant y", "NaN in X", "NaN in y", "no y"],
)
def test_bad_data_is_refused(X, y, text):
    with pytest.raises(ValueError, match=text):
        finder().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"n_components": 0}, "n_components must be an integer >= 1, got 0"),
        ({"n_components": 5}, "n_components = 5 directions cannot be found among the 4"),
        ({"n_permutations": None}, "n_permutations must be an integer"),
        ({"chunk_size": 2.5}, "chunk_size must be an integer"),
        ({"shrinkage": 2}, "shrinkage must be a number from 0 to 1"),
        ({"channel": "z"}, "channel must be a Target or None"),
    ],
)
def test_bad_parameters_are_refused(parameters, text):
    X = np.random.default_rng(0).standard_normal((50, 4))
    with pytest.raises(gd.BadData, match=text):
        finder(**parameters).fit(X, X[:, 0])


def test_constant_columns_are_left_out_with_one_warning():
    X, y, _ = rotated(he3, n=800, d=5, r=1, seed=0)
    wide = np.insert(X, 2, 0.1, axis=1)
    with pytest.warns(UserWarning, match=r"leaves out 1 constant column of X \(2\)") as seen:
        found = finder().fit(wide, y)
    assert len(seen) == 1
    assert (found.directions_[:, 2] == 0).all()
    alone = finder().fit(X, y)
    np.testing.assert_allclose(np.delete(found.directions_, 2, axis=1), alone.directions_)
    np.testing.assert_allclose(found.transform(wide), alone.transform(X), atol=1e-12)


def test_only_constant_columns_are_an_error():
    with (
        pytest.warns(UserWarning, match="2 constant column"),
        pytest.raises(gd.BadData, match="every column of X is constant"),
    ):
        finder().fit(np.ones((4, 2)), [0.0, 1.0, 0.0, 1.0])

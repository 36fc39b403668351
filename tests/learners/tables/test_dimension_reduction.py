"""SIR, SAVE and PHD: what they compute, what they find, and how many directions they claim."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group
from sklearn.datasets import load_iris, load_wine, make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from statsmodels.regression.dimred import (
    PrincipalHessianDirections,
    SlicedAverageVarianceEstimation,
    SlicedInverseReg,
)

import gradone as gd
from gradone.learners import PHD, SAVE, SIR, SpectralDirections

from ..rotated import cosines, he3, product_plus_linear, rotated, sign_product, staircase

FINDERS = [SIR, SAVE, PHD]


@pytest.fixture(params=FINDERS, ids=lambda cls: cls.__name__)
def finder(request):
    """One of the three, with a seed."""
    return lambda **parameters: request.param(**{"random_state": 0} | parameters)


@pytest.fixture(scope="module")
def data():
    """All three orders of visibility at once: z3 to first order, z1 and z2 curved."""
    return rotated(product_plus_linear, n=1500, d=12, r=3, seed=4)


def in_units_of_columns(found):
    return found.directions_ / found.scale_


# ---- the definitions


def sliced_by_hand(X, y, slices):
    """Whitened inputs, and the rows of each slice."""
    x = X - X.mean(axis=0)
    u = np.linalg.solve(np.linalg.cholesky(x.T @ x / len(x)), x.T).T
    return u, np.array_split(np.argsort(y), slices)


def test_eigenvalues_of_sir_are_those_of_the_means_of_slices(data):
    X, y, _ = data
    u, slices = sliced_by_hand(X, y, 10)
    M = sum(len(s) / len(y) * np.outer(u[s].mean(0), u[s].mean(0)) for s in slices)
    found = SIR(n_slices=10, shrinkage=0.0, n_permutations=1).fit(X, y)
    np.testing.assert_allclose(found.eigenvalues_, np.linalg.eigvalsh(M)[::-1], atol=1e-12)


def test_eigenvalues_of_save_are_those_of_the_variances_of_slices(data):
    X, y, _ = data
    u, slices = sliced_by_hand(X, y, 10)
    deviations = [np.eye(12) - np.cov(u[s].T, bias=True) for s in slices]
    M = sum(len(s) / len(y) * D @ D for s, D in zip(slices, deviations, strict=True))
    found = SAVE(n_slices=10, shrinkage=0.0, n_permutations=1).fit(X, y)
    np.testing.assert_allclose(found.eigenvalues_, np.linalg.eigvalsh(M)[::-1], atol=1e-11)


@pytest.mark.parametrize("residuals", [True, False])
def test_eigenvalues_of_phd_are_those_of_the_mean_hessian(data, residuals):
    """Of the label in units of its spread, with and without its linear part."""
    X, y, _ = data
    u, _ = sliced_by_hand(X, y, 2)
    e = y - y.mean()
    if residuals:
        e = e - u @ np.linalg.lstsq(u, e, rcond=None)[0]
    values = np.linalg.eigvalsh((e[:, None] * u).T @ u / len(y) / e.std())
    found = PHD(residuals=residuals, shrinkage=0.0, n_permutations=1).fit(X, y)
    expected = values[np.argsort(-abs(values))]
    np.testing.assert_allclose(found.eigenvalues_, expected, atol=1e-12)


PEERS = {
    "SIR": (SIR(2, n_slices=20, shrinkage=0.0), SlicedInverseReg, {"slice_n": 100}),
    "SAVE": (
        SAVE(3, n_slices=20, shrinkage=0.0),
        SlicedAverageVarianceEstimation,
        {"slice_n": 100},
    ),
    "PHD": (PHD(2, residuals=False, shrinkage=0.0), PrincipalHessianDirections, {}),
    "PHD of residuals": (PHD(2, shrinkage=0.0), PrincipalHessianDirections, {"resid": True}),
}


@pytest.mark.parametrize("name", PEERS)
def test_statsmodels_finds_the_same_space(name):
    """Also for correlated columns of very different size, in units of which its vectors are.

    Its variances of slices are divided by n_slice - 1 = 99 instead of 100: SAVE agrees up to that.
    """
    ours, peer, options = PEERS[name]
    X, y, _ = rotated(lambda a, b, c: a + 0.4 * np.exp(b) + b * c, n=2000, d=8, r=3, seed=3)
    L = np.random.default_rng(0).standard_normal((8, 8))
    X = (X @ L + 5) * 10.0 ** np.arange(-2, 6)
    k = ours.n_components
    found = ours.set_params(n_permutations=1).fit(X, y)
    theirs = peer(y, X).fit(**options).params[:, :k].real.T * found.scale_
    missing = 1 - cosines(found.directions_, theirs).min()
    assert missing < (1e-3 if name == "SAVE" else 1e-9)


# ---- how many directions

RANKS = {
    "z1*z2 + z3": (product_plus_linear, 2000, 50, 3, {"SIR": 1, "SAVE": 3, "PHD": 2}),
    "sign(z1*z2)": (sign_product, 2000, 50, 2, {"SIR": 0, "SAVE": 2, "PHD": 2}),
    "He2(z1) + sign(z1*z2*z3)": (staircase, 2000, 30, 3, {"SIR": 0, "SAVE": 1, "PHD": 1}),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("target", RANKS)
def test_ranks_of_the_reference(finder, target, seed):
    """First order for SIR, second for SAVE, curvature for PHD; all of it inside the truth."""
    function, n, d, r, ranks = RANKS[target]
    X, y, W = rotated(function, n=n, d=d, r=r, seed=seed)
    found = finder().fit(X, y)
    assert found.rank_ == found.n_directions_ == ranks[type(found).__name__]
    assert (found.p_values_ < 1.5 / 40).sum() == found.rank_
    if found.rank_:
        assert cosines(found.directions_, W).min() > 0.9
    gram = found.directions_ @ found.directions_.T
    np.testing.assert_allclose(gram, np.eye(found.rank_), atol=1e-12)


def test_sir_is_blind_to_even_functions_and_says_what_to_try():
    X, y, _ = rotated(lambda z: z**2, n=1000, d=10, r=1, seed=0)
    found = SIR(random_state=0).fit(X, y)
    assert found.diagnosis_.startswith(
        "no direction was found: the mean of X does not depend on the label at this sample size "
        "(n = 1000, d = 10, p = "
    )
    assert "try SAVE" in found.diagnosis_
    with pytest.warns(UserWarning, match="transform returns no columns: no direction was found"):
        assert found.transform(X).shape == (1000, 0)
    assert SAVE(random_state=0).fit(X, y).diagnosis_ == (
        "1 direction is visible in the variance of X given y (second order)."
    )


def test_phd_does_not_take_a_strong_linear_part_for_curvature():
    """30 z3 + z1 z2: the residuals show the saddle, the label itself hides it in noise."""
    X, y, W = rotated(lambda a, b, c: a * b + 30 * c, n=1000, d=20, r=3, seed=0)
    found = PHD(random_state=0).fit(X, y)
    assert found.rank_ == 2
    assert cosines(found.directions_, W[:2]).min() > 0.9
    assert found.eigenvalues_[0] * found.eigenvalues_[1] < 0
    assert PHD(residuals=False, random_state=0).fit(X, y).rank_ == 0
    assert PHD(random_state=0).fit(X, X @ W[2]).rank_ == 0  # nothing but a linear part


def test_a_number_of_components_is_kept_and_the_rank_still_told(finder, data):
    X, y, _ = data
    free = finder().fit(X, y)
    asked = finder(n_components=6).fit(X, y)
    assert asked.n_directions_ == 6
    assert asked.rank_ == free.rank_
    assert asked.diagnosis_.endswith(
        f"{6 - free.rank_} more were asked for; they are within chance."
    )
    np.testing.assert_allclose(asked.directions_[: free.rank_], free.directions_, atol=1e-10)


@pytest.mark.stat
@pytest.mark.parametrize("cls", [SIR, SAVE, PHD, SpectralDirections])
def test_level_of_the_rank_test(cls):
    """Pure noise: some direction is claimed in 1 of 40 draws, within 3 standard errors of 500.

    Heavy-tailed inputs and labels: no asymptotic test would keep its level here. Would catch: a
    comparison with the mean or the median of the permutations; for PHD, residuals that are
    permuted instead of the labels (level 0.054 here, since d/n = 1/6 is not small).
    """
    draws, rng = 500, np.random.default_rng(11)
    claimed = np.zeros(2)
    for seed in range(draws):
        X, y = rng.standard_t(4, size=(60, 10)), rng.standard_t(4, size=60)
        found = cls(random_state=seed).fit(X, y)
        if cls is SpectralDirections:
            claimed += [found.first_order_rank_ > 0, found.second_order_rank_ > 0]
        else:
            claimed += found.rank_ > 0
    level, error = 1 / 40, np.sqrt(1 / 40 * 39 / 40 / draws)
    assert np.abs(claimed / draws - level).max() < 3 * error


@pytest.mark.parametrize("cls", FINDERS)
def test_the_error_of_the_directions_falls_like_the_root_of_the_rows(cls):
    """Sixteen times the rows: a quarter of the largest sine, here less than a third of it."""
    sines = []
    for n in (500, 8000):
        errors = []
        for seed in range(6):
            X, y, W = rotated(lambda a, b: a + b + a * b, n=n, d=10, r=2, seed=seed)
            found = cls(1, n_permutations=1, random_state=0).fit(X, y)
            errors.append(np.linalg.norm(found.directions_ - found.directions_ @ W.T @ W))
        sines.append(np.mean(errors))
    assert sines[1] < sines[0] / 3


# ---- symmetries


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), cls=st.sampled_from(FINDERS))
def test_directions_rotate_with_the_inputs(seed, cls):
    """Exactly so for the coordinates without shrinkage: whitening undoes every linear map."""
    X, y, _ = rotated(product_plus_linear, n=400, d=6, r=3, seed=seed)
    R = ortho_group.rvs(6, random_state=seed)
    one, other = (
        cls(2, shrinkage=0.0, n_permutations=1).fit(inputs, y) for inputs in (X, X @ R.T + 3.0)
    )
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-8, atol=1e-10)
    rotated_back = in_units_of_columns(other) @ R
    np.testing.assert_allclose(cosines(in_units_of_columns(one), rotated_back), 1, atol=1e-8)


def test_order_of_the_rows_does_not_count(finder, data):
    X, y, _ = data
    order = np.random.default_rng(2).permutation(len(y))
    one, other = finder().fit(X, y), finder().fit(X[order], y[order])
    assert one.rank_ == other.rank_
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, atol=1e-11)
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-9)


def test_scale_and_origin_of_the_columns_do_not_count(finder, data):
    X, y, _ = data
    scales = 10.0 ** np.arange(-6, 6)
    scaled = X * scales + 5 * scales
    one, other = finder().fit(X, y), finder().fit(scaled, y)
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-8)
    np.testing.assert_allclose(one.transform(X), other.transform(scaled), atol=1e-8)


@pytest.mark.parametrize("cls", [SIR, SAVE])
@pytest.mark.parametrize("n_slices", [None, 8])
def test_monotone_relabeling_does_not_count(data, cls, n_slices):
    X, y, _ = data
    one, other = (cls(2, n_slices=n_slices, random_state=0).fit(X, v) for v in (y, np.exp(y)))
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-10)


def test_affine_relabeling_does_not_count_for_phd(data):
    X, y, _ = data
    one, other = (PHD(random_state=0).fit(X, v) for v in (y, 1e5 + 20 * y))
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-6)
    np.testing.assert_array_equal(one.p_values_, other.p_values_)


def test_blocks_of_rows_do_not_count(finder, data):
    X, y, _ = data
    one, other = finder().fit(X, y), finder(chunk_size=97).fit(X, y)
    np.testing.assert_allclose(one.directions_, other.directions_, atol=1e-9)
    np.testing.assert_array_equal(one.p_values_, other.p_values_)


@pytest.mark.parametrize("cls", [SIR, SAVE])
def test_ties_are_never_parted(cls):
    """Labels rounded to 15 values: the order in which equal ones stand changes nothing."""
    X, y, _ = rotated(lambda a, b: a + b**2, n=600, d=5, r=2, seed=0)
    y = np.round(2 * np.clip(y, -3, 4))
    order = np.lexsort((np.random.default_rng(0).random(600), y))
    one, other = (cls(2, n_slices=6).fit(X[o], y[o]) for o in (np.arange(600), order))
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, atol=1e-12)


def test_weights_count_rows(finder, data):
    """A weight 2 is a row twice, a weight 0 no row, and their unit does not count."""
    X, y, _ = (values[:300] for values in data)
    w = np.random.default_rng(0).integers(0, 3, 300)
    again = np.repeat(np.arange(300), w)
    weighted = finder(n_components=2).fit(X, y, sample_weight=w)
    repeated = finder(n_components=2).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, atol=1e-10)
    np.testing.assert_allclose(weighted.directions_, repeated.directions_, atol=1e-9)
    scaled = finder(n_components=2, shrinkage=0.1).fit(X, y, sample_weight=w / 7)
    plain = finder(n_components=2, shrinkage=0.1).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(scaled.directions_, plain.directions_, atol=1e-12)


def test_weighted_noise_is_noise(finder):
    """Very uneven weights that belong to X: the test keeps to rank 0 in most of 40 draws."""
    rng, claimed = np.random.default_rng(0), 0
    for seed in range(40):
        X, y = rng.standard_normal((80, 3)), rng.standard_normal(80)
        claimed += finder(random_state=seed).fit(X, y, sample_weight=np.exp(X[:, 0])).rank_ > 0
    assert claimed <= 8  # binomial(40, 1/40) exceeds 8 with probability 1e-6


# ---- use


def test_classes_are_told_apart_by_few_coordinates():
    """178 wines, 13 features, three classes: two coordinates keep what all features know."""
    X, y = load_wine(return_X_y=True)
    words = np.array(["barbera", "barolo", "grignolino"])[y]
    model = make_pipeline(SIR(random_state=0), LogisticRegression(max_iter=1000))
    assert SIR(random_state=0).fit(X, words).n_directions_ == 2
    assert cross_val_score(model, X, words, cv=3).mean() > 0.95


@pytest.mark.parametrize(("cls", "best"), [(SIR, 1), (SAVE, 3), (PHD, 3)])
def test_search_over_the_number_of_directions(cls, best, data):
    """z1*z2 + z3: SIR has nothing to offer beyond z3, the others have."""
    X, y, _ = (values[:500] for values in data)
    kernel = KernelRidge(kernel="rbf", alpha=0.1, gamma=0.1)
    model = Pipeline([("find", cls(n_permutations=1, random_state=0)), ("fit", kernel)])
    search = GridSearchCV(model, {"find__n_components": [1, 3]}, cv=2).fit(X, y)
    assert search.best_params_ == {"find__n_components": best}


def test_frames_keep_their_names(finder):
    table = load_iris(as_frame=True)
    found = finder(n_components=2).set_output(transform="pandas").fit(table.data, table.target)
    out = found.transform(table.data)
    name = type(found).__name__.lower()
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == [f"{name}0", f"{name}1"]
    assert list(found.feature_names_in_) == list(table.data.columns)
    expected = ((table.data.to_numpy() - found.mean_) / found.scale_) @ found.directions_.T
    np.testing.assert_allclose(out.to_numpy(), expected, atol=1e-12)


def test_directions_of_a_table_lie_where_its_function_does():
    """friedman1 uses the first five of twenty features, and is curved along the third."""
    X, y = make_friedman1(1000, n_features=20, noise=1.0, random_state=0)
    linear, curved = SIR(random_state=0).fit(X, y), PHD(random_state=0).fit(X, y)
    assert np.linalg.norm(linear.directions_[0, :5]) > 0.95
    assert abs(curved.directions_[0, 2]) > 0.9


def test_more_features_than_samples(finder):
    X, y, W = rotated(lambda z: z, n=100, d=150, r=1, seed=0)
    found = finder(n_components=1).fit(X, y)
    assert "not more samples than features (n = 100, d = 150)" in found.diagnosis_
    assert np.isfinite(found.transform(X)).all()
    if isinstance(found, SIR):
        assert found.rank_ == 1
        assert cosines(found.directions_, W)[0] > 0.4  # a random direction has 0.08


def test_a_duplicate_column_shares_the_direction(finder, data):
    """The coordinates stay what they were without the copy: the covariance has no inverse."""
    X, y, _ = data
    doubled = np.column_stack([X, X[:, 0]])
    one, other = (finder(shrinkage=0.0, n_components=2).fit(Z, y) for Z in (X, doubled))
    assert len(other.eigenvalues_) == 12
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, atol=1e-10)
    between = cosines(one.transform(X).T, other.transform(doubled).T)
    np.testing.assert_allclose(between, 1, atol=1e-8)
    np.testing.assert_allclose(other.directions_[0, 0], other.directions_[0, -1], atol=1e-8)


def test_constant_columns_are_left_out_with_one_warning(finder, data):
    X, y, _ = data
    wide = np.insert(X, 2, 0.1, axis=1)
    with pytest.warns(UserWarning, match=r"leaves out 1 constant column of X \(2\)"):
        found = finder(n_components=1).fit(wide, y)
    assert (found.directions_[:, 2] == 0).all()


@pytest.mark.parametrize(
    ("X", "y", "text"),
    [
        (np.eye(3), [1.0, 1.0, 1.0], r"all 3 labels are equal to 1\.0"),
        (np.array([[np.inf, 1.0], [0.0, 1.0]]), [0.0, 1.0], "contains infinity"),
        (np.eye(3), [0.0, np.nan, 1.0], "contains NaN"),
        (np.array([["a", "b"], ["c", "d"]]), [0.0, 1.0], "could not convert string to float"),
        (np.eye(3), None, "requires y to be passed"),
    ],
    ids=["constant y", "infinite X", "NaN in y", "text in X", "no y"],
)
def test_bad_data_is_refused(finder, X, y, text):
    with pytest.raises(ValueError, match=text):
        finder().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"n_components": 0}, "n_components must be an integer >= 1, got 0"),
        ({"n_components": 5}, "n_components = 5 directions cannot be found among the 4"),
        ({"n_permutations": 0}, "n_permutations must be an integer >= 1, got 0"),
        ({"shrinkage": -0.1}, "shrinkage must be a number from 0 to 1"),
    ],
)
def test_bad_parameters_are_refused(finder, parameters, text):
    X = np.random.default_rng(0).standard_normal((50, 4))
    with pytest.raises(gd.BadData, match=text):
        finder(**parameters).fit(X, X[:, 0])


def test_bad_parameters_of_one_of_them_are_refused():
    X = np.random.default_rng(0).standard_normal((50, 4))
    with pytest.raises(gd.BadData, match="n_slices must be an integer >= 2, got 1"):
        SIR(n_slices=1).fit(X, X[:, 0])
    with pytest.raises(gd.BadData, match="residuals must be True or False, got 'no'"):
        PHD(residuals="no").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="needs numbers as labels"):
        PHD().fit(X, np.repeat(["a", "b"], 25))


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (np.ones(49), r"one number for each of the 50 rows, got shape \(49,\)"),
        (-np.ones(50), "finite numbers >= 0, not all of them zero"),
        (np.full(50, np.nan), "finite numbers >= 0"),
    ],
)
def test_bad_weights_are_refused(finder, weights, text):
    X = np.random.default_rng(0).standard_normal((50, 4))
    with pytest.raises(gd.BadData, match=text):
        finder().fit(X, X[:, 0], sample_weight=weights)


@pytest.mark.parametrize("cls", [*FINDERS, SpectralDirections])
def test_it_takes_less_than_half_a_second(cls):
    """2000 rows of 50 features, permutation test included; CPU time, the best of three."""
    X, y, _ = rotated(he3, n=2000, d=50, r=1, seed=0)
    times = []
    for _ in range(3):
        start = time.process_time()
        cls(random_state=0).fit(X, y)
        times.append(time.process_time() - start)
    assert min(times) < 0.5

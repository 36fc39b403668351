"""Samples: addressed random numbers, whatever the way they are read."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import gradone as gd
from gradone.base.seeds import stream
from gradone.targets.directions import Projection, hidden_directions
from gradone.targets.sampling import block_rows

TARGET = gd.Target("He2(z1) + sign(z1*z2*z3)*tanh(z2)", noise=0.3)
SIGHT = gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", noise=0.1)
FORMS = gd.QuadraticForms(outer="tanh(h)", count=5)


def equal(a, b):
    pairs = [
        (a.X, b.X),
        (a.y, b.y),
        (a.W_star, b.W_star),
        *zip(a.features, b.features, strict=True),
    ]
    return all(np.array_equal(left, right) for left, right in pairs)


def test_labels_are_the_function_of_the_projections():
    target = gd.Target("z1*z2 + z3**2")
    s = target.sample(n=700, d=500)
    np.testing.assert_allclose(s.y, target(s.X @ s.W_star.T), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("r", "d"), [(1, 1), (3, 3), (3, 40), (60, 200)])
def test_hidden_directions_are_orthonormal(r, d):
    W = hidden_directions(r, d, seed=3, replicate=1)
    np.testing.assert_allclose(W @ W.T, np.eye(r), atol=1e-13)


def test_targets_of_different_rank_share_their_first_directions():
    one = gd.Target("z1").sample(n=5, d=30, seed=2)
    three = gd.Target("z1*z2*z3").sample(n=5, d=30, seed=2)
    np.testing.assert_allclose(three.W_star[:1], one.W_star, atol=1e-14)
    assert np.array_equal(one.X, three.X)


@pytest.mark.stat
def test_hidden_directions_are_uniform():
    """Sign and place of every entry are symmetric; without the sign rule of QR the diagonal of
    W_star would have mean about -0.8/sqrt(d) (150 standard errors here)."""
    d, replicates = 4, 4000
    W = np.array([hidden_directions(2, d, seed=0, replicate=i) for i in range(replicates)])
    threshold = norm.isf(0.5e-6 / W[0].size) * math.sqrt(1 / d / replicates)
    assert np.abs(W.mean(axis=0)).max() < threshold
    assert np.abs((W**2).mean(axis=0) - 1 / d).max() < threshold


@pytest.mark.parametrize("target", [TARGET, SIGHT, FORMS])
@pytest.mark.parametrize(("small", "large", "d"), [(1, 2, 64), (100, 3000, 128), (524, 1048, 500)])
def test_a_larger_n_extends_a_smaller_one_bit_for_bit(target, small, large, d):
    a, b = target.sample(n=small, d=d, seed=5), target.sample(n=large, d=d, seed=5)
    assert np.array_equal(a.X, b.X[:small])
    assert np.array_equal(a.y, b.y[:small])
    for low, high in zip(a.features, b.features, strict=True):
        assert np.array_equal(low, high[:small])


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 1500),
    d=st.sampled_from([9, 200, 3000]),
    chunk=st.integers(1, 2000),
    dtype=st.sampled_from(["float32", "float64"]),
    target=st.sampled_from([TARGET, SIGHT]),
)
def test_reading_in_chunks_gives_the_numbers_of_one_sample(n, d, chunk, dtype, target):
    n = min(n, 300_000 // d)
    chunk = max(chunk, n // 50)
    whole = target.sample(n, d, seed=1, dtype=dtype)
    parts = list(target.stream(n, d, chunk=chunk, seed=1, dtype=dtype))
    assert [p.n for p in parts] == [min(chunk, n - i) for i in range(0, n, chunk)]
    joined = gd.Sample(
        np.concatenate([p.X for p in parts]),
        np.concatenate([p.y for p in parts]),
        parts[0].W_star,
        tuple(np.concatenate(f) for f in zip(*(p.features for p in parts), strict=True)),
    )
    assert equal(joined, whole)


def test_inputs_are_the_named_stream_and_nothing_else():
    s = TARGET.sample(n=1000, d=77, seed=4, replicate=2)
    direct = stream(4, "data", d=77, replicate=2).standard_normal((1000, 77))
    assert np.array_equal(s.X, direct)


def test_noise_levels_and_targets_are_paired():
    quiet, loud, louder = (
        gd.Target("tanh(z)", noise=v).sample(n=900, d=600) for v in (0.0, 0.25, 1.0)
    )
    assert np.array_equal(quiet.X, loud.X)
    np.testing.assert_allclose(louder.y - quiet.y, 2 * (loud.y - quiet.y), atol=1e-14)


@pytest.mark.stat
def test_label_noise_has_the_stated_variance():
    """Catches: noise taken as a standard deviation (0.0625 instead of 0.25, 60 sigma)."""
    n = 20_000
    target = gd.Target("tanh(z)", noise=0.25)
    s = target.sample(n=n, d=5)
    xi = s.y - target(s.X @ s.W_star.T)
    limit = norm.isf(0.5e-6)
    assert abs(xi.mean()) < limit * math.sqrt(0.25 / n)
    assert abs(xi.var() / 0.25 - 1) < limit * math.sqrt(2 / n)
    assert abs((xi * s.y).mean() - 0.25) < limit * s.y.std() * math.sqrt(0.25 / n) * 1.5


@pytest.mark.stat
def test_inputs_are_standard_normal_and_independent():
    """Moments of X against N(0, I). Power: a repeated block of rows or of columns, a variance off
    by 1 %, a skewness of 0.02 are far beyond the threshold."""
    X = gd.Target("z").sample(n=20_000, d=50).X
    n, d = X.shape
    tests = 4 + d * (d - 1) // 2
    limit = norm.isf(0.5e-6 / tests)
    moments = [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
    for k, mean, variance in moments:
        assert abs((X**k).mean() - mean) < limit * math.sqrt(variance / X.size)
    correlations = (X.T @ X / n)[np.triu_indices(d, 1)]
    assert np.abs(correlations).max() < limit / math.sqrt(n)
    row_correlations = (X[:-1] * X[1:]).mean()
    assert abs(row_correlations) < limit / math.sqrt(X.size)


@pytest.mark.parametrize("target", [TARGET, SIGHT])
def test_float32_is_the_float64_sample_rounded(target):
    double = target.sample(n=1500, d=300, seed=9)
    single = target.sample(n=1500, d=300, seed=9, dtype=np.float32)
    assert single.X.dtype == single.y.dtype == np.float32
    assert np.array_equal(single.X, double.X.astype(np.float32))
    assert np.array_equal(single.y, double.y.astype(np.float32))
    assert np.array_equal(single.W_star, double.W_star)


def test_seed_replicate_and_dimension_each_give_other_numbers():
    samples = [
        TARGET.sample(n=10, d=20, **where)
        for where in ({"seed": 0}, {"seed": 1}, {"replicate": 1}, {"role": "test"})
    ]
    firsts = {s.X[0, 0] for s in samples} | {TARGET.sample(n=10, d=21).X[0, 0]}
    assert len(firsts) == 5


def test_test_rows_are_fresh_but_have_the_same_directions():
    train, test = (TARGET.sample(n=50, d=20, role=role) for role in ("data", "test"))
    assert np.array_equal(train.W_star, test.W_star)
    assert not np.isin(test.X, train.X).any()
    noises = [s.y - TARGET(s.X @ s.W_star.T) for s in (train, test)]
    assert np.abs(noises[0] - noises[1]).min() > 1e-6


def test_projection_is_the_matrix_product(rng):
    for k, d, n in [(1, 7, 5), (2, 300, 1000), (40, 500, 333)]:
        X, W = rng.standard_normal((n, d)), rng.standard_normal((k, d))
        np.testing.assert_allclose(Projection(W)(X), X @ W.T, rtol=1e-9, atol=1e-10)


def test_blocks_stay_in_cache_and_never_vanish():
    for d in (1, 10, 500, 10**5, 10**7):
        assert 1 <= block_rows(d)
        assert block_rows(d) * d <= max(2**18, d)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, r"n must be an integer >= 1, got 0"),
        ({"n": 10.5}, r"n must be an integer >= 1, got 10.5"),
        ({"n": True}, r"n must be an integer"),
        ({"d": 2}, r"3 orthonormal directions do not fit in d = 2 dimensions; use d >= 3"),
        ({"d": "4"}, r"d must be an integer >= 1, got '4'"),
        ({"dtype": np.float16}, r"dtype must be float64 or float32"),
        ({"dtype": "complex"}, r"dtype must be float64 or float32, got 'complex'"),
        ({"dtype": "nonsense"}, r"dtype must be float64 or float32, got 'nonsense'"),
        ({"seed": -1}, r"seed must be an integer >= 0, got -1"),
        ({"seed": None}, r"seed must be an integer >= 0, got None"),
        ({"replicate": -1}, r"replicate must be an integer >= 0"),
        ({"role": "train"}, r"role must be 'data' or 'test'"),
    ],
)
def test_impossible_requests_say_what_is_allowed(arguments, message):
    with pytest.raises(gd.BadData, match=message):
        TARGET.sample(**{"n": 10, "d": 5, **arguments})
    with pytest.raises(gd.BadData, match=message):
        TARGET.stream(**{"n": 10, "d": 5, **arguments})  # at the call, not at the first chunk


def test_a_chunk_of_nothing_is_refused():
    with pytest.raises(gd.BadData, match=r"chunk must be an integer >= 1, got 0"):
        TARGET.stream(n=10, d=5, chunk=0)


def test_what_does_not_fit_in_memory_is_refused_and_can_be_streamed():
    with pytest.raises(gd.TooLarge, match=r"X of 1000000000 x 100000 numbers needs .*stream\(\)"):
        gd.Target("z").sample(n=10**9, d=10**5)
    first = next(gd.Target("z").stream(n=10**9, d=10**4, chunk=3))
    assert first.X.shape == (3, 10**4)


def test_a_plain_sample_has_no_features():
    with pytest.raises(gd.BadData, match="has no features"):
        _ = TARGET.sample(n=3, d=5).h

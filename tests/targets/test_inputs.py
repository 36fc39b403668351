"""Laws of the inputs: moments, prefixes, labels, identity, and what is refused."""

import pickle
import re

import numpy as np
import pytest

import gradone as gd
from gradone.base.errors import BadData, TargetError
from gradone.experiments.target_tables import read_target, table_of
from gradone.targets.inputs import LAWS, as_law

TARGET = gd.Target("z1 + z1*z2", noise=0.1)
ROOT = np.random.default_rng(5).standard_normal((6, 6))
COVARIANCE = ROOT @ ROOT.T / 6 + 0.1 * np.eye(6)
FIRST_ROW = [0.14910940137673365, 1.4570799952360791, 0.4539002456700932, -0.9988544780976991]
LABELS = [0.06645712511867341, -1.3775061784594964, -0.27512497273502967]
ONE_OF_EACH = {
    "gaussian": gd.inputs.gaussian(power_law=0.5),
    "rademacher": gd.inputs.rademacher(),
    "uniform": gd.inputs.uniform(),
    "laplace": gd.inputs.laplace(),
    "sphere": gd.inputs.sphere(),
    "mixture": gd.inputs.mixture([0.3, 0.7], [[1.0, 0.0], [0.0, 2.0]], [0.5, 2.0]),
    "rows": gd.inputs.rows(np.random.default_rng(1).standard_normal((9000, 6)) * np.arange(1, 7)),
}


def test_every_law_of_the_registry_is_looked_at():
    assert set(ONE_OF_EACH) == set(LAWS)


def test_the_default_draws_the_numbers_of_always():
    """Fixed numbers of the samples before there were laws."""
    sample = gd.Target("z1*z2", noise=0.5).sample(n=3, d=4, seed=1)
    assert sample.X[0].tolist() == FIRST_ROW
    assert sample.y.tolist() == LABELS
    for same in (None, "gaussian", gd.inputs.gaussian()):
        other = gd.Target("z1*z2", noise=0.5).sample(n=3, d=4, seed=1, inputs=same)
        assert np.array_equal(other.X, sample.X)
        assert np.array_equal(other.y, sample.y)
    assert TARGET.on(None) is TARGET
    assert TARGET.on("gaussian") is TARGET


@pytest.mark.parametrize("name", sorted(ONE_OF_EACH))
def test_more_rows_begin_with_fewer_and_chunks_change_nothing(name):
    law, sizes = ONE_OF_EACH[name], (4097, 6000)
    small, large = (TARGET.sample(n, 6, seed=2, inputs=law) for n in sizes)
    assert np.array_equal(small.X, large.X[: sizes[0]])
    assert np.array_equal(small.y, large.y[: sizes[0]])
    parts = list(TARGET.stream(sizes[1], 6, chunk=1234, seed=2, inputs=law))
    assert np.array_equal(np.concatenate([part.X for part in parts]), large.X)
    test = TARGET.sample(100, 6, seed=2, inputs=law, role="test")
    if name == "rademacher":  # in six dimensions rows come again
        assert not np.array_equal(test.X, large.X[:100])
    else:
        assert not (test.X[:, None] == large.X[None, :100]).all(axis=2).any()
    assert np.array_equal(test.W_star, large.W_star)


@pytest.mark.parametrize("name", sorted(ONE_OF_EACH))
def test_rows_have_the_covariance_that_the_law_states(name):
    """20 000 rows: six standard errors of a covariance, with the fourth moments that were drawn."""
    law = ONE_OF_EACH[name]
    n = 6000 if name == "rows" else 20_000
    X = gd.Target("z").sample(n, 6, inputs=law).X
    C = law.covariance(6)
    C = np.diag(C) if C.ndim == 1 else C
    centered = X - X.mean(axis=0)
    products = centered[:, :, None] * centered[:, None, :]
    error = products.std(axis=0) / np.sqrt(n) + 1e-12
    assert (np.abs(products.mean(axis=0) - C) < 6 * error).all()


@pytest.mark.parametrize("name", sorted(ONE_OF_EACH))
def test_projections_have_the_cumulants_that_the_law_states(name):
    """Two directions that are no axes; six standard errors of the moments of 20 000 rows."""
    W = np.linalg.qr(np.random.default_rng(3).standard_normal((6, 2)))[0].T
    on = gd.Target("z1*z2").on(ONE_OF_EACH[name], W)
    skewness, kurtosis = on.cumulants(6)
    n = 6000 if name == "rows" else 20_000
    sample = on.sample(n, 6)
    frame = W / np.sqrt(on.inputs.covariance(6)) if name == "rows" else W
    z = sample.X @ frame.T
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    for power, wanted in ((3, skewness), (4, kurtosis + 3)):
        # The estimates of mean and variance enter: the influence function of the moment.
        slope = power * wanted / 2 * (z**2 - 1) + power * (z ** (power - 1)).mean(axis=0) * z
        error = (z**power - slope).std(axis=0) / np.sqrt(n)
        assert (np.abs((z**power).mean(axis=0) - wanted) < 6 * error + 1e-12).all()


def test_a_simulation_on_rows_tells_their_skewness_and_kurtosis():
    law = gd.inputs.rows(np.random.default_rng(2).exponential(size=(4000, 3)) * [3.0, 2.0, 1.0])
    found = gd.simulate(
        "z", "random_features", d=3, n=40, replicates=1, inputs=law, directions="axes",
        width=10, progress=False,
    )  # fmt: skip
    words = re.fullmatch(
        r"The projections z have skewness -?([\d.]+) and excess kurtosis ([\d.]+); Gaussian ones "
        "have 0.",
        found.attrs["notes"],
    )
    # Of an exponential: 2 and 6; 4000 rows know them to .1 and 1.
    assert float(words[1]) == pytest.approx(2, abs=0.5)
    assert float(words[2]) == pytest.approx(6, abs=5)


@pytest.mark.parametrize(
    ("name", "kurtosis"), [("rademacher", -2.0), ("uniform", -1.2), ("laplace", 3.0)]
)
def test_rules_of_coordinates_have_their_cumulants(name, kurtosis):
    points, weights = gd.inputs.__getattr__(name)().rule(30)
    moments = [float(weights @ points[:, 0] ** k) for k in range(5)]
    assert np.allclose(moments, [1, 0, 1, 0, 3 + kurtosis], atol=1e-12)


def test_labels_under_a_covariance_are_those_of_the_reduced_target():
    """y = g(W x) = g(A z), z = A^-1 W x, where the reduced target is built by another way."""
    law = gd.inputs.gaussian(covariance=COVARIANCE)
    W = np.linalg.qr(np.random.default_rng(3).standard_normal((6, 2)))[0].T
    target = gd.Target("tanh(z1) + z1*z2**2")
    on = target.on(law, W)
    sample = on.sample(50, 6)
    inner = W @ COVARIANCE @ W.T
    sizes, vectors = np.linalg.eigh(inner)
    z = sample.X @ W.T @ (vectors / np.sqrt(sizes)) @ vectors.T
    assert np.allclose(on.reduced(z), sample.y, rtol=1e-12, atol=1e-12)
    # The whitened inputs see the directions in a frame of their own, which is orthonormal.
    root = np.linalg.cholesky(COVARIANCE)
    frame = (vectors / np.sqrt(sizes)) @ vectors.T @ W @ root
    assert np.allclose(frame @ frame.T, np.eye(2), atol=1e-12)


def test_directions_are_chosen():
    law = gd.inputs.gaussian(spectrum=[1.0, 9.0, 4.0, 2.0])
    chosen = {
        "axes": [[1, 0, 0, 0], [0, 1, 0, 0]],
        "eigenvectors": [[0, 1, 0, 0], [0, 0, 1, 0]],
        (3, 0): [[0, 0, 0, 1], [1, 0, 0, 0]],
    }
    for directions, rows in chosen.items():
        sample = gd.Target("z1*z2").sample(5, 4, inputs=law, directions=directions)
        assert sample.W_star.tolist() == rows
        assert np.allclose(sample.y, np.prod(sample.X @ np.array(rows).T, axis=1))


def test_rows_of_a_table_are_planted_with_standardized_projections():
    law = ONE_OF_EACH["rows"]
    sample = gd.Target("z1*z2").sample(6000, 6, inputs=law, directions="axes")
    z = sample.X[:, :2] / np.sqrt(law.covariance(6)[:2])
    assert np.allclose(sample.y, z[:, 0] * z[:, 1])
    with pytest.raises(BadData, match=r"there are 6750 rows of these inputs for role='data'"):
        gd.Target("z1*z2").sample(6751, 6, inputs=law)
    with pytest.raises(BadData, match="these rows have d = 6 principal axes, got d = 7"):
        gd.Target("z1*z2").sample(10, 7, inputs=law)


@pytest.mark.parametrize("name", sorted(set(ONE_OF_EACH) - {"rows"}))
def test_texts_tables_and_pickles_give_the_same_law_back(name):
    law = ONE_OF_EACH[name]
    assert as_law(law.text) == law
    assert hash(as_law(law.text)) == hash(law)
    on = TARGET.on(law, [0, 2])
    assert read_target(table_of(on)) == on
    assert pickle.loads(pickle.dumps(on)) == on


def test_rows_of_a_file_can_be_found_again(tmp_path):
    path = tmp_path / "table.npy"
    np.save(path, np.random.default_rng(0).standard_normal((40, 3)))
    law = gd.inputs.rows(path)
    assert as_law(law.text) == law
    assert law.is_stored
    np.save(path, np.random.default_rng(1).standard_normal((40, 3)))
    with pytest.raises(BadData, match="has changed: its mark is"):
        as_law(law.text)
    with pytest.raises(BadData, match="save the table with np.save and give its path"):
        gd.Experiment(
            name="e", targets=["z"], inputs=ONE_OF_EACH["rows"], grid={"d": 6, "n": 50},
            algorithms=[{"learner": "random_features"}],
        )  # fmt: skip


def test_what_is_wrong_with_a_law_is_told():
    laws = gd.inputs
    for make, words in [
        (lambda: laws.gaussian(covariance=[[1.0, 2.0], [2.0, 1.0]]), "has the eigenvalue -1"),
        (lambda: laws.gaussian(covariance=[[1.0, 2.0], [0.0, 1.0]]), "is not symmetric"),
        (lambda: laws.gaussian(covariance=np.ones((2, 3))), r"shape \(d, d\)"),
        (lambda: laws.gaussian(spectrum=[1.0], power_law=1.0), "give one of covariance, spectrum"),
        (lambda: laws.gaussian(trace=3.0), "give one of them"),
        (lambda: laws.mixture([0.5, 0.4], [[1.0], [2.0]]), "probabilities of sum 1"),
        (lambda: laws.mixture([0.5, 0.5], [[1.0]]), "needs 2 means"),
        (lambda: laws.rows([[1.0, 2.0]]), "at least 8 rows"),
        (lambda: as_law("gausian"), "Did you mean 'gaussian'"),
        (lambda: as_law("gaussian(0.5)"), "is no law of the inputs"),
        (lambda: as_law("gaussian(power=1)"), "unexpected keyword argument 'power'"),
        (lambda: as_law(3), "a law such as gd.inputs.rademacher"),
        (lambda: TARGET.on("uniform", "axis"), "directions must be one of random, axes"),
        (lambda: TARGET.on("uniform", [0, 0]), "2 different coordinates"),
        (lambda: TARGET.on("uniform", np.ones((2, 5))), "must be orthonormal rows"),
        (lambda: TARGET.sample(5, 3, inputs="uniform", directions=[0, 7]), "no coordinate 7"),
        (lambda: TARGET.sample(5, 3, inputs=laws.gaussian(spectrum=[1.0, 2.0])), "d = 2 dim"),
    ]:
        with pytest.raises(BadData, match=words):
            make()
    with pytest.raises(TargetError, match=r"'He2\(z1\)' is constant on these inputs"):
        gd.Target("He2(z1)").on("rademacher", "axes")
    with pytest.raises(AttributeError, match="unknown law of the inputs 'rademaker'"):
        _ = gd.inputs.rademaker

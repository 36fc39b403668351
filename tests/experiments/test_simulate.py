"""The verb ``simulate`` on small learners whose answers are known."""

import json

import numpy as np
import pytest
import xarray as xr

import gradone as gd
from gradone.base import progress as progress_module
from gradone.base.progress import Silent, TerminalBar, watcher
from gradone.learners import LEARNERS

SEEN = []  # what the learners of this file were given


class Correlation:
    """The direction X^T y / n, and the linear prediction along it."""

    def __init__(self, scale=1.0, *, random_state=None):
        self.scale, self.random_state = scale, random_state

    def fit(self, X, y):
        SEEN.append((X.copy(), y.copy(), self.random_state.random()))
        if len(X) == 13:
            raise gd.BadData("13 samples bring bad luck")
        self.directions_ = self.scale * (X.T @ y / len(X))[None]
        self.n_iter_ = len(X)
        self.converged_ = len(X) != 12
        return self

    def predict(self, X):
        return X @ self.directions_[0]


class Twin(Correlation):
    """The same under another name."""


class Knowing:
    """Knows the link, finds as many directions as samples, predicts nothing."""

    def __init__(self, channel, note=None):
        self.channel, self.note = channel, note

    def fit(self, X, y):
        self.directions_ = X[: len(X) // 10] / np.linalg.norm(X[: len(X) // 10], axis=1)[:, None]
        SEEN.append(self.channel)
        return self


class Shrunk:
    """The direction X^T y / (n + ridge), width times; all values of the ridge at once if asked."""

    def __init__(self, width=2, *, ridge=0.0, random_state=None):
        self.width, self.ridge, self.random_state = width, ridge, random_state

    def fit(self, X, y):
        SEEN.append((self.width, self.ridge, self.random_state.random()))
        self.w = X.T @ y / (len(X) + (self.ridge or 0.0))
        self.train_mse_ = float(np.mean((y - X @ self.w) ** 2))
        self.n_iter_ = self.width
        return self

    def predict(self, X):
        return X @ self.w


class ShrunkPath(Shrunk):
    """The same, with a path."""

    def fit_path(self, X, y, ridge):
        SEEN.append((self.width, tuple(ridge)))
        rng = np.random.default_rng(0)
        return [type(self)(self.width, ridge=r, random_state=rng).fit(X, y) for r in ridge]


class Interrupted(Correlation):
    """The user loses patience in the third fit."""

    def fit(self, X, y):
        if len(SEEN) == 2:
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """A table that holds these learners alone."""
    monkeypatch.setattr(LEARNERS, "_things", {})
    monkeypatch.setattr(LEARNERS, "_scanned", True)
    for kind in (Correlation, Twin, Knowing, Shrunk, ShrunkPath, Interrupted):
        LEARNERS.add(kind.__name__.lower())(kind)
    SEEN.clear()


def run(name="correlation", target="z", **settings):
    return gd.simulate(target, name, **({"d": 10, "replicates": 2, "test_samples": 64} | settings))


def test_variables_and_dimensions():
    found = run(target=gd.Target("sign(z)"), alpha=[2.0, 4.0], replicates=3, scale=2.0)
    assert dict(found.sizes) == {"alpha": 2, "replicate": 3, "direction": 1, "direction2": 1}
    quantities = {str(v) for v in found.data_vars if not str(v).endswith("_err")}
    assert quantities == {
        *("overlap", "overlap_aligned", "cosine2", "test_mse", "excess_mse", "zero_one_error"),
        *("converged", "n_iter", "status"),
    }
    assert found.attrs["source"] == "simulation:correlation"
    assert json.loads(found.attrs["params"]) == {
        "d": 10,
        "dtype": "float64",
        "noise": 0,
        "scale": 2,
        "test_samples": 64,
    }
    np.testing.assert_array_equal(found.n_iter, [[20] * 3, [40] * 3])
    np.testing.assert_allclose(found.overlap.values, found.overlap_aligned.values)
    assert set(found.status.values.ravel()) == {""}


def test_numbers_of_samples_make_their_own_axis():
    found = run(n=[20, 40])
    assert found.test_mse.dims == ("n", "replicate")
    np.testing.assert_array_equal(found.n, [20, 40])
    np.testing.assert_array_equal(found.test_mse, run(alpha=[2, 4]).test_mse)


def test_overlaps_and_errors_are_those_of_the_fit():
    target = gd.Target("z", noise=0.3)
    found = run(target=target, n=50, seed=5)
    sample = target.sample(50, 10, seed=5, replicate=1)
    w = sample.X.T @ sample.y / 50
    assert found.overlap.values[0, 1, 0, 0] == pytest.approx(float(w @ sample.W_star[0]))
    fresh = target.sample(64, 10, seed=5, replicate=1, role="test")
    losses = (fresh.y - fresh.X @ w) ** 2
    assert found.test_mse.values[0, 1] == pytest.approx(losses.mean())
    assert found.test_mse_err.values[0, 1] == pytest.approx(losses.std(ddof=1) / 8)
    clean = (fresh.X @ sample.W_star[0] - fresh.X @ w) ** 2
    assert found.excess_mse.values[0, 1] == pytest.approx(clean.mean())


def test_a_cell_depends_on_its_own_address_alone():
    """Would catch: one generator for the whole loop; data that depend on n or the learner."""
    one = run(n=20, replicates=1)
    ((X, y, start),) = SEEN
    SEEN.clear()
    more = run(n=[40, 20], replicates=2)
    xr.testing.assert_identical(one.test_mse, more.test_mse.sel(n=[20], replicate=[0]))
    (X40, y40, start40), (X20, _, _), (X2, _, start2), _ = SEEN
    np.testing.assert_array_equal(X40[:20], X)
    np.testing.assert_array_equal(y40[:20], y)
    np.testing.assert_array_equal(X20, X)
    assert start40 == start
    assert start2 != start
    assert np.abs(X2[:20] - X).min() > 0
    SEEN.clear()
    run("twin", n=20, replicates=1)
    ((X_twin, _, start_twin),) = SEEN
    np.testing.assert_array_equal(X_twin, X)
    assert start_twin != start


def test_a_learner_that_cannot_do_without_the_link_gets_it():
    target = gd.Target("z1*z2", noise=0.1)
    found = run("knowing", target, n=20)
    assert SEEN == [target, target]
    assert set(found.data_vars).isdisjoint({"test_mse", "test_mse_err"})
    np.testing.assert_array_equal(found.n_iter, -1)
    SEEN.clear()
    run("knowing", target, n=20, channel="another")
    assert SEEN == ["another", "another"]


def test_cells_may_find_different_numbers_of_directions():
    found = run("knowing", "z1*z2", n=[10, 20, 30])
    assert found.sizes["direction"] == 3
    counts = np.isfinite(found.overlap.isel(direction2=0, replicate=0)).sum("direction")
    np.testing.assert_array_equal(counts, [1, 2, 3])
    aligned = np.isfinite(found.overlap_aligned.isel(replicate=0)).sum(["direction", "direction2"])
    np.testing.assert_array_equal(aligned, [0, 4, 0])


def test_a_fit_without_convergence_counts_and_says_so():
    found = run(n=[12, 20], replicates=1)
    np.testing.assert_array_equal(found.converged, [[False], [True]])
    assert found.status.values.tolist() == [["not converged"], [""]]
    assert np.isfinite(found.test_mse).all()


def test_a_failure_is_nan_with_its_reason():
    found = run(n=[13, 20], replicates=1, on_failure="mark")
    assert found.status.values.tolist() == [["BadData: 13 samples bring bad luck"], [""]]
    np.testing.assert_array_equal(np.isnan(found.test_mse), [[True], [False]])
    np.testing.assert_array_equal(
        np.isnan(found.overlap).all(["direction", "direction2"]), [[1], [0]]
    )
    np.testing.assert_array_equal(found.converged, [[False], [True]])


def test_failures_everywhere_leave_their_reasons():
    found = run(n=13, on_failure="mark")
    assert set(found.data_vars) == {"converged", "n_iter", "status"}


def test_a_failure_raises_and_names_its_cell():
    with pytest.raises(gd.BadData, match="bad luck") as caught:
        run(n=[20, 13])
    assert caught.value.__notes__ == ["in the cell n = 13, d = 10, replicate 0 of 'correlation'"]


def test_an_interrupted_run_keeps_what_was_done():
    found = run("interrupted", n=[20, 40], replicates=2)
    assert found.status.values.tolist() == [["", "interrupted"], ["", "interrupted"]]
    np.testing.assert_array_equal(np.isnan(found.test_mse), [[False, True], [False, True]])


class Watcher:
    def __init__(self):
        self.steps, self.closed = [], False

    def step(self, i, total, **scalars):
        self.steps.append((i, total, scalars))
        return i == 3

    def close(self):
        self.closed = True


def test_progress_is_told_and_may_stop_the_run():
    watching = Watcher()
    found = run(n=[20, 40], replicates=2, progress=watching)
    assert watching.closed
    assert watching.steps[3] == (3, 4, {"n": 20, "replicate": 1})
    assert found.status.values.tolist() == [["", ""], ["", "interrupted"]]


def test_progress_is_closed_after_a_failure():
    watching = Watcher()
    with pytest.raises(gd.BadData):
        run(n=13, progress=watching)
    assert watching.closed


def test_a_bar_is_for_terminals_and_long_runs(monkeypatch):
    assert isinstance(watcher(True, "x"), Silent)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert isinstance(watcher(False, "x"), Silent)
    bar = watcher(True, "x")
    assert isinstance(bar, TerminalBar)
    bar.step(1, 3)
    assert bar._bar is None
    monkeypatch.setattr(progress_module, "_PATIENCE", -1.0)
    bar.step(2, 3, n=20)
    assert bar._bar.tasks[0].completed == 2
    assert bar._bar.tasks[0].description == "x n 20"
    bar.close()
    assert bar._bar.live.is_started is False


def test_single_precision_reaches_the_learner():
    found = run(n=20, dtype="float32")
    assert {X.dtype for X, _, _ in SEEN} == {np.dtype("float32")}
    assert found.test_mse.dtype == np.float64
    np.testing.assert_allclose(found.test_mse, run(n=20).test_mse, rtol=1e-5)


def test_a_hierarchical_target():
    sight = gd.Sight(outer="tanh(h)", inner="He2(z)", exponent=0.5)
    found = run(target=sight, n=20)
    assert found.sizes["direction2"] == 3
    assert "overlap_aligned" not in found
    assert found.attrs["target"] == sight.text


def test_simulation_and_theory_fit_side_by_side():
    found = run(n=[20, 40]).mean("replicate")[["test_mse"]]
    theory = xr.Dataset({"test_mse": ("n", [1.0, 2.0])}, {"n": [20, 30]})
    both = xr.concat([found, theory], dim="source", join="outer")
    assert dict(both.test_mse.sizes) == {"source": 2, "n": 3}


@pytest.mark.parametrize("name", ["shrunk", "shrunkpath"])
def test_width_and_ridge_are_axes(name):
    target = gd.Target("z", noise=0.3)
    grid = {"alpha": [2.0, 4.0], "width_ratio": [0.5, 1.5, 0.1], "ridge": [0.0, 7.0]}
    found = run(name, target, replicates=3, **grid)
    assert found.test_mse.dims == ("alpha", "width_ratio", "ridge", "replicate")
    assert found.test_mse.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(found.n_iter.isel(alpha=0, ridge=0, replicate=0), [5, 15, 1])
    sample = target.sample(40, 10, replicate=2)
    fresh = target.sample(64, 10, replicate=2, role="test")
    w = sample.X.T @ sample.y / 47
    one = found.isel(replicate=2).sel(alpha=4.0, width_ratio=1.5, ridge=7.0)
    assert float(one.test_mse) == pytest.approx(np.mean((fresh.y - fresh.X @ w) ** 2))
    assert float(one.train_mse) == pytest.approx(np.mean((sample.y - sample.X @ w) ** 2))
    assert float(one.train_mse_err) == 0
    alone = run(name, target, replicates=3, alpha=4.0, width=15, ridge=7.0)
    assert alone.test_mse.dims == ("alpha", "ridge", "replicate")
    np.testing.assert_array_equal(
        alone.test_mse.squeeze(), found.test_mse.sel(alpha=4.0, width_ratio=1.5, ridge=7.0)
    )
    params = json.loads(found.attrs["params"])
    assert {"width", "ridge", "width_ratio"}.isdisjoint(params)
    assert json.loads(alone.attrs["params"])["width"] == 15


def test_a_learner_with_a_path_makes_all_ridges_at_once():
    run("shrunkpath", n=20, width=[1, 3], ridge=[1.0, 2.0], replicates=1)
    assert [seen for seen in SEEN if len(seen) == 2] == [(1, (1.0, 2.0)), (3, (1.0, 2.0))]


def test_all_values_of_the_ridge_have_the_same_start():
    found = run("shrunk", n=20, width=[1, 3], ridge=[1.0, 2.0], replicates=1)
    assert found.test_mse.dims == ("n", "width", "ridge", "replicate")
    assert len({start for _, _, start in SEEN}) == 1


def test_without_the_parameters_there_are_no_axes():
    found = run("shrunk", n=20, width=3, ridge=None)
    assert found.test_mse.dims == ("n", "replicate")


def test_a_failure_at_one_width_is_marked_for_all_ridges(monkeypatch):
    def fail(self, X, y, ridge):
        raise gd.BadData("too wide")

    monkeypatch.setattr(ShrunkPath, "fit_path", fail)
    settings = {"n": 20, "width": [1, 3], "ridge": [1.0, 2.0], "replicates": 1}
    found = run("shrunkpath", on_failure="mark", **settings)
    assert set(found.status.values.ravel()) == {"BadData: too wide"}
    with pytest.raises(gd.BadData) as caught:
        run("shrunkpath", **settings)
    assert caught.value.__notes__ == [
        "in the cell n = 20, width = 1, d = 10, replicate 0 of 'shrunkpath'"
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "give either alpha or n"),
        ({"n": 20, "name": "shrunk", "ridge": -1.0}, "ridge must be finite numbers >= 0, got -1.0"),
        ({"n": 20, "name": "shrunk", "width": [2, 2.5]}, "width must be an integer >= 1, got 2.5"),
        (
            {"n": 20, "name": "shrunk", "width_ratio": 0.01},
            "width_ratio = 0.01 gives no neurons in d = 10",
        ),
        (
            {"n": 20, "name": "shrunk", "width": 2, "width_ratio": 1},
            "give either width or width_ratio",
        ),
        ({"n": 20, "width_ratio": 1.0}, "'correlation' has no parameter 'width'"),
        ({"n": 20, "ridge": 1.0}, "'correlation' has no parameter 'ridge'"),
        ({"alpha": 1.0, "n": 10}, "give either alpha or n"),
        ({"alpha": 0.01}, "alpha = 0.01 gives no samples in d = 10; use alpha >= 0.1"),
        ({"alpha": [1.0, -1.0]}, "alpha must be finite numbers > 0, got -1.0"),
        ({"n": 2.5}, "n must be an integer >= 1, got 2.5"),
        ({"n": 0}, "n must be finite numbers > 0, got 0.0"),
        ({"n": [20, 20]}, "n must not hold a number twice"),
        ({"n": 20, "d": 0}, "d must be an integer >= 1, got 0"),
        ({"n": 20, "replicates": 0}, "replicates must be an integer >= 1"),
        ({"n": 20, "seed": -1}, "seed must be an integer >= 0"),
        ({"n": 20, "test_samples": 0}, "test_samples must be an integer >= 1"),
        ({"n": 20, "dtype": "float16"}, "dtype must be 'float64' or 'float32', got 'float16'"),
        ({"n": 20, "on_failure": "skip"}, "on_failure must be 'raise' or 'mark'"),
        ({"n": 20, "scal": 2}, "no parameter 'scal'. Allowed: scale, random_state. Did you mean"),
        (
            {"n": 20, "name": "correlatio"},
            "unknown algorithm 'correlatio'.*Did you mean 'correlation'",
        ),
        ({"n": 20, "name": "extragradent"}, "Simulated can be.*Did you mean 'extragradient'"),
        ({"n": 20, "target": 7}, "a target or its text is needed, got int"),
    ],
)
def test_mistakes_are_refused_before_anything_is_drawn(settings, message):
    with pytest.raises(gd.BadData, match=message):
        run(**settings)
    assert SEEN == []


def test_what_does_not_fit_in_memory_is_refused_at_once():
    with pytest.raises(gd.TooLarge, match="a fit on 1000000000000 x 1000000 numbers"):
        run(n=10**12, d=10**6, on_failure="mark")

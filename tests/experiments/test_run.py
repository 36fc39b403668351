"""The verb ``run``: the numbers of the verbs, in one dataset, computed once."""

import errno
import json
import os
import time

import numpy as np
import pytest
import xarray as xr

import gradone as gd
from gradone.base.curves import check_curve, curve
from gradone.experiments.cell import Fit
from gradone.experiments.dataset import assemble
from gradone.experiments.export import export
from gradone.experiments.metrics import Measured
from gradone.experiments.recipes import encoded_fits, part_of
from gradone.experiments.run import collect
from gradone.experiments.store import Store
from gradone.experiments.task import Result

SPEC = {
    "name": "e",
    "targets": ["sign(z1*z2)", {"text": "z1", "noise": 0.1}],
    "algorithms": [
        {"learner": "random_features", "width_ratio": 0.5, "ridge": [0.1, 1.0]},
        {"theory": "random_features", "width_ratio": 0.5, "ridge": [0.1, 1.0]},
    ],
    "grid": {"d": [20, 30], "alpha": [2.0, 4.0], "test_samples": 256},
    "replicates": 2,
}


def experiment(**changes):
    return gd.Experiment(**{**SPEC, **changes})


def run(folder, *, store="runs.db", executor="serial", **changes):
    return gd.run(experiment(**changes), store=folder / store, executor=executor, progress=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def found(folder):
    return run(folder)


def test_the_result_is_a_curve(found):
    check_curve(found)
    assert found.test_mse.dims == ("source", "target", "d", "alpha", "ridge", "replicate")
    assert found.test_mse.shape == (2, 2, 2, 2, 2, 2)
    assert found.source.values.tolist() == ["simulation:random_features", "theory:random_features"]
    assert found.target.values.tolist() == ["sign(z1*z2)", "z1, noise=0.1"]
    assert (found.status == "").all()
    assert found.converged.all()
    assert found.attrs["source"] == "experiment:e"
    assert json.loads(found.attrs["params"])["grid"]["alpha"] == [2, 4]


def test_learners_give_the_numbers_of_simulate(found):
    target = gd.Target("z1", noise=0.1)
    settings = {"width_ratio": 0.5, "ridge": 1.0, "replicates": 2, "test_samples": 256}
    alone = gd.simulate(target, "random_features", d=30, alpha=[2.0, 4.0], **settings)
    part = found.sel(source="simulation:random_features", target="z1, noise=0.1", d=30, ridge=1.0)
    for name in ("test_mse", "test_mse_err", "excess_mse", "train_mse"):
        np.testing.assert_array_equal(part[name], alone[name].isel(width_ratio=0, ridge=0))


def test_theories_give_the_numbers_of_predict_at_every_d_and_once_for_all_replicates(found):
    alone = gd.predict(
        gd.Target("z1", noise=0.1),
        "random_features",
        **{"alpha": [2.0, 4.0], "width_ratio": 0.5, "ridge": [0.1, 1.0]},
    )
    part = found.sel(source="theory:random_features", target="z1, noise=0.1")
    for d in (20, 30):
        np.testing.assert_allclose(
            part.test_mse.sel(d=d, replicate=0), alone.test_mse.squeeze(), rtol=1e-12
        )
    assert part.test_mse.sel(replicate=1).isnull().all()
    assert part.converged.all()


def test_engines_give_the_numbers_of_their_verbs(folder):
    sgd = {"engine": "sgd", "width": 2, "steps": 40, "step_size": 0.01, "record": [0, 20, 40]}
    reused = {"engine": "reused_batch", "width": 2, "steps": 3, "step_size": 0.1}
    spec = {"targets": ["z1"], "algorithms": [sgd, reused], "grid": {"d": [20, 30], "n": 60}}
    both = run(folder, **spec)
    shared = {"replicates": 2, "d": 30, "progress": False}
    chain = gd.dynamics.sgd("z1", width=2, steps=40, step_size=0.01, record=[0, 20, 40], **shared)
    batch = gd.dynamics.reused_batch("z1", n=60, width=2, steps=3, step_size=0.1, **shared)
    assert sorted(both.step.values.tolist()) == [0, 1, 2, 3, 20, 40]
    for name, alone in (("sgd", chain), ("reused_batch", batch)):
        part = both.sel(source=f"simulation:{name}", d=30, step=alone.step)
        for quantity in ("overlap", "norm", "recovery"):
            order = part[quantity].dims
            np.testing.assert_array_equal(part[quantity], alone[quantity].transpose(*order))
        others = both.sel(source=f"simulation:{name}").drop_sel(step=alone.step)
        assert others.overlap.isnull().all()
    assert both.test_mse.sel(source="simulation:sgd").isnull().all()
    with Store(folder / "runs.db", "ro") as store:
        results = [stored.result for stored in store.results()]
    xr.testing.assert_identical(assemble(experiment(**spec), results[::-1]), both)


def test_a_second_run_computes_nothing_and_a_larger_one_what_is_missing(folder, found):
    seen = []

    class Watcher:
        def step(self, i, total, **scalars):
            seen.append(i)
            return False

        def close(self):
            seen.append("closed")

    def again(**changes):
        seen.clear()
        return gd.run(
            experiment(**changes), store=folder / "runs.db", executor="serial", progress=Watcher()
        )

    xr.testing.assert_identical(again(), found)
    assert seen == ["closed"]
    more = again(grid={"d": [20, 30], "alpha": [2.0, 4.0, 8.0], "test_samples": 256})
    assert len(seen) == 20 + 1  # 16 fits and 4 points of the theory at alpha = 8
    xr.testing.assert_equal(more.sel(alpha=[2.0, 4.0]), found)


@pytest.mark.stat
def test_processes_give_the_same_bits(folder, found, tmp_path):
    changes = {"grid": {"d": 20, "alpha": [2.0], "test_samples": 256}}
    other = run(tmp_path, executor="processes", **changes)
    xr.testing.assert_identical(other, run(folder, **changes))
    part = found.sel(d=20, alpha=[2.0])
    np.testing.assert_array_equal(other.test_mse, part.test_mse)
    seeded = run(folder, seed=1, **changes).test_mse.sel(source="simulation:random_features")
    assert (seeded != part.test_mse.sel(source="simulation:random_features")).all()


def test_metrics_choose_what_is_kept(folder):
    some = run(folder, metrics=["test_mse", "effective_ridge"])
    kept = {"test_mse", "effective_ridge", "test_mse_err", "effective_ridge_err"}
    assert set(some.data_vars) == kept | {"converged", "n_iter", "status"}


def test_failures_and_what_was_not_run_are_nan_with_the_reason(tmp_path):
    finder = {"learner": "spectral_directions", "n_components": [1, 50], "n_permutations": 9}
    theory = {"theory": "depth", "kappa": 1.5}
    spec = {
        "algorithms": [finder, theory],
        "grid": {"d": 20, "n": 50},
        "targets": ["z1", gd.zoo("sight")],
    }
    found = run(tmp_path, **spec)
    bad = found.sel(source="simulation:spectral_directions(n_components=50)")
    assert bad.cosine2.isnull().all()
    assert not bad.converged.any()
    assert all(text.startswith("BadData: n_components = 50") for text in bad.status.values.ravel())
    assert np.isfinite(
        found.cosine2.sel(source="simulation:spectral_directions(n_components=1)", target="z1")
    ).any()
    uncovered = found.sel(source="theory:depth", target="z1")
    assert all("does not cover" in text for text in uncovered.status.values.ravel())
    with Store(tmp_path / "empty.db") as empty:
        nothing = collect(experiment(**spec), empty)
    assert set(nothing.data_vars) == {"converged", "n_iter", "status"}
    assert "not run" in nothing.status.values


def test_a_place_without_a_cell_says_so(tmp_path):
    pair = [
        {"learner": "random_features", "width": 10, "ridge": [0.1, 1.0]},
        {"learner": "giant_step", "width": 10, "ridge": 0.5},
    ]
    grid = {"d": 20, "n": 40, "test_samples": 64}
    found = run(tmp_path, algorithms=pair, grid=grid, targets=["z1"], replicates=1)
    assert found.status.sel(source="simulation:giant_step").values.ravel().tolist() == [
        *("not asked for", "", "not asked for")
    ]
    np.testing.assert_array_equal(
        np.isfinite(found.test_mse.isel(replicate=0)), [[True, False, True], [False, True, False]]
    )


def test_what_does_not_fit_is_refused_before_the_store_is_made(tmp_path):
    huge = {"d": 10**6, "n": [40, 10**12]}
    with pytest.raises(gd.TooLarge, match=r"2 cells do not .* Use a smaller n or d. Nothing was"):
        run(tmp_path, algorithms=[{"learner": "giant_step"}], grid=huge, targets=["z1"])
    assert list(tmp_path.iterdir()) == []


def test_what_is_done_already_is_not_refused(folder, found, monkeypatch):
    monkeypatch.setattr("gradone.experiments.costs.available_memory", lambda: 1000)
    xr.testing.assert_identical(run(folder), found)
    with pytest.raises(gd.TooLarge):
        run(folder, seed=3)


def test_an_interrupted_run_gives_what_is_done(tmp_path):
    class Impatient:
        def step(self, i, total, **scalars):
            return i == 3

        def close(self):
            pass

    found = gd.run(
        experiment(), store=tmp_path / "runs.db", executor="serial", progress=Impatient()
    )
    assert (found.status == "not run").any()
    xr.testing.assert_identical(run(tmp_path), run(tmp_path, store="other.db"))


def test_files_describe_experiments(tmp_path, found):
    path = tmp_path / "e.json"
    path.write_text(experiment(sizes={"small": {"replicates": 1}}).to_json())
    small = gd.run(path, store=tmp_path / "runs.db", executor="serial", size="small")
    np.testing.assert_array_equal(small.test_mse, found.test_mse.sel(replicate=[0]))


def fake_results(given, points):
    rng = np.random.default_rng(0)
    flags = {"converged": np.array(True), "n_iter": np.array(1), "status": np.array("")}
    return [
        Result(
            cell.key,
            "done",
            {
                "test_mse(step)": rng.random(points),
                "test_mse_err(step)": rng.random(points),
                "@step": np.arange(points) ** 2,
                **flags,
            },
        )
        for cell in given.cells()
    ]


def test_a_thousand_curves_are_assembled_within_a_second():
    grid = {"d": list(range(10, 110)), "step_size": [0.1, 0.2, 0.3, 0.4, 0.5]}
    many = experiment(algorithms=[{"engine": "sgd"}], grid=grid, targets=["z1"])
    results = fake_results(many, 50)
    assert len(results) == 1000
    start = time.process_time()
    found = assemble(many, results[::-1])
    assert time.process_time() - start < 1.0
    values = found.test_mse.values.reshape(1000, 50)
    order = {cell.key: i for i, cell in enumerate(many.cells())}
    for result in results[::97]:
        np.testing.assert_array_equal(values[order[result.key]], result.arrays["test_mse(step)"])


# ---- files


def test_netcdf_gives_back_the_same_dataset_and_the_same_bytes(tmp_path, found):
    for name in ("a.nc", "b.nc"):
        export(found, tmp_path / name)
    with xr.open_dataset(tmp_path / "a.nc") as again:
        xr.testing.assert_identical(again.load(), found)
        assert {name: again[name].dtype for name in again.variables} == {
            name: found[name].dtype for name in found.variables
        }
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", "b.nc"]


def test_csv_has_every_number_once(tmp_path, found):
    import csv

    export(found, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = [v for v in found.data_vars if f"{v}_err" in found]
    assert len(rows) == sum(int(found[name].notnull().sum()) for name in numbers)
    row = rows[len(rows) // 3]
    place = {
        "source": row["source"],
        "target": row["target"],
        **{name: float(row[name]) for name in ("d", "alpha", "ridge", "replicate")},
    }
    assert float(row["value"]) == found[row["quantity"]].sel(place).item()
    assert float(row["error"]) == found[f"{row['quantity']}_err"].sel(place).item()


def test_other_files_are_refused(tmp_path, found):
    with pytest.raises(gd.BadData, match=r"export to a file .nc or .csv, got 'a.xlsx'"):
        export(found, tmp_path / "a.xlsx")
    with pytest.raises(gd.BadData, match="there is no folder"):
        export(found, tmp_path / "no" / "a.nc")


# ---- simulate on the same cells


def test_simulate_keeps_its_fits_in_a_store(tmp_path, found):
    settings = {"d": 20, "replicates": 2, "test_samples": 256, "progress": False}
    grid = {"alpha": [2.0, 4.0], "width_ratio": [0.5, 1.0], "ridge": [0.1, 1.0]}
    direct = gd.simulate("sign(z1*z2)", "random_features", **settings, **grid)
    for _ in range(2):
        stored = gd.simulate(
            "sign(z1*z2)", "random_features", store=tmp_path / "r.db", **settings, **grid
        )
        xr.testing.assert_identical(stored, direct)
    with Store(tmp_path / "r.db") as store:
        assert [counts.done for counts in store.status().values()] == [8]  # paths over the ridge
    link = gd.Target("sign(z1*z2)")
    direct = gd.simulate(link, "spectral_directions", n=80, channel=link, **settings)
    stored = gd.simulate(
        link, "spectral_directions", n=80, channel=link, store=tmp_path / "r.db", **settings
    )
    xr.testing.assert_equal(stored, direct)


def test_simulate_and_sweeps_share_cells(tmp_path):
    settings = {"d": 20, "n": 40, "width": 10, "replicates": 2}
    path = tmp_path / "r.db"
    gd.simulate("z2*z1", "random_features", ridge=0.1, store=path, progress=False, **settings)
    sweep = gd.Experiment(
        name="e",
        targets=["z1*z2"],
        algorithms=[{"algorithm": "random_features", "width_ratio": 0.5, "ridge": 0.1}],
        grid={"d": 20, "alpha": 2},
        replicates=2,
    )
    with Store(path, "ro") as store:
        assert store.keys() == {cell.key for cell in sweep.cells() if cell.replicate is not None}


def test_simulate_with_an_executor_says_what_failed(tmp_path):
    settings = {"d": 20, "n": [30, 40], "replicates": 1, "n_components": 50, "progress": False}
    settings |= {"store": tmp_path / "r.db"}
    with pytest.raises(gd.GradoneError, match="2 of 2 fits failed, the first in the cell n = 30"):
        gd.simulate("z1", "spectral_directions", **settings)
    marked = gd.simulate("z1", "spectral_directions", on_failure="mark", **settings)
    assert all("n_components = 50" in text for text in marked.status.values.ravel())
    with pytest.raises(gd.BadData, match="cannot be stored or sent to other processes"):
        gd.simulate(
            "z1",
            "spectral_directions",
            random_state=np.random.default_rng(0),
            **{**settings, "n_components": 1},
        )


def test_a_path_keeps_fits_of_different_sizes():
    """Would catch: a cell whose fits found different numbers of directions."""
    few = Fit({"overlap": Measured(("direction",), [0.1], [0.0])}, converged=True, n_iter=3)
    more = Fit({"overlap": Measured(("direction",), [0.2, 0.3], [0.0, 0.0])}, False, 4, "slow")
    arrays = encoded_fits([few, more], is_path=True)
    first, second = part_of(arrays, 0), part_of(arrays, 1)
    np.testing.assert_array_equal(first["overlap(direction)"], [0.1, np.nan])
    np.testing.assert_array_equal(second["overlap(direction)"], [0.2, 0.3])
    assert [part["status"].item() for part in (first, second)] == ["", "slow"]
    assert [part["n_iter"].item() for part in (first, second)] == [3, 4]


def small_curve():
    values = {"q": ("target", [0.5]), "q_err": ("target", [0.1])}
    return curve(values, {"target": ["-z1+pi*z2"]}, source="simulation:x", target="z")


@pytest.mark.parametrize("ending", ["csv", "nc"])
def test_an_export_that_cannot_be_written_is_one_clear_line(tmp_path, monkeypatch, ending):
    """Failed before: raw errors of the system, and of HDF5."""
    (tmp_path / f"folder.{ending}").mkdir()
    with pytest.raises(gd.BadData, match=rf"folder\.{ending} is a folder; export to a file"):
        export(small_curve(), tmp_path / f"folder.{ending}")

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(
        gd.BadData, match=rf"out\.{ending} cannot be written \(No space left on dev"
    ):
        export(small_curve(), tmp_path / f"out.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == [f"folder.{ending}"]


def test_a_spreadsheet_does_not_compute_the_targets_of_an_export(tmp_path):
    """Failed before: -z1+pi*z2 stood there as a formula."""
    lines = export(small_curve(), tmp_path / "out.csv").read_text().splitlines()
    assert lines == ["target,quantity,value,error,status", "'-z1+pi*z2,q,0.5,0.1,"]

"""Cells of an experiment: their names, what they share, their places in the result."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradone as gd
from gradone.base.seeds import fingerprint
from gradone.experiments.algorithms import _described, all_algorithms, find_algorithm


def experiment(algorithm=None, *, targets=("z1*z2",), **changes):
    spec = {"grid": {"d": 20, "n": [40, 80]}, "replicates": 2, **changes}
    algorithm = algorithm or [{"learner": "giant_step"}]
    return gd.Experiment(name="e", targets=list(targets), algorithms=algorithm, **spec)


def keys(*arguments, **changes):
    found = [cell.key for cell in experiment(*arguments, **changes).cells()]
    assert len(set(found)) == len(found)
    return set(found)


# ---- names

whole = st.integers(1, 10**6)


@given(d=whole, n=whole, ridge=st.floats(0, 1e6), seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_equal_numbers_name_the_same_cells(d, n, ridge, seed):
    one = keys(grid={"d": d, "n": n, "ridge": ridge}, seed=seed)
    as_floats = {"ridge": np.float64(ridge), "n": np.float64(n), "d": float(d)}
    assert keys(grid=as_floats, seed=np.int64(seed)) == one
    assert keys(grid={"n": np.int64(n), "d": [d], "ridge": [ridge]}, seed=seed) == one
    assert keys(grid={"d": d, "n": n, "ridge": ridge}, seed=seed + 1).isdisjoint(one)
    assert keys(grid={"d": d, "n": n + 1, "ridge": ridge}, seed=seed).isdisjoint(one)
    other = math.nextafter(ridge, math.inf)
    assert keys(grid={"d": d, "n": n, "ridge": other}, seed=seed).isdisjoint(one)


@given(st.permutations(["learner", "width", "steps", "activation", "ridge"]))
@settings(max_examples=20, deadline=None)
def test_the_order_of_parameters_does_not_matter(order):
    values = {"learner": "giant_step", "width": 8, "steps": 2, "activation": "z", "ridge": 0.1}
    assert keys([{name: values[name] for name in order}]) == keys([values])


@given(d=st.integers(2, 1000), alpha=st.floats(0.5, 50))
@settings(max_examples=30, deadline=None)
def test_samples_are_the_same_however_they_are_counted(d, alpha):
    n = round(alpha * d)
    by_number = keys(grid={"d": d, "n": n})
    assert keys(grid={"d": d, "alpha": alpha}) == by_number
    assert keys(grid={"d": d, "kappa": math.log(n) / math.log(d)}) == by_number
    width = {"learner": "giant_step", "width": n}
    ratio = {"learner": "giant_step", "width_ratio": alpha}
    assert keys([ratio], grid={"d": d, "n": 9}) == keys([width], grid={"d": d, "n": 9})


def test_a_key_is_the_fingerprint_of_the_cell():
    for cell in experiment([{"learner": "giant_step"}, {"theory": "bayes_amp"}]).cells():
        assert cell.key == fingerprint(json.loads(cell.text)).hex()
        assert len(cell.key) == 32


def test_a_target_is_named_by_what_it_is():
    assert keys(targets=["z2*z1"]) == keys(targets=[{"text": "(z1 * z2)"}])
    assert keys(targets=["parity2"]) == keys(targets=["sign(z2*z1)"])
    assert keys(targets=[gd.zoo("parity2")]) == keys(targets=[{"zoo": "parity2"}])
    assert keys(targets=[{"text": "z1*z2", "noise": 0.1}]).isdisjoint(keys())
    sight = gd.Sight(outer="tanh(h)", inner="He2(z)", exponent=0.5)
    table = {"kind": "Sight", "outer": " tanh( h1 )", "inner": "He2(z1)", "exponent": 0.5}
    assert keys(targets=[sight]) == keys(targets=[table])


def test_a_larger_grid_contains_the_smaller_one():
    small = keys()
    assert small < keys(grid={"d": [10, 20], "alpha": [1, 2, 4]}, replicates=5)
    assert small < keys([{"learner": "giant_step"}, {"learner": "random_features"}])
    assert small < keys(targets=["z1*z2", "z1"])
    assert small == keys(metrics=["test_mse"])


def test_what_a_cell_may_leave_out_does_not_name_it():
    assert keys(grid={"d": 20, "n": [40, 80], "test_samples": 4096, "dtype": "float64"}) == keys()
    assert keys(grid={"d": 20, "n": [40, 80], "test_samples": 100}).isdisjoint(keys())


def test_another_version_of_the_numbers_names_other_cells(monkeypatch):
    before = keys()
    monkeypatch.setattr(gd.learners.GiantStep, "numerics", 2, raising=False)
    _described.cache_clear()
    assert keys().isdisjoint(before)
    _described.cache_clear()


# ---- what algorithms take


@pytest.mark.parametrize("algorithm", all_algorithms(), ids=lambda one: one.recipe)
def test_every_algorithm_is_described(algorithm):
    assert algorithm.answers
    assert set(algorithm.required) <= algorithm.parameters
    assert algorithm.parameters.isdisjoint({"seed", "replicates", "progress", "target", "self"})


@pytest.mark.parametrize(
    ("kind", "name", "own", "shared", "expected"),
    [
        ("learner", "giant_step", {}, {"d": 10, "kappa": 2}, {"d": 10, "n": 100}),
        ("learner", "giant_step", {"n": 7}, {"d": 10, "alpha": 2}, {"d": 10, "n": 7}),
        ("learner", "bayes_amp", {}, {"d": 10, "n": 7, "width": 3, "ridge": 1}, {"d": 10, "n": 7}),
        ("theory", "bayes_amp", {}, {"d": 10, "alpha": 2.25}, {"alpha": 2.25}),
        ("theory", "bayes_amp", {}, {"d": 10, "n": 25}, {"alpha": 2.5}),
        ("theory", "depth", {}, {"d": 10, "n": 100}, {"d": 10, "kappa": 2.0}),
        ("theory", "random_features", {}, {"d": 10, "width": 25}, {"width_ratio": 2.5}),
        ("theory", "one_step", {"width": 25}, {"d": 10}, {"width": 25}),
        ("theory", "sgd_flow", {}, {"d": 10, "width_ratio": 0.5}, {"width": 5}),
        ("engine", "sgd", {}, {"d": 10, "alpha": 2}, {"d": 10}),
        ("engine", "reused_batch", {}, {"d": 10, "alpha": 2}, {"d": 10, "n": 20}),
    ],
)
def test_sizes_become_those_that_an_algorithm_takes(kind, name, own, shared, expected):
    assert find_algorithm(kind, name).arguments(own, shared) == expected


# ---- places


def coords(*arguments, **changes):
    found = experiment(*arguments, **changes).layout.coords
    return {name: values.tolist() for name, values in found.items()}


def test_lists_are_dimensions_and_single_values_are_not():
    assert coords() == {
        "source": ["simulation:giant_step"],
        "n": [40, 80],
        "replicate": [0, 1],
    }
    assert list(coords(targets=["z1", "z2"], grid={"alpha": [2], "d": [40]})) == [
        *("source", "target", "d", "alpha", "replicate")
    ]


def test_what_is_no_dimension_of_a_curve_is_another_source():
    both = [{"learner": "giant_step", "activation": ["z", "tanh(z)"]}]
    assert coords(both)["source"] == [
        "simulation:giant_step(activation=z)",
        "simulation:giant_step(activation=tanh(z))",
    ]
    kinds = [{"learner": "reused_batch", "steps": 6}, {"engine": "reused_batch", "steps": 6}]
    assert coords(kinds)["source"] == [
        "simulation:reused_batch(learner)",
        "simulation:reused_batch(engine)",
    ]


def test_a_parameter_whose_value_is_a_list_is_one_value():
    deep = {"learner": "joint_network", "widths": [8, 4]}
    assert len(keys([deep])) == 4
    assert len(keys([deep | {"widths": [[8, 4], [16, 4]]}])) == 8


def test_algorithms_without_a_parameter_are_constant_along_it():
    theory = experiment([{"learner": "giant_step"}, {"theory": "bayes_amp"}]).layout
    of_theory = [cell for cell in theory.cells if cell.algorithm.kind == "theory"]
    assert [cell.arguments for cell in of_theory] == [{"alpha": 2.0}, {"alpha": 4.0}]
    both = experiment([{"theory": "bayes_amp"}], grid={"d": [20, 40], "alpha": [2.0, 4.0]}).layout
    assert len(both.cells) == 2
    assert list(both.coords) == ["source", "alpha"]


def test_axes_of_one_algorithm_hold_the_single_values_of_others():
    pair = [
        {"learner": "random_features", "ridge": [1.0, 0.1]},
        {"learner": "giant_step", "ridge": 0.5},
        {"learner": "bayes_amp"},
    ]
    layout = experiment(pair, grid={"d": 20, "n": 40}, replicates=1).layout
    assert layout.coords["ridge"].tolist() == [0.1, 0.5, 1.0]
    places = [placed.place for placed in layout.placed]
    assert places == [(0, 2, 0), (0, 0, 0), (1, 1, 0), (2, slice(None), 0)]


def test_a_theory_may_be_taken_in_the_limit():
    both = [{"theory": "lazy", "d": "none"}, {"learner": "giant_step"}]
    layout = experiment(both, grid={"d": [20, 40], "kappa": [1.0, 1.5]}).layout
    assert layout.coords["d"].tolist() == [20, 40]
    limits = [cell for cell in layout.cells if cell.algorithm.kind == "theory"]
    assert [cell.arguments for cell in limits] == [
        {"d": None, "kappa": 1},
        {"d": None, "kappa": 1.5},
    ]
    finite = experiment([{"theory": "lazy"}], grid={"d": [20, 40], "kappa": [1.0, 1.5]})
    assert len(finite.cells()) == 4


def test_a_theory_that_does_not_cover_a_target_is_left_out():
    layout = experiment([{"theory": "depth", "kappa": 1.5}], targets=["z1", gd.zoo("sight")]).layout
    assert len(layout.cells) == 1
    [(_, reason)] = layout.uncovered
    assert reason.startswith("'depth' does not cover this target: it covers hierarchical targets")
    with pytest.raises(gd.BadData, match="'e' has no cell: 'depth' does not cover"):
        experiment([{"theory": "depth", "kappa": 1.5}]).cells()


def test_equal_algorithms_are_refused():
    with pytest.raises(gd.BadData, match="the same as algorithms"):
        experiment([{"theory": "bayes_amp"}, {"theory": "bayes_amp"}])


def test_ten_thousand_cells_are_laid_out_quickly():
    import time

    start = time.process_time()
    grid = {"d": [20, 40], "n": list(range(100, 600)), "ridge": [0.1]}
    assert len(experiment(grid=grid, replicates=10).cells()) == 10_000
    assert time.process_time() - start < 2.0


def test_algorithms_are_found_in_three_tables():
    assert {one.kind for one in all_algorithms()} == {"learner", "engine", "theory"}

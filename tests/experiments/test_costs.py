"""What cells need is known before they run."""

import time
import tracemalloc

import pytest

import gradone as gd
from gradone.experiments import costs
from gradone.experiments.costs import cost, require_room
from gradone.experiments.recipes import compute


def cells(algorithm, **grid):
    return gd.Experiment(name="e", targets=["z1"], algorithms=[algorithm], grid=grid).cells()


@pytest.mark.parametrize(
    ("algorithm", "grid"),
    [
        ({"learner": "random_features", "width": 200, "ridge": 0.1}, {"d": 100, "n": 4000}),
        ({"learner": "giant_step", "width": 200, "ridge": 0.1}, {"d": 100, "n": 4000}),
        ({"learner": "giant_step", "width": 300, "ridge": 0.1}, {"d": 40, "n": 300}),
        ({"learner": "residual_step", "width": 200, "dtype": "float32"}, {"d": 100, "n": 4000}),
        ({"learner": "spectral_directions", "n_permutations": 9}, {"d": 100, "n": 4000}),
        ({"learner": "dot_kernel_ridge"}, {"d": 50, "n": 400}),
        ({"learner": "online_sgd", "step_size": 1e-3}, {"d": 100, "n": 4000}),
        ({"learner": "joint_network", "steps": 100}, {"d": 30, "n": 2000}),
        ({"engine": "sgd", "steps": 20_000, "step_size": 1e-3}, {"d": 100}),
        ({"engine": "reused_batch", "step_size": 0.1, "steps": 20}, {"d": 1000, "n": 20_000}),
    ],
    ids=lambda part: next(iter(part.values())) if isinstance(part, dict) else None,
)
def test_estimates_are_near_what_a_cell_takes(algorithm, grid):
    """Memory must not be underestimated; within a factor of 4 it is no obstacle either."""
    [cell] = cells(algorithm, **grid)
    compute(cell.text)  # compiled functions and caches stay
    start = time.process_time()
    compute(cell.text)
    seconds = time.process_time() - start
    tracemalloc.start()
    compute(cell.text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimated = cost(cell)
    assert peak < estimated.bytes < 4 * peak + 2_000_000
    assert seconds / 10 < estimated.seconds < 10 * seconds


@pytest.mark.parametrize(
    ("algorithm", "grid", "parameter"),
    [
        ({"learner": "giant_step", "width": 10}, {"d": 100, "n": 10_000}, "n or d"),
        ({"learner": "giant_step", "width": 10_000}, {"d": 100, "n": 100}, "width"),
        ({"learner": "dot_kernel_ridge"}, {"d": 10, "n": 10_000}, "n"),
        ({"engine": "sgd", "record": 10_000, "width": 100}, {"d": 1000}, "record"),
        ({"engine": "reused_batch", "steps": 100}, {"d": 1000, "n": 10_000}, "n or steps"),
    ],
)
def test_the_parameter_to_shrink_is_named(monkeypatch, algorithm, grid, parameter):
    [cell] = cells(algorithm, **grid)
    require_room([cell])
    monkeypatch.setattr(costs, "available_memory", lambda: 10_000_000)
    with pytest.raises(gd.TooLarge, match=rf"Use a smaller {parameter}\. Nothing was run"):
        require_room([cell])


@pytest.mark.parametrize("name", ["n", "d", "width"])
def test_costs_grow_with_every_size(name):
    sizes = {"d": 50, "n": 500, "width": 100}
    [small] = cells({"learner": "giant_step"}, **sizes)
    [large] = cells({"learner": "giant_step"}, **sizes | {name: 10 * sizes[name]})
    assert cost(large).bytes > cost(small).bytes
    assert cost(large).seconds > cost(small).seconds


def test_every_algorithm_has_an_estimate():
    from gradone.experiments.algorithms import all_algorithms
    from gradone.experiments.layout import Cell

    for algorithm in all_algorithms():
        given = {"d": 20, "n": 50} if algorithm.is_random else {}
        given |= dict.fromkeys(set(algorithm.required) - set(given), 6)
        found = cost(Cell("", "", algorithm, gd.Target("z1"), given))
        assert 0 < found.seconds < 60
        assert 0 < found.bytes < 10**9

"""The work of a study: which theories and simulations, with which numbers, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..base.children import Task

if TYPE_CHECKING:
    from .study import Study

# Learners of the quick simulations, by kind of target; gd.compare has them all.
_LEARNERS = ("random_features", "giant_step", "bayes_amp")  # what compiles longest is last
_DEEP_LEARNERS = ("dot_kernel_ridge", "giant_step", "layerwise")
_THEORIES = ("random_features", "one_step", "bayes_amp", "bayes_optimal")
_KERNEL_PLACES = (1.0, 1.6, 1.3, 1.9, 2.2)  # of log n / log d; the cost grows fast
_REPLICATES = 2
_REUSE_ALPHA = 4.0
_MOST_FOR_ENGINE = 2000  # dimension up to which exact SGD of the slowest targets stays quick


def tasks_of(found: Study) -> Iterator[Task]:
    """Work that needs no other work; the rest follows from the analysis."""
    from . import _work

    target, d = found.target, found.d

    yield Task("facts", [(_work.facts, {"target": target, "d": d})])
    yield Task(
        "verdicts",
        [(_work.verdicts, {"target": target, "d": d})],
        then=lambda answer: [*_comparison(found, answer["analysis"]), *_others(found)],
    )
    if found.axis == "alpha":
        yield from _one_pass(found)
        yield Task("lazy", [(_work.lazy_limit, {"target": target})], handicap=1.0)


def _comparison(found: Study, analysis: Any) -> list[Task]:
    """Theories and learners along one axis."""
    from ..experiments.compare import default_places
    from ..experiments.entrants import line_up

    is_deep = found.axis == "kappa"
    grid, points = default_places(found.target, analysis)
    lined_up = line_up(
        found.target,
        d=found.d,
        grid=grid,
        points=points,
        replicates=1 if is_deep else _REPLICATES,
        seed=found.seed,
        theories=("depth",) if is_deep else _THEORIES,
        learners=_DEEP_LEARNERS if is_deep else _LEARNERS,
    )
    found.absent = dict(lined_up.absent)
    found._compared = [task.name for task in lined_up.tasks]
    return list(lined_up.tasks)


def _others(found: Study) -> list[Task]:
    """What has a picture of its own, and can wait for the comparison."""
    from . import _work

    target, seed = found.target, found.seed
    if found.axis == "kappa":
        return []
    kernel = [
        (_work.kernel_points, {"target": target, "kappa": k, "replicates": 2, "seed": seed})
        for k in _KERNEL_PLACES
    ]
    return [
        Task("thresholds", [(_work.thresholds, {"target": target})], handicap=1.0),
        *_reuse(found),
        *_giant(found),
        Task("kernel", kernel, handicap=2.0),
    ]


def _one_pass(found: Study) -> list[Task]:
    """Exact SGD, and then the flow with the steps that it chose."""
    from ..experiments.sgd_pairs import exact_sgd, flow_of

    target, d = found.target, min(found.d, _MOST_FOR_ENGINE)

    def flow(run: Any) -> list[Task]:
        return [Task("flow", [(flow_of, {"target": target, "run": run, "seed": found.seed})])]

    run = (exact_sgd, {"target": target, "d": d, "seed": found.seed})
    return [Task("sgd", [run], then=flow, handicap=1.0)]


def _reuse(found: Study) -> list[Task]:
    """Exact gradient descent on fixed data, and its mean-field theory."""
    from ..experiments.sgd_pairs import exact_reuse, reuse_theory

    target, alpha = found.target, _REUSE_ALPHA

    def theory(run: Any) -> list[Task]:
        call = (reuse_theory, {"target": target, "run": run, "alpha": alpha})
        return [Task("reuse theory", [call])]

    arguments = {"target": target, "d": found.d, "alpha": alpha, "seed": found.seed}
    return [Task("reuse", [(exact_reuse, arguments)], then=theory, handicap=1.0)]


def _giant(found: Study) -> list[Task]:
    """Gradients of giant steps, in the limit and of a network."""
    import numpy as np

    from ..experiments.giant_pair import limit_of_giant_steps, run_giant_steps

    alphas = np.array([0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0])
    runs = [
        (run_giant_steps, {"target": found.target, "d": found.d, "alpha": a, "seed": found.seed})
        for a in (8.0, 1.0, 4.0, 2.0)
    ]
    limit = (limit_of_giant_steps, {"target": found.target, "alphas": alphas})
    return [Task("giant theory", [limit], handicap=1.0), Task("giant", runs, handicap=1.0)]

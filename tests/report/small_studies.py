"""Studies that are made in this process from a few small pieces of real work."""

import warnings

import numpy as np

import gradone as gd
from gradone.base.children import Outcome
from gradone.experiments.entrants import line_up
from gradone.experiments.places import default_places
from gradone.report import _work
from gradone.report.study import Study, first_words, plan_ahead


def done(*answers, left=0, notes=()):
    unfinished = set(range(len(answers), len(answers) + left))
    return Outcome(dict(enumerate(answers)), {}, unfinished, list(notes), 0.1)


def small_study(target=None, *, d=60):
    """Study of a target with one direction, in which one learner failed and one did not finish."""
    target = target or gd.Target("tanh(2*z)", noise=0.1)
    study = Study(target, d=d, budget=60.0)
    first_words(study)
    plan_ahead(study)
    grid, points = default_places(target, study.analysis)
    names = ["random_features", "giant_step", "bayes_amp", "layerwise"]
    lined_up = line_up(target, names, d=d, grid=grid, points=points[-2:])
    study.absent = dict(lined_up.absent)
    where = {"target": target, "d": d, "seed": 0}
    run = _work.watched(name="sgd", **where)
    reuse = _work.watched(name="reused_batch", place=4.0, **where)
    study.outcomes = {
        "sgd run": done(run),
        "sgd theory": done(_work.explained(name="sgd", run=run, **where)),
        "reused_batch run": done(reuse),
        "reused_batch theory": done(_work.explained(name="reused_batch", run=reuse, **where)),
        "dot_kernel_ridge theory": done(_work.explained(name="dot_kernel_ridge", **where)),
        "giant_steps theory": done(_work.explained(name="giant_steps", **where)),
        "giant_steps run": done(_work.watched(name="giant_steps", place=4.0, **where), left=3),
        "dot_kernel_ridge run": Outcome(failures={0: "the kernel <b>exploded</b>"}),
    }
    for task in lined_up.tasks:
        few = list(task.pieces)[:2]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gd.theory.KnownBias)  # children report it as a note
            answers = [function(**arguments) for function, arguments in few]
        study.outcomes[task.name] = done(*answers, left=len(task.pieces) - len(few))
    study.outcomes["simulation:giant_step"] = Outcome(failures={0: "no <i>luck</i>"})
    study.outcomes["simulation:bayes_amp"] = Outcome(unfinished={0, 1}, too_slow=20.0)
    return study


def small_hierarchical_study(*, d=32):
    target = gd.zoo("sight-quadratic")
    study = Study(target, d=d, budget=60.0)
    first_words(study)
    plan_ahead(study)
    places = np.array([1.2, 1.6])
    names = ["layerwise", "two_layers", "giant_step", "dot_kernel_ridge", "bayes_amp"]
    lined_up = line_up(target, names, d=d, grid=places, points=places[:1])
    study.absent = dict(lined_up.absent)
    for task in lined_up.tasks:
        answers = [function(**arguments) for function, arguments in task.pieces]
        study.outcomes[task.name] = done(*answers)
    return study

"""The same word is the same run: what `predict` is about is what `simulate` does."""

import inspect
import json

import numpy as np
import pytest
from scipy.stats import t as student_t

import gradone as gd
from gradone.algorithms import all_cards
from gradone.experiments import simulate as verb
from gradone.experiments._common_quantities import common_quantities
from gradone.learners import LEARNERS
from gradone.theory import THEORIES

TARGET = gd.Target("tanh(2*z)", noise=0.1)
DEEP = gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
D, ALPHA = 100, 3.0
BOTH = [card for card in all_cards() if card.theory and (card.learner or card.engine)]
OPTIMIZERS = ("huber_sgd", "momentum_sgd", "normalized_sgd", "sign_sgd")
ONE_PASS = dict.fromkeys(("sgd", "extragradient", *OPTIMIZERS), D) | {"normalized_sgd": np.sqrt(D)}


def target_of(card):
    return TARGET if card.obstacle(TARGET) is None else DEEP


def predicted_settings(card):
    """What a prediction states that it is about, in the terms of learners."""
    curve = gd.predict(target_of(card), card.name, alpha=ALPHA, d=D)
    found = json.loads(curve.attrs["params"])
    found |= {str(k): v.item() for k, v in curve.coords.items() if v.size == 1 and k != "alpha"}
    if "width_ratio" in found:
        found["width"] = found.pop("width_ratio") * D
    for name in ("step_size", "inner_step_size"):
        if found.get(name):
            found[name] /= ONE_PASS.get(card.name, 1)  # flows count in samples per dimension
    if card.name == "mean_field":  # readouts of 1/N, and steps of gamma/10: 10 batches have d rows
        width, step = card.defaults["width"], card.defaults["gamma"] / 10
        found["readout"] = [sign / width for sign in (1, -1)] * (width // 2)
        found["train_readout"] *= step / width
        found["train_bias"] = None  # not trained: 0 in a flow
        found |= {"width": width, "step_size": step * width, "batch_size": D / 10}
    if "M" in found:
        found["init"] = {"M": found.pop("M"), "Q": found.pop("Q")}
    return found


def simulated_settings(card, monkeypatch):
    """Every parameter of the learner that a simulation fits."""
    told = []

    def stop(name, target, arguments, **address):
        told.append(arguments)
        raise gd.BadData("stop")

    monkeypatch.setattr(verb, "run_learner", stop)
    with pytest.raises(gd.BadData, match="stop"):
        gd.simulate(target_of(card), card.name, alpha=ALPHA, d=D, progress=False)
    sizes = ("d", "n", "test_samples", "dtype")
    given = {name: value for name, value in told[0].items() if name not in sizes}
    needed = {"channel": TARGET} if card.learner == "bayes_amp" else {}
    found = LEARNERS[card.learner](**needed, **given).get_params()
    if found.get("readout") == "signs":
        student = gd.Student(found["width"], bias=found["bias"])
        found |= {"readout": list(student.a), "bias": list(student.b)}
    return found


SLOW = ("bayes_amp", "extragradient", *OPTIMIZERS)  # compiled, or long


def each(cards):
    slow = [pytest.mark.slow]
    return [pytest.param(c, id=c.name, marks=slow if c.name in SLOW else []) for c in cards]


@pytest.mark.parametrize("card", each(BOTH))
def test_a_prediction_and_a_simulation_without_settings_have_the_same(card, monkeypatch):
    """Would catch: a learner with the name of an algorithm that takes its own defaults."""
    theory, learner = predicted_settings(card), simulated_settings(card, monkeypatch)
    common = theory.keys() & learner.keys() - {"random_state"}
    named = inspect.signature(THEORIES[card.theory].predict).parameters
    assert common or not named.keys() & learner.keys(), (theory, learner)
    for name in common - {"init"}:
        is_text = isinstance(theory[name], str | bool | None)
        expected = theory[name] if is_text else pytest.approx(theory[name])
        assert json.loads(json.dumps(learner[name])) == expected, name
    for name in theory.get("init", {}):
        np.testing.assert_allclose(learner["init"][name], theory["init"][name])


def test_what_the_theory_of_a_step_assumes_besides(monkeypatch):
    """Half of the samples, no biases, neurons without partners of the other sign."""
    (card,) = (card for card in BOTH if card.name == "giant_step")
    learner = simulated_settings(card, monkeypatch)
    assert learner["batch_size"] is None  # half of the rows
    assert not learner["symmetric"]
    assert not learner["bias_scale"]
    assert not learner["fit_intercept"]
    theory = predicted_settings(card)
    assert theory["batch_ratio"] == ALPHA / 2


def test_a_theory_and_a_learner_of_one_name_have_the_same_defaults_where_there_is_no_card():
    names = {*THEORIES} & {*LEARNERS} - {card.name for card in BOTH}
    assert names == {"neural_lofi"}
    assert json.loads(gd.predict(DEEP, "neural_lofi", kappa=1.8).attrs["params"])["rounds"] == (
        LEARNERS["neural_lofi"]().rounds
    )


@pytest.mark.stat
@pytest.mark.parametrize(
    "card", each([card for card in BOTH if card.name not in ("dot_kernel_ridge", "layerwise")])
)
def test_a_simulation_finds_what_is_predicted(card):
    """At d = 200, with sixteen runs; errors that a run leaves beyond chance are below 1e-6.

    Would catch the defaults of the learners: 1.06 for 0.36 of a giant step, and SGD from a random
    start, 0.76 for 0.67.
    """
    theory, runs = pair(card.name)
    for quantity in ("test_mse", "cosine2"):
        if quantity not in theory or quantity not in runs:
            continue
        value, stated = theory[quantity].item(), theory[f"{quantity}_err"].item()
        error = runs[f"{quantity}_err"].item()
        chance = student_t.isf(5e-7, 15) * error
        assert abs(runs[quantity].item() - value) < chance + stated + 2 / 200, quantity
        assert chance < 0.15, quantity


def pair(name):
    sizes = {"alpha": ALPHA, "d": 200}
    theory = gd.predict(TARGET, name, **sizes)
    runs = gd.simulate(TARGET, name, **sizes, replicates=16, progress=False)
    return common_quantities(theory, "alpha"), common_quantities(runs, "alpha")


@pytest.mark.stat
def test_a_kernel_learns_the_degrees_that_are_predicted():
    """Its theory is that of the limit; at d = 100 and n = d^1.5 the linear part is known but for
    d/n of what is left, and 2 n/d^2 of the second degree is learned already."""
    target, d, n = gd.Target("z1 + He2(z2)"), 100, 1000
    limit = gd.predict(target, "dot_kernel_ridge", alpha=n / d, d=d).excess_mse.item()
    runs = gd.simulate(target, "dot_kernel_ridge", n=n, d=d, replicates=4, progress=False)
    assert limit == pytest.approx(2.0)
    assert runs.excess_mse.mean().item() == pytest.approx(limit, abs=(d / n + 2 * n / d**2) * limit)


def test_whatever_a_theory_takes_can_be_chosen_for_the_algorithm_of_its_name():
    """Would catch: a number of points or a student that the card does not know."""
    given = {"alpha": 3.0, "steps": 2, "step_size": 0.3, "points": 256, "seed": 1}
    student = gd.Student(width=1, activation="tanh(z)")
    whole = gd.predict("He3(z)", "reused_batch", student=student, **given)
    parts = gd.predict("He3(z)", "reused_batch", width=1, activation="tanh(z)", **given)
    assert whole.identical(parts)
    assert json.loads(whole.attrs["params"])["points"] == 256
    with pytest.raises(gd.BadData, match="'lazy' has no parameter 'widht'"):
        gd.predict(TARGET, "dot_kernel_ridge", alpha=2.0, d=50, widht=3)


def test_a_student_is_the_network_that_its_settings_say():
    given = {"alpha": 0.5, "d": 100, "points": 64, "step_size": 0.1}
    student = gd.Student(width=3, activation="tanh(z)")
    found = gd.predict("z1 + He2(z1)", "sgd", student=student, **given)
    same = gd.predict("z1 + He2(z1)", "sgd", width=3, activation="tanh(z)", **given)
    assert found.test_mse.values.tolist() == same.test_mse.values.tolist()
    with pytest.raises(gd.BadData, match=r"give width=\.\.\. in the student or alone"):
        gd.predict("z1", "sgd", student=student, width=3, **given)
    with pytest.raises(gd.BadData, match="starts from an overlap"):
        gd.predict("z1", "sgd", student=gd.Student(init="orthogonal"), **given)

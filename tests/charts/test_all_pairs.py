"""Every theory beside every simulation: a label is given only to what it names."""

import itertools
from functools import cache

import numpy as np
import pytest

import gradone as gd
from gradone.algorithms import all_cards
from gradone.base.errors import GradoneError
from gradone.charts import _curves

TARGET = "sign(z1)"
THEORIES = {
    "bayes_amp": {"alpha": [2.0, 4.0]},
    "bayes_optimal": {"alpha": [2.0, 4.0]},
    "random_features": {"alpha": [2.0, 4.0], "width_ratio": 2.0, "ridge": 0.1},
    "logistic": {"alpha": [2.0, 4.0], "width_ratio": 2.0, "loss": "logistic", "ridge": 0.1},
    "giant_step": {"alpha": [2.0, 4.0]},
    "gradient_spike": {"step_size": [1.0, 2.0], "batch_ratio": 2.0},
    "feature_spectrum": {"readout_ratio": 2.0, "batch_ratio": 2.0, "step_size": 1.0, "width": 64},
    "giant_steps": {"batch_ratio": [2.0, 4.0], "step_size": 1.0, "points": 64},
    "sgd_flow": {"time": [2.0, 4.0], "step_size": 0.1, "width": 2},
    "reused_batch": {"alpha": [2.0, 4.0], "step_size": 0.2, "steps": 2, "points": 64, "width": 2},
    "lazy": {"kappa": [1.5, 2.5]},
}


ENGINES = ("sgd engine", "reuse engine")


@cache
def theory_of(name):
    kind = "random_features" if name == "logistic" else name
    return gd.predict(TARGET, kind, on_failure="mark", **THEORIES[name])


@cache
def runs_of(name):
    common = {"d": 50, "replicates": 2, "progress": False, "width": 2}
    if name == "sgd engine":
        return gd.dynamics.sgd(TARGET, steps=100, record=4, **common)
    if name == "reuse engine":
        return gd.dynamics.reused_batch(TARGET, alpha=2.0, steps=2, step_size=0.2, **common)
    return gd.simulate(TARGET, name, d=16, alpha=[2.0, 4.0], replicates=2, progress=False)


def mean(values):
    return values.mean("replicate") if "replicate" in values.dims else values


def independent(data, label):
    """What a curve says of the quantity of a label, read without the package's own rules."""
    M, Q = data.get("overlap"), data.get("norm")
    if label.startswith("squared cosines"):
        if "cosine2" in data:
            return mean(data.cosine2)
        if Q is not None and "neuron2" in Q.dims:  # one direction: m (Q^-1) m
            inverse = np.linalg.inv(Q.transpose(..., "neuron", "neuron2").values)
            m = M.transpose(..., "neuron", "direction").values[..., 0]
            value = np.einsum("...i,...ij,...j->...", m, inverse, m)
            return mean(M.isel(neuron=0, direction=0).copy(data=value))
        return abs(M.isel(direction=0, direction2=0))
    if label.startswith("recovery"):
        if "recovery" in data:
            return mean(data.recovery)
        return mean(data.cosine2**0.5)
    words = {
        "test error": "test_mse", "error without noise": "excess_mse",
        "share of wrong labels": "zero_one_error", "training error": "train_mse",
        "training loss": "train_loss",
    }  # fmt: skip
    for start, name in words.items():
        if label.startswith(start):
            other = {"test_mse": "excess_mse", "excess_mse": "test_mse"}.get(name, name)
            return mean(data[name if name in data else other])  # no noise here
    return None


def mislabeled(chart, curves):
    """Series of a chart whose numbers are not those of its label."""
    wrong = []
    for face, data in curves.items():
        kind = ("points",) if face == "simulation" else ("line", "points")
        mine = [one for one in chart.series if one.x and face in one.name and one.kind in kind]
        assert mine, f"there is no {face} in the picture"
        expected = independent(data, chart.y.label)
        if expected is None:
            continue
        drawn = np.sort(np.concatenate([one.y for one in mine]))
        known = np.sort(expected.values.ravel())
        known = known[np.isfinite(known)]
        if drawn.shape != known.shape or not np.allclose(drawn, known, rtol=1e-5, atol=1e-6):
            wrong.append(face)
    return wrong


def pictures(theories, simulations):
    """Charts of all pairs in each quantity that they share, unless they share no axis."""
    for a, b in itertools.product(theories, simulations):
        theory, runs = theory_of(a), runs_of(b)
        for name in _curves.common_names(_curves.parts_of([theory, runs])):
            try:
                chart = gd.draw(theory, runs, y=name, x="step" if "step" in runs.dims else None)
            except GradoneError as error:
                if any(words in str(error) for words in ("axis", "draw along", "vary")):
                    continue
                raise
            yield f"{name} of {a} and {b}", chart, {"theory": theory, "simulation": runs}


def labels_are_true(theories, simulations):
    """How many pictures there are, if all of them show what they say."""
    count = 0
    for words, chart, curves in pictures(theories, simulations):
        assert mislabeled(chart, curves) == [], words
        assert any(np.isfinite(one.y).any() for one in chart.series if one.x), words
        count += 1
    return count


@pytest.mark.stat
def test_a_label_is_given_only_to_what_it_names():
    some = ("bayes_amp", "random_features", "sgd_flow", "gradient_spike", "lazy")
    assert labels_are_true(some, ("spectral_directions", "random_features", "sgd engine")) > 5


@pytest.mark.slow
def test_a_label_is_given_only_to_what_it_names_in_all_pairs():
    learners = {card.learner for card in all_cards() if card.learner}
    assert labels_are_true(THEORIES, [*sorted(learners), *ENGINES]) > 80


@pytest.mark.stat
def test_a_planted_swap_of_two_quantities_is_noticed(monkeypatch):
    """A chart that read another quantity of one curve than its label says would be found."""
    true = _curves.read
    swapped = {"test_mse": "zero_one_error", "zero_one_error": "test_mse"}

    def lying(data, name):
        found = true(data, name)
        is_run = data.attrs["source"].startswith("simulation")
        if not is_run or name not in swapped or found is None:
            return found
        return found._replace(value=true(data, swapped[name]).value)

    monkeypatch.setattr(_curves, "read", lying)
    found = [
        mislabeled(chart, curves)
        for words, chart, curves in pictures(["bayes_amp"], ["bayes_amp", "random_features"])
        if words.startswith(tuple(swapped))
    ]
    assert len(found) >= 3
    assert all(wrong == ["simulation"] for wrong in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", THEORIES)
def test_every_theory_has_a_picture(name):
    chart = gd.charts.draw_first(theory_of(name))
    assert any(one.kind in ("line", "points") and np.isfinite(one.y).any() for one in chart.series)

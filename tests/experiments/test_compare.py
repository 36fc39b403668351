"""``gd.compare``: theory and simulation on one axis, absences and failures told."""

import json

import numpy as np
import pytest
import xarray as xr

import gradone as gd
from gradone.algorithms import ALGORITHMS, Run
from gradone.base.children import Outcome
from gradone.base.curves import check_curve, curve
from gradone.base.replicates import mean_over_replicates
from gradone.experiments import entrants
from gradone.experiments._common_quantities import common_quantities
from gradone.experiments.compare import gathered, outcome_text
from gradone.experiments.entrants import Field, line_up
from gradone.experiments.places import coarse_to_fine, default_places, known_places


@pytest.mark.parametrize("text", ["sin(z)", "sin(z2)", "tanh(z1 - z2)", "z1*z2"])
def test_a_giant_step_has_the_network_of_its_theory_where_there_is_one(text):
    """In whatever variable a function of one direction is typed."""
    target, place = gd.Target(text), np.array([1.0])
    field = line_up(target, ["giant_step"], d=50, grid=place, points=place)
    is_solved = not field.absent
    settings = ALGORITHMS["giant_step"]().learner_arguments(Run(target, "alpha", place, d=50))
    assert (settings.get("readout") == "ones") == is_solved == (text != "z1*z2")


def test_an_engine_that_runs_once_is_asked_about_all_places():
    """Would catch: the places wrapped in a list of their own, so that no run of SGD is drawn."""
    places = np.array([1.0, 2.0, 4.0])
    field = line_up(gd.Target("tanh(z)"), ["sgd"], d=32, grid=places, points=places)
    (task,) = (one for one in field.tasks if one.name == "simulation:sgd")
    ((function, arguments),) = task.pieces
    assert function(**arguments).alpha.values.tolist() == places.tolist()


@pytest.mark.stat
def test_sources_that_do_not_apply_fail_or_are_late_are_told_apart():
    names = ["random_features", "dot_kernel_ridge", "layerwise", "spectral_directions"]
    found = gd.compare(
        "sin(z)",
        [*names, "random_features_classifier"],
        d=40,
        alpha=[1.0, 3.0],
        replicates=2,
        budget=120,
        progress=False,
    )
    check_curve(found)
    assert found.source.values.tolist() == [
        "theory:random_features",
        "simulation:random_features",
        "simulation:dot_kernel_ridge",
        "simulation:layerwise",
        "simulation:spectral_directions",
    ]
    assert set(found.outcome.values) == {"done"}
    absent = json.loads(found.attrs["not_covered"])
    reason = "it covers hierarchical targets"
    assert absent["theory:layerwise"].startswith(reason)
    assert absent["theory:dot_kernel_ridge"] == "its axis is log n / log d"
    assert absent["simulation:random_features_classifier"] == "it needs labels of two values"
    # The numbers are those of the verbs, with the parameters that the docstring states.
    alone = gd.predict(
        "sin(z)", "random_features", alpha=[1, 3], width_ratio=2.0, ridge=1.0, activation="relu(z)"
    )
    theory = found.test_mse.sel(source="theory:random_features")
    np.testing.assert_array_equal(theory.values, alone.test_mse.values.ravel())
    runs = gd.simulate(
        "sin(z)",
        "random_features",
        d=40,
        alpha=[1, 3],
        replicates=2,
        width=80,
        ridge=1.0,
        test_samples=16384,
    )
    measured = found.test_mse.sel(source="simulation:random_features")
    np.testing.assert_allclose(measured.values, runs.test_mse.mean("replicate").values.ravel())
    assert found.test_mse.sel(source="simulation:spectral_directions").isnull().all()
    assert gd.draw("error-vs-alpha", found).series


def test_outcomes_of_every_kind_become_one_curve():
    """Would catch: a failure that is stored as a number; a source that vanishes without a word."""

    def at(alpha):
        dims = ("alpha",)
        one = curve(
            {"test_mse": (dims, [alpha]), "test_mse_err": (dims, [0.0])},
            {"alpha": [alpha]},
            source="theory:a",
            target="z1",
        )
        return one

    outcomes = {
        "theory:a": Outcome(answers={1: at(2.0), 0: at(1.0)}, unfinished={2}),
        "theory:c": Outcome(failures={0: "it broke"}),
        "theory:e": Outcome(unfinished={0}),
    }
    field = Field("alpha", (), {"theory:f": "no"}, np.array([1.0, 2.0, 3.0]))
    found = gathered(outcomes, field, gd.Target("z1"), params={}, seed=0)
    ends = dict(zip(found.source.values.tolist(), found.outcome.values.tolist(), strict=True))
    assert ends == {
        "theory:a": "2 of 3 points within the budget",
        "theory:c": "failed: it broke",
        "theory:e": "not begun within the budget",
    }
    np.testing.assert_array_equal(found.test_mse.sel(source="theory:a"), [1.0, 2.0, np.nan])
    assert found.test_mse.sel(source=["theory:c", "theory:e"]).isnull().all()


def test_an_outcome_with_failures_among_answers_names_the_first():
    outcome = Outcome(answers={0: 1}, failures={1: "it broke"})
    assert outcome_text(outcome) == "1 failed: it broke"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kappa": [1.5]}, "Target targets are compared along alpha, not kappa"),
        ({"budget": 0}, "budget is a positive number of seconds"),
        ({"d": 1}, "d must be an integer >= 2"),
        ({"alpha": [-1.0]}, "alpha must be finite numbers > 0"),
        ({"algorithms": ["astrology"]}, "unknown algorithm 'astrology'"),
        ({"faces": "theories"}, "faces must be 'both', 'theory' or 'simulation'"),
    ],
)
def test_mistakes_are_told_before_any_work(arguments, message):
    with pytest.raises(gd.BadData, match=message):
        gd.compare("z1*z2", **arguments)


def test_pieces_of_a_curve_come_from_coarse_to_fine():
    order = coarse_to_fine(25)
    assert sorted(order) == list(range(25))
    assert set(order[:5]) == {0, 24, 12, 6, 18}
    assert coarse_to_fine(1) == [0]


def test_places_reach_beyond_the_last_threshold():
    for text, threshold in (("sign(z1*z2)", np.pi**2 / 4), ("z**2", 0.5), ("z", 0.0)):
        grid, points = default_places(gd.Target(text))
        assert grid[-1] >= max(2 * threshold, 4)
        assert set(points) <= set(grid)
    assert default_places(gd.zoo("sight"))[0][-1] > 2


def test_learners_that_must_know_the_link_are_not_tried_on_hierarchical_targets():
    places = np.array([1.2])
    field = line_up(gd.zoo("sight"), ["bayes_amp"], d=32, grid=places, points=places)
    assert "simulation:bayes_amp" in field.absent
    assert field.axis == "kappa"


# ---- common quantities


def test_cosines_of_neurons_are_those_of_their_span():
    """Against an explicit pair of subspaces; would catch Q left out, or M not squared."""
    rng = np.random.default_rng(3)
    W, W_star = rng.standard_normal((3, 9)), np.linalg.qr(rng.standard_normal((9, 2)))[0].T
    M, Q = W @ W_star.T, W @ W.T
    basis = np.linalg.qr(W.T)[0]
    expected = np.linalg.svd(W_star @ basis, compute_uv=False) ** 2
    values = {
        "overlap": (("alpha", "neuron", "direction"), M[None]),
        "norm": (("alpha", "neuron", "neuron2"), Q[None]),
    }
    values |= {f"{k}_err": (dims, np.zeros_like(v)) for k, (dims, v) in values.items()}
    coords = {"alpha": [1.0], "neuron": [1, 2, 3], "neuron2": [1, 2, 3], "direction": [1, 2]}
    made = curve(values, coords, source="theory:x", target="z1*z2")
    found = common_quantities(made, "alpha").cosine2
    np.testing.assert_allclose(found.values[0], expected, atol=1e-12)


def test_a_learner_without_directions_has_errors_only():
    runs = gd.simulate("z", "random_features", d=20, alpha=[2.0], replicates=2, width=10)
    assert set(common_quantities(runs, "alpha").data_vars) >= {"test_mse", "test_mse_err"}


def test_means_over_replicates_leave_gaps_out():
    dims = ("alpha", "replicate")
    runs = curve(
        {
            "q": (dims, [[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan], [5.0, np.nan, np.nan]]),
            "q_err": (dims, np.full((3, 3), 0.5)),
            "converged": (dims, [[True, True, False]] * 3),
            "status": (dims, [["", "", "lost"], ["a", "b", "c"], ["", "x", ""]]),
        },
        {"alpha": [1.0, 2.0, 3.0], "replicate": [0, 1, 2]},
        source="simulation:x",
        target="z",
    )
    mean = mean_over_replicates(runs)
    np.testing.assert_array_equal(mean.q, [2.0, np.nan, 5.0])
    np.testing.assert_array_equal(mean.q_err[:2], [1.0, np.nan])
    assert not mean.converged.any()
    assert mean.status.values.tolist() == ["lost", "a", "x"]
    xr.testing.assert_identical(mean_over_replicates(mean), mean)


def test_places_without_a_number_have_stand_ins(monkeypatch):
    """A theory that ends at n/d = 2: two of four places are beyond, and two others come instead."""

    class Card:
        at_once = False

        def predicted(self, places):
            values = [1.0 if x < 2 else np.nan for x in places]
            return xr.Dataset({"test_mse": ("alpha", values)}, {"alpha": places})

    monkeypatch.setattr(entrants, "as_card", lambda name: Card())
    monkeypatch.setattr(entrants, "Run", lambda target, axis, places, **given: list(places))
    monkeypatch.setattr(entrants, "common_quantities", lambda curve, axis: curve)
    asked = [0.5, 1.0, 3.0, 5.0]
    found = entrants.predicted(None, "short", d=100, axis="alpha", places=asked)
    known = known_places(found, "alpha")
    assert len(known) == 4
    assert known.max() >= 1.5  # how far the theory goes is seen
    assert set(asked) <= set(found.alpha.values)

"""Pictures that are taken away from the lab are those of the screen."""

import pytest

from gradone.algorithms import all_cards
from gradone.charts import Panels, check_color
from gradone.lab.pictures import run_chart
from gradone.lab.predictions import prediction_chart

SEEDS = (0, 1)


def events():
    """A race of two algorithms with two directions and two seeds, as the page hears of it."""
    for source in ("theory:bayes_amp", "simulation:bayes_amp", "simulation:spectral_directions"):
        for seed in SEEDS if source.startswith("simulation") else (0,):
            parts = [
                {"quantity": "cosine2", "name": f"z{k}", "x": [1.0, 2.0], "y": [0.1, 0.9 / k],
                 "error": [0.0, 0.0]}
                for k in (1, 2)
            ]  # fmt: skip
            label = source.partition(":")[2]
            yield {"kind": "curve", "source": source, "label": label, "seed": seed, "parts": parts}


def test_a_race_has_the_legend_of_the_page():
    chart = run_chart({"quantity": "cosine2", "axis": "alpha"}, events())
    assert len([one for one in chart.series if one.x]) == 2 + 2 * 2 * 2
    assert [one.name for one in chart.series if one.listed] == [
        "bayes_amp",
        "spectral_directions",
        r"$\cos^2\theta_{1}$",
        r"$\cos^2\theta_{2}$",
        "theory",
        "simulation",
    ]


def test_a_picture_shows_one_seed_or_their_mean():
    """Two seeds, 0.2 apart at the second place, where the spread is 0.2 / sqrt(2)."""
    told = [one for one in events() if one["seed"] == 0 or "spectral" in one["source"]]
    other = next(one for one in told if one["seed"] == 1)
    other["parts"][0]["y"] = [0.1, 0.7]
    given = {"quantity": "cosine2", "axis": "alpha"}
    mean = run_chart({**given, "shown": "mean"}, told)
    found = {one.name: one for one in mean.series if one.x}
    one = found["spectral_directions, z1, mean"]
    assert one.y == pytest.approx((0.1, 0.8))
    assert one.yerr == pytest.approx((0.0, 0.2 / 2**0.5))
    assert "bayes_amp, theory, z1" in found  # it knows of no seed
    single = run_chart({**given, "shown": "s1"}, told)
    assert [one.name for one in single.series if one.x and one.kind == "points"] == [
        "spectral_directions, z1, seed 1",
        "spectral_directions, z2, seed 1",
    ]


def test_points_of_a_picture_do_not_hide_its_line():
    """The page draws 32 of them, the first and the last one included; a table has them all."""
    y = [k / 200 for k in range(200)]
    part = {"quantity": "recovery", "name": "z1", "x": [*range(1, 201)], "y": y, "error": y}
    told = [
        {"kind": "curve", "source": source, "label": "sgd", "seed": 0, "parts": [part]}
        for source in ("theory:sgd", "simulation:sgd")
    ]
    given = {"quantity": "recovery", "axis": "time"}
    theory, found = (one for one in run_chart(given, told).series if one.x)
    assert (len(theory.x), len(found.x), found.x[0], found.x[-1]) == (200, 32, 1, 200)
    whole = run_chart(given, told, has_all_points=True)
    assert [len(one.x) for one in whole.series if one.x] == [200, 200]


def test_errors_and_cosines_never_share_an_axis():
    picture = prediction_chart("z1**2", None, "bayes_amp", 2.0, {}, 2)
    assert isinstance(picture, Panels)
    assert [chart.y.label for chart in picture.charts] == ["test error", "squared cosines"]
    only = prediction_chart("z1**2", None, "bayes_amp", 2.0, {}, 2, "cosine2")
    assert only.y.label == "squared cosines"


def test_gray_lines_are_taken_away_as_well():
    """The page draws them: where stages open, and the error of predicting the mean."""
    picture = prediction_chart("z1**2", None, "bayes_amp", 2.0, {}, 2)
    errors, cosines = ({one.name: one for one in chart.series} for chart in picture.charts)
    assert errors["a stage opens"].x == pytest.approx((0.5,), abs=1e-3)
    assert errors["predicting the mean"].y == pytest.approx((2.0,))
    assert "a stage opens" in cosines
    assert "predicting the mean" not in cosines


def test_algorithms_of_one_picture_differ_in_color():
    raced = [card for card in all_cards() if card.prominence != "asked"]
    colors = [check_color(card.color) for card in raced]
    assert len(set(colors)) == len(colors)

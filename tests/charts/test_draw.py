"""Charts by name: theory becomes lines, simulation points with standard errors."""

import numpy as np
import pytest
import xarray as xr

import gradone as gd
from gradone.base.curves import curve
from gradone.base.errors import BadData
from gradone.charts import CHARTS, average, color_of

ALPHA = [1.0, 2.0, 3.0]


def overlaps(source, values, **more):
    """Curve of overlap matrices: `values` over (alpha, [replicate,] direction)."""
    values = np.asarray(values, dtype=float)
    matrices = values[..., None] * np.eye(values.shape[-1])
    dims = ("alpha", "replicate", "direction", "direction2")[-matrices.ndim :]
    dims = ("alpha", *dims[1:]) if matrices.ndim == 3 else dims
    coords = {"alpha": ALPHA, "direction": [1, 2], "direction2": [1, 2]}
    if matrices.ndim == 4:
        coords["replicate"] = np.arange(values.shape[1])
    return curve(
        {"overlap": (dims, matrices), "overlap_err": (dims, 0 * matrices), **more},
        coords,
        source=source,
        target="z1*z2",
        params={"d": 50},
    )


THEORY = [[0.0, 0.0], [0.5, 0.25], [0.9, 0.8]]
RUNS = [[[0.0, 0.1], [0.2, 0.1]], [[0.4, 0.2], [0.6, 0.2]], [[0.9, 0.8], [0.9, 0.8]]]


def test_theory_is_lines_and_simulation_is_points_with_standard_errors():
    theory, runs = overlaps("theory:bayes_amp", THEORY), overlaps("simulation:bayes_amp", RUNS)
    chart = gd.draw("overlap-vs-alpha", theory, runs)
    assert [one.kind for one in chart.series] == ["line", "line", "points", "points"]
    assert chart.series[1].y == (0.0, 0.25, 0.8)
    first = chart.series[2]
    assert first.y == pytest.approx([0.1, 0.5, 0.9])
    assert first.yerr == pytest.approx([0.1, 0.1, 0.0])
    assert first.x == (1.0, 2.0, 3.0)
    assert "d=50" in first.name
    assert chart.title == "z1*z2"


def test_one_color_for_one_direction_of_one_algorithm():
    theory, runs = overlaps("theory:bayes_amp", THEORY), overlaps("simulation:bayes_amp", RUNS)
    colors = [one.style.color for one in gd.draw("overlap-vs-alpha", theory, runs).series]
    assert colors[:2] == colors[2:]
    assert colors[0] != colors[1]


def test_one_color_for_one_algorithm_among_several():
    curves = [overlaps(f"theory:{name}", THEORY) for name in ("bayes_amp", "giant_steps")]
    series = gd.draw("overlap-vs-alpha", *curves).series
    assert [one.style.color for one in series] == [
        color_of(name) for name in ("bayes_amp", "bayes_amp", "giant_steps", "giant_steps")
    ]
    assert series[0].style.dash != series[1].style.dash


def test_sources_of_one_dataset_are_drawn_apart():
    curves = [overlaps(f"theory:{name}", THEORY) for name in ("bayes_amp", "giant_steps")]
    joined = xr.concat([c.assign_coords(source=c.attrs["source"]) for c in curves], dim="source")
    assert len(gd.draw("overlap_vs_alpha", joined).series) == 4


def test_grids_of_different_sources_leave_no_gaps_in_lines():
    theory = overlaps("theory:bayes_amp", THEORY, converged=("alpha", np.full(3, True)))
    runs = overlaps("simulation:bayes_amp", RUNS).assign_coords(alpha=[1.5, 2.0, 2.5])
    sources = [curve.assign_coords(source=curve.attrs["source"]) for curve in (theory, runs)]
    joined = xr.concat(sources, dim="source", join="outer")
    series = gd.draw("overlap-vs-alpha", joined).series
    assert [one.x for one in series if one.kind == "line"] == [(1.0, 2.0, 3.0)] * 2
    assert [one.x for one in series if one.kind == "points"] == [(1.5, 2.0, 2.5)] * 2


def test_what_did_not_converge_is_not_drawn():
    good = np.array([True, False, True])
    theory = overlaps("theory:bayes_amp", THEORY, converged=("alpha", good))
    assert np.isnan(gd.draw("overlap-vs-alpha", theory).series[0].y).tolist() == [
        False,
        True,
        False,
    ]


def test_failed_runs_are_left_out_of_the_mean():
    runs = overlaps("simulation:bayes_amp", [[[0.2, 0.1], [np.nan, np.nan]]] * 3)
    mean, error = average(runs, "overlap")
    assert mean.values[:, 0, 0] == pytest.approx(0.2)
    assert (error.values[:, 0, 0] == 0.0).all()  # that of the one measurement


@pytest.mark.parametrize("name", list(CHARTS))
def test_every_chart_states_what_it_needs(name):
    kind = CHARTS[name]
    assert kind.y
    assert kind.x
    assert kind.caption.endswith(".")
    assert kind.__doc__


def test_real_curves_are_drawn():
    lazy = gd.predict("He2(z1) + He3(z1)", "lazy", kappa=[1.5, 2.5, 3.5])
    series = gd.draw("error-vs-kappa", lazy).series
    assert series[0].y[0] > series[0].y[1] > series[0].y[2]
    energy = gd.draw("hermite-energy", gd.analyze("He3(z1)").hermite_energy)
    assert energy.series[0].y[3] == pytest.approx(6.0)
    assert energy.x.ticks[-1][1].startswith("$>")


def test_time_is_drawn_on_a_logarithmic_axis_without_its_beginning():
    values = {"recovery": ("step", [0.1, 0.2, 0.9]), "recovery_err": ("step", [0.0] * 3)}
    run = curve(values, {"step": [0, 10, 100]}, source="simulation:sgd", target="He2(z)")
    chart = gd.draw("overlap-vs-time", run.assign_coords(time=("step", [0.0, 0.1, 1.0])))
    assert chart.x.scale == "log"
    assert np.isnan(chart.series[0].x).tolist() == [True, False, False]
    assert chart.series[0].x[1:] == (0.1, 1.0)


def test_the_staircase_stands_at_its_thresholds():
    values = {"dimension": ("step", [1.0, 3.0]), "dimension_err": ("step", [0.0, 0.0])}
    values |= {"threshold": ("step", [0.575, 2.467]), "threshold_err": ("step", [0.0, 0.0])}
    stages = curve(values, {"step": [1, 2]}, source="analysis:grand_staircase", target="x")
    stairs = gd.draw("staircase", stages).series[0]
    assert stairs.x[1:5] == (0.575, 0.575, 2.467, 2.467)
    assert stairs.y == (0, 0, 1, 1, 3, 3)


@pytest.mark.parametrize(
    ("name", "curves", "problem"),
    [
        ("overlap-vs-alfa", [overlaps("theory:a", THEORY)], "Did you mean 'overlap-vs-alpha'"),
        ("error-vs-alpha", [overlaps("theory:a", THEORY)], "has no test_mse or excess_mse"),
        ("error-vs-kappa", [overlaps("theory:a", THEORY)], "has no test_mse"),
        ("overlap-vs-time", [overlaps("theory:a", THEORY)], "no time or step to draw along"),
        ("overlap-vs-alpha", [], "at least one curve"),
        ("overlap-vs-alpha", [[1, 2]], "draws curves"),
    ],
)
def test_what_a_curve_lacks_is_named(name, curves, problem):
    with pytest.raises(BadData, match=problem):
        gd.draw(name, *curves)

"""One grammar of charts: one quantity that all curves have, along the dimension that varies."""

import json

import numpy as np
import pytest
import xarray as xr

import gradone as gd
from gradone.base.curves import curve
from gradone.base.errors import BadData
from gradone.charts import Chart, Panels, draw_first, load

A = [1.0, 2.0, 4.0]


def toy(source="theory:toy", dims=("alpha",), coords=None, params=None, **values):
    """Curve of given values; errors are a tenth of them."""
    coords = coords or {"alpha": A}
    inner = {"cosine2": ("direction2",), "recovery": ("direction",), "overlap": ("neuron",)}
    data = {}
    for name, value in values.items():
        value = np.asarray(value, float)
        own = (*dims, *inner.get(name, ()))[: value.ndim]
        data[name], data[f"{name}_err"] = (own, value), (own, abs(value) / 10)
    return curve(data, coords, source=source, target="z1", params=params or {})


def classifier(seed=0):
    rng = np.random.default_rng(seed)
    values = {"test_mse": 1.0, "excess_mse": 1.0, "zero_one_error": 0.2}
    runs = {name: level + 0.01 * rng.random((3, 2)) for name, level in values.items()}
    coords = {"alpha": A, "replicate": [0, 1]}
    return toy("simulation:toy", ("alpha", "replicate"), coords, **runs)


# ---- one quantity


def test_a_share_of_wrong_labels_is_never_called_a_squared_error():
    """W1: theory of a logistic loss has no squared error, the simulation has both."""
    theory, runs = toy(zero_one_error=[0.33, 0.28, 0.25], train_loss=A), classifier()
    chart = gd.draw("error-vs-alpha", theory, runs)
    assert chart.y.label == r"share of wrong labels $\mathbb{P}(\hat y\neq y)$"
    line, points = chart.series
    assert line.y == (0.33, 0.28, 0.25)
    assert points.y == pytest.approx(runs.zero_one_error.mean("replicate").values.ravel())
    with pytest.raises(BadData, match="has no test_mse.*All of them have zero_one_error"):
        gd.draw(theory, runs, y="test_mse")


@pytest.mark.parametrize("name", ["spectral_directions", "sir", "giant_step"])
def test_arbitrary_signs_do_not_cancel_in_a_mean(name):
    """W2: cosines of either sign average to nothing; their squares do not."""
    theory = gd.predict("sign(z)", "bayes_amp", alpha=[2.0, 8.0])
    runs = gd.simulate("sign(z)", name, d=40, alpha=[2.0, 8.0], replicates=4)
    chart = gd.draw("overlap-vs-alpha", theory, runs)
    assert chart.y.label == r"squared cosines $\cos^2\theta = \lambda(M)$"
    line, points = chart.series
    assert line.y == pytest.approx(theory.overlap.values.ravel(), abs=1e-9)
    assert points.y == pytest.approx(runs.cosine2.mean("replicate").values.ravel())


def test_a_signed_overlap_is_drawn_without_its_sign():
    runs = toy("simulation:toy", ("alpha", "replicate"), {"alpha": A, "replicate": [0, 1]},
               alignment=[[0.5, -0.7]] * 3)  # fmt: skip
    chart = gd.draw(runs, y="alignment")
    assert chart.series[0].y == pytest.approx([0.6] * 3)
    assert gd.draw(toy(alignment=[0.1, -0.2, 0.3]), y="alignment").series[0].y == (0.1, -0.2, 0.3)


def test_theory_and_simulation_of_reused_samples_show_the_same_recovery():
    """W3: the theory had signed overlaps alone, which stood against the unsigned recovery."""
    settings = {"width": 2, "activation": "relu(z)", "step_size": 0.3, "steps": 3}
    start = {"M": [[0.1], [-0.1]], "Q": [[1.0, 0.0], [0.0, 1.0]]}
    theory = gd.predict("He2(z)", "reused_batch", alpha=4.0, points=1024, init=start, **settings)
    runs = gd.dynamics.reused_batch("He2(z)", d=4000, alpha=4.0, replicates=4, init=start,
                                    progress=False, **settings)  # fmt: skip
    chart = gd.draw("overlap-vs-time", theory, runs, log="")
    assert chart.y.label == "recovery $R$"
    line, points = chart.series
    M, Q = theory.overlap.values[0], theory.norm.values[0]
    expected = np.sqrt([np.linalg.lstsq(Q[t], M[t])[0][:, 0] @ M[t][:, 0] for t in range(4)])
    assert line.y == pytest.approx(expected, abs=2e-3)
    assert points.y == pytest.approx(line.y, abs=0.05)
    assert min(points.y) > 0.1


def test_quantities_of_one_name_and_two_meanings_are_refused():
    theory, runs = toy(test_mse=[3.0, 2.0, 1.0]), classifier()
    names = {"test_mse": "zero_one_error", "zero_one_error": "test_mse"}
    names |= {f"{a}_err": f"{b}_err" for a, b in names.items()}
    with pytest.raises(BadData, match=r"has test_mse = .*mathbb\{E\}.*has test_mse = .*neq"):
        gd.draw(theory, runs.rename(names), y="test_mse")
    assert gd.draw(theory, runs, y="test_mse").series


def test_one_error_follows_from_the_other_by_the_noise():
    theory = toy(excess_mse=[3.0, 2.0, 1.0], params={"noise": 0.5})
    chart = gd.draw(theory, toy("theory:other", test_mse=[1.0, 1.0, 1.0]))
    assert chart.series[0].y == (3.5, 2.5, 1.5)
    assert chart.y.label.endswith(r"= \mathbb{E}(g-\hat f)^2+\Delta$")
    with pytest.raises(BadData, match="no quantity in common"):
        gd.draw(toy(excess_mse=[3.0, 2.0, 1.0]), toy("theory:other", test_mse=[1.0, 1.0, 1.0]))


def test_latent_noise_is_no_part_of_the_stated_noise():
    hidden = toy(test_mse=A, params={"noise": 0.0}).assign_attrs(target="sign(z + xi)")
    with pytest.raises(BadData, match="has no excess_mse"):
        gd.draw(hidden, y="excess_mse")


def test_squared_cosines_of_neurons_come_from_overlaps_and_norms():
    M, Q = np.array([[0.6, 0.0], [0.0, 0.3]]), np.diag([1.0, 0.25])
    dims = {"neuron": [1, 2], "neuron2": [1, 2], "direction": [1, 2], "time": [1.0, 2.0]}
    values = {"overlap": (("time", "neuron", "direction"), [M, M])}
    values |= {"norm": (("time", "neuron", "neuron2"), [Q, Q])}
    values |= {f"{k}_err": (d, np.zeros_like(v)) for k, (d, v) in values.items()}
    neurons = curve(values, dims, source="theory:sgd_flow", target="z1*z2")
    assert [one.y for one in gd.draw(neurons, y="cosine2").series] == [
        pytest.approx((0.36, 0.36)),
        pytest.approx((0.36, 0.36)),
    ]
    assert gd.draw(neurons, y="recovery").series[1].y == pytest.approx((0.6, 0.6))


# ---- one axis


def test_the_axis_is_the_dimension_that_varies():
    """W4: double descent along the width had the axis n/d and an empty picture."""
    widths = np.linspace(0.3, 6.0, 12)
    found = gd.predict("z+He3(z)", "random_features", alpha=3.0, width_ratio=widths, ridge=1e-3)
    chart = gd.draw(found)
    assert chart.x.label == "neurons per dimension $p/d$"
    assert [one.x for one in chart.series] == [tuple(widths)]
    assert gd.draw("error-vs-width", found).x.scale == "log"
    with pytest.raises(BadData, match="no alpha .*varies with width_ratio.*x='width_ratio'"):
        gd.draw("error-vs-alpha", found)


@pytest.mark.parametrize(
    ("target", "name", "settings"),
    [
        ("z+He3(z)", "one_step", {"batch_ratio": 2.0, "readout_ratio": 2.0, "variant": "spiked",
                                  "activation": "tanh(z)", "readout": "ones"}),
        ("z1+z1*z2", "giant_steps", {"batch_ratio": 4.0, "points": 64, "readout": "signs"}),
    ],
)  # fmt: skip
def test_step_sizes_are_an_axis(target, name, settings):
    """W4: along the step size the pictures were empty."""
    found = gd.predict(target, name, step_size=[0.5, 1.0, 2.0], **settings)
    chart = draw_first(found)
    assert chart.x.label == r"step size $\eta$"
    assert all(one.x == (0.5, 1.0, 2.0) for one in chart.series)
    assert chart.series[-1].y == pytest.approx(found.test_mse.values.reshape(3, -1)[:, -1])


def test_two_dimensions_that_vary_are_asked_about():
    grid = toy(dims=("alpha", "ridge"), coords={"alpha": A, "ridge": [0.1, 1.0]},
               test_mse=np.arange(6.0).reshape(3, 2))  # fmt: skip
    with pytest.raises(BadData, match=r"alpha \(3 values\) and ridge \(2 values\) vary: .*x='rid"):
        gd.draw(grid)
    along = gd.draw(grid, x="ridge")
    assert [one.x for one in along.series] == [(0.1, 1.0)] * 3
    assert gd.draw(grid, color="ridge") == gd.draw(grid, x="alpha")
    panels = gd.draw(grid, panel="ridge")
    assert isinstance(panels, Panels)
    assert [chart.title for chart in panels.charts] == [r"$\lambda=0.1$", r"$\lambda=1$"]
    assert panels.charts[1].series[0].y == (1.0, 3.0, 5.0)
    with pytest.raises(BadData, match="'direction' does not tell curves apart.*source"):
        gd.draw(toy(test_mse=A), color="direction")


def test_samples_are_counted_in_three_ways():
    runs = toy("simulation:toy", ("n",), {"n": [100, 200, 400]}, {"d": 100}, test_mse=A)
    chart = gd.draw(toy(test_mse=A), runs)
    assert chart.series[0].x == chart.series[1].x == (1.0, 2.0, 4.0)
    kappa = gd.draw(runs, x="kappa").series[0].x
    assert kappa == pytest.approx(np.log([100, 200, 400]) / np.log(100))
    with pytest.raises(BadData, match="share no axis"):
        gd.draw(toy(test_mse=A), toy("theory:b", ("time",), {"time": A}, test_mse=A))


def test_a_curve_of_one_point_is_a_mark():
    chart = gd.draw(toy(coords={"alpha": [2.0]}, test_mse=[0.5]))
    assert chart.series[0].kind == "points"
    assert chart.series[0].style.hollow


def test_nothing_is_no_picture():
    with pytest.raises(BadData, match="no numbers"):
        gd.draw(toy(test_mse=[np.nan] * 3))
    lost = toy(test_mse=A).assign(converged=("alpha", [False] * 3))
    with pytest.raises(BadData, match="nothing can be drawn"):
        gd.draw(lost)
    with pytest.raises(BadData, match="is positive"):
        gd.draw(toy(test_mse=[0.0, 0.0, 0.0]), log="y")


# ---- spectra, gradients, depth


def test_spectra_before_and_after_the_step_are_two_lines():
    found = gd.predict("z+He3(z)", "feature_spectrum", readout_ratio=2.0, batch_ratio=2.0,
                       step_size=1.0)  # fmt: skip
    chart = gd.draw("spectrum", found)
    assert [len(one.x) for one in chart.series] == [300, 300]
    assert chart.series[1].y == pytest.approx(found.density.isel(readout_ratio=0, step=1).values)


def test_networks_of_one_curve_are_named():
    found = gd.predict(gd.zoo("sight"), "depth", kappa=np.linspace(1, 3, 9))
    chart = gd.draw(found)
    assert chart.y.label == r"error without noise $\mathbb{E}(g-\hat f)^2$"
    assert [one.name for one in chart.series][1] == "theory, two layers"
    assert chart.series[1].y == pytest.approx(found.two_layer_excess_mse.values)


def test_thresholds_that_a_theory_states_are_marked():
    found = gd.predict("He3(z)", "gradient_spike", step_size=[0.1, 40.0], batch_ratio=2.0)
    edges = found.threshold.values
    marks = [one for one in gd.draw(found, y="singular_value").series if one.kind == "vline"]
    inside = (edges > 0.1) & (edges < 60)
    assert [one.x for one in marks] == ([tuple(np.unique(edges.round(9)))] if inside.all() else [])
    given = gd.draw(toy(test_mse=A), thresholds={r"$\alpha_c$": 2.5}).series[0]
    assert (given.kind, given.name, given.x) == ("vline", r"$\alpha_c$", (2.5,))


# ---- looks


def test_curves_that_coincide_are_both_seen():
    chart = gd.draw(toy(test_mse=A), toy("theory:other", test_mse=np.add(A, 1e-3)))
    under, over = chart.series
    assert under.style.width > 2 * over.style.width
    assert under.style.opacity < over.style.opacity
    apart = gd.draw(toy(test_mse=A), toy("theory:other", test_mse=np.add(A, 1.0)))
    assert apart.series[0].style.width == apart.series[1].style.width


def test_algorithms_never_share_a_color():
    curves = [
        toy(f"theory:a{i}", test_mse=np.add(A, i)).assign_attrs(label=f"a{i}", color="blue")
        for i in range(4)
    ]
    colors = [one.style.color for one in gd.draw(*curves).series]
    assert len(set(colors)) == 4


def test_many_curves_have_a_legend_by_factors():
    values = np.arange(9.0).reshape(3, 3)
    coords = {"alpha": A, "direction2": [1, 2, 3]}
    curves = [
        toy(f"{face}:{name}", coords=coords, cosine2=values / 10).assign_attrs(label=name)
        for face in ("theory", "simulation")
        for name in ("a", "b", "c")
    ]
    chart = gd.draw(*curves)
    assert sum(one.kind in ("line", "points") and bool(one.x) for one in chart.series) == 18
    listed = [one.name for one in chart.series if one.listed]
    assert listed == ["a", "b", "c", "$k=1$", "$k=2$", "$k=3$", "theory", "simulation"]
    shown = [trace for trace in chart.plotly_dict()["data"] if trace["showlegend"]]
    assert len(shown) == 8
    assert len(chart.figure().axes[0].get_legend().get_texts()) == 8
    assert load(json.loads(json.dumps(chart.to_dict()))) == chart


def test_curves_of_one_algorithm_say_how_they_differ():
    curves = [toy(test_mse=np.multiply(A, r), params={"ridge": r, "d": 9}) for r in (0.5, 2.0)]
    names = [one.name for one in gd.draw(*curves).series]
    assert names == [r"toy, $\lambda=0.5$, theory", r"toy, $\lambda=2$, theory"]


def test_titles_are_formulas():
    found = gd.predict("He2(z)", "lazy", kappa=[1.5, 2.5])
    assert gd.draw(found).title == r"$\mathrm{He}_{2}\left(z_{1}\right)$"
    assert len(gd.draw(found.assign_attrs(latex="", target="z1" * 80)).title) < 60


# ---- datasets of one's own


def test_a_dataset_of_ones_own_is_drawn_with_notes_on_what_was_filled_in():
    mine = xr.Dataset({"loss": (("beta", "replicate"), [[1.0, 3.0], [2.0, 4.0]])},
                      {"beta": ("beta", [0.1, 0.2], {"long_name": "temperature"})})  # fmt: skip
    chart = gd.draw(mine)
    assert isinstance(chart, Chart)
    assert (chart.x.label, chart.y.label) == ("temperature", "loss")
    assert chart.series[0].kind == "points"
    assert chart.series[0].y == (2.0, 3.0)
    assert chart.series[0].yerr == (1.0, 1.0)
    assert "names no source; it is drawn as a simulation" in chart.caption
    plain = xr.Dataset({"test_mse": ("alpha", [1.0, 2.0])})
    drawn = gd.draw(plain, toy(coords={"alpha": [0.0, 1.0]}, test_mse=[1.0, 2.0]))
    assert drawn.series[0].y == (1.0, 2.0)
    assert "'alpha' has no values and is numbered." in drawn.origin["notes"]


def test_several_quantities_are_several_panels():
    found = gd.predict("z**2", "bayes_amp", alpha=[0.4, 2.0])
    panels = gd.draw(found, y=["test_mse", "cosine2"])
    assert [chart.y.label.partition(" $")[0] for chart in panels.charts] == [
        "test error",
        "squared cosines",
    ]


def test_a_few_points_of_an_unfinished_curve_are_not_joined():
    joined = toy(test_mse=A).expand_dims(source=["theory:toy"])
    ends = joined.assign_coords(outcome=("source", ["3 of 25 points within the budget"]))
    assert gd.draw(ends).series[0].kind == "points"
    assert gd.draw(joined.assign_coords(outcome=("source", ["done"]))).series[0].kind == "line"


def test_a_simulation_has_the_color_of_the_line_that_it_belongs_to():
    """Would catch: a color of its own that the legend does not name."""
    theory = toy(test_mse=A).expand_dims(step=[0, 1, 2, 3, 4]).transpose("alpha", "step")
    runs = toy(source="simulation:toy", test_mse=A)
    runs.attrs["params"] = json.dumps({"steps": 4})
    chart = gd.draw(theory, runs)
    colors = {one.name: one.style.color for one in chart.series if one.x}
    last = next(color for name, color in colors.items() if name.endswith("$t=4$"))
    assert colors["simulation"] == last
    named = {one.style.color for one in chart.series if not one.x}
    assert last in named
    assert "" not in [one.name for one in chart.series]
    runs.attrs["params"] = "{}"  # nobody knows which line: the color of the word in the legend
    unknown = gd.draw(theory, runs)
    assert len({one.style.color for one in unknown.series if one.name == "simulation"}) == 1
    assert "" not in [one.name for one in unknown.series]

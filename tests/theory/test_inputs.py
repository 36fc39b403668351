"""Theories on inputs of other laws: reference values, reductions and refusals."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.base.errors import BadData, OutOfRegime
from gradone.theory import THEORIES
from gradone.theory._registry import obstacle

CUBE = [1.51485, 0.85652, 0.29279, 0.04653, 0.010133]
LAW = gd.inputs.gaussian(power_law=0.5, d=200)
MIXTURE = gd.inputs.mixture([0.5, 0.5], [[1.0], [-1.0]])


def standardized(text_of, eigenvalues):
    """Target of projections that are divided by their standard deviations."""
    return gd.Target(text_of(*(f"/{math.sqrt(value)!r}" for value in eigenvalues)))


@pytest.mark.parametrize(
    ("inputs", "directions", "times", "errors", "tolerance"),
    [
        ("rademacher", "axes", [1, 2, 3, 5, 8], CUBE, 1e-4),
        (MIXTURE, "axes", [1, 2, 3, 5], [2.01888, 0.90748, 0.58239, 0.38354], 3e-4),
        (LAW, [2, 30], [1, 2, 3, 5, 8], [0.81027, 0.49091, 0.34589, 0.22580, 0.17581], 2e-4),
    ],
)  # fmt: skip
def test_mean_field_has_the_reference_values(inputs, directions, times, errors, tolerance):
    target = gd.Target("z1 + z1*z2")
    if inputs is LAW:
        values = LAW.covariance(200)[directions]
        assert np.allclose(values, [4.299, 1.337], atol=5e-4)
        target = standardized(lambda a, b: f"z1{a} + z1*z2{a}{b}", values)
    found = gd.predict(target, "mean_field", time=times, inputs=inputs, directions=directions)
    assert np.allclose(found.test_mse, errors, rtol=tolerance)
    assert (found.test_mse_err < 1e-3 * found.test_mse).all()


def test_an_identity_covariance_gives_the_flow_of_the_default():
    """H = 0 and equal eigenvalues: s = e^H, but for the r of d directions of the target."""
    d = 500
    spectrum = gd.inputs.gaussian(spectrum=np.ones(d))
    wanted = gd.predict("z1 + z1*z2", "mean_field", time=[1.0, 3.0])
    found = gd.predict(
        "z1 + z1*z2", "mean_field", time=[1.0, 3.0], inputs=spectrum, directions="axes"
    )
    assert np.allclose(found.test_mse, wanted.test_mse, rtol=4 / d)
    assert np.allclose(found.orthogonal_norm, wanted.orthogonal_norm, rtol=4 / d)


def test_the_flow_under_a_covariance_does_not_depend_on_the_coordinates():
    """A matrix, turned with its directions, against its spectrum; eigenvectors are one case."""
    rng = np.random.default_rng(1)
    spectrum = np.array([3.0, 2.0, 1.5, 1.0, 0.5, 0.4, 0.3, 0.2])
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    turned = gd.inputs.gaussian(covariance=(turn * spectrum) @ turn.T)
    plain = gd.inputs.gaussian(spectrum=spectrum)
    for rows in (np.linalg.qr(rng.standard_normal((8, 2)))[0].T, np.eye(8)[[1, 4]]):
        one = gd.predict("z1 + z1*z2", "mean_field", time=2.0, inputs=plain, directions=rows)
        other = gd.predict(
            "z1 + z1*z2", "mean_field", time=2.0, inputs=turned, directions=rows @ turn.T
        )
        assert np.allclose(one.test_mse, other.test_mse, rtol=1e-6)
        assert np.allclose(one.overlap, other.overlap, atol=1e-6)
    same = gd.predict("z1 + z1*z2", "mean_field", time=2.0, inputs=plain, directions=[1, 4])
    assert np.allclose(same.overlap, one.overlap, atol=1e-9)


def test_random_directions_under_a_covariance_are_the_mean_of_draws():
    """Draws at d = 200 scatter by about d**-0.5 around the limit."""
    rng = np.random.default_rng(2)
    run = {"time": 3.0, "inputs": LAW}
    limit = gd.predict("z1 + z1*z2", "mean_field", **run)
    draws = []
    for _ in range(5):
        rows = np.linalg.qr(rng.standard_normal((200, 2)))[0].T
        draws.append(gd.predict("z1 + z1*z2", "mean_field", directions=rows, **run).overlap.values)
    found, error = np.mean(draws, axis=0), np.std(draws, axis=0, ddof=1) / math.sqrt(5)
    assert (np.abs(found - limit.overlap.values) < 5 * error + 3 / 200).all()


@pytest.mark.parametrize(
    ("target", "inputs", "directions", "error"),
    [
        ("He3(z)", "uniform", "axes", 1.279),
        ("He3(z)", "uniform", "random", 7.63),
        ("sign(z)", "uniform", "axes", 0.575),
        ("sign(z)", "rademacher", "axes", 0.343),
        ("sign(z)", "laplace", "random", 0.680),
    ],
)
def test_random_features_know_the_linear_weight_of_the_law(target, inputs, directions, error):
    settings = {"alpha": 3.0, "width_ratio": 1.0, "ridge": 0.1, "activation": "tanh(z)"}
    law = {"inputs": inputs, "directions": directions}
    found = gd.predict(target, "random_features", **settings, **law)
    assert abs(found.test_mse.item() - error) < 0.6 * 10 ** -len(str(error).partition(".")[2])
    with pytest.raises(OutOfRegime, match="loss='square'"):
        gd.predict("sign(z)", "random_features", **settings, loss="logistic",
                   inputs="uniform", directions="axes")  # fmt: skip


def test_whitened_inputs_have_the_reduced_target():
    law = gd.inputs.gaussian(spectrum=[4.0, 1.0, 1.0])
    linear = gd.Target("z", noise=0.5)
    found = gd.predict(linear, "bayes_amp", alpha=2.0, inputs=law, directions="axes")
    same = gd.predict(gd.Target("2*z", noise=0.5), "bayes_amp", alpha=2.0)
    assert found.test_mse.item() == pytest.approx(same.test_mse.item(), rel=1e-9)
    assert "whitened inputs" in found.attrs["notes"]
    assert gd.analyze(gd.Target("z").on(law, "axes")).target == gd.Target("2*z")
    # A random direction sees the mean eigenvalue.
    twin = gd.Target("z1*z2").on(gd.inputs.gaussian(spectrum=np.full(9, 4.0))).reduced
    assert twin == gd.Target("4*z1*z2")
    with pytest.raises(BadData, match=r"gaussian\(power_law=1.0, d=...\)"):
        gd.predict("z", "bayes_amp", alpha=2.0, inputs="gaussian(power_law=1.0)", directions="axes")


SITUATIONS = {
    "covariance": gd.Target("z").on(LAW),
    "delocalized": gd.Target("z").on("laplace"),
    "axes": gd.Target("z").on("laplace", "axes"),
    "mixture": gd.Target("z").on(MIXTURE, "axes"),
    "rows": gd.Target("z").on(gd.inputs.rows(np.random.default_rng(0).standard_normal((30, 3)))),
}
COVERED = {
    "bayes_amp": {"covariance", "delocalized"},
    "bayes_optimal": {"covariance", "delocalized"},
    "mean_field": {"covariance", "delocalized", "axes", "mixture"},
    "random_features": {"covariance", "delocalized", "axes"},
    "sgd_flow": {"delocalized"},
    "one_step": {"delocalized"},
    "giant_steps": {"delocalized"},
}


@pytest.mark.parametrize("name", sorted(COVERED))
def test_each_theory_states_which_laws_it_covers(name):
    theory = THEORIES[name]()
    assert {key for key, on in SITUATIONS.items() if not obstacle(theory, on)} == COVERED[name]


def test_refusals_say_why_and_what_to_do():
    words = (
        "'bayes_amp' does not cover these inputs: the directions are coordinates of Rademacher "
        "inputs, where z is not Gaussian. Use directions='random', or simulate."
    )
    with pytest.raises(OutOfRegime) as error:
        gd.predict("z1*z2", "bayes_amp", alpha=2.0, inputs="rademacher", directions="axes")
    assert str(error.value).startswith(words)
    with pytest.raises(BadData, match="depends on the eigenvalues, and these on d"):
        gd.predict("z1*z2", "mean_field", time=1.0, inputs="gaussian(power_law=0.5)")
    with pytest.raises(OutOfRegime, match="the law of z depends on the rows that are given"):
        gd.predict("z", "bayes_amp", alpha=2.0, inputs="laplace", directions=[[0.6, 0.8]])
    with pytest.raises(OutOfRegime, match="leave d, weight_decay"):
        gd.predict("z1*z2", "mean_field", time=1.0, inputs=LAW, directions="axes", weight_decay=0.1)
    table = gd.inputs.rows(np.random.default_rng(0).standard_normal((200, 5)))
    run = {"alpha": 2.0, "width_ratio": 2.0, "ridge": 1.0, "inputs": table}
    with pytest.raises(OutOfRegime, match="are no principal axes"):
        gd.predict("z", "random_features", **run)
    with pytest.raises(OutOfRegime, match="width_ratio is at most 10 here, got inf"):
        gd.predict("z", "random_features", **run | {"width_ratio": math.inf}, directions="axes")
    with pytest.raises(OutOfRegime, match="no target of Gaussian inputs stands for this one"):
        gd.plan("z1*z2", inputs="rademacher", directions="axes")


def test_curves_of_random_directions_are_those_of_gaussian_inputs():
    linear = gd.Target("z", noise=0.5)
    found = gd.predict(linear, "bayes_amp", alpha=2.0, inputs="laplace")
    assert found.test_mse.item() == gd.predict(linear, "bayes_amp", alpha=2.0).test_mse.item()
    assert "Gaussian projections up to corrections of order 1/d" in found.attrs["notes"]
    assert found.attrs["target"] == "z on laplace inputs"
    rows = [gd.plan("z1", inputs=law).to_dict()["rows"] for law in (None, "laplace")]
    assert rows[0] == rows[1]


WARNING = "For the leap of order 3 these are not smaller than the gradient at a random start"


def test_escapes_by_large_leaps_come_with_a_warning():
    """Product laws alone: the gradient has a term kappa_4 w_i^3 of order 1/d, as m^2 is."""
    flow = {"time": [1.0], "d": 1000.0}
    for law, target, is_warned in [
        ("laplace", "He3(z)", True),
        ("laplace", "He2(z)", False),
        ("sphere", "He3(z)", False),
    ]:
        found = gd.predict(target, "mean_field", inputs=law, particles=16, **flow)
        assert "order 1/d" in found.attrs["notes"]
        assert (WARNING in found.attrs["notes"]) == is_warned
        plan = gd.plan(target, inputs=law)
        assert (WARNING in " ".join(plan.summary().split())) == is_warned
        assert (WARNING in plan.to_dict()["about_inputs"]) == is_warned
        analysis = gd.analyze(gd.Target(target).on(law))
        assert (WARNING in analysis.notes["inputs"]) == is_warned
        assert (WARNING in " ".join(analysis.summary().split())) == is_warned
    # A theory that does not speak of a start has nothing to warn of.
    features = gd.predict(
        "He3(z)", "random_features", alpha=1.0, width_ratio=1.0, ridge=0.1, inputs="laplace"
    )
    assert WARNING not in features.attrs["notes"]
    assert "whitened" in gd.analyze(gd.Target("z").on(LAW)).notes["inputs"]
    assert "inputs" not in gd.analyze("He3(z)").notes

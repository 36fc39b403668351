"""The verb ``predict`` on small theories whose curves are known by heart."""

import numpy as np
import pytest

import gradone as gd
from gradone.base.curves import curve
from gradone.theory._registry import THEORIES, Theory


class Shrinkage(Theory):
    """Overlap alpha/(1 + alpha) of one direction; solvers stop early above alpha = 10."""

    answers = ("cosine2",)
    axes = ("alpha",)
    regime = "n, d -> infinity with alpha = n/d fixed; r = 1"
    cites = ("ba2022onestep",)

    def obstacle(self, target):
        return None if target.r == 1 else f"the target has r = {target.r} directions, not one"

    def predict(self, target, *, alpha, scale=1.0):
        if alpha.max() > 1000:
            raise gd.NotConverged(f"no integral is fine enough at alpha = {alpha.max():g}")
        converged = alpha <= 10
        values = {
            "cosine2": ("alpha", scale * alpha / (1 + alpha)),
            "cosine2_err": ("alpha", np.zeros_like(alpha)),
            "limit": ((), 1.0),
            "limit_err": ((), 0.0),
            "converged": ("alpha", converged),
            "status": ("alpha", np.where(converged, "", "residual 0.1 > tol 1e-08")),
        }
        return curve(values, {"alpha": alpha}, source=f"theory:{self.name}", target=target.text)


class Anything(Shrinkage):
    """The same for every number of directions."""

    def obstacle(self, target):
        return None


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """A table that holds these theories alone."""
    monkeypatch.setattr(THEORIES, "_things", {})
    monkeypatch.setattr(THEORIES, "_scanned", True)
    THEORIES.add("shrinkage")(Shrinkage)
    THEORIES.add("anything")(Anything)


def test_a_text_and_a_target_give_the_same_curve():
    from_text = gd.predict("tanh(z)", "shrinkage", alpha=[1, 3])
    assert from_text.identical(gd.predict(gd.Target("tanh(z)"), "shrinkage", alpha=[1.0, 3.0]))
    np.testing.assert_array_equal(from_text.cosine2, [0.5, 0.75])
    assert from_text.attrs["source"] == "theory:shrinkage"


def test_one_number_is_an_axis_of_one_point():
    found = gd.predict("z", "shrinkage", alpha=1)
    assert dict(found.sizes) == {"alpha": 1}
    assert found.cosine2.item() == 0.5


def test_axes_keep_the_order_in_which_they_are_given():
    found = gd.predict("z", "shrinkage", alpha=np.array([3.0, 1.0], dtype=np.float32))
    np.testing.assert_array_equal(found.alpha, [3.0, 1.0])


def test_a_target_outside_the_regime_names_the_theories_that_do():
    with pytest.raises(gd.OutOfRegime) as caught:
        gd.predict("z1*z2", "shrinkage", alpha=1)
    assert str(caught.value) == (
        "'shrinkage' does not cover this target: the target has r = 2 directions, not one. "
        "Theories that do: 'anything'."
    )


def test_a_hierarchical_target_is_outside_the_regime_unless_a_theory_says_otherwise():
    sight = gd.Sight(outer="tanh(h)", inner="He2(z)", exponent=0.5)
    with pytest.raises(
        gd.OutOfRegime, match="few directions, and this is a hierarchical target. No other"
    ):
        gd.predict(sight, "anything", alpha=1)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"alfa": 1.0}, "no parameter 'alfa'. Allowed: alpha, scale. Did you mean 'alpha'?"),
        ({}, "'shrinkage' needs alpha; write"),
        ({"alpha": 0.0}, "got 0.0 at position 0"),
        ({"alpha": [1.0, -2.0]}, "got -2.0 at position 1"),
        ({"alpha": [1.0, np.nan]}, "got nan"),
        ({"alpha": np.inf}, "got inf"),
        ({"alpha": []}, "a number > 0 or a sequence of them, got \\[\\]"),
        ({"alpha": "2"}, "a number > 0 or a sequence of them, got '2'"),
        ({"alpha": True}, "got True"),
        ({"alpha": None}, "got None"),
        ({"alpha": 1j}, "got 1j"),
        ({"alpha": [[1.0], [2.0]]}, "a sequence of them"),
        ({"alpha": [[1.0], 2.0]}, "a sequence of them"),
        ({"alpha": [1.0, 1.0]}, "must not hold a number twice"),
    ],
)
def test_bad_axes_are_refused(axes, message):
    with pytest.raises(gd.BadData, match=message.replace("?", r"\?")):
        gd.predict("z", "shrinkage", **axes)


def test_an_unknown_theory_gets_a_suggestion():
    with pytest.raises(gd.BadData, match="Did you mean 'shrinkage'"):
        gd.predict("z", "shrinkag", alpha=1)


def test_something_that_is_no_target_is_refused():
    with pytest.raises(gd.BadData, match="a target or its text is needed, got int"):
        gd.predict(3, "shrinkage", alpha=1)


def test_points_that_did_not_converge_raise_and_keep_the_last_iterate():
    with pytest.raises(gd.NotConverged) as caught:
        gd.predict("z", "shrinkage", alpha=[1, 19, 99])
    assert "2 of 3 points, first at alpha = 19.0: residual 0.1 > tol" in str(caught.value)
    np.testing.assert_array_equal(caught.value.last.cosine2, [0.5, 0.95, 0.99])


def test_points_that_did_not_converge_are_marked():
    found = gd.predict("z", "shrinkage", alpha=[19, 1], on_failure="mark")
    np.testing.assert_array_equal(found.cosine2, [np.nan, 0.5])
    np.testing.assert_array_equal(found.cosine2_err, [np.nan, 0.0])
    np.testing.assert_array_equal(found.converged, [False, True])
    assert found.status.values.tolist() == ["residual 0.1 > tol 1e-08", ""]
    assert np.isnan(found.limit)  # it belongs to all points


def test_a_theory_that_gives_up_loses_that_point_alone():
    with pytest.raises(gd.NotConverged, match="no integral is fine enough at alpha = 5000"):
        gd.predict("z", "shrinkage", alpha=[5000, 1, 19])
    found = gd.predict("z", "shrinkage", alpha=[5000, 1, 19], on_failure="mark")
    np.testing.assert_array_equal(found.alpha, [5000, 1, 19])
    np.testing.assert_array_equal(found.cosine2, [np.nan, 0.5, np.nan])
    np.testing.assert_array_equal(found.converged, [False, True, False])
    assert found.status.values.tolist()[0] == "no integral is fine enough at alpha = 5000"
    assert found.attrs == gd.predict("z", "shrinkage", alpha=1).attrs


def test_a_theory_that_gives_up_everywhere_leaves_its_reasons():
    found = gd.predict("z", "shrinkage", alpha=[5000, 6000], on_failure="mark")
    np.testing.assert_array_equal(found.cosine2, [np.nan, np.nan])
    np.testing.assert_array_equal(found.converged, [False, False])
    assert found.status.values[1] == "no integral is fine enough at alpha = 6000"
    assert found.attrs["source"] == "theory:shrinkage"


def test_on_failure_is_one_of_two_words():
    with pytest.raises(gd.BadData, match="on_failure must be 'raise' or 'mark', got 'skip'"):
        gd.predict("z", "shrinkage", alpha=1, on_failure="skip")


def test_a_curve_with_defects_does_not_leave(monkeypatch):
    sound = Shrinkage.predict

    def broken(self, target, *, alpha):
        return sound(self, target, alpha=alpha).drop_vars("cosine2_err")

    monkeypatch.setattr(Shrinkage, "predict", broken)
    with pytest.raises(gd.BadData, match="'cosine2' has no 'cosine2_err'"):
        gd.predict("z", "shrinkage", alpha=1)

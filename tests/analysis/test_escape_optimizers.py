"""The linear stage under other losses and optimizers: reference values, and what cannot help."""

import math

import pytest

import gradone as gd
from gradone.analysis import escape

C0 = math.sqrt(2 / math.pi)
RULES = {
    "correlation": {"loss": "correlation"},
    "normalized": {"loss": "correlation", "optimizer": "normalized"},
    "sign": {"loss": "correlation", "optimizer": "sign"},
    "clip 1": {"loss": "correlation", "clip_norm": 1.0},
    "clip 2": {"loss": "correlation", "clip_norm": 2.0},
    "huber": {"loss": "huber"},
    "absolute": {"loss": "absolute"},
}
# Rule -> K, V for He2; v, V for He3; K, V for He4: quadrature of an independent program.
VALUES = {
    "correlation": ((0.79788, 1.0), (0.0, 3.0), (0.0, 12.0)),
    "normalized": ((0.38613, 0.5), (-0.22091, 0.5), (-0.26126, 0.5)),
    "sign": ((C0 * 0.38613, 0.5), (-C0 * 0.22091, 0.5), (-C0 * 0.26126, 0.5)),
    "clip 1": (None, (-0.20895, 0.38933), (-0.25771, 0.44232)),
    "clip 2": (None, (-0.32395, 1.01082), (-0.49259, 1.52209)),
    "huber": ((0.30347, 0.39794), (-0.16420, 0.37738), (-0.19550, 0.42652)),
    "absolute": ((0.30829, 0.5), (-0.17830, 0.5), (-0.20349, 0.5)),
}


@pytest.mark.parametrize("rule", VALUES)
def test_coefficients(rule):
    for k, values in zip((2, 3, 4), VALUES[rule], strict=True):
        if values is None:
            continue
        stage = escape(f"He{k}(z)", "relu(z)", **RULES[rule])
        lead = stage.v[0] if k == 3 else stage.K[0, 0]
        assert lead == pytest.approx(values[0], abs=1.1e-5)
        assert stage.variance.value == pytest.approx(values[1], abs=1.1e-5)


def test_normalized_drift_on_he3_in_closed_form():
    def density(x):
        return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    stage = escape("He3(z)", "relu(z)", loss="correlation", optimizer="normalized")
    assert stage.v[0] == pytest.approx(2 * density(math.sqrt(3)) - density(0), abs=1e-12)


@pytest.mark.parametrize(
    ("text", "K", "V", "v"),
    [("sign(He2(z))", 0.19306, 0.17863, 0.0), ("sign(He3(z))", None, 0.14669, -0.11046)],
)
def test_logistic_loss_has_half_the_growth_of_the_correlation_loss(text, K, V, v):
    stage = escape(text, "relu(z)", loss="logistic")
    other = escape(text, "relu(z)", loss="correlation")
    assert stage.v[0] == pytest.approx(other.v[0] / 2, abs=1e-9)
    assert stage.K[0, 0] == pytest.approx(other.K[0, 0] / 2, abs=1e-9)
    assert (stage.v[0], stage.variance.value) == pytest.approx((v, V), abs=1.1e-5)
    if K is not None:
        assert stage.K[0, 0] == pytest.approx(K, abs=1.1e-5)


@pytest.mark.parametrize("optimizer", ["normalized", "muon", "sign"])
def test_no_optimizer_sees_a_parity(optimizer):
    """Labels of two values: every function of them is affine."""
    stage = escape("sign(z1*z2*z3)", "relu(z)", loss="correlation", optimizer=optimizer)
    assert stage.scaling == "stuck"
    assert abs(stage.v).max() < 1e-9
    assert abs(stage.K).max() < 1e-9


def test_no_rule_lowers_the_exponent_of_binary_labels():
    """The sign of a product has exponent 2; a sign of tanh' > 0 does not even see the field."""
    exponents = [
        escape("sign(z1*z2)", "tanh(z + 0.3)", **kind).exponent
        for kind in (
            {"loss": "correlation"},
            {"loss": "logistic"},
            {"loss": "smooth_hinge"},
            {"loss": "correlation", "clip_norm": 0.5},
            {"loss": "correlation", "optimizer": "normalized"},
        )
    ]
    assert exponents == [2, 2, 2, 2, None]


def test_refusals():
    with pytest.raises(gd.OutOfRegime, match="'adam' remembers earlier gradients"):
        escape("He2(z)", optimizer="adam")
    with pytest.raises(gd.BadData, match="for rule='plain' only"):
        escape("He2(z)", optimizer="normalized", rule="k_steps", inner_step=0.1)
    with pytest.raises(gd.BadData, match="needs labels -1 and 1"):
        escape("He2(z)", loss="logistic")

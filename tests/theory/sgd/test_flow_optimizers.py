"""The flow under other losses and optimizers: reference values of an independent program."""

import numpy as np
import pytest

import gradone as gd

TWO = {"M": [[0.1, 0.2], [-0.2, 0.1]]}
LINE = "z + He2(z)/2"
# Arguments, tolerance, and at each time M (by rows), then Q11, Q12, Q22 or Q.
CASES = {
    "normalized": (
        "He3(z)",
        {"time": [5, 10, 20], "step_size": 0.3, "loss": "correlation", "optimizer": "normalized",
         "geometry": "projected"},
        0.002, [[-0.3030, 1], [-0.5265, 1], [-0.7508, 1]],
    ),
    "clip": (
        "He3(z)", {"time": [5, 10, 20], "step_size": 0.3, "clip_norm": 1.0},
        0.003, [[-0.2331, 0.7370], [-0.4382, 0.6641], [-0.7607, 0.8306]],
    ),
    "huber": (
        "He3(z)", {"time": [5, 10], "step_size": 1.0, "loss": "huber"},
        0.003, [[-0.5998, 1.1811], [-0.9024, 1.4421]],
    ),
    "momentum": (
        LINE, {"time": [2, 5], "step_size": 0.05, "momentum": 0.9, "init": {"M": [[0.1]]}},
        0.004, [[0.5576, 0.9802], [1.0156, 1.3536]],
    ),
    "schedule": (
        "sign(tanh(1.5*z) - erf(xi/sqrt(2)))",
        {"time": [2, 5], "step_size": 2.0, "readout": 2.0, "loss": "logistic",
         "schedule": "1/(1 + 5*t)", "init": {"M": [[0.1]]}},
        0.002, [[0.6272, 1.5082], [0.8314, 1.4247]],
    ),
    "logistic": (
        "sign(tanh(z1 + He2(z2)/2) - erf(xi/sqrt(2)))",
        {"time": [2], "width": 2, "activation": "tanh(z)", "step_size": 2.0,
         "readout": [1.5, -1.5], "loss": "logistic", "init": TWO},
        0.006, [[0.6312, 0.2101, -0.7358, 0.1592, 2.354, -0.355, 2.434]],
    ),
    "sign, one sample": (
        gd.Target(LINE, noise=0.25),
        {"time": [1, 3, 6], "step_size": 0.4, "optimizer": "sign", "init": {"M": [[0.2]]}},
        0.003, [[0.2751, 0.9413], [0.4203, 0.8776], [0.6223, 0.8969]],
    ),
    "sign, He3": (
        "He3(z)",
        {"time": [2, 5, 10], "step_size": 0.4, "optimizer": "sign", "loss": "correlation",
         "geometry": "projected"},
        0.002, [[-0.1346, 1], [-0.3080, 1], [-0.5136, 1]],
    ),
    "muon, batch 2": (
        "z1 + z1*z2",
        {"time": [2], "width": 2, "activation": "tanh(z + 0.3)", "step_size": 0.5,
         "optimizer": "muon", "batch_size": 2, "init": TWO},
        0.01, [[0.4245, 0.1253, -0.5237, 0.0691, 1.2955, 0.4784, 1.3551]],
    ),
    "sign, batch 4": (
        "z1 + z1*z2",
        {"time": [1], "width": 2, "activation": "tanh(z + 0.3)", "step_size": 0.4,
         "optimizer": "sign", "batch_size": 4, "init": TWO},
        0.004, [[0.3382, 0.1727, -0.4388, 0.1048, 0.943, 0.170, 0.987]],
    ),
}  # fmt: skip
LONG = ("muon, batch 2", "sign, batch 4")


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.slow] * (c in LONG)) for c in CASES]
)
def test_reference_values(case):
    target, arguments, tolerance, values = CASES[case]
    flow = gd.predict(target, "sgd_flow", **{"width": 1} | arguments)
    p = flow.sizes["neuron"]
    for i, expected in enumerate(values):
        Q = flow.norm.values[i][np.triu_indices(p)]
        found = np.concatenate([flow.overlap.values[i].ravel(), Q])
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    assert float(flow.overlap_err.max()) < 2 * tolerance


def test_momentum_divides_the_step():
    slow = gd.predict(LINE, "sgd_flow", time=[3], width=1, step_size=0.05, momentum=0.9)
    fast = gd.predict(LINE, "sgd_flow", time=[3], width=1, step_size=0.5)
    np.testing.assert_allclose(slow.overlap, fast.overlap, atol=1e-8)


def test_what_the_flow_does_not_cover():
    for settings, message in [
        ({"optimizer": "adam"}, "'adam' remembers the sizes of earlier gradients"),
        ({"optimizer": "muon", "momentum": 0.5}, "ties several updates together"),
        ({"optimizer": "muon", "orthogonalize": "newton_schulz"}, "orthogonalize='polar'"),
    ]:
        with pytest.raises(gd.OutOfRegime, match=message):
            gd.predict("He2(z)", "sgd_flow", time=[1], width=1, step_size=0.1, **settings)
    with pytest.raises(gd.BadData, match="needs labels -1 and 1"):
        gd.predict("He2(z)", "sgd_flow", time=[1], width=1, step_size=0.1, loss="logistic")

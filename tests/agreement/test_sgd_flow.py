r"""Simulated SGD at d = 100 000 against its flow; they share the reading of the arguments alone.

The threshold is the Student-t quantile at two-sided 1e-6 for the number of replicates, plus the
error of the flow, plus :math:`1/\sqrt d`: overlaps fluctuate on that scale, and what they do to the
mean is smaller by another such factor as long as nothing is unstable.
"""

import numpy as np
import pytest
from scipy.stats import t as student_t

import gradone as gd

D, REPLICATES = 100_000, 12
START = {"M": [[0.3, 0.1], [-0.2, 0.4], [0.1, 0.2]]}
MIXED = gd.Target("He2(z1)/2 + tanh(z1*z2)", noise=0.1)
CASES = {
    "plain": {},
    "extragradient, batch": {"rule": "extragradient", "inner_step_size": 0.3, "batch_size": 3},
    "k_steps, spherical, readout": {
        "rule": "k_steps", "inner_steps": 3, "geometry": "spherical", "train_readout": 0.2,
    },
    "sam, bias, correlation": {
        "rule": "sam", "inner_step_size": 0.3, "loss": "correlation", "train_bias": 0.2,
        "activation": "tanh(z)",
    },
    "sam_normalized, projected": {
        "rule": "sam_normalized", "radius": 2.0, "geometry": "projected",
    },
    "look_ahead, decay": {
        "rule": "look_ahead", "inner_step_size": 0.2, "interpolation": 0.6, "weight_decay": 0.5,
    },
}  # fmt: skip
POWERS = {"step_size": 1, "inner_step_size": 1, "train_readout": 1, "train_bias": 1, "radius": 0.5}


def compare(target, time, **arguments):
    """Means of the runs against the flow, by quantity, at the last time."""
    flow = gd.predict(target, "sgd_flow", time=time, **arguments)
    steps = round(time * D)
    scaled = {k: v * D ** -POWERS[k] if k in POWERS else v for k, v in arguments.items()}
    runs = gd.dynamics.sgd(
        target, d=D, steps=steps, record=[steps], replicates=REPLICATES, progress=False, **scaled
    )
    for name in ("overlap", "norm", "readout", "bias"):
        if name not in flow:
            continue
        values, expected = runs[name].values[:, 0], flow[name].values[0]
        spread = values.std(axis=0, ddof=1) / np.sqrt(REPLICATES)
        allowed = student_t.isf(5e-7, REPLICATES - 1) * spread
        allowed = allowed + flow[f"{name}_err"].values[0] + 1 / np.sqrt(D)
        gap = np.abs(values.mean(axis=0) - expected)
        print(f"{name}: gap {gap.max():.1e}, allowed {allowed.max():.1e}")
        assert (gap < allowed).all(), (name, values.mean(axis=0), expected)
        assert allowed.max() < 0.05  # a test that could not fail would be none


@pytest.mark.stat
def test_extragradient_on_he3():
    """Would catch: the term of second order left out (the norm is 0.11 lower), rho = 0 (no
    overlap, 0.11 less), |x|^2 forgotten in the inner step."""
    compare(
        "He3(z)", 10.0, width=1, step_size=0.1, rule="extragradient", inner_step_size=0.1,
        init="orthogonal",
    )  # fmt: skip


@pytest.mark.stat
def test_committee_of_erf():
    target = gd.Target("(erf(z1/sqrt(2)) + erf(z2/sqrt(2)))/2", noise=0.01)
    compare(
        target, 5.0, width=2, activation="erf(z/sqrt(2))", step_size=2.0, readout=[0.5, 0.5],
        init={"M": [[0.2, 0.1], [-0.1, 0.3]]},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_rule_and_geometry(name):
    """Would catch: rho not divided by the batch (Q off by 0.13), no decay (0.40), no sphere (0.05),
    the norm over one neuron instead of all in normalized SAM (a factor sqrt(3): 0.2)."""
    compare(MIXED, 3.0, **({"width": 3, "step_size": 0.2, "init": START} | CASES[name]))


@pytest.mark.slow
def test_staircase_with_four_neurons():
    """Seven variables and a discontinuous target: the errors of the flow are largest here."""
    start = np.zeros((4, 3))
    start[:, 0] = 0.3, -0.3, 0.2, 0.1
    compare(
        "He2(z1) + sign(z1*z2*z3)", 20.0, width=4, activation="tanh(z + 0.2)", step_size=0.1,
        loss="correlation", geometry="spherical", init={"M": start},
    )  # fmt: skip

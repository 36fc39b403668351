"""One giant step and a ridge readout, simulated with plain matrix products at small d."""

import numpy as np
import pytest

import gradone as gd
from gradone.theory.giant._one_step_model import OneStep

from .direct_step import giant_step, ridge_errors, sphere_rows, spiked_rows, within

D = 200
NEURONS = {"activation": "tanh(z)", "readout": "ones"}


def values_of(rng, readout, width):
    return rng.permutation(
        np.concatenate([np.full(round(share * width), u) for u, share in readout.items()])
    )


@pytest.mark.stat
@pytest.mark.parametrize(
    ("activation", "noise", "readout_ratio", "setting"),
    [
        ("tanh(z)", 0.0, 1.6, {"batch_ratio": 20.0, "step_size": 3.0, "ridge": 0.1}),
        ("tanh(z)", 0.1, 2.0,
         {"batch_ratio": 4.0, "step_size": 2.0, "ridge": 0.5, "width_ratio": 1.5}),
        ("relu(z)", 0.0, 2.0, {"batch_ratio": 10.0, "step_size": 3.0, "ridge": 0.1}),
        ("tanh(z)", 0.0, 1.5,
         {"batch_ratio": 8.0, "step_size": 2.0, "ridge": 0.05, "readout": {0.5: 0.5, 2.0: 0.5}}),
    ],
)  # fmt: skip
def test_real_gradient_steps_follow_the_theory(rng, activation, noise, readout_ratio, setting):
    """Would catch: gamma = 1 (by 17 standard errors in the first case)."""
    p = round(setting.get("width_ratio", 1.0) * D)
    theory = gd.predict(
        gd.Target("sin(z)", noise=noise), "one_step", readout_ratio=readout_ratio,
        activation=activation, width=p,
        **({"readout": "ones"} | setting),
    )  # fmt: skip
    runs = []
    for _ in range(16):
        u = values_of(rng, setting.get("readout", {1.0: 1.0}), p)
        W = giant_step(
            rng, sphere_rows(rng, p, D), u, activation, np.sin, noise,
            round(setting["batch_ratio"] * D), setting["step_size"],
        )  # fmt: skip
        runs.append(
            ridge_errors(
                rng, W, activation, np.sin, noise, round(readout_ratio * D), setting["ridge"]
            )
        )
    test, train = np.array(runs).T
    # Relative corrections of order 1/d, with a factor that grows to 5 next to strong spikes. The
    # known bias is not taken off: it was read off simulations like these.
    assert within(test, theory.excess_mse.item(), 5 / D * theory.excess_mse.item())
    assert within(train, theory.train_mse.item(), 5 / D * theory.train_mse.item())


@pytest.mark.stat
def test_a_step_of_a_tenth_is_small_beside_a_width_of_200(rng):
    """At infinite width every small step frees the spike; at width p only those above 1/sqrt(p).

    Would catch: the jump at step zero taken for that of networks.
    """
    readout_ratio, setting = 2.0, {"batch_ratio": 4.0, "step_size": [0.0, 1e-6, 0.1], "ridge": 0.1}
    wide = gd.predict(
        "sin(z)", "one_step", readout_ratio=readout_ratio, **setting, **NEURONS
    ).test_mse.values[0]
    assert wide[0] / wide[1] > 1.9
    assert wide[1] == pytest.approx(wide[2], rel=0.01)
    theory = gd.predict(
        "sin(z)", "one_step", readout_ratio=readout_ratio, width=D, **setting, **NEURONS
    ).test_mse.values[0]
    assert theory[1] == pytest.approx(theory[0], rel=1e-6)
    for step, expected in zip((0.0, 0.1), theory[[0, 2]], strict=True):
        runs = []
        for _ in range(16):
            W = giant_step(
                rng, sphere_rows(rng, D, D), np.ones(D), "tanh(z)", np.sin, 0.0, 4 * D, step
            )
            runs.append(
                ridge_errors(rng, W, "tanh(z)", np.sin, 0.0, round(readout_ratio * D), 0.1)[0]
            )
        assert within(runs, expected, 5 / D * expected)
        assert not within(runs, wide[2], 5 / D * expected)


@pytest.mark.stat
def test_spiked_features_of_three_blocks_follow_the_theory(rng):
    """The second layer takes the values -1, 1 and 2; the finite width counts."""
    readout, link = {-1.0: 0.3, 1.0: 0.3, 2.0: 0.4}, "z + (z**2 - 1)*exp(-z**2/4)/2"
    setting = {"batch_ratio": 3.0, "step_size": 1.5}
    p = round(0.8 * D)
    theory = gd.predict(
        link, "one_step", readout_ratio=2.0, width_ratio=0.8, ridge=0.1, variant="spiked",
        readout=readout,
        width=p, **setting, activation="tanh(z)",
    )  # fmt: skip
    model = OneStep(
        gd.Target(link), gd.Activation("tanh(z)"), readout=readout, variant="spiked", **setting
    )
    scale = dict(zip(model.layer.values, model.spike.scales, strict=True))
    runs = []
    for _ in range(32):
        u = values_of(rng, readout, p)
        scales = np.array([scale[abs(value)] for value in u])
        W, _ = spiked_rows(
            rng, sphere_rows(rng, p, D), u, model.spike.strength, model.spike.alignment, scales
        )
        runs.append(
            ridge_errors(
                rng,
                W,
                "tanh(z)",
                lambda z: z + (z * z - 1) * np.exp(-z * z / 4) / 2,
                0.0,
                2 * D,
                0.1,
            )  # fmt: skip
        )
    test, train = np.array(runs).T
    assert within(test, theory.test_mse.item(), 5 / D * theory.test_mse.item())
    assert within(train, theory.train_mse.item(), 5 / D * theory.train_mse.item())


@pytest.mark.stat
def test_rescaled_rows_change_the_risk_as_predicted(rng):
    """Rows stretched by 1 + B <w, v>/c, paired with the same features unstretched.

    Would catch: B of the other sign, B left out.
    """
    setting = {"batch_ratio": 20.0, "step_size": 3.0}
    where = {"readout_ratio": 1.6, "width_ratio": 1.0, "ridge": 0.1, "width": float(D)}
    spiked, gradient = (
        OneStep(
            gd.Target("sin(z)"), gd.Activation("tanh(z)"), readout="ones", variant=variant,
            **setting,
        )
        for variant in ("spiked", "gradient")
    )  # fmt: skip
    spike, scale = gradient.spike, gradient.spike.scales.item()
    u, gaps = np.ones(D), []
    for i in range(48):
        W, v = spiked_rows(
            rng, sphere_rows(rng, D, D), u, spike.strength, spike.alignment, scale * u
        )
        bulk = W - spike.strength * np.outer(u, v)
        stretched = W + bulk * (spike.stretch * (bulk @ v) / scale)[:, None]
        pair = [
            ridge_errors(np.random.default_rng(i), rows, "tanh(z)", np.sin, 0.0, 320, 0.1)
            for rows in (stretched, W)
        ]
        gaps.append(np.subtract(*pair))
    test, train = np.array(gaps).T
    before, after = spiked.point(**where), gradient.point(**where)
    assert after.test - before.test == pytest.approx(-0.00109, abs=2e-5)
    # The next order in d^(-1/2) is even in B: a tenth of the effect at d = 200.
    assert within(test, after.test - before.test, 2e-4)
    assert within(train, after.train - before.train, 2e-4)

"""The spike of the first gradient: reference values, limits, and direct simulation."""

import math

import numpy as np
import pytest

import gradone as gd

from .direct_step import giant_step, sphere_rows, within

QUADRATIC = gd.Target("z + (z**2 - 1)/2", noise=0.25)
SMALL = {"activation": "tanh(z)", "readout": "ones", "scaling": "small"}


@pytest.mark.parametrize(
    ("step", "batch", "width", "singular_value", "cosine2"),
    [
        (2.0, 2.0, 1.5, 2.4076, 0.3137),
        (3.0, 1.0, 0.6, 3.2782, 0.3252),
        (3.0, 4.0, 2.0, 2.8579, 0.5236),
        (1.0, 2.0, 1.5, 2.2247, 0.0),
    ],
)
def test_reference_values_of_small_steps(step, batch, width, singular_value, cosine2):
    found = gd.predict(
        QUADRATIC, "gradient_spike", step_size=step, batch_ratio=batch, width_ratio=width, **SMALL
    )
    assert found.singular_value.item() == pytest.approx(singular_value, abs=1e-4)
    assert found.cosine2.item() == pytest.approx(cosine2, abs=1e-4)


def test_reference_value_of_the_strength():
    found = gd.predict(QUADRATIC, "gradient_spike", step_size=2.0, batch_ratio=2.0, **SMALL)
    assert found.spike.item() == pytest.approx(1.6588, abs=1e-4)


def test_reference_value_of_a_giant_step():
    found = gd.predict(
        "sin(z)",
        "gradient_spike",
        step_size=3.0,
        batch_ratio=4.0,
        scaling="giant",
        activation="tanh(z)",
        readout="ones",
    )
    assert found.singular_value.item() == pytest.approx(1.2536, abs=1e-4)
    assert found.cosine2.item() == pytest.approx(0.7729, abs=1e-4)


def test_the_spike_leaves_the_bulk_continuously_at_the_threshold():
    """Would catch: psi_2 in place of its square root in the threshold."""
    where = {"batch_ratio": 2.0, "width_ratio": 1.7}
    threshold = gd.predict(
        QUADRATIC, "gradient_spike", step_size=1.0, **where, **SMALL
    ).threshold.item()
    steps = threshold * np.array([1 - 1e-6, 1 + 1e-6])
    found = gd.predict(QUADRATIC, "gradient_spike", step_size=steps, **where, **SMALL)
    assert found.cosine2_gradient.values[0] == 0
    assert 0 < found.cosine2_gradient.values[1] < 1e-4
    assert 0 < found.cosine2_neurons.values[1] < 1e-4
    assert np.ptp(found.singular_value.values) < 1e-9
    assert found.threshold.values == pytest.approx(threshold)


def test_an_infinite_batch_gives_the_direction_itself():
    found = gd.predict("tanh(z)", "gradient_spike", step_size=50.0, batch_ratio=math.inf, **SMALL)
    assert found.alignment.item() == 1
    assert found.cosine2.item() == pytest.approx(found.cosine2_gradient.item())
    assert found.cosine2.item() > 0.99


def test_sequences_become_dimensions_and_numbers_do_not():
    found = gd.predict(
        "tanh(z)", "gradient_spike", step_size=[1.0, 2.0], batch_ratio=[1.0, 2.0, 4.0], **SMALL
    )
    assert found.singular_value.dims == ("step_size", "batch_ratio")
    assert found.width_ratio.item() == 1.0


def test_what_is_not_covered_is_refused():
    with pytest.raises(gd.OutOfRegime, match="on 2 directions.*Theories that do:.*giant_steps"):
        gd.predict("z1*z2", "gradient_spike", step_size=1.0, batch_ratio=1.0, **SMALL)
    with pytest.raises(gd.OutOfRegime, match="second spike.*Theories that do"):
        gd.predict(
            "z + z**2", "gradient_spike", step_size=1.0, batch_ratio=1.0, activation="relu(z)",
            scaling="giant", readout="ones",
        )  # fmt: skip
    with pytest.raises(gd.OutOfRegime, match="'sign\\(z\\)' jumps"):
        gd.predict(
            "z",
            "gradient_spike",
            step_size=1.0,
            batch_ratio=1.0,
            activation="sign(z)",
            readout="ones",
            scaling="small",
        )
    with pytest.raises(gd.BadData, match="scaling must be"):
        gd.predict(
            "z",
            "gradient_spike",
            step_size=1.0,
            batch_ratio=1.0,
            scaling="tiny",
            activation="tanh(z)",
            readout="ones",
        )
    with pytest.raises(gd.BadData, match="readout must be"):
        gd.predict(
            "z",
            "gradient_spike",
            step_size=1.0,
            batch_ratio=1.0,
            readout="twos",
            activation="tanh(z)",
            scaling="small",
        )


def top_of(weights):
    """Largest singular value, its squared cosine with the first axis."""
    values, vectors = np.linalg.eigh(weights.T @ weights)
    return math.sqrt(values[-1]), vectors[0, -1] ** 2


@pytest.mark.stat
@pytest.mark.parametrize("step", [1.0, 3.0])
def test_small_steps_against_simulation(rng, step):
    """Would catch: E[y^2] without what is not linear (11 standard errors of the cosine, step 3)."""
    d, batch, width = 250, 2.0, 1.5
    theory = gd.predict(
        QUADRATIC, "gradient_spike", step_size=step, batch_ratio=batch, width_ratio=width, **SMALL
    )
    p, runs = round(width * d), []
    for _ in range(48):
        W = sphere_rows(rng, p, d)
        u = rng.choice([-1.0, 1.0], p)
        W = giant_step(
            rng, W, u, "tanh(z)", lambda z: z + (z * z - 1) / 2, 0.25, round(batch * d),
            step / math.sqrt(p),
        )  # fmt: skip
        runs.append(top_of(W))
    values, cosines = np.array(runs).T
    # The edge of the bulk is smeared over d^(-2/3); a spike moves by 1/d.
    edge = d ** (-2 / 3) if step == 1.0 else 0.0
    assert within(values, theory.singular_value.item(), 4 / d + edge)
    assert within(cosines, theory.cosine2.item(), 4 / d + 0.5 * edge)


@pytest.mark.stat
def test_giant_steps_against_simulation(rng):
    d, batch, step = 250, 4.0, 3.0
    theory = gd.predict(
        "sin(z)",
        "gradient_spike",
        step_size=step,
        batch_ratio=batch,
        scaling="giant",
        activation="tanh(z)",
        readout="ones",
    )
    runs = []
    for _ in range(24):
        W = giant_step(
            rng, sphere_rows(rng, d, d), np.ones(d), "tanh(z)", np.sin, 0.0, round(batch * d), step
        )
        value, cosine2 = top_of(W)
        runs.append((value / math.sqrt(d), cosine2))
    values, cosines = np.array(runs).T
    # The bulk adds (1 + 1/r^2)/(2 d) of the spike.
    assert within(values, theory.singular_value.item(), 4 / d)
    assert within(cosines, theory.cosine2.item(), 4 / d)

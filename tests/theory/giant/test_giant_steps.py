"""Exact limit of several giant steps: reference values, closed forms, direct simulation."""

import math

import numpy as np
import pytest

import gradone as gd

from .direct_step import sphere_rows, within

SIGNS = {"readout": "signs", "bias_scale": 0.0}
MIXED = "(z1 + z1**2 + z2 - z2**2)/2"


@pytest.mark.parametrize(
    ("batch_ratio", "cosines", "risks"),
    [
        (16.0, [(0.603, 0.603), (0.804, -0.082), (0.777, -0.160)], [1.500, 1.148, 0.843]),
        (1.0, [(0.267, 0.267), (0.232, 0.033), (0.185, -0.021)], None),
    ],
)
def test_table_of_the_reference(batch_ratio, cosines, risks):
    found = gd.predict(
        MIXED, "giant_steps", batch_ratio=batch_ratio, step_size=2.0, steps=2, **SIGNS
    )
    positive = found.sel(neuron=2)
    assert positive.readout == 1
    assert positive.gradient_cosine.values[0] == pytest.approx(np.array(cosines), abs=2e-3)
    assert found.gradient_cosine_err.values.max() < 3e-3
    if risks:
        assert found.test_mse.values[0] == pytest.approx(risks, abs=2e-3)


@pytest.mark.parametrize(
    ("target", "setting", "neuron", "cosines"),
    [
        (gd.Target("2*z1 + He2(z1) + z2", noise=0.25), {"batch_ratio": 4.0, "step_size": 1.0}, 2,
         {1: (0.733, 0.221), 2: (0.714, 0.155)}),
        (gd.Target("2*z1 + He2(z1) + z2", noise=0.25), {"batch_ratio": 4.0, "step_size": 1.0}, 1,
         {1: (-0.446, -0.492)}),
        (gd.Target("z1 + z1*z2"), {"batch_ratio": 8.0, "step_size": 1.5}, 2,
         {0: (0.817, 0.0), 1: (0.632, 0.446), 2: (0.520, 0.552)}),
        (gd.Target("tanh(z1) + He2(z1)*z2/2"),
         {"batch_ratio": 4.0, "step_size": 2.0, "activation": "tanh(z)", "bias": {-0.5: 0.5,
         0.5: 0.5}},
         4, {1: (0.479, -0.135)}),
    ],
)  # fmt: skip
def test_examples_of_the_reference(target, setting, neuron, cosines):
    found = gd.predict(target, "giant_steps", steps=2, **setting, **SIGNS).sel(neuron=neuron)
    for step, expected in cosines.items():
        values = found.gradient_cosine.sel(step=step).values[0]
        assert values == pytest.approx(expected, abs=4e-3)


def test_two_directions_that_tanh_and_relu_see():
    """sigma' of the relu is odd but for a constant: He2(z1) z2 needs a bias, z1 z2 does not."""
    hidden = {"batch_ratio": 32.0, "step_size": 3.0, "steps": 1}
    even, odd = "z1 + He2(z1)*z2/sqrt(2)", "z1 + z1*z2"

    def second(target, **more):
        found = gd.predict(target, "giant_steps", **hidden, **(SIGNS | more))
        return float(abs(found.gradient_cosine.isel(step=1, direction=1)).max())

    assert second(odd) > 0.3
    assert second(even) < 0.1
    assert second(even, bias_scale=1.0) > 0.25
    assert second(odd, activation="tanh(z)") < 0.02


def test_the_first_gradient_has_a_closed_form():
    r"""cos = c_1 C_1 / sqrt(c_1^2 |C_1|^2 + E[y^2] E[sigma'^2]/batch_ratio), centred target."""
    target, batch_ratio = gd.Target("3*z1 - z2 + He2(z1)", noise=0.5), np.array([0.5, 5.0])
    found = gd.predict(
        target, "giant_steps", batch_ratio=batch_ratio, step_size=1.0, steps=1, **SIGNS
    )
    energy = 9 + 1 + 2 + 0.5
    length = np.sqrt(0.25 * 10 + energy * 0.5 / batch_ratio)
    first = found.gradient_cosine.sel(step=0, neuron=2).values
    expected = 0.5 * np.array([3.0, -1.0]) / length[:, None]
    assert (np.abs(first - expected) <= 3 * found.gradient_cosine_err.values[:, 0, 1] + 1e-3).all()
    assert found.test_mse.sel(step=0).values == pytest.approx(energy, abs=1e-6)
    assert found.norm.sel(step=0).values == pytest.approx(1.0)


def test_directions_may_be_exchanged_and_flipped():
    """Would catch: a coupling of the direction's index and the points."""
    setting = {"batch_ratio": 4.0, "step_size": 1.5, "steps": 2}
    one = gd.predict("z1 + z1*z2", "giant_steps", **setting, **SIGNS)
    other = gd.predict("z1*z2 - z2", "giant_steps", **setting, **SIGNS)
    a, b = one.gradient_cosine.values, other.gradient_cosine.values
    allowed = one.gradient_cosine_err.values.max() + other.gradient_cosine_err.values.max()
    assert np.abs(a[..., 0] + b[..., 1]).max() < allowed
    assert np.abs(a[..., 1] + b[..., 0]).max() < allowed


def test_a_divergence_is_reported():
    with pytest.raises(gd.NotConverged, match="diverge at step .*smaller than 50"):
        gd.predict("He3(z1) + z1", "giant_steps", batch_ratio=1.0, step_size=50.0, steps=4, **SIGNS)


def test_bad_arguments_are_refused():
    for more, message in (
        ({"steps": 0}, "steps must be an integer >= 1"),
        ({"bias": "some"}, "bias must be a finite number"),
        ({"bias": None}, "bias must be a finite number"),
        ({"bias_scale": -1.0}, r"bias_scale must be a finite number >= 0 \(a standard dev"),
        ({"bias": {0.5: 1.0}, "bias_scale": 1.0}, "use bias_scale=0 with shares"),
        ({"bias": {0.5: 0.2}}, "shares of bias must be positive and sum to one"),
        ({"readout": {0.0: 1.0}}, "not all zero"),
        ({"step_size": -1.0}, "step_size must be"),
    ):
        with pytest.raises(gd.BadData, match=message):
            gd.predict(
                "z1", "giant_steps", **({"batch_ratio": 1.0, "step_size": 1.0} | SIGNS | more)
            )


def simulated_cosines(rng, *, d, width, n, step, steps):
    """Gradients of T fresh steps on z1 + z1 z2 with relu and signs, by plain matrix products."""
    W = sphere_rows(rng, width // 2, d)
    W = np.vstack([W, W])
    a = np.repeat([1.0, -1.0], width // 2)
    cosines = []
    for _ in range(steps):
        X = rng.standard_normal((n, d))
        y = X[:, 0] + X[:, 0] * X[:, 1]
        field = X @ W.T
        miss = y - np.maximum(field, 0.0) @ a / width
        G = a[:, None] * (((field > 0) * miss[:, None]).T @ X) / n
        cosines.append((G[a > 0, :2] / np.linalg.norm(G[a > 0], axis=1)[:, None]).mean(axis=0))
        W = W + step * G
    return np.array(cosines)


@pytest.mark.stat
def test_gradients_of_three_steps_against_simulation(rng):
    """Would catch: the shared noise left out of M (13 standard errors in the second step)."""
    d, batch_ratio, step = 300, 2.0, 3.0
    theory = gd.predict(
        "z1 + z1*z2", "giant_steps", batch_ratio=batch_ratio, step_size=step, steps=2, **SIGNS
    )
    expected = theory.gradient_cosine.sel(neuron=2).values[0]
    runs = np.array([
        simulated_cosines(rng, d=d, width=100, n=round(batch_ratio * d), step=step, steps=3)
        for _ in range(24)
    ])  # fmt: skip
    for t in range(3):
        for k in range(2):
            # The width enters at order 1/width, the dimension at 1/d.
            assert within(runs[:, t, k], expected[t, k], 1 / 100 + 2 / d), (t, k)


def test_first_step_overlap_of_the_reference():
    found = gd.theory.first_step_overlap(
        "z1 + He2(z2)/2", d=1024, n=[181, 1024, 5793, 32768], step_size=4.0, readout="signs"
    )
    expected = [0.243, 0.489, 0.751, 0.863]
    assert found.subspace_overlap.values == pytest.approx(expected, abs=1.5e-3)


def test_an_activation_without_the_leading_order_finds_nothing():
    """The relu has c_3 = 0: the overlap stays at chance for any n."""
    chance = math.sqrt(2 / 48)
    setting = {"d": 48, "n": 10**9, "step_size": 2.0}
    blind = gd.theory.first_step_overlap(
        "z1*He2(z2)", activation="relu(z)", **setting, readout="signs"
    )
    assert blind.subspace_overlap.item() == pytest.approx(chance, abs=1e-3)
    sees = gd.theory.first_step_overlap(
        "z1*He2(z2)", activation="z + He2(z)/2 + He3(z)/6", **setting, readout="signs"
    )
    assert sees.subspace_overlap.item() > 0.95
    with pytest.raises(gd.OutOfRegime, match="up to five directions"):
        gd.theory.first_step_overlap(
            "z1*z2*z3*z4*z5*z6", d=48, n=100, step_size=1.0, readout="signs"
        )
    with pytest.raises(gd.BadData, match="d must be larger than r = 2"):
        gd.theory.first_step_overlap("z1*z2", d=2, n=100, step_size=1.0, readout="signs")


@pytest.mark.stat
def test_first_step_overlap_of_leading_order_two_against_simulation(rng):
    """2000 independent neurons: their mean squares, not those of the few of one network."""
    d, n, width, c = 96, 4096, 2000, 4.0
    theory = gd.theory.first_step_overlap(
        "He2(z1)/2 + z1*z2", d=d, n=n, step_size=c, readout="signs"
    )
    ratios = []
    for _ in range(12):
        W = sphere_rows(rng, width, d)
        X = rng.standard_normal((n, d))
        y = (X[:, 0] ** 2 - 1) / 2 + X[:, 0] * X[:, 1]
        a = rng.choice([-1.0, 1.0], width)
        G = a[:, None] * (((X @ W.T > 0) * y[:, None]).T @ X) / n
        W = W + c * math.sqrt(d) * G
        ratios.append(math.sqrt((W[:, :2] ** 2).sum() / (W**2).sum()))
    # Orders beyond the leading one add 1/d of the signal each.
    assert within(ratios, theory.subspace_overlap.item(), 2 / d)


def test_weights_that_diverge_are_told():
    """Failed before: a ValueError of a spline for exponential activations."""
    setting = {"batch_ratio": 4.0, "steps": 6, "step_size": 1.0, "activation": "exp(z/2)"}
    with pytest.raises(gd.NotConverged, match=r"weights diverge at step \d; use a step_size small"):
        gd.predict("z1 + z1*z2", "giant_steps", **setting)

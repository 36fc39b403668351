"""The mean-field limit: closed forms, exact zeros, and a network that shares no code with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

import gradone as gd
from gradone.targets.activation import Activation
from gradone.theory.sgd import _smoothed
from gradone.theory.sgd._particle_kernels import _features
from gradone.theory.sgd._smoothed import SmoothedActivation


def euler(dt: float, times: list[float], *, nodes: int = 30) -> list[tuple[float, float]]:
    """Risk and u_1 for z1 + z1*z2, relu, a = +-1, by hand: two mirrored particles, Euler's rule."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    z = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    w = np.outer(w, w).ravel() / w.sum() ** 2
    y = z[:, 0] + z[:, 0] * z[:, 1]
    a, u, s = np.array([1.0, -1.0]), np.zeros((2, 2)), np.ones(2)
    found = []
    for step in range(round(times[-1] / dt) + 1):
        v = z @ u.T
        density = np.exp(-0.5 * (v / s) ** 2) / math.sqrt(2 * math.pi)
        value, slope = v * ndtr(v / s) + s * density, ndtr(v / s)
        e = y - value @ a / 2
        if any(abs(step * dt - t) < dt / 4 for t in times):
            found.append((float(w @ e**2), float(u[0, 0])))
        pull = w * e
        da, du = pull @ value, a[:, None] * (slope.T @ (pull[:, None] * z))
        ds = a * (pull @ density)
        a, u, s = a + dt * da, u + dt * du, s + dt * ds
    return found


def test_an_euler_rule_written_by_hand_tends_to_the_flow():
    """Would catch: a lost factor of a, of s, or of the shares; one of the three smoothed means."""
    times = [2.0, 5.0]
    flow = gd.predict("z1 + z1*z2", "mean_field", time=times)
    coarse, fine = np.array(euler(0.02, times)), np.array(euler(0.01, times))
    limit = 2 * fine - coarse  # the error of Euler's rule is linear in the step
    assert flow.test_mse.values == pytest.approx(limit[:, 0], abs=1e-4)
    assert flow.overlap.isel(direction=0).values[:, 1] == pytest.approx(limit[:, 1], abs=3e-4)
    assert (flow.test_mse_err < 1e-5).all()


SINE = {"activation": "sin(z + pi/4)"}
SPHERE = {"loss": "correlation", "geometry": "spherical", "train_readout": 0.0}
DECAY = {"weight_decay": 0.1, "readout_decay": 0.05, "temperature": 0.1}


@pytest.mark.parametrize(
    ("target", "settings", "risks", "tolerance"),
    [
        ("z1 + z1*z2", {}, {1: 1.52002, 2: 0.95691, 5: 0.27101, 10: 0.17194}, 1e-4),
        ("z1 + z1*z2", {"train_readout": 0.0},
         {1: 1.57053, 2: 1.20258, 5: 0.57342, 10: 0.30576}, 1e-4),
        ("z1 + z1*z2", SPHERE, {1: 1.55125, 2: 1.22160, 4: 1.02901}, 1e-4),
        ("z1 + z1*z2", DECAY, {1: 1.56888, 2: 1.10834, 5: 0.37798, 10: 0.25612}, 1e-4),
        ("z1 + z1*z2", SINE, {1: 1.641093, 2: 1.206200, 5: 0.547360, 10: 0.352437}, 1e-5),
        ("z1 + z1*z2 + z1*z2*z3", SINE, {2: 2.191917, 4: 1.501802}, 1e-5),
    ],
)  # fmt: skip
def test_reference_values_of_the_limit(target, settings, risks, tolerance):
    flow = gd.predict(target, "mean_field", time=list(risks), **settings)
    assert flow.test_mse.values == pytest.approx(list(risks.values()), rel=tolerance)
    assert (flow.test_mse_err < 1e-3 * flow.test_mse).all()


def test_reference_values_of_the_neurons():
    fixed = gd.predict("z1 + z1*z2", "mean_field", time=5.0, train_readout=0.0)
    assert fixed.overlap.values[0, 1] == pytest.approx([1.54934, 0.90410], rel=1e-4)
    assert fixed.orthogonal_norm.values[0, 1] == pytest.approx(0.84000, rel=1e-4)
    wave = gd.predict("z1 + z1*z2 + z1*z2*z3", "mean_field", time=4.0, **SINE)
    assert np.abs(wave.overlap.values[0, 1]) == pytest.approx([0.87337, 0.63378, 0.27214], rel=2e-5)


TEXTS = ["relu(z)", "abs(z) - 0.5*sign(z - 0.2)", "erf(2*z - 0.3)", "cos(1.5*z) + 2*z - 1"]


@pytest.mark.parametrize("text", TEXTS)
def test_compiled_means_are_those_of_a_fine_sum(text):
    """Value and both derivatives, against a sum over the noise that knows the function alone."""
    parts = SmoothedActivation(Activation(text)).parts
    v, s, sigma = np.linspace(-4, 4, 41), 0.6, Activation(text)
    found = np.empty((3, len(v)))
    _features(v, s, *parts, *found)
    g = (np.arange(200_001) - 100_000) * 1e-4
    w = np.exp(-0.5 * g * g)
    w /= w.sum()
    values = np.array([sigma(x + s * g) for x in v])
    wanted = values @ w, values @ (w * g) / s, values @ (w * (g * g - 1)) / s
    assert found == pytest.approx(np.array(wanted), abs=2e-4)  # jumps: a node of the sum
    smooth = SmoothedActivation(Activation(text))(v, np.array(s))
    assert found == pytest.approx(np.array(smooth), abs=1e-10)


def test_activations_without_a_compiled_form_have_the_same_flow(monkeypatch):
    """The general solver, which sums over nodes in NumPy, against machine code."""
    asked = {"time": [1.0, 4.0], "activation": "erf(z + 0.5)"}
    fast = gd.predict("z1 + z1*z2", "mean_field", **asked)
    monkeypatch.setattr(_smoothed, "_parts", lambda *_: None)
    slow = gd.predict("z1 + z1*z2", "mean_field", **asked)
    assert fast.test_mse.values == pytest.approx(slow.test_mse.values, rel=1e-6)
    assert fast.overlap.values == pytest.approx(slow.overlap.values, abs=1e-6)


def test_each_step_of_a_staircase_is_slower_than_the_one_before():
    """u_i grows as t^(1, 2, 4) for z1 + z1*z2 + z1*z2*z3: exponents add along the terms."""
    target = "z1 + z1*z2 + z1*z2*z3"
    flow = gd.predict(target, "mean_field", time=[0.1, 0.2], activation="sin(z + pi/4)")
    powers = np.log2(np.abs(flow.overlap.values[1, 0] / flow.overlap.values[0, 0]))
    assert powers == pytest.approx([0.987, 1.991, 3.984], abs=1e-3)


def test_a_relu_without_bias_never_sees_the_third_direction():
    """Its Hermite coefficients of odd order vanish from the third on; a bias brings them back."""
    target = "z1 + z1*z2 + z1*z2*z3"
    blind = gd.predict(target, "mean_field", time=40.0)
    assert np.abs(blind.overlap.sel(direction=3)).max() < 1e-12
    assert float(blind.test_mse.item()) == pytest.approx(1.148, abs=1e-3)
    assert "blind to z3" in blind.attrs["notes"]
    moved = gd.predict(target, "mean_field", time=5.0, bias=0.5)
    assert np.abs(moved.overlap.sel(direction=3)).max() > 0.05
    assert "notes" not in moved.attrs


def test_a_degenerate_staircase_keeps_its_symmetry():
    """z1 + z2 + z1*z3 - z2*z3 does not change under z1 <-> z2, z3 -> -z3: u_3 stays 0."""
    flow = gd.predict("z1 + z2 + z1*z3 - z2*z3", "mean_field", time=10.0)
    u = flow.overlap.values[0]
    assert np.abs(u[:, 2]).max() < 1e-12
    assert u[:, 0] == pytest.approx(u[:, 1], abs=1e-12)


def test_a_leap_of_order_two_takes_a_time_that_grows_with_the_logarithm_of_d():
    """z1*z2, relu, a = +-1: sqrt(2 pi)/2 for each unit of ln d."""
    times, level = np.linspace(4, 20, 65), 0.9
    escape = []
    for d in (1e3, 1e5):
        risk = gd.predict("z1*z2", "mean_field", time=times, d=d, particles=128).test_mse.values
        escape.append(float(np.interp(-level, -risk, times)))
    slope = (escape[1] - escape[0]) / math.log(100)
    assert slope == pytest.approx(math.sqrt(2 * math.pi) / 2, rel=0.01)
    waiting = gd.predict("z1*z2", "mean_field", time=20.0)
    assert float(waiting.test_mse.item()) == pytest.approx(1.0)
    assert f"ln(d)/{2 / math.sqrt(2 * math.pi):.4g}" in waiting.attrs["notes"]


def test_decay_and_temperature_of_the_note():
    flow = gd.predict(
        "z1 + z1*z2", "mean_field", time=10.0,
        weight_decay=0.1, readout_decay=0.05, temperature=0.1,
    )  # fmt: skip
    found = [
        flow.test_mse.item(),
        abs(flow.readout.values[0, 1]),
        flow.overlap.values[0, 1, 1],
        flow.orthogonal_norm.values[0, 1],
    ]
    # The values of the note are those of Euler's rule with a step of 0.1.
    assert found == pytest.approx([0.256, 1.850, 1.098, 0.794], abs=3e-3)


def test_on_the_sphere_neurons_keep_their_norm():
    flow = gd.predict("z1 + z1*z2", "mean_field", time=[1.0, 5.0], geometry="spherical")
    norms = (flow.overlap**2).sum("direction") + flow.orthogonal_norm**2
    assert norms.values == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("text", ["relu(z)", "abs(z) + 1", "He3(z)", "step(z - 0.3)", "erf(z)"])
def test_smoothed_activations_are_gaussian_means(text):
    """Against a fine sum over the noise, and finite differences in v and s."""
    smoothed = SmoothedActivation(Activation(text))
    v, s = np.array([-1.3, 0.2, 0.9]), np.array([0.7])
    g = (np.arange(400_001) - 200_000) * 5e-5
    w = np.exp(-0.5 * g * g)
    w /= w.sum()
    sigma = Activation(text)
    assert smoothed(v, s).value == pytest.approx([w @ sigma(x + 0.7 * g) for x in v], abs=2e-5)
    h = 1e-5
    by_v = (smoothed(v + h, s).value - smoothed(v - h, s).value) / (2 * h)
    by_s = (smoothed(v, s + h).value - smoothed(v, s - h).value) / (2 * h)
    assert smoothed(v, s).by_v == pytest.approx(by_v, rel=1e-7, abs=1e-8)
    assert smoothed(v, s).by_s == pytest.approx(by_s, rel=1e-7, abs=1e-8)


def test_latent_noise_enters_through_its_mean_and_its_variance():
    """A coin that is never seen adds its variance to the error and nothing else."""
    plain = gd.predict("z1 + z1*z2", "mean_field", time=3.0)
    noisy = gd.predict(gd.Target("z1 + z1*z2 + 0.5*xi"), "mean_field", time=3.0)
    assert noisy.test_mse.item() == pytest.approx(plain.test_mse.item() + 0.25, abs=1e-9)


def test_what_grows_without_bound_is_refused():
    with pytest.raises(gd.OutOfRegime, match="without bound"):
        gd.predict("z1", "mean_field", time=1.0, loss="correlation")
    with pytest.raises(gd.OutOfRegime, match="5 directions"):
        gd.predict("z1*z2*z3*z4*z5", "mean_field", time=1.0)


def network_risk(d: int, width: int, dt: float, time: float, seed: int) -> float:
    """Test error of a real network for z1 + z1*z2, fresh batches, N times its gradient."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((width, d)) / math.sqrt(d)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    a = np.where(np.arange(width) % 2 == 0, 1.0, -1.0)

    def labels(X):
        return X[:, 0] + X[:, 0] * X[:, 1]

    for _ in range(round(time / dt)):
        X = rng.standard_normal((1000, d))
        h = X @ W.T
        e = labels(X) - np.maximum(h, 0) @ a / width
        dW = a[:, None] * (((h > 0) * e[:, None]).T @ X) / len(X)
        a = a + dt * np.maximum(h, 0).T @ e / len(X)
        W = W + dt * dW
    X = rng.standard_normal((20_000, d))
    return float(np.mean((labels(X) - np.maximum(X @ W.T, 0) @ a / width) ** 2))


@pytest.mark.stat
def test_a_wide_network_follows_the_flow():
    """Width 200 in 100 dimensions at time 2, extrapolated from two steps of the clock.

    The allowance is the sum of the sizes of the two finite-size effects of the note: 1/d times 2
    and 1/width times 4. Would catch: a second layer that is not trained (risk 1.55).
    """
    runs = np.array(
        [2 * network_risk(100, 200, 0.1, 2.0, i) - network_risk(100, 200, 0.2, 2.0, i + 50)
         for i in range(12)]
    )  # fmt: skip
    theory = gd.predict("z1 + z1*z2", "mean_field", time=2.0).test_mse.item()
    sem = runs.std(ddof=1) / math.sqrt(len(runs))
    assert abs(runs.mean() - theory) < 9.0 * sem + 2 / 100 + 4 / 200

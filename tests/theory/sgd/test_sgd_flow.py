"""The flow of SGD against closed forms, reference values, limits and invariances."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import gradone as gd

EXTRA = {"width": 1, "step_size": 0.1, "rule": "extragradient"}
COMMITTEE = gd.Target("(erf(z1/sqrt(2)) + erf(z2/sqrt(2)))/2", noise=0.01)
ERF = {
    "width": 2, "step_size": 2.0, "activation": "erf(z/sqrt(2))", "readout": [0.5, 0.5],
    "init": {"M": [[0.2, 0.1], [-0.1, 0.3]]},
}  # fmt: skip


def flow(target, **arguments):
    return gd.predict(target, "sgd_flow", **arguments)


# ---- reference values: engines and other integrations


def test_extragradient_of_a_relu_on_he3():
    found = flow("He3(z)", time=[10, 20, 30, 40], inner_step_size=0.1, **EXTRA)
    expected = [(-0.1122, 0.5708), (-0.2255, 0.3881), (-0.3227, 0.3212), (-0.3848, 0.3105)]
    pairs = np.stack([found.overlap.values.ravel(), found.norm.values.ravel()], axis=1)
    assert pairs == pytest.approx(np.array(expected), abs=0.004)
    assert float(found.overlap_err.max()) < 1e-6


def test_extragradient_on_the_sphere():
    sphere = EXTRA | {"geometry": "spherical"}
    found = flow("He3(z)", time=[10, 20, 40], inner_step_size=0.3, loss="correlation", **sphere)
    assert found.overlap.values.ravel() == pytest.approx([-0.1353, -0.3005, -0.6162], abs=0.005)
    square = flow("He3(z)", time=30, inner_step_size=0.1, **sphere)
    assert float(square.overlap[0, 0, 0]) == pytest.approx(-0.3797, abs=0.005)


def test_plain_gradient_of_a_relu_forgets_he3():
    found = flow("He3(z)", time=10, width=1, step_size=0.1, init={"M": [[0.3]]})
    assert float(found.overlap[0, 0, 0]) == pytest.approx(0.1824, abs=0.004)
    assert float(found.norm[0, 0, 0]) == pytest.approx(0.5811, abs=0.004)


def test_tanh_on_he2_with_noise():
    found = flow(
        gd.Target("He2(z)", noise=0.25), time=10, width=1, step_size=0.2, activation="tanh(z)",
        geometry="spherical", init={"M": [[0.5]]},
    )  # fmt: skip
    assert float(found.overlap[0, 0, 0]) == pytest.approx(0.4200, abs=0.004)


def test_erf_committee():
    found = flow(COMMITTEE, time=[5, 10, 20], **ERF)
    M = [[[0.5629, 0.3224], [0.2498, 0.5542]], [[0.6256, 0.3520], [0.3140, 0.5977]],
         [[0.6470, 0.3403], [0.3158, 0.6186]]]  # fmt: skip
    Q = [[[0.9674, -0.1229], [-0.1229, 0.9137]], [[0.9558, -0.0038], [-0.0038, 0.8902]],
         [[0.8742, 0.1000], [0.1000, 0.8137]]]  # fmt: skip
    assert found.overlap.values == pytest.approx(np.array(M), abs=1e-3)
    assert found.norm.values == pytest.approx(np.array(Q), abs=1e-3)
    assert float(found.norm_err.max()) < 1e-6


# ---- closed forms


def test_a_linear_student_follows_its_linear_equation():
    """f = sum a_j lambda_j on y = w.z + noise: means by hand, Q driven by a matrix exponential."""
    w, a, gamma, noise, times = np.array([0.8, -0.3]), np.array([0.7, -0.4]), 0.3, 0.2, [0.5, 2.0]
    M0 = np.array([[0.1, 0.2], [-0.3, 0.1]])
    found = flow(
        gd.Target("0.8*z1 - 0.3*z2", noise=noise), time=times, width=2, activation="z",
        step_size=gamma, readout=a, init={"M": M0}, second_order=False,
    )  # fmt: skip
    for i, time in enumerate(times):
        # dM/dtau = gamma a (w - a M)^T, and across the directions -gamma a a^T acts on the weights;
        # what is orthogonal to a does not move.
        decay = expm(-gamma * time * np.outer(a, a))
        along, fixed = np.outer(a, a) / (a @ a), np.outer(a, w) / (a @ a)
        M = (np.eye(2) - along) @ M0 + decay @ along @ (M0 - fixed) + fixed
        across = decay @ (np.eye(2) - M0 @ M0.T) @ decay.T
        assert found.overlap.values[i] == pytest.approx(M, abs=1e-6)
        assert found.norm.values[i] == pytest.approx(M @ M.T + across, abs=1e-6)
        e = w - a @ M
        mse = e @ e + a @ across @ a + noise
        assert float(found.test_mse[i]) == pytest.approx(mse, abs=1e-6)


def test_noise_of_a_linear_student():
    """p = r = 1: dQ has gamma^2 E[e^2], and e is Gaussian with a known variance."""
    gamma, noise, a = 0.4, 0.3, 0.9

    def velocity(_, state):
        m, q = state
        e2 = 1 - 2 * a * m + a * a * q + noise
        return [gamma * a * (1 - a * m), 2 * gamma * a * (m - a * q) + gamma**2 * a * a * e2]

    expected = solve_ivp(velocity, (0, 3), [0.2, 1.0], rtol=1e-10, atol=1e-12).y[:, -1]
    found = flow(
        gd.Target("z", noise=noise), time=3.0, width=1, activation="z", step_size=gamma,
        readout=[a], init={"M": [[0.2]]},
    )  # fmt: skip
    got = [float(found.overlap[0, 0, 0]), float(found.norm[0, 0, 0])]
    assert got == pytest.approx(expected, abs=1e-7)


def test_a_lone_erf_learns_to_the_end():
    """The equations of Saad and Solla for one neuron and one direction, followed to 1e-12.

    Would catch: a variance beside the direction that the integrator lets fall below zero (test
    errors of -1e-6), and errors that vanish wherever two tolerances happen to agree.
    """

    def velocity(_, state):
        R, Q = state
        across, own = math.sqrt(2 * (1 + Q) - R * R), math.sqrt(1 + 2 * Q)
        fourth = 1 + 2 * Q - R * R
        squares = math.asin((1 + 2 * (Q - R * R)) / (2 * fourth)) + math.asin(Q / (1 + 3 * Q))
        squares -= 2 * math.asin(R / math.sqrt(2 * fourth * (1 + 3 * Q)))
        return [
            2 / math.pi / (1 + Q) * ((1 + Q - R * R) / across - R / own),
            4 / math.pi / (1 + Q) * (R / across - Q / own) + 4 / math.pi**2 / own * squares,
        ]

    times = np.concatenate([np.arange(1.0, 100.0, 3.0), np.arange(100.0, 401.0, 20.0)])
    # Short steps: long ones come to the border of stability, where errors stay as they are.
    R, Q = solve_ivp(
        velocity, (0, 401), [0.1, 1.0], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-15,
        max_step=0.5,
    ).y  # fmt: skip
    mse = np.arcsin(Q / (1 + Q)) + math.pi / 6 - 2 * np.arcsin(R / np.sqrt(2 * (1 + Q)))
    found = flow(
        "erf(z/sqrt(2))", time=times, width=1, activation="erf(z/sqrt(2))", step_size=1.0,
        readout=[1.0], init={"M": [[0.1]]},
    )  # fmt: skip
    expected = {"overlap": R, "norm": Q, "test_mse": 2 / math.pi * mse}
    for name, value in expected.items():
        gap = np.abs(found[name].values.ravel() - value)
        assert (gap < found[f"{name}_err"].values.ravel()).all(), name
    assert float(found.test_mse.min()) >= 0
    assert float(found.test_mse_err.max()) < 1e-6
    assert float(found.test_mse_err[times >= 100].max()) < 1e-9


@pytest.mark.parametrize("loss", ["square", "correlation"])
@pytest.mark.stat
def test_closed_means_of_erf_agree_with_points(loss):
    """Would catch: a wrong term of the four-point mean, noise left out of it, the height of erf."""
    target = gd.Target("erf(z1)/2 - erf(z1 + 0.5*z2)", noise=0.3)
    given = {
        "time": [0.5, 1.5], "width": 2, "step_size": 0.8, "loss": loss, "train_readout": 0.3,
        "init": {"M": [[0.3, 0.1], [-0.2, 0.4]], "Q": [[1.0, 0.2], [0.2, 0.8]]},
    }  # fmt: skip
    exact = flow(target, activation="1.5*erf(0.9*z)", **given)
    points = flow(target, activation="1.5*erf(0.9*z) + 1e-12*z", **given)
    assert float(exact.norm_err.max()) < 1e-6
    for name in ("overlap", "norm", "readout", "test_mse", "recovery"):
        allowed = 2 * points[f"{name}_err"] + 1e-9
        assert bool((abs(points[name] - exact[name]) < allowed).all()), name
    assert float(points.norm_err.max()) < 5e-3


@pytest.mark.stat
@pytest.mark.parametrize(("points", "worst"), [(8192, 0.05), (None, 0.005)])
def test_errors_of_four_neurons_are_honest(points, worst):
    """Seven variables, where small nets are uneven: the gap from closed forms stays within errors.

    22 numbers with 99 % intervals of 8 scrambles: one beyond twice the interval is a chance of 1e-3
    each, beyond three times of 1e-4; seeds are fixed.
    """
    given = {
        "time": [1.0, 4.0], "width": 4, "step_size": 0.5,
        "init": {"M": [[0.3, 0.1, 0], [-0.2, 0.4, 0.1], [0.1, 0, 0.3], [0, -0.1, 0.2]]},
    }  # fmt: skip
    target = "erf(z1) - erf(z2 + z3)/2 + erf(z3)"
    exact = flow(target, activation="erf(z)", **given)
    found = flow(target, activation="erf(z) + 1e-12*z", points=points, **given)
    for name in ("overlap", "norm", "test_mse"):
        gap, error = abs(found[name] - exact[name]), found[f"{name}_err"]
        assert bool((gap < 2 * error + 1e-9).all()), name
        assert float(error.max()) < worst


@pytest.mark.parametrize(
    "arguments",
    [
        {"rule": "extragradient", "inner_step_size": 0.2},
        {"rule": "sam", "inner_step_size": 0.2},
        {"rule": "sam_normalized", "radius": 0.3},
        {"rule": "k_steps", "inner_steps": 3},
        {"rule": "look_ahead", "inner_steps": 2, "inner_step_size": 0.2, "interpolation": 0.7},
        {"rule": "extragradient", "inner_step_size": 0.4, "batch_size": 3, "loss": "correlation"},
    ],
    ids=lambda arguments: arguments["rule"],
)
def test_every_rule_is_the_brute_force_mean(arguments):
    """Velocity at time 0 by 4e6 random samples, the update written out by hand."""
    target, gamma, time = gd.Target("tanh(2*z) + z**2/2"), 0.5, 1e-4
    found = flow(
        target, time=time, width=1, step_size=gamma, activation="relu(z + 0.1)", readout=[0.8],
        init={"M": [[0.3]]}, **arguments,
    )  # fmt: skip
    velocity = [float(found.overlap[0, 0, 0]) - 0.3, float(found.norm[0, 0, 0]) - 1.0]
    rng = np.random.default_rng(0)
    z = rng.standard_normal(2_000_000)
    z = np.concatenate([z, -z])
    field = 0.3 * z + math.sqrt(1 - 0.09) * rng.standard_normal(len(z))
    y, a, b = np.tanh(2 * z) + z**2 / 2, 0.8, arguments.get("batch_size", 1)

    def gradient(x):
        e = y - a * np.maximum(x + 0.1, 0) if arguments.get("loss") != "correlation" else y
        return a * e * (x + 0.1 > 0)

    rule, rho = arguments["rule"], arguments.get("inner_step_size", gamma) / b
    push = gradient(field)
    if rule in ("extragradient", "sam"):
        moves = gamma * gradient(field + (rho if rule == "extragradient" else -rho) * push)
    elif rule == "sam_normalized":
        moves = gamma * gradient(field - 0.3 * np.sign(push))
    else:
        total = np.zeros_like(field)
        for _ in range(arguments["inner_steps"]):
            total = total + gradient(field + rho * total)
        moves = (gamma if rule == "k_steps" else 0.7 * 0.2) * total
    sample = np.stack([moves * z, 2 * moves * field + moves**2 / b])
    mean = sample.mean(axis=1)
    error = sample.std(axis=1) / math.sqrt(len(z)) + 3e-4 * np.abs(mean)  # curvature of the flow
    assert (np.abs(np.array(velocity) / time - mean) < 5 * error).all()


# ---- limits


def test_without_its_second_order_the_flow_is_gradient_flow():
    """At fixed gamma * time the full flow tends to it, and the loss falls along it."""
    given = {"width": 2, "activation": "erf(z/sqrt(2))", "init": ERF["init"], "readout": [1, 1]}
    limit = flow(COMMITTEE, time=[1, 2, 4], step_size=1.0, second_order=False, **given)
    assert (np.diff(limit.test_mse.values) < 0).all()
    gaps = []
    for gamma in (0.1, 0.05):
        full = flow(COMMITTEE, time=np.array([1, 2, 4]) / gamma, step_size=gamma, **given)
        gaps.append(np.abs(full.norm.values - limit.norm.values).max())
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.1)


def test_a_large_batch_is_gradient_flow():
    given = {"time": 3.0, **ERF}
    limit = flow(COMMITTEE, second_order=False, **given)
    batch = flow(COMMITTEE, batch_size=10**7, **given)
    assert batch.norm.values == pytest.approx(limit.norm.values, abs=1e-5)


def test_a_vanishing_inner_step_is_the_plain_rule():
    plain = flow("He3(z)", time=5, width=1, step_size=0.1, init={"M": [[0.3]]})
    small = flow("He3(z)", time=5, inner_step_size=1e-9, init={"M": [[0.3]]}, **EXTRA)
    assert small.norm.values == pytest.approx(plain.norm.values, abs=1e-6)


def test_decay_without_a_gradient_is_exponential():
    """A label far too small to matter: M and Q shrink at gamma and 2 gamma times the decay.

    In units of d steps the decay may be larger than 1.
    """
    for time, decay in ((2.0, 0.6), (0.2, 6.0)):
        found = flow(
            "1e-9*z", time=time, width=1, step_size=0.5, loss="correlation", weight_decay=decay,
            init={"M": [[0.3]]}, activation="tanh(z)",
        )  # fmt: skip
        assert float(found.overlap[0, 0, 0]) == pytest.approx(0.3 * math.exp(-0.6), rel=1e-6)
        assert float(found.norm[0, 0, 0]) == pytest.approx(math.exp(-1.2), rel=1e-6)


# ---- conservation and invariance


@pytest.mark.parametrize("geometry", ["spherical", "projected"])
def test_the_sphere_is_conserved(geometry):
    given = {"width": 2, "step_size": 0.2, "geometry": geometry, "points": 1024}
    M = [[0.5, 0.1], [0.2, -0.3]]
    found = flow("z1*z2 + z1", time=[1, 10], init={"M": M, "Q": np.diag([1.0, 1.0])}, **given)
    norms = np.diagonal(found.norm.values, axis1=1, axis2=2)
    assert norms == pytest.approx(np.ones((2, 2)), abs=1e-5)
    doubled = {"M": 2 * np.array(M), "Q": np.diag([4.0, 4.0])}
    again = flow("z1*z2 + z1", time=[1, 10], init=doubled, **given)
    assert again.overlap.values == pytest.approx(found.overlap.values, abs=1e-9)


def test_the_order_of_the_neurons_does_not_matter():
    swap = ERF | {"init": {"M": [[-0.1, 0.3], [0.2, 0.1]]}}
    one, other = flow(COMMITTEE, time=10, **ERF), flow(COMMITTEE, time=10, **swap)
    assert other.overlap.values[0, ::-1] == pytest.approx(one.overlap.values[0], abs=1e-7)


@pytest.mark.stat
def test_rotated_directions_rotate_the_overlaps():
    c, s = 0.6, 0.8
    R = np.array([[c, s], [-s, c]])
    M = np.array([[0.4, 0.1], [-0.2, 0.3]])
    given = {"time": 3.0, "width": 2, "step_size": 0.2, "rule": "k_steps"}
    plain = flow("z1*tanh(z2) + z1", init={"M": M}, **given)
    text = "(0.6*z1 + 0.8*z2)*tanh(-0.8*z1 + 0.6*z2) + 0.6*z1 + 0.8*z2"
    other = flow(text, init={"M": M @ R}, **given)
    allowed = 2 * (plain.overlap_err.values[0].max() + other.overlap_err.values[0].max())
    assert np.abs(other.overlap.values[0] - plain.overlap.values[0] @ R).max() < allowed
    assert allowed < 0.03


def test_a_symmetric_start_stays_symmetric():
    """Sign flips that leave the target alone: no overlap appears by chance."""
    found = flow("z1*z2", time=20, width=2, step_size=0.1, activation="He2(z)/2", points=1024)
    assert np.abs(found.overlap.values).max() < 1e-10


def test_students_that_know_everything_stay():
    found = flow(
        "erf(z/sqrt(2))", time=[1, 50], width=1, activation="erf(z/sqrt(2))", step_size=1.0,
        init={"M": [[1.0]]},
    )  # fmt: skip
    assert found.overlap.values.ravel() == pytest.approx([1, 1], abs=1e-9)
    assert found.test_mse.values == pytest.approx([0, 0], abs=1e-9)


def test_points_of_any_scramble_agree_with_the_panels():
    """One neuron and one direction by both ways: the second is forced by a second variable."""
    given = {"time": [5, 20], "inner_step_size": 0.1, **EXTRA}
    line = flow("He3(z1)", **given)
    points = flow("He3(z1) + 1e-14*z2", **given)
    gap = abs(points.overlap.values[:, 0, 0] - line.overlap.values[:, 0, 0])
    assert (gap < 2 * points.overlap_err.values[:, 0, 0]).all()
    assert points.overlap_err.values.max() < 0.01


# ---- what users may do wrong


def test_a_step_that_is_too_large_is_said_to_diverge():
    given = {"width": 1, "activation": "He2(z)", "step_size": 5.0, "time": [1e-4, 50.0]}
    with pytest.raises(gd.NotConverged, match="diverge near time") as caught:
        flow("He2(z)", init={"M": [[0.3]]}, **given)
    marked = caught.value.last
    assert marked.converged.values.tolist() == [True, False]
    assert np.isfinite(marked.overlap.values[0]).all()
    assert np.isnan(marked.overlap.values[1]).all()


def test_a_run_that_diverges_before_the_first_time_says_so():
    with pytest.raises(gd.NotConverged, match="diverge near time"):
        flow("z", time=10.0, width=1, step_size=5.0, activation="z")


def test_bad_input():
    with pytest.raises(gd.BadData, match="step_size must be a number"):
        flow("z1", time=1.0, step_size="auto")
    with pytest.raises(gd.OutOfRegime, match="width of at most 8"):
        flow("z1", time=1.0, step_size=0.1, width=9)
    with pytest.raises(gd.OutOfRegime, match="ties the samples"):
        flow("z1", time=1.0, step_size=0.1, rule="sam_normalized", radius=0.1, batch_size=2)
    with pytest.raises(gd.OutOfRegime, match="r = 5 directions"):
        flow("z1*z2*z3*z4*z5", time=1.0, step_size=0.1)
    with pytest.raises(gd.BadData, match="weight_decay"):
        flow("z1", time=1.0, step_size=0.1, weight_decay=-1.0)

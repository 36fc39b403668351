"""The flow under other losses and optimizers: reference values of an independent program."""

import numpy as np
import pytest

import gradone as gd
from gradone.targets.training import read_training
from gradone.theory.sgd._flow_memory import MemoryMeans
from gradone.theory.sgd._flow_push import Neurons, Push

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
    "muon, momentum": (
        "z1 + z1*z2",
        {"time": [2], "width": 2, "activation": "tanh(z + 0.3)", "step_size": 0.15,
         "optimizer": "muon", "momentum": 0.8, "batch_size": 2, "init": TWO, "points": 2**16},
        0.004, [[0.4768, 0.1002, -0.5745, 0.0435, 1.2969, 0.3635, 1.3265]],
    ),
    "muon, batches of d": (
        "z1 + z1*z2",
        {"time": [1, 3], "width": 2, "activation": "tanh(z + 0.3)", "step_size": 0.3,
         "optimizer": "muon", "batch_ratio": 1.0, "init": TWO},
        0.001, [[0.1900, 0.1972, -0.2941, 0.1052, 1.0760, 0.1414, 1.0787],
                [0.3528, 0.1642, -0.4573, 0.0890, 1.2183, 0.3149, 1.2266]],
    ),
    "sign, batches of d": (
        LINE,
        {"time": [1, 6, 12], "step_size": 0.1, "optimizer": "sign", "batch_ratio": 1.0,
         "init": {"M": [[0.1]]}, "points": 2**16},
        0.002, [[0.1298, 0.9553], [0.2823, 0.7930], [0.4705, 0.7224]],
    ),
    "adam, batches of d": (
        LINE,
        {"time": [6, 12], "step_size": 0.1, "optimizer": "adam", "betas": (0.9, 0.99),
         "batch_ratio": 1.0, "init": {"M": [[0.1]]}, "points": 2**16},
        0.002, [[0.2901, 0.7898], [0.4864, 0.7222]],
    ),
}  # fmt: skip
LONG = ("muon, batch 2", "sign, batch 4", "muon, momentum")


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


def test_momentum_that_approaches_one():
    """M_W, M_P, Q_WW, Q_WP, Q_PP of the table."""
    flow = gd.predict(
        LINE, "sgd_flow", time=[2, 5, 10], width=1, step_size=0.5, momentum_rate=1.0,
        init={"M": [[0.1]]},
    )  # fmt: skip
    names = ("overlap", "buffer_overlap", "norm", "buffer_product", "buffer_norm")
    found = np.stack([flow[name].values.ravel() for name in names], axis=1)
    expected = [
        [0.3749, 0.4115, 0.8611, 0.0301, 0.7775],
        [0.9623, 0.3107, 1.3620, 0.2149, 0.4776],
        [1.3543, 0.0523, 1.9939, 0.0457, 0.1717],
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.001)


def test_a_buffer_that_forgets_at_once_is_plain_sgd():
    plain = gd.predict(LINE, "sgd_flow", time=[0.6], width=1, step_size=0.5, init={"M": [[0.1]]})
    gaps = []
    for kappa in (20.0, 40.0):
        flow = gd.predict(
            LINE, "sgd_flow", time=[0.6], width=1, step_size=0.5, momentum_rate=kappa,
            init={"M": [[0.1]]},
        )  # fmt: skip
        gaps.append(float(abs(flow.overlap - plain.overlap).max()))
    assert gaps[1] < 0.006
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.1)


def test_projected_neurons_with_momentum_keep_their_norm():
    flow = gd.predict(
        "He2(z)", "sgd_flow", time=[1, 4], width=1, step_size=0.4, momentum_rate=2.0,
        init={"M": [[0.2]]}, geometry="projected", loss="correlation",
    )  # fmt: skip
    np.testing.assert_allclose(flow.norm, 1.0, atol=1e-6)
    assert float(flow.overlap[-1, 0, 0]) > float(flow.overlap[0, 0, 0]) > 0.2


def test_two_blocks():
    flow = gd.predict(
        LINE, "sgd_flow", time=[1, 3], width=1, step_size=0.5, init={"M": [[0.2]]},
        covariance={"eigenvalues": [2.5, 0.5], "fractions": [0.25, 0.75]},
    )  # fmt: skip
    found = [flow.block_overlap.values.reshape(2, 2), flow.block_norm.values.reshape(2, 2)]
    expected = [[0.1763, 0.2466, 0.2776, 0.7207], [0.2974, 0.4378, 0.4319, 0.7179]]
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, rtol=0, atol=0.001)


@pytest.mark.parametrize("settings", [{}, {"clip_norm": 1.0}, {"geometry": "projected"}])
def test_equal_eigenvalues_are_no_covariance(settings):
    same = {"time": [2], "width": 1, "step_size": 0.4, "init": {"M": [[0.1]]}, **settings}
    plain = gd.predict(LINE, "sgd_flow", **same)
    equal = {"eigenvalues": [1.0, 1.0], "fractions": [0.3, 0.7]}
    flow = gd.predict(LINE, "sgd_flow", covariance=equal, **same)
    for name in ("overlap", "norm", "test_mse"):
        np.testing.assert_allclose(flow[name], plain[name], atol=1e-6)


def test_batches_of_d_without_an_optimizer_are_giant_steps():
    """One step from M = 0 in closed form: relu, He2, correlation loss."""
    eta, alpha = 0.7, 2.0
    flow = gd.predict(
        "He2(z)", "sgd_flow", time=[1], width=1, step_size=eta, batch_ratio=alpha,
        loss="correlation", init={"M": [[0.6]]},
    )  # fmt: skip
    # E[He2(z) relu'(u) (z, u)] with Cov(z, u) = m, by Price: density n(0) of the field at 0.
    m, n0 = 0.6, 1 / np.sqrt(2 * np.pi)
    with_z, with_u = 2 * m * n0 * (1 - m**2 / 2), m**2 * n0
    J2 = with_z**2 + (with_u - m * with_z) ** 2 / (1 - m**2)
    # E[He2(z)^2 1(u > 0)] = 1, half of the second moment 2: even in z given u's sign symmetric.
    expected = [m + eta * with_z, 1 + 2 * eta * with_u + eta**2 * (J2 + 1 / alpha)]
    found = [float(flow.overlap.squeeze()), float(flow.norm.squeeze())]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    # On the sphere w loses what the step has along it, and is brought to unit norm.
    sphere = gd.predict(
        "He2(z)", "sgd_flow", time=[1], width=1, step_size=eta, batch_ratio=alpha,
        loss="correlation", init={"M": [[0.6]]}, geometry="spherical",
    )  # fmt: skip
    keep = 1 - eta * with_u
    norm2 = keep**2 + 2 * keep * eta * with_u + eta**2 * (J2 + 1 / alpha)
    expected = (keep * m + eta * with_z) / np.sqrt(norm2)
    np.testing.assert_allclose(float(sphere.overlap.squeeze()), expected, rtol=1e-6)


@pytest.mark.slow
def test_batches_of_d_on_the_sphere_against_the_chain():
    """Two neurons that Muon mixes, three updates, d = 2000; corrections are of order 1/d."""
    settings = {"width": 2, "activation": "tanh(z + 0.3)", "optimizer": "muon", "step_size": 0.3,
                "geometry": "spherical", "init": {"M": [[0.1, 0.2], [-0.2, 0.1]]}}  # fmt: skip
    flow = gd.predict("z1 + z1*z2", "sgd_flow", time=[3], batch_ratio=1.0, **settings)
    run = gd.dynamics.sgd(
        "z1 + z1*z2", d=2000, batch_size=2000, steps=3, record=[3], replicates=100,
        progress=False, **settings,
    )  # fmt: skip
    for name in ("overlap", "norm"):
        error = run[name].std("replicate", ddof=1).values[0] / 10
        gap = np.abs(run[name].mean("replicate").values[0] - flow[name].values[0])
        assert (gap < 5.5 * error + flow[f"{name}_err"].values[0] + 1e-3).all()
        assert error.max() < 4e-3


@pytest.mark.parametrize(
    ("memory", "drift", "noise"),
    [(0.0, -0.1763, 0.500), (0.5, -0.1983, 0.497), (0.9, -0.2162, 0.706), (0.99, -0.1108, 0.825)],
)
def test_the_drift_of_rmsprop(memory, drift, noise):
    """At M = 0, for He3 and a relu with the correlation loss; values known to 0.0005."""
    student = read_training(
        optimizers=True, flow=True, width=1, step_size=1.0, loss="correlation",
        optimizer="rmsprop", betas=(0.9, memory),
    )  # fmt: skip
    start = Neurons(np.zeros((1, 1)), np.eye(1), np.ones(1), np.zeros(1))
    runs = [
        MemoryMeans(Push(student), gd.Target("He3(z)"), start.M, scramble=i, points=2**14)(start)
        for i in range(16)
    ]
    for found, expected in (
        ([run.with_z[0, 0] for run in runs], drift),
        ([run.squares[0, 0] for run in runs], noise),
    ):
        spread = np.std(found, ddof=1) / 4
        # Seven standard errors of 16 runs: once in 1e5; the seeds are fixed.
        assert abs(np.mean(found) - expected) < 7 * spread + 0.0005
        assert spread < 0.006


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "rmsprop", "betas": (0.9, 0.9)},
        {"optimizer": "adam", "betas": (0.8, 0.9)},
        {"optimizer": "adam", "betas": (0.6, 0.9), "batch_size": 3},
    ],
)
def test_coordinates_with_memory_against_the_network(settings):
    """Two neurons in 1500 dimensions; corrections to the limit are of the order of 1/d."""
    same = {"width": 2, "activation": "tanh(z + 0.3)", "init": TWO, **settings}
    flow = gd.predict("z1 + z1*z2", "sgd_flow", time=[1], step_size=0.3, points=2**15, **same)
    run = gd.dynamics.sgd(
        "z1 + z1*z2", d=1500, steps=1500, step_size=0.3 / 1500, record=[1500], replicates=24,
        method="direct", progress=False, **same,
    ).isel(step=0)  # fmt: skip
    for name in ("overlap", "norm"):
        mean, spread = run[name].mean("replicate"), run[name].std("replicate") / np.sqrt(24)
        gap = abs(mean - flow[name].isel(time=0))
        assert (gap < 5 * spread + flow[f"{name}_err"].isel(time=0) + 0.008).all()


def test_what_the_flow_does_not_cover():
    uneven = {"eigenvalues": [2.0, 1.0], "fractions": [0.5, 0.5]}
    for settings, message in [
        ({"optimizer": "adam", "betas": (0.9, 0.9999)}, "memories betas up to 0.999, got 0.9999"),
        ({"optimizer": "muon", "orthogonalize": "newton_schulz"}, "orthogonalize='polar'"),
        ({"momentum_rate": 1.0, "weight_decay": 0.1}, "momentum_rate is computed without"),
        ({"batch_ratio": 1.0, "covariance": uneven}, "batch_ratio is computed for isotropic"),
        ({"batch_ratio": 1.0, "momentum": 0.5}, "batch_ratio is computed for rule='plain'"),
        ({"covariance": uneven, "rule": "k_steps"}, "covariance is computed for rule='plain'"),
    ]:
        with pytest.raises(gd.OutOfRegime, match=message):
            gd.predict("He2(z)", "sgd_flow", time=[1], width=1, step_size=0.1, **settings)
    for settings, message in [
        ({"loss": "logistic"}, "needs labels -1 and 1"),
        ({"momentum_rate": 1.0, "momentum": 0.9}, "momentum_rate stands for momentum = 1 -"),
        ({"momentum_rate": 1.0, "geometry": "spherical"}, "the buffer is not transported"),
        ({"momentum_rate": -1.0}, "momentum_rate must be a number > 0, got -1.0"),
        ({"batch_ratio": 1.0, "batch_size": 4}, "give batch_size, a number of samples, or"),
        ({"batch_ratio": 1.0, "time": [1.5]}, "the number of updates, which must be whole"),
        ({"covariance": uneven, "clip_norm": 1.0}, "the mean eigenvalue must be 1"),
        ({"covariance": uneven, "optimizer": "sign"}, "'sign' needs eigenvectors"),
    ]:
        arguments = {"time": [1], "width": 1, "step_size": 0.1} | settings
        with pytest.raises(gd.BadData, match=message):
            gd.predict("He2(z)", "sgd_flow", **arguments)

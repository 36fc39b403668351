"""Optimizers in d dimensions: updates written out, and their limits."""

import numpy as np
import pytest

import gradone as gd
from gradone.dynamics._chain import Problem, Records
from gradone.dynamics._direct import DirectRun
from gradone.targets.training import read_training


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "sign", "loss": "huber", "clip_norm": 0.7, "weight_decay": 0.1},
        {"optimizer": "rmsprop", "batch_size": 3, "betas": (0.9, 0.8)},
        {"optimizer": "adam", "betas": (0.6, 0.8), "schedule": "1 - t", "batch_size": 2},
    ],
    ids=lambda s: s["optimizer"],
)
@pytest.mark.usefixtures("plain_python")
def test_updates_are_those_written_out(settings):
    d, steps, b = 12, 6, settings.get("batch_size", 1)
    student = read_training(
        gd.Student(2, "tanh(z)", init="orthogonal"), step_size=0.02, optimizers=True, **settings
    )
    problem = Problem(gd.Target("He2(z1) + z2", noise=0.3), student, d, steps, 5, np.array([steps]))
    run = DirectRun(problem, 0, Records.empty(problem, 1).of(0))
    W, hidden = run.networks[0].W.copy(), run.hidden
    run._rng = {name: np.random.default_rng(i) for i, name in enumerate(run._rng)}
    run.advance()
    X = np.random.default_rng(0).standard_normal((steps * b, d), dtype=np.float32).astype(float)
    z = X @ hidden.T
    y = z[:, 0] ** 2 - 1 + z[:, 1] + np.sqrt(0.3) * np.random.default_rng(1).standard_normal(len(X))
    m, v, (one, two) = np.zeros((2, d)), np.zeros((2, d)), student.betas
    for t in range(steps):
        x, label = X[b * t : b * t + b], y[b * t : b * t + b]
        h = np.tanh(x @ W.T)
        e = label - h @ [1.0, -1.0]
        e = np.clip(e, -1, 1) if student.loss == "huber" else e
        G = (e[:, None] * [1.0, -1.0] * (1 - h**2)).T @ x / b
        G = G * min(1.0, (student.clip_norm or np.inf) / np.linalg.norm(G))
        m, v = one * m + (1 - one) * G, two * v + (1 - two) * G**2
        S = {
            "sign": np.sign(G),
            "rmsprop": G / (np.sqrt(v) + 1e-8),
            "adam": m / (1 - one ** (t + 1)) / (np.sqrt(v / (1 - two ** (t + 1))) + 1e-8),
        }[student.optimizer]
        eta = 0.02 * (1 - t / steps if student.schedule else 1.0)
        W = (1 - eta * student.weight_decay) * W + eta * S
    np.testing.assert_allclose(run.networks[0].W, W, atol=1e-9)


TOGETHER = {"d": 12, "student": gd.Student(2, "tanh(z)"), "steps": 40, "step_size": 0.02,
            "batch_size": 2, "train_readout": 0.1, "schedule": "1 - t", "record": [0, 7, 40],
            "replicates": 3, "method": "direct", "progress": False}  # fmt: skip
NOISY = gd.Target("He2(z1) + z2", noise=0.3)


@pytest.mark.usefixtures("plain_python")
def test_several_optimizers_on_the_same_samples_are_their_own_runs():
    """Would catch: samples that are drawn again, moments or readouts that two networks share."""
    names = ["rmsprop", "adam"]
    together = gd.dynamics.sgd(NOISY, **TOGETHER, optimizers=names)
    assert together.overlap.dims == ("replicate", "step", "optimizer", "neuron", "direction")
    for name in names:
        alone = gd.dynamics.sgd(NOISY, **TOGETHER, optimizer=name)
        for quantity in alone.data_vars:
            np.testing.assert_array_equal(
                together[quantity].sel(optimizer=name), alone[quantity], strict=True
            )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": "sign"}, "or several of them as optimizers="),
        ({"optimizers": ["adam", "adam"]}, "optimizers must be different names"),
        ({"optimizers": ["adam", "muon"]}, "'muon' has an exact reduction"),
        ({"method": "exact"}, "share their samples with method='direct' only"),
        ({"step_size": "auto"}, "several optimizers need step_size and steps"),
    ],
)
def test_several_optimizers_that_are_refused(changes, message):
    arguments = TOGETHER | {"optimizers": ["rmsprop", "adam"]} | changes
    with pytest.raises(gd.BadData, match=message):
        gd.dynamics.sgd(NOISY, **arguments)


@pytest.mark.usefixtures("plain_python")
def test_one_of_several_optimizers_that_diverges_is_named():
    with pytest.raises(gd.NotConverged, match=r"the weights of '.*' of replicate . diverged"):
        gd.dynamics.sgd(
            NOISY, **TOGETHER | {"step_size": 1e9, "schedule": None}, optimizers=["rmsprop", "adam"]
        )


@pytest.mark.slow
def test_signs_follow_their_flow():
    """sign-SGD along spread-out directions against the effective pushes, d = 1000."""
    settings = {"width": 1, "optimizer": "sign", "init": {"M": [[0.2]]}}
    target = gd.Target("z + He2(z)/2", noise=0.25)
    run = gd.dynamics.sgd(
        target, d=1000, steps=3000, step_size=0.4 / 1000, record=[1000, 3000], replicates=12,
        method="direct", progress=False, **settings,
    )  # fmt: skip
    flow = gd.predict(target, "sgd_flow", time=[1, 3], step_size=0.4, **settings)
    M = run.overlap.values[:, :, 0, 0]
    error = M.std(axis=0, ddof=1) / np.sqrt(len(M))
    gap = np.abs(M.mean(axis=0) - flow.overlap.values[:, 0, 0])
    assert (gap < 5 * error + 3 / 1000).all()  # corrections of order 1/d
    assert (error < 0.01).all()


@pytest.mark.slow
def test_effective_signs_have_the_moments_of_the_network():
    """Two neurons, batches of three, d = 300: means and spreads of overlaps and norms.

    Means agree to 6 standard errors of 400 runs each and corrections of order 1/d, the spreads of
    the overlaps on average to 0.13, five standard errors; without the noise zeta they would be
    smaller by the factor sqrt(2/pi) = 0.8.
    """
    runs = {
        method: gd.dynamics.sgd(
            "z1 + z1*z2", d=300, steps=300, step_size=0.4 / 300, width=2, batch_size=3,
            activation="tanh(z + 0.3)", optimizer="sign", method=method, record=[300],
            init={"M": [[0.1, 0.2], [-0.2, 0.1]]}, replicates=400, progress=False,
        ).isel(step=0)
        for method in ("direct", "effective")
    }  # fmt: skip
    for name in ("overlap", "norm"):
        direct, effective = (run[name] for run in runs.values())
        error = np.sqrt((direct.var("replicate") + effective.var("replicate")) / 400)
        gap = abs(direct.mean("replicate") - effective.mean("replicate"))
        assert (gap < 6 * error + 2 / 300).all()
    spread, expected = (runs[name].overlap.std("replicate") for name in ("effective", "direct"))
    assert abs(np.log(spread / expected).mean()) < 0.13


@pytest.mark.usefixtures("plain_python")
def test_effective_signs_move_as_far_as_signs_do():
    """One sample, one neuron: every update has the squared length d, and the norm shows it."""
    run = gd.dynamics.sgd(
        "z1 + z1*z2", d=50, steps=1, step_size=10.0, width=1, activation="tanh(z + 0.3)",
        optimizer="sign", method="effective", record=[1], replicates=40, progress=False,
    )  # fmt: skip
    # |w + 10 s|^2 = 1 + 20 <w, s> + 5000, and <w, s> is standard normal.
    along = (run.norm.values.ravel() - 5001) / 20
    assert np.abs(along).max() < 5
    assert 0.5 < along.std() < 1.5


def test_which_method_is_for_which_optimizer():
    arguments = {"d": 50, "steps": 5, "step_size": 0.01, "width": 1}
    for optimizer, method, message in [
        (
            "sign",
            "exact",
            r"O\(d width\) per step, or method='effective', the limit for spread-out",
        ),
        ("adam", "exact", "'adam' treats coordinates separately: no exact reduction"),
        ("adam", "effective", "method='effective' is known for 'sign' only"),
    ]:
        with pytest.raises(gd.OutOfRegime, match=message):
            gd.dynamics.sgd("z", optimizer=optimizer, method=method, **arguments)
    with pytest.raises(gd.BadData, match="'muon' has an exact reduction"):
        gd.dynamics.sgd("z", optimizer="muon", method="effective", **arguments)

"""Which algorithms notice that the inputs are not Gaussian: the table of the note on inputs."""

import math

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge

import gradone as gd

from . import first_gradient

WIDTH, STEP, BATCH, D = 400, 0.1, 2000, 200
# The flow with the same steps, width -> infinity and then d -> infinity, at times 3, 5 and 8.
GAUSSIAN = [0.545, 0.273, 0.189]
POWER_LAW = gd.inputs.gaussian(power_law=0.5, d=D)
MIXTURE = gd.inputs.mixture([0.5, 0.5], [[1.0], [-1.0]])


def within(values, wanted, allowance):
    """Mean of replicates within what is exceeded once in a million, and a finite-size part."""
    values = np.asarray(values).ravel()
    error = values.std(ddof=1) / math.sqrt(len(values))
    quantile = student.ppf(1 - 5e-7, len(values) - 1)
    assert abs(values.mean() - wanted) < quantile * error + allowance, (values.mean(), error)


def wide_network(target, times, law, directions):
    """Ratios of the errors of a wide network at some times to those of the flow."""
    signs = np.tile([1.0, -1.0], WIDTH // 2)
    return gd.simulate(
        target, "online_sgd", d=D, n=[round(time / STEP) * BATCH for time in times],
        width=WIDTH, readout=signs / WIDTH, step_size=STEP * WIDTH, train_readout=STEP / WIDTH,
        activation="relu(z)", batch_size=BATCH, standardize=False, shuffle=False,
        replicates=6, dtype="float32", inputs=law, directions=directions, progress=False,
    ).test_mse.mean("replicate").values  # fmt: skip


# Runs differ by 3 % (measured); six of them, 4.9 standard errors, and 4 % for 1/d, 1/width and
# batches of 2000.
TOLERANCE = 0.04 + 4.9 * 0.03 / math.sqrt(6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "directions", "errors"),
    [
        ("gaussian", "random", GAUSSIAN),
        ("rademacher", "random", GAUSSIAN),
        ("uniform", "random", GAUSSIAN),
        ("sphere", "random", GAUSSIAN),
        ("rademacher", "axes", [0.307, 0.0480, 0.0104]),
        ("uniform", "axes", [0.443, 0.154, 0.087]),
    ],
)
def test_a_wide_network_sees_the_law_on_axes_alone(law, directions, errors):
    """One pass over fresh batches, both layers. On axes errors are up to twenty times smaller."""
    found = wide_network("z1 + z1*z2", [3, 5, 8], law, directions)
    assert (abs(found / errors - 1) < TOLERANCE).all(), found


@pytest.mark.slow
def test_a_wide_network_under_a_power_law():
    """Directions 3 and 31, of variances 4.3 and 1.3, with standardized projections."""
    first, second = np.sqrt(POWER_LAW.covariance(D)[[2, 30]])
    target = f"z1/{first!s} + z1*z2/{first * second!s}"
    found = wide_network(target, [1, 2, 3, 5, 8], POWER_LAW, [2, 30])
    assert (abs(found / [0.818, 0.500, 0.351, 0.227, 0.176] - 1) < TOLERANCE).all(), found


@pytest.mark.slow
def test_a_wide_network_on_a_mixture():
    """Means of -1 and 1 along the first direction."""
    found = wide_network("z1 + z1*z2", [1, 2, 3, 5], MIXTURE, "axes")
    assert (abs(found / [2.071, 0.930, 0.591, 0.385] - 1) < TOLERANCE).all(), found


@pytest.mark.slow
@pytest.mark.parametrize("law", ["rademacher", "laplace"])
def test_message_passing_does_not_see_the_law(law):
    """State evolution of Gaussian inputs, .52436, in random directions; d = 1000."""
    target = "sign(z + sqrt(0.5)*xi)"
    theory = gd.predict(target, "bayes_amp", alpha=2.0, inputs=law)
    assert theory.overlap.item() == pytest.approx(0.52435609, abs=1e-6)
    found = gd.simulate(
        target, "bayes_amp", d=1000, alpha=2.0, replicates=24, inputs=law, test_samples=10,
        progress=False,
    )  # fmt: skip
    within(found.cosine2, 0.52435609, 3 / 1000)


def cosine_of_few(linear, square, ratio):
    """c_1/sqrt(c_1^2 + E y^2 d/n)."""
    return abs(linear) / np.sqrt(linear**2 + square / ratio)


@pytest.mark.stat
def test_the_first_gradient_of_a_cubic_on_heavy_tails():
    """He3 on a Laplace coordinate: .6030 for n -> infinity, and more at n = 1600.

    There the mean of y^2 is far from its expectation 63, whose estimate has a standard error of
    68: the mean cosine is that of the sums of 1600 numbers, drawn here without the package.
    """
    assert cosine_of_few(3.0, 63.0, 4.0) == pytest.approx(0.6030, abs=5e-5)
    z = np.random.default_rng(8).laplace(0.0, math.sqrt(0.5), (4000, 1600))
    y = z**3 - 3 * z
    y = y - y.mean(axis=1, keepdims=True)
    wanted = cosine_of_few((y * z).mean(axis=1), (y**2).mean(axis=1), 4.0).mean()
    found = gd.simulate(
        "He3(z)", first_gradient.FirstGradient(), d=400, alpha=4.0, replicates=64,
        inputs="laplace", directions="axes", test_samples=2, progress=False,
    )  # fmt: skip
    within(np.sqrt(found.cosine2), wanted, 1 / 400)


@pytest.mark.stat
@pytest.mark.parametrize("law", ["gaussian", "rademacher", "uniform", "laplace"])
def test_the_first_gradient_of_a_cubic_in_random_directions(law):
    """Nothing is seen: the mean |cosine| is that of chance.

    The component along the direction has the variance E[y^2 z^2]/n = 42/n, the others have
    E[y^2]/n = 6/n each: (2/pi)^(1/2) (42/(42 + 6 d))^(1/2) = .105. On axes it is .60 to .89.
    The allowance is for the tails of y^2 and for E[y z] of order 1/d.
    """
    found = gd.simulate(
        "He3(z)", first_gradient.FirstGradient(), d=400, alpha=4.0, replicates=32, inputs=law,
        test_samples=2, progress=False,
    )  # fmt: skip
    wanted = math.sqrt(2 / math.pi * 42 / (42 + 6 * 400))
    within(np.sqrt(found.cosine2), wanted, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("directions", "error"), [("axes", 1.279), ("random", 7.63)])
def test_random_features_learn_a_cubic_on_axes_alone(directions, error):
    """Uniform inputs; relative corrections of order 1/d with a factor of three."""
    found = gd.simulate(
        "He3(z)", "random_features", d=300, alpha=3.0, width_ratio=1.0, ridge=0.1,
        activation="tanh(z)", replicates=32, inputs="uniform", directions=directions,
        progress=False,
    )  # fmt: skip
    within(found.test_mse, error, 3 / 300 * error)


@pytest.mark.stat
@pytest.mark.parametrize(
    ("target", "errors"),
    [
        pytest.param("z1", [0.219, 0.216, 0.206], marks=pytest.mark.slow),
        ("z1 + z2*z3", [0.242, 0.225, 0.211]),
    ],
)
def test_a_kernel_on_rows_of_digits(target, errors):
    """Within ten percent of the theory of its covariance, and as measured once before.

    That measurement had errors of 2 %, on other draws of rows and noise.
    """
    law = gd.inputs.rows(load_digits().data)
    length2 = 9.0 * law.d  # l = 3 for inputs of trace 1
    on = gd.Target(target, noise=0.1).on(law, "axes")
    sizes = [200, 400, 800]
    found = gd.simulate(
        on, KernelRidge(kernel="rbf", gamma=0.5 / length2, alpha=1e-4), d=law.d, n=sizes,
        replicates=16, test_samples=449, progress=False,
    ).test_mse  # fmt: skip
    theory = gd.theory.anisotropic_ridge(
        on, n=sizes, ridge=1e-4, length=math.sqrt(length2), degree=3
    ).test_mse.values.ravel()
    for i, measured in enumerate(errors):
        values = found.isel(n=i).values
        within(values, theory[i], 0.1 * values.mean())
        within(values, measured, 4.9 * 0.02 * measured)


@pytest.mark.stat
@pytest.mark.parametrize("target", ["z1", "z1 + z2*z3"])
def test_random_features_on_rows_of_digits(target):
    """Within the stated error, a tenth; by the covariance of the inputs the second is twice off."""
    law = gd.inputs.rows(load_digits().data)
    run = {"alpha": [2.0, 8.0], "width_ratio": 2.0, "ridge": 0.1, "activation": "tanh(z)"}
    on = gd.Target(target, noise=0.1).on(law, "axes")
    theory = gd.predict(on, "random_features", **run)
    assert "not Gaussian: the stated error is ten percent" in theory.attrs["notes"]
    found = gd.simulate(on, "random_features", d=law.d, replicates=16, progress=False, **run)
    for i in range(2):
        within(found.test_mse.isel(alpha=i), theory.test_mse.values[i].item(),
               0.1 * theory.test_mse.values[i].item())  # fmt: skip


def plain_network(rows, eigenvalues, *, width, batch, dt, steps, seed):
    """Risk and mean overlaps (2, r) of the neurons of each readout, by plain NumPy: z1 + z1*z2."""
    rng = np.random.default_rng(seed)
    root, signs = np.sqrt(eigenvalues), np.where(np.arange(width) % 2, 1.0, -1.0)
    W, a = rng.standard_normal((width, len(root))), signs.copy()
    W /= np.linalg.norm(W, axis=1, keepdims=True)

    def sample(n):
        X = rng.standard_normal((n, len(root))) * root
        z = X @ rows.T
        return X, z[:, 0] + z[:, 0] * z[:, 1]

    for _ in range(steps):
        X, y = sample(batch)
        fields = X @ W.T
        active = np.maximum(fields, 0)
        error = (y - active @ a / width) / batch
        push = ((fields > 0) * error[:, None]).T @ X
        a, W = a + dt * (error @ active), W + dt * a[:, None] * push
    X, y = sample(20_000)
    risk = np.mean((y - np.maximum(X @ W.T, 0) @ a / width) ** 2)
    u = W @ rows.T
    return risk, np.array([u[signs < 0].mean(axis=0), u[signs > 0].mean(axis=0)])


@pytest.mark.slow
def test_a_wide_network_under_a_covariance_whose_eigenvectors_are_not_the_directions():
    """Power law, d = 200, one random pair of rows: neurons of both readouts move differently.

    Without what they share beyond z the overlaps would be seven percent larger. Finite steps,
    width and dimension leave two percent in u_1, three in u_2 and five in the risk; runs differ by
    1, 3 and 3 percent (measured).
    """
    law, runs = gd.inputs.gaussian(power_law=0.5, d=D), 6
    rows = np.linalg.qr(np.random.default_rng(0).standard_normal((D, 2)))[0].T
    flow = gd.predict("z1 + z1*z2", "mean_field", time=3.0, inputs=law, directions=rows)
    network = {"width": 400, "batch": 4000, "dt": 0.05, "steps": 60}
    found = [plain_network(rows, law.covariance(D), seed=seed, **network) for seed in range(runs)]
    risk, overlap = (np.mean(part, axis=0) for part in zip(*found, strict=True))
    u = flow.overlap.values[0]
    for ratio, allowed, spread in [
        (overlap[:, 0] / u[:, 0], 0.02, 0.01),
        (overlap[:, 1] / u[:, 1], 0.03, 0.03),
        (risk / flow.test_mse.item(), 0.05, 0.03),
    ]:
        assert (np.abs(ratio - 1) < allowed + 4.9 * spread / math.sqrt(runs)).all()

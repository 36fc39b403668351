"""Posterior of single samples: closed forms, identities, sums that share no code, independence.

To cover another target add a row to CASES: text, noise.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import erf, ndtr

from gradone import BadData, OutOfRegime, Target
from gradone.base.seeds import stream
from gradone.channels.samples.channel import SampleChannel
from gradone.channels.samples.crossing_kernel import add_crossings
from gradone.channels.samples.formulas import formulas
from gradone.channels.samples.grids import lattice, root

# One of each kind: regions, affine formulas, one variable, a lattice, level sets; with latent
# noise, which is a variable like the others.
CASES = [
    ("sign(z1*z2)", 0.0),
    ("sign(z1) + sign(z2)", 0.5),
    ("sign(z1**2 + z2**2 - 1)", 0.0),
    ("sign(z1*z2*z3)", 0.0),
    ("relu(z1)", 0.0),
    ("max(z1, z2)", 0.1),
    ("relu(z1) + relu(z2)", 0.01),
    ("abs(z1) - 2*z2", 0.0),
    ("sign(z1*z2) + z3/2", 0.2),
    ("He3(z1)", 0.0),
    ("He3(z1)", 0.01),
    ("z1**2 + sign(z1*z2*z3)", 0.0),
    ("z1**2 + sign(z1*z2)", 0.05),
    ("z1*z2", 0.1),
    ("tanh(z1*z2) + 0.5*z3", 0.05),
    ("z1**2 - z2**2", 0.05),
    ("tanh(z1*z2)", 0.0),
    ("z1**2 + z2**2", 0.0),
    ("He3(z1) + z2**2", 0.01),
    ("sin(3*z1) + z2**2", 0.001),
    ("z1**2*z2**2", 0.001),
    ("z1*z2 + z3**2", 0.0),
    ("sign(z1*z2 + 0.3*xi)", 0.0),
    ("z1*z2*exp(0.2*xi)", 0.0),
]
COVARIANCE = np.array(
    [[0.5, 0.2, -0.1, 0.1], [0.2, 0.7, 0.15, 0.0], [-0.1, 0.15, 0.4, 0.05], [0.1, 0.0, 0.05, 0.6]]
)


def case(text, noise, n=12):
    """Labels drawn from a target, prior means, covariance."""
    target = Target(text, noise=noise)
    V = COVARIANCE[: target.r, : target.r]
    rng = stream(0, "test", text=text, noise=noise)
    omega = 0.8 * rng.standard_normal((n, target.r))
    z = omega + rng.standard_normal((n, target.r)) @ np.linalg.cholesky(V).T
    return target, np.asarray(target.channel.draw(z, rng)), omega, V


# ---- closed forms


def test_parity_with_independent_directions():
    r""":math:`Z = (1 + y \prod_i \mathrm{erf}(\omega_i/\sqrt{2 V_i}))/2`."""
    V, omega = np.diag([0.3, 0.8]), np.array([[0.4, -0.7], [1.5, 0.2], [-0.1, 0.05]])
    y = np.array([1.0, -1.0, 1.0])
    e = erf(omega / np.sqrt(2 * np.diag(V)))
    slope = 2 * np.exp(-(omega**2) / (2 * np.diag(V))) / np.sqrt(2 * math.pi * np.diag(V))
    Z = (1 + y * e.prod(axis=1)) / 2
    g = y[:, None] * slope * e[:, ::-1] / (2 * Z[:, None])
    found = SampleChannel(Target("sign(z1*z2)"), resolution=3).posterior(y, omega, V)
    np.testing.assert_allclose(found.log_z, np.log(Z), atol=2e-4)
    np.testing.assert_allclose(found.g, g, atol=2e-4)


def test_phase_retrieval():
    y, omega, V = np.array([4.0, 0.01]), np.array([[0.3], [-1.2]]), 0.5
    size = np.sqrt(y)
    g = (size * np.tanh(size * omega[:, 0] / V) - omega[:, 0]) / V
    found = SampleChannel(Target("z**2")).posterior(y, omega, np.array([[V]]))
    np.testing.assert_allclose(found.g[:, 0], g, rtol=1e-9)
    # The derivative of g: the variance of a sign.
    dg = (size**2 / np.cosh(size * omega[:, 0] / V) ** 2 / V - 1) / V
    np.testing.assert_allclose(found.dg[:, 0, 0], dg, rtol=1e-9)


def test_probit_labels():
    """Latent noise is one more variable of which nothing is ever known."""
    D, V, omega = 0.5, 0.4, np.array([0.3, -1.0, 2.5])
    y = np.array([1.0, 1.0, -1.0])
    t = y * omega / math.sqrt(V + D)
    g = y * np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi * (V + D)) / ndtr(t)
    channel = SampleChannel(Target("sign(z1 + sqrt(0.5)*xi)"))
    found = channel.posterior(y, omega[:, None], np.array([[V]]))
    np.testing.assert_allclose(found.log_z, np.log(ndtr(t)), atol=1e-12)
    np.testing.assert_allclose(found.g[:, 0], g, rtol=1e-10)


def test_noise_inside_a_square():
    r""":math:`g = (|t|\tanh(|t|\omega/W) - \omega)/W` with W = V + D and t^2 = y."""
    y, omega, W = np.array([2.0, 0.3]), np.array([0.4, -1.1]), 0.6 + 0.25
    size = np.sqrt(y)
    found = SampleChannel(Target("(z + xi/2)**2")).posterior(y, omega[:, None], np.array([[0.6]]))
    g = (size * np.tanh(size * omega / W) - omega) / W
    np.testing.assert_allclose(found.g[:, 0], g, rtol=1e-9)


def test_latent_noise_is_a_direction_of_which_nothing_is_known():
    y, omega = np.array([0.4, -1.2, 2.0]), np.array([[0.3], [-0.8], [1.0]])
    hidden = SampleChannel(Target("z1*exp(xi/2)")).posterior(y, omega, np.array([[0.5]]))
    seen = SampleChannel(Target("z1*exp(z2/2)")).posterior(
        y, np.column_stack([omega, np.zeros(3)]), np.diag([0.5, 1.0])
    )
    np.testing.assert_allclose(hidden.log_z, seen.log_z, atol=1e-12)
    np.testing.assert_allclose(hidden.g[:, 0], seen.g[:, 0], atol=1e-12)
    np.testing.assert_allclose(hidden.dg[:, 0, 0], seen.dg[:, 0, 0], atol=1e-12)


def test_square_plus_parity():
    r"""Roots :math:`z_1 = \pm\sqrt{y - s}`, each with the probability of its sign of z2 z3."""
    V, omega, y = np.diag([0.4, 0.3, 0.8]), np.array([[0.5, 0.4, -0.7]]), 2.5
    e = erf(omega[0, 1:] / np.sqrt(2 * np.diag(V)[1:])).prod()
    Z = first = 0.0
    for s in (1, -1):
        for side in (1, -1):
            z1 = side * math.sqrt(y - s)
            density = math.exp(-((z1 - 0.5) ** 2) / 0.8) / math.sqrt(0.8 * math.pi)
            weight = density / (2 * abs(z1)) * (1 + s * side * e) / 2
            Z, first = Z + weight, first + weight * (z1 - 0.5)
    channel = SampleChannel(Target("z1**2 + sign(z1*z2*z3)"), resolution=2)
    found = channel.posterior(np.array([y]), omega, V)
    assert found.log_z[0] == pytest.approx(math.log(Z), abs=3e-4)
    assert found.g[0, 0] == pytest.approx(first / Z / 0.4, abs=1e-3)


def test_linear_labels_are_gaussian_whatever_they_are():
    """Also far from what was expected: nothing underflows."""
    target, V = Target("z1 - 2*z2", noise=0.3), COVARIANCE[:2, :2]
    b, omega = np.array([1.0, -2.0]), np.zeros((1, 2))
    D = 0.3 + b @ V @ b
    found = SampleChannel(target).posterior(np.array([500.0]), omega, V)
    np.testing.assert_allclose(found.g[0], b * 500 / D, rtol=1e-12)
    np.testing.assert_allclose(found.dg[0], -np.outer(b, b) / D, rtol=1e-10)
    assert found.log_z[0] == pytest.approx(-(500**2) / (2 * D) - math.log(2 * math.pi * D) / 2)


# ---- identities


@pytest.mark.parametrize(("text", "noise"), CASES)
def test_a_sample_does_not_see_the_others(text, noise):
    """Would catch: a lattice chosen by the spread of all samples, which moved g by 2e-3."""
    target, y, omega, V = case(text, noise)
    channel = SampleChannel(target)
    whole = channel.posterior(y, omega, V)
    alone = [channel.posterior(y[i : i + 1], omega[i : i + 1], V) for i in range(len(y))]
    for together, *single in zip(whole, *alone, strict=True):
        np.testing.assert_allclose(np.concatenate(single), together, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("text", "noise"), CASES)
def test_g_is_the_gradient_of_the_log_evidence(text, noise):
    """And dg is the derivative of g. Would catch: V in place of its inverse, a lost g g^T."""
    target, y, omega, V = case(text, noise, n=4)
    channel = SampleChannel(target, resolution=1)
    out = channel.posterior(y, omega, V)
    scale = math.sqrt(np.linalg.eigvalsh(V)[0])
    step = 0.3 * scale
    gradient, jacobian = np.zeros_like(out.g), np.zeros_like(out.dg)
    for i in range(channel.r):
        for k, weight in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)):
            moved = omega.copy()
            moved[:, i] += k * step
            at = channel.posterior(y, moved, V)
            gradient[:, i] += weight * at.log_z / step
            jacobian[:, :, i] += weight * at.g / step
    # Differences magnify the error of the rule by scale/step; the formula leaves step^4/30.
    allowed = (30 * out.error.max() + 3e-3) / scale
    assert np.abs(gradient - out.g).max() < allowed + 3e-3 * np.abs(out.g).max()
    assert np.abs(jacobian - out.dg).max() < allowed / scale + 0.03 * np.abs(out.dg).max()


@pytest.mark.parametrize(("text", "noise"), CASES)
def test_stated_errors_are_honest(text, noise):
    """Against rules with half the step everywhere: beyond three times the error almost never."""
    target, y, omega, V = case(text, noise, n=40)
    rough, fine = (SampleChannel(target, resolution=i).posterior(y, omega, V) for i in (0, 1))
    S = root(V)
    mean = np.abs((rough.g - fine.g) @ S).max(axis=1)
    covariance = np.abs(S @ (rough.dg - fine.dg) @ S).max(axis=(1, 2))
    evidence = np.abs(rough.log_z - fine.log_z)
    ratio = np.maximum(evidence, np.maximum(mean, covariance)) / (rough.error + 1e-9)
    assert np.mean(ratio > 3) <= 0.05


# ---- sums that share nothing with the rules


@pytest.mark.parametrize(
    ("text", "noise"), [row for row in CASES if row[1] >= 0.01 and "z3" not in row[0]]
)
def test_noisy_labels_against_a_plain_sum(text, noise):
    """Over 1.4e6 points on a square: the definition of the posterior.

    Where the function jumps, the sum itself is right to the square of its step only.
    """
    target, y, omega, V = case(text, noise, n=4)
    found = SampleChannel(target).posterior(y, omega, V)
    line = np.linspace(-6, 6, 1201 if target.r == 2 else 20001)
    x = np.stack(np.meshgrid(*[line] * target.r), axis=-1).reshape(-1, target.r)
    S = root(V)  # no jump is parallel to an axis of the grid
    prior = np.exp(-(x**2).sum(axis=1) / 2)
    for i in range(len(y)):
        weight = prior * np.exp(-((y[i] - target(omega[i] + x @ S.T)) ** 2) / (2 * noise))
        g = np.linalg.solve(S.T, weight @ x / weight.sum())
        allowed = 3 * found.error[i] + (line[1] - line[0]) ** 2
        np.testing.assert_allclose(found.g[i] @ S, g @ S, atol=allowed)


@pytest.mark.parametrize(
    "text", ["sign(z1**2 + z2**2 - 1)", "tanh(z1*z2)", "z1**2 + z2**2", "max(z1, z2)", "relu(z1)"]
)
def test_labels_without_noise_against_narrow_windows(text):
    """Points of a plain grid whose labels are close to the given one, or equal to it."""
    target, y, omega, V = case(text, 0.0, n=4)
    found = SampleChannel(target).posterior(y, omega, V)
    line = np.linspace(-5.5, 5.5, 1801 if target.r == 2 else 200001)
    x = np.stack(np.meshgrid(*[line] * target.r), axis=-1).reshape(-1, target.r)
    S = np.linalg.cholesky(V)
    prior = np.exp(-(x**2).sum(axis=1) / 2)
    for i in range(len(y)):
        labels = target(omega[i] + x @ S.T)
        is_atom = np.mean(labels == y[i]) > 1e-3
        window = np.exp(-(((labels - y[i]) / 0.01) ** 2) / 2)
        weight = prior * (labels == y[i] if is_atom else window)
        mean = weight @ x / weight.sum()
        np.testing.assert_allclose(found.g[i] @ S, mean, atol=3 * found.error[i] + 0.01)


def test_mean_and_most_probable_label(rng):
    for text in ("sign(z1) + sign(z2) + sign(z3)", "z1*z2 + sign(z3)", "z1**2"):
        target = Target(text)
        V = COVARIANCE[: target.r, : target.r]
        omega = rng.standard_normal((3, target.r))
        z = omega[:, None] + rng.standard_normal((10**5, target.r)) @ np.linalg.cholesky(V).T
        labels = target(z)
        spread = labels.std(axis=1) / math.sqrt(10**5)
        channel = SampleChannel(target)
        np.testing.assert_array_less(
            np.abs(channel.mean(omega, V) - labels.mean(axis=1)), 6 * spread + 5e-3
        )
        if target.channel.kind == "discrete":
            shares = [(row[:, None] == target.channel.values).mean(axis=0) for row in labels]
            chosen = target.channel.values[np.argmax(shares, axis=1)]
            np.testing.assert_array_equal(channel.most_probable(omega, V), chosen)


# ---- what cannot be


def test_impossible_labels_have_no_evidence():
    channel = SampleChannel(Target("z1**2 + z2**2"))
    found = channel.posterior(np.array([-1.0, 1e4]), np.zeros((2, 2)), np.eye(2))
    # The density of y is exp(-y/2)/2: no label is negative, and a large one is only unlikely.
    assert found.log_z[0] == -np.inf
    assert found.log_z[1] == pytest.approx(-5000 - np.log(2), abs=1e-6)
    assert not found.g.any()
    assert not found.dg[0].any()
    with pytest.raises(BadData, match=r"the label -1 in row 0 cannot come out.*between 0 and inf"):
        channel.check_labels(np.array([-1.0]))
    with pytest.raises(BadData, match=r"which takes the values -1, 1"):
        SampleChannel(Target("sign(z)")).check_labels(np.array([1.0, 0.5]))
    with pytest.raises(OutOfRegime, match="integral over 5 variables, at most 4"):
        SampleChannel(Target("z1*z2*z3*z4*z5"))


def test_a_narrow_prior_changes_nothing_but_the_scale():
    """Bayes-AMP goes down to variances of 1e-6."""
    target = Target("z1**2 + z2**2")
    omega = np.array([[0.6, 0.8]])
    for scale in (1e-2, 1e-3):
        y = np.array([1 + 2 * scale])  # one deviation of the radius off
        found = SampleChannel(target).posterior(y, omega, scale**2 * np.eye(2))
        np.testing.assert_allclose(scale * found.g[0], [0.6, 0.8], atol=2 * scale + 0.01)
        np.testing.assert_allclose(
            scale**2 * found.dg[0], -np.outer(omega, omega), atol=2 * scale + 0.01
        )


# ---- compiled code


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_compiled_sums_are_those_of_their_source(noise, rng):
    grid = lattice(2, 0.8, 3.0)
    part = formulas(Target("z1**2 + sign(z2)*z2").expression)[0]
    values = np.ascontiguousarray(rng.standard_normal((3, len(grid.x))))
    conditions = np.ascontiguousarray(rng.standard_normal((1, 3, len(grid.x))))
    sides = np.array([float(part.conditions[0].sign)])
    y = np.array([0.1, -0.3, 0.7])
    results = []
    for function in (add_crossings, add_crossings.py_func):
        sums = np.zeros((3, 6))
        on = (grid.x, grid.after, grid.before, grid.axes, grid.h)
        function(values, conditions, sides, y, noise, *on, sums)
        results.append(sums)
    assert (results[0][:, 0] > 0).all()
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12)


def test_a_label_that_is_the_projection_says_all_at_every_prior_variance():
    """y = z: g = (y - omega)/V and dg = -1/V; what rounding leaves of the variance is no number."""
    channel, y, omega = SampleChannel(Target("z1")), np.array([0.3]), np.array([[-0.2]])
    for V in np.linspace(0.01, 1, 60):
        found = channel.posterior(y, omega, np.array([[V]]))
        assert found.g[0, 0] == pytest.approx(0.5 / V)
        assert found.dg[0, 0, 0] == pytest.approx(-1 / V)

"""The general rule for averages against closed forms, invariances and sampled posteriors."""

import numpy as np
import pytest
from scipy.special import erfc

import gradone as gd
from gradone.base.seeds import stream
from gradone.channels.averages.general import ChannelAverages
from gradone.channels.averages.moments import growth_matrix, total
from gradone.channels.rules import channel_averages


def information(text, M, noise=0.0):
    """J at an overlap matrix, and its stated error."""
    found, sources = ChannelAverages(gd.Target(text, noise=noise)).estimate(np.asarray(M, float))
    return found, total(sources)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_linear_target(q, noise):
    """y = z + noise: J = 1/(1 - q + noise), the log evidence is that of a Gaussian."""
    found, error = information("z", [[q]], noise)
    V = 1 - q + noise
    assert abs(found.information[0, 0] - 1 / V) < error.information[0, 0] < 1e-3 / V
    exact = -0.5 * np.log(2 * np.pi * np.e * V)
    assert abs(found.log_evidence - exact) < error.log_evidence + 1e-3
    assert found.test_mse == pytest.approx(V, abs=error.test_mse)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_a_noisy_sign(q):
    """sign(z + sqrt(D) xi): J = E[phi(t)^2/(Phi(t) Phi(-t))]/(1 - q + D) (latent noise)."""
    D = 0.5
    W = 1 - q + D
    v = np.linspace(-9, 9, 4001)
    weight = np.exp(-(v**2) / 2) / np.exp(-(v**2) / 2).sum()
    t = np.sqrt(q / W) * v
    chances = erfc(-t / np.sqrt(2)) * erfc(t / np.sqrt(2)) / 4
    exact = weight @ (np.exp(-(t**2)) / (2 * np.pi) / chances) / W
    found, error = information("sign(z + sqrt(0.5)*xi)", [[q]])
    assert abs(found.information[0, 0] - exact) < error.information[0, 0] < 2e-3 * exact


def test_the_square_of_a_noisy_index():
    """(z + sqrt(D) xi)^2 opens at (1 + D)^2/2: the growth rate at 0 is 2/(1 + D)^2."""
    channel = channel_averages(gd.Target("(z + sqrt(0.25)*xi)**2"))
    rate = channel.pairs(np.zeros((1, 1)), growth_matrix)[0, 0, 0, 0]
    assert rate == pytest.approx(2 / 1.25**2, rel=3e-3)


@pytest.mark.parametrize("text", ["z1*z2", "max(z1, z2)", "sign(z1 + z2**2 - 1)"])
def test_rotated_variables_give_the_rotated_matrix(text):
    c, s = np.cos(0.7), np.sin(0.7)
    R = np.array([[c, s], [-s, c]])
    turned = text.replace("z1", "(A)").replace("z2", "(B)")
    turned = turned.replace("A", f"{c:.16g}*z1 + {s:.16g}*z2").replace(
        "B", f"{c:.16g}*z2 - {s:.16g}*z1"
    )
    M = np.array([[0.5, 0.1], [0.1, 0.3]])
    plain, error = information(text, M, noise=0.1)
    other, more = information(turned, R.T @ M @ R, noise=0.1)
    slack = 2 * (error.information.max() + more.information.max())
    assert slack < 5e-3
    assert R @ other.information @ R.T == pytest.approx(plain.information, abs=slack)


def test_known_directions_are_conditioned_on():
    """z1^2 + sign(z1 z2 z3) with z1 known is sign(z2 z3)."""
    found = channel_averages(gd.Target("z1**2 + sign(z1*z2*z3)")).at(np.diag([1 - 1e-6, 0.3, 0.3]))
    plain = ChannelAverages(gd.Target("sign(z1*z2)")).at(np.diag([0.3, 0.3]))
    assert found.information[1:, 1:] == pytest.approx(plain.information, abs=2e-3)


@pytest.mark.parametrize("text", ["cos(7*z)", "sin(6*z) + z", "sign(z) + cos(4*z)"])
def test_errors_along_one_axis_cover_labels_of_many_branches(text):
    """J as a mean of squared output functions over a grid of prior means and of z.

    Would catch: errors that leave out the squared noise of few points in each slice of a branch
    (cos(7*z): 0.0082 +- 0.0052 for 1e-7), or what slices lose where branches begin.
    """
    from gradone.channels.samples.channel import SampleChannel

    target, m = gd.Target(text), 0.6
    omega, x = (np.linspace(-6, 6, n) for n in (31, 901))
    weight = np.exp(-np.add.outer(omega**2, x**2) / 2).ravel()
    means = np.repeat(np.sqrt(m) * omega, len(x))[:, None]
    y = target(means + np.sqrt(1 - m) * np.tile(x, len(omega))[:, None])
    g = SampleChannel(target).posterior(y, means, np.array([[1 - m]])).g[:, 0]
    found, error = information(text, [[m]])
    exact = weight @ g**2 / weight.sum()
    assert abs(found.information[0, 0] - exact) < error.information[0, 0] < 0.02


def sampled_information(target, M, count, rng):
    """J from the posteriors of single samples, and its standard error (entries)."""
    from gradone.channels.samples.channel import SampleChannel

    r = target.r
    omega = rng.standard_normal((count, r)) @ np.linalg.cholesky(M).T
    V = np.eye(r) - M
    z = omega + rng.standard_normal((count, r)) @ np.linalg.cholesky(V).T
    y = target(z) + np.sqrt(target.noise) * rng.standard_normal(count)
    g = SampleChannel(target).posterior(y, omega, V).g
    products = g[:, :, None] * g[:, None, :]
    return products.mean(axis=0), products.std(axis=0) / np.sqrt(count)


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "noise"), [("z1*z2", 0.1), ("relu(z1) + z2**2", 0.05), ("sign(z1*z2 + 0.4)", 0.0)]
)
def test_posteriors_of_single_samples_give_the_same(text, noise):
    """Two methods without common code; would catch a wrong measure of labels in either."""
    target, M = gd.Target(text, noise=noise), np.array([[0.4, 0.1], [0.1, 0.3]])
    J, spread = sampled_information(target, M, 4000, stream(0, "test", text=text))
    found, error = information(text, M, noise)
    assert (np.abs(found.information - J) < error.information + 5 * spread).all()


@pytest.mark.stat
@pytest.mark.parametrize(("text", "noise"), [("z1 + tanh(z1*z2)", 0.0), ("z1*z2", 0.01)])
def test_narrow_posteriors_of_different_widths(text, noise):
    """Narrower than any lattice; would catch a limit that holds for equal widths only."""
    target, M = gd.Target(text, noise=noise), np.diag([1 - 1e-3, 1 - 2e-2])
    J, spread = sampled_information(target, M, 20_000, stream(0, "test", text=text))
    found, error = information(text, M, noise)
    assert (np.abs(found.information - J) < error.information + 5 * spread).all()
    assert (np.diag(error.information) < 0.1 * np.diag(J)).all()


@pytest.mark.stat
@pytest.mark.parametrize("text", ["abs(z1)*abs(z2)", "sin(z1+z2**2)", "z1**3+z2"])
def test_stated_errors_cover_what_more_points_change(text):
    M = np.array([[0.6, 0.1], [0.1, 0.3]])
    (one, errors), (other, less) = (
        ChannelAverages(gd.Target(text), finer=finer).estimate(M) for finer in (0, 1)
    )
    allowed = total(errors).information + total(less).information
    assert (np.abs(one.information - other.information) <= allowed).all()
    assert total(errors).information.max() < 0.02 * one.information.max()


def test_what_is_kept_of_earlier_places_may_be_forgotten_at_any_time():
    """Next to a known frame, at more places than are kept."""
    averages = ChannelAverages(gd.Target("z1*z2"))
    tilt = 0.01 * np.array([[0.0, 1.0], [1.0, 0.0]])
    for share in np.linspace(0.2, 0.6, 40):
        M = np.diag([share, share / 2])
        found = averages.at(M + tilt, coarse=True).information
        if share == 0.6:
            np.testing.assert_allclose(found, averages.at(M + tilt).information, atol=0.01)


def test_growth_given_known_directions_has_the_symmetries_of_the_target():
    """Would catch: the noise of a cloud of known values that is taken for overlap off the axes."""
    channel = channel_averages(gd.Target("z1**2 + sign(z2**2 + z3**2 - z1**2)"))
    pairs = channel.pairs(np.diag([1 - 1e-6, 0.0, 0.0]), growth_matrix)
    assert pairs[1, 1, 1, 1] > 1e-2
    assert pairs[1, 1, 1, 1] == pytest.approx(pairs[2, 2, 2, 2], rel=1e-12)
    assert pairs[1, 1, 1, 2] == pytest.approx(0.0, abs=1e-12)

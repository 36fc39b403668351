"""State evolution of Bayes-AMP against closed forms, reference values and invariances."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf, erfc

import gradone as gd
from gradone.channels.averages.general import ChannelAverages
from gradone.channels.averages.moments import scaled
from gradone.theory.bayes._fixed_points import StateEvolution, overlap_step

sys.path.insert(0, str(Path(__file__).parents[2] / "channels"))
from test_boxes import parity_series

REFERENCE = [  # target, noise, alpha, eigenvalues of M, tolerance
    ("sign(z1*z2)", 0.0, 3.0, (0.242706, 0.242706), 1e-4),
    ("sign(z1*z2)", 0.0, 4.0, (0.643841, 0.643841), 1e-4),
    ("sign(z1*z2)", 0.0, 6.0, (0.896925, 0.896925), 1e-4),
    ("z**2", 0.0, 0.55, (0.023142,), 1e-4),
    ("z**2", 0.0, 0.7, (0.124120,), 1e-4),
    ("z**2", 0.0, 0.9, (0.330772,), 1e-4),
    ("z**2", 0.0, 1.0, (0.476264,), 1e-4),
    ("z1*z2", 0.1, 1.0, (0.1382, 0.1382), 5e-4),
    ("z1*z2", 0.1, 1.5, (0.4080, 0.4080), 5e-4),
    ("max(z1, z2)", 0.1, 1.0, (0.0, 0.4860), 1e-3),
    ("max(z1, z2)", 0.1, 2.5, (0.6009, 0.7992), 1e-3),
    ("relu(z1) + relu(z2)", 0.01, 1.0, (0.0, 0.5776), 1e-3),
    ("relu(z1) + relu(z2)", 0.01, 2.0, (0.4046, 0.8438), 1e-3),
    ("tanh(z1*z2) + 0.5*z3", 0.05, 2.5, (0.4645, 0.4645, 0.6500), 3e-3),
    ("z1**2 + sign(z1*z2*z3)", 0.0, 1.0, (0.0, 0.0, 0.2795), 4e-3),
    ("z1**2 + sign(z1*z2*z3)", 0.0, 1.2, (0.0, 0.0, 0.495), 4e-3),
    pytest.param(
        "z1**2 + sign(z1*z2*z3)", 0.0, 3.0, (0.2427, 0.2427, 1.0), 1e-3, marks=pytest.mark.stat
    ),
    pytest.param(
        "z1**2 + sign(z1*z2*z3)", 0.0, 4.0, (0.6438, 0.6438, 1.0), 1e-3, marks=pytest.mark.stat
    ),
]


@pytest.mark.parametrize(("text", "noise", "alpha", "eigenvalues", "tolerance"), REFERENCE)
def test_overlaps_are_those_of_the_literature(text, noise, alpha, eigenvalues, tolerance):
    state = gd.predict(gd.Target(text, noise=noise), "bayes_amp", alpha=alpha)
    found = np.linalg.eigvalsh(state.overlap.values[0])
    assert found == pytest.approx(eigenvalues, abs=tolerance)
    assert state.overlap_err.values.max() < tolerance


def parity_information(k, q, points=801):
    """J_11 of sign(z1 ... zk) at M = q I, by the closed form on a fine product grid."""
    v = np.linspace(-9, 9, points)
    w = np.exp(-(v**2) / 2)
    w /= w.sum()
    omega = np.sqrt(q) * v
    x = omega / np.sqrt(2 * (1 - q))
    e, c = erf(x), erfc(np.abs(x)) * (2 - erfc(np.abs(x)))  # c = 1 - e^2
    D = 2 * np.exp(-(omega**2) / (2 * (1 - q))) / np.sqrt(2 * np.pi * (1 - q))
    assert k == 2
    # 1 - e1^2 e2^2 without cancellation.
    below = c[:, None] + e[:, None] ** 2 * c[None, :]
    return float(np.einsum("i,j,ij->", w, w, (D[:, None] * e) ** 2 / np.maximum(below, 1e-300)))


@pytest.mark.parametrize("alpha", [2.7, 3.5, 5.0])
def test_the_parity_obeys_its_closed_map(alpha):
    """The fixed point of the closed map, by plain iteration, within the stated error."""
    state = gd.predict("sign(z1*z2)", "bayes_amp", alpha=alpha)
    q, error = state.overlap.values[0, 0, 0], float(state.overlap_err.max())
    for _ in range(300):
        q_hat = alpha * parity_information(2, q)
        q = q_hat / (1 + q_hat)
    assert abs(state.overlap.values[0, 0, 0] - q) < error < 1e-5


def test_errors_of_the_parity_are_those_of_the_closed_form():
    state = gd.predict("sign(z1*z2)", "bayes_amp", alpha=4.0)
    assert float(state.test_mse[0]) == pytest.approx(0.80169, abs=1e-5)
    assert float(state.zero_one_error[0]) == pytest.approx(0.32424, abs=1e-5)


def test_a_fixed_point_that_the_iteration_reaches_is_stable():
    """The rate by which a plain iteration of the map approaches it.

    Would catch: the asymmetry of a rough rule taken for a growing deviation (2.13).
    """
    target, alpha = gd.Target("relu(z1) + relu(z2)", noise=0.01), 1.6
    found = gd.predict(target, "bayes_amp", alpha=[alpha])
    evolution, M = StateEvolution(target), found.overlap.values[0] + 0.02 * np.eye(2)
    away = []
    for _ in range(4):
        M = evolution.step(M, alpha)
        away.append(np.trace(M - found.overlap.values[0]))
    assert float(found.rate[0]) == pytest.approx(away[-1] / away[-2], abs=0.03)
    assert float(found.rate[0]) < 0.9


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "noise", "alpha"),
    [
        ("relu(z1) + relu(z2)", 0.01, 1.8),
        ("relu(z1)*z2", 0.1, 2.0),
        ("abs(z1)*abs(z2)", 0.05, 2.0),
        ("max(max(z1, z2), 0)", 0.05, 3.0),
    ],
)
def test_stated_errors_cover_finer_slices(text, noise, alpha):
    """The map with four times the points and twice the slices, iterated to its fixed point.

    Would catch: errors that leave out the noise of the cloud or what slices lose, also where the
    posterior is narrow.
    """
    target = gd.Target(text, noise=noise)
    found = gd.predict(target, "bayes_amp", alpha=[alpha])
    finer, M = ChannelAverages(target, finer=1), found.overlap.values[0]
    for _ in range(8):
        at = finer.at(M)
        M = M + 2 * (overlap_step(at.information, alpha) - M)
    gap = np.abs(found.overlap.values[0] - M).max()
    assert gap < float(found.overlap_err.max()) < 3e-3
    assert abs(float(found.test_mse[0]) - at.test_mse) < float(found.test_mse_err[0])


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        pytest.param("sin(z1 + z2**2)", 0.1, marks=pytest.mark.stat),
        pytest.param("abs(z1)*abs(z2)", 0.05, marks=pytest.mark.stat),
        pytest.param("z1**3 + z2", 0.1, marks=pytest.mark.slow),
    ],
)
def test_narrow_posteriors_against_single_samples(text, noise):
    """The fixed point of the map whose J is a mean over posteriors of single samples.

    Both share no code. Sixteen batches: their mean is off by 8 of its standard errors once in a
    million (Student's law), and the stated error comes on top.
    """
    from gradone.channels.samples.channel import SampleChannel

    target, alpha, batches, count = gd.Target(text, noise=noise), 10.0, 16, 750
    found = gd.predict(target, "bayes_amp", alpha=[alpha])
    channel, ends = SampleChannel(target), []
    for batch in range(batches):
        rng = np.random.default_rng(batch)
        u, v, e = (rng.standard_normal((count, k)) for k in (2, 2, 1))
        M = found.overlap.values[0]
        for _ in range(10):
            V = np.eye(2) - M
            omega = u @ np.linalg.cholesky(M).T
            z = omega + v @ np.linalg.cholesky(V).T
            g = channel.posterior(target(z) + np.sqrt(noise) * e[:, 0], omega, V).g
            M = overlap_step(g.T @ g / count, alpha)
        ends.append(M)
    spread = np.std(ends, axis=0, ddof=1) / np.sqrt(batches)
    gap = np.abs(found.overlap.values[0] - np.mean(ends, axis=0))
    assert (gap < 8 * spread + found.overlap_err.values[0]).all()
    assert float(found.overlap_err.max()) < 1e-2


@pytest.mark.parametrize(("alpha", "rate"), [(3.0, 0.8724), (4.0, 0.7945), (6.0, 0.6835)])
def test_the_contraction_rate_of_the_parity(alpha, rate):
    found = gd.predict("sign(z1*z2)", "bayes_amp", alpha=alpha)
    assert float(found.rate[0]) == pytest.approx(rate, abs=1e-3)


@pytest.mark.stat
def test_a_linear_target_is_linear_regression():
    """y = z + noise: the fixed point of m = alpha (1 - m) / (1 - m + Delta + alpha (1 - m)).

    The Bayes-optimal overlap of linear regression, solved by hand as a quadratic equation.
    """
    alpha, noise = 1.7, 0.3
    b = 1 + noise + alpha - 1  # v^2 + v (noise + alpha - 1) - noise = 0 with v = 1 - m
    v = (-(b - 1) + np.sqrt((b - 1) ** 2 + 4 * noise)) / 2
    state = gd.predict(gd.Target("z1", noise=noise), "bayes_amp", alpha=alpha)
    assert float(state.overlap_err.max()) < 1e-4
    assert float(state.overlap[0, 0, 0]) == pytest.approx(1 - v, abs=float(state.overlap_err.max()))
    assert float(state.test_mse[0]) == pytest.approx(v + noise, abs=float(state.test_mse_err[0]))


def test_a_rotated_target_has_the_rotated_overlap():
    c, s = np.cos(0.7), np.sin(0.7)
    R = np.array([[c, s], [-s, c]])
    text = f"sign(({c:.16g}*z1 + {s:.16g}*z2)*({-s:.16g}*z1 + {c:.16g}*z2) + 0.4)"
    plain = gd.predict("sign(z1*z2 + 0.4)", "bayes_amp", alpha=4.0)
    rotated = gd.predict(text, "bayes_amp", alpha=4.0)
    error = float(plain.overlap_err.max() + rotated.overlap_err.max())
    assert error < 1e-3
    expected = R.T @ plain.overlap.values[0] @ R
    assert rotated.overlap.values[0] == pytest.approx(expected, abs=error)


def test_unused_variables_keep_no_overlap():
    state = gd.predict("sign(z1*z3)", "bayes_amp", alpha=4.0).overlap.values[0]
    assert state[1] == pytest.approx(np.zeros(3), abs=1e-12)
    assert state[0, 0] == pytest.approx(0.643841, abs=1e-4)


def test_relabeling_the_output_changes_no_overlap():
    plain = gd.predict("sign(z1*z2)", "bayes_amp", alpha=4.0)
    other = gd.predict("exp(3 - sign(z1*z2))", "bayes_amp", alpha=4.0)
    error = float(plain.overlap_err.max() + other.overlap_err.max())
    assert error < 1e-5
    assert other.overlap.values == pytest.approx(plain.overlap.values, abs=error)


def test_overlap_grows_with_data_and_falls_with_noise():
    alphas = np.array([0.8, 1.1, 1.5, 2.5])
    little, much = (
        gd.predict(gd.Target("z1*z2", noise=v), "bayes_amp", alpha=alphas).overlap[:, 0, 0]
        for v in (0.05, 0.3)
    )
    assert (np.diff(little) > 0).all()
    assert (much < little).all()


def test_order_of_the_axis_does_not_matter():
    up = gd.predict("sign(z1*z2)", "bayes_amp", alpha=[2.0, 3.0, 4.0])
    down = gd.predict("sign(z1*z2)", "bayes_amp", alpha=[4.0, 2.0, 3.0])
    assert down.sel(alpha=up.alpha).overlap.values == pytest.approx(up.overlap.values, abs=1e-6)


def test_both_starts_agree_without_a_hard_phase():
    for start in ("uninformed", "informed"):
        state = gd.predict("sign(z1*z2)", "bayes_amp", alpha=4.0, start=start)
        assert float(state.overlap[0, 0, 0]) == pytest.approx(0.643841, abs=1e-4)


@pytest.mark.parametrize(
    ("alpha", "overlap"), [(13.3, 0.9433), (13.8, 0.9596), (14.0, 0.96325), (16.0, 0.9805)]
)
def test_the_informed_branch_of_a_parity_of_four(alpha, overlap):
    """Would catch: narrow posteriors of four directions extrapolated (0 +- 1e-7 at 13.3)."""
    state = gd.predict("sign(z1*z2*z3*z4)", "bayes_amp", alpha=alpha, start="informed")
    assert state.converged.all()
    assert float(state.overlap_err.max()) < 1e-5
    assert state.overlap.values[0] == pytest.approx(overlap * np.eye(4), abs=6e-5)


class Rough:
    """Averages of a target by its rule, times a factor, and a stated relative error."""

    def __init__(self, exact, factor, error):
        self.exact, self.factor, self.error, self.pairs = exact, factor, error, exact.pairs

    def at(self, M, *, coarse=False):
        return scaled(self.exact.at(M, coarse=coarse), self.factor)

    def estimate(self, M):
        found = self.at(M)
        return found, [scaled(found, self.error)]


def test_a_fixed_point_that_errors_hide_is_in_the_error():
    """A rule whose errors close the branch: it finds nothing, and says what it may have missed."""
    evolution = StateEvolution(gd.Target("sign(z1*z2*z3*z4)"))
    evolution.channel = Rough(evolution.channel, 0.9, 0.15)
    point = evolution.informed(13.3)
    assert point.M[0, 0] == 0
    assert point.error > 0.8
    assert "another fixed point" in point.status


@pytest.mark.parametrize(
    ("error", "alpha", "status"),
    [
        (1e-4, 4.0, "converged"),
        (1e-2, 4.0, r"converged; the overlap is known up to 0\.0\d+ only"),
        (1e-2, 2.6, r"converged; the overlap is known up to .* hardly contracts \(by 0\.9\d+ .*"),
    ],
)
def test_an_error_above_one_in_a_thousand_is_said_in_words(error, alpha, status):
    evolution = StateEvolution(gd.Target("sign(z1*z2)"))
    evolution.channel = Rough(evolution.channel, 1.0, error)
    point = evolution.uninformed(alpha)
    assert (point.error > 1e-3) == (status != "converged")
    assert re.fullmatch(status, point.status)


def parity_point(r, alpha):
    """Largest fixed point of the closed map of sign(z1 ... zr), by plain iteration."""
    q = 1 - 1e-6
    for _ in range(400):
        J = alpha * parity_series(r, q)[0]
        q, last = J / (1 + J), q
        if abs(q - last) < 1e-9:
            break
    return q


@pytest.mark.slow
@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_forty_points_of_parities(r):
    """Ten points for each parity, on the informed branch, against series of error functions."""
    alphas = np.geomspace([1.0, 3.0, 8.9, 13.4][r - 1], 30.0, 10)
    text = "sign(" + "*".join(f"z{i + 1}" for i in range(r)) + ")"
    state = gd.predict(text, "bayes_amp", alpha=alphas, start="informed")
    for alpha, M, error in zip(
        alphas, state.overlap.values, state.overlap_err.values.max(axis=(1, 2)), strict=True
    ):
        assert error < 1e-4
        gap = np.abs(M - parity_point(r, alpha) * np.eye(r)).max()
        assert gap < error + 2e-6  # what the series leaves out


def test_bad_input():
    with pytest.raises(gd.BadData, match="start must be"):
        gd.predict("z1", "bayes_amp", alpha=1.0, start="warm")
    with pytest.raises(gd.OutOfRegime, match="5 directions"):
        gd.predict("z1*z2*z3*z4*z5", "bayes_amp", alpha=1.0)


def test_known_labels_leave_no_negative_error():
    """Beyond perfect recovery nothing is left, to the stated error; rounding goes to no side."""
    found = gd.predict("z**2", "bayes_amp", alpha=2.0)
    assert found.overlap.item() == pytest.approx(1.0, abs=2e-6)
    assert 0 <= found.test_mse.item() <= found.test_mse_err.item() < 1e-3


@pytest.mark.slow
def test_a_table_that_cannot_be_moderate_is_refused():
    """Four learned directions without symmetries; below the threshold of two of them it answers."""
    text = "z1 + z2*z3 + sin(2*z4)/2"
    found = gd.predict(text, "bayes_amp", alpha=[0.3, 1.12], on_failure="mark")
    assert found.converged.values.tolist() == [True, False]
    assert "4 learned directions without symmetries" in str(found.status.values[1])

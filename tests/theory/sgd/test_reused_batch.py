"""Dynamical mean field of gradient descent on a fixed data set."""

import numpy as np
import pytest

import gradone as gd
from gradone.theory import THEORIES

MIRROR = dict(alpha=3.0, width=2, readout=[0.5**0.5, -(0.5**0.5)])


def within(value, error, expected, expected_error):
    """Whether two numbers agree; `error` is the half-width of a 99 % interval of 16 solutions.

    The t-quantile of 1e-6 for 16 is 7.9 standard errors, the half-width 2.95.
    """
    return bool((abs(value - expected) <= 7.9 * np.hypot(error / 2.95, expected_error)).all())


@pytest.mark.stat
def test_table_of_the_reference():
    """Target tanh(z1 + He3(z2)), step 0.6: averages over the two mirror neurons, to 0.0008."""
    found = gd.predict(
        "tanh(z1 + He3(z2))", "reused_batch", step_size=0.6, steps=6, points=2**15, **MIRROR
    )
    M, Q = found.overlap.values[0, 1:], found.norm.values[0, 1:]
    first = [0.0757, 0.1238, 0.1562, 0.1800, 0.1988, 0.2144]
    second = [-0.0633, -0.1031, -0.1292, -0.1479, -0.1624, -0.1744]
    mean = (M[:, 0] - M[:, 1]) / 2
    assert mean == pytest.approx(np.column_stack([first, second]), abs=0.0008)
    assert found.overlap_err.values.max() < 0.0015
    diagonal = [0.8536, 0.8039, 0.7898, 0.7911, 0.8000, 0.8129]
    assert Q[:, [0, 1], [0, 1]].mean(axis=1) == pytest.approx(diagonal, abs=0.0008)
    assert Q[:, 0, 1] == pytest.approx([0.1097, 0.1488, 0.1596, 0.1581, 0.1510, 0.1414], abs=8e-4)


def test_response_of_the_relu_counts_its_kink():
    r"""Q_1 = I + 2 eta_s Gamma_00 + O(eta_s^2), Gamma_00 = -3/4 + 3/(4 pi) and 3/8.

    Would catch: the second derivative of the relu dropped, which gives -0.75.
    """
    step = 3e-3
    found = gd.predict("tanh(z)", "reused_batch", step_size=step, steps=1, **MIRROR)
    gamma = (found.norm.values[0, 1] - np.eye(2)) * 3 / (2 * step)
    expected = np.array([[-0.75 + 3 / (4 * np.pi), 0.375], [0.375, -0.75 + 3 / (4 * np.pi)]])
    assert gamma == pytest.approx(expected, abs=0.003)  # eta_s = 1e-3, errors of order eta_s


@pytest.mark.parametrize(
    ("text", "step", "overlap", "overlap_error", "norm", "norm_error"),
    [
        ("tanh(z)", 0.2, [0.0605, 0.1099, 0.1502, 0.1832], 1.3e-4,
         [0.8227, 0.7065, 0.6274, 0.5715], 1.3e-4),
        ("tanh(z)", 0.3, [0.0908, 0.1562, 0.2041, 0.2402], 1.3e-4,
         [0.7521, 0.6223, 0.5470, 0.4992], 1.3e-4),
        ("He3(z)", 0.2, [0, -0.0178, -0.0339, -0.0464], [7e-4, 7e-4, 1e-3, 1.3e-3],
         [0.857, 0.799, 0.791, 0.813], 1.3e-3),
        ("He3(z)", 0.3, [0, -0.0263, -0.0433, -0.0550], [8e-4, 8e-4, 1e-3, 1.2e-3],
         [0.829, 0.807, 0.856, 0.940], 1.3e-3),
    ],
)  # fmt: skip
def test_single_index_values(text, step, overlap, overlap_error, norm, norm_error):
    """Simulations of the note at d = 6e4, alpha = 3, one relu, with their errors.

    Tolerances of the note: 0.001 for tanh, 3 standard errors and 0.01 for He3, as 7.9 deviations.
    """
    found = gd.predict(text, "reused_batch", alpha=3.0, width=1, step_size=step, steps=4)
    M, M_err = (found[v].values[0, 1:, 0, 0] for v in ("overlap", "overlap_err"))
    Q, Q_err = (found[v].values[0, 1:, 0, 0] for v in ("norm", "norm_err"))
    assert within(M, M_err, np.array(overlap), np.array(overlap_error))
    assert within(Q, Q_err, np.array(norm), norm_error)


def ridgeless_flow(alpha, steps, step, noise, decay):
    """Exact limit for a linear student: moments of the Marchenko-Pastur law, weights step by step.

    w' = (1 - step decay) w + step (S (w* - w) + h), S = X^T X/n, h = X^T noise/n. In the basis of
    S, with w = A(S) w* + B(S) w0 + noise part P(S) h, the norm of h given S is noise S/n.
    """
    rng = np.random.default_rng(0)
    d = 1500
    X = rng.standard_normal((round(alpha * d), d))
    s = np.linalg.eigvalsh(X.T @ X / len(X))
    A, B, P = np.zeros(d), np.ones(d), np.zeros(d)
    rows = []
    for _ in range(steps + 1):
        rows.append([A.mean(), (A**2 + B**2).mean() + noise / alpha * (P**2 * s).mean()])
        shrink = 1 - step * decay - step * s
        A, B, P = shrink * A + step * s, shrink * B, shrink * P + step
    return np.array(rows)


def test_linear_student_is_ridge_regression_on_the_way():
    """A linear network on a linear target is solved by the spectrum of the samples.

    Would catch: memory without the factor alpha, weight decay on m alone, noise left out.
    """
    alpha, steps, step = 1.5, 8, 0.4
    found = gd.predict(
        gd.Target("z", noise=0.5), "reused_batch", alpha=alpha, width=1, activation="z",
        step_size=step, steps=steps, weight_decay=0.3,
    )  # fmt: skip
    expected = ridgeless_flow(alpha, steps, step, 0.5, 0.3)
    # The spectrum of d = 1500 has means with fluctuations of order 1/d.
    assert found.overlap.values[0, :, 0, 0] == pytest.approx(expected[:, 0], abs=0.004)
    assert found.norm.values[0, :, 0, 0] == pytest.approx(expected[:, 1], abs=0.006)


def test_errors_follow_from_order_parameters():
    """Linear case: test error 1 - 2 M + Q + noise; the training error is smaller."""
    found = gd.predict(
        gd.Target("z", noise=0.5), "reused_batch", alpha=2.0, width=1, activation="z",
        step_size=0.4, steps=5,
    )  # fmt: skip
    M, Q = found.overlap.values[0, :, 0, 0], found.norm.values[0, :, 0, 0]
    assert found.test_mse.values[0] == pytest.approx(1.5 - 2 * M + Q, abs=0.003)
    assert (found.train_mse.values[0, 1:] < found.test_mse.values[0, 1:] - 0.1).all()
    assert found.train_mse.values[0, 0] == pytest.approx(2.5, abs=0.02)


def test_many_samples_leave_no_memory():
    """alpha to infinity: gradient descent on the population; fresh and old samples look alike."""
    found = gd.predict("tanh(z)", "reused_batch", alpha=1e5, width=1, step_size=0.5, steps=5)
    gap = found.train_mse.values - found.test_mse.values
    assert (abs(gap) < 5 * np.hypot(found.train_mse_err, found.test_mse_err).values + 1e-3).all()


def test_a_start_without_freedom_is_allowed():
    """Both neurons equal and on the target: Q - M M^T = 0, no field fluctuates at the start."""
    one = {"M": [[1.0], [1.0]], "Q": [[1.0, 1.0], [1.0, 1.0]]}
    found = gd.predict(
        "z", "reused_batch", alpha=3.0, width=2, activation="z", readout=[0.5, 0.5], step_size=0.4,
        steps=3, init=one,
    )  # fmt: skip
    assert found.overlap.values == pytest.approx(np.ones((1, 4, 2, 1)), abs=1e-6)
    assert found.train_mse.values == pytest.approx(0, abs=1e-10)


def test_divergence_is_marked_with_the_step():
    arguments = dict(alpha=2.0, width=1, activation="z", step_size=50.0, steps=40)
    with pytest.raises(gd.NotConverged, match="diverge at step .*smaller than 50"):
        gd.predict("z", "reused_batch", **arguments)
    marked = gd.predict("z", "reused_batch", on_failure="mark", **arguments)
    assert bool(np.isnan(marked.overlap).all())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(steps=0), "steps must be"),
        (dict(points=3), "points must be"),
        (dict(rule="sam"), "no parameter 'rule'"),
        (dict(width=2, init={"M": [[2.0], [0.0]]}), "negative eigenvalue"),
    ],
)
def test_bad_arguments_are_refused(wrong, message):
    with pytest.raises(gd.BadData, match=message):
        gd.predict("z", "reused_batch", **(dict(alpha=1.0, steps=6, step_size=0.1) | wrong))


def test_the_algorithm_chooses_a_step_and_the_theory_does_not():
    sizes = {"alpha": 1.0, "steps": 2, "points": 64}
    chosen = gd.predict("z", "reused_batch", step_size="auto", **sizes)
    assert chosen.identical(gd.predict("z", "reused_batch", **sizes))
    with pytest.raises(gd.BadData, match="no automatic step_size"):
        THEORIES["reused_batch"]().predict(gd.Target("z"), step_size="auto", **sizes)

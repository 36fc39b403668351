"""One update of the chain against the formulas in (M, Q), with the same numbers.

The generated modules run as plain Python here: what they compute does not wait for a compiler.
"""

import numpy as np
import pytest

import gradone as gd
from gradone.dynamics._chain import Chain, Problem, Records
from gradone.targets.target import Target
from gradone.targets.training import read_training

TARGET = Target("He2(z1) + z1*z2")
M0 = np.array([[0.3, 0.1], [-0.2, 0.2], [0.1, -0.4]])
L0 = np.array([[0.8, 0.0, 0.0], [0.3, 0.7, 0.0], [-0.2, 0.4, 0.6]])
RULES = [
    {"rule": "plain"},
    {"rule": "extragradient", "inner_step_size": 0.02},
    {"rule": "sam", "inner_step_size": 0.02},
    {"rule": "sam_normalized", "radius": 0.3},
    {"rule": "k_steps", "inner_steps": 3},
    {"rule": "look_ahead", "inner_steps": 3, "inner_step_size": 0.03, "interpolation": 0.4},
]


pytestmark = pytest.mark.usefixtures("plain_python")


def expected(student, M, Q, a, b, z, field, length2, y):
    """M, Q, a, b after W <- D (A W + c x^T), from the formulas of the note."""
    s, slope = student.sigma, student.sigma.derivative()

    def gradient(at):
        e = y - a @ s(at + b) if student.loss == "square" else y
        return a * e * slope(at + b), e

    c, e = gradient(field)
    at, bias_push = field, c
    if student.rule in ("extragradient", "sam", "sam_normalized"):
        if student.rule == "sam_normalized":
            inner = -student.radius / np.sqrt(length2 * (c**2).sum())
        else:
            inner = student.inner_eta
        at = field + inner * c * length2
        c, e = gradient(at)
        bias_push = c
    step = student.eta
    if student.rule in ("k_steps", "look_ahead"):
        inner = student.inner_eta
        for _ in range(student.inner_steps - 1):
            c = c + gradient(field + inner * c * length2)[0]
        step = inner * (student.interpolation or 1.0)
    c = step * c
    A = np.full(len(a), 1 - student.eta * student.weight_decay)
    if student.geometry == "spherical":
        A = A - c * field / np.diag(Q)
    M = A[:, None] * M + np.outer(c, z)
    Q = np.outer(A, A) * Q + np.outer(A * field, c) + np.outer(c, A * field)
    Q += length2 * np.outer(c, c)
    if student.geometry != "euclidean":
        D = 1 / np.sqrt(np.diag(Q))
        M, Q = D[:, None] * M, np.outer(D, D) * Q
    new_a = a + (student.train_readout or 0.0) * e * s(at + b)
    return M, Q, new_a, b + (student.train_bias or 0.0) * bias_push


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["rule"])
@pytest.mark.parametrize("loss", ["square", "correlation"])
@pytest.mark.parametrize("geometry", ["euclidean", "projected", "spherical"])
def test_update_is_that_of_the_overlaps(rule, loss, geometry, rng):
    """Would catch: a wrong sign of SAM, |x|^2 left out, D before A, fields after the update."""
    student = read_training(
        width=3, activation="tanh(z + 0.3)", step_size=0.05, loss=loss, geometry=geometry,
        readout=[1.0, -0.7, 0.4], bias=[0.1, 0.0, -0.2], train_readout=0.1, train_bias=0.2,
        weight_decay=0.5, init="orthogonal", **rule,
    )  # fmt: skip
    problem = Problem(TARGET, student, 50, 4, 0, np.array([4]))
    kept = Records.empty(problem, 1)
    chain = Chain(problem, 0, kept.of(0))
    chain.M[:], chain.columns[:3] = M0, L0.T
    samples, radius2, noise = rng.standard_normal((4, 5)), rng.chisquare(45, 4), rng.normal(size=4)
    M, L, a, b = M0, L0, chain.a.copy(), chain.b.copy()
    s = problem.settings
    for n in range(4):
        z, u = samples[n, :2], samples[n, 2:]
        y = float(TARGET(z[None, :])[0]) + noise[n]
        length2 = (samples[n] ** 2).sum() + radius2[n]
        Q = M @ M.T + L @ L.T
        M, Q, a, b = expected(student, M, Q, a, b, z, M @ z + L @ u, length2, y)
        done = chain._advance(
            chain.M, chain.columns, chain.a, chain.b, samples[n : n + 1], radius2[n : n + 1],
            noise[n : n + 1], n, problem.marks, 0, *kept.of(0), s["step"], s["inner"],
            student.inner_steps, s["keep"], s["eta_a"], s["eta_b"], s["limit"],
        )  # fmt: skip
        L = chain.columns[:3].T.copy()  # the frame turns: fields need the chain's own L
        assert done == n + 1
        np.testing.assert_allclose(chain.M, M, atol=1e-13)
        np.testing.assert_allclose(M @ M.T + L @ L.T, Q, atol=1e-13)
        np.testing.assert_allclose(chain.a, a, atol=1e-14)
        np.testing.assert_allclose(chain.b, b, atol=1e-14)
    assert np.array_equal(L, np.tril(L))
    np.testing.assert_array_equal(kept.M[0, 0], chain.M)


def test_overlaps_move_by_the_mean_gradient_of_a_batch():
    """Would catch: a batch whose sum is not divided by its size, or coordinates mixed up."""
    student = read_training(
        gd.Student(2, "tanh(z)", init="orthogonal"), step_size=0.1, batch_size=4
    )
    problem = Problem(Target("z1"), student, 30, 1, 3, np.array([1]))
    kept = Records.empty(problem, 1)
    chain = Chain(problem, 0, kept.of(0))
    rng = np.random.default_rng(0)
    chain._rng["coordinates"] = rng
    x = np.random.default_rng(0).standard_normal((4, 3))
    chain.advance()
    e = x[:, 0] - np.tanh(x[:, 1]) + np.tanh(x[:, 2])
    c = 0.1 / 4 * e[:, None] * [1, -1] * (1 - np.tanh(x[:, 1:]) ** 2)
    np.testing.assert_allclose(chain.M[:, 0], c.T @ x[:, 0], rtol=1e-12)

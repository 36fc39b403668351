"""Identities that hold for the posterior channel of every kind of output.

To cover another target add a row: text, noise, tolerance of the identities, relative to the size of
what is compared.
"""

from __future__ import annotations

import numpy as np
import pytest

from gradone import Target
from gradone.base.seeds import stream
from gradone.channels import PosteriorChannel, posterior_channel

# text, noise, tolerance at resolution 1
CASES = [
    ("sign(z1)", 0.0, 1e-9),
    ("sign(z1*z2)", 0.0, 1e-4),
    ("sign(z1) + sign(z2)", 0.0, 1e-4),
    ("sign(z1 + 2*z2)", 0.0, 1e-9),
    ("sign(z1)*sign(z2**2 - 1)", 0.0, 1e-4),
    ("sign(z1 + z2**2 - 1)", 0.0, 1e-4),
    ("sign(z1**2 + z2**2 - 1)", 0.0, 1e-4),
    ("sign(z1*z2*z3)", 0.0, 1e-4),
    ("step(z1)*sign(z2) + step(z3)", 0.0, 1e-4),
    ("sign(z1*z2*z3*z4)", 0.0, 1e-3),
    ("z1**2", 0.0, 1e-4),
    ("He3(z1)", 0.0, 1e-4),
    ("z1**2*exp(-z1**2)", 0.0, 1e-4),
    ("relu(z1)", 0.0, 1e-4),
    ("relu(z1) + relu(z2)", 0.0, 1e-4),
    ("z1*z2", 0.0, 1e-4),
    ("tanh(z1*z2)", 0.0, 1e-4),
    ("z1**2 + z2**2", 0.0, 1e-4),
    pytest.param("sin(z1) + z2**2", 0.0, 1e-3, marks=pytest.mark.slow),
    ("abs(z1)*z2", 0.0, 1e-3),
    ("z1**2 + sign(z1*z2*z3)", 0.0, 1e-4),
    ("z1*z2 + sign(z3)", 0.0, 1e-3),
    pytest.param("z1*z2*z3", 0.0, 1e-4, marks=pytest.mark.stat),
    ("z1*z2 + z3**2", 0.0, 1e-4),
    ("z1*z2 + z3*z4", 0.0, 1e-4),
    pytest.param("z1*z2*(z2 + z3)", 0.0, 1e-4, marks=pytest.mark.stat),
    ("z1*z2**2", 0.0, 1e-3),
    ("z1**2", 0.1, 1e-4),
    ("z1*z2", 0.1, 1e-4),
    ("max(z1, z2)", 0.1, 1e-4),
    ("tanh(z1*z2) + 0.5*z3", 0.05, 1e-3),
    ("sign(z1*z2)", 0.5, 1e-4),
    ("sign(z1*z2) + z3/2", 0.2, 1e-4),
    ("z1*sign(z2)", 0.2, 1e-4),
    ("abs(z1) - 2*z2", 0.0, 1e-4),
    ("z1*z2 + z3", 0.0, 1e-4),
    ("sign(z1) + z2", 0.0, 1e-4),
    ("z1 - 2*z2", 0.3, 1e-9),
    ("z1**2 - z2**2", 0.05, 1e-4),
    ("z1**2 + sign(z1*z2)", 0.05, 1e-3),
]
# Nodes on these level sets move with omega: an error of 5e-4 in log Z, which the other identities
# bound, is up to 2e-2 in a quotient of differences.
DIFFERENCES = {"sin(z1) + z2**2": 2e-2}
COVARIANCE = np.array(
    [[0.5, 0.2, -0.1, 0.1], [0.2, 0.7, 0.15, 0.0], [-0.1, 0.15, 0.4, 0.05], [0.1, 0.0, 0.05, 0.6]]
)
# Five-point formula for a first derivative.
STENCIL = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))


def case(text: str, noise: float) -> tuple[PosteriorChannel, np.ndarray, np.ndarray, np.ndarray]:
    """Channel, labels drawn from it, prior means, covariance."""
    target = Target(text, noise=noise)
    V = COVARIANCE[: target.r, : target.r]
    rng = stream(0, "test", text=text)
    n = 12 if target.r < 4 else 4
    omega = 0.8 * rng.standard_normal((n, target.r))
    z = omega + rng.standard_normal((n, target.r)) @ np.linalg.cholesky(V).T
    y = np.asarray(target.channel.draw(z, rng))
    return posterior_channel(target, resolution=1), y, omega, V


@pytest.mark.parametrize(("text", "noise", "tolerance"), CASES)
def test_g_is_the_gradient_of_the_log_evidence(text: str, noise: float, tolerance: float) -> None:
    """And dg is the derivative of g, and symmetric.

    Would catch: V in place of its inverse, a lost g g^T.
    """
    channel, y, omega, V = case(text, noise)
    out = channel.posterior(y, omega, V)
    step = 0.05 * np.sqrt(np.linalg.eigvalsh(V)[0])
    gradient, jacobian = np.zeros_like(out.g), np.zeros_like(out.dg)
    for i in range(channel.r):
        for k, weight in STENCIL:
            moved = omega.copy()
            moved[:, i] += k * step
            at = channel.posterior(y, moved, V)
            gradient[:, i] += weight * at.log_z / step
            jacobian[:, :, i] += weight * at.g / step
    # The five-point formula itself leaves step^4/30 of the fifth derivative, and magnifies the
    # error of the rules by 1/step.
    formula = 1e-4
    tolerance = max(tolerance, DIFFERENCES.get(text, 0.0))
    assert np.abs(gradient - out.g).max() < (tolerance + formula) * np.abs(out.g).max()
    assert np.abs(jacobian - out.dg).max() < 3 * (tolerance + formula) * np.abs(out.dg).max()
    np.testing.assert_allclose(out.dg, np.swapaxes(out.dg, 1, 2), atol=1e-10 * np.abs(out.dg).max())


@pytest.mark.parametrize(("text", "noise", "tolerance"), CASES)
def test_outcomes_are_a_law(text: str, noise: float, tolerance: float) -> None:
    """Total mass 1; the mean of g vanishes; so does that of dg + g g^T (Bartlett)."""
    channel, _, omega, V = case(text, noise)
    omega = omega[:4]
    out = channel.outcomes(omega, V, curvature=True)
    chance = out.weight * np.exp(out.log_z)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0, atol=tolerance)
    size = np.sqrt(np.einsum("mk,mki,mki->", chance, out.g, out.g) / len(omega))
    mean = np.einsum("mk,mki->mi", chance, out.g)
    assert np.abs(mean).max() < tolerance * size
    hessian = out.dg + np.einsum("mki,mkj->mkij", out.g, out.g)
    bartlett = np.einsum("mk,mkij->mij", chance, hessian)
    assert np.abs(bartlett).max() < 10 * tolerance * size**2


@pytest.mark.parametrize(("text", "noise", "tolerance"), CASES)
def test_outcomes_and_posterior_agree(text: str, noise: float, tolerance: float) -> None:
    """The two methods are different loops over the same integrals."""
    channel, _, omega, V = case(text, noise)
    out = channel.outcomes(omega[:4], V, curvature=True)
    m, k = out.y.shape
    at = channel.posterior(out.y.reshape(-1), np.repeat(omega[:4], k, axis=0), V)
    chance = out.weight * np.exp(out.log_z)
    np.testing.assert_allclose(
        np.exp(at.log_z).reshape(m, k) * out.weight, chance, atol=tolerance * chance.max()
    )
    likely = chance > 1e-3 * chance.max()
    scale = np.abs(out.g[likely]).max()
    assert np.abs(at.g.reshape(m, k, -1) - out.g)[likely].max() < 10 * tolerance * scale
    # One derivative more: the lattice of the posterior of noisy samples is 0.2 % off there.
    error = np.abs(at.dg.reshape(out.dg.shape) - out.dg)[likely].max()
    assert error < 30 * tolerance * np.abs(out.dg[likely]).max()
    assert channel.outcomes(omega[:4], V).dg is None


@pytest.mark.parametrize(("text", "noise", "tolerance"), CASES)
def test_a_prior_without_doubt_predicts_the_target(
    text: str, noise: float, tolerance: float
) -> None:
    """As V shrinks the mean label tends to the value at omega."""
    channel, _, omega, _ = case(text, noise)
    mean = channel.mean(omega, 1e-6 * np.eye(channel.r))
    np.testing.assert_allclose(mean, channel.target(omega), atol=max(tolerance, 1e-2))

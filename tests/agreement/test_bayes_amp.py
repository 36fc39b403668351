r"""The algorithm Bayes-AMP against its state evolution; they share the posterior channel alone.

The channel is checked on its own by brute-force Monte Carlo (tests/targets/posterior). Every run
counts, converged or not: converged runs alone are biased upwards near a threshold.

The threshold is the Student-t quantile at two-sided 1e-6 for the number of replicates, plus
:math:`1/\sqrt d`, the scale of the overlap that a random direction has by chance.
"""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

import gradone as gd

PARITY, STAIRCASE = "sign(z1*z2)", "z1**2 + sign(z1*z2*z3)"


def compare(target, *, d, alpha, replicates, **parameters):
    """Mean aligned overlaps, their allowance, and the prediction, over (alpha, r)."""
    sizes = {"d": d, "alpha": alpha, "replicates": replicates, "test_samples": 64}
    runs = gd.simulate(target, "bayes_amp", progress=False, **sizes, **parameters)
    overlaps = np.diagonal(runs.overlap_aligned.values, axis1=2, axis2=3)
    state = gd.predict(target, "bayes_amp", alpha=alpha, on_failure="mark")
    predicted = np.diagonal(state.overlap.values, axis1=1, axis2=2)
    mean = overlaps.mean(axis=1)
    spread = overlaps.std(axis=1, ddof=1) / np.sqrt(replicates)
    allowance = student.isf(5e-7, replicates - 1) * spread + 1 / np.sqrt(d)
    print(f"\n{target.text} noise {target.noise:g}, d = {d}, {replicates} replicates")
    for i, a in enumerate(np.atleast_1d(alpha)):
        done = int(runs.converged[i].sum())
        print(
            f"  alpha {a:6.3f}  AMP {mean[i].round(4)} ± {spread[i].round(4)}  "
            f"theory {predicted[i].round(4)}  converged {done}/{replicates}, "
            f"median iterations {float(runs.n_iter[i].median()):.0f}"
        )
    return mean, allowance, predicted


@pytest.mark.stat
@pytest.mark.parametrize("text", [PARITY, STAIRCASE])
def test_amp_follows_state_evolution(text):
    """Would catch: an Onsager term that is not filtered like W (overlap 0.3 too low), alpha = 2 n/d
    in either of the two, a channel with the wrong sign of z1 z2."""
    # Twice the threshold: at 4 the runs take three times as many iterations. Ended at a change of
    # 1 %, they lack 0.005 of the overlap, a tenth of 1/sqrt(d).
    mean, allowance, predicted = compare(
        gd.Target(text), d=500, alpha=[5.0], replicates=12, tol=1e-2
    )
    assert (np.abs(mean - predicted) < allowance).all()
    assert (predicted[0] > 0.6).all()


def share_of_wrong_labels(M):
    """Error of the most probable value of sign(z1) + sign(z2), where omega ~ N(0, M) is known.

    Probabilities of the quadrants by the law of z2 given z1, over 2e5 draws of omega.
    """
    V = np.eye(2) - M
    omega = np.random.default_rng(0).multivariate_normal(np.zeros(2), M, size=200_000)
    x, w = np.polynomial.legendre.leggauss(60)
    a, b = ndtr(-omega[:, :1] / np.sqrt(V[0, 0])), 1.0
    level = a + (b - a) * (x + 1) / 2  # of z1 > 0, uniformly
    z1 = omega[:, :1] + np.sqrt(V[0, 0]) * ndtri(level)
    rest = V[1, 1] - V[0, 1] ** 2 / V[0, 0]
    up = ndtr((omega[:, 1:] + V[0, 1] / V[0, 0] * (z1 - omega[:, :1])) / np.sqrt(rest))
    both = ((1 - a[:, 0]) * (up @ w)) / 2
    first, second = ndtr(omega / np.sqrt(np.diag(V))).T
    law = np.stack([1 - first - second + both, first + second - 2 * both, both])
    best = law.max(axis=0)
    return 1 - best.mean(), best.std() / np.sqrt(len(best))


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "alpha"), [("sign(z1) + sign(z2)", 1.0), ("step(z1) + 10*step(z2)", 2.0)]
)
def test_wrong_labels_of_amp_are_those_of_the_theory(text, alpha):
    """Three and four values.

    Would catch: labels by rounding the mean, 0.51 instead of 0.32 in the second case (0.423 instead
    of 0.419 in the first, not seen here).
    """
    sizes = {"d": 300, "alpha": alpha, "replicates": 12, "test_samples": 4096}
    runs = gd.simulate(text, "bayes_amp", progress=False, **sizes).zero_one_error.values.ravel()
    state = gd.predict(text, "bayes_amp", alpha=alpha)
    theory, error = state.zero_one_error.item(), state.zero_one_error_err.item()
    M = state.overlap.values[0]
    if text.startswith("sign"):
        expected, spread = share_of_wrong_labels(M)
    else:  # two independent bits, each wrong with the angle over pi
        expected, spread = 1 - (1 - np.arccos(np.sqrt(M[0, 0])) / np.pi) ** 2, 0.0
    assert abs(theory - expected) < error + 5 * spread
    sem = runs.std(ddof=1) / np.sqrt(len(runs))
    assert abs(runs.mean() - theory) < student.isf(5e-7, len(runs) - 1) * sem + error + 1 / 300


@pytest.mark.stat
def test_amp_learns_nothing_below_the_threshold():
    """Runs that find nothing to settle on would go on for long, and start again."""
    short = {"restarts": 0, "max_iter": 100}
    mean, allowance, predicted = compare(
        gd.Target(PARITY), d=500, alpha=[0.8 * np.pi**2 / 4], replicates=12, **short
    )
    assert predicted == pytest.approx(0.0, abs=1e-9)
    assert (mean < allowance).all()


@pytest.mark.slow
def test_amp_follows_state_evolution_of_the_parity_through_its_threshold():
    """Eight values: below 0.8 and above 1.5 times the threshold 2.467."""
    alpha = np.array([1.0, 1.5, 1.97, 3.71, 4.0, 4.5, 5.0, 6.0])
    mean, allowance, predicted = compare(gd.Target(PARITY), d=2000, alpha=alpha, replicates=16)
    assert (np.abs(mean - predicted) < allowance).all()
    assert (mean[:3] < 0.1).all()
    assert (mean[3:] > 0.4).all()


@pytest.mark.slow
def test_amp_climbs_the_grand_staircase():
    """Six values: below the first threshold 0.575, between the two, above the second 2.467."""
    alpha = np.array([0.46, 0.87, 1.5, 1.97, 3.71, 4.5])
    mean, allowance, predicted = compare(gd.Target(STAIRCASE), d=1000, alpha=alpha, replicates=12)
    assert (np.abs(mean - predicted) < allowance).all()
    assert (mean[0] < 0.15).all()
    assert (mean[2:, 0] > 0.9).all()
    assert (mean[1:4, 1:] < 0.15).all()
    assert (mean[4:, 1:] > 0.4).all()


@pytest.mark.slow
@pytest.mark.parametrize("start", ["random", "spectral"])
@pytest.mark.parametrize(
    ("text", "noise", "alpha"),
    [
        ("tanh(z1*z2) + 0.5*z3", 0.05, 2.5),
        ("max(z1, z2)", 0.0, 2.0),
        ("z1*z2 + z3**2", 0.0, 2.0),
        ("sign(z1 + z2**2 - 1)", 0.0, 4.0),
        ("z1**2 + z2**2", 0.01, 3.0),
        ("z1*z2 + z3**2", 0.1, 3.0),
    ],
)
def test_amp_follows_state_evolution_on_targets_that_nobody_derived(text, noise, alpha, start):
    mean, allowance, predicted = compare(
        gd.Target(text, noise=noise), d=500, alpha=[alpha], replicates=12, start=start
    )
    assert (np.abs(mean - predicted) < allowance).all()

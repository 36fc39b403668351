r"""One step finds the subspace of a target of leading order l with n of the order of d^l samples.

Learner and engine are compared with exact second moments, and these with the theory, which keeps
the leading order in 1/d.
"""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.learners import GiantStep

from .one_batch import LEAPS, agrees, exact_squares, leading_squares, mean_over_starts

RUNS = 16
SIZES = {
    1: (1024, (181, 1024, 5793)),
    2: (256, (1024, 16384, 65536)),
    3: (48, (333, 15963, 110592)),
}


def both_signs(case, u, **sizes):
    """Mean over the pair of neurons with a = 1 and a = -1."""
    return np.mean([exact_squares(case, u, a=a, **sizes) for a in (1.0, -1.0)], axis=0)


@pytest.mark.parametrize("leap", LEAPS)
def test_the_theory_is_the_leading_order_of_exact_moments(leap):
    """The gap falls like 1/d at n = d^l. Would catch: rA in place of B, (l - 1)! left out."""
    case, gaps = LEAPS[leap], []
    for d in (64, 256, 1024):
        n = d**leap
        inside, total = mean_over_starts(lambda u, d=d, n=n: both_signs(case, u, d=d, n=n), d)
        theory = gd.theory.first_step_overlap(
            case.text,
            d=d,
            n=n,
            step_size=case.step_size,
            activation=case.activation,
            readout="signs",
        )
        gaps.append(theory.subspace_overlap.item() - math.sqrt(inside / total))
    assert abs(gaps[0]) < 2 / 64
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.2)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.1)


# ---- the learner


def squares_of_the_learner(case, rng, *, d, n, width=32):
    """Means over the neurons of |P_V w|^2 and |w|^2, of the learner and exact."""
    start = rng.standard_normal((width // 2, d))
    start /= np.linalg.norm(start, axis=1)[:, None]
    X = rng.standard_normal((n + 2, d), dtype=np.float32)
    learner = GiantStep(
        width, activation=case.activation, step_size=case.step_size, leap=case.leap, batch_size=n,
        readout="signs", init=start, bias_scale=0.0, ridge=1.0, standardize=False,
        shuffle=False, random_state=0,
    ).fit(X, case.function(X[:, :2].astype(float)))  # fmt: skip
    squares = learner.weights_.astype(float) ** 2
    found = squares[:, :2].sum(axis=1).mean(), squares.sum(axis=1).mean()
    return np.array(found), both_signs(case, start[:, :2], d=d, n=n).mean(axis=1)


def check_learner(leap, d, n, count=RUNS):
    rng = np.random.default_rng([leap, d, n])
    runs = [squares_of_the_learner(LEAPS[leap], rng, d=d, n=n) for _ in range(count)]
    found, exact = np.array(runs).transpose(1, 0, 2)
    errors = (found / exact).std(axis=0, ddof=1) / math.sqrt(count)
    print(f"l={leap} d={d} n={n}: found/exact {(found / exact).mean(axis=0)} ± {errors}")
    assert agrees(found / exact, 1.0)
    return math.sqrt(found[:, 0].mean() / found[:, 1].mean())


@pytest.mark.stat
@pytest.mark.parametrize(("leap", "d", "n"), [(1, 512, 512), (2, 96, 96**2), (3, 24, 24**3)])
def test_learner_has_the_exact_moments(leap, d, n):
    """Would catch: a step that does not grow with the leap, c_l off by a fifth (l = 1, 2)."""
    check_learner(leap, d, n, count=64)


@pytest.mark.slow
@pytest.mark.parametrize("leap", LEAPS)
def test_learner_passes_the_transition(leap):
    """From chance to most of the weight as n passes d^l."""
    d, samples = SIZES[leap]
    ratios = [check_learner(leap, d, n) for n in samples]
    assert ratios[-1] > 0.55
    assert ratios[0] < 0.45


# ---- the engine, at sizes that no direct run can have


def squares_of_the_engine(case, u, *, d, n):
    """|P_V w|^2 and |w|^2 (runs, 2 neurons) after one batch, for a pair with output zero."""
    M = np.array([u, u])
    run = gd.dynamics.sgd(
        case.text, d=d, width=2, activation=case.activation, steps=1, batch_size=n,
        step_size=2 * case.step(d), readout=[0.5, -0.5], init={"M": M, "Q": np.ones((2, 2))},
        record=[1], replicates=RUNS, progress=False,
    ).isel(step=-1)  # fmt: skip
    return (run.overlap.values**2).sum(-1), np.einsum("rjj->rj", run.norm.values)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("leap", "d", "samples"),
    [(1, 10**5, (10**4, 10**5, 10**6)), (2, 3000, (9 * 10**4, 9 * 10**5, 9 * 10**6)),
     (3, 128, (128**2, 128**2 * 12, 128**3))],
)  # fmt: skip
def test_engine_passes_the_transition_at_large_dimension(leap, d, samples):
    """Would catch: a transition at d^(l-1), c_l off by a fifth (l = 1, 2).

    The start is typical: |u|^2 = r/d.
    """
    case = LEAPS[leap]
    u = np.sqrt(2 / d) * np.array([0.8, 0.6])
    ratios = []
    for n in samples:
        inside, total = squares_of_the_engine(case, u, d=d, n=n)
        exact = [exact_squares(case, u[None], a=a, d=d, n=n) for a in (1.0, -1.0)]
        for j in range(2):
            assert agrees(inside[:, j], exact[j][0][0])
            assert agrees(total[:, j], exact[j][1][0])
        formula = np.mean([leading_squares(case, u, a=a, d=d, n=n) for a in (1.0, -1.0)], axis=0)
        ratios.append(math.sqrt(inside.mean() / total.mean()))
        print(f"l={leap} n={n}: {ratios[-1]:.4f}, formula {math.sqrt(formula[0] / formula[1]):.4f}")
        # [FO-1] leaves out terms of order 1/d, see the first test.
        assert agrees(inside.mean(1) / total.mean(1), formula[0] / formula[1], 2 / d)
    assert ratios[0] < 0.4
    assert ratios[-1] > 0.6

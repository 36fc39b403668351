r"""The engines of SGD have the law of SGD: two-sample tests against the learners.

The learners share no code with the engines and see samples in d dimensions. Configurations are
those of a covering design: every two choices of rule, loss, geometry, batch size, dimension and so
on meet in one of them. Each gives one p-value, Bonferroni over the entries; it must not be below
1e-4, or not below in one repetition with other seeds. All together, calibrated by permutations,
they must be compatible with the uniform law at 1e-3.
"""

import time
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest

from .covering import covering_design
from .two_laws import by_engine, by_learner, compare, distances

RULES = ["plain", "extragradient", "sam", "sam_normalized", "k_steps", "look_ahead"]
UPDATE = {
    "rule": RULES,
    "loss": ["square", "correlation"],
    "geometry": ["euclidean", "projected", "spherical"],
    "r": [1, 3],
    "width": [1, 4],
    "trained": ["nothing", "readout", "readout and bias"],
    "noise": [0.0, 0.25],
    "decay": [0.0, 0.02],
    "start": ["random", "given"],
    "activation": ["relu(z)", "tanh(z + 0.2)"],
}
# Batches below the width, below d and (100 against 30) above it.
ONE_PASS = UPDATE | {"batch_size": [1, 3, 8, 100], "d": [30, 100, 500]}
# With width 4, five updates reach all of d = 30 directions, and all of n = 20 samples.
REUSED = UPDATE | {"batch_size": [None, 16], "n": [20, 150], "d": [30, 100]}
SIZES = {"one pass": (ONE_PASS, 45), "reused": (REUSED, 22)}
LEAST = 1e-4


@lru_cache(maxsize=2)
def design(name):
    factors, size = SIZES[name]
    return covering_design(factors, size=size)


def p_values(c, *, replicates=4000, permutations=0, seed=0):
    return compare(
        by_engine(c, replicates=replicates, seed=seed),
        by_learner(c, replicates=replicates, seed=seed),
        permutations=permutations,
        seed=seed,
    )


def agree(c, **how):
    """The p-value by permutation; fails if the laws differ, twice."""
    p, calibrated = p_values(c, **how)
    again = p if p >= LEAST else p_values(c, **how | {"seed": 1})[0]
    assert again >= LEAST, f"p = {p:.2g} and {again:.2g} for {c}"
    return calibrated


def all_agree(configurations, **how):
    found = []
    for i, c in enumerate(configurations):
        before = time.process_time()
        found.append(agree(c, permutations=399, **how))
        print(f"{i:3d}  p {found[-1]:.3f}  {time.process_time() - before:5.1f} s  {c}", flush=True)
    uniform = kstest(found, "uniform").pvalue
    print(f"smallest {min(found):.3f}, median {np.median(found):.3f}, uniform: p = {uniform:.3g}")
    assert uniform > 1e-3


# ---- the test itself


@pytest.mark.parametrize("name", SIZES)
def test_every_two_choices_meet(name):
    factors, size = SIZES[name]
    assert len(design(name)) == size
    for one in factors:
        for other in set(factors) - {one}:
            met = {(c[one], c[other]) for c in design(name)}
            assert len(met) == len(factors[one]) * len(factors[other])


def test_p_values_are_those_of_the_two_sample_test():
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((500, 3)), rng.standard_normal((400, 3)) + [0, 0.3, 0]
    tests = [ks_2samp(one[:, k], other[:, k], method="asymp") for k in range(3)]
    order = np.argsort(np.vstack([one, other]), axis=0)
    signs = np.concatenate([np.full(500, 1 / 500), np.full(400, -1 / 400)])
    np.testing.assert_allclose(distances(order, signs), [test.statistic for test in tests])
    smallest = min(test.pvalue for test in tests)
    found, calibrated = compare(one, other, permutations=1999)
    assert smallest < found < 5 * smallest  # three columns; theirs corrects for small samples
    # The columns are independent here, so that the law of the smallest p-value is known.
    independent = 1 - (1 - found / 3) ** 3
    assert 0.01 < independent < 0.5
    assert calibrated == pytest.approx(independent, abs=5 * np.sqrt(independent / 2000))
    constant = np.ones((500, 1))
    assert compare(np.hstack([one, constant]), np.hstack([other, constant[:400]]))[0] == found


SINGLE = {
    "rule": "plain", "loss": "correlation", "geometry": "euclidean", "batch_size": 1, "d": 100,
    "r": 2, "width": 1, "trained": "nothing", "noise": 0.0, "decay": 0.0, "start": "given",
    "activation": "z", "step": 2.0,
}  # fmt: skip


@pytest.mark.stat
@pytest.mark.parametrize(
    ("change", "replicates"),
    [
        pytest.param({}, 2000, id="single samples", marks=pytest.mark.slow),
        pytest.param({"batch_size": 8, "width": 4}, 2000, id="batches", marks=pytest.mark.slow),
        pytest.param(
            {"rule": "extragradient", "activation": "relu(z)"},
            4000,
            id="repeated",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_residual_law_that_is_off_by_five_percent_is_rejected(change, replicates):
    """Degrees of freedom of d = 105 instead of 100, from the same start; the right ones pass.

    Labels are 1 or -1 and steps large: Q is nearly a chi-square with d degrees of freedom, whose
    spread is 14 %.
    """
    c = SINGLE | change
    direct = by_learner(c, replicates=replicates, seed=0)
    right, wrong = (
        compare(by_engine(c, replicates=replicates, seed=0, d=d), direct)[0] for d in (100, 105)
    )
    print(f"p = {right:.2g} with d = 100, {wrong:.2g} with d = 105")
    assert right >= LEAST
    assert wrong < LEAST


# ---- the laws


# Batch size and d: single samples, batches below and above the width, and one of d samples.
SIX = {
    "plain": (100, 100), "extragradient": (8, 30), "sam": (3, 100), "sam_normalized": (1, 100),
    "k_steps": (1, 500), "look_ahead": (3, 500),
}  # fmt: skip


@pytest.mark.stat
@pytest.mark.parametrize("rule", RULES)
def test_engine_has_the_law_of_sgd(rule):
    """Six of the configurations below, one for each rule; no level of any choice is left out."""
    agree(six()[rule], replicates=1200)


def test_six_configurations_have_all_levels():
    for name, levels in ONE_PASS.items():
        assert {c[name] for c in six().values()} == set(levels), name


def six():
    chosen = [c for c in design("one pass") if (c["batch_size"], c["d"]) == SIX[c["rule"]]]
    return {c["rule"]: c for c in reversed(chosen)}


@pytest.mark.slow
def test_engine_has_the_law_of_sgd_in_all_configurations():
    all_agree(design("one pass"))


@pytest.mark.slow
def test_engine_of_a_fixed_data_set_has_the_law_of_descent_in_all_configurations():
    all_agree(design("reused"))

"""Plans: rows, ranking, plateaus, bounds, and how they are shown."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from gradone.algorithms.plan import plan
from gradone.analysis import escape
from gradone.analysis.correlation.hermite_terms import hermite_terms
from gradone.analysis.plan.bounds import csq_bound, csq_tolerance, sq_bound
from gradone.analysis.plan.row import Sizes
from gradone.base.errors import BadData
from gradone.base.references import references
from gradone.learners import ResidualStep
from gradone.targets.hierarchical import Sight, Tree
from gradone.targets.language.expression import Expression
from gradone.targets.subspace import Subspace
from gradone.targets.target import Target

SOURCE = "z1 + He2(z2) + He2(z1)*z2 + He4(z1)*He2(z2)*z3 + He2(z2)*He2(z3)"


@pytest.fixture(scope="module")
def source():
    return plan(Target(SOURCE))


@pytest.fixture(scope="module")
def parity():
    return plan(Target("He2(z1) + sign(z1*z2*z3)"), d=1000, n=5000, width=1000)


def test_table_of_the_source_example(source):
    """T = 0..3 by n, p of order 1, d, d^2, and the terms learned, exactly."""
    found = [(row.steps, [e.value for e in row.plateaus]) for row in source.staircase]
    assert found == [(0, [57, 56, 54]), (1, [56, 54, 52]), (2, [52, 4, 0]), (3, [0, 0, 0])]
    assert all(e.kind == "exact" for row in source.staircase for e in row.plateaus)
    assert [row.terms[1:] for row in source.staircase] == [
        ("z1", "z1 + He2(z2)"),
        ("z1 + He2(z1)*z2", "z1 + He2(z2) + He2(z1)*z2"),
        ("z1 + He2(z2) + He2(z1)*z2 + He4(z1)*He2(z2)*z3", "all"),
        ("all", "all"),
    ]


@pytest.mark.parametrize(
    ("n", "width", "errors"),
    [
        (1000, 1000, [56, 54, 4, 0]),
        (10**6, 1000, [56, 54, 4, 0]),  # n ~ d^2, p ~ d: the column of kappa = 1
        (1000, 10**6, [56, 54, 4, 0]),  # n ~ d, p ~ d^2: the same
        (10**6, 10**6, [54, 52, 0, 0]),
        (1000, 5, [57, 56, 52, 0]),
        (30, 10**6, [57, 57, 57, 57]),  # n << d: no direction is learned
    ],
)
def test_error_left_at_given_sizes(n, width, errors):
    rows = plan(Target(SOURCE), d=1000, n=n, width=width).staircase
    assert [row.plateau.value for row in rows] == errors


def test_degree_of_the_readout_does_not_suffer_from_rounding():
    for d in (10, 30, 100, 1000, 4096):
        for k in (1, 2, 3, 4):
            assert Sizes(d, d**k, d**k).kappa == k
    assert Sizes(1000, 999_999, 10**9).kappa == 1


def test_rows_are_sorted_by_the_data_they_need(source, parity):
    for found in (source, parity):
        exponents = [row.exponent for row in found.rows]
        assert exponents == sorted(exponents)
    assert {row.algorithm for row in parity.rows} == {
        "kernel, random features",
        "giant steps with n ~ d",
        "one giant step",
        "residual step",
        "one-pass SGD",
        "data reuse, extra-gradient",
        "normalized SGD, Huber loss",
        "Bayes-AMP",
        "optimal spectral",
    }


def test_weak_recovery_comes_last_among_equal_powers_and_says_so(parity):
    """The spectral method needs least data, for an overlap of unknown size: no error is claimed."""
    spectral = parity.row("optimal spectral")
    assert spectral.learns == "weak overlap with span(z1)"
    assert spectral.plateau is None
    assert spectral.to_dict()["is_weak"]
    equals = [row for row in parity.rows if row.exponent == spectral.exponent]
    assert len(equals) > 1
    assert equals[-1] is spectral
    below = plan("sign(z1*z2)", d=1000, n=1000).row("optimal spectral")  # pi^2/4 d are needed
    assert below.here == "nothing"
    assert below.plateau.value == pytest.approx(1)


def test_margin_is_the_difference_of_exponents(parity):
    power = math.log(5000) / math.log(1000)
    assert parity.row("one giant step").margin == pytest.approx(power - 2)
    logarithm = math.log(math.log(1000)) / math.log(1000)
    assert parity.row("one-pass SGD").margin == pytest.approx(power - 1 - logarithm)
    kernel = plan(Target("z1*z2"), d=100, n=10**6, width=1000).row("kernel, random features")
    assert kernel.margin == pytest.approx(1.5 - 2)  # the width is the smaller one


@pytest.mark.parametrize(
    ("text", "exponent", "with_log"),
    [
        ("z1 + z1*z2 + z1*z2*z3", 1, False),
        ("sign(z1*z2)", 1, True),
        ("sign(z1) + sign(z2)", 1, True),
        ("sign(z1*z2*z3)", 2, False),
        ("He4(z1) + sign(z1*z2*z3)", 2, False),  # not d^3: the leap is 3
        ("He4(z)", 3, False),
        ("tanh(z1) + He5(z2)", 4, False),
    ],
)
def test_samples_of_one_pass_sgd(text, exponent, with_log):
    row = plan(Target(text)).row("one-pass SGD")
    assert (row.exponent, row.with_log) == (exponent, with_log)


def test_sgd_stops_at_the_first_leap_that_is_too_long():
    """tanh(z1) is learned at n ~ d; He5(z2) needs d^4, so its energy 120 is left."""
    row = plan(Target("tanh(z1) + He5(z2)"), d=1000, n=10_000, width=1000).row("one-pass SGD")
    assert row.reached.distance(Subspace.span([[1.0, 0.0]])) < 1e-12
    assert row.plateau.value == pytest.approx(120, abs=1e-8)
    rich = plan(Target("tanh(z1) + He5(z2)"), d=10, n=10**4, width=1000).row("one-pass SGD")
    assert rich.plateau.value == pytest.approx(0, abs=1e-12)
    assert rich.here == "all"


def test_one_giant_step_learns_the_range_of_the_leading_tensor():
    found = plan(Target("He2(z1) + sign(z1*z2*z3)"), d=100, n=10**4, width=100)
    row = found.row("one giant step")
    assert (row.exponent, repr(row.reached)) == (2.0, "span(z1)")
    assert row.plateau.value == pytest.approx(1.0, abs=1e-10)
    assert found.row("giant steps with n ~ d").exponent == math.inf


def test_residual_step_learns_the_range_of_the_hessian():
    target = Target("z3 + z1*z2 + He3(z4)")
    row = plan(target, d=100, n=20_000, width=200).row("residual step")
    assert row.reached.distance(Subspace.span(np.eye(4)[:2])) < 1e-12
    assert row.learns == "linear function of span(z3) and any function of span(z1, z2)"
    assert "rank 2 < 4" in row.note
    assert row.plateau.value == pytest.approx(6.0)
    narrow = plan(target, d=100, n=20_000, width=5).row("residual step")  # a readout of degree 0
    assert narrow.plateau.value == pytest.approx(6.0)
    assert narrow.here == "linear part; z1*z2"
    few = plan(target, d=100, n=200, width=5).row("residual step")
    assert (few.plateau.value, few.here) == (pytest.approx(7.0), "linear part")
    assert plan(Target("He3(z)")).row("residual step").exponent == math.inf


def test_residual_step_learns_no_curve_in_a_direction_of_the_linear_part():
    """The fit removes z1 from the labels, so that no neuron turns to it; a learner agrees."""
    target, d = Target("z1 + He2(z2) + He3(z1)/sqrt(6)"), 32
    n = 16 * d**2
    row = plan(target, d=d, n=n, width=256).row("residual step")
    assert row.plateau.value == pytest.approx(1.0)
    sample = target.sample(n=n + 4000, d=d, seed=0)
    learner = ResidualStep(256, random_state=0).fit(sample.X[:n], sample.y[:n])
    shares = ((learner.directions_ @ sample.W_star.T) ** 2).sum(axis=0)
    assert shares[0] < 0.05 < 0.9 < shares[1]
    error = np.mean((learner.predict(sample.X[n:]) - sample.y[n:]) ** 2)
    assert error > 0.7  # plus what the readout leaves; with z1 known it was below 0.2


# Exponents of the Hermite product of each term, by hand.
_TERMS = {
    "z1": (1, 0, 0),
    "He2(z2)": (0, 2, 0),
    "He2(z1)*z2": (2, 1, 0),
    "He4(z1)*He2(z2)*z3": (4, 2, 1),
    "He2(z2)*He2(z3)": (0, 2, 2),
}
_KNOWN = {
    "kernel, random features": set(),
    "one giant step": {0},
    "2 giant steps": {0, 1},
    "3 giant steps": {0, 1, 2},
    "residual step": {1},
}


@pytest.mark.parametrize(("n", "p"), [(1, 0), (1, 1), (1, 2), (2, 1), (2, 2)])
def test_learned_terms_of_the_five_regimes(source, n, p):
    """A term is learned if its degree across the known directions is at most min(n, p)."""
    rows = {one.algorithm: one for one in source.regimes if (one.samples, one.width) == (n, p)}
    assert set(rows) == set(_KNOWN) - (set() if n == 2 else {"residual step"})
    for algorithm, one in rows.items():
        known = _KNOWN[algorithm]
        degrees = {
            name: sum(k for i, k in enumerate(powers) if i not in known)
            for name, powers in _TERMS.items()
        }
        learned = [name for name, degree in degrees.items() if degree <= min(n, p)]
        left = [name for name in _TERMS if name not in learned]
        energy = sum(math.prod(math.factorial(k) for k in _TERMS[name]) for name in left)
        assert one.plateau.value == energy
        assert one.terms == (" + ".join(learned) or "nothing" if left else "all")
    assert f"n ~ {'1 d d^2'.split()[n]}, p ~ {'1 d d^2'.split()[p]}" in source.learned_terms()


def test_thresholds_of_message_passing(parity):
    amp, spectral = parity.row("Bayes-AMP"), parity.row("optimal spectral")
    assert spectral.constant.agrees_with(0.575166, 3) or (
        spectral.constant.value == pytest.approx(0.575166, rel=3e-3)
    )
    assert amp.constant.value == pytest.approx(math.pi**2 / 4, rel=3e-3)
    assert (repr(spectral.reached), repr(amp.reached)) == ("span(z1)", "span(z1, z2, z3)")
    between = plan(Target("He2(z1) + sign(z1*z2*z3)"), d=1000, n=1500).row("Bayes-AMP")
    assert repr(between.reached) == "span(z1)"
    hard = plan(Target("sign(z1*z2*z3)"), d=1000, n=10**5)
    assert hard.row("Bayes-AMP").exponent == math.inf
    assert "never at n ~ d: span(z1, z2, z3)" in hard.row("Bayes-AMP").note


# ---- bounds


def test_thresholds_that_are_bounds_say_so():
    """Message passing finds the second direction of a sign committee at 2.05, not at 1.43."""
    row = plan(Target("sign(z1) + sign(z2)"), d=1000, n=1700).row("Bayes-AMP")
    assert row.needs == "n > 1.431 d or more"
    assert row.here == "in part, at best"


def test_a_direction_that_any_number_of_samples_shows_needs_some():
    for n, here in ((50, "nothing"), (700, "in part"), (1500, "all")):
        assert plan(Target("z"), d=1000, n=n).row("Bayes-AMP").here == here


def test_csq_bound():
    """The reference value, and the limits: one query more or less, d^(k/2) up to logarithms."""
    assert csq_tolerance(10_000, 4, queries=1e8) == pytest.approx(1.601e-4, rel=0.01)
    bound = csq_bound(10_000, 4)
    assert (bound.order, bound.exponent) == (4, 2.0)
    assert bound.samples == pytest.approx(6.2e3, rel=0.01)
    eps = np.geomspace(1e-3, 1, 200_001)
    for d, k, q in [(1000, 3, 1e6), (500, 2, 1e3), (10**5, 6, 1e10)]:
        brute = (eps**k + 2 * q * np.exp(-0.25 * eps**2 * d)).min()
        assert csq_tolerance(d, k, queries=q) == pytest.approx(min(brute, 1), rel=1e-4)
    slope = np.log(csq_bound(10**8, 4).samples / csq_bound(10**6, 4).samples) / np.log(100)
    assert 1.7 < slope < 2.0  # d^2 with logarithms


def test_bounds_of_a_plan(source, parity):
    assert [(b.name, b.order) for b in parity.bounds] == [("CSQ", 2), ("SQ", 2)]
    two = plan(Target("sign(z1) + sign(z2)")).bounds
    assert [(b.name, b.order) for b in two] == [("CSQ", 1), ("CSQ", 2), ("SQ", 1)]
    assert sq_bound(3).exponent == 1.5
    with pytest.raises(BadData, match="must be positive"):
        csq_tolerance(0, 2, queries=1)


# ---- terms


@pytest.mark.parametrize(
    ("text", "basis", "kappa", "terms"),
    [
        ("z1 + z1*z2 + z1*z3", [[1, 0, 0]], 0, "z1"),
        ("relu(z)", [], 1, "0.399 + 0.5*z1"),
        ("z1**2 - 2*z2*z3", [], 2, "1 + He2(z1) - 2*z2*z3"),
        ("(z1 + z2)**2/2", [[1, 1]], 0, "1 + He2(u1) (u1 along z1 + z2, u2 along z1 - z2)"),
        ("sign(z1*z2)", [], 1, "nothing"),
    ],
)
def test_terms(text, basis, kappa, terms):
    f = Expression(text)
    u = Subspace.span(np.array(basis, dtype=float).reshape(-1, f.r), f.r)
    assert hermite_terms(f, u, kappa) == terms


# ---- hierarchical targets


def test_depth_of_the_canonical_example():
    target = Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6", exponent=0.5)
    found = plan(target, d=1000, n=10**5, width=1000)
    names = [row.algorithm for row in found.rows]
    assert names == ["three layers, layerwise", "two layers", "kernel, random features"]
    assert found.rows[0].exponent == 1.5
    assert found.rows[0].plateau.value == pytest.approx(0, abs=1e-9)
    errors = [row.plateau.value for row in found.rows]
    assert errors == sorted(errors)
    tree = Tree("tanh(h)", ["He2(z)/2", "z + He2(z)/2"], [0.75, 0.5])
    assert "deep, layerwise" in [row.algorithm for row in plan(tree).rows]


# ---- showing it


def test_summary_is_one_screen(source, parity):
    for found in (source, parity):
        lines = found.summary().splitlines()
        assert len(lines) <= 30
        assert max(map(len, lines)) <= 125
    assert "2 giant steps                     52        4        4        4        0" in (
        source.summary()
    )


def test_dictionary_is_plain_json(source, parity):
    for found in (source, parity):
        again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert len(again["rows"]) == len(found.rows)
    assert again["rows"][0].keys() >= {"algorithm", "exponent", "margin", "plateau", "here"}


def test_html_is_escaped():
    assert "<script" not in plan(Target("z1"))._repr_html_()
    assert "n &gt; " in plan(Target("z**2"))._repr_html_()


def test_references_exist(source, parity):
    cited = {key for found in (source, parity) for row in found.rows for key in row.cites}
    assert cited <= set(references())


def test_text_stands_for_a_target():
    assert plan("z1*z2").target == Target("z1*z2")


def test_bad_input():
    target = Target("z1*z2*z3")
    with pytest.raises(BadData, match="d must be an integer >= 2, got 1"):
        plan(target, d=1)
    with pytest.raises(BadData, match="n must be an integer >= 1, got -5"):
        plan(target, n=-5)
    with pytest.raises(BadData, match="width must be an integer"):
        plan(target, width=2.5)
    with pytest.raises(BadData, match="d must be at least r = 3, got 2"):
        plan(target, d=2)
    with pytest.raises(BadData, match="needs a Target"):
        plan(3.0)
    with pytest.raises(BadData, match="no algorithm 'sgd' in this plan, it has"):
        plan(target).row("sgd")


def test_a_plan_imports_little():
    code = (
        "import sys; from gradone.algorithms.plan import plan; plan('sign(z1*z2)');"
        "print([m for m in ('scipy.stats', 'scipy.optimize', 'xarray', 'matplotlib', 'sympy')"
        " if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


def test_what_an_undecided_analysis_leaves_open_is_unknown_in_the_plan():
    """sin(20 z) shows nothing that exceeds rounding: nobody can say that no data is enough."""
    rows = {row.algorithm: row for row in plan(Target("sin(20*z)"), d=1000, n=4000).rows}
    for name in ("data reuse, extra-gradient", "Bayes-AMP", "optimal spectral"):
        assert rows[name].needs == "unknown"
        assert "undecided" in rows[name].note


# ---- the plan and the theories say the same


def test_error_of_message_passing_is_that_of_state_evolution():
    """State evolution of sign(z1*z2) at n = 5 d: squared overlaps 0.8235, error 0.62."""
    target = Target("sign(z1*z2)")
    quick = plan(target, d=1000, n=5000).row("Bayes-AMP")
    assert (quick.here, quick.plateau) == ("in part", None)
    row = plan(target, d=1000, n=5000, with_theory=True).row("Bayes-AMP")
    assert row.plateau.value == pytest.approx(0.6205, abs=1e-3)
    assert row.here == "in part, squared overlaps 0.82, 0.82"


def test_margins_count_logarithms():
    """Whoever learns nothing has no positive margin."""
    for row in plan(Target("sign(z1*z2)"), d=1000, n=5000).rows:
        assert (row.here == "nothing") <= (row.margin < 0), row
    row = plan(Target("sign(z1*z2)"), d=1000, n=5000).row("one-pass SGD")
    assert "d log d = 6908 against n = 5000" in row.note


def test_summary_fits_a_terminal():
    long = "z1 + He2(z2) + He2(z1)*z2 + He4(z1)*He2(z2)*z3"
    for text in ("sign(z1*z2)", "relu(z1)*z2", long):
        summary = plan(Target(text), d=1000).summary()
        assert max(map(len, summary.splitlines())) <= 80
        assert "..." not in summary.replace("+ ...", "")


def test_bounded_gradients_leave_the_information_exponent_but_not_on_signs():
    """He3: d samples instead of d^2, at batches that the row names; two labels gain nothing."""
    found = plan("He3(z)", d=400)
    row = found.row("normalized SGD, Huber loss")
    assert (row.exponent, found.row("one-pass SGD").exponent) == (1.0, 2.0)
    assert "batches well below sqrt(d) = 20" in row.note
    signs = plan("sign(z1*z2*z3)", d=400)
    assert signs.row("normalized SGD, Huber loss").exponent == signs.row("one-pass SGD").exponent


@pytest.mark.parametrize(
    "text", ["He2(z)", "He3(z)", "He4(z)", "sign(He2(z))", "exp(z)", "z**2*exp(-z**2)"]
)
def test_the_row_of_bounded_gradients_is_the_escape_of_relu_neurons(text):
    """Its power of d against the linear stage of normalized gradients and of the Huber loss."""
    row = plan(text, d=1000, n=5000).row("normalized SGD, Huber loss")
    powers = {"d": (1.0, False), "d log d": (1.0, True), "d^(l-1)": (row.exponent, False)}
    for rule in ({"optimizer": "normalized"}, {"loss": "huber"}):
        stages = [escape(text, "relu(z)", readout=a, **rule) for a in (1.0, -1.0)]
        best = min(powers[s.scaling] for s in stages if s.scaling != "stuck")
        assert best == (row.exponent, row.with_log)


def test_normalization_loses_an_escape_where_the_sign_of_the_push_is_that_of_the_label():
    """Labels -1 and 1, a slope of one sign: K = 0 for normalized gradients, not for Huber."""
    plain, bounded, huber = (
        escape("sign(He2(z))", "tanh(z + 0.3)", readout=-0.5, **rule)
        for rule in ({}, {"optimizer": "normalized"}, {"loss": "huber"})
    )
    assert [plain.scaling, bounded.scaling, huber.scaling] == ["d log d", "stuck", "d log d"]
    note = plan("sign(He2(z))", d=1000, n=5000).row("normalized SGD, Huber loss").note
    assert "normalization loses an escape where the sign of the push" in note

"""Energies given a subspace, and the error plateaus they make."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradone.analysis.correlation.conditional import _mirrored, _on_grid
from gradone.analysis.correlation.leap import giant_step_staircase
from gradone.analysis.correlation.plateau import conditional_energies, plateau
from gradone.analysis.correlation.polynomial_staircase import exact_conditional_energies
from gradone.base.errors import BadData
from gradone.calculus.polynomial import Polynomial
from gradone.targets.language.expression import Expression
from gradone.targets.subspace import Subspace

SOURCE = "z1 + He2(z2) + He2(z1)*z2 + He4(z1)*He2(z2)*z3 + He2(z2)*He2(z3)"
TWO = "(z1 + He2(z1)/2 + He4(z1)/24 + z2 + He2(z2)/2 + He4(z2)/24)/2"


def values(text, basis, degree):
    f = Expression(text)
    subspace = Subspace.span(np.array(basis, dtype=float).reshape(-1, f.r), f.r)
    return conditional_energies(f, subspace, degree)


@pytest.mark.parametrize(
    ("text", "basis", "energies"),
    [
        (SOURCE, [], [0, 1, 2, 2, 4, 0, 0, 48]),
        (SOURCE, [[1, 0, 0]], [1, 2, 2, 48, 4]),
        (SOURCE, [[1, 0, 0], [0, 1, 0]], [5, 48, 4]),
        (SOURCE, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [57]),
        ("(4*z1 + z1**2 + z2)/2", [[4, 1]], ["2857/578", "16/289", "1/578"]),
        (TWO, [[1, 1]], ["241/384", 0, "9/64", 0, "1/384"]),
        ("z1 + 2*z2 + z1*z2 + 3*z2**2", [], [9, 5, 19]),
    ],
)
def test_energies_of_polynomials_are_exact(text, basis, energies):
    found = values(text, basis, len(energies) + 1)
    assert [e.note for e in found] == [str(Fraction(x)) for x in energies] + ["0", "0"]
    assert all(e.kind == "exact" and e.error == 0 for e in found)


def test_table_of_plateaus_of_the_source_example():
    f = Expression(SOURCE)
    table = [
        [plateau(f, u, kappa).value for kappa in (0, 1, 2)]
        for u in (Subspace.zero(3), *giant_step_staircase(f))
    ]
    assert table == [[57, 56, 54], [56, 54, 52], [52, 4, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("text", "tails", "tolerance"),
    [
        ("He2(z1) + sign(z1*z2*z3)", {1: 3, 2: 1, 3: 1 - (2 / math.pi) ** 3}, 1e-10),
        ("tanh(z)", {1: 0.0274153260, 3: 0.0053817264}, 1e-8),
        ("relu(z)", {1: 0.0908450569, 2: 0.0112675854}, 1e-8),
        ("sin(z)", {1: 0.0644529172, 3: 0.0031396770}, 1e-8),
        ("erf(z)", {1: 0.040146}, 1e-5),
        # E[tanh(x)^2] - E[x tanh(x)]^2 for x = z1 z2, of density K_0(|x|)/pi; a published
        # Gauss-Hermite value is 2.7e-6 higher.
        ("z1 + tanh(z1*z2)", {2: 0.0489658813215}, 1e-10),
        ("exp(-z1**2/2)*z2 + z3**2/2", {3: 1.3273502692 - 1.3125}, 1e-7),
        ("sign(z1*z2*z3*z4)", {3: 1, 4: 1 - (2 / math.pi) ** 4}, 1e-10),
    ],
)
def test_plateaus_of_kernels(text, tails, tolerance):
    """U = {0}: what no kernel learns from d^kappa samples."""
    f = Expression(text)
    for kappa, tail in tails.items():
        found = plateau(f, Subspace.zero(f.r), kappa)
        assert abs(found.value - tail) <= tolerance
        assert found.error <= tolerance


CLOSED_FORMS = [
    # E[f(u, s) f(u, s')]: four pairs of signs with correlation 1/2
    ("sign(z1) + sign(z2)", [[1, 1]], 0, 4 / 3),
    ("sign(z1*z2*z3)", [[1, 0, 0]], 2, (2 / math.pi) ** 2),
    ("sign(z1*z2*z3)", [[1, 0, 0], [0, 1, 0]], 1, 2 / math.pi),
    ("He2(z1) + sign(z1*z2*z3)", [[1, 0, 0]], 0, 2.0),
    ("tanh(z1) + sin(z1*z2)", [[1, 0]], 1, 3**-1.5),
    ("sin(z1*z2)", [[1, 0]], 0, 0.0),
    # cos(z1 + z2): the mean over z2 is cos(z1)/sqrt(e)
    ("cos(z1 + z2)", [[1, 0]], 0, (1 + math.exp(-2)) / 2 / math.e),
    ("exp(z1*z2/4)", [[1, 0]], 0, 1 / math.sqrt(1 - 2 / 16)),
    ("abs(z1)*sign(z2 + z3)", [[1, 0, 0]], 1, 2 / math.pi),
    ("max(z1, z2)", [[1, 1]], 0, 0.5 + 1 / math.pi),
]


@pytest.mark.parametrize(("text", "basis", "k", "exact"), CLOSED_FORMS)
def test_energies_of_other_functions(text, basis, k, exact):
    found = values(text, basis, 2)[k]
    assert found.value == pytest.approx(exact, abs=1e-8)
    assert abs(found.value - exact) <= found.error + 1e-15


def test_a_series_in_the_learned_variable_would_lose_energy():
    """The note's trap: sign(z1) has 5 % of its energy above degree 12."""
    f = Expression("sign(z1) + z2*z1")
    series = sum(f.hermite(12).coefficient(k, 0).value ** 2 / math.factorial(k) for k in range(13))
    found = values("sign(z1) + z2*z1", [[1, 0]], 1)
    assert series < 0.96
    assert [e.value for e in found] == pytest.approx([1.0, 1.0], abs=1e-10)


@pytest.mark.parametrize(
    ("text", "given"),
    [("tanh(z1 + z2)*z3", 1), ("abs(z1)*cos(z2) + z3", 2), ("sign(z1)*relu(z2)", 1)],
)
def test_grid_agrees_with_two_copies(text, given):
    """Two methods: product rules in (u, s); Hermite coefficients of f(u, s) f(u, s')."""
    f = Expression(text)
    grid, copies = _on_grid(f, given, 2), _mirrored(f, given, 2)
    assert all(a.agrees_with(b) for a, b in zip(grid, copies, strict=True))
    assert max(e.error for e in grid) < 1e-9


@pytest.mark.stat
def test_curved_jumps_against_plain_sampling():
    """k = 0 and 1 of a function that breaks on a circle, against means over pairs of samples.

    Student-t threshold at 1e-6 for 16 replicates; would catch a missing 1/beta!, u and s exchanged.
    """
    f = Expression("sign(z1**2 + z2**2 - 1)*z3 + z1")
    subspace = Subspace.span([[1.0, 0.0, 0.0]])
    found = conditional_energies(f, subspace, 1)
    rng = np.random.default_rng(7)
    runs = []
    for _ in range(16):
        a, b = rng.standard_normal((2, 200_000, 3))
        b[:, 0] = a[:, 0]
        product = f(a) * f(b)
        kernel = (a[:, 1:] * b[:, 1:]).sum(axis=1)
        runs.append([product.mean(), (product * kernel).mean()])
    mean, sem = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / 4
    for k in (0, 1):
        assert abs(mean[k] - found[k].value) < 7.9 * sem[k] + found[k].error


# ---- identities

coefficients = st.integers(-3, 3).map(Fraction)
polynomials = st.dictionaries(
    st.tuples(*[st.integers(0, 2)] * 3), coefficients, min_size=1, max_size=5
).map(lambda c: Polynomial(c, 3))
rows = st.tuples(*[st.integers(-4, 4).map(Fraction)] * 3)


@settings(deadline=None, max_examples=60)
@given(polynomials, st.lists(rows, max_size=3))
def test_energies_add_up_to_the_second_moment(polynomial, basis):
    energies = exact_conditional_energies(polynomial, basis)
    assert sum(energies) == (polynomial * polynomial).expectation()


@settings(deadline=None, max_examples=30)
@given(polynomials, rows)
def test_learning_more_leaves_less(polynomial, row):
    """Var(f | U) decreases with U, and the plateau decreases with kappa."""
    one = exact_conditional_energies(polynomial, [row])
    none = exact_conditional_energies(polynomial, [])
    assert sum(one[1:]) <= sum(none[1:])


ROTATED = [
    ("He2(z1) + sign(z1*z2*z3)", [[1, 0, 0]]),
    ("tanh(z1)*z2 + abs(z2)", [[1, 0]]),
    ("sign(z1) + sign(z2)", [[1, 1]]),
    ("(4*z1 + z1**2 + z2)/2", [[4, 1]]),
]


@pytest.mark.parametrize(("text", "basis"), ROTATED)
def test_rotations_keep_the_energies(text, basis):
    f = Expression(text)
    q, _ = np.linalg.qr(np.random.default_rng(9).standard_normal((f.r, f.r)))

    def form(match):
        row = q[int(match[1]) - 1]
        return "(" + " + ".join(f"({c:.15f})*z{j}" for j, c in enumerate(row, 1)) + ")"

    turned = Expression(re.sub(r"\bz(\d)\b", form, text))
    u = Subspace.span(np.array(basis, dtype=float))
    plain = conditional_energies(f, u, 2)
    found = conditional_energies(turned, Subspace.span(u.basis @ q), 2)
    for a, b in zip(plain, found, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-9 + 1.5 * (a.error + b.error))


def test_unused_directions_say_nothing():
    f = Expression("tanh(z1 + z2)")
    across = Subspace.span([[1.0, -1.0]])
    assert plateau(f, across, 0).agrees_with(plateau(f, Subspace.zero(2), 0))
    assert plateau(f, Subspace.span([[1.0, 1.0]]), 0).value < 1e-12


def test_bad_input():
    f = Expression("z1 + z2")
    with pytest.raises(BadData, match=r"lies in R\^3, the function has r = 2"):
        conditional_energies(f, Subspace.zero(3), 1)
    with pytest.raises(BadData, match="kappa must be at least 0"):
        plateau(f, Subspace.zero(2), -1)
    with pytest.raises(BadData, match="kappa must be at least 0"):
        plateau(f, Subspace.zero(2), math.nan)

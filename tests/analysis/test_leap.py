"""Information and leap exponents, leap records, the giant-step staircase."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradone as gd
from gradone.analysis.correlation.filtration import NumericFiltration
from gradone.analysis.correlation.hermite_blocks import HermiteBlocks
from gradone.analysis.correlation.leap import (
    giant_step_staircase,
    information_exponent,
    leap_record,
)
from gradone.analysis.correlation.polynomial_staircase import rational_frame
from gradone.analysis.exponent import Energy
from gradone.base.errors import OutOfRegime
from gradone.targets.frame import natural_frame
from gradone.targets.language.coordinates import linear_forms, rewrite
from gradone.targets.language.expression import Expression
from gradone.targets.subspace import Subspace

SOURCE = "z1 + He2(z2) + He2(z1)*z2 + He4(z1)*He2(z2)*z3 + He2(z2)*He2(z3)"

# Target, information exponent, leap record, dimensions of the giant-step staircase.
RECORDS = [
    (SOURCE, 1, ((1, 1), (1, 1), (1, 1)), (1, 2, 3)),
    ("z1 + z2 + He2(z1) + He2(z2)", 1, ((1, 1), (2, 1)), (1,)),
    ("(4*z1 + z1**2 + z2)/2", 1, ((1, 1), (1, 1)), (1, 2)),
    ("z1 + z1*z2 + z1*z3", 1, ((1, 1), (1, 1)), (1, 2)),
    ("z1 + z1*z2 + He3(z1)*z3", 1, ((1, 1), (1, 2)), (1, 3)),
    ("He2(z1) + sign(z1*z2*z3)", 2, ((2, 1), (2, 2)), ()),
    ("He4(z1) + sign(z1*z2*z3)", 3, ((3, 3),), ()),
    ("z1**2 + sign(z1*z2*z3)", 2, ((2, 1), (2, 2)), ()),
    ("He3(z)", 3, ((3, 1),), ()),
    ("z1*z2*z3", 3, ((3, 3),), ()),
    ("sign(z1*z2)", 2, ((2, 2),), ()),
    ("sign(z1*z2*z3)", 3, ((3, 3),), ()),
    ("z**2*exp(-z**2)", 4, ((4, 1),), ()),
    ("z1 + z1*z2 + z1*z2*z3", 1, ((1, 1), (1, 1), (1, 1)), (1, 2, 3)),
    ("z1 + He3(z1)*z2 + He3(z2)*z3", 1, ((1, 1), (1, 1), (1, 1)), (1, 2, 3)),
    ("sign(z1) + sign(z2)", 1, ((1, 1), (2, 1)), (1,)),
    # No document names these.
    ("tanh(z1 + z2*z3)", 1, ((1, 1), (2, 2)), (1,)),
    ("relu(z1)*z2 + abs(z3)", 1, ((1, 1), (1, 1), (2, 1)), (1, 2)),
    ("sin(z1*z2)*z1 + z1", 1, ((1, 1), (1, 1)), (1, 2)),
    ("cos(z1 + 2*z2) + He2(z1 - z2)", 2, ((2, 2),), ()),
    ("erf(z1)*erf(z2)*erf(z3)*erf(z4)", 4, ((4, 4),), ()),
    ("sign(z1*z2*z3*z4*z5)", 5, ((5, 5),), ()),
    ("He6(z1) + z2**2*sign(z3)", 1, ((1, 1), (2, 1), (6, 1)), (1,)),
    ("max(z1, z2)", 1, ((1, 1), (2, 1)), (1,)),
    ("exp(-z1**2/2)*z2 + z3**2/2", 1, ((1, 1), (2, 2)), (1,)),
    ("step(z1)*He3(z2)", 3, ((3, 1), (1, 1)), ()),
]


@pytest.mark.parametrize(("text", "information", "record", "stairs"), RECORDS)
def test_records(text, information, record, stairs):
    """Would catch: squared noise taken for a signal, a step that forgets what is learned."""
    f = Expression(text)
    found = leap_record(f)
    assert found.orders == record
    assert found.information.value == information
    assert found.exponent.value == max(k for k, _ in record)
    assert tuple(u.dim for u in giant_step_staircase(f)) == stairs
    assert found.unused.dim == f.r - sum(m for _, m in record)


@pytest.mark.parametrize(
    ("text", "step", "basis"),
    [
        ("z1 + z1*z2 + z1*z3", 1, [[1, 0, 0], [0, 1, 1]]),
        ("(4*z1 + z1**2 + z2)/2", 0, [[4, 1]]),
        ("sign(z1) + sign(z2)", 0, [[1, 1]]),
        # C_1 = (1, E[z1 z2 sin(z1 z2)]) and E[x sin x] = 2^(-3/2) for x = z1 z2
        ("sin(z1*z2)*z1 + z1", 0, [[1, 2**-1.5]]),
        # C_1 of relu(a.z) relu(b.z) is proportional to a + b when |a| = |b|
        ("relu(z1 + z2)*relu(z2 + z3)", 0, [[1, 2, 1]]),
        ("tanh(3*z1 - 4*z2) + He2(z1)", 0, [[3, -4]]),
    ],
)
def test_directions_are_subspaces_not_axes(text, step, basis):
    learned = leap_record(Expression(text)).steps[step].learned
    assert learned.distance(Subspace.span(np.array(basis, dtype=float))) < 1e-9


def test_unreached_and_unused_directions():
    assert leap_record(Expression("z1 + z1*z2 + z1*z3")).unused.contains([0, 1, -1])
    # The form mentions z2, the function does not depend on it.
    record = leap_record(Expression("tanh(z1)*sign(z2)**2"))
    assert (record.orders, record.exponent.value) == (((1, 1),), 1)
    # A direction beyond the largest order is not called unused.
    record = leap_record(Expression("tanh(z1) + He6(z2)"), 4)
    assert record.orders == ((1, 1),)
    assert (record.exponent.value, record.exponent.note[:3]) == (None, "> 4")
    assert record.unused.contains([0, 1])


@pytest.mark.parametrize(("text", "limit"), [("He5(z)", 4), ("sign(z1*z2*z3*z4)", 3)])
def test_exponent_beyond_the_orders_looked_at(text, limit):
    exponent = information_exponent(Expression(text), limit)
    assert (exponent.value, exponent.note) == (None, f"> {limit}")


def test_margins_are_kept():
    """A small linear part that is really there decides; rounding of typed numbers does not."""
    assert information_exponent(Expression("He2(z) + z/1000000")).value == 1
    assert information_exponent(Expression("He2(z) + tanh(z)/10000")).value == 1
    third = Expression("He3(0.6*z1 + 0.8000000000001*z2)")  # C_1 = 1e-12: not orthonormal
    exponent = information_exponent(third)
    assert exponent.value == 3
    assert "treated as zero" in exponent.note
    assert "exactly" in information_exponent(Expression("He3(z)")).note


def test_thin_margin_is_undecided():
    """Noise that could hide an energy of 2e-4 of the variance gives no integer."""
    thin = Energy.of(np.array([0.02]), np.array([0.012]), "monte_carlo")
    assert thin.is_nonzero(1.0) is None
    assert Energy.of(np.array([0.02]), np.array([0.001]), "monte_carlo").is_nonzero(1.0) is True
    assert Energy.of(np.array([1e-3]), np.array([1e-3]), "monte_carlo").is_nonzero(1.0) is False
    # The naive sum of the squares of 400 noisy zeros exceeds the threshold.
    noise = Energy.of(np.full(400, 1e-3), np.full(400, 2.6e-3), "monte_carlo")
    assert noise.value > 2e-4
    assert noise.is_nonzero(1.0) is None


def test_monte_carlo_noise_is_no_step():
    """Curved jumps: the naive sum of squared coefficients is positive at order 1, the answer is 2.

    In polar coordinates sign(z1^2 + z2^2 - 1) is a function of the radius only: C_1 = 0 and C_2 is
    a multiple of the identity.
    """
    f = Expression("sign(z1**2 + z2**2 - 1)")
    assert HermiteBlocks(f, 4).kind == "monte_carlo"
    assert leap_record(f).orders == ((2, 2),)
    shifted = Expression("sign((z1 - 1/5)**2 + z2**2 - 1)")
    record = leap_record(shifted)
    assert record.orders[0] == (1, 1)
    assert record.steps[0].new.distance(Subspace.span([[1.0, 0.0]])) < 1e-2


def test_too_many_directions_are_refused():
    with pytest.raises(OutOfRegime, match="mixes 6 variables; integrals over more than 5"):
        leap_record(Expression("tanh(z1*z2*z3*z4*z5*z6)"))
    polynomial = leap_record(Expression("z1*z2*z3*z4*z5*z6"))  # exact, whatever the number
    assert polynomial.orders == ((6, 6),)


# ---- exact and numeric agree

POLYNOMIALS = [
    text for text, *_ in RECORDS if Expression(text).polynomial is not None and text != "He3(z)"
] + [
    "He2(z1 + z2) + z1*(z1 - z3)",
    "z1*z2 + z2*z3 + z3*z1 + He3(z1)/4",
    "(z1 + z2)**3 - 2*z3*z1",
    "He2(z1)*He2(z2) + z3*z1 + z3/2",
]


@pytest.mark.parametrize("text", POLYNOMIALS)
def test_exact_filtration_agrees_with_the_numeric_one(text):
    """Two methods: rational orthogonal frames; contracted Hermite tensors and singular values."""
    f = Expression(text)
    exact = leap_record(f)
    engine = HermiteBlocks(f, max(f.polynomial.degree, 1))
    learned = Subspace.zero(f.r)
    for step in exact.steps:
        for k in range(1, step.order):
            assert engine.energy(learned, k).value < 1e-18
        energy = engine.energy(learned, step.order)
        assert energy.value == pytest.approx(step.strength.value, rel=1e-10)
        rows, _ = engine.directions(learned, step.order)
        learned = learned + Subspace.span(rows, f.r)
        assert learned.distance(step.learned) < 1e-7


@given(st.lists(st.tuples(*[st.integers(-5, 5)] * 3), min_size=0, max_size=2))
def test_rational_frames_are_orthogonal_and_complete(rows):
    frame = rational_frame([tuple(map(Fraction, row)) for row in rows], 3)
    matrix = np.array(frame.vectors, dtype=float)
    assert matrix.shape == (3, 3)
    assert not (matrix @ matrix.T)[~np.eye(3, dtype=bool)].any()
    span = Subspace.span(np.array(rows, dtype=float).reshape(-1, 3), 3)
    assert frame.inside == span.dim
    assert span.distance(Subspace.span(matrix[: frame.inside], 3)) < 1e-9


# ---- invariances


def rotation(r, seed):
    rng = np.random.default_rng(seed)
    q, triangle = np.linalg.qr(rng.standard_normal((r, r)))
    return q * np.sign(np.diag(triangle))


def rotated(text, R):
    """Text of z -> f(R z), with decimal coefficients."""

    def form(match):
        row = R[int(match[1] or 1) - 1]
        return "(" + " + ".join(f"({c:.15f})*z{j}" for j, c in enumerate(row, 1)) + ")"

    return re.sub(r"\bz(\d?)\b", form, text)


ROTATED = [
    "He2(z1) + sign(z1*z2*z3)",
    "He4(z1) + sign(z1*z2*z3)",
    "sign(z1) + sign(z2)",
    "z1 + z1*z2 + z1*z2*z3",
    "(4*z1 + z1**2 + z2)/2",
    "z1*z2*z3",
    "tanh(z1 + z2*z3)",
    "relu(z1)*z2 + abs(z3)",
    "exp(-z1**2/2)*z2 + z3**2/2",
    "He3(z1 - z2) + cos(z1 + z2)",
]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(ROTATED), st.integers(0, 10**6), st.sampled_from(["any", "small"]))
def test_rotations_rotate_the_steps(text, seed, size):
    """Would catch: directions read off the axes; an exponent that changes under a rotation."""
    f = Expression(text)
    R = rotation(f.r, seed)
    if size == "small":
        c, s = math.cos(0.01), math.sin(0.01)
        R = np.eye(f.r)
        R[:2, :2] = [[c, -s], [s, c]]
    turned = leap_record(Expression(rotated(text, R)))
    plain = leap_record(f)
    assert turned.orders == plain.orders
    assert turned.exponent.value == plain.exponent.value
    for a, b in zip(turned.steps, plain.steps, strict=True):
        assert a.learned.distance(Subspace.span(b.learned.basis @ R, f.r)) < 1e-6
        assert a.strength.value == pytest.approx(b.strength.value, rel=1e-6)


def test_oblique_forms_after_a_rotation():
    """Forms that are not orthogonal stay oblique in every frame: no separation helps."""
    text = "relu(z1 + z2)*relu(z2 + z3)"
    R = rotation(3, 5)
    turned, plain = (leap_record(Expression(t)) for t in (rotated(text, R), text))
    assert turned.orders == plain.orders == ((1, 1), (2, 1))
    assert turned.steps[0].new.distance(Subspace.span(plain.steps[0].new.basis @ R)) < 1e-6
    assert turned.unused.distance(Subspace.span(plain.unused.basis @ R)) < 1e-6


@pytest.mark.parametrize("text", ROTATED)
def test_permuted_and_scaled_variables(text):
    f = Expression(text)
    order = list(range(f.r))[::-1]
    permuted = rotated(text, np.eye(f.r)[order])
    assert leap_record(Expression(permuted)).orders == leap_record(f).orders
    scaled = leap_record(Expression(f"1001/1000*({text}) + 7"))
    assert scaled.orders == leap_record(f).orders
    assert scaled.exponent.value == leap_record(f).exponent.value


def test_relabelling_may_change_the_information_exponent():
    assert information_exponent(Expression("He3(z)")).value == 3
    assert information_exponent(Expression("He3(z)**3")).value == 1


def test_natural_frame_undoes_a_rotation():
    R = rotation(3, 11)
    f = Expression(rotated("He2(z1) + sign(z1*z2*z3)", R))
    framed, rows = natural_frame(f)
    np.testing.assert_allclose(np.abs(rows @ R.T).round(9).sum(axis=0), 1.0)
    z = np.random.default_rng(0).standard_normal((50, 3))
    np.testing.assert_allclose(framed(z @ rows.T), f(z), atol=1e-12)
    assert framed.is_separable_sum or len(framed.form.terms[0].blocks) == 3


def test_rewriting_keeps_the_values():
    f = Expression("tanh(2*z1 - z2 + 1) * exp(-(z1 + z3)**2) + sqrt(2)*z2")
    R = rotation(3, 3)
    z = np.random.default_rng(1).standard_normal((200, 3))
    np.testing.assert_allclose(rewrite(f, R)(z @ R.T), f(z), rtol=1e-11, atol=1e-12)
    assert len(linear_forms(f)) == 3


def test_degree_is_bounded_by_the_cost():
    assert NumericFiltration(Expression("sign(z1*z2*z3*z4*z5)"), 12).degree == 8
    assert NumericFiltration(Expression("sign(z1*z2)"), 12).degree == 12


@pytest.mark.parametrize("k", [1, 2, 3])
def test_blocks_along_axes_agree_with_contracted_tensors(k):
    """Two paths: U oblique (tensors), and the function rewritten so that U is an axis (indices)."""
    f = Expression("tanh(z1 + z2)*z3 + He3(z2)*z1 + cos(z3)*z2**2")
    R = rotation(3, 2)
    oblique, axis = Subspace(R[:1]), Subspace.span([[1.0, 0.0, 0.0]])
    plain = HermiteBlocks(f, 6).block(oblique, k)[0]
    turned = HermiteBlocks(rewrite(f, R), 6).block(axis, k)[0]
    singular = [np.linalg.svd(block, compute_uv=False) for block in (plain, turned)]
    assert singular[0].min() > 1e-3
    np.testing.assert_allclose(*singular, rtol=1e-8)


def test_permutations_decide_what_noise_leaves_open():
    """The largest of four numbers: the sum at once, the differences by their squares.

    Given the sum, a linear part along a difference would change sign under the exchange of its two
    variables, which the function does not see. Would catch: a sum found up to the noise of the
    integrals, beside which a linear part seems possible.
    """
    record = leap_record(Expression("max(max(z1, z2), max(z3, z4))"))
    assert record.orders == ((1, 1), (2, 3))
    assert record.steps[0].learned.distance(Subspace.span(np.ones((1, 4)), 4)) < 1e-12
    z = np.random.default_rng(0).standard_normal((200_000, 4))
    curvature = z.max(axis=1) * ((z[:, 0] - z[:, 1]) ** 2 / 2 - 1)
    assert curvature.mean() > 10 * curvature.std() / np.sqrt(len(z))


@pytest.mark.parametrize(
    ("text", "order", "dimensions"),
    [
        ("z1 + z2 + He2(z1) + He2(z2)", 1, [1]),  # stuck at n ~ d
        ("z1 + z2 + He2(z1) + He2(z2)", 2, [1, 2]),
        ("He2(z1) + sign(z1*z2*z3)", 1, []),
        ("He2(z1) + sign(z1*z2*z3)", 2, [1, 3]),
        ("He4(z1) + sign(z1*z2*z3)", 2, []),  # the third order comes first
        ("He4(z1) + sign(z1*z2*z3)", 3, [3]),
        # z1, then z2 through He2(z1) z2, then z3 through He4(z1) He2(z2) z3
        ("z1+He2(z2)+He2(z1)*z2+He4(z1)*He2(z2)*z3+He2(z2)*He2(z3)", 2, [1, 2, 3]),
    ],
)
def test_staircases_of_batches_of_higher_order(text, order, dimensions):
    """Dimensions of the published examples: giant steps with n ~ d^k take leaps of at most k."""
    a = gd.analyze(text)
    assert [space.dim for space in a.staircase_of_order(order)] == dimensions
    assert str(a.staircase_of_order(1)) == str(a.staircase)
    if a.leap_exponent is not None:  # enough samples for the whole filtration
        whole = a.staircase_of_order(a.leap_exponent)
        assert [space.dim for space in whole] == [step.learned.dim for step in a.leaps.steps]


@pytest.mark.parametrize("order", [0, 13, 1.5, True])
def test_orders_of_staircases_are_checked(order):
    with pytest.raises(gd.BadData, match=f"from 1 to 12, got {order}"):
        gd.analyze("z1").staircase_of_order(order)

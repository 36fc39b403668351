"""Symmetries of a target against enumeration, closed forms and each other."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

import gradone as gd
from gradone.targets.language.expression import Expression
from gradone.targets.symmetries import symmetry_group

FINITE = {
    "z": 1,
    "He3(z)": 1,
    "z**2": 2,
    "exp(-z**2)": 2,
    "sign(z1*z2)": 4,  # both signs, and the exchange
    "z1*z2": 4,
    "sign(z1*z2*z3)": 24,  # 4 even changes of sign times 6 permutations
    "z1*z2*z3": 24,
    "sign(z1*z2*z3*z4)": 192,
    "z1**2 + sign(z1*z2*z3)": 8,
    "max(z1, z2)": 2,
    "relu(z1) + relu(z2)": 2,
    "sign(z1) + sign(z2)": 2,
    "abs(z1) + abs(z2)": 8,
    "tanh(z1*z2) + 0.5*z3": 4,
    "z1*z2 + z3**2": 8,
    "sign(z1 + z2**2 - 1)": 2,
    "z1 + z1*z2 + z1*z2*z3": 1,
    "z1**2 + 2*z2**2": 4,
    "sign((z1 + z2)*(z1 - z2))": 4,
    "He2((z1 + z2)/sqrt(2))": 4,  # its axis, and the unused one
    "2*z1**2 + z1*z2 + z2**2": 4,  # principal axes that nobody typed
    "tanh(2*z1**2 + z1*z2 + z2**2)": 4,
    "tanh(z1 + 2*z2)*tanh(2*z1 + z2)": 4,  # forms that are not orthogonal
    "max(z1, max(-z1/2 + sqrt(3)/2*z2, -z1/2 - sqrt(3)/2*z2))": 6,  # a triangle
    "z1**3 - 3*z1*z2**2": 6,
    "z3*(z1**3 - 3*z1*z2**2)": 12,  # turns by a sixth of a circle change the sign of z3
    "tanh(z1**4 - 6*z1**2*z2**2 + z2**4 + z3)": 8,
    "z2": 2,
    "sign(z1 - 5)*z2": 1,  # what tells the signs apart happens once in a million
    "sign(z1*(1 + z2**2))*z2**2": 2,
}
ROTATING = {  # parts, generators
    "z1**2 + z2**2": (2, 1),
    "exp(-z1**2 - z2**2 - z3**2)": (2, 3),
    "sqrt(z1**2 + z2**2)*sign(z3)": (2, 1),
    "sign(z1**2 + z2**2 - 1) + z3": (2, 1),
    "z1*z2 + z3*z4": (4, 2),
    "(max(z1, 1) + min(z1, 1) - 1)**2 + z2**2": (2, 1),  # no break at z1 = 1
    "z3": (2, 1),
    "z3**2": (4, 1),
    "(z1**2 + z2**2)*(z3**2 + z4**2)": (8, 2),
    "z1*z3 + z2*z4 + (z1**2 + z2**2)**2": (2, 1),  # one angle for both planes
    "(z1*z3 + z2*z4)**2 + (z1**2 + z2**2)**2": (4, 1),
}


def keeps(expression, S, z):
    """Whether g(S z) = g(z) at the points."""
    value = expression(z)
    return bool(np.allclose(expression(z @ S.T), value, rtol=1e-8, atol=1e-8))


def signed_permutations(r):
    for order in itertools.permutations(range(r)):
        for signs in itertools.product((1.0, -1.0), repeat=r):
            yield np.eye(r)[list(order)] * np.array(signs)[:, None]


def any_map(group, rng):
    """Random member of a group."""
    A = np.tensordot(3 * rng.standard_normal(len(group.rotations)), group.rotations, axes=1)
    return group.elements[rng.integers(len(group.elements))] @ expm(A)


@pytest.mark.parametrize("text", FINITE)
def test_order(text):
    assert symmetry_group(Expression(text)).order == FINITE[text]


@pytest.mark.parametrize("text", ROTATING)
def test_parts_and_rotations(text):
    """Would catch: sign(z1*z2), whose gradient vanishes, taken for a function of nothing."""
    group = symmetry_group(Expression(text))
    assert (len(group.elements), len(group.rotations)) == ROTATING[text]
    assert group.order == np.inf


@pytest.mark.parametrize("text", [*FINITE, *ROTATING])
def test_members_are_orthogonal_and_keep_the_function(text, rng):
    expression = Expression(text)
    group = symmetry_group(expression)
    z = 2 * rng.standard_normal((2000, expression.r))
    for _ in range(8):
        S = any_map(group, rng)
        np.testing.assert_allclose(S @ S.T, np.eye(expression.r), atol=1e-12)
        assert keeps(expression, S, z)
        assert group.contains(S)


@pytest.mark.parametrize("text", [t for t in [*FINITE, *ROTATING] if "z4" not in t])
def test_no_signed_permutation_is_missing_or_wrong(text, rng):
    expression = Expression(text)
    group = symmetry_group(expression)
    z = 4 * rng.standard_normal((2000, expression.r))
    for S in signed_permutations(expression.r):
        assert group.contains(S) == keeps(expression, S, z)


@pytest.mark.parametrize("text", [t for t in FINITE if "z4" not in t])
def test_a_finite_group_is_closed(text):
    group = symmetry_group(Expression(text))
    known = {(np.round(S, 6) + 0.0).tobytes() for S in group.elements}
    assert len(known) == group.order
    for S, T in itertools.product(group.elements, repeat=2):
        assert (np.round(S @ T.T, 6) + 0.0).tobytes() in known


@pytest.mark.parametrize("text", [*FINITE, *ROTATING])
def test_aligned_overlaps_do_not_depend_on_the_member_that_an_algorithm_found(text, rng):
    expression = Expression(text)
    group = symmetry_group(expression)
    M = rng.standard_normal((group.r, group.r))
    aligned = group.align(M)
    assert keeps(expression, np.linalg.solve(M, aligned), rng.standard_normal((500, group.r)))
    best = np.trace(aligned)
    for _ in range(8):
        S = any_map(group, rng)
        assert np.trace(M @ S) <= best + 1e-9
        np.testing.assert_allclose(group.align(M @ S), aligned, atol=1e-7)


def test_a_trivial_group_changes_nothing(rng):
    M = rng.standard_normal((3, 3))
    group = symmetry_group(Expression("z1 + z1*z2 + z1*z2*z3"))
    np.testing.assert_array_equal(group.align(M), M)
    assert symmetry_group(Expression("He3(z)")).align(np.array([[-0.5]])) == -0.5


def test_full_rotations_align_to_the_polar_factor(rng):
    """Over O(2) the best trace is the sum of the singular values, reached by a symmetric matrix."""
    M = rng.standard_normal((2, 2))
    aligned = symmetry_group(Expression("z1**2 + z2**2")).align(M)
    np.testing.assert_allclose(aligned, aligned.T, atol=1e-12)
    np.testing.assert_allclose(aligned @ aligned, M @ M.T, atol=1e-12)
    assert (np.linalg.eigvalsh(aligned) > 0).all()


def test_what_state_evolution_gives_is_aligned(rng):
    """Tr(M S) <= Tr M for M >= 0 and S orthogonal."""
    B = rng.standard_normal((3, 3))
    for text in ("sign(z1*z2*z3)", "z1**2 + z2**2 + z3", "z1*z2 + z3**2"):
        np.testing.assert_allclose(symmetry_group(Expression(text)).align(B @ B.T), B @ B.T)


def test_maps_that_change_the_label_do_not_count():
    assert not symmetry_group(Expression("z")).contains(-np.eye(1))
    assert not symmetry_group(Expression("sign(z1*z2)")).contains(np.diag([1.0, -1.0]))


@pytest.mark.parametrize("text", ["sign(z1*z2)", "max(z1, z2)", "z1**2 + sign(z1*z2*z3)", "z3**2"])
@pytest.mark.parametrize("seed", [0, 1])
def test_rotations_of_the_target_rotate_its_symmetries(text, seed):
    r = Expression(text).r
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((r, r)))[0]

    def form(match):
        return (
            "("
            + " + ".join(f"({w:.15f})*z{j + 1}" for j, w in enumerate(Q[int(match[1]) - 1]))
            + ")"
        )

    rotated = symmetry_group(Expression(re.sub(r"\bz(\d)\b", form, text)))
    group = symmetry_group(Expression(text))
    assert len(rotated.elements) == len(group.elements)
    assert len(rotated.rotations) == len(group.rotations)
    for S in group.elements:
        assert rotated.contains(Q.T @ S @ Q)


TERMS = """
z1 z2 z3 z1*z2 z2*z3 z1*z2*z3 z1**2 z2**2 z3**2 abs(z1) sign(z1*z3) sign(z2) tanh(z1*z2)
max(z1,z3) relu(z2) exp(-z3**2) sign(z1+z2) (z1-z2)**2 sign(z1*z2*z3) step(z3-1) He3(z2)
""".split()


@settings(deadline=None, max_examples=15, derandomize=True)
@given(
    st.lists(st.tuples(st.sampled_from([1, -1, 2]), st.sampled_from(TERMS)), min_size=1, max_size=3)
)
def test_sums_of_random_terms(terms):
    try:
        expression = Expression(" + ".join(f"({c})*{term}" for c, term in terms))
    except gd.TargetError:  # the terms canceled
        return
    group = symmetry_group(expression)
    rng = np.random.default_rng(len(terms))
    z = 3 * rng.standard_normal((1000, expression.r))
    for S in signed_permutations(expression.r):
        assert group.contains(S) == keeps(expression, S, z)
    M, S = rng.standard_normal((expression.r, expression.r)), any_map(group, rng)
    assert keeps(expression, S, z)
    np.testing.assert_allclose(group.align(M @ S), group.align(M), atol=1e-7)


def test_stacks_of_matrices_are_aligned_one_by_one(rng):
    group = symmetry_group(Expression("z1*z2"))
    M = rng.standard_normal((3, 2, 2, 2))
    M[1, 0, 0, 1] = np.nan
    aligned = group.align(M)
    np.testing.assert_array_equal(aligned[2, 1], group.align(M[2, 1]))
    np.testing.assert_array_equal(aligned[1, 0], M[1, 0])


def test_shapes_are_checked():
    with pytest.raises(gd.BadData, match=r"shape \(..., 2, 2\), not \(2, 3\)"):
        symmetry_group(Expression("z1*z2")).align(np.zeros((2, 3)))


def test_too_many_directions_are_refused():
    with pytest.raises(gd.OutOfRegime, match="at most 5 directions, the function has r = 6"):
        symmetry_group(Expression("z1*z6"))

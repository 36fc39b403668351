"""Classes, thresholds and the grand staircase against the literature and against themselves."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from gradone.analysis.queries.learnability import _learnability, learnability
from gradone.analysis.queries.next_stage import blurred_noise
from gradone.analysis.queries.operators import easy_operator, full_tensor, query_strength
from gradone.channels.conditional import given
from gradone.channels.conditional.branches import branch_grams
from gradone.channels.conditional.slicing import sliced_grams
from gradone.targets.language.expression import Expression
from gradone.targets.subspace import Subspace

sys.path.insert(0, str(Path(__file__).parent))
from rotations import in_other_coordinates, rotation, small_rotation

PI = math.pi

TEN = [
    "z1**2",
    "He3(z1)",
    "sign(z1*z2)",
    "z1*z2",
    "sign(z1) + sign(z2)",
    "z1**2 + sign(z1*z2*z3)",
    "sign(z1*z2*z3)",
    "z1 + z1*z2",
    "max(z1, z2)",
    "z1*z2*z3",
]

# target, noise, threshold of the first easy stage, tolerance, how it is known
FIRST_THRESHOLDS = [
    ("z1**2", 0.0, 0.5, 1e-6),  # any monotone function of |z|
    ("abs(z1)", 0.0, 0.5, 1e-6),
    ("exp(-z1**2)", 0.0, 0.5, 1e-6),
    ("z1**4", 0.0, 0.5, 1e-6),
    ("He4(z1)", 0.0, 0.644850, 1e-5),
    ("step(abs(z1) - 1)", 0.0, 0.924958, 1e-6),
    ("z1**2", 0.1, 0.518066, 1e-6),
    ("z1**2", 1.0, 0.646591, 1e-6),
    ("sign(z1*z2)", 0.0, PI**2 / 4, 1e-9),
    ("z1*z2", 0.0, 0.593751, 1e-5),  # Bessel integral
    ("tanh(z1*z2)", 0.0, 0.593751, 1e-5),
    ("z1*z2", 0.1, 0.6610, 5e-4),
    ("z1*z2*z3", 0.0, 2.565180, 1e-4),  # nested Bessel integral
    ("z1**2 + sign(z1*z2*z3)", 0.0, 0.575166, 1e-5),  # one-dimensional integral
]


@pytest.mark.parametrize(("text", "noise", "alpha", "tolerance"), FIRST_THRESHOLDS)
def test_weak_recovery_thresholds(text, noise, alpha, tolerance):
    """Would catch: E[H|Y]^2 in place of E[H^2|Y], an operator norm, squared slice noise."""
    stage = learnability(Expression(text), noise).stages[0]
    assert stage.order == 2
    assert not stage.is_bound
    assert abs(stage.threshold.value - alpha) <= max(tolerance, stage.threshold.error)
    assert stage.threshold.error <= 0.003 * alpha


# target, noise, (order, new directions) of each stage
STAGES = [
    ("He3(z1)", 0.0, [(1, 1)]),
    ("sign(z1)", 0.0, [(1, 1)]),
    ("z1**2*exp(-z1**2)", 0.0, [(4, 1)]),
    ("sign(z1*z2)", 0.0, [(2, 2)]),
    ("sign(z1*z2*z3)", 0.0, [(3, 3)]),
    ("sign(z1*z2*z3*z4)", 0.0, [(4, 4)]),
    ("z1*z2*z3", 0.0, [(2, 3)]),
    ("sign(z1) + sign(z2)", 0.0, [(1, 1), (2, 1)]),
    ("z1**2 + sign(z1*z2*z3)", 0.0, [(2, 1), (2, 2)]),
    ("He2(z1) + sign(z1*z2*z3)", 0.0, [(2, 1), (2, 2)]),
    ("He4(z1) + sign(z1*z2*z3)", 0.0, [(2, 1), (2, 2)]),
    ("max(z1, z2)", 0.1, [(1, 1), (2, 1)]),
    ("relu(z1) + relu(z2)", 0.01, [(1, 1), (2, 1)]),
    ("tanh(z1*z2) + z3/2", 0.05, [(1, 1), (2, 2)]),
    # members of the classes that no document names
    ("sign(z1*(z2 + z3))", 0.0, [(2, 2)]),
    ("cos(2*z1)*sign(z2)", 0.0, [(1, 1), (2, 1)]),
    ("step(z1*z2 - 1)", 0.0, [(2, 1), (2, 1)]),
    ("abs(z1)*sign(z2*z3)", 0.0, [(2, 1), (2, 2)]),
    ("z1**2 + sign(z1*z2)", 0.0, [(2, 2)]),  # the second direction carries 8 % of the matrix
    ("z1**2 + 3*z2**2 + z1*z2", 0.0, [(2, 1), (2, 1)]),
    ("sign(z1**2 - 2*z2**2 + 0.3*z1*z2 - 0.5)", 0.0, [(2, 1), (2, 1)]),
    ("0.002*z1 + z2*z3", 0.0, [(1, 1), (2, 2)]),
    ("sin(5*z1)", 0.0, [(1, 1)]),
    ("sin(6*z1)", 0.0, [(1, 1)]),  # C_1 = 6 exp(-18) is small, and not zero
    ("z1**2 + 1e-5*z1", 0.0, [(1, 1)]),
    pytest.param("max(z1, max(z2, z3))", 0.0, [(1, 1), (2, 2)], marks=pytest.mark.stat),
]


@pytest.mark.parametrize(("text", "noise", "stages"), STAGES)
def test_grand_staircases(text, noise, stages):
    found = learnability(Expression(text), noise)
    assert [(stage.order, stage.new.dim) for stage in found.stages] == stages
    assert not found.undecided


def test_the_committee_is_trivial_along_the_sum_and_easy_along_the_difference():
    """Perfect conditioning gives 1.430834, a lower bound: AMP specializes at 2.05."""
    first, second = learnability(Expression("sign(z1) + sign(z2)")).stages
    assert first.new.distance(Subspace.span([[1.0, 1.0]])) < 1e-9
    assert float(first.threshold) == 0.0
    assert second.is_bound
    assert abs(second.threshold.value - 1.430834) <= max(1e-5, second.threshold.error)
    assert second.threshold.error < 0.003 * 1.43


def test_a_learned_square_opens_the_parity_at_its_own_threshold():
    """z1 is recovered perfectly before pi^2/4, so the second threshold is the true one."""
    first, second = learnability(Expression("z1**2 + sign(z1*z2*z3)")).stages
    assert first.new.distance(Subspace.span([[1.0, 0.0, 0.0]])) < 1e-9
    assert second.threshold.value == pytest.approx(PI**2 / 4, abs=1e-6)
    assert not second.is_bound


def test_parities_of_three_are_never_learned_with_proportional_data():
    found = learnability(Expression("sign(z1*z2*z3)"))
    assert found.never.dim == 3
    assert math.isinf(found.stages[0].threshold.value)


@pytest.mark.parametrize("text", ["sin(5*z1)", "cos(6*z1)", "He3(z1)", "0.002*z1 + z2*z3", *TEN])
def test_the_generative_exponent_is_at_most_the_information_exponent(text):
    from gradone.analysis.correlation.leap import information_exponent

    f = Expression(text)
    assert learnability(f).generative_exponent.value <= information_exponent(f).value


def test_a_tiny_correlation_names_its_direction():
    """Would catch: eigenvalues that are small on an absolute scale taken for equal ones."""
    first, second = learnability(Expression("cos(5*z1)*z2")).stages
    assert (first.order, str(first.new)) == (1, "span(z2)")
    # Given z2 the label is cos(5 z1), up to e^-25 the cosine of a uniform angle, and
    # E[(z^2 - 1) cos(5 z)] = -25 e^(-25/2).
    expected = 1 / (2 * (25 * math.exp(-12.5)) ** 2)
    assert second.order == 2
    assert second.threshold.value == pytest.approx(expected, rel=1e-4)


@pytest.mark.stat
def test_many_oscillations_cost_accuracy_and_the_error_says_so():
    """Would catch: a budget that ends early with the error of the precise method."""
    threshold = learnability(Expression("sin(10*z1 + 3*z2**2) + z1")).stages[1].threshold
    # Given z1 the phase 10 z1 is uniform up to e^-50: histograms of the angle of y.
    t = (np.arange(50_000) + 0.5) / 50_000 * 7
    weight = np.exp(-t * t / 2)
    weight /= weight.sum()
    total, bins = 0.0, 500
    for phase in np.arange(32) * PI / 16 + 0.1:
        angle = np.arcsin(np.sin(phase + 3 * t * t))
        cell = np.minimum(((angle / PI + 0.5) * bins).astype(int), bins - 1)
        mass, moment = (
            np.bincount(cell, weight, bins),
            np.bincount(cell, weight * (t * t - 1), bins),
        )
        total += float((moment[mass > 0] ** 2 / mass[mass > 0]).sum()) / 32
    assert abs(threshold.value - 1 / total) <= threshold.error + 0.02
    assert 0.003 < threshold.error / threshold.value < 0.05


@pytest.mark.stat
def test_what_is_undecided_is_not_called_impossible(monkeypatch):
    search = "gradone.analysis.queries.next_stage"
    monkeypatch.setattr(f"{search}.is_nonzero", lambda *a, **k: None)
    monkeypatch.setattr(f"{search}._Search.correlation", lambda *a: None)
    found = _learnability.__wrapped__(Expression("z1*z2"), 0.0, 0, 60.0)
    assert found.undecided.startswith("undecided")
    assert found.never.dim == 0


def test_unused_directions_are_named():
    found = learnability(Expression("tanh(z1 + z3)**2"))
    assert found.unused.dim == 2
    assert found.unused.contains([1.0, 0.0, -1.0])
    assert found.unused.contains([0.0, 1.0, 0.0])
    assert found.never.dim == 0


def test_spectrum_of_the_easy_operator_of_the_2_parity():
    """+4/pi^2 twice and -4/pi^2 (Frobenius product)."""
    gram = given.output_grams(Expression("sign(z1*z2)"), 0.0, [2])[2]
    values = np.linalg.eigvalsh(easy_operator(gram.value, 2))
    np.testing.assert_allclose(values, np.array([-1, 1, 1]) * 4 / PI**2, atol=1e-12)


def test_third_eigenvalue_of_a_product():
    gram = given.output_grams(Expression("z1*z2"), 0.0, [2])[2]
    values = np.linalg.eigvalsh(easy_operator(gram.value, 2))
    assert values[0] == pytest.approx(-0.315793, abs=2e-3)


@pytest.mark.parametrize(
    ("text", "noise", "eigenvalue"),
    [
        ("max(z1, z2)", 0.1, 0.6435),
        ("relu(z1) + relu(z2)", 0.01, 0.7458),
        ("tanh(z1*z2) + z3/2", 0.05, 0.4352),
    ],
)
def test_trivial_eigenvalues_of_noisy_targets(text, noise, eigenvalue):
    r = Expression(text).r
    gram = given.output_grams(Expression(text), noise, [1])[1]
    assert query_strength(gram, r, 1).value == pytest.approx(eigenvalue, abs=5e-4)


# ---- invariances


def transformed(text: str, how: str) -> tuple[str, np.ndarray]:
    r = Expression(text).r
    matrix = {
        "permuted": np.eye(r)[::-1],
        "by 0.01": small_rotation(r, 0.01),
        "at random": rotation(r, 5),
    }[how]
    return in_other_coordinates(text, matrix), matrix


@pytest.mark.parametrize("how", ["permuted", "by 0.01", "at random"])
@pytest.mark.parametrize("text", TEN)
def test_rotations_rotate_subspaces_and_change_nothing_else(text, how):
    """Would catch: code that knows a target by its text, or snaps to axes."""
    turned, matrix = transformed(text, how)
    a, b = learnability(Expression(text)), learnability(Expression(turned))
    assert [s.order for s in a.stages] == [s.order for s in b.stages]
    for s, t in zip(a.stages, b.stages, strict=True):
        rotated = Subspace.span(s.subspace.basis @ matrix, s.subspace.r)
        assert rotated.distance(t.subspace) < 1e-6
        if math.isfinite(s.threshold.value):
            error = s.threshold.error + t.threshold.error
            assert abs(s.threshold.value - t.threshold.value) <= error + 1e-9


@pytest.mark.parametrize(
    "relabel", ["1.001*({})", "tanh(({})/50)", "({})**3 + ({})", "({})/(1 + abs({}))"]
)
@pytest.mark.parametrize("text", ["z1**2", "He3(z1)", "sign(z1*z2)", "z1*z2", "He4(z1)/9"])
def test_invertible_relabelings_change_no_threshold(text, relabel):
    new = relabel.replace("{}", text)
    a, b = learnability(Expression(text)), learnability(Expression(new))
    assert a.generative_exponent.value == b.generative_exponent.value
    s, t = a.stages[0].threshold, b.stages[0].threshold
    assert abs(s.value - t.value) <= s.error + t.error + 1e-8


# ---- traps: each test first shows that the naive method fails


def test_trap_squared_slice_means_see_a_signal_where_there_is_none():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((2, 1 << 14))
    cells = np.argsort(np.argsort(z[0] * z[1])) * 1024 >> 14
    means = np.bincount(cells, z[0], 1024) / np.bincount(cells, minlength=1024)
    assert np.mean(means**2) > 0.05  # naive: squared noise
    gram = sliced_grams(lambda c: c[0] * c[1], 2, [1])[1]
    assert np.abs(gram.value).max() < 1e-3


def naive_first_moment(g, n=4001):
    """E[E[z|y]^2] with roots found by sign changes on a grid."""
    grid = np.linspace(-9, 9, n)
    nodes = np.linspace(-5, 5, 3001)
    y = g(nodes)
    sign = np.sign(g(grid)[None, :] - y[:, None])
    slope = np.abs(np.gradient(g(grid), grid)) + 1e-12
    roots = sign[:, :-1] * sign[:, 1:] < 0
    middle = (grid[:-1] + grid[1:]) / 2
    weight = roots * np.exp(-(middle**2) / 2) / slope[:-1]
    mean = (weight * middle).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300)
    density = np.exp(-(nodes**2) / 2)
    return float((mean**2 * density).sum() / density.sum())


def test_trap_pairs_of_roots_next_to_an_extremum():
    f = Expression("He4(z1)")
    assert naive_first_moment(lambda z: f(z[:, None])) > 1e-5
    slope = f.derivative()
    gram = branch_grams(lambda z: f(z[..., None]), lambda z: slope(z[..., None]), [], [1])[1]
    assert abs(gram.value[0, 0]) < 1e-9


@pytest.mark.stat
def test_trap_a_known_direction_that_is_off_by_a_thousandth():
    """y - z_U^2 then reveals the rest; a little noise hides it and adds no information."""
    f = Expression("z1**2 + sign(z1*z2*z3)")
    off = Subspace.span([[1.0, 1e-3, 0.0]])
    naive = given.conditional_grams(f, 0.0, off, [1], points=1 << 17)[1]
    assert query_strength(naive, 2, 1).value > 0.1
    blurred = given.conditional_grams(f, blurred_noise(f, 0.0), off, [1, 2], points=1 << 17)
    assert query_strength(blurred[1], 2, 1).value < 2e-3
    assert query_strength(blurred[2], 2, 2).value == pytest.approx(4 / PI**2, abs=0.02)


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "alpha"), [("z3 + z1*z2", 0.5937511), ("z1*z2 + z2*z3 + z1*z3", 1.0)]
)
def test_the_error_of_a_stage_after_an_estimated_one_covers_the_blur(text, alpha, monkeypatch):
    """If no direction is recognized, y is blurred; the blur alone would move 0.59375 to 0.5958."""
    for module in ("directions", "learnability"):
        path = f"gradone.analysis.queries.{module}.typed_subspace"
        monkeypatch.setattr(path, lambda *arguments: None)
    found = _learnability.__wrapped__(Expression(text), 0.0, 0, 60.0)
    assert "a learned subspace was estimated, not derived" in found.notes
    threshold = found.stages[1].threshold
    assert threshold.kind == "extrapolation"
    assert abs(threshold.value - alpha) <= threshold.error <= 0.01 * alpha


def test_trap_the_last_bits_of_a_constant():
    """(z + 1) - z is 1 up to rounding that depends on z; as distinct outputs it would reveal z."""

    def g(z):
        return np.where(z[1] > 0, (z[0] + 1.0) - z[0], z[1])

    values = g(np.random.default_rng(0).standard_normal((2, 1000)))
    assert len(np.unique(values[values > 0])) > 1
    gram = sliced_grams(g, 2, [1], points=1 << 16)[1]
    assert abs(gram.value[0, 0]) <= max(gram.entry_error()[0, 0], 1e-3)


@pytest.mark.parametrize("text", ["tanh(z1) + tanh(z2) + tanh(z3)", "abs(z1) + abs(z2) + abs(z3)"])
def test_permutations_give_exact_zeros(text):
    """Given the sum, a symmetric target says nothing linear about the differences."""
    f = Expression(text)
    known = Subspace.span([[1.0, 1.0, 1.0]])
    gram = given.conditional_grams(f, 0.0, known, [1], points=1 << 15)[1]
    assert np.abs(gram.value).max() < 1e-25


@pytest.mark.parametrize("text", TEN)
def test_a_thousandth_in_the_inputs_changes_little(text):
    """No target is known by its text: z -> 1.001 z moves thresholds by less than a hundredth."""
    r = Expression(text).r
    a = learnability(Expression(text))
    b = learnability(Expression(in_other_coordinates(text, 1.001 * np.eye(r))))
    assert [s.order for s in a.stages] == [s.order for s in b.stages]
    for s, t in zip(a.stages, b.stages, strict=True):
        assert s.subspace.distance(t.subspace) < 1e-6
        if math.isfinite(s.threshold.value):
            error = s.threshold.error + t.threshold.error
            assert abs(s.threshold.value - t.threshold.value) <= error + 0.01 * s.threshold.value


def test_trap_operator_norm_in_place_of_the_frobenius_norm():
    """||E[G^2]||_op exceeds the largest eigenvalue of M -> E[G M G] when the G do not commute."""
    text = "step(z3)*sign(z1*z2) + 2*step(-z3)*sign(z1*z4)"
    gram = given.output_grams(Expression(text), 0.0, [2])[2]
    tensor = full_tensor(gram.value, 4, 2).reshape(4, 4, 4, 4)
    naive = np.linalg.eigvalsh(np.einsum("ijjl->il", tensor))[-1]
    true = np.linalg.eigvalsh(easy_operator(gram.value, 4))[-1]
    assert naive > 1.1 * true
    # The definition itself, by brute force over positive matrices.
    rng, best = np.random.default_rng(1), 0.0
    for _ in range(400):
        root = rng.standard_normal((4, 4))
        matrix = root @ root.T
        matrix /= np.linalg.norm(matrix)
        for _ in range(30):
            matrix = np.einsum("ijkl,jk->il", tensor, matrix)
            size = float(np.linalg.norm(matrix))
            matrix /= max(size, 1e-300)
        best = max(best, size)
    assert true == pytest.approx(best, rel=1e-6)

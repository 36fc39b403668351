"""Hierarchical targets: features of features, with the moments that the theory states."""

import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

import gradone as gd
from gradone.targets.hierarchical import HierarchicalTarget

INNER = "He2(z)/2 + He3(z)/6"
SIGHT = gd.Sight(outer="tanh(3*h)", inner=INNER, exponent=0.5)
MIGHT = gd.Might(outer="tanh(3*h)", inner=INNER, branches=3, exponent=0.5)
TREE = gd.Tree(outer="tanh(3*h)", inners=["He2(z)/2", "He2(z)/2"], exponents=[0.7, 0.4])
FORMS = gd.QuadraticForms(outer="tanh(h)")
ALL = [
    SIGHT,
    gd.Sight(outer="h", inner="z", exponent=1.0, signs=[1, -1.0, 1, 1], noise=0.2),
    MIGHT,
    gd.Might(outer="h1*h2", inner="abs(z) - sqrt(2/pi)", branches=2, signs="ones"),
    TREE,
    gd.Tree(outer="h", inners=["He2(z)"], exponents=[0.5], standardize=False, noise=0.5),
    FORMS,
    gd.QuadraticForms(outer="h**2", count=3),
]


def t_limit(replicates):
    """Two-sided Student quantile at 1e-6."""
    return student.isf(0.5e-6, replicates - 1)


# ---- identity


@pytest.mark.parametrize("target", ALL, ids=repr)
def test_repr_and_pickle_rebuild_the_target(target):
    names = {kind.__name__: kind for kind in (gd.Sight, gd.Might, gd.Tree, gd.QuadraticForms)}
    _ = target.latex
    for again in (eval(repr(target), names), pickle.loads(pickle.dumps(target))):  # noqa: S301, S307
        assert again == target
        assert hash(again) == hash(target)
        assert (again.text, again.noise) == (target.text, target.noise)
    assert isinstance(target, HierarchicalTarget)
    assert "noise" not in target.text
    assert ("noise" in repr(target)) == (target.noise > 0)


def test_defaults_are_not_printed():
    assert repr(SIGHT) == f"Sight(outer='tanh(3*h)', inner='{INNER}', exponent=0.5)"
    assert repr(FORMS) == "QuadraticForms(outer='tanh(h)')"


def test_equality_goes_by_canonical_form():
    assert SIGHT == gd.Sight(outer="tanh(h*3)", inner="He3(z1)/6 + 0.5*He2(z)", exponent=0.5)
    assert gd.Sight(outer="tanh(3*h)", inner=INNER, exponent=0.4) != SIGHT
    assert gd.Sight(outer="tanh(3*h)", inner=INNER, signs="ones") != SIGHT
    assert gd.Sight(outer="tanh(3*h)", inner=INNER, noise=0.1) != SIGHT
    assert len(set(ALL)) == len(ALL)


def test_a_hierarchical_target_cannot_be_changed():
    with pytest.raises(AttributeError):
        SIGHT.exponent = 0.3


@pytest.mark.parametrize("target", ALL, ids=repr)
def test_the_notebook_shows_the_definition(target):
    assert target._repr_html_().startswith("<span>$y = ")
    assert target.latex.count("{") == target.latex.count("}")


# ---- sizes


def test_inner_dimension_is_the_integer_part_of_the_power():
    assert [SIGHT.inner_dimension(d) for d in (64, 128, 256)] == [8, 11, 16]
    cubic = gd.Sight(outer="h", inner="He2(z)", exponent=1 / 3)
    assert [cubic.inner_dimension(d) for d in (26, 27, 1000)] == [2, 3, 10]


def test_widths_of_a_tree_divide_each_other_and_stay_below_the_powers():
    tree = gd.Tree(outer="h", inners=["He2(z)"] * 3, exponents=[0.9, 0.6, 0.3])
    for d in (10, 64, 100, 729, 1000, 5000):
        widths = tree.widths(d)
        assert widths[-1] == 1
        assert all(low % high == 0 for low, high in zip(widths, widths[1:], strict=False))
        for width, exponent in zip(widths, tree.exponents, strict=False):
            assert width <= d**exponent + 1e-6
            assert width > d**exponent / 2
    assert TREE.widths(1000) == (120, 15, 1)


@pytest.mark.parametrize("target", ALL, ids=repr)
def test_samples_have_the_stated_shapes(target):
    d, n = (4, 7) if target == ALL[1] else (30, 7)
    s, widths = target.sample(n=n, d=d), target.widths(d)
    assert s.X.shape == (n, d)
    assert s.y.shape == (n,)
    assert [f.shape for f in s.features] == [(n, width) for width in widths[1:]]
    assert s.h is s.features[-1]
    np.testing.assert_allclose(s.W_star @ s.W_star.T, np.eye(widths[0]), atol=1e-12)


# ---- definitions, written out a second time


@pytest.mark.parametrize("target", [SIGHT, MIGHT])
def test_features_are_weighted_sums_of_the_inner_function(target):
    r, d = target.branches, 128
    t, s = target.realization(d, seed=3), target.sample(n=600, d=d, seed=3)
    z = (s.X @ t.W_star.T).reshape(600, r, 11)
    P = (z**2 - 1) / 2 + (z**3 - 3 * z) / 6
    h = np.array([[P[i, m] @ t.signs[m] / math.sqrt(11) for m in range(r)] for i in range(600)])
    np.testing.assert_allclose(t.z(s.X), z, atol=1e-12)
    np.testing.assert_allclose(t.h(s.X), h, atol=1e-11)
    np.testing.assert_allclose(s.h, h, atol=1e-11)
    y = np.tanh(3 * h).sum(axis=1) / math.sqrt(r)
    np.testing.assert_allclose(s.y, y, atol=1e-10)
    np.testing.assert_allclose(t(s.X), y, atol=1e-10)


def test_random_signs_are_signs_and_differ_between_replicates():
    a, b = (MIGHT.realization(400, replicate=i).signs for i in (0, 1))
    assert a.shape == (3, 20)
    assert set(np.unique(a)) == {-1.0, 1.0}
    assert not np.array_equal(a, b)
    assert (gd.Sight(outer="h", inner="z", signs="ones").realization(9).signs == 1).all()


def test_given_signs_are_used_and_must_fit():
    target = gd.Sight(outer="h", inner="z", signs=[1, 2, -3])
    t = target.realization(9)
    X = np.eye(9)
    np.testing.assert_allclose(t(X), X @ t.W_star.T @ [1, 2, -3] / math.sqrt(3), atol=1e-14)
    with pytest.raises(
        gd.BadData, match=r"in dimension d = 16 signs must have the shapes \(1, 4\)"
    ):
        target.sample(n=3, d=16)


def test_outer_function_of_all_branches_is_taken_as_typed():
    target = gd.Might(outer="h1*h3 - h2", inner="He2(z)", branches=3)
    s = target.sample(n=50, d=100)
    np.testing.assert_allclose(s.y, s.h[:, 0] * s.h[:, 2] - s.h[:, 1], atol=1e-12)


def test_branches_use_disjoint_directions():
    t = MIGHT.realization(64)
    X = np.random.default_rng(0).standard_normal((5, 64))
    first = X @ t.W_star[:8].T @ t.W_star[:8]  # what the first branch sees
    np.testing.assert_allclose(t.h(X - first)[:, 1:], t.h(X)[:, 1:], atol=1e-12)


def test_tree_with_one_inner_function_is_sight():
    tree = gd.Tree(outer="tanh(3*h)", inners=[INNER], exponents=[0.5])
    a, b = tree.sample(n=700, d=128, seed=2), SIGHT.sample(n=700, d=128, seed=2)
    assert np.array_equal(a.X, b.X)
    np.testing.assert_allclose(a.h, b.h, atol=1e-13)
    np.testing.assert_allclose(a.y, b.y, atol=1e-13)


def test_tree_levels_are_standardized_below_the_top_only():
    d = 1000
    literal = gd.Tree(
        outer="h", inners=["He2(z)/2", "He2(z)/2"], exponents=[0.7, 0.4], standardize=False
    )
    X = np.random.default_rng(1).standard_normal((20, d))
    t, u = TREE.realization(d), literal.realization(d)
    z, (a1, a2) = t.z(X)[:, 0], t.signs
    first = ((z**2 - 1) / 2 * a1[0]).reshape(20, 15, 8).sum(axis=2) / math.sqrt(8)
    np.testing.assert_allclose(u.levels(X)[0], first, atol=1e-12)
    np.testing.assert_allclose(t.levels(X)[0], first * math.sqrt(2), atol=1e-12)
    top = ((2 * first**2 - 1) / 2) @ a2[0] / math.sqrt(15)
    np.testing.assert_allclose(t.h(X)[:, 0], top, atol=1e-12)


def test_quadratic_forms_are_the_stated_matrices():
    d = 15
    t = gd.QuadraticForms(outer="tanh(h)", count=4).realization(d)
    A = t.matrices
    eigenvalues = np.linalg.eigvalsh(A) * math.sqrt(d)
    np.testing.assert_allclose(np.abs(eigenvalues), 1, atol=1e-12)
    assert (np.sign(eigenvalues).sum(axis=1) == 1).all()  # balanced, d odd: one more +
    X = np.random.default_rng(0).standard_normal((30, d))
    h = np.einsum("ni,jik,nk->nj", X, A, X) - np.trace(A, axis1=1, axis2=2)
    np.testing.assert_allclose(t.h(X), h, atol=1e-11)
    np.testing.assert_allclose(t(X), np.tanh(h).sum(axis=1) / 2, atol=1e-11)
    assert (t.signs.sum(axis=1) == 1).all()


def test_more_quadratic_forms_extend_fewer():
    few, many = (gd.QuadraticForms(outer="h", count=m).sample(n=9, d=12).h for m in (2, 5))
    np.testing.assert_allclose(few, many[:, :2], atol=1e-12)


def test_there_are_d_quadratic_forms_unless_told():
    assert FORMS.sample(n=3, d=20).h.shape == (3, 20)


# ---- moments that the theory states


@pytest.mark.stat
@pytest.mark.parametrize("signs", ["random", "ones"])
def test_variance_of_the_feature_is_that_of_the_inner_function(signs):
    """Var h = Var P = 2/3, h is not standardized. Catches: raw He2 + He3 (8), 1/D for 1/sqrt(D)."""
    target, replicates = gd.Sight(outer="h", inner=INNER, signs=signs), 32
    runs = [(target.sample(n=2000, d=64, replicate=i).h ** 2).mean() for i in range(replicates)]
    sem = np.std(runs, ddof=1) / math.sqrt(replicates)
    assert abs(np.mean(runs) - 2 / 3) < t_limit(replicates) * sem
    assert sem < 0.01


@pytest.mark.stat
@pytest.mark.parametrize(("d", "D"), [(64, 8), (128, 11), (256, 16)])
def test_stein_lemma_for_the_second_hermite_moment(d, D):
    """E[y He2(z_i)] = E[g'(h)] 2 c_2 a_i/sqrt(D), E[g'] = 0.9182 for Gaussian h.

    h is not Gaussian at finite D: the relative gap is 5 % at D = 8 and 2.5 % at D = 16, so 0.4/D
    is allowed on top of the statistical error. Catches: signs left out, 1/D for 1/sqrt(D), c_2 = 1.
    """
    replicates = 24
    runs = []
    for i in range(replicates):
        t, s = SIGHT.realization(d, replicate=i), SIGHT.sample(n=8000, d=d, replicate=i)
        moments = s.y @ (t.z(s.X)[:, 0] ** 2 - 1) / len(s.y)
        runs.append((moments * t.signs[0]).mean())
    predicted = 0.9182 / math.sqrt(D)
    sem = np.std(runs, ddof=1) / math.sqrt(replicates)
    assert abs(np.mean(runs) - predicted) < t_limit(replicates) * sem + 0.4 / D * predicted
    assert sem < 0.02 * predicted


@pytest.mark.stat
def test_label_weighted_covariance_has_the_predicted_outliers():
    """Eigenvalues of E[y (x x^T - I)]: +-0.9182/sqrt(D) in the signs' numbers, the rest zero."""
    d, n = 64, 400_000
    t = SIGHT.realization(d)
    C = np.zeros((d, d))
    for s in SIGHT.stream(n, d, chunk=50_000):
        C += (s.X.T * s.y) @ s.X / n - s.y.mean() * len(s.y) / n * np.eye(d)
    found = np.linalg.eigvalsh(C)
    positive = int((t.signs > 0).sum())
    edge = 4 * math.sqrt(d / n)  # bulk of a label-weighted covariance, E[y^2] < 1
    assert (found > edge).sum() == positive
    assert (found < -edge).sum() == 8 - positive
    outliers = np.abs(found)[np.abs(found) > edge]
    np.testing.assert_allclose(outliers.mean(), 0.9182 / math.sqrt(8), rtol=0.08)


@pytest.mark.stat
def test_branches_are_independent_and_their_sum_keeps_the_variance():
    """The committee has the variance of one branch. Catches: 1/r in place of 1/sqrt(r)."""
    replicates = 24
    one, three = [], []
    for i in range(replicates):
        s = MIGHT.sample(n=4000, d=256, replicate=i)
        branch = np.tanh(3 * s.h)
        one.append(branch.var(axis=0).mean())
        three.append(s.y.var())
    gap = np.array(three) - one
    sem = gap.std(ddof=1) / math.sqrt(replicates)
    assert abs(gap.mean()) < t_limit(replicates) * sem
    assert sem < 0.02


@pytest.mark.stat
def test_intermediate_features_of_a_tree_have_unit_variance():
    """Catches: standardization left out (variance 1/2) or applied to z."""
    replicates = 16
    runs = [
        (TREE.sample(n=500, d=300, replicate=i).features[0] ** 2).mean() for i in range(replicates)
    ]
    sem = np.std(runs, ddof=1) / math.sqrt(replicates)
    assert abs(np.mean(runs) - 1) < t_limit(replicates) * sem
    assert sem < 0.02


@pytest.mark.stat
def test_quadratic_forms_have_mean_zero_and_variance_two():
    """He2 is raw, Var h = 2 tr A^2 = 2. Catches: He2/2 (variance 1/2), the trace not subtracted."""
    replicates = 24
    runs = [
        gd.QuadraticForms(outer="h").sample(n=1000, d=33, replicate=i).h for i in range(replicates)
    ]
    for values, expected in (
        ([h.mean() for h in runs], 0.0),
        ([(h**2).mean() for h in runs], 2.0),
    ):
        sem = np.std(values, ddof=1) / math.sqrt(replicates)
        assert abs(np.mean(values) - expected) < t_limit(replicates) * sem
    assert norm.isf(0.5e-6) < t_limit(replicates)


# ---- what is refused


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ("z**2", r"must have mean 0 .* has mean 1: .* Write z\*\*2 - 1\."),
        ("He2(z) - 0.5", r"has mean -0.5: .* Write He2\(z\) - 0.5 \+ 0.5\."),
        ("relu(z)", r"has mean 0.398942280401.* Write relu\(z\) - 0.398942280401\."),
    ],
)
def test_inner_functions_must_be_centered_and_the_remedy_works(inner, message):
    with pytest.raises(gd.TargetError, match=message) as caught:
        gd.Sight(outer="h", inner=inner)
    remedy = str(caught.value).rsplit("Write ", 1)[1].rstrip(".")
    assert gd.Sight(outer="h", inner=remedy).inner == remedy


def test_functions_of_too_many_variables_are_refused():
    with pytest.raises(gd.TargetError, match="the inner function is a function of z alone"):
        gd.Sight(outer="h", inner="z1*z2")
    with pytest.raises(gd.TargetError, match="the outer function is a function of h alone"):
        gd.Sight(outer="h1*h2", inner="z")
    with pytest.raises(gd.TargetError, match=r"uses h1..h2, the target has branches = 3"):
        gd.Might(outer="h1*h2", inner="z", branches=3)
    with pytest.raises(gd.TargetSyntaxError, match="unknown name 'z'"):
        gd.Sight(outer="tanh(z)", inner="z")


@pytest.mark.parametrize("exponent", [0, -0.5, 1.5, "half", None, math.nan])
def test_impossible_exponents_are_refused(exponent):
    with pytest.raises(gd.BadData, match=r"an exponent must be a number in \(0, 1\]"):
        gd.Sight(outer="h", inner="z", exponent=exponent)


def test_directions_must_fit_in_the_space():
    target = gd.Might(outer="h", inner="z", branches=4, exponent=0.9)
    with pytest.raises(
        gd.BadData, match=r"4 branches of D = 42 directions need branches \* D <= d"
    ):
        target.sample(n=5, d=64)


def test_trees_must_narrow():
    with pytest.raises(gd.BadData, match="exponents must decrease"):
        gd.Tree(outer="h", inners=["z", "z"], exponents=[0.4, 0.7])
    with pytest.raises(gd.BadData, match="exponents must decrease"):
        gd.Tree(outer="h", inners=["z", "z"], exponents=[0.4, 0.4])
    with pytest.raises(
        gd.BadData, match="one exponent for each inner function, got 1 exponents and 2"
    ):
        gd.Tree(outer="h", inners=["z", "z"], exponents=[0.4])
    with pytest.raises(gd.BadData, match="inners must be a list of texts"):
        gd.Tree(outer="h", inners="z", exponents=[0.4])


@pytest.mark.parametrize("signs", ["alternating", None, [], [[1, "a"]], [math.nan]])
def test_impossible_signs_are_refused(signs):
    with pytest.raises(gd.BadData, match="signs must be 'random', 'ones' or an array"):
        gd.Sight(outer="h", inner="z", signs=signs)


def test_quadratic_forms_that_do_not_fit_are_refused_at_once():
    with pytest.raises(
        gd.TooLarge, match="quadratic forms in dimension 20000 .*smaller d or count"
    ):
        FORMS.sample(n=3, d=20_000)


def test_inputs_of_the_wrong_shape_are_refused():
    with pytest.raises(gd.BadData, match=r"X must be numbers of the shape \(n, 9\)"):
        SIGHT.realization(9)(np.ones((2, 8)))


def test_noise_is_checked():
    with pytest.raises(gd.BadData, match="noise is the variance"):
        gd.Sight(outer="h", inner="z", noise=-1)

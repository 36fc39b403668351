"""Output channels: the law of the label given z."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import gradone as gd


def atoms(text):
    return {a.value: a.probability for a in gd.Target(text).channel.atoms}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("z", "deterministic"),
        ("abs(z)", "deterministic"),
        ("tanh(30*z)", "deterministic"),  # rounds to 1 on almost half of the line: no atom
        ("max(z1, z2)", "deterministic"),
        ("sign(z)*z", "deterministic"),
        ("sign(z)", "discrete"),
        ("step(z1)*sign(z2 - 1)", "discrete"),
        ("relu(z)", "mixed"),
        ("relu(z1)*z2", "mixed"),
        ("abs(z) + z", "mixed"),
        ("min(max(z, -1), 1)", "mixed"),
        ("relu(z1 + z2)**2 + tanh(relu(z1 + z2))", "mixed"),
    ],
)
def test_kind_follows_from_the_formula(text, kind):
    assert gd.Target(text).channel.kind == kind
    assert gd.Target(text, noise=0.1).channel.kind == "noisy"


def test_a_relu_that_cancels_leaves_no_atom():
    assert gd.Target("relu(z) - relu(-z)").channel.kind == "deterministic"
    assert gd.Target("relu(z) - relu(-z)").channel.atoms == ()


def cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sign(z1) + sign(z2)", {-2: 1 / 4, 0: 1 / 2, 2: 1 / 4}),
        ("sign(z1*z2*z3)", {-1: 1 / 2, 1: 1 / 2}),
        ("step(z - 1)", {0: cdf(1), 1: cdf(-1)}),
        ("step(z1 - 5)*sign(z2)", {-1: cdf(-5) / 2, 0: cdf(5), 1: cdf(-5) / 2}),  # rare values
        ("sign(z1)*step(z1 + z2)", {-1: 1 / 8, 0: 1 / 2, 1: 3 / 8}),
        ("pi*sign(z1)/3", {-math.pi / 3: 1 / 2, math.pi / 3: 1 / 2}),
        ("sign(relu(z) - 1) + sign(relu(z))", {-1: 1 / 2, 0: cdf(1) - 1 / 2, 2: cdf(-1)}),
        ("relu(z)", {0: 1 / 2}),
        ("min(max(z, -1), 1)", {-1: cdf(-1), 1: cdf(-1)}),
        ("relu(z1)*relu(z2)", {0: 3 / 4}),
        ("z**3", {}),
    ],
)
def test_atoms_have_their_gaussian_measure(text, expected):
    found = atoms(text)
    assert list(found) == pytest.approx(sorted(expected), abs=1e-12)
    for estimate, (_, probability) in zip(found.values(), sorted(expected.items()), strict=True):
        assert abs(estimate.value - probability) <= 1.5 * estimate.error + 1e-14
        assert estimate.error < 1e-13 or (estimate.kind == "monte_carlo" and estimate.error < 2e-3)


@pytest.mark.parametrize("text", ["sign(z1)+sign(z2)/2+sign(z3)/4", "sign(z1**2 + z2**2 - 1)"])
def test_probabilities_of_a_discrete_label_add_up_to_one(text):
    total = sum(p.value for p in atoms(text).values())
    assert total == pytest.approx(1, abs=1e-9)


def test_many_atoms_are_counted_with_their_error():
    found = atoms("sign(z1) + sign(z2)/2 + sign(z3)/4")
    assert list(found) == [-1.75, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75]
    assert all(p.kind == "monte_carlo" and p.agrees_with(1 / 8) for p in found.values())


def test_noise_has_no_atoms():
    assert gd.Target("sign(z)", noise=0.1).channel.atoms == ()


def test_noisy_likelihood_is_the_gaussian_density(rng):
    channel = gd.Target("z1*z2", noise=0.3).channel
    z, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    expected = norm.logpdf(y, z[:, 0] * z[:, 1], math.sqrt(0.3))
    np.testing.assert_allclose(channel.log_likelihood(y, z), expected, rtol=1e-12)


def test_discrete_likelihood_is_zero_or_minus_infinity():
    channel = gd.Target("sign(z1) + 0.1*sign(z2)").channel
    z = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    found = channel.log_likelihood(np.array([1.1, 1.1, -0.9]), z)
    assert found.tolist() == [0.0, -math.inf, 0.0]


@pytest.mark.parametrize(("text", "kind"), [("tanh(z)", "deterministic"), ("relu(z)", "mixed")])
def test_a_label_without_density_says_so(text, kind):
    with pytest.raises(
        gd.OutOfRegime, match=f"is {kind}: without noise .* Give the target a noise"
    ):
        gd.Target(text).channel.log_likelihood([0.1], [[0.2]])


def test_likelihood_follows_the_array_library(xp):
    z, y = xp.asarray([[0.5], [-0.5]]), xp.asarray([1.0, 1.0])
    for channel in (gd.Target("sign(z)").channel, gd.Target("sign(z)", noise=0.5).channel):
        assert type(channel.log_likelihood(y, z)) is type(z)


@pytest.mark.stat
def test_drawn_labels_have_the_law_of_the_channel(rng):
    """Catches: noise used as a standard deviation."""
    n, noise = 20_000, 0.3
    channel = gd.Target("z**2", noise=noise).channel
    xi = channel.draw(np.full((n, 1), 2.0), rng) - 4.0
    limit = norm.isf(0.5e-6)
    assert abs(xi.mean()) < limit * math.sqrt(noise / n)
    assert abs(xi.var() / noise - 1) < limit * math.sqrt(2 / n)


def test_without_noise_the_label_is_the_function(rng):
    z = rng.standard_normal((5, 1))
    assert np.array_equal(gd.Target("z**2").channel.draw(z, rng), z[:, 0] ** 2)

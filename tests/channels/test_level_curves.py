"""Level curves of functions of two variables against closed forms and simple integrals."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0
from scipy.stats import norm

from gradone.channels.landscape import Landscape
from gradone.channels.level_curves import LevelCurves
from gradone.channels.shared_labels import SharedLabels
from gradone.targets.language.expression import Expression

TOLERANCE = 1e-5  # share of a density that a panel of a curve may miss


def landscape(text: str) -> Landscape:
    expression = Expression(text)
    return Landscape(expression.tree, expression.breaks[0], 6.5)


def density(text: str, y: np.ndarray) -> np.ndarray:
    """Density of labels under standard normal variables."""
    curves = LevelCurves(landscape(text), 6.5, 10, TOLERANCE)(y, 1.0)
    mass = curves.weight * np.exp(-(curves.x**2).sum(axis=0) / 2) / (2 * np.pi)
    return curves.by_label(mass)


CLOSED = {
    "z1**2 + z2**2": lambda y: np.exp(-y / 2) / 2 * (y > 0),
    "z1*z2": lambda y: k0(np.abs(y)) / np.pi,
    "z1**2 - z2**2": lambda y: k0(np.abs(y) / 2) / (2 * np.pi),
    "max(z1, z2)": lambda y: 2 * norm.pdf(y) * norm.cdf(y),
    "max(abs(z1), abs(z2))": lambda y: 4 * norm.pdf(y) * (2 * norm.cdf(y) - 1) * (y > 0),
    # |z1| + |z2| is sqrt(2) times the larger of two standard normal absolute values.
    "abs(z1) + abs(z2)": lambda y: (
        4 * norm.pdf(y / 2**0.5) * (2 * norm.cdf(y / 2**0.5) - 1) / 2**0.5 * (y > 0)
    ),
    # Both positive, or one of them.
    "relu(z1) + relu(z2)": lambda y: (
        norm.pdf(y) + norm.pdf(y / 2**0.5) / 2**0.5 * (2 * norm.cdf(y / 2**0.5) - 1)
    ),
    "sqrt(z1**2 + z2**2)": lambda y: y * np.exp(-(y**2) / 2) * (y > 0),
    "relu(z1**2 + z2**2 - 1)": lambda y: np.exp(-(y + 1) / 2) / 2,
    "sign(z1)*z2": norm.pdf,
    "z1 + sign(z1*z2)": lambda y: (norm.pdf(y - 1) + norm.pdf(y + 1)) / 2,
}


@pytest.mark.parametrize("text", CLOSED)
def test_the_density_of_a_label_is_that_of_its_closed_form(text):
    """Would catch: parts of a curve that no line finds, or that two find; kinks passed over."""
    y = np.array([1e-3, 0.03, 0.2, 0.7, 1.3, 2.1, 3.0])
    np.testing.assert_allclose(density(text, y), CLOSED[text](y), rtol=TOLERANCE)


def tanh_and_tanh(z, y):
    other = np.arctanh(np.clip(y - np.tanh(z), -1 + 1e-15, 1 - 1e-15))
    return norm.pdf(z) * norm.pdf(other) * np.cosh(np.minimum(np.abs(other), 30)) ** 2


ONE_INTEGRAL = {
    "tanh(z1) + tanh(z2)": tanh_and_tanh,
    "z1**2 + z2": lambda z, y: norm.pdf(z) * norm.pdf(y - z**2),
    "exp(z1)*z2": lambda z, y: norm.pdf(z) * norm.pdf(y * np.exp(-z)) * np.exp(-z),
}


@pytest.mark.parametrize("text", ONE_INTEGRAL)
def test_the_density_is_an_integral_over_one_variable(text):
    y = np.array([0.2, 0.6, 0.9])
    exact = [
        quad(ONE_INTEGRAL[text], -9, 9, args=(label,), limit=400, epsabs=1e-11)[0] for label in y
    ]
    np.testing.assert_allclose(density(text, y), exact, rtol=TOLERANCE)


def test_tips_that_are_narrow_are_not_missed():
    """Curves of sigmoid(z1) + z2**2 turn around within 0.01 where the label is small.

    Would catch: panels that look resolved because no line hits the tip.
    """
    y = np.array([0.02, 0.05, 0.1, 0.3])

    def law(label):
        def part(t):  # z2 = sqrt(label - sigmoid(z1)), t = sqrt(label - sigmoid(z1))
            s = label - t**2
            z = np.log(s / (1 - s))
            return 2 * norm.pdf(t) * norm.pdf(z) / (s * (1 - s))

        return quad(part, 0, label**0.5, epsabs=1e-13, limit=400)[0]

    np.testing.assert_allclose(
        density("sigmoid(z1) + z2**2", y), [law(label) for label in y], rtol=1e-4
    )


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("z1*z2", [0.0]),
        ("z1**3 - 3*z1 + z2**2", [-2.0, 2.0]),
        ("abs(z1 - 1) + z2**2", [0.0]),
        ("relu(z1) + relu(z2)", [0.0]),
        ("abs(z1) + abs(z2 - 1) + z2", [1.0]),
        ("z1 + tanh(z2)", []),
        ("sin(z1*z2)", [-1.0, 0.0, 1.0]),
    ],
)
def test_critical_labels(text, labels):
    np.testing.assert_allclose(landscape(text).labels, labels, atol=1e-7)


@pytest.mark.parametrize(
    "text",
    [
        "z1*z2",
        "relu(z1) + relu(z2)",
        "abs(z1) - abs(z2)",
        "tanh(z1) + tanh(z2)",
        "z1**2 + relu(z2)",
        "z1*relu(z2)",
        "sigmoid(z1) + z2**2",
        "He2(z1)*z2",
        "z1**2*z2**2",
        "tanh(z1*z2)",
        "exp(z1)*z2",
    ],
)
def test_shared_labels_have_the_moments_of_the_target(text):
    """Probability one with the atoms, and the mean square of the label.

    Up to the tails beyond 5.5 and 6 standard deviations. Would catch: labels lost at a critical
    one.
    """
    expression = Expression(text)
    for resolution, tolerance in ((0, 2e-3), (1, 5e-4)):
        shared = SharedLabels(expression, resolution)
        curves = shared.curves(1.0)
        mass = curves.weight * np.exp(-(curves.x**2).sum(axis=0) / 2) / (2 * np.pi)
        chance = shared.weight * curves.by_label(mass)
        atoms = np.exp(shared.atoms.outcomes(np.zeros((1, 2)), np.eye(2)).log_z[0])
        assert chance.sum() + atoms.sum() == pytest.approx(1, abs=5e-5)
        exact = float(expression.second_moment())
        square = chance @ shared.y**2 + atoms @ shared.atoms.values**2
        assert square == pytest.approx(exact, rel=tolerance)


def test_narrow_priors_get_more_nodes():
    shared = SharedLabels(Expression("z1*z2"))
    wide, narrow = shared.curves(1.0), shared.curves(0.05)
    assert len(narrow.weight) > 3 * len(wide.weight)
    assert shared.curves(0.05) is narrow


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        ("z1**2*z2**2", 8),
        ("sin(z1*z2)", 4),
        ("He2(z1)*z2", 2),
        ("He3(z1) + z2**2", 2),
        ("max(z1, z2)", 2),  # a reflection across its kink
        ("tanh(z1) + tanh(z2)", 2),
        ("z1*z2 + z2**2", 2),  # only both signs together
        ("exp(z1)*z2", 1),
    ],
)
def test_one_part_of_the_plane_tells_the_rest(text, copies):
    """Curves that symmetries complete are those of a search through the whole plane.

    Against a prior mean that no symmetry keeps. Would catch: a map in place of its inverse, nodes
    on an axis that count twice.
    """
    whole = landscape(text)
    assert len(whole.mirrors) == copies
    y = np.array([-1.7, -0.4, 0.3, 0.9, 2.2])
    found = []
    for _ in range(2):
        curves = LevelCurves(whole, 6.5, 10, TOLERANCE)(y, 1.0)
        away = curves.x - np.array([[0.4], [-0.9]])
        density = curves.weight * np.exp(-(away**2).sum(axis=0) / 1.2)
        found.append(curves.by_label(np.stack([density, away[0] * density, away[1] * density])))
        whole.mirrors = whole.mirrors[:1]
    np.testing.assert_allclose(*found, atol=1e-5)

r"""Thresholds do not change when labels are relabeled and directions rotated.

The cores have thresholds that are known without gradone. For ``He4(z)`` and its absolute value the
roots that share a label are those of quadratic equations, and the mean over them is integrated on
graded panels. For ``z1*z2`` the conditional moments are
:math:`\mathbb{E}[z_1^2|y] = |y| K_1(|y|)/K_0(|y|)` and :math:`\mathbb{E}[z_1 z_2|y] = y`, so that
the largest eigenvalue is :math:`1 + \mathbb{E}[(\mathbb{E}[z_1^2|y] - 1)^2]`.
"""

import math

import pytest
from scipy.integrate import quad
from scipy.special import kv

from gradone.analysis.queries.learnability import learnability
from gradone.targets.language.expression import Expression

U, V = ("z1", "(0.6*z1 - 0.8*z2)"), ("z2", "(0.8*z1 + 0.6*z2)")


def product_threshold() -> float:
    def density(y: float) -> float:
        gap = y * kv(1, y) / kv(0, y) - 1
        return 2 * gap**2 * kv(0, y) / math.pi

    return 1 / (1 + quad(density, 0, 1, limit=200)[0] + quad(density, 1, 60, limit=200)[0])


CORES = {
    "({u})**2": 0.5,
    "He4({u})": 0.6448504699023048,
    "abs(He4({u}))": 0.7212202815818477,
    "({u})*({v})": product_threshold(),
    "sign(({u})*({v}))": math.pi**2 / 4,
}
LABELS = [  # strictly increasing, some of them saturated
    "tanh(3*({y}))",
    "({y})**3 + ({y})",
    "exp(tanh(({y})/3))",
    "2 - 5*sigmoid(4*({y}))",
    "({y}) + tanh(9*({y}))",
    "erf(({y}) - 1)",
    "softplus(3*({y}))",
    "tanh(({y}) + tanh(20*({y})))",
]


@pytest.mark.parametrize("core", CORES)
def test_relabeled_and_rotated_thresholds(core):
    for label, u, v in [(label, *uv) for label in LABELS for uv in zip(U, V, strict=True)]:
        text = label.format(y=core.format(u=u, v=v))
        found = learnability(Expression(text))
        assert found.classes == ("easy",), text
        threshold = found.stages[0].threshold
        assert abs(threshold.value - CORES[core]) <= threshold.error, (text, threshold)
        assert threshold.error < 2e-3 * CORES[core], (text, threshold)

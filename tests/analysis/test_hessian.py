"""The mean Hessian against closed forms and plain quadrature."""

import math

import numpy as np
import pytest

from gradone.analysis import mean_hessian
from gradone.base.errors import BadData
from gradone.targets.hierarchical import Sight


@pytest.mark.parametrize(
    ("target", "matrix", "variance"),
    [
        ("z1*z2", [[0, 1], [1, 0]], 1.0),
        ("3 + z1 + He2(z1)/2 + z1*z2", [[1, 1], [1, 0]], 2.5),
        ("sign(z1*z2)", [[0, 2 / math.pi], [2 / math.pi, 0]], 1.0),
    ],
)
def test_closed_forms(target, matrix, variance):
    found = mean_hessian(target)
    assert found.matrix == pytest.approx(np.array(matrix, dtype=float), abs=1e-7)
    assert found.rank == 2
    smallest = np.abs(np.linalg.eigvalsh(matrix)).min()
    assert found.condition == pytest.approx(math.sqrt(variance / 2) / smallest, rel=1e-6)


def test_plain_quadrature():
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    z1, z2 = np.meshgrid(x, x, indexing="ij")
    g = np.tanh(z1 + 0.5 * z2) * z2 + np.cos(z1)
    weight = np.outer(w, w)
    exact = [[np.sum(weight * g * (a * b - (a is b))) for b in (z1, z2)] for a in (z1, z2)]
    assert mean_hessian("tanh(z1 + 0.5*z2)*z2 + cos(z1)").matrix == pytest.approx(
        np.array(exact), abs=1e-6
    )


def test_a_direction_that_is_not_seen():
    found = mean_hessian("z3 + z1*z2")
    assert (found.rank, found.condition) == (2, math.inf)
    with pytest.raises(BadData, match="of a Target"):
        mean_hessian(Sight("tanh(3*h)", "He2(z)/2", exponent=0.5))

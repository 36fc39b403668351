r"""Closed forms of the means that drive the flow, for students and targets made of erf.

With :math:`s(x) = \mathrm{erf}(x/\sqrt2)` and Gaussian fields of covariance C,

.. math::
    \mathbb{E}[s_a s_b] = \frac2\pi \arcsin\frac{C_{ab}}{\sqrt{(1+C_{aa})(1+C_{bb})}}, \qquad
    \mathbb{E}[s'_a\,x_b\,s_c] = \frac2\pi\,
    \frac{C_{bc}(1+C_{aa}) - C_{ab}C_{ac}}{(1+C_{aa})\sqrt{\Lambda_{ac}}}, \qquad [FL-4]

    \mathbb{E}[s'_a s'_b s_c s_d] = \frac{4}{\pi^2\sqrt{\Lambda_{ab}}}
    \arcsin\frac{\Lambda_0}{\sqrt{\Lambda_1\Lambda_2}},
    \qquad \Lambda_{ab} = (1+C_{aa})(1+C_{bb}) - C_{ab}^2. \qquad [FL-5]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...targets.language.evaluate import constant_value
from ...targets.language.structure import affine_form
from ...targets.language.tree import Call, Node, Product, Quotient, Sum, is_constant
from ...targets.target import Target
from ...targets.training import TrainedStudent
from ._flow_means import MeanRule, Means
from ._flow_push import Neurons


class ErfTerms(NamedTuple):
    r"""The function :math:`\sum_i c_i\,\mathrm{erf}(\langle w_i, z\rangle/\sqrt2)`."""

    coefficients: np.ndarray
    rows: np.ndarray


def erf_terms(node: Node, r: int) -> ErfTerms | None:
    r"""A function as a sum of erf of linear forms, or None if it is none.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> terms = erf_terms(parse("erf(z1) - erf(z1 + z2)/3"), 2)
    >>> sorted(terms.coefficients.round(3).tolist()), terms.rows.shape
    ([-0.333, 1.0], (2, 2))
    >>> erf_terms(parse("erf(z1 + 1)"), 2) is None
    True
    """
    found: list[tuple[float, np.ndarray]] = []
    todo = [(1.0, node)]
    while todo:
        scale, part = todo.pop()
        match part:
            case Sum(terms=terms):
                todo += [(scale, term) for term in terms]
            case Quotient(numerator=top, denominator=below) if is_constant(below):
                todo.append((scale / constant_value(below), top))
            case Product(factors=factors) if sum(not is_constant(f) for f in factors) == 1:
                scale *= math.prod(constant_value(f) for f in factors if is_constant(f))
                todo += [(scale, f) for f in factors if not is_constant(f)]
            case Call(name="erf", arguments=(inside,)):
                form = affine_form(inside, r)
                if form is None or form[1] != 0:
                    return None
                found.append((scale, math.sqrt(2) * form[0]))
            case _:
                return None
    coefficients, rows = zip(*found, strict=True)
    return ErfTerms(np.array(coefficients), np.array(rows))


class ErfMeans(MeanRule):
    """Exact means for plain SGD of erf neurons on a sum of erf.

    Parameters
    ----------
    student : TrainedStudent
        Plain rule, no bias; its activation is a multiple of erf(k z).
    target : Target
        A sum of erf of linear forms.
    """

    is_smooth = True

    def __init__(self, student: TrainedStudent, target: Target) -> None:
        terms = erf_terms(target.expression.tree, target.r)
        neuron = erf_terms(student.sigma.expression.tree, 1)
        assert terms is not None
        assert neuron is not None
        self._student, self._target, self._noise = student, terms, target.noise
        self._height, self._stretch = float(neuron.coefficients[0]), float(neuron.rows[0, 0])

    @staticmethod
    def covers(student: TrainedStudent, target: Target) -> bool:
        """Whether student and target have the form that is needed."""
        if not student.is_plain_gradient or any(student.b) or student.train_bias is not None:
            return False
        neuron = erf_terms(student.sigma.expression.tree, 1)
        if neuron is None or len(neuron.coefficients) != 1:
            return False
        return erf_terms(target.expression.tree, target.r) is not None

    def __call__(self, neurons: Neurons) -> Means:
        """Means at a state."""
        M, a = neurons.M, neurons.a
        p, k = len(M), self._stretch
        w, c = self._target.rows, self._target.coefficients
        Q = M @ M.T + neurons.rest
        # Covariance of the arguments of s: p neurons, then the terms of the target.
        C = np.block([[k * k * Q, k * M @ w.T], [k * w @ M.T, w @ w.T]])
        # The error e is this combination of the values s; a and c multiply s, not erf's height.
        heights = self._height * a
        output = np.concatenate([-heights, c])
        error = output if self._student.loss == "square" else np.append(np.zeros(p), c)
        push = self._student.eta * heights * k  # s_j = push_j e s'(k lambda_j)
        pair = _pair(C)
        with_z, with_fields = (
            push[:, None] * _triple(C, p, x, error)
            for x in (np.vstack([k * M, w]).T, np.vstack([k * Q, w @ M.T]).T)
        )
        squares = np.outer(push, push) * _quadruple(C, p, error, self._noise)
        return Means(
            with_z=with_z,
            with_rest=with_fields - with_z @ M.T,
            squares=squares,
            readout=self._height * (pair[:p] @ error),
            bias=np.zeros(p),
            mse=float(output @ pair @ output) + self._noise,
        )


def _pair(C: np.ndarray) -> np.ndarray:
    """E[s_a s_b], (m, m) [FL-4]."""
    size = np.sqrt(1 + np.diag(C))
    return 2 / math.pi * np.arcsin(C / np.outer(size, size))


def _triple(C: np.ndarray, p: int, with_x: np.ndarray, error: np.ndarray) -> np.ndarray:
    """E[s'_a x_b e] for neurons a, (p, number of x); rows of `with_x` are Cov(x_b, .) [FL-4]."""
    diagonal = 1 + np.diag(C)
    determinant = np.outer(diagonal[:p], diagonal) - C[:p] ** 2
    share = error / np.sqrt(determinant)  # (a, c)
    first = share @ with_x.T
    second = with_x[:, :p].T / diagonal[:p, None] * (share * C[:p]).sum(axis=1)[:, None]
    return 2 / math.pi * (first - second)


def _quadruple(C: np.ndarray, p: int, error: np.ndarray, noise: float) -> np.ndarray:
    """E[s'_a s'_b (e^2 + noise)] for neurons a, b, (p, p) [FL-5]."""
    D = 1 + np.diag(C)
    found = np.empty((p, p))
    for i in range(p):
        for j in range(p):
            L4 = D[i] * D[j] - C[i, j] ** 2
            u, v = C[i], C[j]
            cross = np.outer(u, v)
            L0 = L4 * C - D[i] * np.outer(v, v) - D[j] * np.outer(u, u)
            L0 += C[i, j] * (cross + cross.T)
            L1 = L4 * D - D[i] * v**2 - D[j] * u**2 + 2 * C[i, j] * u * v
            angle = np.arcsin(np.clip(L0 / np.sqrt(np.outer(L1, L1)), -1.0, 1.0))
            squares = 4 / math.pi**2 * float(error @ angle @ error)
            found[i, j] = (squares + 2 / math.pi * noise) / math.sqrt(L4)
    return found

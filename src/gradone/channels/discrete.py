r"""Posterior channel of a label that takes finitely many values.

.. math:: Z(y) = P(g(z) = y), \qquad z \sim N(\omega, V)    [PC-2]

Three rules, by the form of the surfaces between the labels: planes that are orthogonal in the
metric of V (products of one-dimensional masses), planes in general (nested Gauss-Legendre nodes),
curved surfaces (tables of the breaks along one axis).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..base.errors import BadData
from ..targets.language.expression import Expression
from ..targets.language.functions import substitute
from ..targets.language.tree import Node, Variable, add, multiply, number
from ..targets.target import Target
from .arrangement import Arrangement
from .base import Outcomes, Posterior, PosteriorChannel
from .curved import CurvedRegions
from .orthogonal import Boxes

_ROUNDING = 1e-6  # relative: labels in single precision are still labels
_SHOWN = 10
_LEAST_EIGENVALUE = 1e-12  # relative; a direction that is known exactly is known this well


class DiscreteChannel(PosteriorChannel):
    """Posterior of the projections given one of finitely many labels.

    Parameters
    ----------
    target : Target
        Target without noise that takes finitely many values.
    resolution : int
        Number of times that the distance of the nodes is halved.

    Notes
    -----
    Error of g relative to its size, rms over labels drawn from the channel, at resolution 0: 1e-4
    between planes and for curved labels of two variables (1e-3 where they are steep), 1e-3 for
    curved labels of three variables (1e-2 where they are steep); rounding only if r = 1 or the
    planes are orthogonal. What the next resolution changes tells it for the case at hand.

    Examples
    --------
    >>> channel = DiscreteChannel(Target("sign(z1*z2)"))
    >>> out = channel.posterior(np.array([1.0]), np.array([[0.5, 1.0]]), np.eye(2))
    >>> round(float(np.exp(out.log_z[0])), 6)  # (1 + erf(0.5/sqrt(2)) erf(1/sqrt(2)))/2
    0.630709
    """

    def __init__(self, target: Target, resolution: int = 0) -> None:
        super().__init__(target, resolution)
        self.values = target.channel.values
        self._basis = target.expression.span
        self._expression = in_coordinates(target.expression, self._basis)
        planes, is_curved = self._expression.breaks
        self._boxes: Boxes | None = None
        self._regions: Arrangement | CurvedRegions | None = None
        if is_curved:
            self._regions = CurvedRegions(self._expression, self.values, self.resolution)
            return
        normals = np.array([plane.normal for plane in planes])
        offsets = np.array([plane.offset for plane in planes])
        self._boxes = Boxes(normals, offsets, self._label, len(self.values))
        if len(self._basis) > 1:  # one variable is a box whatever its variance
            self._regions = Arrangement(
                normals, offsets, self._label, len(self.values), self.resolution
            )

    def posterior(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""
        which = self._which(y)
        center, spread = omega @ self._basis.T, self._spread(V)
        log_z, g, dg = self._rule(spread).posterior(which, center, spread)
        return Posterior(log_z, g @ self._basis, self._basis.T @ dg @ self._basis)

    def outcomes(self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False) -> Outcomes:
        """Every label with its evidence and output function at prior means `omega` (m, r)."""
        center, spread = omega @ self._basis.T, self._spread(V)
        log_z, g, dg = self._rule(spread).outcomes(center, spread, curvature=curvature)
        if dg is not None:
            dg = self._basis.T @ dg @ self._basis
        shape = (len(omega), len(self.values))
        y = np.broadcast_to(self.values, shape)
        return Outcomes(y, np.ones(shape), log_z, g @ self._basis, dg)

    def check_labels(self, y: np.ndarray) -> None:
        """Raise :class:`~gradone.BadData` if some label is not one of the values."""
        self._which(y)

    def _spread(self, V: np.ndarray) -> np.ndarray:
        """Covariance of the forms that the label depends on, with eigenvalues above zero."""
        spread = self._basis @ V @ self._basis.T
        eigenvalues, vectors = np.linalg.eigh(spread)
        least = _LEAST_EIGENVALUE * eigenvalues[-1]
        if eigenvalues[0] >= least:
            return spread
        return (vectors * np.maximum(eigenvalues, least)) @ vectors.T

    def _rule(self, V: np.ndarray) -> Boxes | Arrangement | CurvedRegions:
        if self._boxes is not None and (self._regions is None or self._boxes.are_independent(V)):
            return self._boxes
        assert self._regions is not None
        return self._regions

    def _which(self, y: np.ndarray) -> np.ndarray:
        """Number of each label among the values."""
        y = np.asarray(y, dtype=np.float64)
        edges = (self.values[:-1] + self.values[1:]) / 2
        which = np.searchsorted(edges, y)
        nearest = self.values[which]
        wrong = ~(np.abs(y - nearest) <= _ROUNDING * (1 + np.abs(nearest)))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            allowed = ", ".join(f"{v:.6g}" for v in self.values[:_SHOWN])
            more = f", ... ({len(self.values)} values)" if len(self.values) > _SHOWN else ""
            raise BadData(
                f"the label {float(y[row])!r} in row {row} cannot come out of "
                f"'{self.target.text}', which takes the values {allowed}{more}; round the labels "
                "to these values, or choose a channel that fits the data, for instance the same "
                "target with a noise > 0"
            )
        return which

    def _label(self, u: np.ndarray) -> np.ndarray:
        """Number of the label at points (m, k) in coordinates of the span."""
        values = np.asarray(self._expression(u))
        return np.abs(values[:, None] - self.values).argmin(axis=1)


def in_coordinates(expression: Expression, basis: np.ndarray) -> Expression:
    """Expression as a function of ``u = basis @ z``, if it depends on these forms only.

    Parameters
    ----------
    expression : Expression
        Function of z.
    basis : array (k, r)
        Orthonormal rows.

    Examples
    --------
    >>> in_coordinates(Expression("sign(z2 + z3**2)"), np.eye(3)[1:]).canonical
    'sign(z1 + z2**2)'
    """
    letter = expression.letter
    values: dict[Node, Node] = {
        Variable(letter, i): add(
            multiply((number(Fraction(float(basis[k, i - 1]))), Variable(letter, k + 1)))
            for k in range(len(basis))
        )
        for i in expression.variables
    }
    tree = substitute(expression.tree, values)
    return Expression.from_tree(tree, letter=letter, r=len(basis))

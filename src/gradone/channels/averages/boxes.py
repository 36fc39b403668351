r"""Exact rule for labels that are constant on boxes: parities, sums of signs, tables of steps.

If every jump of a discrete target lies at a value of one variable, then for independent variables
the chance of a label is a sum of products of one-dimensional chances,

.. math:: f_y(\omega) = \sum_{\text{boxes with label } y}\ \prod_i
          \Big[\Phi\Big(\frac{b_i - \omega_i}{\sqrt{V_i}}\Big)
             - \Phi\Big(\frac{a_i - \omega_i}{\sqrt{V_i}}\Big)\Big].                        [BX-1]

All terms are positive: the sums are exact to rounding however narrow the posterior is.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import ndtr

from ...targets.target import Target

_MOST = 20_000  # entries of the table of boxes
_FLAT = 7.0  # standard deviations from every jump beyond which nothing changes


class Boxes:
    """Labels of a target on the boxes between its jumps.

    Parameters
    ----------
    target : Target
        Discrete target whose jumps are parallel to the axes.

    Examples
    --------
    >>> parity = Boxes(Target("sign(z1*z2)"))
    >>> f = parity.moments([np.array([0.5]), np.array([1.0])], np.ones(2), 0)[0, 0]
    >>> f.round(6).tolist()  # (1 +- erf(0.5/sqrt(2)) erf(1/sqrt(2)))/2
    [[0.369291, 0.630709]]
    """

    def __init__(self, target: Target) -> None:
        self.edges = _edges(target)
        inside = [
            np.concatenate([[e[0] - 1], (e[:-1] + e[1:]) / 2, [e[-1] + 1]]) for e in self.edges
        ]
        places = np.array(list(itertools.product(*inside)))
        labels = np.asarray(target.expression(places), dtype=np.float64)
        self.values, which = np.unique(labels.round(12), return_inverse=True)
        self._table = np.eye(len(self.values))[which].reshape(*(len(x) for x in inside), -1)

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether all labels of a target are constant on boxes."""
        expression = target.joint
        if target.q or not expression.is_discrete:
            return False
        planes, is_curved = expression.breaks
        normals = np.array([plane.normal for plane in planes]).reshape(-1, target.r)
        parallel = (np.count_nonzero(normals, axis=1) == 1).all()
        if is_curved or not parallel or not normals.any(axis=0).all():
            return False
        return bool(np.prod([len(e) + 1.0 for e in _edges(target)]) <= _MOST)

    def moments(
        self, omega: list[np.ndarray], variances: np.ndarray, order: int
    ) -> dict[tuple[int, ...], np.ndarray]:
        """Chances [BX-1] at a product of prior means and their derivatives up to an order.

        From multi-indices to arrays (prior means, values).
        """
        found: dict[tuple[int, ...], np.ndarray] = {(): self._table[None]}
        for i, edges in enumerate(self.edges):
            kernel = _chances(omega[i], float(np.sqrt(variances[i])), edges, order)
            rest = self._table.shape[i + 1 :]
            found = {
                (*key, k): (kernel[k] @ part.reshape(*part.shape[:2], -1)).reshape(-1, *rest)
                for key, part in found.items()
                for k in range(order + 1 - sum(key))
            }
        return found

    def distinct(
        self, axis: int, omega: np.ndarray, weight: np.ndarray, width: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Prior means along an axis, those far from every jump merged, and their weights."""
        edges = self.edges[axis]
        cell = np.searchsorted(edges, omega)
        far = np.abs(omega[:, None] - edges).min(axis=1) > _FLAT * width
        kept, total = [omega[~far]], [weight[~far]]
        for c in np.unique(cell[far]):
            inside = far & (cell == c)
            kept.append(omega[inside][:1])
            total.append(weight[inside].sum()[None])
        return np.concatenate(kept), np.concatenate(total)


def _edges(target: Target) -> list[np.ndarray]:
    """Places of jumps along each axis."""
    planes = target.joint.breaks[0]
    return [
        np.unique([p.offset / p.normal[i] for p in planes if p.normal[i]]) for i in range(target.r)
    ]


def _chances(omega: np.ndarray, s: float, edges: np.ndarray, order: int) -> list[np.ndarray]:
    """Chances (n, cells) of the cells between edges given prior means, and derivatives by them."""
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    x = (ends - omega[:, None]) / s
    # From the nearer tail: small chances keep their digits.
    above = x[:, :-1] > 0
    chance = np.where(above, ndtr(-x[:, :-1]) - ndtr(-x[:, 1:]), np.diff(ndtr(x)))
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    slope = np.where(np.isfinite(x), x, 0.0) * density
    return [chance, -np.diff(density) / s, -np.diff(slope) / s**2][: order + 1]

r"""Hermite coefficients of a function, split between a subspace and its complement.

With the Hermite tensors :math:`C_m` of f, p legs contracted with a basis of U and k legs with one
of :math:`U^\perp`,

.. math:: D_k(z_U) = \mathbb{E}[f\,\mathrm{He}_k(z_\perp)\,|\,z_U], \qquad
          |P_{U,=k} f|^2 = \frac{\mathbb{E}\|D_k\|^2}{k!}
          = \sum_{p} \frac{\|C_{k+p}(Q^{k}, B^{p})\|_F^2}{k!\,p!}.
          \qquad [AN-2]
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property, lru_cache

import numpy as np

from ...base.errors import OutOfRegime
from ...base.estimate import Kind
from ...calculus.hermite import factorials
from ...channels.conditional.symmetry import symmetry_groups, vanishes
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from ..exponent import FLOOR, SAFETY, Energy

_MOST_ENTRIES = 1 << 25  # of a tensor: 256 megabytes


class HermiteBlocks:
    """Hermite tensors of a function up to a total degree, seen from any subspace.

    Parameters
    ----------
    expression : Expression
        The function; parts of more than five variables must separate.
    degree : int
        Largest total degree.

    Notes
    -----
    Couplings between U and its complement above the total degree are not seen. Coefficients that
    vanish by a symmetry of the form are set to zero without error, those that a permutation of the
    variables makes equal are made so.
    """

    def __init__(self, expression: Expression, degree: int) -> None:
        self.r, self.degree = expression.r, degree
        expansion = expression.hermite(degree)
        self.kind: Kind = expansion.kind
        self.floor = FLOOR.get(self.kind, FLOOR["monte_carlo"])
        allowed = _allowed(expression, expansion.indices)
        self._expression, self._indices = expression, expansion.indices
        equal = _equal(expression, expansion.indices)
        self._value = np.where(allowed, expansion.value, 0.0)[equal].mean(axis=0)
        self._error = np.where(allowed, expansion.error, 0.0)[equal].mean(axis=0)
        mean = self._value[0]
        self.variance = max(expansion.second_moment.value - mean**2, 0.0)

    @cached_property
    def _tensors(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}

    def tensor(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        r"""Tensor :math:`C_m/\sqrt{m!}` and its errors; the sum of its squares is the energy."""
        if m not in self._tensors:
            if self.r**m > _MOST_ENTRIES:
                raise OutOfRegime(
                    f"the target depends on {self.r} directions, and its learned subspaces are not "
                    f"spanned by variables: a Hermite tensor of order {m} would have {self.r}^{m} "
                    "entries. Write it in variables along these subspaces"
                )
            rows = np.flatnonzero(self._indices.sum(axis=1) == m)
            beta = self._indices[rows]
            share = np.sqrt(factorials(beta) / math.factorial(m))  # of beta! / m! equal entries
            where = _entries(self.r, m, beta)
            self._tensors[m] = (
                (share * self._value[rows])[where],
                (share * self._error[rows])[where],
            )
        return self._tensors[m]

    def block(self, subspace: Subspace, k: int) -> tuple[np.ndarray, np.ndarray]:
        r"""Matrix (q, ...) whose range are the directions of :math:`D_k`, and its errors [AN-2].

        The sum of its squares is :math:`|P_{U,=k} f|^2`, up to the total degree.
        """
        inside, outside = subspace.basis, subspace.complement().basis
        if not np.count_nonzero(outside) > len(outside):
            return self._aligned_block(outside.argmax(axis=1), k)
        values, errors = [], []
        for m in range(k, self.degree + 1 if len(inside) else k + 1):
            value, error = self.tensor(m)
            scale = math.sqrt(math.comb(m, k))
            values.append(scale * _turn(value, inside, m - k, outside, k))
            # Errors are treated as independent: their squares add.
            errors.append(scale * np.sqrt(_turn(error**2, inside**2, m - k, outside**2, k)))
        return np.concatenate(values, axis=1), np.concatenate(errors, axis=1)

    def _aligned_block(self, axes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        r"""The same when the complement is spanned by axes, without any tensor.

        Equal columns are taken together: entry :math:`(j, \beta - e_j)` is
        :math:`c_\beta \sqrt{\beta_j / (k \beta!)}`.
        """
        rows = np.flatnonzero(self._indices[:, axes].sum(axis=1) == k)
        beta = self._indices[rows]
        weights = (self.degree + 1) ** np.arange(self.r, dtype=np.int64)
        keys = (beta @ weights)[:, None] - weights[axes]  # (row, j): the index without one factor
        columns, place = np.unique(keys, return_inverse=True)
        share = np.sqrt(beta[:, axes] / k)
        value, error = np.zeros((2, len(axes), len(columns)))
        j = np.broadcast_to(np.arange(len(axes)), keys.shape)
        used = beta[:, axes] > 0
        at = (j[used], place.reshape(keys.shape)[used])
        value[at] = (share * self._value[rows, None])[used]
        error[at] = (share * self._error[rows, None])[used]
        return value, error

    def energy(self, subspace: Subspace, k: int) -> Energy:
        r"""Energy :math:`|P_{U,=k} f|^2` up to the total degree."""
        found = Energy.of(*self.block(subspace, k), self.kind)
        # Noise hides an exact zero only where there is noise.
        if self.kind == "monte_carlo" and not found.low and vanishes(self._expression, subspace, k):
            return Energy(0.0, 0.0, 0.0, self.kind)
        return found

    def directions(self, subspace: Subspace, k: int) -> tuple[np.ndarray, float]:
        """New directions at order k as rows (m, r), and how far off they may be (a sine)."""
        value, error = self.block(subspace, k)
        noise = float(np.linalg.norm(error))
        left, singular, _ = np.linalg.svd(value, full_matrices=False)
        floor = math.sqrt(self.floor * self.variance)
        kept = singular > max(SAFETY * noise, floor)
        if not kept.any():  # the energy is surely nonzero, so its largest direction is
            kept[0] = True
        rows = left.T[kept] @ subspace.complement().basis
        return rows, noise / float(singular[kept].min())


def _allowed(expression: Expression, indices: np.ndarray) -> np.ndarray:
    """Multi-indices that the proven symmetries of an expression do not exclude."""
    allowed = np.ones(len(indices), dtype=bool)
    for size in range(1, len(expression.variables) + 1):
        for flipped in itertools.combinations(expression.variables, size):
            parity = expression.parity(*flipped)
            if parity is not None:
                odd = indices[:, [i - 1 for i in flipped]].sum(axis=1) % 2
                allowed &= odd == (parity == "odd")
    return allowed


def _equal(expression: Expression, indices: np.ndarray) -> np.ndarray:
    """Rows of the multi-indices whose coefficients are those of each one, (permutations, N)."""
    weights = (int(indices.max(initial=0)) + 1) ** np.arange(expression.r, dtype=np.int64)
    codes = indices @ weights
    order = np.argsort(codes)
    _, permutations = symmetry_groups(expression)
    images = [indices[:, g.argmax(axis=1)] @ weights for g in permutations]
    return order[np.searchsorted(codes[order], np.array(images))]


@lru_cache(maxsize=64)
def _places(r: int, m: int) -> np.ndarray:
    """For each entry of a tensor of order m, the code of its multi-index in base m + 1."""
    code = np.zeros((1,) * m, dtype=np.int64)
    for leg in range(m):
        shape = [1] * m
        shape[leg] = r
        code = code + ((m + 1) ** np.arange(r, dtype=np.int64)).reshape(shape)
    return code


def _entries(r: int, m: int, beta: np.ndarray) -> np.ndarray:
    """Row of `beta` at which each entry of a symmetric tensor stands."""
    codes = beta @ ((m + 1) ** np.arange(r, dtype=np.int64))
    order = np.argsort(codes)
    return order[np.searchsorted(codes[order], _places(r, m))]


def _turn(
    tensor: np.ndarray, inside: np.ndarray, p: int, outside: np.ndarray, k: int
) -> np.ndarray:
    """Symmetric tensor with p legs contracted inside and k outside; the last one unfolded."""
    for basis in [inside] * p + [outside] * k:  # takes the first leg, puts the new one last
        tensor = np.tensordot(tensor, basis, axes=([0], [1]))
    return tensor.reshape(-1, len(outside)).T

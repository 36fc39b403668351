r"""Posterior channel of finitely many values plus a linear form plus Gaussian noise.

For :math:`y = c(z) + \langle b, z\rangle + \sqrt\Delta\,\xi` the label says, given the value c,
what the linear form is up to noise. Conditioning on that keeps the prior Gaussian,

.. math::
    S = \Delta + b^T V b, \quad K = V b/S, \quad \omega_c = \omega + K (y - c - \langle b,\omega
    \rangle), \quad V' = (I - K b^T) V                                                   [ND-1]

and what is left is the probability :math:`P_c` of the value c under it:

.. math:: Z = \sum_c N(y - c; \langle b, \omega\rangle, S)\, P_c(\omega_c, V')          [ND-2]
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..targets.language.expression import Expression
from ..targets.language.structure import is_piecewise_constant
from ..targets.language.tree import Variable, add, multiply, number
from ..targets.target import Target
from .base import Outcomes, Posterior, PosteriorChannel
from .discrete import DiscreteChannel
from .linear_part import linear_part
from .noisy import check_finite

_CELLS = 2.0  # labels in one standard deviation
_MARGIN = 8.5  # standard deviations beyond the values
_LONGEST = 4096  # most labels of one prior mean
_CHUNK = 2**16


class ValuesAndLine(NamedTuple):
    """A function as the sum of one with finitely many values and a linear form."""

    values: Target
    b: np.ndarray


def values_and_line(target: Target) -> ValuesAndLine | None:
    """Decomposition of a target, or None if it is not of this kind.

    Examples
    --------
    >>> found = values_and_line(Target("sign(z1*z2) + z3/2"))
    >>> found.values, found.b.tolist()
    (Target('sign(z1*z2)'), [0.0, 0.0, 0.5])
    """
    part = linear_part(target.expression)
    b = part.slope * part.frame[-1] if part.slope else np.zeros(target.r)
    exact = [Fraction(float(c)).limit_denominator(10**6) for c in b]
    if any(abs(float(e) - c) > 1e-14 * (1 + abs(c)) for e, c in zip(exact, b, strict=True)):
        return None
    line = [multiply((number(-c), Variable("z", i + 1))) for i, c in enumerate(exact) if c]
    rest = add((target.expression.tree, *line))
    if not is_piecewise_constant(rest) or part.k == 0:
        return None
    return ValuesAndLine(
        Target(Expression.from_tree(rest).text), np.array([float(c) for c in exact])
    )


class NoisyDiscreteChannel(PosteriorChannel):
    r"""Posterior channel of :math:`y = c(z) + \langle b, z\rangle + \sqrt\Delta\,\xi`.

    Parameters
    ----------
    target : Target
        Target for which :func:`values_and_line` finds a decomposition, with noise or a line.
    resolution : int
        Number of times that the step of every rule is halved.

    Examples
    --------
    A sign seen through noise of variance 1:

    >>> channel = NoisyDiscreteChannel(Target("sign(z)", noise=1.0))
    >>> out = channel.posterior(np.array([0.5]), np.zeros((1, 1)), np.eye(1))
    >>> float(out.g[0, 0].round(6)), round(math.sqrt(2 / math.pi) * math.tanh(0.5), 6)
    (0.368716, 0.368716)
    """

    varies_at_breaks = True

    def __init__(self, target: Target, resolution: int = 0) -> None:
        super().__init__(target, resolution)
        found = values_and_line(target)
        assert found is not None
        self._values, self._b = DiscreteChannel(found.values, self.resolution), found.b
        self._used = found.values.r

    def check_labels(self, y: np.ndarray) -> None:
        """Raise :class:`~gradone.BadData` unless every label is a finite number."""
        check_finite(y)

    def posterior(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""
        values, used = self._values.values, self._used
        rho, S, keep, conditional = self._conditioned(y[:, None] - values, omega, V)
        center = self._centers(omega, rho, V)
        labels = np.broadcast_to(values, rho.shape).ravel()
        part = self._values.posterior(labels, center.reshape(-1, used), conditional)
        n, c = rho.shape
        log_each = part.log_z.reshape(n, c) - 0.5 * (rho * rho * S + math.log(2 * math.pi * S))
        log_z, share = _mixture(log_each)
        g = part.g.reshape(n, c, used) @ keep + rho[..., None] * self._b
        mean = np.einsum("nc,nci->ni", share, g)
        dg = self._curvature(share, g, part.dg.reshape(n, c, used, used), keep, S)
        return Posterior(log_z, mean, dg - mean[:, :, None] * mean[:, None, :])

    def outcomes(self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False) -> Outcomes:
        """Every label that may come out at the prior means `omega` (m, r), covariance `V`."""
        values = self._values.values
        S = self.target.noise + float(self._b @ V @ self._b)
        offsets, step = _labels(values, math.sqrt(S), _CELLS * 2**self.resolution)
        y = offsets + (omega @ self._b)[:, None]
        rho, S, keep, conditional = self._conditioned(y[..., None] - values, omega[:, None], V)
        log_each = -0.5 * (rho * rho * S + math.log(2 * math.pi * S))
        if (V @ self._b)[: self._used].any():
            centers = self._centers(omega[:, None], rho, V)
            part, g, dg = self._everywhere(centers, conditional, curvature)
        else:  # the label says nothing of u but the value: the same for all labels
            out = self._values.outcomes(omega[:, : self._used], conditional, curvature=curvature)
            part, g = out.log_z[:, None, :], out.g[:, None, :, :]
            dg = None if out.dg is None else out.dg[:, None]
        log_z, share = _mixture(log_each + part)
        push = np.einsum("mkc,mkc->mk", share, rho)
        inside = np.einsum("mkc,mkci->mki", share, np.broadcast_to(g, (*rho.shape, self._used)))
        mean = inside @ keep + push[..., None] * self._b
        if dg is not None:
            dg = self._curvature(share, g @ keep + rho[..., None] * self._b, dg, keep, S)
            dg -= mean[..., :, None] * mean[..., None, :]
        return Outcomes(y, np.full(y.shape, step), log_z, mean, dg)

    def _curvature(
        self, share: np.ndarray, g: np.ndarray, inner: np.ndarray, keep: np.ndarray, S: float
    ) -> np.ndarray:
        """Mean of dg + g g^T over the values, from g and the derivative for the values alone."""
        r = self.r
        each = (keep.T @ inner @ keep).reshape(*inner.shape[:-2], r * r)
        square = np.swapaxes(share[..., None] * g, -1, -2) @ g
        mixed = (share[..., None, :] @ each).reshape(*share.shape[:-1], r, r)
        return mixed + square - np.outer(self._b, self._b) / S

    def _conditioned(
        self, distance: np.ndarray, omega: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Residuals over S (..., c), S, the rows of I - K b^T that are used, and V'."""
        S = self.target.noise + float(self._b @ V @ self._b)
        rho = (distance - (omega @ self._b)[..., None]) / S
        keep = (np.eye(self.r) - np.outer(V @ self._b, self._b) / S)[: self._used]
        conditional = (keep @ V)[:, : self._used]
        return rho, S, keep, (conditional + conditional.T) / 2

    def _centers(self, omega: np.ndarray, rho: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Conditional means of what the values depend on, (..., c, used)."""
        gain = (V @ self._b)[: self._used]
        return omega[..., None, : self._used] + rho[..., None] * gain

    def _everywhere(
        self, center: np.ndarray, V: np.ndarray, curvature: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Evidence, g and dg (if asked for) of value c at its own conditional mean."""
        m, k, c, used = center.shape
        log_z, g = np.empty((m, k, c)), np.empty((m, k, c, used))
        dg = np.empty((m, k, c, used, used)) if curvature else None
        rows = max(1, _CHUNK // (k * c))
        for i in range(c):
            for start in range(0, m, rows):
                block = center[start : start + rows, :, i]
                out = self._values.outcomes(block.reshape(-1, used), V, curvature=curvature)
                log_z[start : start + rows, :, i] = out.log_z[:, i].reshape(-1, k)
                g[start : start + rows, :, i] = out.g[:, i].reshape(-1, k, used)
                if dg is not None and out.dg is not None:
                    dg[start : start + rows, :, i] = out.dg[:, i].reshape(-1, k, used, used)
        return log_z, g, dg


def _mixture(log_each: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of the sum over the last axis, and the share of each term."""
    top = log_each.max(axis=-1, keepdims=True)
    each = np.exp(log_each - top)
    total = each.sum(axis=-1, keepdims=True)
    return (top + np.log(total))[..., 0], each / total


def _labels(values: np.ndarray, deviation: float, cells: float) -> tuple[np.ndarray, float]:
    """Labels on one grid around the values, without the gaps between distant values."""
    step = deviation / cells
    low = values.min() - _MARGIN * deviation
    count = int((values.max() - values.min()) / step + 2 * _MARGIN * cells) + 2
    if count <= _LONGEST:
        grid = low + step * np.arange(count)
        near = np.abs(grid[:, None] - values).min(axis=1) < _MARGIN * deviation
        return grid[near], step
    # Far apart, each value has its own stretch of the grid.
    reach = int(_MARGIN * cells) + 1
    cell = np.floor((values - low) / step).astype(np.int64)[:, None] + np.arange(-reach, reach + 2)
    return low + step * np.unique(cell), step

r"""Eigenvalues and eigenvectors of a covariance of the input that is weighted by the label.

For :math:`C = \frac1n \sum_\mu t_\mu x_\mu x_\mu^\top`, with labels that depend on K directions z
in groups g of :math:`D_g` exchangeable ones, the function Q(t), with values in the upper half plane
for x there, solves

.. math::
    nQ(t) = (d-K)\,s + \sum_g D_g\,\mathbb{E}[z_g^2 \mid t]\,r_g, \qquad
    \frac1s = \mathbb{E}\Big[\frac{t}{1+tQ(t)}\Big] - x, \quad
    \frac{1}{r_g} = \mathbb{E}\Big[\frac{t z_g^2}{1+tQ(t)}\Big] - x.                    [DT-1]

The imaginary part of :math:`(d-K)s + \sum_g D_g r_g`, over :math:`\pi`, is the density of the d
eigenvalues, that of :math:`D_g r_g` the density of the squared overlaps of their eigenvectors with
group g. Where directions are correlated given the label, the sums of the groups have a matrix in
place of :math:`r_g`. For K much smaller than d, Q does not depend on t, and with :math:`w = -1/Q`
outside of the support of t and :math:`\alpha = n/(d-K)` the bulk ends where

.. math:: \mathbb{E}\Big[\frac{t^2}{(w - t)^2}\Big] = \frac1\alpha, \qquad
          x(w) = w\Big(\frac1\alpha + \mathbb{E}\Big[\frac{t}{w-t}\Big]\Big),           [DT-2]

and a direction i has an eigenvalue outside, with a squared overlap of its eigenvector,

.. math:: \mathbb{E}\Big[\frac{t(z_i^2-1)}{w-t}\Big] = \frac1\alpha, \qquad
          q_i^2 = \frac{1/\alpha - \mathbb{E}[t^2/(w-t)^2]}
                  {1/\alpha + \mathbb{E}[t^2(z_i^2-1)/(w-t)^2]}.                        [DT-3]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...base.errors import NotConverged
from ._equation import SpectralEquation
from ._labels import LabelLaw

_LADDER, _HIGHEST = 12, 1000.0  # geometric steps down to the path, from so many times its height
_PASSES, _CLOSER = 2, 12.0  # refinements of the grid; how much closer to the axis each comes
_MARGIN = 0.15  # beyond the outermost eigenvalues, relative to their distance


class Outlier(NamedTuple):
    """Eigenvalue of one direction outside of the bulk, and squared overlap of its eigenvector."""

    eigenvalue: float
    cosine2: float


class Cells(NamedTuple):
    """The d eigenvalues in increasing order, squared overlaps (d, g), squared lengths (d,).

    Eigenvectors relative to a sample covariance do not have length 1.
    """

    eigenvalues: np.ndarray
    overlaps: np.ndarray
    lengths: np.ndarray


def edge(t: np.ndarray, share: np.ndarray, alpha: float, side: int) -> tuple[float, float]:
    """Parameter w and eigenvalue at the upper (side 1) or lower (side -1) end of the bulk [DT-2].

    Samples of weight zero do not count: beside positive weights the lower end is that of the
    nonzero eigenvalues.

    Examples
    --------
    >>> values, share = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    >>> round(edge(values, share, 2.0, 1)[1], 4)
    1.6651
    """
    t, share = t[t != 0], share[t != 0]
    w = _root_beyond(t, side, lambda w: float(share @ (t / (w - t)) ** 2) - 1 / alpha)
    return w, position(t, share, alpha, w)


def position(t: np.ndarray, share: np.ndarray, alpha: float, w: float) -> float:
    """Eigenvalue x(w) [DT-2]."""
    return w * (1 / alpha + float(share @ (t / (w - t))))


def outlier(law: LabelLaw, squares: np.ndarray, alpha: float) -> Outlier | None:
    """Outlier of a direction whose square has these means given t, or None [DT-3].

    Parameters
    ----------
    law : LabelLaw
        Law of the score.
    squares : ndarray (bins,)
        Mean of z_i^2 in each bin.
    alpha : float
        Samples per direction that the label does not see.
    """
    t, p = law.t, law.share
    signal = p * t * (squares - 1)
    side = 1 if signal.sum() > 0 else -1
    w_edge, _ = edge(t, p, alpha, side)
    if float(signal @ (1 / (w_edge - t))) <= 1 / alpha:
        return None
    w = _root_beyond(w_edge * np.ones(1), side, lambda w: float(signal @ (1 / (w - t))) - 1 / alpha)
    own = float(p @ (t / (w - t)) ** 2)
    other = float((signal * t) @ (1 / (w - t) ** 2))
    return Outlier(position(t, p, alpha, w), (1 / alpha - own) / (1 / alpha + other))


def _root_beyond(t: np.ndarray, side: int, f: Callable[[float], float]) -> float:
    """Root beyond the largest (side 1) or smallest t of a function that falls away from there.

    A function that is negative everywhere has its root at the end itself.
    """
    from scipy.optimize import brentq

    end = float(t.max() if side > 0 else t.min())
    scale = float(np.abs(t).max()) or 1.0
    low, high = math.log(1e-12 * scale), math.log(scale)
    if f(end + side * math.exp(low)) <= 0:
        return end + side * math.exp(low)
    while f(end + side * math.exp(high)) > 0:
        high += 2.0
    return end + side * math.exp(brentq(lambda x: f(end + side * math.exp(x)), low, high))


def spectrum_cells(law: LabelLaw, d: int, n: int, points: int, *, whitened: bool = False) -> Cells:
    """Positions of the d eigenvalues and overlaps of their eigenvectors, from [DT-1].

    Parameters
    ----------
    law : LabelLaw
        Law of the score and of the directions.
    d, n : int
        Dimension, samples.
    points : int
        Points of the path along which the resolvent is integrated. Its height above the real
        axis, and with it the error, is inversely proportional to it.
    whitened : bool
        Whether eigenvalues and eigenvectors are those relative to the sample covariance.
    """
    equation = SpectralEquation(law, d, n, whitened=whitened)
    x = np.linspace(*_range(law, d, n, whitened), points // 2)
    height = 2 * float(x[1] - x[0])
    u = _descended(equation, x, height)
    for _ in range(_PASSES):
        _, seen = equation.parts(u)
        # Outliers may be narrower than any even grid: points go where the mass is, and where that
        # of the directions is that are sought; then the path comes closer to the axis.
        mass = (x - x[0]) / (x[-1] - x[0])
        mass += _cumulative(x, equation.count(u, x + 1j * height), 1.0)
        mass += _cumulative(x, seen.sum(axis=1), 1.0)
        fine = np.interp(np.linspace(0.0, mass[-1], points), mass, x)
        start = [np.interp(fine, x, v.real) + 1j * np.interp(fine, x, v.imag) for v in u.T]
        x, height = fine, height / _CLOSER
        u = _solved(equation, np.stack(start, axis=1), x, height)
    unseen, seen = equation.parts(u)
    # What is broadened leaves the grid at its ends: totals are known and restored.
    below = _cumulative(x, equation.count(u, x + 1j * height), float(d))
    ends = np.interp(np.arange(d + 1), below, x)
    # The mean of the inverse of a sample covariance.
    scale = n / (n - d) if whitened else 1.0

    def in_cells(resolvent: np.ndarray, total: float) -> np.ndarray:
        return np.diff(np.interp(ends, x, _cumulative(x, resolvent, scale * total)))

    overlaps = [in_cells(part, float(size)) for part, size in zip(seen.T, law.sizes, strict=True)]
    return Cells(
        eigenvalues=np.interp(np.arange(d) + 0.5, below, x),
        overlaps=np.stack(overlaps, axis=1),
        lengths=in_cells(unseen + seen.sum(axis=1), float(d)),
    )


def _cumulative(x: np.ndarray, resolvent: np.ndarray, total: float) -> np.ndarray:
    """Mass below each point, from the imaginary part of a resolvent."""
    density = np.maximum(resolvent.imag, 0.0)
    steps = (density[1:] + density[:-1]) * np.diff(x)
    below = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(below * (total / below[-1]))


def _range(law: LabelLaw, d: int, n: int, whitened: bool) -> tuple[float, float]:
    """Interval that holds all eigenvalues."""
    alpha = n / (d - int(law.sizes.sum()))
    ends = [edge(law.t, law.share, alpha, side)[1] for side in (-1, 1)]
    columns = [*law.rest.T] + ([] if law.common is None else [*np.einsum("bgg->gb", law.common)])
    found = [outlier(law, column, alpha) for column in columns]
    ends += [one.eigenvalue for one in found if one is not None]
    margin = _MARGIN * (max(ends) - min(ends))
    low, high = min(ends) - margin, max(ends) + margin
    if whitened:  # means of the score, with weights that sum to one
        low, high = max(low, float(law.t.min())), min(high, float(law.t.max()))
    return low, high


def _solved(
    equation: SpectralEquation, start: np.ndarray, x: np.ndarray, height: float
) -> np.ndarray:
    """Solution at points above the real axis, from a start or from far above."""
    u, done = equation.newton(start, x + 1j * height, 12)
    if not done.all():
        u[~done] = _descended(equation, x[~done], height)
    return u


def _descended(equation: SpectralEquation, x: np.ndarray, height: float) -> np.ndarray:
    """Solution continued from far above the real axis, where it is explicit."""
    steps = np.geomspace(_HIGHEST, 1.0, _LADDER)
    u = equation.far(x + 1j * height * steps[0])
    done = np.zeros(len(x), dtype=bool)
    for step in steps:
        u, done = equation.newton(u, x + 1j * height * step, 300 if step == 1.0 else 30)
    if not done.all():
        raise NotConverged(
            f"the spectral equation of the first stage has no solution at {int((~done).sum())} of "
            f"{len(x)} points, first at x = {float(x[~done][0]):.4g}; the score has a very heavy "
            "tail: use score='gauss'",
            last=u,
        )
    return u

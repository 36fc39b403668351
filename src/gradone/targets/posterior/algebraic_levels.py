r"""Level sets of quadratic functions and of products of three variables, without nodes on them.

The law of a quadratic function of Gaussian variables is one integral along a contour, in any
dimension (:mod:`.contour_kernels`); a product of three is a product of two on every plane on which
one of them is constant (:mod:`.product_kernels`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .smooth import Smooth

# Step and tolerance of the contour, alone and on each of many planes; what a halving of the step
# makes of the tolerance.
_CONTOUR, _IN_PLANES, _FINER = (0.25, 1e-5), (0.3, 1e-3), 1e-2
_PLANES = (0.7, 0.7)  # distance of planes: standard deviations, e-foldings next to zero
_CHANGE = 0.005  # by leaving out every other plane, where planes are dense enough
_FAR = 30.0  # distances beyond this many standard deviations have no weight


class LevelMoments(NamedTuple):
    """Moments of x - mean on the level sets of n labels, in units of exp(log_scale)."""

    log_scale: np.ndarray
    """(n,) logarithm of the unit."""
    mass: np.ndarray
    """(n,) moment of order zero."""
    first: np.ndarray
    """(n, k) first moments."""
    second: np.ndarray
    """(n, k, k) second moments, below the diagonal and on it."""


def is_quadratic(f: Smooth) -> bool:
    """Whether a function is a polynomial of degree two in its variables.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> [is_quadratic(Smooth(parse(t), np.eye(2))) for t in ("z1*z2 + z2**2", "z1*z2**2")]
    [True, False]
    """
    return f.monomials is not None and int(f.monomials[0].sum(axis=1).max()) <= 2


def factor_of_product(f: Smooth) -> float | None:
    """The number c if a function is c times the product of three variables, else None.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> factor_of_product(Smooth(parse("2*z1*z2*z3"), np.eye(3)))
    2.0
    """
    if f.monomials is None or f.monomials[0].tolist() != [[1, 1, 1]]:
        return None
    return float(f.monomials[1][0])


def quadratic_levels(
    f: Smooth, y: np.ndarray, mean: np.ndarray, C: np.ndarray, resolution: int = 0
) -> LevelMoments:
    r"""Moments on the level sets of a quadratic function, by [QL-1].

    Parameters
    ----------
    f : Smooth
        The function of k variables.
    y : array (n,)
        Labels.
    mean : array (k, n)
        Prior means.
    C : array (k, k)
        Prior covariance.
    resolution : int
        Number of times that the step is halved.

    Notes
    -----
    Errors relative to the prior are about 1e-5, and 1e-10 after one halving, also for labels of
    probability :math:`e^{-50}`.

    Examples
    --------
    The density of :math:`z_1^2 + z_2^2` is exponential:

    >>> from gradone.targets.language.parser import parse
    >>> f = Smooth(parse("z1**2 + z2**2"), np.eye(2))
    >>> found = quadratic_levels(f, np.array([0.5, 90.0]), np.zeros((2, 2)), np.eye(2), 1)
    >>> (found.log_scale + np.log(found.mass) - np.log(0.5)).round(7)
    array([ -0.25, -45.  ])
    """
    from .contour_kernels import quadratic_moments

    k, n = mean.shape
    L = np.linalg.cholesky(C)
    matrix = L.T @ f.hessian(np.zeros((k, 1)))[:, :, 0] @ L / 2
    a, axes = np.linalg.eigh(matrix)
    a[np.abs(a) < 1e-14 * np.abs(a).max()] = 0.0  # directions in which f is linear
    axes = L @ axes
    b = np.ascontiguousarray(f.gradient(mean).T @ axes)
    log_scale, moments = np.empty(n), np.empty((n, k + 1, k + 1))
    step, tolerance = _CONTOUR
    quadratic_moments(
        y - f.value(mean),
        a,
        b,
        step / 2**resolution,
        tolerance * _FINER**resolution,
        log_scale,
        moments,
    )
    lower = np.tril(moments[:, 1:, 1:])
    second = axes @ (lower + np.tril(lower, -1).transpose(0, 2, 1)) @ axes.T
    return LevelMoments(log_scale, moments[:, 0, 0], moments[:, 1:, 0] @ axes.T, np.tril(second))


def product_levels(
    y: np.ndarray,
    mean: np.ndarray,
    C: np.ndarray,
    nearest: tuple[np.ndarray, np.ndarray],
    depth: float,
    resolution: int = 0,
) -> LevelMoments:
    """Moments on the level sets of x_1 x_2 x_3 at labels `y` (n,), means (3, n), covariance C.

    `nearest` are the distance of the level set from the mean in standard deviations (n,), and a
    point of it (3, n) that is about as near; `depth` is minus the logarithm of what may be left
    out.
    """
    from .product_kernels import product_moments

    n = len(y)
    distance = np.minimum(nearest[0], _FAR)
    p, a, axes = C / np.sqrt(np.diag(C))[:, None], np.empty((3, 2)), np.zeros((3, 3, 2))
    for o in range(3):
        pair = [(o + 1) % 3, (o + 2) % 3]
        rest = C[np.ix_(pair, pair)] - np.outer(p[o, pair], p[o, pair])
        L = np.linalg.cholesky(rest)
        a[o], rotation = np.linalg.eigh(L.T @ np.array([[0.0, 0.5], [0.5, 0.0]]) @ L)
        axes[o][pair] = L @ rotation
    x = nearest[1]
    gradient = np.stack([x[1] * x[2], x[0] * x[2], x[0] * x[1]])
    # Planes across which the level set is least steep: those cut the smoothest curves.
    outer = np.abs(p @ gradient).argmin(axis=0)
    mass, first, second = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    step, tolerance = _IN_PLANES
    product_moments(
        y,
        np.ascontiguousarray(mean.T),
        distance,
        outer,
        p,
        a,
        axes,
        depth,
        (_PLANES[0] / 2**resolution, _PLANES[1] / 2**resolution),
        _CHANGE / 4**resolution,
        step / 2**resolution,
        tolerance * _FINER**resolution,
        mass,
        first,
        second,
    )
    return LevelMoments(-0.5 * distance**2, mass, first, second)

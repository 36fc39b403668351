r"""Level sets of quadratic functions and of products of three variables, without nodes on them.

The law of a quadratic function of Gaussian variables is one integral along a contour, in any
dimension (:mod:`.contour_kernels`). The law of a product of three is an integral of a Gaussian
density over the logarithms of two of them (:mod:`.product_kernels`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.seeds import stream
from ..targets.language.breaks import zero_planes
from ..targets.language.lines import Curved
from .smooth import Smooth

# Step and tolerance of the contour; what a halving of the step makes of the tolerance.
_CONTOUR, _FINER = (0.25, 1e-5), 1e-2
_LATTICE = 0.28, 1e-3  # the same for the lattice: its tolerance is for every other node
_DEPTH = 17.0  # nodes of a lattice whose weight is exp(-_DEPTH) of the largest are left out
_DEEPER = 5.0  # added to it at each refinement
_FAR = 30.0  # level sets farther out than this many standard deviations have no weight
_PARALLEL = 1e-3  # determinant of unit normals below which planes are taken for dependent
_PROBES = 64
_ROUNDING = 1e-20  # labels of a product closer to zero than this are not told apart


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


class LinearFactors(NamedTuple):
    """A product of three affine forms: number * prod_i (normals_i x - offsets_i)."""

    normals: np.ndarray
    """(3, 3) independent rows."""
    offsets: np.ndarray
    """(3,)"""
    number: float


def linear_factors(f: Smooth) -> LinearFactors | None:
    """Factors of a polynomial that is a product of three affine forms, None if it is not.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> found = linear_factors(Smooth(parse("2*z1*z2*z3 - 2*z1*z2"), np.eye(3)))
    >>> round(found.number, 12), found.offsets
    (2.0, array([0., 0., 1.]))
    """
    if f.monomials is None or len(f.rows) != 3:
        return None
    try:
        planes = zero_planes(f.tree, f.rows.shape[1])
    except Curved:
        return None
    normals = np.array([plane.normal for plane in planes]) @ f.rows.T if planes else np.eye(0)
    if len(planes) != 3 or abs(np.linalg.det(normals)) < _PARALLEL:
        return None
    offsets = np.array([plane.offset for plane in planes])
    x = stream(0, "points", r=3, what="factors").standard_normal((3, _PROBES))
    product = (normals @ x - offsets[:, None]).prod(axis=0)
    number = float(product @ f.value(x) / (product @ product))
    if not np.allclose(f.value(x), number * product, rtol=1e-9, atol=1e-9 * abs(number)):
        return None
    return LinearFactors(normals, offsets, number)


def quadratic_levels(
    f: Smooth,
    y: np.ndarray,
    mean: np.ndarray,
    C: np.ndarray,
    resolution: int = 0,
    *,
    noise: float = 0.0,
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
    noise : float
        Variance of a Gaussian noise of the labels: one more variable, in which f is linear.

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
    b = f.gradient(mean).T @ axes
    if noise:
        a = np.append(a, 0.0)
        b = np.hstack([b, np.full((n, 1), math.sqrt(noise))])
    log_scale, moments = np.empty(n), np.empty((n, len(a) + 1, len(a) + 1))
    step, tolerance = _CONTOUR
    quadratic_moments(
        y - f.value(mean),
        a,
        np.ascontiguousarray(b),
        step / 2**resolution,
        tolerance * _FINER**resolution,
        log_scale,
        moments,
    )
    moments = moments[:, : k + 1, : k + 1]
    lower = np.tril(moments[:, 1:, 1:])
    second = axes @ (lower + np.tril(lower, -1).transpose(0, 2, 1)) @ axes.T
    return LevelMoments(log_scale, moments[:, 0, 0], moments[:, 1:, 0] @ axes.T, np.tril(second))


def product_levels(
    y: np.ndarray, mean: np.ndarray, C: np.ndarray, resolution: int = 0
) -> LevelMoments:
    r"""Moments on the level sets of a product of three variables.

    On the axes :math:`\log|x_1|, \log|x_2|` the density of the label is the integral of that of x,
    whose third variable is :math:`y/(x_1 x_2)`:

    .. math::
        Z(y) = \sum_{signs} \int N\Big(x_1, x_2, \frac{y}{x_1 x_2};\, a, C\Big)\,
        d\log|x_1|\, d\log|x_2|                                                        [PL-1]

    Parameters
    ----------
    y : array (n,)
        Labels.
    mean : array (3, n)
        Prior means a.
    C : array (3, 3)
        Prior covariance.
    resolution : int
        Number of times that the step is divided by the square root of two.

    Notes
    -----
    Errors relative to the prior are about 1e-5, up to 5e-4 if it is almost singular, at 25
    microseconds for each label.

    Examples
    --------
    At :math:`a = 0` the mean of :math:`x_1^2` given y is that of all three:

    >>> found = product_levels(np.array([0.5]), np.zeros((3, 1)), np.eye(3))
    >>> (found.second[0].diagonal() / found.mass[0]).round(5)
    array([1.17456, 1.17456, 1.17456])
    """
    from .product_kernels import product_moments

    n = len(y)
    least = _ROUNDING * np.sqrt(np.linalg.det(C))
    y = np.where(np.abs(y) < least, np.copysign(least, y), y)
    square, mass, first, second = np.empty(n), np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    step, tolerance = _LATTICE
    product_moments(
        y,
        np.ascontiguousarray(mean.T),
        C,
        np.linalg.inv(C),
        _DEPTH + _DEEPER * resolution,
        step / math.sqrt(2) ** resolution,
        tolerance,
        _FAR,
        square,
        mass,
        first,
        second,
    )
    constant = 0.5 * float(np.linalg.slogdet(2 * math.pi * C)[1])
    return LevelMoments(-0.5 * square - constant, mass, first, second)


def factored_levels(
    factors: LinearFactors, y: np.ndarray, mean: np.ndarray, C: np.ndarray, resolution: int = 0
) -> LevelMoments:
    """Moments on the level sets of a product of three affine forms, which are variables as good."""
    A = factors.normals
    found = product_levels(
        y / factors.number, A @ mean - factors.offsets[:, None], A @ C @ A.T, resolution
    )
    back = np.linalg.inv(A)
    second = found.second + np.tril(found.second, -1).transpose(0, 2, 1)
    return LevelMoments(
        found.log_scale - math.log(abs(factors.number)),
        found.mass,
        found.first @ back.T,
        np.tril(back @ second @ back.T),
    )

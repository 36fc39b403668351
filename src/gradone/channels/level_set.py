r"""Nodes on the level sets of a smooth function, with their Gaussian weights.

The density of :math:`f(x)` at y, :math:`x \sim N(a, C)` in k dimensions, is an integral over the
level set. With x = a + P t + d v along a root direction d,

.. math::
    Z = \sum_i \int \varphi(t) \sum_{v:\, f = y} \varphi(v)
        \frac{|D_i f|^3}{\sum_j |D_j f|^4}\, dt, \qquad D_i f = \langle d_i, \nabla f\rangle  [LS-1]

where one direction after the other takes the part of the level set that is steep along it: the
weights :math:`|D_i f|^4/\sum_j |D_j f|^4` sum to one, and where a pair of roots meets the
integrand vanishes instead of being infinite.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..base.seeds import stream
from .algebraic_levels import (
    LevelMoments,
    LinearFactors,
    factored_levels,
    is_quadratic,
    linear_factors,
    quadratic_levels,
)
from .roots import LineRoots
from .smooth import Smooth

# Distance of the nodes t in standard deviations, and around critical points in e-foldings. On a
# surface errors cancel that add up on a curve.
_STEPS = {2: (0.4, 0.45), 3: (0.55, 0.6)}
_DEPTH = 11.0  # nodes whose weight is exp(-_DEPTH) of the largest are left out
_DEEPER = 4.0  # added to it at each halving of the steps
_SHARE = 4.0  # exponent of the weights of the directions
_ILL = 0.2  # smallest eigenvalue of a correlation matrix up to which axes are root directions
_STARTS = 512
_NEAR = 8.0  # critical points farther out have no weight
_MAX_CENTERS = 6
_AROUND = 16
_MAX_ISOLATED = 32  # more critical points than this form a curve


class Nodes(NamedTuple):
    """Nodes of the level sets, flat and sorted by sample."""

    sample: np.ndarray
    """(nodes,) to which sample a node belongs."""
    x: np.ndarray
    """(k, nodes) place of the node minus the prior mean."""
    log_weight: np.ndarray
    """(nodes,) log of the part of Z that it carries."""
    tangents: tuple[np.ndarray, ...]
    """k - 1 arrays (k, nodes): how the node moves from one node to the next. Empty for points."""


class Directions(NamedTuple):
    """Root direction d and perpendicular directions P: x = a + P t + d v, t and v standard."""

    d: np.ndarray
    P: np.ndarray


class LevelSet:
    """Level sets of a smooth function of k >= 2 variables under Gaussian priors.

    Parameters
    ----------
    f : Smooth
        The function.
    resolution : int
        Number of times that the steps are halved.
    """

    def __init__(self, f: Smooth, resolution: int = 0) -> None:
        self.f, self.k, self.resolution = f, len(f.rows), resolution
        self.step, self.grading = (s / 2**resolution for s in _STEPS[min(self.k, 3)])
        self.depth = _DEPTH + _DEEPER * resolution
        self.roots = LineRoots(f)

    def nodes(self, y: np.ndarray, mean: np.ndarray, C: np.ndarray) -> list[Nodes]:
        """Nodes of the level sets at labels `y` (n,), means (k, n), covariance C (k, k)."""
        frame = root_directions(C)
        radius = np.sqrt(self._nearest(y, mean, C)[0] ** 2 + 2 * self.depth)
        return [self._along(i, frame, y, mean, radius) for i in range(self.k)]

    def _along(
        self, i: int, frame: list[Directions], y: np.ndarray, mean: np.ndarray, radius: np.ndarray
    ) -> Nodes:
        d, P = frame[i]
        sample, t, space = self._perpendicular(P, y, mean, radius)
        offset = P @ t
        reach = np.sqrt(np.maximum(radius[sample] ** 2 - (t * t).sum(axis=0), 0.0))
        line, v = self.roots.along(d, mean[:, sample] + offset, y[sample], reach)
        sample, space, t = sample[line], space[:, line], t[:, line]
        x = offset[:, line] + d[:, None] * v
        gradient = self.f.gradient(mean[:, sample] + x)
        slopes = np.stack([direction.d for direction in frame]) @ gradient
        steep = np.abs(slopes[i])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (_SHARE - 1) * np.log(steep) - np.log((np.abs(slopes) ** _SHARE).sum(axis=0))
            tangents = tuple(
                space[j] * (P[:, j, None] - d[:, None] * ((P[:, j] @ gradient) / slopes[i]))
                for j in range(self.k - 1)
            )
        log_weight = (
            share
            - 0.5 * ((t * t).sum(axis=0) + v * v)
            + np.log(space).sum(axis=0)
            - 0.5 * self.k * math.log(2 * math.pi)
        )
        log_weight[~np.isfinite(log_weight)] = -np.inf
        return Nodes(sample, x, log_weight, tangents)

    def _perpendicular(
        self, P: np.ndarray, y: np.ndarray, mean: np.ndarray, radius: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sample, place t (k - 1, lines) and spacing (k - 1, lines) of the perpendicular nodes."""
        from .rule_kernels import graded_nodes

        sample = np.arange(len(y))
        t = np.empty((0, len(y)))
        space = np.empty((0, len(y)))
        for j in range(self.k - 1):
            reach = np.sqrt(np.maximum(radius[sample] ** 2 - (t * t).sum(axis=0), 0.0))
            centers, widths = self._centers(j, P, y[sample], mean[:, sample] + P[:, :j] @ t)
            line, place, distance = graded_nodes(
                -reach, reach, self.step, centers, widths, self.grading
            )
            sample = sample[line]
            t = np.vstack([t[:, line], place])
            space = np.vstack([space[:, line], distance])
        return sample, t, space

    def _centers(
        self, j: int, P: np.ndarray, y: np.ndarray, base: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Places (lines, c) on direction j where level sets bend sharply, and on what scale."""
        axis = int(np.abs(P[:, j]).argmax())
        found = [c for c in self.critical if c.axis == axis]
        if not found:
            return np.zeros((len(y), 0)), np.zeros((len(y), 0))
        size = P[axis, j]
        centers = np.stack([(c.place - base[axis]) / size for c in found], axis=1)
        widths = np.stack(
            [np.sqrt(np.abs(y - c.value) / c.curvature) / abs(size) for c in found], axis=1
        )
        return centers, np.maximum(widths / 2, 1e-8 / abs(size))

    def polynomial_moments(
        self, y: np.ndarray, mean: np.ndarray, C: np.ndarray
    ) -> LevelMoments | None:
        """Moments of x - mean on the level sets; None if f is no polynomial."""
        if is_quadratic(self.f):
            return quadratic_levels(self.f, y, mean, C, self.resolution)
        if self.factors is not None:
            return factored_levels(self.factors, y, mean, C, self.resolution)
        return self._moments(y, mean, C)

    def _moments(self, y: np.ndarray, mean: np.ndarray, C: np.ndarray) -> LevelMoments | None:
        """The same by nodes on the level sets, if they are curves or surfaces."""
        from .level_kernels import level_moments

        frame = root_directions(C)
        known = [self.f.degree_along(direction.d) for direction in frame]
        degrees = [degree for degree in known if degree is not None]
        if self.f.monomials is None or self.k > 3 or len(degrees) < len(known):
            return None
        exponents, coefficients = self.f.monomials
        distance = np.minimum(self._nearest(y, mean, C)[0], 30.0)
        most = max(degrees)
        inverses = np.zeros((self.k, most + 1, most + 1))
        for i, degree in enumerate(degrees):
            places = np.arange(degree + 1.0) - degree // 2
            inverses[i, : len(places), : len(places)] = np.linalg.inv(
                np.vander(places, increasing=True)
            )
        n = len(y)
        mass, first, second = np.zeros(n), np.zeros((n, self.k)), np.zeros((n, self.k, self.k))
        columns = [np.array(column) for column in zip(*self.critical, strict=True)] or [
            np.zeros(0, dtype=np.int64),
            *np.zeros((3, 0)),
            np.zeros((0, self.k)),
        ]
        d, P = (np.stack([direction[i] for direction in frame]) for i in (0, 1))
        kernel: Any = level_moments
        kernel(
            y,
            np.ascontiguousarray(mean.T),
            distance,
            self.depth,
            exponents,
            coefficients,
            np.array(degrees),
            inverses,
            d,
            P,
            *columns,
            self.step,
            self.grading,
            mass,
            first,
            second,
        )
        return LevelMoments(-0.5 * distance**2, mass, first, second)

    def _nearest(
        self, y: np.ndarray, mean: np.ndarray, C: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distance (n,) of the level set from the prior mean, in units of C, and where (k, n)."""
        L = np.linalg.cholesky(C)
        # Not at the mean itself, which may be a critical point.
        u = np.full(mean.shape, 0.1) / (1 + np.arange(self.k))[:, None]
        best = np.full(len(y), np.inf)
        for _ in range(8):  # nearest point of the linearized level set, again and again
            x = mean + L @ u
            gradient = L.T @ self.f.gradient(x)
            square = (gradient**2).sum(axis=0)
            with np.errstate(all="ignore"):
                gap = (y - self.f.value(x)) / np.sqrt(square)
                best = np.fmin(best, np.sqrt((u * u).sum(axis=0)) + np.abs(gap))
                factor = ((gradient * u).sum(axis=0) + y - self.f.value(x)) / square
                u = np.nan_to_num(gradient * factor, posinf=0.0, neginf=0.0)
                far = np.sqrt((u * u).sum(axis=0))
                u *= np.minimum(1.0, 40.0 / np.maximum(far, 1e-300))
        return np.minimum(np.nan_to_num(best, posinf=3.0), 40.0), mean + L @ u

    @cached_property
    def factors(self) -> LinearFactors | None:
        """Factors of f if it is a product of three affine forms."""
        return linear_factors(self.f)

    @cached_property
    def critical(self) -> list[Critical]:
        """Coordinates at which the gradient vanishes."""
        return critical_coordinates(self.f, self.critical_points)

    @cached_property
    def critical_points(self) -> np.ndarray:
        """Points (k, c) where the gradient vanishes."""
        return critical_points(self.f)


class Critical(NamedTuple):
    """A coordinate shared by critical points: ``x[axis] = place``."""

    axis: int
    place: float
    value: float
    curvature: float
    point: tuple[float, ...]
    """The critical point, if there is only one with this coordinate; NaN otherwise."""


def root_directions(C: np.ndarray) -> list[Directions]:
    """Root directions, k of them, each with those perpendicular to it (in the metric of C).

    The axes, along which formulas are simple; the principal axes of C if the axes are almost
    parallel in its metric.
    """
    k = len(C)
    scale = np.sqrt(np.diag(C))
    if np.linalg.eigvalsh(C / np.outer(scale, scale))[0] < _ILL:
        values, vectors = np.linalg.eigh(C)  # increasing
        columns = vectors * np.sqrt(values)
        return [Directions(columns[:, i], np.delete(columns, i, axis=1)) for i in range(k)]
    result = []
    for i in range(k):
        # The narrowest direction first: planes across it cut simple curves.
        others = sorted((j for j in range(k) if j != i), key=lambda j: C[j, j])
        L = np.linalg.cholesky(C[np.ix_(others, others)])
        P = np.zeros((k, k - 1))
        P[others] = L
        P[i] = np.linalg.solve(L, C[others, i])
        d = np.zeros(k)
        d[i] = math.sqrt(C[i, i] - P[i] @ P[i])
        result.append(Directions(d, P))
    return result


def critical_points(f: Smooth) -> np.ndarray:
    """Points (k, c) where the gradient vanishes, by Newton's method from many starts.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> critical_points(Smooth(parse("(z1 - 1)*z2"), np.eye(2))).T
    array([[1., 0.]])
    """
    k = len(f.rows)
    x = 2.0 * stream(0, "points", r=k, what="critical").standard_normal((k, _STARTS))
    for _ in range(60):
        gradient, hessian = f.gradient(x), np.moveaxis(f.hessian(x), -1, 0)
        with np.errstate(all="ignore"):
            move = np.linalg.pinv(np.nan_to_num(hessian), rcond=1e-10) @ gradient.T[:, :, None]
        move = np.nan_to_num(move[:, :, 0].T)
        length = np.sqrt((move**2).sum(axis=0))
        x = x - move * np.minimum(1.0, 1.0 / np.maximum(length, 1e-300))
        if (length < 1e-12).all():
            break
    size = np.sqrt((f.gradient(x) ** 2).sum(axis=0))
    x = x[:, (size < 1e-9) & (np.abs(x).max(axis=0) < _NEAR)]
    return np.unique(np.round(x, 7) + 0.0, axis=1)


def critical_coordinates(f: Smooth, points: np.ndarray) -> list[Critical]:
    """Coordinates that critical points share, with the sharpest level sets next to them.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> f = Smooth(parse("(z1 - 1)*z2"), np.eye(2))
    >>> [(c.axis, c.place) for c in critical_coordinates(f, critical_points(f))]
    [(0, 1.0), (1, 0.0)]
    """
    k, count = points.shape
    if not count:
        return []
    values = f.value(points)
    # Second derivatives may vanish at the point itself: the largest ones at unit distance count.
    around = stream(0, "points", r=k, what="around").standard_normal((k, 1, _AROUND))
    around = np.concatenate([np.zeros((k, 1, 1)), around / np.linalg.norm(around, axis=0)], axis=2)
    hessian = np.moveaxis(f.hessian(points[:, :, None] + around), (0, 1), (-2, -1))
    curvature = np.linalg.norm(hessian, ord=2, axis=(2, 3)).max(axis=1)
    own = np.abs(np.linalg.eigvalsh(hessian[:, 0]))
    is_simple = own.min(axis=1) > 1e-6 * own.max(axis=1)
    is_isolated = count <= _MAX_ISOLATED
    result = []
    for axis in range(k):
        # The same coordinate may belong to several critical values.
        kinds, inverse, counts = np.unique(
            np.stack([points[axis], np.round(values, 6)]),
            axis=1,
            return_inverse=True,
            return_counts=True,
        )
        places, inverse = kinds[0], inverse.ravel()
        # Many different places: a curve of critical points, which no center can resolve.
        often = np.flatnonzero((counts > 0.05 * count) | is_isolated)
        often = often[np.abs(places[often]).argsort(kind="stable")][:_MAX_CENTERS]
        for i in often:
            here = np.flatnonzero(inverse == i)
            sharp = here[curvature[here].argmax()]
            if curvature[sharp] > 0:
                value = round(float(values[sharp]), 9) + 0.0
                alone = is_isolated and len(here) == 1 and is_simple[sharp]
                point = points[:, sharp] if alone else np.full(k, np.nan)
                result.append(
                    Critical(
                        axis,
                        float(places[i]),
                        value,
                        float(curvature[sharp]),
                        tuple(point.tolist()),
                    )
                )
    return result

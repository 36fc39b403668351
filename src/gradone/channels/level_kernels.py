"""Level sets of polynomials of two or three variables, in one compiled loop over the samples.

The root lines of a frame lie in planes, on which the level set is a curve. Nodes follow it: where
its direction turns much between two neighbors, or two of its branches meet, the rule is made
denser there and the plane is done again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from .polynomial_kernels import gradient_of, value_of
from .root_kernels import real_roots
from .rule_kernels import MAX_RULE, graded_rule

_MAX_CENTERS = 16
_PASSES = 5
# A bend is not resolved if the curve turns by more than this angle between two neighbors (its
# tangent), or has a radius smaller than this many spacings where two branches meet. On a surface
# neighboring planes make up for each other's errors.
_TURN = (math.tan(0.75), math.tan(1.25))
_RADIUS = (1.5, 0.4)
_HEAVY = -8.0  # log of the relative weight from which a bend matters
_FAR = 60.0  # roots are looked for that far: one that leaves the window is no fold


@njit(cache=True, nogil=True, error_model="numpy")
def level_moments(
    y: np.ndarray,
    mean: np.ndarray,
    distance: np.ndarray,
    depth: float,
    exponents: np.ndarray,
    coefficients: np.ndarray,
    degrees: np.ndarray,
    inverses: np.ndarray,
    d: np.ndarray,
    P: np.ndarray,
    axis: np.ndarray,
    place: np.ndarray,
    value: np.ndarray,
    curvature: np.ndarray,
    point: np.ndarray,
    step: float,
    grading: float,
    mass: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Moments of x - mean over the level sets, in units of exp(-distance^2/2); [LS-1].

    Frame f has the root direction d[f] and the perpendicular directions P[f] (k, k - 1);
    inverses[f] turns values at the places -(degree // 2), ... into coefficients in v. Critical
    coordinates (axis, place, value, curvature, point) attract nodes.
    """
    n, k = mean.shape
    centers, widths = np.empty(_MAX_CENTERS), np.empty(_MAX_CENTERS)
    node, space = np.empty(MAX_RULE), np.empty(MAX_RULE)
    base, total = np.empty(k), np.empty((k + 1, k + 1))
    part, work = np.empty((k + 1, k + 1)), np.empty((8, 16))
    inner_node, inner_space = np.empty(MAX_RULE), np.empty(MAX_RULE)
    constant = math.exp(-0.5 * k * math.log(2 * math.pi))
    for i in range(n):
        lift = 0.5 * distance[i] * distance[i]
        outside = 2.0 * (lift + depth)
        total[:] = 0.0
        for f in range(k):
            planes = 1
            node[0], space[0] = 0.0, 1.0
            if k == 3:
                used = _critical(
                    P[f], 0, y[i], mean[i], axis, place, value, curvature, point, centers, widths
                )
                reach = math.sqrt(outside)
                planes = graded_rule(
                    -reach, reach, step, centers, widths, used, grading, node, space
                )
            for j in range(planes):
                for a in range(k):
                    base[a] = mean[i, a] + P[f, a, 0] * node[j]
                used = _critical(
                    P[f], k - 2, y[i], base, axis, place, value, curvature, point, centers, widths
                )
                _plane(
                    f,
                    y[i],
                    mean[i],
                    base,
                    lift - 0.5 * node[j] * node[j],
                    depth,
                    exponents,
                    coefficients,
                    degrees[f],
                    inverses[f],
                    d,
                    P[f, :, k - 2],
                    centers,
                    widths,
                    used,
                    step,
                    grading,
                    inner_node,
                    inner_space,
                    work,
                    part,
                )
                for a in range(k + 1):
                    for b in range(a + 1):
                        total[a, b] += space[j] * part[a, b]
        mass[i] = constant * total[0, 0]
        for a in range(k):
            first[i, a] = constant * total[a + 1, 0]
            for b in range(a + 1):
                second[i, a, b] = constant * total[a + 1, b + 1]


@njit(cache=True, nogil=True, error_model="numpy")
def _plane(
    f: int,
    y: float,
    mean: np.ndarray,
    base: np.ndarray,
    lift: float,
    depth: float,
    exponents: np.ndarray,
    coefficients: np.ndarray,
    degree: int,
    inverse: np.ndarray,
    d: np.ndarray,
    p: np.ndarray,
    centers: np.ndarray,
    widths: np.ndarray,
    used: int,
    step: float,
    grading: float,
    node: np.ndarray,
    space: np.ndarray,
    work: np.ndarray,
    part: np.ndarray,
) -> None:
    """Moments of (1, x - mean) over the curve in the plane base + p t + d[f] v, in `part`."""
    k = len(mean)
    outside = 2.0 * (lift + depth)
    reach = math.sqrt(max(outside, 0.0))
    c, values, root, x, gradient = work[0], work[1], work[2], work[3][:k], work[4][:k]
    old_v, old_own, old_across = work[5], work[6], work[7]
    own_d = d[f]
    for _ in range(_PASSES):
        part[:] = 0.0
        bends = used
        nodes = graded_rule(-reach, reach, step, centers, widths, used, grading, node, space)
        before = -1
        for j in range(nodes):
            t = node[j]
            found = _roots(
                t, y, base, exponents, coefficients, degree, inverse, own_d, p, x, values, c, root
            )
            # Roots meet in pairs; a single one has left through the end of the line.
            if before >= 0 and abs(found - before) == 2 and bends < _MAX_CENTERS:
                place, bend = _fold(
                    node[j - 1],
                    t,
                    before,
                    found,
                    y,
                    base,
                    exponents,
                    coefficients,
                    degree,
                    inverse,
                    own_d,
                    p,
                    x,
                    values,
                    c,
                    root,
                    outside,
                )
                if bend < _RADIUS[k - 2] * space[j]:
                    centers[bends], widths[bends] = place, bend
                    bends += 1
                found = _roots(
                    t,
                    y,
                    base,
                    exponents,
                    coefficients,
                    degree,
                    inverse,
                    own_d,
                    p,
                    x,
                    values,
                    c,
                    root,
                )
            for s in range(found):
                v = root[s]
                exponent = lift - 0.5 * (t * t + v * v)
                if exponent < -depth:
                    old_own[s] = old_across[s] = 0.0  # takes no part in any comparison
                    continue
                for a in range(k):
                    x[a] = base[a] + p[a] * t + v * own_d[a]
                gradient_of(exponents, coefficients, x, gradient)
                own, across, steep = 0.0, 0.0, 0.0
                for a in range(k):
                    own += own_d[a] * gradient[a]
                    across += p[a] * gradient[a]
                if found == before and exponent > _HEAVY and bends < _MAX_CENTERS:
                    cosine = own * old_own[s] + across * old_across[s]
                    sine = abs(own * old_across[s] - across * old_own[s])
                    if cosine < 0.0 or sine > _TURN[k - 2] * cosine:
                        gap_t, gap_v = t - node[j - 1], v - old_v[s]
                        # Where the curve is steep it is another frame's.
                        if (
                            abs(own) > 0.7 * abs(across)
                            or abs(old_own[s]) > 0.7 * abs(old_across[s])
                            or abs(gap_v) < 2.0 * gap_t
                        ):
                            angle = math.atan2(sine, cosine)
                            centers[bends] = t - 0.5 * gap_t
                            widths[bends] = 0.5 * math.hypot(gap_t, gap_v) / angle
                            bends += 1
                old_v[s], old_own[s], old_across[s] = v, own, across
                for b in range(k):
                    slope = 0.0
                    for a in range(k):
                        slope += d[b, a] * gradient[a]
                    slope *= slope
                    steep += slope * slope
                own = abs(own)
                w = space[j] * math.exp(exponent) * own * own * own / steep
                if not w < 1e300:  # a critical point itself
                    continue
                part[0, 0] += w
                for a in range(k):
                    wx = w * (x[a] - mean[a])
                    part[a + 1, 0] += wx
                    for b in range(a + 1):
                        part[a + 1, b + 1] += wx * (x[b] - mean[b])
            before = found
        if bends == used:
            return
        used = bends


@njit(cache=True, nogil=True, error_model="numpy")
def _roots(
    t: float,
    y: float,
    base: np.ndarray,
    exponents: np.ndarray,
    coefficients: np.ndarray,
    degree: int,
    inverse: np.ndarray,
    d: np.ndarray,
    p: np.ndarray,
    x: np.ndarray,
    values: np.ndarray,
    c: np.ndarray,
    root: np.ndarray,
) -> int:
    """Roots v on the line base + p t + d v."""
    for q in range(degree + 1):
        v = float(q - degree // 2)
        for a in range(len(x)):
            x[a] = base[a] + p[a] * t + v * d[a]
        values[q] = value_of(exponents, coefficients, x) - y
    for a in range(degree + 1):
        c[a] = 0.0
        for b in range(degree + 1):
            c[a] += inverse[a, b] * values[b]
    return real_roots(c, degree, -_FAR, _FAR, root)


@njit(cache=True, nogil=True, error_model="numpy")
def _fold(
    left: float,
    right: float,
    n_left: int,
    n_right: int,
    y: float,
    base: np.ndarray,
    exponents: np.ndarray,
    coefficients: np.ndarray,
    degree: int,
    inverse: np.ndarray,
    d: np.ndarray,
    p: np.ndarray,
    x: np.ndarray,
    values: np.ndarray,
    c: np.ndarray,
    root: np.ndarray,
    outside: float,
) -> tuple[float, float]:
    """Place where two roots meet, and the radius of the curve there; infinite if it is nothing."""
    more, less = (left, right) if n_left > n_right else (right, left)
    many = max(n_left, n_right)
    inside = more
    for _ in range(14):
        middle = 0.5 * (more + less)
        found = _roots(
            middle, y, base, exponents, coefficients, degree, inverse, d, p, x, values, c, root
        )
        if found >= many:
            inside, more = more, middle
        else:
            less = middle
    found = _roots(
        inside, y, base, exponents, coefficients, degree, inverse, d, p, x, values, c, root
    )
    if found < 2:
        return 0.0, np.inf
    pair = 0
    for s in range(found - 1):
        if root[s + 1] - root[s] < root[pair + 1] - root[pair]:
            pair = s
    middle = 0.5 * (root[pair] + root[pair + 1])
    half = 0.5 * (root[pair + 1] - root[pair])
    radius = half * half / (2.0 * abs(inside - less))
    if more * more + middle * middle > outside or not radius > 0.0:
        return 0.0, np.inf
    return more, radius


@njit(cache=True, nogil=True, error_model="numpy")
def _critical(
    P: np.ndarray,
    j: int,
    y: float,
    base: np.ndarray,
    axis: np.ndarray,
    place: np.ndarray,
    value: np.ndarray,
    curvature: np.ndarray,
    point: np.ndarray,
    centers: np.ndarray,
    widths: np.ndarray,
) -> int:
    """Critical coordinates on the axis along which direction j moves most; returns how many."""
    main, outer = 0, 0
    for a in range(len(P)):
        if abs(P[a, j]) > abs(P[main, j]):
            main = a
        if abs(P[a, 0]) > abs(P[outer, 0]):
            outer = a
    size = P[main, j]
    used = 0
    for e in range(len(axis)):
        if axis[e] != main or used == _MAX_CENTERS // 2:
            continue
        centers[used] = (place[e] - base[main]) / size
        width = max(0.5 * math.sqrt(abs(y - value[e]) / curvature[e]), 1e-8) / abs(size)
        # A plane that passes a single critical point at a distance is as smooth as that is far.
        if j == 1 and point[e, outer] == point[e, outer]:
            width = math.hypot(width, 0.5 * (point[e, outer] - base[outer]) / P[outer, 0])
        widths[used] = width
        used += 1
    return used

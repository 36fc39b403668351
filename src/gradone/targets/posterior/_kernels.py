"""Compiled loops of the posterior of a noiseless output; flat arrays, sorted by sample."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_SQRT2 = math.sqrt(2.0)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_FAR = 5.0
MAX_RULE = 4096  # nodes of one graded rule


@njit(cache=True, nogil=True, error_model="numpy")
def _mills(x: float) -> float:
    """Upper tail of the Gaussian over its density, x >= 0."""
    if x < _FAR:
        return math.erfc(x / _SQRT2) * math.exp(0.5 * x * x + _LOG_SQRT_2PI) / 2.0
    tail = x
    for j in range(12, 0, -1):  # continued fraction
        tail = x + j / tail
    return 1.0 / tail


@njit(cache=True, nogil=True, error_model="numpy")
def interval_moments(a: float, b: float) -> tuple[float, float, float]:
    """Log probability of [a, b] under N(0, 1), mean and variance inside."""
    if not a < b:
        return -np.inf, 0.0, 0.0
    if a == -np.inf and b == np.inf:
        return 0.0, 0.0, 1.0
    flip = a + b < 0.0 if a > -np.inf and b < np.inf else a == -np.inf
    if flip:
        a, b = -b, -a
    # Now |a| <= |b|: everything in units of the density at the point closest to 0.
    near = max(a, 0.0)
    top = math.exp(0.5 * (near * near - a * a)) if a < 0.0 else 1.0
    bottom = math.exp(0.5 * (near * near - b * b)) if b < np.inf else 0.0
    if a >= 0.0:
        mass = _mills(a) - (bottom * _mills(b) if b < np.inf else 0.0)
    else:
        upper = math.erfc(b / _SQRT2) if b < np.inf else 0.0
        mass = (2.0 - math.erfc(-a / _SQRT2) - upper) * math.exp(_LOG_SQRT_2PI) / 2.0
    if b - a < 1e-4:  # nothing but rounding is left of the differences
        mean, variance = (a + b) / 2.0, (b - a) ** 2 / 12.0
        mass = (b - a) * math.exp(0.5 * (near * near - mean * mean))
    elif mass <= 0.0:
        return -np.inf, 0.0, 0.0
    else:
        mean = (top - bottom) / mass
        ends = (a * top - b * bottom) / mass if b < np.inf else a * top / mass
        variance = max(1.0 + ends - mean * mean, 0.0)
    log_mass = math.log(mass) - 0.5 * near * near - _LOG_SQRT_2PI
    return log_mass, (-mean if flip else mean), variance


@njit(cache=True, nogil=True, error_model="numpy")
def accumulate(
    sample: np.ndarray, log_weight: np.ndarray, q: np.ndarray, variance: np.ndarray,
    spread: np.ndarray, top: np.ndarray, mass: np.ndarray, first: np.ndarray, second: np.ndarray,
) -> None:
    """Add nodes to the moments of their samples, in units of exp(top) of each sample.

    A node carries the mean q (r, nodes) and the covariance variance * spread spread'.
    """
    r = len(q)
    nodes = len(sample)
    start = 0
    while start < nodes:
        i = sample[start]
        stop = start
        high = top[i]
        while stop < nodes and sample[stop] == i:
            high = max(high, log_weight[stop])
            stop += 1
        if high > -np.inf:
            scale = math.exp(top[i] - high) if top[i] > -np.inf else 0.0
            top[i] = high
            mass[i] *= scale
            for a in range(r):
                first[i, a] *= scale
                for b in range(a + 1):
                    second[i, a, b] *= scale
            for j in range(start, stop):
                gap = log_weight[j] - high
                if gap < -40.0:
                    continue
                weight = math.exp(gap)
                mass[i] += weight
                for a in range(r):
                    wq = weight * q[a, j]
                    first[i, a] += wq
                    for b in range(a + 1):
                        second[i, a, b] += wq * q[b, j]
                extra = weight * variance[j]
                if extra > 0.0:
                    for a in range(r):
                        for b in range(a + 1):
                            second[i, a, b] += extra * spread[a] * spread[b]
        start = stop


@njit(cache=True, nogil=True, error_model="numpy")
def graded_rule(
    low: float, high: float, step: float, centers: np.ndarray, widths: np.ndarray, count: int,
    grading: float, node: np.ndarray, space: np.ndarray,
) -> int:
    """Nodes of a trapezoid rule on [low, high], denser around centers; returns how many.

    A smooth map of a uniform grid, so a smooth function is integrated as well as by a uniform
    rule: far from a center nodes are `step` apart, close to it `grading` times the distance, and
    within the center's width not closer any more.
    """
    if not high > low:
        return 0
    used = 0
    for c in range(count):
        # A center whose own density is small against the uniform one does nothing.
        outside = max(low - centers[c], centers[c] - high, 0.0)
        if grading * math.hypot(widths[c], outside) < step:
            centers[used], widths[used] = centers[c], widths[c]
            used += 1
    if used == 0:
        size = int((high - low) / step) + 1
        begin = 0.5 * (low + high - (size - 1) * step)
        for j in range(size):
            node[j] = begin + j * step
            space[j] = step
        return size
    if used == 1:
        return _graded_once(low, high, step, centers[0], widths[0], grading, node, space)
    return _graded_often(low, high, step, centers, widths, used, grading, node, space)


@njit(cache=True, nogil=True, error_model="numpy")
def _graded_once(
    low: float, high: float, step: float, center: float, width: float, grading: float,
    node: np.ndarray, space: np.ndarray,
) -> int:
    """One center: t - center = scale (softplus(shift + s) - softplus(shift - s)), s equidistant."""
    scale = step / grading
    shift = math.log(0.5 * width / scale)
    left, right = (low - center) / scale, (high - center) / scale
    first = left + shift if left < 0.0 else left - shift
    last = right - shift if right > 0.0 else right + shift
    start = math.floor(first / grading) + 0.5
    ratio = math.exp(grading)
    up = math.exp(shift + grading * start)
    down = math.exp(shift - grading * start)
    size = 0
    for _ in range(int((last - first) / grading) + 3):
        t = center + scale * math.log((1.0 + up) / (1.0 + down))
        if low < t < high:
            node[size] = t
            space[size] = step * (up / (1.0 + up) + down / (1.0 + down))
            size += 1
            if size == len(node):
                return size
        up *= ratio
        down /= ratio
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def _graded_often(
    low: float, high: float, step: float, centers: np.ndarray, widths: np.ndarray, used: int,
    grading: float, node: np.ndarray, space: np.ndarray,
) -> int:
    """Many centers: density 1/step + sum_c 1/(grading sqrt(widths_c^2 + (t - centers_c)^2))."""
    first, last = low / step, high / step
    for c in range(used):
        first += math.asinh((low - centers[c]) / widths[c]) / grading
        last += math.asinh((high - centers[c]) / widths[c]) / grading
    size = min(int(last - first) + 1, len(node))
    shift = first + 0.5 * (last - first - size + 1)
    t = low
    for j in range(size):
        slope = 1.0 / step
        for _ in range(40):
            value, slope = t / step, 1.0 / step
            for c in range(used):
                x = t - centers[c]
                far = math.sqrt(x * x + widths[c] * widths[c])
                # asinh, without cancellation for negative x.
                value += math.copysign(math.log((abs(x) + far) / widths[c]), x) / grading
                slope += 1.0 / (grading * far)
            move = (shift + j - value) / slope
            t += move
            if abs(move) * slope < 1e-3:  # the next one would be a millionth of the spacing
                break
        node[j] = t
        space[j] = 1.0 / slope
        t += 1.0 / slope
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def graded_nodes(
    low: np.ndarray, high: np.ndarray, step: float, centers: np.ndarray, widths: np.ndarray,
    grading: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes of many graded rules one after the other: rule, place and spacing of each."""
    rules = len(low)
    node, space = np.empty(MAX_RULE), np.empty(MAX_RULE)
    capacity = 64 * rules + MAX_RULE
    rule, places, spaces = np.empty(capacity, np.int64), np.empty(capacity), np.empty(capacity)
    total = 0
    for i in range(rules):
        n = graded_rule(
            low[i], high[i], step, centers[i], widths[i], centers.shape[1], grading, node, space
        )
        if total + n > capacity:
            capacity *= 2
            wider = np.empty(capacity, np.int64)
            wider[:total] = rule[:total]
            rule = wider
            longer = np.empty((2, capacity))
            longer[0, :total], longer[1, :total] = places[:total], spaces[:total]
            places, spaces = longer[0], longer[1]
        rule[total : total + n] = i
        places[total : total + n] = node[:n]
        spaces[total : total + n] = space[:n]
        total += n
    return rule[:total].copy(), places[:total].copy(), spaces[:total].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def panel_nodes(
    cuts: np.ndarray, reach: float, step: float, points: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes for N(0, 1) on [-reach, reach], cut at the given points (lines, c).

    Row n of `points`, `weights` is the rule with n nodes on [0, 1]. Returns the line of each node,
    its place, and the log of its weight with the density included.
    """
    lines, count = cuts.shape
    most = len(points) - 1
    edges = np.empty(count + 2)
    place = 0
    for pass_ in range(2):
        if pass_ == 1:
            line = np.empty(place, dtype=np.int64)
            node = np.empty(place)
            log_weight = np.empty(place)
        place = 0
        for i in range(lines):
            edges[0] = -reach
            n = 1
            for c in range(count):
                if -reach < cuts[i, c] < reach:
                    edges[n] = cuts[i, c]
                    n += 1
            edges[n] = reach
            n += 1
            edges[:n] = np.sort(edges[:n])
            for k in range(n - 1):
                length = edges[k + 1] - edges[k]
                if length < 1e-9:
                    continue
                size = min(int(math.ceil(length / step)) + 3, most)
                if pass_ == 0:
                    place += size
                    continue
                for j in range(size):
                    t = edges[k] + length * points[size, j]
                    line[place] = i
                    node[place] = t
                    log_weight[place] = (
                        math.log(length * weights[size, j]) - 0.5 * t * t - _LOG_SQRT_2PI
                    )
                    place += 1
    return line, node, log_weight


@njit(cache=True, nogil=True, error_model="numpy")
def _polynomial(c: np.ndarray, degree: int, v: float) -> float:
    value = c[degree]
    for i in range(degree - 1, -1, -1):
        value = value * v + c[i]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def real_roots(c: np.ndarray, degree: int, low: float, high: float, out: np.ndarray) -> int:
    """Real roots in [low, high] of the polynomial sum_i c_i v^i, increasing; returns how many."""
    if degree == 0:
        return 0
    if degree == 1:
        out[0] = -c[0] / c[1]
        return 1 if low <= out[0] <= high else 0
    if degree == 2:
        square = c[1] * c[1] - 4.0 * c[2] * c[0]
        if square < 0.0:
            return 0
        # The sum of two numbers of one sign: nothing cancels, and c_2 may be zero.
        half = -0.5 * (c[1] + math.copysign(math.sqrt(square), c[1]))
        one = half / c[2]
        two = c[0] / half if half != 0.0 else one
        n = 0
        if low <= min(one, two) <= high:
            out[n] = min(one, two)
            n += 1
        if low <= max(one, two) <= high and one != two:
            out[n] = max(one, two)
            n += 1
        return n
    # The extrema, which are roots of the derivative, separate the roots.
    slope = np.empty(degree)
    for i in range(degree):
        slope[i] = (i + 1) * c[i + 1]
    turns = np.empty(degree)
    count = real_roots(slope, degree - 1, low, high, turns)
    n = 0
    left = low
    f_left = _polynomial(c, degree, low)
    for k in range(count + 1):
        right = turns[k] if k < count else high
        f_right = _polynomial(c, degree, right)
        if f_left == 0.0 or (f_left < 0.0) != (f_right < 0.0):
            a, b = left, right
            v = 0.5 * (a + b)
            for _ in range(80):
                f = _polynomial(c, degree, v)
                if (f < 0.0) == (f_left < 0.0):
                    a = v
                else:
                    b = v
                df = _polynomial(slope, degree - 1, v)
                new = v - f / df if df != 0.0 else 0.5 * (a + b)
                if not a < new < b:
                    new = 0.5 * (a + b)
                if abs(new - v) <= 1e-15 * (1.0 + abs(v)):
                    v = new
                    break
                v = new
            out[n] = v
            n += 1
        left, f_left = right, f_right
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def line_roots(
    coefficients: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Roots within |v| <= reach of polynomials (degree + 1, lines): line of each root, its v."""
    degree, lines = len(coefficients) - 1, coefficients.shape[1]
    line = np.empty(degree * lines, dtype=np.int64)
    root = np.empty(degree * lines)
    c = np.empty(degree + 1)
    out = np.empty(degree + 1)
    place = 0
    for i in range(lines):
        for k in range(degree + 1):
            c[k] = coefficients[k, i]
        n = real_roots(c, degree, -reach[i], reach[i], out)
        for k in range(n):
            line[place] = i
            root[place] = out[k]
            place += 1
    return line[:place].copy(), root[:place].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def allowed_intervals(
    c0: np.ndarray, c1: np.ndarray, c2: np.ndarray, sign: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where sign_j (c0 + c1 s + c2 s^2)_j > 0 for all j, along lines s ~ N(0, 1).

    Returns for every non-empty interval its line, log probability, mean and variance.
    """
    count, lines = c0.shape
    capacity = lines * (2 * count + 1)
    line = np.empty(capacity, dtype=np.int64)
    log_mass = np.empty(capacity)
    mean = np.empty(capacity)
    variance = np.empty(capacity)
    edges = np.empty(2 * count + 2)
    place = 0
    for i in range(lines):
        n = 1
        edges[0] = -np.inf
        low, high = -np.inf, np.inf
        is_affine, possible = True, True
        for j in range(count):
            a, b, c = sign[j] * c2[j, i], sign[j] * c1[j, i], sign[j] * c0[j, i]
            if a == 0.0:
                if b > 0.0:
                    low = max(low, -c / b)
                elif b < 0.0:
                    high = min(high, -c / b)
                elif c <= 0.0:
                    possible = False
                continue
            is_affine = False
            square = b * b - 4.0 * a * c
            if square >= 0.0:
                half = -0.5 * (b + math.copysign(math.sqrt(square), b))
                edges[n] = half / a
                edges[n + 1] = c / half if half != 0.0 else half / a
                n += 2
        if not possible or not low < high:
            continue
        if is_affine:
            mass, m1, v = interval_moments(low, high)
            if mass > -np.inf:
                line[place], log_mass[place], mean[place], variance[place] = i, mass, m1, v
                place += 1
            continue
        edges[n] = np.inf
        n += 1
        edges[:n] = np.sort(edges[:n])
        for k in range(n - 1):
            left, right = max(edges[k], low), min(edges[k + 1], high)
            if not left < right:
                continue
            inside = 0.5 * (left + right)
            if left == -np.inf:
                inside = right - 1.0 if right < np.inf else 0.0
            elif right == np.inf:
                inside = left + 1.0
            holds = True
            for j in range(count):
                if c2[j, i] != 0.0:
                    value = c0[j, i] + inside * (c1[j, i] + inside * c2[j, i])
                    holds = holds and sign[j] * value > 0.0
            if not holds:
                continue
            mass, m1, v = interval_moments(left, right)
            if mass > -np.inf:
                line[place], log_mass[place], mean[place], variance[place] = i, mass, m1, v
                place += 1
    return line[:place].copy(), log_mass[:place].copy(), mean[:place].copy(), variance[:place].copy()

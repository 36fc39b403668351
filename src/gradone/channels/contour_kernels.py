r"""Level sets of quadratic functions: one integral along a contour, whatever the dimension.

A quadratic function of a Gaussian vector is, on the axes that its matrix and the covariance share,
:math:`q = \sum_j a_j x_j^2 + b_j x_j` with standard x. Its moment generating function is known, and
so is the law of x tilted by :math:`e^{sq}`: independent Gaussians with variance 1/u_j and mean
s b_j/u_j, :math:`u_j = 1 - 2 a_j s`. Hence

.. math::
    Z(y) = \frac{1}{2\pi i} \int e^{F(s)}\, ds, \qquad
    F(s) = -s y + \sum_j \Big[\frac{s^2 b_j^2}{2 u_j} - \frac{1}{2} \log u_j\Big]       [QL-1]

and moments of x given q = y have those of the tilted law under the integral. The contour crosses
the real axis at the saddle point of F and bends to the side on which the integrand decays; the
trapezoidal rule on it converges exponentially, without cancellation even for rare labels.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

BEND = 0.55  # tangent of the angle between the far contour and the imaginary axis
HALVINGS = 3  # of the step, where it is too large
_FAR = 40.0  # end of the contour parameter: e^40 saddle widths
_OFF = 0.05  # distance from the saddle point, in its widths, at which the search for it ends
_SEARCH = 200
_STRAIGHT = 20.0  # widths: a contour that bends higher up has ended before
_LEFT = 0.01  # times the tolerance: modulus at which the contour ends
_MARGIN = 4.0  # logarithm: sides of the contour are compared until the better one is that far gone
_MAX_PROBES = 30
# Growth of the integrand on its way, as a logarithm: beyond this the other bend is tried, and a
# contour that ever gets to the second number is not finished.
_RISE, _TOO_HIGH = 1.0, 30.0


@njit(cache=True, nogil=True, error_model="numpy")
def contour_table(step: float) -> np.ndarray:
    """Rows sinh and cosh of the contour parameter at the nodes of the finest step."""
    finest = step / 2**HALVINGS
    size = int(_FAR / finest) + 1
    table = np.empty((2, size))
    for i in range(size):
        table[0, i], table[1, i] = math.sinh(i * finest), math.cosh(i * finest)
    return table


@njit(cache=True, nogil=True, error_model="numpy")
def quadratic_moments(
    y: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    step: float,
    tolerance: float,
    log_scale: np.ndarray,
    moments: np.ndarray,
) -> None:
    """Moments (n, k + 1, k + 1) of (1, x) given q(x) = y for b (n, k), in units of exp(log_scale).

    Only the part below the diagonal and the diagonal are written.
    """
    table = contour_table(step)
    work = np.empty((5, len(a)))
    for i in range(len(y)):
        log_scale[i] = contour_moments(y[i], a, b[i], step, tolerance, table, work, moments[i])


@njit(cache=True, nogil=True, error_model="numpy")
def contour_moments(
    y: float,
    a: np.ndarray,
    b: np.ndarray,
    step: float,
    tolerance: float,
    table: np.ndarray,
    work: np.ndarray,
    moments: np.ndarray,
) -> float:
    """Moments of (1, x) given q(x) = y by [QL-1]; returns their log scale.

    The step is halved until leaving out every other node changes less than the root of the
    tolerance: the rule converges exponentially. All is zero and the scale -inf where the label is
    impossible.
    """
    k = len(a)
    moments[:] = 0.0
    if _is_impossible(y, a, b):
        return -np.inf
    s, curvature, skewness = _saddle(y, a, b)
    width = 1.0 / math.sqrt(curvature)
    # The path of steepest descent leaves the vertical at this height; where singular points lie
    # symmetrically it does so at their distance.
    near = 3.0 * curvature / abs(skewness) if skewness != 0.0 else np.inf
    scale, product = -s * y, width * width
    for j in range(k):
        u = 1.0 - 2.0 * a[j] * s
        if a[j] != 0.0:
            near = min(near, abs(u / a[j]))
        scale += 0.5 * s * s * b[j] * b[j] / u
        product /= u
    near = max(near, width)
    scale += 0.5 * math.log(product) - math.log(math.pi)
    bend = BEND if near > _STRAIGHT * width else _side(y, a, b, s, near, tolerance) * BEND
    stride = 2**HALVINGS
    rise, change = _along(y, a, b, s, width, near, bend, stride, tolerance, table, work, moments)
    if rise > _RISE:
        other, _ = _along(y, a, b, s, width, near, -bend, stride, tolerance, table, work, moments)
        bend, change = (-bend if other < rise else bend), np.inf
    while stride > 1 and not change * change < tolerance * moments[0, 0] * moments[0, 0]:
        stride //= 2
        _, change = _along(y, a, b, s, width, near, bend, stride, tolerance, table, work, moments)
    return scale + math.log(step * stride / 2**HALVINGS)


@njit(cache=True, nogil=True, error_model="numpy")
def _is_impossible(y: float, a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a definite form does not reach the label."""
    least, side = 0.0, 0
    for j in range(len(a)):
        if a[j] == 0.0:
            if b[j] != 0.0:
                return False
            continue
        own = 1 if a[j] > 0.0 else -1
        if side == -own:
            return False
        side = own
        least -= b[j] * b[j] / (4.0 * a[j])
    return side * (y - least) <= 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _saddle(y: float, a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Saddle point of F on the real axis, about, with the second and third derivative there."""
    low, high = -np.inf, np.inf
    for j in range(len(a)):
        if a[j] > 0.0:
            high = min(high, 0.5 / a[j])
        elif a[j] < 0.0:
            low = max(low, 0.5 / a[j])
    s, slope, third = 0.0, 0.0, 0.0
    for _ in range(_SEARCH):
        excess, slope, third = -y, 0.0, 0.0
        for j in range(len(a)):
            v = 1.0 / (1.0 - 2.0 * a[j] * s)
            av, bv = a[j] * v, b[j] * b[j] * v
            excess += av + bv * v * s * (1.0 - a[j] * s)
            slope += 2.0 * av * av + bv * v * v
            third += 8.0 * av * av * av + 6.0 * av * bv * v * v
        if excess * excess <= _OFF * _OFF * slope:
            break
        if excess > 0.0:
            high = s
        else:
            low = s
        new = s - excess / slope
        if not low < new < high:
            new = 0.5 * (s + (high if excess < 0.0 else low))
        if new == s:
            break
        s = new
    return s, slope, third


@njit(cache=True, nogil=True, error_model="numpy")
def _side(
    y: float, a: np.ndarray, b: np.ndarray, saddle: float, near: float, tolerance: float
) -> int:
    """Side, 1 or -1, to which the contour has to bend for the integrand to vanish first."""
    gone = _log_modulus(y, a, b, saddle, 0.0) + math.log(_LEFT * tolerance) - _MARGIN
    right, left, probe = 0.0, 0.0, 2.0
    for _ in range(_MAX_PROBES):
        s_i = probe * near
        shift = BEND * near * (math.sqrt(probe * probe + 1.0) - 1.0)
        right = _log_modulus(y, a, b, saddle + shift, s_i)
        left = _log_modulus(y, a, b, saddle - shift, s_i)
        if right < gone or left < gone:
            break
        probe *= 3.0
    return 1 if right < left else -1


@njit(cache=True, nogil=True, error_model="numpy")
def _log_modulus(y: float, a: np.ndarray, b: np.ndarray, s_r: float, s_i: float) -> float:
    """Real part of F."""
    value, product = -y * s_r, 1.0
    for j in range(len(a)):
        u_r, u_i = 1.0 - 2.0 * a[j] * s_r, -2.0 * a[j] * s_i
        square = u_r * u_r + u_i * u_i
        product *= square
        real = (s_r * s_r - s_i * s_i) * u_r + 2.0 * s_r * s_i * u_i
        value += 0.5 * b[j] * b[j] * real / square
    return value - 0.25 * math.log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def _along(
    y: float,
    a: np.ndarray,
    b: np.ndarray,
    saddle: float,
    width: float,
    near: float,
    bend: float,
    stride: int,
    tolerance: float,
    table: np.ndarray,
    work: np.ndarray,
    moments: np.ndarray,
) -> tuple[float, float]:
    """Add up [QL-1] on s = saddle + i h + bend (sqrt(h^2 + near^2) - near), h = width sinh t.

    In units of the integrand at the saddle point, at the nodes t = 0, step, 2 step, ...; returns
    the logarithm of its largest modulus, and what leaving out every other node changes. Complex
    numbers are pairs of real ones: numba's division and root are slower.
    """
    k = len(a)
    start, mean_r, mean_i, v_r, v_i = work[0], work[1], work[2], work[3], work[4]
    begin = 0.0
    for j in range(k):
        start[j] = 1.0 - 2.0 * a[j] * saddle
        begin += 0.5 * saddle * saddle * b[j] * b[j] / start[j]
    for c in range(k + 1):
        for d in range(c + 1):
            moments[c, d] = 0.0
    rise, change, sign = 0.0, 0.0, 1.0
    for i in range(0, table.shape[1], stride):
        sinh, cosh = table[0, i], table[1, i]
        s_i = width * sinh
        far = math.sqrt(near * near + s_i * s_i)
        shift = bend * s_i * s_i / (far + near)
        s_r = saddle + shift
        e_r, e_i = -y * shift - begin, -y * s_i
        root_r, root_i = cosh, -bend * cosh * s_i / far
        for j in range(k):
            u_r, u_i = start[j] - 2.0 * a[j] * shift, -2.0 * a[j] * s_i
            inverse = 1.0 / (u_r * u_r + u_i * u_i)
            p, q = u_r * inverse, -u_i * inverse
            v_r[j], v_i[j] = p, q
            m_r, m_i = b[j] * (s_r * p - s_i * q), b[j] * (s_r * q + s_i * p)
            mean_r[j], mean_i[j] = m_r, m_i
            e_r += 0.5 * b[j] * (s_r * m_r - s_i * m_i)
            e_i += 0.5 * b[j] * (s_r * m_i + s_i * m_r)
            # Principal root of start/u, which never crosses the negative axis.
            p, q = p * start[j], q * start[j]
            size = math.sqrt(p * p + q * q)
            if p >= 0.0:
                w_r = math.sqrt(0.5 * (size + p))
                w_i = 0.5 * q / w_r
            else:
                w_i = math.copysign(math.sqrt(0.5 * (size - p)), q)
                w_r = 0.5 * q / w_i
            root_r, root_i = root_r * w_r - root_i * w_i, root_r * w_i + root_i * w_r
        modulus = math.exp(e_r)
        if e_r > rise:
            rise = e_r
            if rise > _TOO_HIGH:
                return rise, np.inf
        c_r, c_i = modulus * math.cos(e_i), modulus * math.sin(e_i)
        f_r, f_i = c_r * root_r - c_i * root_i, c_r * root_i + c_i * root_r
        if i == 0:
            f_r, f_i = 0.5 * f_r, 0.5 * f_i
        moments[0, 0] += f_r
        change += sign * f_r
        sign = -sign
        for c in range(k):
            g_r = f_r * mean_r[c] - f_i * mean_i[c]
            g_i = f_r * mean_i[c] + f_i * mean_r[c]
            moments[c + 1, 0] += g_r
            for d in range(c + 1):
                moments[c + 1, d + 1] += g_r * mean_r[d] - g_i * mean_i[d]
            moments[c + 1, c + 1] += f_r * v_r[c] - f_i * v_i[c]
        if abs(f_r) + abs(f_i) < _LEFT * tolerance:
            break
    return rise, change

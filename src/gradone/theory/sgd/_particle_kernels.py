# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
r"""Machine code of the mean-field flow: all particles, all nodes, all steps in one call.

Activations are sums of a line, kinks :math:`\beta\,(x - b)_+`, jumps :math:`\alpha\,1(x > b)`,
functions :math:`\mathrm{erf}(cx + b)` and waves :math:`\sin(\omega x + c)`: their Gaussian means
[MF-2] need the normal law and the sine alone. Both are read from tables by Taylor's formula, which
is four times as fast as their exact routines and right to 1e-11.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.machine_code import njit

_FINE = 64  # nodes of the table of the normal law for each unit
_REACH = 9.0  # beyond it the law is a step, to 1e-18
_GRID = np.arange(-_REACH * _FINE, _REACH * _FINE + 1) / _FINE
_DENSITY = np.exp(-0.5 * _GRID**2) / math.sqrt(2 * math.pi)
_LAW = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in _GRID])
_TURN = 512  # nodes of the table of the sine
_SINE = np.sin(2 * math.pi * np.arange(_TURN) / _TURN)
_COSINE = np.cos(2 * math.pi * np.arange(_TURN) / _TURN)

# Rule of Dormand and Prince: nodes are not needed (the flow does not depend on time).
_A = np.zeros((7, 7))
_A[1, :1] = [1 / 5]
_A[2, :2] = [3 / 40, 9 / 40]
_A[3, :3] = [44 / 45, -56 / 15, 32 / 9]
_A[4, :4] = [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]
_A[5, :5] = [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]
_A[6, :6] = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]
_ERROR = np.array(
    [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
)  # fmt: skip
# Powers theta^1 ... theta^4 of the dense output of order four.
_DENSE = np.array(
    [
        [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0, 0, 0, 0],
        [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]
)


@njit(cache=True, inline="always", error_model="numpy")
def _normal(x):
    """Density and law of a standard normal variable, about four operations each."""
    if x > _REACH - 0.1:
        return 0.0, 1.0
    if x < 0.1 - _REACH:
        return 0.0, 0.0
    place = int(x * _FINE + (_REACH * _FINE + 0.5))
    x0 = place / _FINE - _REACH
    h = x - x0
    two = x0 * x0 - 1.0
    three = x0 * (x0 * x0 - 3.0)
    four = x0 * x0 * (x0 * x0 - 6.0) + 3.0
    density = _DENSITY[place]
    ratio = 1.0 + h * (-x0 + h * (two / 2 + h * (-three / 6 + h * four / 24)))
    part = 1.0 + h * (-x0 / 2 + h * (two / 6 + h * (-three / 24 + h * four / 120)))
    return density * ratio, _LAW[place] + density * h * part


@njit(cache=True, inline="always", error_model="numpy")
def _wave(x):
    """Sine and cosine."""
    scaled = x * (_TURN / (2 * math.pi))
    nearest = math.floor(scaled + 0.5)
    h = (scaled - nearest) * (2 * math.pi / _TURN)
    place = int(nearest) & (_TURN - 1)
    s0, c0 = _SINE[place], _COSINE[place]
    sine = h * (1.0 - h * h / 6)
    cosine = 1.0 - h * h * (0.5 - h * h / 24)
    return s0 * cosine + c0 * sine, c0 * cosine - s0 * sine


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _features(v, s, line, kinks, curves, waves, value, by_v, by_s):
    """Means [MF-2] at the fields v (m,) of one particle, into three arrays."""
    for m in range(len(v)):
        value[m], by_v[m], by_s[m] = line[0] + line[1] * v[m], line[1], 0.0
    for k in range(len(kinks)):
        edge, jump, slope = kinks[k]
        for m in range(len(v)):
            t = (v[m] - edge) / s
            density, law = _normal(t)
            value[m] += jump * law + slope * s * (t * law + density)
            by_v[m] += jump * density / s + slope * law
            by_s[m] += density * (slope - jump * t / s)
    for k in range(len(curves)):  # size erf(scale x + shift): a normal law of larger variance
        size, scale, shift = curves[k]
        spread = math.sqrt(1.0 + 2.0 * scale * scale * s * s)
        for m in range(len(v)):
            t = math.sqrt(2.0) * (scale * v[m] + shift) / spread
            density, law = _normal(t)
            slope = 2.0 * math.sqrt(2.0) * size * density * scale / spread
            value[m] += size * (2.0 * law - 1.0)
            by_v[m] += slope
            by_s[m] -= slope * math.sqrt(2.0) * t * scale * s / spread
    for k in range(len(waves)):
        size, scale, shift = waves[k]
        damped = size * math.exp(-0.5 * scale * scale * s * s)
        for m in range(len(v)):
            sine, cosine = _wave(scale * v[m] + shift)
            value[m] += damped * sine
            by_v[m] += damped * scale * cosine
            by_s[m] -= damped * scale * scale * s * sine


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _velocity(state, out, z, weights, labels, shares, rates, line, kinks, curves, waves, work):
    """Time derivative of the state (a, b, u, s) [MF-1]."""
    N, (r, M) = len(shares), z.shape
    train_a, train_b, decay_w, decay_a, heat, is_correlation, is_spherical = rates
    a, b, u, s = state[:N], state[N : 2 * N], state[2 * N : (2 + r) * N], state[(2 + r) * N :]
    error, v = np.zeros(M), np.empty(M)
    for m in range(M):
        error[m] = labels[m]
    for j in range(N):
        for m in range(M):
            v[m] = b[j]
        for k in range(r):
            for m in range(M):
                v[m] += u[j * r + k] * z[k, m]
        value, by_v, by_s = work[0, j], work[1, j], work[2, j]
        _features(v, abs(s[j]), line, kinks, curves, waves, value, by_v, by_s)
        size = shares[j] * a[j]
        if is_correlation == 0.0 and size != 0.0:
            for m in range(M):
                error[m] -= size * value[m]
    for m in range(M):
        error[m] *= weights[m]
    for j in range(N):
        value, by_v, by_s = work[0, j], work[1, j], work[2, j]
        da = db = ds = along = 0.0
        for m in range(M):
            da += error[m] * value[m]
            ds += error[m] * by_s[m]
            by_v[m] *= error[m]
            db += by_v[m]
        ds = a[j] * ds - decay_w * s[j]
        if heat != 0.0:
            ds += heat / s[j]
        for k in range(r):
            du = 0.0
            for m in range(M):
                du += by_v[m] * z[k, m]
            du = a[j] * du - decay_w * u[j * r + k]
            out[2 * N + j * r + k] = du
            along += du * u[j * r + k]
        along += ds * s[j]
        if is_spherical != 0.0:  # what would change the norm is taken back
            for k in range(r):
                out[2 * N + j * r + k] -= along * u[j * r + k]
            ds -= along * s[j]
        out[j] = train_a * da - decay_a * a[j]
        out[N + j] = train_b * a[j] * db
        out[(2 + r) * N + j] = ds


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def integrate(
    first, times, tolerance, limit, z, weights, labels, shares, rates, line, kinks, curves, waves
):
    """States (times, ...) by the rule of Dormand and Prince, how many are known, and the last time.

    A flow whose squares sum up to more than `limit`, or whose steps vanish, ends there.
    """
    size, N, M = len(first), len(shares), z.shape[1]
    found = np.empty((len(times), size))
    work, stages = np.empty((3, N, M)), np.empty((7, size))
    state, trial = first.copy(), np.empty(size)
    done, now, end = 0, 0.0, times[-1]
    while done < len(times) and times[done] <= 0.0:
        found[done] = first
        done += 1
    _velocity(state, stages[0], z, weights, labels, shares, rates, line, kinks, curves, waves, work)
    speed = math.sqrt((stages[0] ** 2).sum() / size)
    scale = math.sqrt((first**2).sum() / size)
    step = min(end, 0.01 * (scale + 1e-6) / (speed + 1e-12), 0.1)
    while done < len(times):
        step = min(step, end - now) if now + step < end else end - now
        for i in range(1, 7):
            trial[:] = state
            for k in range(i):
                if _A[i, k] != 0.0:
                    trial += step * _A[i, k] * stages[k]
            _velocity(
                trial, stages[i], z, weights, labels, shares, rates, line, kinks, curves, waves,
                work,
            )  # fmt: skip
        worst = 0.0
        for n in range(size):
            wrong = 0.0
            for k in range(7):
                wrong += _ERROR[k] * stages[k, n]
            allowed = tolerance * (0.01 + max(abs(state[n]), abs(trial[n])))
            worst += (step * wrong / allowed) ** 2
        worst = math.sqrt(worst / size)
        if not worst <= 1.0:
            factor = 0.2 if not math.isfinite(worst) else max(0.2, 0.9 * worst**-0.2)
            step *= factor
            if step < 1e-12 * max(now, 1e-3):
                break
            continue
        while done < len(times) and times[done] <= now + step * (1 + 1e-14):
            theta = (times[done] - now) / step
            found[done] = state
            for k in range(7):
                share = theta * (
                    _DENSE[k, 0]
                    + theta * (_DENSE[k, 1] + theta * (_DENSE[k, 2] + theta * _DENSE[k, 3]))
                )
                if share != 0.0:
                    found[done] += step * share * stages[k]
            done += 1
        now += step
        state[:] = trial
        stages[0] = stages[6]
        if not (state**2).sum() < limit:
            break
        step *= min(5.0, 0.9 * max(worst, 1e-10) ** -0.2)
    return found, done, now


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def risks(states, z, weights, labels, shares, line, kinks, curves, waves):
    """Mean square of the error of the network at each of some states."""
    N, (r, M) = len(shares), z.shape
    found, v, work = np.zeros(len(states)), np.empty(M), np.empty((3, M))
    for i in range(len(states)):
        error = labels.copy()
        for j in range(N):
            size = shares[j] * states[i, j]
            if size == 0.0:
                continue
            v[:] = states[i, N + j]
            for k in range(r):
                v += states[i, 2 * N + j * r + k] * z[k]
            s = abs(states[i, (2 + r) * N + j])
            _features(v, s, line, kinks, curves, waves, work[0], work[1], work[2])
            error -= size * work[0]
        found[i] = (weights * error * error).sum()
    return found

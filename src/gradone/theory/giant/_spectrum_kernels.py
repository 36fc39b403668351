"""Compiled part of the feature spectrum: the transform of the bulk just above the real axis."""

from __future__ import annotations

import numpy as np

from ...base.machine_code import njit

_NEWTON = 20
_PRECISION = 1e-13
# Relative imaginary part below which a transform has left the physical sheet, beyond rounding.
_BELOW = -1e-7


@njit(cache=True, nogil=True, error_model="numpy")
def newton(
    z: complex,
    tau: complex,
    V1: complex,
    weights: np.ndarray,
    slope2: np.ndarray,
    rest: np.ndarray,
    scale: float,
    beta: float,
    rho: float,
) -> tuple[complex, complex, float]:
    """Solution tau and V1 of [FS-1] next to a start, and the last relative change."""
    change = np.inf
    for _ in range(_NEWTON):
        C1 = C2 = C11 = C12 = C22 = 0j
        for k in range(len(weights)):
            D = 1 / (1 + V1 * slope2[k] + rho * tau * rest[k])
            wD = weights[k] * D
            C1 += wD * slope2[k]
            C2 += wD * rest[k]
            wDD = wD * D
            C11 -= wDD * slope2[k] * slope2[k]
            C12 -= wDD * slope2[k] * rest[k]
            C22 -= wDD * rest[k] * rest[k]
        a = scale * beta * C1 * (C2 - z)
        b = C2 - z + scale * C1 * (1 - beta)
        e1 = (a * tau + b) * tau - 1
        e2 = V1 * (1 + scale * beta * C1 * tau) - rho * scale * tau
        # Derivatives in tau and in V1, through C1 and C2 as well.
        by_C1 = scale * (beta * (C2 - z) * tau + 1 - beta) * tau
        by_C2 = (scale * beta * C1 * tau + 1) * tau
        J11 = 2 * a * tau + b + rho * (by_C1 * C12 + by_C2 * C22)
        J12 = by_C1 * C11 + by_C2 * C12
        J21 = V1 * scale * beta * (C1 + rho * C12 * tau) - rho * scale
        J22 = 1 + scale * beta * tau * (C1 + V1 * C11)
        det = J11 * J22 - J12 * J21
        d_tau = (e1 * J22 - e2 * J12) / det
        tau -= d_tau
        V1 -= (e2 * J11 - e1 * J21) / det
        change = abs(d_tau) / abs(tau)
        if not change > _PRECISION:
            break
    return tau, V1, change


@njit(cache=True, nogil=True, error_model="numpy")
def transform(
    x: np.ndarray,
    unit: float,
    height: float,
    weights: np.ndarray,
    slope2: np.ndarray,
    rest: np.ndarray,
    scale: float,
    beta: float,
    rho: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solution tau, V1 at each ``x + i height``, and the last relative change.

    Continued downwards from far above the axis, where tau = -1/z, in steps that become smaller
    where Newton's method fails or leaves the upper half plane.
    """
    taus, V1s = np.empty(len(x), dtype=np.complex128), np.empty(len(x), dtype=np.complex128)
    changes = np.empty(len(x))
    for i in range(len(x)):
        at = 10 * (unit + abs(x[i]))
        tau = -1 / (x[i] + 1j * at)
        V1 = rho * scale * tau
        factor, change = 1.0, np.inf
        while True:
            below = max(at * factor, height)
            z = x[i] + 1j * below
            new, new_V1, moved = newton(z, tau, V1, weights, slope2, rest, scale, beta, rho)
            # Both are traces of resolvents of positive matrices: they stay in the upper half plane.
            is_physical = new.imag > _BELOW * abs(new) and new_V1.imag > _BELOW * abs(new_V1)
            if moved < 1e-6 and is_physical:
                tau, V1, change, at = new, new_V1, moved, below
                if at <= height:
                    break
                factor = 0.2 if factor == 1.0 else max(factor**1.5, 0.02)
            else:
                factor = np.sqrt(factor)
                if factor > 0.99:
                    change = np.inf
                    break
        taus[i], V1s[i], changes[i] = tau, V1, change
    return taus, V1s, changes

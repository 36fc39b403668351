"""Compiled part of the ridge readout after one step: the resolvent of the feature covariance."""

from __future__ import annotations

import numpy as np

from ...base.machine_code import njit


@njit("void(f8[:,::1])", cache=True, nogil=True, error_model="numpy")
def _invert(A: np.ndarray) -> None:
    """Inverse of I + C S in place; C and S are positive, so no pivot is small.

    LAPACK would take two seconds to compile.
    """
    J = len(A)
    for k in range(J):
        pivot = A[k, k]
        A[k, k] = 1.0
        for j in range(J):
            A[k, j] /= pivot
        for i in range(J):
            if i != k:
                factor = A[i, k]
                A[i, k] = 0.0
                for j in range(J):
                    A[i, j] -= factor * A[k, j]


@njit(
    "Tuple((f8[::1], f8[:,::1], f8[:,::1], f8, f8, i8))"
    "(f8[:], f8[:,:], f8[:,:], f8[:], f8[:], f8, f8, f8, f8, i8)",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def resolvent(
    weights: np.ndarray,
    slope: np.ndarray,
    rest: np.ndarray,
    scales: np.ndarray,
    shares: np.ndarray,
    samples: float,
    width_ratio: float,
    ridge: float,
    tolerance: float,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float, int]:
    """Solution tau (J,), V (J, J), C (J, J) of [OS-4]; last change, its rate, and iterations.

    `slope` and `rest` are mu_1 and mu_2^2 on the nodes, (J, K); `samples` is
    readout_ratio / width_ratio.
    """
    J, K = slope.shape
    tau, V1 = np.empty(J), np.zeros((J, J))
    C, A, dispersion = np.empty((J, J)), np.empty((J, J)), np.empty(J)
    for j in range(J):
        tau[j] = 1.0 / ridge
        V1[j, j] = scales[j] * shares[j] / ridge
    change, rate, count = np.inf, 0.0, 0
    while count < max_iter and change > tolerance:
        count += 1
        for j in range(J):
            dispersion[j] = 0.0
            for i in range(J):
                C[j, i] = 0.0
        for k in range(K):
            total = 1.0
            for j in range(J):
                total += rest[j, k] * shares[j] * tau[j]
                for i in range(J):
                    total += slope[j, k] * slope[i, k] * V1[j, i]
            weight = samples * weights[k] / total
            for j in range(J):
                dispersion[j] += weight * rest[j, k]
                for i in range(J):
                    C[j, i] += weight * slope[j, k] * slope[i, k]
        new_change = 0.0
        for turn in range(2):  # with the old tau for the new one, then with the new one for V
            for j in range(J):
                for i in range(J):
                    A[j, i] = C[j, i] * scales[i] * width_ratio * shares[i] * tau[i]
                A[j, j] += 1.0
            _invert(A)
            for j in range(J):
                if turn:
                    for i in range(J):
                        V1[j, i] = A[j, i] * scales[j] * shares[j] * tau[j]
                else:
                    total = ridge + dispersion[j]
                    for i in range(J):
                        total += scales[j] * A[j, i] * C[i, j]
                    new_change = max(new_change, abs(1.0 / (total * tau[j]) - 1.0))
                    tau[j] = 1.0 / total
        if change < np.inf and change > 0:
            rate = new_change / change
        change = new_change
    return tau, V1, C, change, rate, count

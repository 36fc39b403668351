"""Compiled part of the ridge readout after one step: the resolvent of the feature covariance."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
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
    tau = 1.0 / ridge * np.ones(J)
    V1 = np.diag(scales * shares / ridge)
    C, dispersion = np.empty((J, J)), np.empty(J)
    eye = np.eye(J)
    change, rate, count = np.inf, 0.0, 0
    while count < max_iter and change > tolerance:
        count += 1
        C[:] = 0.0
        dispersion[:] = 0.0
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
        S = scales * width_ratio * shares * tau
        P = np.linalg.inv(eye + C * S)
        N = P @ C
        new_change = 0.0
        for j in range(J):
            new = 1.0 / (ridge + dispersion[j] + scales[j] * N[j, j])
            new_change = max(new_change, abs(new / tau[j] - 1.0))
            tau[j] = new
        S = scales * width_ratio * shares * tau
        V1 = (np.linalg.inv(eye + C * S) * S.reshape(J, 1)) / width_ratio
        if change < np.inf and change > 0:
            rate = new_change / change
        change = new_change
    return tau, V1, C, change, rate, count

"""Fourier transforms of the logarithms of Gaussian variables, multiplied."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def product_spectra(
    a: np.ndarray,
    powers: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    steps: np.ndarray,
    shift: np.ndarray,
    frequency: np.ndarray,
    counts: np.ndarray,
    depth: float,
    orders: np.ndarray,
    out: np.ndarray,
) -> None:
    r"""Transforms of the law of :math:`\prod_i u_i^{p_i}`, :math:`u_i \sim N(a_i, 1)`, by [CP-1].

    Parameters
    ----------
    a, low, high, steps : array (m, k)
        Means, and on the axis :math:`\log|u_i|` the ends and the distance of the nodes.
    powers : array (k,)
        The exponents :math:`p_i`.
    shift : array (m,)
        Place on the axis of the logarithm of the product from where phases are counted.
    frequency : array (m,)
        Distance of the frequencies.
    counts : array (m,)
        How many frequencies the nodes resolve; the transform is zero beyond.
    depth : float
        Minus the logarithm of densities that are left out.
    orders : array (channels, k)
        Powers of :math:`u_i - a_i` that weigh the law.
    out : complex array (m, channels, 2, frequencies)
        Sum of both signs of the product, and difference.
    """
    m, k = a.shape
    most = out.shape[3]
    top = orders.max()
    both = np.empty((k, top + 1, 2, most), dtype=np.complex128)
    one = np.empty((top + 1, most), dtype=np.complex128)
    for sample in range(m):
        count = min(counts[sample], most)
        both[:] = 0.0
        for i in range(k):
            for sign in (1.0, -1.0):
                one[:] = 0.0
                center = sign * a[sample, i]
                step = steps[sample, i]
                nodes = int((high[sample, i] - low[sample, i]) / step) + 1
                for node in range(nodes):
                    place = high[sample, i] - node * step
                    offset = math.exp(place) - center
                    exponent = place - 0.5 * offset * offset
                    if exponent < -depth:
                        continue
                    weight = step * math.exp(exponent) / math.sqrt(2 * math.pi)
                    angle = frequency[sample] * (powers[i] * place - shift[sample] / k)
                    turn = complex(math.cos(angle), -math.sin(angle))
                    phase = complex(weight, 0.0)
                    x = sign * offset
                    for j in range(count):
                        value = phase
                        for order in range(top + 1):
                            one[order, j] += value
                            value = value * x
                        phase = phase * turn
                parity = sign if powers[i] % 2 else 1.0
                both[i, :, 0] += one
                both[i, :, 1] += parity * one
        for channel in range(len(orders)):
            for q in range(2):
                out[sample, channel, q, count:] = 0.0
                for j in range(count):
                    value = complex(1.0, 0.0)
                    for i in range(k):
                        value = value * both[i, orders[channel, i], q, j]
                    out[sample, channel, q, j] = value

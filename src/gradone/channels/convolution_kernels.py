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
    nodes = np.empty((5, int(((high - low) / steps).max()) + 1))
    for sample in range(m):
        count = min(counts[sample], most)
        both[:] = 0.0
        for i in range(k):
            for sign in (1.0, -1.0):
                center = sign * a[sample, i]
                step = steps[sample, i]
                used = 0
                for node in range(int((high[sample, i] - low[sample, i]) / step) + 1):
                    place = high[sample, i] - node * step
                    offset = math.exp(place) - center
                    exponent = place - 0.5 * offset * offset
                    if exponent > -depth:
                        angle = frequency[sample] * (powers[i] * place - shift[sample] / k)
                        nodes[0, used] = step * math.exp(exponent) / math.sqrt(2 * math.pi)
                        nodes[1, used] = 0.0
                        nodes[2, used] = math.cos(angle)
                        nodes[3, used] = -math.sin(angle)
                        nodes[4, used] = sign * offset
                        used += 1
                _transform(nodes, used, count, one)
                parity = sign if powers[i] % 2 else 1.0
                both[i, :, 0, :count] += one[:, :count]
                both[i, :, 1, :count] += parity * one[:, :count]
        for channel in range(len(orders)):
            for q in range(2):
                out[sample, channel, q, count:] = 0.0
                for j in range(count):
                    value = complex(1.0, 0.0)
                    for i in range(k):
                        value = value * both[i, orders[channel, i], q, j]
                    out[sample, channel, q, j] = value


# Sums in any order, so that several nodes are done at once.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _transform(nodes: np.ndarray, used: int, count: int, out: np.ndarray) -> None:
    """Sums over nodes of weight, weight times x, ..., turned further at each frequency.

    The rows of `nodes` are weight (real and imaginary part), turn (the same) and x.
    """
    real, imaginary, cosine, sine, x = nodes[0], nodes[1], nodes[2], nodes[3], nodes[4]
    for j in range(count):
        a0 = b0 = a1 = b1 = 0.0
        for n in range(used):
            a, b = real[n], imaginary[n]
            a0 += a
            b0 += b
            a1 += a * x[n]
            b1 += b * x[n]
        out[0, j], out[1, j] = complex(a0, b0), complex(a1, b1)
        if len(out) > 2:
            a2 = b2 = 0.0
            for n in range(used):
                a2 += real[n] * x[n] * x[n]
                b2 += imaginary[n] * x[n] * x[n]
            out[2, j] = complex(a2, b2)
        for n in range(used):
            a, b = real[n], imaginary[n]
            real[n] = a * cosine[n] - b * sine[n]
            imaginary[n] = a * sine[n] + b * cosine[n]

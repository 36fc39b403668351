r"""Spectra that fall like a power: the source and capacity conditions."""

from __future__ import annotations

import math

import numpy as np

from ...base.errors import BadData
from .._inputs import positive

_EXACT = 2000
"""Levels that are summed one by one before the tail."""
_LAST = 1e30
"""Where the tail is cut; what is left acts as one level of the same mass."""
_NODES = 8
"""Nodes of each panel of width one in log k."""


def power_exponents(capacity: float, source: float) -> tuple[float, float]:
    """Exponents a and r, checked.

    Examples
    --------
    >>> power_exponents(0.5, 1.0)
    Traceback (most recent call last):
    gradone.base.errors.BadData: capacity must be > 1, got 0.5: ...
    """
    a, r = positive("capacity", capacity), positive("source", source)
    if a <= 1:
        raise BadData(f"capacity must be > 1, got {a:g}: otherwise the kernel has no finite trace")
    return a, r


def power_law(*, capacity: float, source: float, terms: float = math.inf) -> dict[str, np.ndarray]:
    r"""Levels of a power-law kernel and target, to pass to :func:`random_feature_ridge`.

    .. math:: \eta_k = k^{-a}, \qquad b_k = k^{-a r - 1/2}, \qquad k = 1, \dots, K        [PL-1]

    Parameters
    ----------
    capacity : float
        Exponent a > 1 of the eigenvalues: the larger, the fewer features count.
    source : float
        Exponent r > 0 of the target: the larger, the easier it is.
    terms : int or inf
        Number K of levels.

    Returns
    -------
    dict of ndarray
        ``eigenvalues``, ``coefficients``, ``multiplicities``.

    Notes
    -----
    An infinite series is summed level by level to k = 2000. Beyond, levels are nodes of a
    Gauss rule in log k with multiplicities k dk/k; the tail above 1e30 is one more level of the
    right mass. Errors of predictions that come from this are below 1e-8 of the value.

    References
    ----------
    Defilippis, Loureiro and Misiakiewicz 2024, arXiv:2405.15699.

    Examples
    --------
    >>> levels = power_law(capacity=2.0, source=0.5)
    >>> round(float(levels["multiplicities"] @ levels["eigenvalues"]) - np.pi**2 / 6, 9)
    0.0
    """
    a, r = power_exponents(capacity, source)
    finite = not math.isinf(positive("terms", terms, infinite=True))
    if finite and terms != int(terms):
        raise BadData(f"terms must be an integer or inf, got {terms!r}")
    k = np.arange(1.0, (terms if finite else _EXACT) + 1)
    members = np.ones_like(k)
    if not finite:
        # Sum over k > K to an integral from K + 1/2: the midpoint rule, exact to 1/(24 K^2).
        start, stop = math.log(_EXACT + 0.5), math.log(_LAST)
        edges = np.linspace(start, stop, math.ceil(stop - start) + 1)
        nodes, gauss = np.polynomial.legendre.leggauss(_NODES)
        half = np.diff(edges)[:, None] / 2
        log_k = ((edges[:-1, None] + half) + half * nodes).ravel()
        k = np.concatenate([k, np.exp(log_k)])
        members = np.concatenate([members, np.exp(log_k) * (half * gauss).ravel()])
    eigenvalues, coefficients = k**-a, k ** (-a * r - 0.5)  # [PL-1]
    if not finite:
        count = _LAST / (a - 1)  # members of eigenvalue LAST^-a that hold the trace of the rest
        eigenvalues = np.append(eigenvalues, _LAST**-a)
        coefficients = np.append(
            coefficients, math.sqrt(_LAST ** (-2 * a * r) / (2 * a * r) / count)
        )
        members = np.append(members, count)
    return {"eigenvalues": eigenvalues, "coefficients": coefficients, "multiplicities": members}

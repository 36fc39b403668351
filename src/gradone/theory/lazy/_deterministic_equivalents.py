r"""Ridge regression on random features of any spectrum: deterministic equivalents.

The feature map is :math:`h(x, w) = \sum_k \sqrt{\eta_k}\,\psi_k(x)\varphi_k(w)` with orthonormal
:math:`\psi_k`, :math:`\varphi_k`; the target is :math:`\sum_k b_k\psi_k`. With
:math:`T_j(\nu) = \mathrm{Tr}\,S^j(S+\nu)^{-j}`, S = diag(:math:`\eta`),

.. math:: \nu_2\Big(1-\frac{T_1}{n}\Big)\Big(1-\frac{T_1}{p}\Big) = \frac{\lambda}{n}, \qquad
          \nu_1 = \nu_2\Big(1-\frac{T_1}{p}\Big)                                        [DF-1]

.. math:: \Upsilon = \frac pn\Big[\frac{T_1^2}{p^2}
          + \Big(1-\frac{T_1}{p}\Big)^2\frac{T_2}{p-T_2}\Big], \qquad
          \chi = \frac{\mathrm{Tr}\,S(S+\nu_2)^{-2}}{p-T_2}                             [DF-2]

.. math:: \mathrm{bias} = \frac{\nu_2^2}{1-\Upsilon}
          \big\langle b, (1+\chi S)(S+\nu_2)^{-2}\,b\big\rangle, \qquad
          \mathrm{variance} = \frac{\Upsilon}{1-\Upsilon}\,\sigma^2                     [DF-3]

.. math:: E_\mathrm{train} = \Big(\frac{\lambda}{n\nu_1}\Big)^2
          (\mathrm{bias} + \mathrm{variance} + \sigma^2)                                [DF-4]

The limit of infinite width is kernel ridge regression, and with :math:`\nu_2 = \kappa` also ridge
regression on Gaussian features. A level with :math:`\eta_k = 0` is never learned; [DF-3] counts it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Relative accuracy asked of the root; errors are those of moving it by as much.
_TOLERANCE = 1e-13


@dataclass(frozen=True)
class Spectrum:
    """Levels of a kernel and of a target.

    Parameters
    ----------
    eigenvalues : ndarray (k,)
        Eigenvalue of each level, nonnegative.
    weights : ndarray (k,)
        Square of the target's coefficient, of each member of a level.
    multiplicities : ndarray (k,)
        Members of each level, positive; they need not be whole.
    """

    eigenvalues: np.ndarray
    weights: np.ndarray
    multiplicities: np.ndarray

    @property
    def rank(self) -> float:
        """Number of nonzero eigenvalues."""
        return float(self.multiplicities[self.eigenvalues > 0].sum())

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues."""
        return float(self.multiplicities @ self.eigenvalues)


@dataclass(frozen=True)
class Equivalents:
    """What [DF-1] to [DF-4] say at one point."""

    nu1: float
    nu2: float
    upsilon: float
    chi: float
    bias: float
    variance: float
    excess_mse: float
    test_mse: float
    train_mse: float


def equivalents(
    spectrum: Spectrum, *, n: float, width: float, ridge: float, noise: float
) -> tuple[Equivalents, Equivalents]:
    """Errors at one point, and their errors from the accuracy of the root.

    Examples
    --------
    Least squares with 10 features and 30 samples: the variance is 10/(30 - 10).

    >>> white = Spectrum(np.ones(1), np.zeros(1), np.array([10.0]))
    >>> found, error = equivalents(white, n=30, width=math.inf, ridge=0.0, noise=1.0)
    >>> round(found.variance, 12)
    0.5
    """
    nu2 = effective_ridge(spectrum, n=n, width=width, ridge=ridge)
    found = _at(spectrum, nu2, n=n, width=width, ridge=ridge, noise=noise)
    moved = _at(spectrum, nu2 * (1 + 2 * _TOLERANCE), n=n, width=width, ridge=ridge, noise=noise)
    return found, Equivalents(
        *(
            abs(b - a) + 1e-14 * abs(a) if math.isfinite(a) else 0.0
            for a, b in zip(vars(found).values(), vars(moved).values(), strict=True)
        )
    )


def with_errors(value: Equivalents, error: Equivalents) -> dict[str, tuple[float, float]]:
    """Each quantity with its error, by name."""
    return {name: (number, getattr(error, name)) for name, number in vars(value).items()}


def effective_ridge(spectrum: Spectrum, *, n: float, width: float, ridge: float) -> float:
    """Root nu2 of [DF-1]; zero where the ridgeless problem has a unique solution.

    Examples
    --------
    >>> one = Spectrum(np.ones(1), np.ones(1), np.ones(1))
    >>> round(effective_ridge(one, n=1, width=math.inf, ridge=1.0), 9)  # nu^2 = 1 + nu
    1.618033989
    """
    from scipy.optimize import brentq

    eigenvalues, multiplicities = spectrum.eigenvalues, spectrum.multiplicities
    small, large = min(n, width), max(n, width)

    def excess(log_nu: float) -> float:
        nu = math.exp(log_nu)
        trace = float(multiplicities @ (eigenvalues / (eigenvalues + nu)))
        # Beyond T1 = min(n, p) the product is continued by its vanishing factor, which keeps the
        # sign: the product of two negative factors would be a second root.
        slack = 1 - trace / small
        if slack > 0 and ridge > 0:
            slack *= 1 - trace / large
        return slack - ridge / (n * nu)

    if ridge == 0 and spectrum.rank <= small:
        return 0.0
    high = math.log(ridge / n + spectrum.trace * (1 / n + 1 / width))
    if ridge > 0:
        low = math.log(ridge / n)
    else:
        low = high - 1.0
        while excess(low) > 0:
            low -= 2.0
    if excess(low) >= 0 or high <= low:  # the ridge is so large that nothing is learned
        return math.exp(low)
    root = brentq(excess, low, high + 1e-9, xtol=_TOLERANCE, rtol=_TOLERANCE, maxiter=1000)
    return math.exp(root)


def _at(
    spectrum: Spectrum, nu2: float, *, n: float, width: float, ridge: float, noise: float
) -> Equivalents:
    """Equivalents at a given nu2."""
    eigenvalues, members = spectrum.eigenvalues, spectrum.multiplicities
    learned = eigenvalues / (eigenvalues + nu2) if nu2 > 0 else (eigenvalues > 0).astype(float)
    missed = nu2 / (eigenvalues + nu2) if nu2 > 0 else 1 - learned
    trace1, trace2 = float(members @ learned), float(members @ learned**2)
    if ridge == 0:  # exact there, so that the divergence at n = p is one
        trace1 = min(spectrum.rank, n, width)
    mixed = float(members @ (learned * missed))  # T1 - T2 without cancellation
    if math.isinf(width):
        share, upsilon, spread = 1.0, trace2 / n, 0.0
    else:
        # Each form loses digits where the other does not: T1 is close to the smaller of n and p.
        share = (
            ridge / ((n - trace1) * nu2)
            if ridge > 0 and width <= n
            else max(1 - trace1 / width, 0.0)
        )  # nu1/nu2 [DF-1]
        room = width - trace2
        # No room: as many features as the target space has, all of them used; share is 0 there.
        upsilon = width / n * ((1 - share) ** 2 + (share**2 * trace2 / room if room > 0 else 0.0))
        spread = mixed / room if room > 0 else 0.0  # chi nu2 [DF-2]
    nu1 = share * nu2
    # Levels at eigenvalue zero are missed whole: they count as noise that no sample averages out.
    weights = members * spectrum.weights
    missing = float(weights @ missed**2) + spread * float(weights @ (learned * missed))
    if upsilon < 1:
        bias, variance = missing / (1 - upsilon), noise * upsilon / (1 - upsilon)  # [DF-3]
    else:
        bias = math.inf if missing > 0 else 0.0
        variance = math.inf if noise > 0 else 0.0
    shrink = ridge / (n * nu1) if ridge > 0 and nu1 > 0 else max(1 - trace1 / n, 0.0)
    test = bias + variance + noise
    return Equivalents(
        nu1=nu1,
        nu2=nu2,
        upsilon=upsilon,
        chi=spread / nu2 if nu2 > 0 else math.nan,  # it has a limit, but no part in any error
        bias=bias,
        variance=variance,
        excess_mse=bias + variance,
        test_mse=test,
        train_mse=shrink**2 * test if shrink > 0 else 0.0,  # [DF-4]
    )

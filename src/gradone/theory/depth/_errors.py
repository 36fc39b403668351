r"""Errors of two and three layers, and of a quadratic kernel, at finite d and n.

A first layer that holds a squared length :math:`q_i^2` of each direction sees
:math:`\hat z \sim \mathcal{N}(0, I)` with :math:`z_i = q_i\hat z_i + \sqrt{1-q_i^2}\,\zeta_i`.
With :math:`p_k` the best polynomial of degree k of :math:`\hat z`, :math:`N_k` the number of its
monomials, m the samples of the second stage and :math:`\Delta` the label noise,

.. math::
    \text{two layers:}\quad \min_{k \le 3}\; R_k + \frac{N_k}{m}(R_k + \Delta), \quad
    R_k = \mathbb{E}(g - p_k(\hat z))^2; \qquad
    \text{three:}\quad \mathbb{E}\,\mathrm{Var}\big(g \mid p_k(\hat z) + \omega\big), \quad
    \omega \sim \mathcal{N}\Big(0, \frac{N_k}{m}(R_k + \Delta)\Big).                     [DT-6]

Three layers learn a function of what two layers fit, estimation error :math:`\omega` included. No
feature is assumed to be Gaussian. Kernel ridge regression with
:math:`K = (x\cdot x')^2 + x\cdot x' + 1` has d eigenvalues 1 and d (d + 1)/2 eigenvalues 2 in the
deterministic equivalents [DF-1] to [DF-3], on which the target has its energies of degree 1 and 2.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from ...base.errors import TooLarge
from ...base.seeds import stream
from ...targets.hierarchical import HierarchicalTarget
from ...targets.realization import LayeredRealization
from ..lazy._deterministic_equivalents import Spectrum, equivalents
from ._labels import at_dimension, direction_groups

DEGREE = 3
_DRAWS = 2**17
_PARTS, _STUDENT = 4, 5.841
_MOST_FEATURES = 400
_BINS = 128
_HOLDOUT = 0.2  # share of the samples that chooses penalties and fits the last layer


class Errors(NamedTuple):
    """Excess errors with half-widths of 99 % intervals, (2,) each: value, error."""

    two_layer: tuple[float, float]
    three_layer: tuple[float, float]


class Residuals(NamedTuple):
    """Residuals (parts, degrees) of the best polynomials, and those of functions of them."""

    polynomial: np.ndarray
    link: np.ndarray


def errors_from_overlaps(target: HierarchicalTarget, d: int, n: int, cosine2: np.ndarray) -> Errors:
    """Errors of two and three layers from the squared overlap of each direction [DT-6].

    Parameters
    ----------
    target : Sight, Might or Tree
        The target.
    d, n : int
        Input dimension, samples in all.
    cosine2 : ndarray (K,)
        Squared length of every direction inside the space that the first layer sees.
    """
    K, m = len(cosine2), (1 - _HOLDOUT) * n
    costs = np.array([math.comb(K + k, k) / m for k in range(DEGREE + 1)])
    costs[0] = 0.0  # the mean counts as known, for every learner
    found = polynomial_residuals(target, d, cosine2, costs)
    two = found.polynomial + costs * (found.polynomial + target.noise)
    best = int(np.argmin(two.mean(axis=0)))
    # A link that does not help is the identity.
    three = np.minimum(found.link[:, best], two[:, best])
    return Errors(_mean(two[:, best]), _mean(three))


def quadratic_kernel_error(
    levels: np.ndarray, d: int, n: float, *, noise: float = 0.0, penalty: float | None = None
) -> tuple[float, float]:
    """Excess error of ridge regression with the quadratic kernel, and its error.

    Parameters
    ----------
    levels : ndarray (parts, 3)
        Energies of the target from :func:`label_levels`.
    d : int
        Input dimension.
    n : float
        Samples.
    noise : float
        Variance of the label noise.
    penalty : float, optional
        Ridge divided by n; the best one if it is not given.
    """
    members = np.array([d, d * (d + 1) / 2])

    def excess(energies: np.ndarray, log_penalty: float) -> float:
        # What the kernel does not contain is noise to it.
        spectrum = Spectrum(np.array([1.0, 2.0]), energies[:2] / members, members)
        found, _ = equivalents(
            spectrum,
            n=n,
            width=math.inf,
            ridge=n * math.exp(log_penalty),
            noise=energies[2] + noise,
        )
        return float(found.excess_mse + energies[2])

    if penalty is None:
        from scipy.optimize import minimize_scalar

        mean = levels.mean(axis=0)
        found = minimize_scalar(lambda x: excess(mean, x), bounds=(-8.0, 8.0), method="bounded")
        best = float(found.x)
    else:
        best = math.log(penalty)
    return _mean(np.array([excess(part, best) for part in levels]))


def label_levels(target: HierarchicalTarget, d: int) -> np.ndarray:
    """Energies of the label of degree 1, of degree 2 and above, in each part of the draws."""
    K = at_dimension(target, d).W_star.shape[0]
    found = polynomial_residuals(target, d, np.ones(K), np.zeros(DEGREE + 1)).polynomial
    return np.stack(
        [found[:, 0] - found[:, 1], found[:, 1] - found[:, 2], found[:, 2]], axis=1
    ).clip(0.0)


def polynomial_residuals(
    target: HierarchicalTarget, d: int, cosine2: np.ndarray, costs: np.ndarray
) -> Residuals:
    """Residuals of the label after its best polynomials of degree 0 ... 3 of noisy directions.

    The best polynomial has the symmetries of the target, so only symmetric polynomials of each
    group of exchangeable directions are fitted, not all monomials.

    Parameters
    ----------
    target : Sight, Might or Tree
        The target.
    d : int
        Input dimension.
    cosine2 : ndarray (K,)
        Squared length of every direction in the space that is seen.
    costs : ndarray (4,)
        Variance of the estimate of each polynomial, relative to what it leaves over.
    """
    realization = at_dimension(target, d)
    groups = direction_groups(realization, by_block=True)
    is_even = _is_even(realization)
    rng = stream(0, "data", d=d, part="errors of the theory")
    K, rows = len(cosine2), _DRAWS // _PARTS
    polynomial, link = np.empty((2, _PARTS, DEGREE + 1))
    cosine, sine = np.sqrt(cosine2), np.sqrt(np.maximum(1 - cosine2, 0.0))
    for part in range(_PARTS):
        seen = rng.standard_normal((rows, K))
        y = realization.label_of(cosine * seen + sine * rng.standard_normal((rows, K)))[0]
        noise = rng.standard_normal(rows)
        features, degrees = _symmetric_features(seen, groups, is_even)
        gram, moment = features.T @ features, features.T @ y
        for k in range(DEGREE + 1):
            some = np.flatnonzero(degrees <= k)
            weights = np.linalg.solve(gram[np.ix_(some, some)], moment[some])
            fitted = features[:, some] @ weights
            residual = float(np.mean((y - fitted) ** 2)) * rows / (rows - len(some))
            polynomial[part, k] = residual
            spread = math.sqrt(costs[k] * (residual + target.noise))
            link[part, k] = _link_residual(y, fitted + spread * noise)
    return Residuals(polynomial, link)


def _is_even(realization: LayeredRealization) -> bool:
    """Whether the label does not depend on the signs of its directions."""
    z = np.linspace(0.1, 3.0, 32)[:, None] * np.cos(np.arange(realization.W_star.shape[0]))
    return bool(np.allclose(realization.label_of(z)[0], realization.label_of(np.abs(z))[0]))


def _symmetric_features(
    z: np.ndarray, groups: list[np.ndarray], is_even: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric polynomials of each group up to degree 3 and their products, with their degrees."""
    sums: list[tuple[int, np.ndarray]] = []
    for group in groups:
        part, root = z[:, group], math.sqrt(len(group))
        squares = part * part
        sums.append((2, (squares - 1).sum(axis=1) / (math.sqrt(2) * root)))
        if not is_even:
            sums.append((1, part.sum(axis=1) / root))
            sums.append((3, (part * (squares - 3)).sum(axis=1) / (math.sqrt(6) * root)))
    products = [
        choice
        for size in range(DEGREE + 1)
        for choice in itertools.combinations_with_replacement(range(len(sums)), size)
        if sum(sums[i][0] for i in choice) <= DEGREE
    ]
    if len(products) > _MOST_FEATURES:
        raise TooLarge(
            f"the errors at finite d need {len(products)} symmetric polynomials of the "
            f"{len(groups)} groups of equal directions, more than {_MOST_FEATURES}; use "
            "signs='ones', fewer branches, or leave d out for the limit of large d"
        )
    features = np.stack(
        [np.prod([sums[i][1] for i in choice], axis=0) * np.ones(len(z)) for choice in products],
        axis=1,
    )
    return features, np.array([sum(sums[i][0] for i in choice) for choice in products])


def _link_residual(y: np.ndarray, fitted: np.ndarray) -> float:
    """Residual of the best function of one variable: a line in each of many bins."""
    order = np.argsort(fitted, kind="stable")
    size = len(y) // _BINS
    used = order[: size * _BINS]
    u, v = fitted[used].reshape(_BINS, size), y[used].reshape(_BINS, size)
    u, v = u - u.mean(axis=1, keepdims=True), v - v.mean(axis=1, keepdims=True)
    spread = np.maximum((u * u).sum(axis=1), 1e-300)
    left = (v * v).sum(axis=1) - (u * v).sum(axis=1) ** 2 / spread
    return float(left.sum() / (_BINS * (size - 2)))


def _mean(parts: np.ndarray) -> tuple[float, float]:
    """Mean of the parts and half-width of a 99 % interval."""
    return float(parts.mean()), float(_STUDENT * parts.std(ddof=1) / math.sqrt(len(parts)))

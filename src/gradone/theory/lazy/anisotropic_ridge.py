"""Kernels and random features on Gaussian inputs with a covariance, level by level."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import BadData, OutOfRegime, TooLarge
from ...calculus.grid import gauss_hermite
from ...targets.activation import Activation
from ...targets.language.expression import Expression
from ...targets.on_inputs import OnInputs
from ...targets.sampled import whole_number
from ...targets.target import Target
from .._inputs import positive
from .random_feature_ridge import random_feature_ridge

if TYPE_CHECKING:
    import xarray as xr

_NODES = 80  # of each coordinate
_TAIL = 1e14  # members of the level that stands for all levels above
_USUAL, _MOST_LEVELS, _MOST_NUMBERS = 200_000, 400_000, 4e7
CAVEAT = (
    "Features of few large eigenvalues are far from Gaussian: errors of ten percent are usual, "
    "also with the exact eigenvalues of a Gaussian kernel."
)


def anisotropic_ridge(
    target: OnInputs,
    *,
    n: Any,
    ridge: Any,
    width: Any = math.inf,
    length: float | None = None,
    activation: str | None = None,
    degree: int | None = None,
    fit_intercept: bool = False,
) -> xr.Dataset:
    r"""Ridge regression with a kernel or random features on inputs with a covariance.

    In the principal coordinates, of variances :math:`\gamma_i`, the levels are multi-indices
    :math:`\beta`. A Gaussian kernel :math:`e^{-|x-x'|^2/2\ell^2}` has the exact eigenvalues
    (Mehler), with :math:`a = 1/4\gamma_i`, :math:`b = 1/2\ell^2`, :math:`c = \sqrt{a^2+2ab}`,

    .. math::
        \lambda_\beta = \prod_i \sqrt{\frac{2a}{a+b+c}}\Big(\frac{b}{a+b+c}\Big)^{\beta_i},
        \qquad \psi_k = (c/a)^{1/4} e^{-(c-a)x^2}
        \frac{\mathrm{He}_k(\sqrt{4c}\,x)}{\sqrt{k!}},                                   [AR-1]

    and random features of fields of unit variance have, for a wide kernel,
    :math:`\lambda_\beta = \mathbb{E}[\sigma\,\mathrm{He}_{|\beta|}]^2 \prod_i
    (\gamma_i/\mathrm{Tr}\,\gamma)^{\beta_i}` with Hermite polynomials [AR-2].

    Parameters
    ----------
    target : OnInputs
        ``Target(...).on(gd.inputs.gaussian(...), "axes")``, or eigenvectors, or coordinates of a
        diagonal covariance; or on rows of a table.
    n, ridge, width : numbers or arrays
        Samples; penalty of (K + ridge I); features, ``inf`` for the kernel.
    length : float, optional
        :math:`\ell` of the Gaussian kernel; random features of it are
        :math:`\sqrt2\sin(\langle w, x\rangle + \pi/4)`, :math:`w \sim N(0, I/\ell^2)`.
    activation : str, optional
        Of random features instead, with rows of :math:`N(0, I/\mathrm{Tr}\,\gamma)`.
    degree : int, optional
        Highest degree of a level; by default the highest with no more than 200 000 levels. What is
        left of the kernel's trace and of the target is one level of very many members, each of them
        small: for a kernel it acts as ridge and noise.
    fit_intercept : bool
        Whether a constant is fitted besides; then the mean of the target and that of the features
        do not count. For an activation.

    Notes
    -----
    The inputs are used as they are. ``gd.learners.RandomFeatures`` standardizes its columns unless
    it is told not to: of that, ``gd.predict(target, "random_features", inputs=...)`` speaks.

    Returns
    -------
    xarray.Dataset
        As :func:`random_feature_ridge`; ``attrs["caveat"]`` says what the errors do not cover.

    References
    ----------
    Defilippis, Loureiro and Misiakiewicz 2024, arXiv:2405.15699; Karkada et al. 2025,
    arXiv:2510.14878.

    Examples
    --------
    >>> import gradone as gd
    >>> law = gd.inputs.gaussian(power_law=1.2, d=40, trace=1.0)
    >>> gamma = law.covariance(40)
    >>> on = gd.Target(f"z1/{gamma[0] ** 0.5:.12f}", noise=0.1).on(law, [0])
    >>> found = anisotropic_ridge(on, n=[100, 400], ridge=1e-3, length=1.0)
    >>> bool(found.test_mse[0, 0, 0] > found.test_mse[1, 0, 0] > 0.1)
    True
    """
    if not isinstance(target, OnInputs) or not isinstance(target.target, Target):
        raise BadData("give a target on its inputs: gd.Target(...).on(gd.inputs.gaussian(...))")
    if target.target.q:
        raise OutOfRegime("the target has latent noise inside its formula")
    if (length is None) == (activation is None):
        raise BadData("give either the length of a Gaussian kernel or an activation")
    own, others = target.eigenvalues
    gamma = np.concatenate([own, others])
    if degree is None:
        degree = max(k for k in range(1, 9) if math.comb(len(gamma) + k, k) <= _USUAL or k == 1)
    betas = _levels(len(gamma), whole_number("degree", degree))
    if length is not None:
        values, coefficients = _mehler(target, gamma, betas, positive("length", length))
        trace = 1.0
    else:
        sigma = Activation(str(activation))
        values, coefficients, trace = _hermite(target, gamma, betas, sigma.expression)
    z, weights = _grid(target.r)
    y = _labels(target, z)
    if fit_intercept and activation is not None:
        y = y - float(weights @ y)
        trace -= float(values[0])  # the level of degree zero
        values, coefficients = values[1:], coefficients[1:]
    left = max(float(weights @ y**2) - float(coefficients @ coefficients), 0.0)
    rest = max(trace - float(values.sum()), 0.0)
    # The levels above are one of many members. It acts as ridge if the width is infinite only:
    # few features have fluctuations of their own there.
    found = random_feature_ridge(
        eigenvalues=np.append(values, rest / _TAIL),
        coefficients=np.append(coefficients, math.sqrt(left / _TAIL)),
        multiplicities=np.append(np.ones(len(values)), _TAIL),
        n=n,
        width=width,
        ridge=ridge,
        noise=target.noise,
    )
    return found.assign_attrs(source="theory:anisotropic_ridge", target=target.text, caveat=CAVEAT)


def _levels(d: int, degree: int) -> np.ndarray:
    """Multi-indices (levels, d) of at most a degree."""
    count = math.comb(d + degree, degree)
    if count > _MOST_LEVELS or count * d > _MOST_NUMBERS:
        raise TooLarge(
            f"there are {count} levels of degree at most {degree} in {d} coordinates; use a lower "
            "degree: what is left is taken as one level"
        )
    found = np.zeros((count, d), np.int8)
    row = 0
    for k in range(degree + 1):
        chosen = np.array(list(itertools.combinations_with_replacement(range(d), k)), np.int64)
        rows = np.arange(row, row + len(chosen))
        for column in range(k):
            np.add.at(found, (rows, chosen[:, column]), 1)
        row += len(chosen)
    return found


def _grid(r: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = gauss_hermite(_NODES if r <= 2 else 24)
    points = np.stack(np.meshgrid(*[nodes] * r, indexing="ij"), axis=-1).reshape(-1, r)
    product = weights
    for _ in range(r - 1):
        product = np.multiply.outer(product, weights)
    return points, product.ravel()


def _labels(target: OnInputs, z: np.ndarray) -> np.ndarray:
    """Values of the target at standard Gaussian points of its directions."""
    scale = 1.0 if target.inputs.is_standardized else np.sqrt(target.eigenvalues[0])
    return np.asarray(target.target.mean(z * scale), np.float64)


def _mehler(
    target: OnInputs, gamma: np.ndarray, betas: np.ndarray, length: float
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and coefficients of the target for a Gaussian kernel [AR-1]."""
    top = int(betas.max(initial=0)) + 1
    a, b = 1 / (4 * gamma), 1 / (2 * length**2)
    c = np.sqrt(a * a + 2 * a * b)
    ratio = b / (a + b + c)
    first = np.sqrt(2 * a / (a + b + c))
    values = np.prod(first) * np.exp(betas @ np.log(ratio))

    def functions(i: int, z: np.ndarray) -> np.ndarray:
        x = z * math.sqrt(gamma[i])
        bell = (c[i] / a[i]) ** 0.25 * np.exp(-(c[i] - a[i]) * x * x)
        return bell * _normalized(np.sqrt(4 * c[i]) * x, top)

    r = target.r
    nodes, weights = gauss_hermite(_NODES)
    coefficients = _target_tensor(target, functions, top)[tuple(betas[:, :r].T)]
    for i in range(r, len(gamma)):
        coefficients = coefficients * (functions(i, nodes) @ weights)[betas[:, i]]
    return values, coefficients


def _hermite(
    target: OnInputs, gamma: np.ndarray, betas: np.ndarray, sigma: Expression
) -> tuple[np.ndarray, np.ndarray, float]:
    """Eigenvalues, coefficients and trace for random features of unit variance [AR-2]."""
    top = int(betas.max(initial=0)) + 1
    expansion = sigma.hermite(int(betas.sum(axis=1).max(initial=0)))
    squares = np.array([e.value * math.factorial(k) for k, e in enumerate(expansion.energies)])
    total = betas.sum(axis=1)
    values = squares[total] * np.exp(betas @ np.log(gamma / gamma.sum()))
    r = target.r
    tensor = _target_tensor(target, lambda i, z: _normalized(z, top), top)
    coefficients = tensor[tuple(betas[:, :r].T)] * (betas[:, r:].sum(axis=1) == 0)
    return values, coefficients, float(sigma.second_moment().value)


def _normalized(x: np.ndarray, count: int) -> np.ndarray:
    """He_k(x)/sqrt(k!) for k = 0 ... count - 1, (count, m)."""
    rows = [np.ones_like(x), x]
    for k in range(1, count):
        rows.append((x * rows[k] - math.sqrt(k) * rows[k - 1]) / math.sqrt(k + 1))
    return np.stack(rows[:count])


def _target_tensor(target: OnInputs, functions: Any, top: int) -> np.ndarray:
    """Means of the target times a product of functions of its coordinates, (top, ..., top)."""
    r = target.r
    z, weights = _grid(r)
    count = round(len(z) ** (1 / r))
    nodes, single = gauss_hermite(count)
    found = _labels(target, z).reshape((count,) * r)
    for i in range(r):
        found = np.tensordot(found, functions(i, nodes) * single, axes=(0, 1))
    return found

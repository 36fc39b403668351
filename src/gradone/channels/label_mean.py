r"""Mean of one formula of the label over its region, without going through the law of the label.

.. math:: \mathbb{E}[f(x)\, 1_{region}] = \int f(x)\, P(region \mid x)\, N(x)\, dx

where f depends on x = S z only: a rule in x, and the Gaussian weight of the region given x.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..calculus.grid import gauss_hermite
from .level_set import Nodes
from .moment_sums import MomentSums
from .region import Region

_GRID = {2: 24, 3: 12, 4: 10}  # Gauss-Hermite nodes in each of k directions


def mean_in_region(
    value: Callable[[np.ndarray], np.ndarray], region: Region, omega: np.ndarray, V: np.ndarray
) -> np.ndarray | None:
    """Mean (m,) of value(x) times the indicator of a region, at prior means (r, m).

    None if there is no rule for it: a region that cuts a formula of two or more directions.

    Examples
    --------
    >>> whole = Region((), np.eye(2), "z1*z2")
    >>> V = np.array([[0.5, 0.2], [0.2, 0.7]])
    >>> float(mean_in_region(lambda x: x[0] * x[1], whole, np.ones((2, 1)), V)[0].round(12))
    1.2
    """
    C = region.rows @ V @ region.rows.T
    mean = region.rows @ omega
    if region.k > 1:
        if region.outside or region.inside:
            return None
        nodes, weights = _product_rule(region.k)
        offset = np.linalg.cholesky(C) @ nodes
        return value(mean[:, None, :] + offset[:, :, None]).T @ weights
    m = omega.shape[1]
    if region.k == 0:
        sample, x, log_weight = np.arange(m), np.zeros((0, m)), np.zeros(m)
    else:
        sample, eta, log_weight = region.rule_across(omega, V)
        x = np.sqrt(C) * eta
    # Every node is a sample of its own, of which the probability of the region is asked.
    count = len(sample)
    own = Nodes(np.arange(count), x, np.zeros(count), ())
    at = omega[:, sample]
    sums = MomentSums.zeros(count, region.r)
    everything = np.full(count, -np.inf), np.full(count, np.inf)
    region.add(region.inner(own, at), at, V, everything, sums)
    chance = np.exp(log_weight + sums.top) * sums.mass
    inside = chance > 0  # elsewhere the formula may have no value
    terms = np.zeros(count)
    terms[inside] = chance[inside] * value(mean[:, sample[inside]] + x[:, inside])
    return np.bincount(sample, terms, minlength=m)


def _product_rule(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (k, n) and weights (n,) of a product rule for a standard Gaussian."""
    nodes, weights = gauss_hermite(_GRID[k])
    grid = np.array(list(itertools.product(nodes, repeat=k))).T
    return grid, np.prod(list(itertools.product(weights, repeat=k)), axis=1)

r"""What each layer of filters finds of a hierarchical target, from the directions upwards.

The features below a layer, k of them and known exactly, are lifted to their products :math:`\phi`
of some degrees, p of them and nearly orthonormal. What the lift can express of the features
:math:`h_i` of the target's next level, standardized, is :math:`\psi_i`. A function t of the label,
the Gaussian score of its rank or its square, shows combinations :math:`v \cdot \psi` by the
eigenvalues of

.. math:: B_t = \mathbb{E}[t\,\psi\psi^\top],                                            [NL-6]

which leave the bulk of p dimensions as [NL-2] says, with the overlap [NL-3]. The mean of
:math:`t\,\phi` has a first order besides, without a threshold,

.. math:: q^2 = \frac{|\lambda|^2}{|\lambda|^2 + \sigma^2/n}, \qquad
          \lambda = \mathbb{E}[t\,\psi], \qquad
          \sigma^2 = \mathbb{E}[t^2|\phi|^2] - |\lambda|^2.                               [NL-7]

For branches :math:`y = r^{-1/2}\sum_i g(h_i)` with an odd g the first order and the score itself
see the sum of the :math:`h_i`, and only the square parts them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...base.errors import BadData, OutOfRegime
from ...base.estimate import Estimate
from ...base.seeds import stream
from ...targets.hierarchical import HierarchicalTarget, QuadraticForms
from ...targets.sampled import whole_number
from ._labels import at_dimension, scored
from .filter_stage import FilterStage, filter_stage

_DRAWS = 2**17
_EVERY = [slice(i, None, 4) for i in range(4)]  # parts of the draws, for errors
_STUDENT = 5.841  # 99 % quantile for as many parts
_BLOCK = 2**20  # numbers drawn at once
_PRECISION = 0.01  # of logarithms of thresholds


@dataclass(frozen=True)
class FilteredFeature:
    """A combination of the features of one level, as one function of the label shows it.

    Parameters
    ----------
    layer : int
        Layer of filters that finds it, from 2.
    score : {"gauss", "square"}
        Function of the label.
    order : {1, 2}
        Whether the mean of t phi shows it or that of t phi phi^T.
    combination : ndarray (m,)
        Its coefficients in the standardized features of the level, of length 1.
    dimension : int
        Products p that it competes with.
    strength : Estimate
        Mean of t times the combination, or its square.
    edges : tuple of float
        Ends of the bulk at n samples; nan for the first order.
    eigenvalue : float
        Where its eigenvalue is, nan if in the bulk or of first order.
    overlap2 : Estimate
        Squared overlap of what is found with it.
    samples : float
        Number of samples from which it leaves the bulk; of first order: those of overlap 1/2.
        Infinite if the draws cannot tell it from none.
    """

    layer: int
    score: str
    order: int
    combination: np.ndarray
    dimension: int
    strength: Estimate
    edges: tuple[float, float]
    eigenvalue: float
    overlap2: Estimate
    samples: float

    def __str__(self) -> str:
        found = f"from n = {self.samples:.3g}" if math.isfinite(self.samples) else "never"
        parts = ", ".join(f"{c:.2f}" for c in self.combination)
        kind = "mean" if self.order == 1 else "eigenvalue"
        return (
            f"layer {self.layer}, {self.score}, {kind} {self.strength.value:.3f} of "
            f"({parts}): {found}, squared overlap {self.overlap2.value:.2f}"
        )


def filter_layers(
    target: HierarchicalTarget, *, d: int, n: int, degrees: tuple[int, ...] = (1, 2)
) -> list[FilteredFeature]:
    r"""Features that the layers of filters above the first find, with n samples.

    The first layer, which finds the directions, is that of :func:`gradone.theory.first_stage`.

    Parameters
    ----------
    target : Sight, Might or Tree
        The target.
    d, n : int
        Input dimension (which sets the numbers of features of all levels), and samples.
    degrees : tuple of int
        Degrees of the products that are filtered, of 1 and 2.

    Returns
    -------
    list of FilteredFeature
        From the second layer upwards, for both scores and orders; those found with the fewest
        samples first in each layer.

    Notes
    -----
    Nothing here is proven. *Derived*: [NL-2], [NL-3], [NL-7] for features below that are known
    exactly and nearly Gaussian; errors are those of the numbers. *Conjectured*: that features below
    which are found with an overlap near 1 change little. The learner divides rows of products by
    their length and takes what is linear in them off the labels, which finds a little more.

    References
    ----------
    dandi2026lofi

    Examples
    --------
    >>> from gradone import Sight
    >>> t = Sight("tanh(3*h)", "He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> found = filter_layers(t, d=64, n=4096)
    >>> [(f.score, f.order) for f in found if f.overlap2.value > 0.9]
    [('square', 2), ('gauss', 1)]
    """
    d, n = whole_number("d", d, least=4), whole_number("n", n, least=2)
    if isinstance(target, QuadraticForms):
        raise OutOfRegime("quadratic forms use every direction, so no layer is left to filter")
    if not degrees or not set(degrees) <= {1, 2} or len(set(degrees)) < len(degrees):
        raise BadData(f"degrees must be (1,), (2,) or (1, 2), got {degrees!r}")
    levels, y = drawn_levels(target, d)
    found: list[FilteredFeature] = []
    for layer, (below, above) in enumerate(zip(levels, levels[1:], strict=False), start=2):
        psi = _expressed(below, above, degrees)
        if psi is None:
            continue
        rows = _shown(layer, psi, y, n, Products.of(below, degrees))
        rows = [
            replace(row, samples=_threshold(y, row, psi)) if row.order == 2 else row for row in rows
        ]
        found += sorted(rows, key=lambda row: row.samples)
    return found


def second_level_share(levels: list[np.ndarray], y: np.ndarray, n: int) -> Estimate:
    """Share of the second level that a single function of the label shows, the largest of them.

    Parameters
    ----------
    levels : list of ndarray (N, k)
        Drawn features of every level.
    y : ndarray (N,)
        Their labels.
    n : int
        Samples.
    """
    degrees = (1, 2)
    psi = _expressed(levels[0], levels[1], degrees)
    if psi is None:
        return Estimate(0.0, 0.0, "monte_carlo")
    m = psi.shape[1]
    totals: dict[tuple[str, int], list[Estimate]] = {}
    for row in _shown(2, psi, y, n, Products.of(levels[0], degrees)):
        totals.setdefault((row.score, row.order), []).append(row.overlap2)
    sums = [
        (sum(o.value for o in one) / m, sum(o.error for o in one) / m) for one in totals.values()
    ]
    return Estimate(*max(sums), "monte_carlo")


@dataclass(frozen=True)
class Products:
    """Products of features: how many, and their sum of squares at the draws.

    Parameters
    ----------
    count : int
        Their number p.
    squares : ndarray (N,)
        Squared length of the lift.
    """

    count: int
    squares: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, degrees: tuple[int, ...]) -> Products:
        """Products of some degrees of standardized features (N, k)."""
        k, square = x.shape[1], np.sum(x**2, axis=1)
        count, total = 0, np.zeros(len(x))
        if 1 in degrees:
            count, total = count + k, total + square
        if 2 in degrees:
            count += k * (k + 1) // 2
            total += (square**2 - 2 * square + k) / 2
        return cls(count, total)


def _shown(
    layer: int, psi: np.ndarray, y: np.ndarray, n: int, products: Products
) -> list[FilteredFeature]:
    """What every function of the label shows; thresholds of the second order are still missing."""
    rows = [_first_order(layer, psi, y, n, products)]
    for score in label_scores(y, n):
        rows += _second_order(layer, score, psi, y, n, products.count)
    return rows


def drawn_levels(target: HierarchicalTarget, d: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Features (N, k) of every level from the directions, and noisy labels (N,)."""
    realization = at_dimension(target, d)
    rng = stream(0, "data", d=d, part="layers of the theory")
    K = realization.W_star.shape[0]
    step = max(_BLOCK // K, 1)
    parts: list[list[np.ndarray]] = []
    labels = []
    for start in range(0, _DRAWS, step):
        z = rng.standard_normal((min(step, _DRAWS - start), K))
        y, features = realization.label_of(z)
        parts.append([z, *features])
        labels.append(y)
    y = np.concatenate(labels)
    if target.noise:
        y = y + math.sqrt(target.noise) * rng.standard_normal(len(y))
    levels = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return [(level - level.mean(axis=0)) / level.std(axis=0) for level in levels], y


def _expressed(below: np.ndarray, above: np.ndarray, degrees: tuple[int, ...]) -> np.ndarray | None:
    """What sums of functions of the features below say about those above, standardized (N, m)."""
    columns = [below**degree for degree in degrees]
    lift = np.concatenate(columns, axis=1)
    lift = lift - lift.mean(axis=0)
    coefficients = np.linalg.lstsq(lift, above, rcond=None)[0]
    psi = lift @ coefficients
    spread = psi.std(axis=0)
    # Without such a part only the noise of the draws is left.
    if (spread < 10 * math.sqrt(lift.shape[1] / len(lift))).any():
        return None
    return np.asarray(psi / spread)


def label_scores(y: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Gaussian scores of the ranks, and their squares without them, of variance 1.

    Examples
    --------
    >>> T = label_scores(np.arange(9.0), 9)
    >>> [round(float(t.std()), 6) for t in T.values()]
    [1.0, 1.0]
    """
    t = scored(y, "gauss", n)
    t = (t - t.mean()) / t.std()
    squares = t**2 - 1
    squares = squares - t * np.mean(t * squares)
    spread = float(squares.std())
    return {"gauss": t} if spread < 1e-6 else {"gauss": t, "square": squares / spread}


def _estimate(whole: float, parts: list[float]) -> Estimate:
    """Value of all draws, with an error from parts of them."""
    error = _STUDENT * float(np.std(parts, ddof=1)) / math.sqrt(len(parts))
    return Estimate(whole, error, "monte_carlo")


def _first_order(
    layer: int, psi: np.ndarray, y: np.ndarray, n: int, products: Products
) -> FilteredFeature:
    """The combination that the mean of t phi shows [NL-7]."""
    t = label_scores(y, n)["gauss"]
    sizes, noises = [], []
    for part in (slice(None), *_EVERY):
        mean = (t[part, None] * psi[part]).mean(axis=0)
        sizes.append(float(mean @ mean))
        noises.append(float(np.mean(t[part] ** 2 * products.squares[part])) - sizes[-1])
    overlaps = [a / (a + b / n) for a, b in zip(sizes, noises, strict=True)]
    mean = (t[:, None] * psi).mean(axis=0)
    # A mean within the noise of the draws is none.
    is_zero = sizes[0] < 36 * psi.shape[1] / len(psi)
    return FilteredFeature(
        layer=layer,
        score="gauss",
        order=1,
        combination=mean / (math.sqrt(sizes[0]) or 1.0),
        dimension=products.count,
        strength=_estimate(math.sqrt(sizes[0]), [math.sqrt(a) for a in sizes[1:]]),
        edges=(math.nan, math.nan),
        eigenvalue=math.nan,
        overlap2=_estimate(overlaps[0], overlaps[1:]),
        samples=math.inf if is_zero else noises[0] / sizes[0],
    )


def _second_order(
    layer: int, score: str, psi: np.ndarray, y: np.ndarray, n: int, p: int
) -> list[FilteredFeature]:
    """The combinations that eigenvalues show [NL-6]."""
    t = label_scores(y, n)[score]
    _, vectors = np.linalg.eigh((psi * t[:, None]).T @ psi / len(t))
    rows = []
    for v in vectors.T[::-1]:
        square = (psi @ v) ** 2
        strengths = [float(np.mean(t[part] * square[part])) for part in (slice(None), *_EVERY)]
        strength = _estimate(strengths[0], strengths[1:])
        stages = [_stage(y, score, square, part, p, n) for part in _EVERY]
        overlap = [one.overlap2 for one in stages]
        edges = np.mean([(one.low, one.high) for one in stages], axis=0)
        rows.append(
            FilteredFeature(
                layer=layer,
                score=score,
                order=2,
                combination=v,
                dimension=p,
                strength=strength,
                edges=(float(edges[0]), float(edges[1])),
                eigenvalue=float(np.mean([one.eigenvalue for one in stages])),
                overlap2=_estimate(float(np.mean(overlap)), overlap),
                samples=math.nan,
            )
        )
    return rows


def _stage(
    y: np.ndarray, score: str, square: np.ndarray, part: slice, p: int, n: int
) -> FilterStage:
    """Bulk of p dimensions at n samples, and what a squared feature shows of itself."""
    t = label_scores(y, n)[score]
    return filter_stage(np.ones(p), t[part], n=n, squares=square[part])


def _threshold(y: np.ndarray, row: FilteredFeature, psi: np.ndarray) -> float:
    """Number of samples from which a squared feature leaves the bulk [NL-2], to 1 %."""

    def shows(log_n: float) -> bool:
        n = max(round(math.exp(log_n)), 2)
        return _stage(y, row.score, square, _EVERY[0], row.dimension, n).overlap2 > 0

    square = (psi @ row.combination) ** 2
    # With more samples than the upper end the error of the strength would show as a feature.
    low, high = math.log(2.0), math.log(row.dimension / row.strength.error**2)
    if not shows(high):
        return math.inf
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return math.exp(high)

r"""The first stage of layerwise learning at finite d and n: how much of the directions is found.

With a quadratic activation the first layer of a network is moved by power iteration on the
covariance :math:`C = \frac1n\sum_\mu t_\mu x_\mu x_\mu^\top` of the input, weighted by a score t of
the label. From its eigenvalues :math:`x_k` and the squared overlaps :math:`o_{kg}` of its
eigenvectors with the groups of directions, the quantiles and cells of [DT-1],

.. math::
    \text{spectral:}\quad M_W^2 = \frac1K \sum_{k\ \text{selected}} \sum_g o_{kg}, \qquad
    \text{power:}\quad M_W^2 = \mathbb{E}\Big[\frac{\sum_{kg} v_k^2\,o_{kg}}{\sum_k v_k^2}\Big],
    \quad v_k = \xi_k \prod_{\tau<T} (1 - \eta m_\tau + \eta\varsigma x_k)               [DT-4]

for rows of sign :math:`\varsigma` that start Gaussian, with
:math:`m = \varsigma\sum_k x_k v_k^2/\sum_k v_k^2`. For weak signals and K much smaller than d

.. math:: q_g^2 = \Big(1 - \frac{n_c}{n}\Big)_+, \qquad
          n_c = \frac{d\,\mathbb{E}[t^2]}{\mathbb{E}[t(z_g^2-1)]^2} \to
          \frac{d D}{2 w_2\,\mathrm{corr}(t, h)^2}.                                      [DT-5]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base.errors import BadData, OutOfRegime
from ...base.estimate import Estimate
from ...base.seeds import stream
from ...targets.hierarchical import HierarchicalTarget
from ...targets.sampled import whole_number
from ._labels import (
    Draws,
    LabelLaw,
    Score,
    checked_score,
    draw_labels,
    scored,
)
from ._spectrum import Cells, spectrum_cells
from .label_weighted_edges import label_weighted_edges

_PARTS, _STUDENT = 4, 5.841  # parts of the draws; 99 % quantile for as many
_POINTS, _POINTS_OF_ONE, _MOST_POINTS = 501, 2, 4001  # of the grid; per eigenvalue
_FEWEST_SETS, _MOST_SETS = 4, 20  # sets of n labels whose edges are found
_ROWS = 400  # rows of each sign of the power iteration


@dataclass(frozen=True)
class FirstStage:
    r"""What the first stage finds in dimension d with n samples.

    Parameters
    ----------
    overlap2 : Estimate
        :math:`M_W^2`, the mean squared overlap of a row with the space of the K directions.
    cosine2 : ndarray (groups,)
        Squared length of a direction of each group inside the found space; for power iteration
        the share of the rows in each group, relative to its size.
    cosine2_err : ndarray (groups,)
        Half-widths of 99 % intervals.
    sizes : ndarray (groups,)
        Directions of each group of exchangeable ones.
    thresholds : ndarray (groups,)
        Samples :math:`n_c` from which directions of a group stand out [DT-5].
    edges : tuple of Estimate
        Ends of the bulk of the eigenvalues of C, known from the labels alone [DT-2].
    eigenvalues : ndarray (d,)
        Typical positions of the eigenvalues of C.
    chance : float
        :math:`M_W^2` of random rows, K/d.

    Notes
    -----
    Errors are those of the numbers. The theory itself is right up to terms of relative order 1/d:
    in simulations at d = 64 within 0.01 for rank scores.
    """

    overlap2: Estimate
    cosine2: np.ndarray
    cosine2_err: np.ndarray
    sizes: np.ndarray
    thresholds: np.ndarray
    edges: tuple[Estimate, Estimate]
    eigenvalues: np.ndarray
    chance: float


class Stage(NamedTuple):
    """Choices that make a first stage."""

    score: Score
    method: str
    select: str
    whitened: bool


def first_stage(
    target: HierarchicalTarget,
    *,
    d: int,
    n: int,
    score: Score = "gauss",
    method: Literal["spectral", "power"] = "spectral",
    select: Literal["edge", "size"] = "edge",
    whitened: bool = False,
) -> FirstStage:
    r"""Overlap of the first layer with the hidden directions, at finite d and n [DT-1], [DT-4].

    Parameters
    ----------
    target : Sight, Might or Tree
        The target. Random signs are taken as half + and half -; give ``signs`` for others.
    d, n : int
        Input dimension, samples.
    score : {"gauss", "rank", "label"}
        Function of the label: Gaussian quantile of its rank, its rank, or itself (the gradient).
    method : {"spectral", "power"}
        K eigenvectors, or 2 log d steps of size 1/\|C\| of power iteration on the sphere.
    select : {"edge", "size"}
        Eigenvectors by their eigenvalue relative to the edge of the bulk on its side, or by its
        absolute value.
    whitened : bool
        Whether inputs are first whitened by their sample covariance, which needs n > d. It finds
        more: 0.04 of the overlap at n = 2 d K, d = 64.

    References
    ----------
    dandi2025depth

    Examples
    --------
    >>> from gradone import Sight
    >>> t = Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> found = first_stage(t, d=64, n=4096)
    >>> round(found.overlap2.value, 2), found.chance
    (0.9, 0.125)
    """
    d, n = whole_number("d", d, least=4), whole_number("n", n, least=2)
    stage = checked_stage(score, method, select, whitened)
    return stage_from_draws(draw_labels(target, d), d, n, stage)


def checked_stage(score: Any, method: Any, select: Any, whitened: Any) -> Stage:
    """Choices of a first stage, checked."""
    if method not in ("spectral", "power"):
        raise BadData(f"method must be 'spectral' or 'power', got {method!r}")
    if select not in ("edge", "size"):
        raise BadData(f"select must be 'edge' or 'size', got {select!r}")
    if not isinstance(whitened, bool):
        raise BadData(f"whitened must be True or False, got {whitened!r}")
    if whitened and method == "power":
        raise OutOfRegime("power iteration is known for inputs that are not whitened")
    return Stage(checked_score(score), method, select, whitened)


def stage_from_draws(draws: Draws, d: int, n: int, stage: Stage) -> FirstStage:
    """The same from labels that are drawn already."""
    K = int(draws.sizes.sum())
    if K >= d:
        raise OutOfRegime(
            f"the target uses all of the d = {d} directions, so there is no first layer to learn"
        )
    if stage.whitened and n <= d:
        raise OutOfRegime(
            f"n = {n} inputs in dimension d = {d} cannot be whitened: use more than d samples, or "
            "whitened=False"
        )
    edges = label_edges(draws.y, d, n, stage.score)
    found: list[np.ndarray] = []
    points = min(max(_POINTS, _POINTS_OF_ONE * d), _MOST_POINTS)
    laws = [draws.part(i, _PARTS).law(stage.score, n) for i in range(_PARTS)]
    for law in laws:
        cells = spectrum_cells(law, d, n, points, whitened=stage.whitened)
        found.append(_group_overlaps(cells, law, edges, stage))
    finer = spectrum_cells(laws[0], d, n, 2 * points, whitened=stage.whitened)
    shift = _group_overlaps(finer, laws[0], edges, stage) - found[0]
    both = np.stack(found)
    both = np.concatenate([both, (both @ draws.sizes / K)[:, None]], axis=1)
    shift = np.append(shift, shift @ draws.sizes / K)
    value = np.clip(both.mean(axis=0) + shift, 0.0, 1.0)
    error = _STUDENT * both.std(axis=0, ddof=1) / math.sqrt(_PARTS) + np.abs(shift)
    whole = draws.law(stage.score, n)
    return FirstStage(
        overlap2=Estimate(float(value[-1]), float(error[-1]), "monte_carlo"),
        cosine2=value[:-1],
        cosine2_err=error[:-1],
        sizes=draws.sizes,
        thresholds=d * whole.square / whole.strengths**2,  # [DT-5]
        edges=edges,
        eigenvalues=cells.eigenvalues,
        chance=K / d,
    )


def label_edges(y: np.ndarray, d: int, n: int, score: Score) -> tuple[Estimate, Estimate]:
    """Ends of the bulk for n labels like these: medians over several sets of n of them.

    The population would not do: its score may be unbounded, and then the bulk has no end.
    """
    from scipy.special import stdtrit

    used = min(n, len(y) // _FEWEST_SETS)  # the edges of more are those of as many
    sets = min(len(y) // used, _MOST_SETS)
    found = []
    for i in range(sets):
        t = scored(y[i * used : (i + 1) * used], score, n)
        found.append(label_weighted_edges(t - t.mean(), alpha=n / d))
    factor = stdtrit(sets - 1, 0.995) * math.sqrt(math.pi / 2 / sets)  # of a median

    def median(ends: list[Estimate]) -> Estimate:
        values = np.array([end.value for end in ends])
        error = float(factor * values.std(ddof=1)) + ends[0].error
        return Estimate(float(np.median(values)), error, "monte_carlo")

    return median([one.low for one in found]), median([one.high for one in found])


def _group_overlaps(
    cells: Cells, law: LabelLaw, edges: tuple[Estimate, Estimate], stage: Stage
) -> np.ndarray:
    """Squared overlap per direction of each group [DT-4]."""
    if stage.method == "power":
        return _power_overlaps(cells) * law.sizes.sum() / law.sizes
    x = cells.eigenvalues
    low, high = map(float, edges)
    size = np.abs(x) if stage.select == "size" else np.where(x > 0, x / high, x / low)
    selected = np.argsort(-size, kind="stable")[: int(law.sizes.sum())]
    length = cells.lengths[selected].mean()
    return np.asarray(cells.overlaps[selected].sum(axis=0) / (length * law.sizes))


def _power_overlaps(cells: Cells) -> np.ndarray:
    """Mean share of a row in each group after power iteration on the sphere."""
    x, d = cells.eigenvalues, len(cells.eigenvalues)
    rng = stream(0, "init", part="rows of the theory", d=d)
    v = np.tile(rng.standard_normal((_ROWS, d)), (2, 1))
    sign = np.repeat([1.0, -1.0], _ROWS)[:, None]
    step = 1 / np.abs(x).max()
    for _ in range(math.ceil(2 * math.log(d))):
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        m = sign * (v**2 @ x)[:, None]
        v *= 1 - step * m + step * sign * x
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    return np.asarray((v**2 @ cells.overlaps).mean(axis=0))

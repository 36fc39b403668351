"""Fixed points of smooth maps of few variables, accelerated by the memory of past steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .solvers import Solution

_DEPTH = 5
_WORSE = 4.0  # a residual that grows by this factor empties the memory


def accelerated_fixed_point(
    step: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    *,
    tolerance: float = 1e-10,
    max_iter: int = 500,
    largest: float = np.inf,
) -> Solution:
    r"""Fixed point of a map by Anderson's mixing of the last steps.

    The next iterate is the combination of the last images whose residuals cancel best,

    .. math:: x \leftarrow \sum_j c_j\,\mathrm{step}(x_j), \quad
              c = \arg\min_{\sum_j c_j = 1} \Big|\sum_j c_j (\mathrm{step}(x_j) - x_j)\Big|. [AC-1]

    Parameters
    ----------
    step : callable
        The map of vectors.
    start : array (k,)
        First iterate.
    tolerance : float
        Largest entry of ``step(x) - x``, relative to ``1 + |x|``, that counts as converged.
    max_iter : int
        Steps after which the last iterate is returned, marked.
    largest : float
        Largest change of an entry in one step; longer steps are shortened.

    Notes
    -----
    For a contraction of rate c the residual falls by about c to the power k in k steps, and faster
    than c in each: few steps where plain iteration takes hundreds. ``error`` is the last change of
    the iterate. It never raises: what does not converge is marked.

    Examples
    --------
    >>> slow = lambda x: 0.99 * np.cos(x) + 0.01
    >>> solution = accelerated_fixed_point(slow, np.array([1.0]))
    >>> solution.converged, solution.n_iter < 12
    (True, True)
    """
    x = np.array(start, dtype=np.float64)
    images: list[np.ndarray] = []
    residuals: list[np.ndarray] = []
    best, size, count, change = np.inf, np.inf, 0, 0.0
    for count in range(1, max_iter + 1):
        image = np.asarray(step(x), dtype=np.float64)
        if not np.isfinite(image).all():
            return Solution(x, np.inf, count, False, np.inf)
        residual = image - x
        size = float(np.max(np.abs(residual) / (1 + np.abs(x))))
        if size <= tolerance:
            return Solution(image, size, count, True, max(change, size))
        if size > _WORSE * best:
            images.clear()
            residuals.clear()
        best = min(best, size)
        images.append(image)
        residuals.append(residual)
        del images[: -_DEPTH - 1], residuals[: -_DEPTH - 1]
        move = _mixed(images, residuals) - x
        change = float(np.max(np.abs(move)))
        if change > largest:
            move, change = move * (largest / change), largest
        x = x + move
    return Solution(x, size, count, False, change)


def _mixed(images: list[np.ndarray], residuals: list[np.ndarray]) -> np.ndarray:
    """Combination [AC-1] of the images, written with differences to the last one."""
    if len(images) == 1:
        return images[0]
    last = residuals[-1]
    differences = np.array([last - r for r in residuals[:-1]]).T
    # Entries of very different size must count alike.
    scale = 1 / (1 + np.abs(images[-1]))
    weights, *_ = np.linalg.lstsq(differences * scale[:, None], last * scale, rcond=1e-10)
    return images[-1] - np.array([images[-1] - i for i in images[:-1]]).T @ weights

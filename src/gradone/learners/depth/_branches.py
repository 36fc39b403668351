r"""A layer with several outputs: branches :math:`h_1, \ldots, h_k` that one step cannot part.

From :math:`W_2 = 0` one step is of rank one and sees a single function of all branches. The others
stand out of label-weighted second moments of the features, as directions do of those of the
inputs; preconditioned steps on residuals then bring all of them out:

.. math:: B \leftarrow B + \eta \left[\tfrac1n F^\top\big((y - G(H)) \circ J\big)\right]
          \left(\tfrac1n J^\top J + \epsilon I\right)^{-1}, \qquad H = F B    [LW-6]

with whitened Hermite features F of the coordinates below, a link G fitted to rows held out, and its
gradients J at the rows of H.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import comb

import numpy as np

from ._data import SplitData, beats
from ._hermite import HermiteFeatures
from ._link import UNITS, Link

_STEPS, _SIZE, _DAMPING = 12, 0.7, 1e-3
_START_RIDGE, _START_SHRINKAGE, _SHRINKAGE = 0.05, 0.01, 0.1
_CLIPPED = (0.01, 0.99)
_MOST_BRANCHES, _MOST_FEATURES, _MOST_NUMBERS = 8, 2500, 2**26
_ROWS_FOR_EACH = 4  # feature, of the highest degree that is used
_THIRDS = 3  # parts of the rows held out
_PATIENCE = 2  # branches more that do not help are the last ones tried
_CLEAR = 1.0  # standard deviations by which a branch more must be better
_STEPS_MORE = 4  # that do not help are the last ones made


@dataclass(frozen=True)
class Branches:
    """Functions H = F B of coordinates, without correlations and of variance 1.

    Parameters
    ----------
    features : HermiteFeatures
        F.
    matrix : ndarray (m, k)
        B.
    mean : ndarray (k,)
        Mean of F B, taken off.
    """

    features: HermiteFeatures
    matrix: np.ndarray
    mean: np.ndarray

    @classmethod
    def whitened(cls, features: HermiteFeatures, B: np.ndarray, F: np.ndarray) -> Branches:
        """Branches that span those of B, of unit covariance over the rows of F."""
        H = (F @ B.astype(F.dtype)).astype(np.float64)
        mean = H.mean(axis=0)
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(H, rowvar=False)))
        # A branch that repeats others is left as small as it is.
        root = vectors / np.sqrt(np.maximum(values, 1e-6 * values[-1]))
        turned = root @ vectors.T
        return cls(features, B @ turned, mean @ turned)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Values (n, k)."""
        values: np.ndarray = self.features(X) @ self.matrix.astype(X.dtype)
        return values - self.mean.astype(X.dtype)


@dataclass(frozen=True)
class FoundBranches:
    """Branches, their link, and how well both predict rows that have not made them.

    Parameters
    ----------
    branches : Branches
        The functions.
    link : Link
        The label as a function of them, fitted to all rows held out.
    errors : ndarray
        On the rows held out, each third of them with links of the others.
    """

    branches: Branches
    link: Link
    errors: np.ndarray


def find_branches(
    data: SplitData, axes: np.ndarray, rng: np.random.Generator
) -> FoundBranches | None:
    """Branches of some coordinates, as many as predict best; None with too few rows.

    Parameters
    ----------
    data : SplitData
        The rows held out fit the links; a third of them, with links of the others, chooses the
        degree of the features, the number of branches and that of the steps.
    axes : ndarray (K, d)
        Coordinate j of an input x is ``axes[j] @ x``.
    rng : Generator
        Units of the links.
    """
    K, n = len(axes), len(data.y)
    sizes = {degree: comb(K + degree, degree) - 1 for degree in (2, 3)}
    most = min(_MOST_FEATURES, n // _ROWS_FOR_EACH, _MOST_NUMBERS // n)
    degrees = [degree for degree, size in sizes.items() if K and size <= most]
    if not degrees or len(data.y_held) < 3 * UNITS:
        return None
    starts = _starts(data, axes)
    choice: tuple[int, int, int, np.ndarray] | None = None
    for degree in degrees:
        search = _Search.of(data, axes, degree, starts)
        least, least_k = np.inf, 1
        for k in range(1, search.start.shape[1] + 1):
            step, errors = _best_step(search.errors(k, search.fold == 0, rng))
            size = float(np.mean(errors**2))
            if size < least:
                least, least_k = size, k
            elif k - least_k >= _PATIENCE:
                break
            # A branch more, or a higher degree, must be worth it: few rows choose.
            if choice is None or beats(errors, choice[-1], _CLEAR):
                choice = degree, k, step, errors
    assert choice is not None
    degree, k, step, _ = choice
    if degree != search.features.degree:
        search = _Search.of(data, axes, degree, starts)
    fresh = np.empty(len(data.y_held))
    for third in range(_THIRDS):
        rows = search.fold == third
        fresh[rows] = next(islice(search.errors(k, rows, rng), step, None))
    B = next(islice(search.steps(k, slice(None), rng), step, None))
    branches = Branches.whitened(search.features, B, search.F)
    link = Link.fitted(branches(data.X_held).astype(np.float64), search.y_held, rng)
    return FoundBranches(branches, link, fresh)


def _best_step(steps: Iterator[np.ndarray]) -> tuple[int, np.ndarray]:
    """Number of the step after which the errors are smallest, and these errors."""
    best, least, kept = 0, np.inf, np.zeros(0)
    for step, errors in enumerate(steps):
        size = float(np.mean(errors**2))
        if size < least:
            best, least, kept = step, size, errors
        elif step - best >= _STEPS_MORE:
            break
    return best, kept


def _starts(data: SplitData, axes: np.ndarray) -> np.ndarray:
    """Functions (n, k) to start from: the ridge fit, then what label-weighted moments show."""
    features, K = HermiteFeatures.of(data.X, axes, 2, _START_SHRINKAGE), len(axes)
    phi = features(data.X)[:, K:]  # the degree 2 part
    n, m = phi.shape
    y = data.y.astype(np.float64)
    gram = features.covariance[K:, K:] + _START_RIDGE * np.eye(m)

    def fit(t: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.linalg.solve(gram, (phi.T @ t.astype(phi.dtype)) / n)
        return found

    def values(c: np.ndarray) -> np.ndarray:
        return (phi @ c.astype(phi.dtype)).astype(np.float64)

    c = fit(y)
    first = c / np.linalg.norm(c)
    total = np.zeros((m, m))
    # The residual sees E[y He_2(h_j)], the square E[y^2 h_i h_j]: links that are odd need it.
    for t in (y - values(c), (y - y.mean()) ** 2):
        t = t - values(fit(t))
        t = np.clip(t, *np.quantile(t, _CLIPPED))
        t = ((t - t.mean()) / (t.std() or 1.0)).astype(phi.dtype)
        moment = ((phi * t[:, None]).T @ phi).astype(np.float64) / n
        total += moment @ moment
    beyond = np.eye(m) - np.outer(first, first)
    vectors = np.linalg.eigh(beyond @ total @ beyond)[1][:, ::-1]
    # The last vector of all is the first direction itself, which was taken out.
    B = np.column_stack([first, vectors[:, : min(_MOST_BRANCHES, m) - 1]])
    return phi @ B.astype(phi.dtype)


@dataclass(frozen=True)
class _Search:
    """Features of one degree, and branches of them to start from."""

    features: HermiteFeatures
    F: np.ndarray
    F_held: np.ndarray
    y: np.ndarray
    y_held: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, data: SplitData, axes: np.ndarray, degree: int, starts: np.ndarray) -> _Search:
        features = HermiteFeatures.of(data.X, axes, degree, _SHRINKAGE)
        F, F_held, n = features(data.X), features(data.X_held), len(data.y)
        gram = features.covariance + _START_RIDGE * np.eye(F.shape[1])
        # The start was found among quadratic features: the same functions of the present ones.
        start = np.linalg.solve(gram, (F.T @ starts).astype(np.float64) / n)
        y, y_held = data.y.astype(np.float64), data.y_held.astype(np.float64)
        return cls(features, F, F_held, y, y_held, start)

    @property
    def fold(self) -> np.ndarray:
        """Third that each row held out belongs to."""
        return np.arange(len(self.y_held)) % _THIRDS

    def errors(self, k: int, rows: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Errors on some rows held out at the start and after every step, with links of others."""
        for B in self.steps(k, ~rows, rng):
            H = self._values(self.F_held, B)
            link = Link.fitted(H[~rows], self.y_held[~rows], rng)
            yield link(H[rows]) - self.y_held[rows]

    def steps(
        self, k: int, rows: np.ndarray | slice, rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Branches B (m, k) at the start and after every step, with links of some rows [LW-6]."""
        B, n = self.start[:, :k], len(self.y)
        yield B
        for _ in range(_STEPS):
            link = Link.fitted(self._values(self.F_held[rows], B), self.y_held[rows], rng)
            values, J = link.with_gradient(self.F @ B.astype(self.F.dtype))
            pull = self.F.T @ ((self.y - values)[:, None] * J).astype(self.F.dtype)
            curvature = (J.T @ J).astype(np.float64) / n + _DAMPING * np.eye(k)
            B = B + _SIZE * np.linalg.solve(curvature, pull.T.astype(np.float64) / n).T  # [LW-6]
            yield B

    def _values(self, F: np.ndarray, B: np.ndarray) -> np.ndarray:
        return (F @ B.astype(F.dtype)).astype(np.float64)

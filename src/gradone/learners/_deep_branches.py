r"""Second layer with several outputs: branches :math:`h_1, \ldots, h_k` that one step cannot part.

From :math:`W_2 = 0` one step is of rank one and sees a single function of all branches. The others
stand out of label-weighted second moments of the features, as directions do of those of the
inputs; preconditioned steps on residuals then bring all of them out:

.. math:: B \leftarrow B + \eta \left[\tfrac1n F^\top\big((y - G(H)) \circ J\big)\right]
          \left(\tfrac1n J^\top J + \epsilon I\right)^{-1}, \qquad H = F B    [LW-6]

with whitened Hermite features F of the directions found, a link G fitted to rows held out, and its
gradients J at the rows of H.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np

from ._deep_data import SplitData

_STEPS, _SIZE, _DAMPING = 12, 0.7, 1e-3
_UNITS, _ROUNDING, _REACH, _LINK_RIDGE = 200, 0.35, 2.5, 1e-3
_START_RIDGE, _START_SHRINKAGE, _SHRINKAGE = 0.05, 0.01, 0.1
_CLIPPED = (0.01, 0.99)
_MOST_BRANCHES, _MOST_FEATURES = 6, 2500
_ROWS_FOR_EACH = 4  # feature, of the highest degree that is used


@dataclass(frozen=True)
class HermiteFeatures:
    """Centred, whitened products of Hermite polynomials of the coordinates, degree by degree.

    Parameters
    ----------
    axes : ndarray (K, d)
        Coordinate j of an input x is ``axes[j] @ x``.
    degree : int
        Largest total degree, 2 or 3.
    mean, whitening : ndarray (m,), (m, m)
        Of the bare products.
    """

    axes: np.ndarray
    degree: int
    mean: np.ndarray
    whitening: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, axes: np.ndarray, degree: int, shrinkage: float) -> HermiteFeatures:
        """Features whose covariance over the rows X is S/(S + shrinkage)."""
        bare = hermite_products(X @ axes.T.astype(X.dtype), degree)
        mean = bare.mean(axis=0, dtype=np.float64)
        covariance = (bare.T @ bare).astype(np.float64) / len(X) - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors / np.sqrt(np.maximum(values, 0.0) + shrinkage)
        return cls(axes, degree, mean, root @ vectors.T)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Whitened features (n, m)."""
        bare = hermite_products(X @ self.axes.T.astype(X.dtype), self.degree)
        bare -= self.mean.astype(X.dtype)
        whitened: np.ndarray = bare @ self.whitening.astype(X.dtype)
        return whitened


def hermite_products(Z: np.ndarray, degree: int) -> np.ndarray:
    r"""Products of :math:`\mathrm{He}_k(z_i)/\sqrt{k!}` of total degree 1 to `degree`.

    Examples
    --------
    >>> hermite_products(np.array([[2.0, 1.0]]), 2).round(3)
    array([[2.   , 1.   , 2.121, 2.   , 0.   ]])
    """
    one, two = Z, (Z**2 - 1) / np.sqrt(2, dtype=Z.dtype)
    K, columns = Z.shape[1], [Z]
    pairs = combinations_with_replacement(range(K), 2)
    columns.append(np.stack([two[:, i] if i == j else one[:, i] * one[:, j] for i, j in pairs], 1))
    if degree == 3:
        columns.append((Z**3 - 3 * Z) / np.sqrt(6, dtype=Z.dtype))
        columns += [two[:, [i]] * np.delete(one, i, axis=1) for i in range(K) if K > 1]
        triples = list(combinations(range(K), 3))
        if triples:
            i, j, k = np.array(triples).T
            columns.append(one[:, i] * one[:, j] * one[:, k])
    return np.concatenate(columns, axis=1)


@dataclass(frozen=True)
class Link:
    r"""A smooth function G of k variables: rounded ramps, a linear part and a constant.

    The ramps are :math:`(u + \sqrt{u^2 + \delta^2})/2`.

    Parameters
    ----------
    center, scale : ndarray (k,)
        Of the variables.
    directions, offsets : ndarray (units, k), (units,)
        Of the units.
    coefficients : ndarray (units + k + 1,)
        Of the units, of the variables, and of 1.
    """

    center: np.ndarray
    scale: np.ndarray
    directions: np.ndarray
    offsets: np.ndarray
    coefficients: np.ndarray

    @classmethod
    def fitted(cls, H: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Link:
        """Ridge fit of labels on rows H (n, k)."""
        k = H.shape[1]
        directions = rng.standard_normal((_UNITS, k))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        scale = H.std(axis=0) + 1e-12
        offsets = rng.uniform(-_REACH, _REACH, _UNITS)
        bare = cls(H.mean(axis=0), scale, directions, offsets, np.zeros(_UNITS + k + 1))
        columns = bare._columns(H)
        gram = columns.T @ columns / len(y) + _LINK_RIDGE * np.eye(columns.shape[1])
        solved = np.linalg.solve(gram, columns.T @ y / len(y))
        return cls(bare.center, scale, directions, offsets, solved)

    def _ramps(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Standardized variables, arguments of the ramps, and their rounded sizes."""
        standard = (H - self.center) / self.scale
        u = standard @ self.directions.T + self.offsets
        return standard, u, np.sqrt(u * u + _ROUNDING**2)

    def _columns(self, H: np.ndarray) -> np.ndarray:
        standard, u, size = self._ramps(H)
        return np.concatenate([(u + size) / 2, standard, np.ones((len(H), 1))], axis=1)

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Values (n,)."""
        return self.with_gradient(H)[0]

    def with_gradient(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (n,) and gradients (n, k)."""
        standard, u, size = self._ramps(H)
        ramps, rest = self.coefficients[:_UNITS], self.coefficients[_UNITS:]
        values = (u + size) @ (ramps / 2) + standard @ rest[:-1] + rest[-1]
        slopes = (u / size) @ (ramps[:, None] * self.directions / 2)
        slopes += ramps @ self.directions / 2 + rest[:-1]
        return values, slopes / self.scale


@dataclass(frozen=True)
class BranchModel:
    """G(H), H = F B: a first layer of directions, features of them, branches, and their link."""

    features: HermiteFeatures
    branches: np.ndarray
    link: Link

    @property
    def weights(self) -> list[np.ndarray]:
        """The directions, as rows of a first layer."""
        return [self.features.axes]

    def hidden(self, X: np.ndarray, layer: int) -> np.ndarray:
        """Coordinates along the directions (layer 1), or the branches (layer 2)."""
        if layer == 1:
            return X @ self.features.axes.T.astype(X.dtype)
        return self.features(X) @ self.branches.astype(X.dtype)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n,)."""
        return self.link(self.hidden(X, 2).astype(np.float64))


def branch_model(data: SplitData, axes: np.ndarray, rng: np.random.Generator) -> BranchModel | None:
    """Branches of the directions found, as many as predict best; None with too few rows.

    Parameters
    ----------
    data : SplitData
        The rows held out fit the links; a third of them chooses the number of branches.
    axes : ndarray (K, d)
        Directions.
    rng : Generator
        Units of the links.
    """
    K, n = len(axes), len(data.y)
    sizes = {degree: comb(K + degree, degree) - 1 for degree in (2, 3)}
    if not K or n < _ROWS_FOR_EACH * sizes[2] or len(data.y_held) < 3 * _UNITS:
        return None
    degree = 3 if sizes[3] <= min(_MOST_FEATURES, n // _ROWS_FOR_EACH) else 2
    y, y_held = data.y.astype(np.float64), data.y_held.astype(np.float64)
    starts = _starts(data, axes, y)
    features = HermiteFeatures.of(data.X, axes, degree, _SHRINKAGE)
    F, F_held = features(data.X), features(data.X_held)
    gram = (F.T @ F).astype(np.float64) / n + _START_RIDGE * np.eye(F.shape[1])
    # The start was found among quadratic features: the same functions of the present ones.
    B_all = np.linalg.solve(gram, (F.T @ starts.astype(F.dtype)).astype(np.float64) / n)
    compared = np.arange(len(y_held)) % 3 == 2
    best: tuple[float, np.ndarray] | None = None
    for k in range(1, min(_MOST_BRANCHES, B_all.shape[1]) + 1):
        least = np.inf
        for B in _steps(F, y, F_held[~compared], y_held[~compared], B_all[:, :k], rng):
            H = (F_held @ B.astype(F.dtype)).astype(np.float64)
            link = Link.fitted(H[~compared], y_held[~compared], rng)
            error = float(np.mean((y_held - link(H))[compared] ** 2))
            least = min(least, error)
            if best is None or error < best[0]:
                best = error, B
        if best is not None and least > 1.1 * best[0]:
            break  # one branch more has made it clearly worse
    assert best is not None
    B = best[1]
    H = (F_held @ B.astype(F.dtype)).astype(np.float64)
    return BranchModel(features, B, Link.fitted(H, y_held, rng))


def _starts(data: SplitData, axes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Functions (n, k) to start from: the ridge fit, then what label-weighted moments show."""
    features = HermiteFeatures.of(data.X, axes, 2, _START_SHRINKAGE)
    phi = features(data.X).astype(np.float64)[:, len(axes) :]  # the degree 2 part
    n, m = phi.shape
    gram = phi.T @ phi / n + _START_RIDGE * np.eye(m)

    def fit(t: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.linalg.solve(gram, phi.T @ t / n)
        return found

    c = fit(y)
    first = c / np.linalg.norm(c)
    total = np.zeros((m, m))
    # The residual sees E[y He_2(h_j)], the square E[y^2 h_i h_j]: links that are odd need it.
    for t in (y - phi @ c, (y - y.mean()) ** 2):
        t = t - phi @ fit(t)
        t = np.clip(t, *np.quantile(t, _CLIPPED))
        t = (t - t.mean()) / t.std()
        moment = (phi * t[:, None]).T @ phi / n
        total += moment @ moment
    beyond = np.eye(m) - np.outer(first, first)
    vectors = np.linalg.eigh(beyond @ total @ beyond)[1][:, ::-1]
    B = np.column_stack([first, vectors[:, : _MOST_BRANCHES - 1]])
    return phi @ B


def _steps(
    F: np.ndarray,
    y: np.ndarray,
    F_held: np.ndarray,
    y_held: np.ndarray,
    B: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Branches B (m, k) at the start and after every step [LW-6]."""
    n = len(y)
    yield B
    for _ in range(_STEPS):
        H_held = (F_held @ B.astype(F.dtype)).astype(np.float64)
        link = Link.fitted(H_held, y_held, rng)
        H = (F @ B.astype(F.dtype)).astype(np.float64)
        values, J = link.with_gradient(H)
        pull = F.T @ ((y - values)[:, None] * J).astype(F.dtype)
        curvature = J.T @ J / n + _DAMPING * np.eye(B.shape[1])
        B = B + _SIZE * np.linalg.solve(curvature, pull.T.astype(np.float64) / n).T  # [LW-6]
        yield B

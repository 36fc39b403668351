"""Mixtures of Gaussian inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import BadData
from ...base.seeds import stream
from ...calculus.grid import gauss_hermite
from ._law import LAWS, Fill, Law, Rule


@LAWS.add("mixture")
class Mixture(Law):
    r"""Rows from one of several Gaussians: :math:`N(\mu_c, \Sigma_c)` with probability p_c.

    Parameters
    ----------
    weights : sequence of float
        Probabilities p_c, of sum 1.
    means : sequence of sequences of float
        First coordinates of the means :math:`\mu_c`; the others are zero, in any dimension.
    covariances : sequence of float, or of matrices, optional
        Numbers stand for multiples of the identity; matrices are those of the coordinates that
        have a mean, the others are standard. The identity by default.

    Examples
    --------
    >>> law = Mixture([0.5, 0.5], means=[[1.0], [-1.0]])
    >>> law
    inputs.mixture(weights=[0.5, 0.5], means=[[1.0], [-1.0]])
    >>> points, weights = law.coordinate_rule(1, 20)
    >>> round(float(weights @ points[:, 0] ** 2), 12)
    2.0
    """

    def __init__(self, weights: Any, means: Any, covariances: Any = None) -> None:
        try:
            self._weights = np.array(weights, np.float64)
            self._means = np.array(means, np.float64)
            given = np.ones(self._weights.size) if covariances is None else covariances
            given = np.array(given, np.float64)
        except (TypeError, ValueError):
            raise BadData("weights, means and covariances of a mixture must be numbers") from None
        count = self._weights.size
        if self._weights.ndim != 1 or not count or self._means.ndim != 2:
            raise BadData("a mixture needs weights (k,) and means (k, m), a row for each class")
        m = self._means.shape[1]
        if len(self._means) != count or given.shape not in ((count,), (count, m, m)):
            raise BadData(
                f"a mixture of {count} weights needs {count} means, and as many covariances, "
                f"numbers or {m} x {m} matrices; got {len(self._means)} and {given.shape}"
            )
        if not (self._weights >= 0).all() or abs(self._weights.sum() - 1) > 1e-9:
            raise BadData(f"weights must be probabilities of sum 1, got {weights!r}")
        if not (np.isfinite(self._means).all() and np.isfinite(given).all()):
            raise BadData("means and covariances of a mixture must be finite")
        # Of each class: the root of the covariance of the first coordinates, the scale of others.
        self._scales = np.sqrt(given) if given.ndim == 1 else np.ones(count)
        self._roots = _roots(given if given.ndim == 3 else given[:, None, None] * np.eye(m))
        self.arguments = {"weights": self._weights.tolist(), "means": self._means.tolist()}
        if covariances is not None:
            self.arguments["covariances"] = given.tolist()

    @property
    def is_standard_elsewhere(self) -> bool:
        """Whether coordinates without a mean are standard Gaussian."""
        return bool((self._scales == 1).all())

    @property
    def width(self) -> int:
        """Number of coordinates that have a mean."""
        return int(self._means.shape[1])

    def check(self, d: int) -> None:
        """Refuse a dimension in which the law does not exist."""
        if d < self.width:
            raise BadData(f"the means of this mixture need d >= {self.width}, got d = {d}")

    def covariance(self, d: int) -> np.ndarray:
        """Covariance of a row (d, d)."""
        self.check(d)
        found = np.eye(d) * float(self._weights @ self._scales**2)
        centered = self._means - self._weights @ self._means
        within = np.einsum("c,cij,ckj->ik", self._weights, self._roots, self._roots)
        found[: self.width, : self.width] = within + (centered.T * self._weights) @ centered
        return found

    def cumulants(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis (r,) of the projections on rows W (r, d) of norm 1."""
        first, others = W[:, : self.width], W[:, self.width :]
        mean = first @ self._means.T  # (r, classes)
        shift = mean - (mean @ self._weights)[:, None]
        inner = np.einsum("ri,cij->rcj", first, self._roots)
        within = (inner**2).sum(axis=2) + (others**2).sum(axis=1)[:, None] * self._scales**2
        variance, third, fourth = (
            moment @ self._weights
            for moment in (
                within + shift**2,
                3 * shift * within + shift**3,
                3 * within**2 + 6 * shift**2 * within + shift**4,
            )
        )
        return third / variance**1.5, fourth / variance**2 - 3

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d)."""
        self._place(rng.choice(len(self._weights), size=len(out), p=self._weights), rng, out)

    def source(self, d: int, *, seed: int, replicate: int, role: str) -> Fill:
        """What fills the blocks of one data set, one after the other."""
        # Two streams: otherwise the rows would depend on how many are drawn at once.
        rng = stream(seed, role, d=d, replicate=replicate)
        classes = stream(seed, role, d=d, replicate=replicate, part="classes")

        def fill(out: np.ndarray) -> None:
            chosen = classes.choice(len(self._weights), size=len(out), p=self._weights)
            self._place(chosen, rng, out)

        return fill

    def _place(self, chosen: np.ndarray, rng: np.random.Generator, out: np.ndarray) -> None:
        rng.standard_normal(out=out)
        m = self.width
        out[:, m:] *= self._scales[chosen][:, None]
        first = np.einsum("nij,nj->ni", self._roots[chosen], out[:, :m])
        out[:, :m] = first + self._means[chosen]

    def coordinate_rule(self, k: int, count: int) -> Rule:
        """Points (m, k) and weights of the first k coordinates."""
        size = max(k, self.width)
        nodes, weights = gauss_hermite(count)
        grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
        product = weights
        for _ in range(size - 1):
            product = np.multiply.outer(product, weights)
        points = []
        for mean, root, scale in zip(self._means, self._roots, self._scales, strict=True):
            here = grid * scale
            here[:, : self.width] = grid[:, : self.width] @ root.T + mean
            points.append(here[:, :k])
        return np.concatenate(points), np.concatenate([w * product.ravel() for w in self._weights])


def _roots(covariances: np.ndarray) -> np.ndarray:
    """Symmetric roots of covariances (k, m, m)."""
    if np.abs(covariances - covariances.transpose(0, 2, 1)).max() > 1e-10:
        raise BadData("a covariance of the mixture is not symmetric")
    sizes, vectors = np.linalg.eigh(covariances)
    if (sizes <= 0).any():
        raise BadData(
            f"a covariance of the mixture has the eigenvalue {sizes.min():.3g}; all are > 0"
        )
    return np.asarray((vectors * np.sqrt(sizes)[:, None, :]) @ vectors.transpose(0, 2, 1))

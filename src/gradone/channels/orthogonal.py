r"""Posterior of a label whose planes are orthogonal in the metric of the covariance.

The forms :math:`x_a = \langle n_a, z\rangle` are then independent, every cell is a box, and its
mass is a product of one-dimensional ones. Sums of such products are all positive: they are exact to
rounding however unlikely the label is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

_ORTHOGONAL = 1e-12


class Boxes:
    """Cells between families of parallel planes, one family for each variable.

    Parameters
    ----------
    normals : array (k, r)
        Unit normals; those of parallel planes are equal.
    offsets : array (k,)
        The planes are ``normals @ z = offsets``.
    label : callable
        Number of the label at each of the points (m, r), from 0.
    labels : int
        How many labels there are.
    """

    def __init__(
        self,
        normals: np.ndarray,
        offsets: np.ndarray,
        label: Callable[[np.ndarray], np.ndarray],
        labels: int,
    ) -> None:
        families: list[list[int]] = []
        for i in range(len(normals)):
            for family in families:
                if np.abs(normals[i] - normals[family[0]]).max() < 1e-9:
                    family.append(i)
                    break
            else:
                families.append([i])
        self.normals = normals[[family[0] for family in families]]
        positions = [np.sort(offsets[family]) for family in families]
        self._counts = np.array([len(p) for p in positions])
        self._edges = np.zeros((len(families), int(self._counts.max()) + 1))
        for row, p in zip(self._edges, positions, strict=True):
            row[: len(p)] = p
        self._label_boxes(positions, label, labels)

    def _label_boxes(
        self, positions: list[np.ndarray], label: Callable[[np.ndarray], np.ndarray], labels: int
    ) -> None:
        if np.linalg.matrix_rank(self.normals) < len(self.normals):
            self._boxes = np.zeros((0, len(positions)), dtype=np.int64)  # never orthogonal
            self._starts = np.zeros(labels + 1, dtype=np.int64)
            return
        inside = [
            np.concatenate([[p[0] - 1], (p[:-1] + p[1:]) / 2, [p[-1] + 1]]) for p in positions
        ]
        boxes = np.array(list(itertools.product(*(range(len(x)) for x in inside))))
        forms = np.stack([x[boxes[:, a]] for a, x in enumerate(inside)], axis=1)
        which = label(forms @ np.linalg.pinv(self.normals).T)
        order = np.argsort(which, kind="stable")
        self._boxes = np.ascontiguousarray(boxes[order])
        self._starts = np.searchsorted(which[order], np.arange(labels + 1))

    def are_independent(self, V: np.ndarray) -> bool:
        """Whether the forms are independent under the covariance `V`."""
        gram = self.normals @ V @ self.normals.T
        size = np.sqrt(np.diag(gram))
        off = gram / (size[:, None] * size) - np.eye(len(gram))
        return bool(len(self._boxes)) and float(np.abs(off).max()) < _ORTHOGONAL

    def posterior(
        self, which: np.ndarray, omega: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithm of Z (n,), g (n, r) and dg (n, r, r) for the labels number `which` (n,)."""
        from .orthogonal_kernels import posterior_boxes

        centers, widths = self._forms(omega, V)
        n, q = centers.shape
        log_z, mean, excess = np.empty(n), np.zeros((n, q)), np.zeros((n, q, q))
        posterior_boxes(
            which, centers, widths, self._edges, self._counts, self._boxes, self._starts,
            log_z, mean, excess,
        )  # fmt: skip
        back = self.normals / widths[:, None]
        return log_z, mean @ back, back.T @ excess @ back

    def outcomes(
        self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Logarithm of Z (m, labels), g (m, labels, r) and dg, if asked for, of every label."""
        from .orthogonal_kernels import outcome_boxes

        centers, widths = self._forms(omega, V)
        m, q = centers.shape
        labels = len(self._starts) - 1
        log_z, mean = np.empty((m, labels)), np.zeros((m, labels, q))
        excess = np.zeros((m if curvature else 0, labels, q, q))
        outcome_boxes(
            centers, widths, self._edges, self._counts, self._boxes, self._starts,
            log_z, mean, excess,
        )  # fmt: skip
        back = self.normals / widths[:, None]
        return log_z, mean @ back, back.T @ excess @ back if curvature else None

    def _forms(self, omega: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prior means and standard deviations of the forms."""
        widths = np.sqrt(np.einsum("ai,ij,aj->a", self.normals, V, self.normals))
        return omega @ self.normals.T, widths

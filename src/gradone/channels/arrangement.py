r"""Posterior of a label that is constant between hyperplanes.

In coordinates w in which the prior is a standard Gaussian, every plane keeps its direction and only
its offset depends on the sample. Cells are integrated line by line: the last coordinate in closed
form, the others by Gauss-Legendre nodes between the points where planes meet. All terms are
positive, so nothing cancels when the label is unlikely.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..base.errors import OutOfRegime
from .frames import Frame, best_frame

REACH = 4.7  # sd; what is outside has a mass of exp(-11), and more is taken for unlikely labels
_NODES = 0.9  # nodes for each sd
_LEAST = 3  # and this number more in every interval


class Arrangement:
    """Cells between hyperplanes, each with a label.

    Parameters
    ----------
    normals : array (k, r)
        Normals of the planes.
    offsets : array (k,)
        The planes are ``normals @ z = offsets``.
    label : callable
        Number of the label at each of the points (m, r), from 0.
    labels : int
        How many labels there are.
    resolution : int
        Number of times that the distance of the nodes is halved.
    """

    def __init__(
        self,
        normals: np.ndarray,
        offsets: np.ndarray,
        label: Callable[[np.ndarray], np.ndarray],
        labels: int,
        resolution: int = 0,
    ) -> None:
        self.normals, self.offsets, self.label, self.labels = normals, offsets, label, labels
        self._rate = _NODES * 2**resolution
        self._least = _LEAST * 2**resolution
        self._reach = np.sqrt(REACH**2 + 12.0 * resolution)
        self._table = np.full(2 ** len(normals), -1, dtype=np.int64)

    def posterior(
        self, which: np.ndarray, omega: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithm of Z (n,), g (n, r) and dg (n, r, r) for the labels number `which` (n,)."""
        from .arrangement_kernels import posterior_cells

        root, frame, d = self._prepare(omega, V)
        n, r = omega.shape
        log_z, mean, excess = np.empty(n), np.zeros((n, r)), np.zeros((n, r, r))
        self._run(
            lambda missing: posterior_cells(
                which, d, frame.planes, frame.mixing, frame.conditions, frame.starts,
                self._table, self._reach, self._rate * frame.steepness, self._least,
                *_rules(), log_z, mean, excess, missing,
            ),
            root,
            omega,
        )  # fmt: skip
        far = np.flatnonzero(log_z == -np.inf)
        if len(far):
            log_z[far], mean[far], excess[far] = self._far_posterior(
                which[far], omega[far], d[far], root, frame.planes
            )
        back = np.linalg.inv(root)
        return log_z, mean @ back, back.T @ excess @ back

    def outcomes(
        self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Logarithm of Z (m, labels), g (m, labels, r) and dg, if asked for, of every label."""
        from .arrangement_kernels import outcome_cells

        root, frame, d = self._prepare(omega, V)
        m, r = omega.shape
        masses, means = np.zeros((m, self.labels)), np.zeros((m, self.labels, r))
        excess = np.zeros((m if curvature else 0, self.labels, r, r))
        self._run(
            lambda missing: outcome_cells(
                d, frame.planes, frame.mixing, frame.conditions, frame.starts,
                self._table, self._reach, self._rate * frame.steepness, self._least,
                *_rules(), masses, means, excess, missing,
            ),
            root,
            omega,
        )  # fmt: skip
        back = np.linalg.inv(root)
        with np.errstate(divide="ignore"):
            log_z = np.log(masses)
        return log_z, means @ back, back.T @ excess @ back if curvature else None

    def _far_posterior(
        self,
        which: np.ndarray,
        omega: np.ndarray,
        d: np.ndarray,
        root: np.ndarray,
        planes: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expansion for labels far out: the posterior sits on the nearest point with the label.

        The nearest point lies on one plane or where several meet. Exact if it is one plane and the
        label is constant beyond; else the error is of the relative order 1/distance^2.
        """
        from .interval_kernels import beyond

        n, r = omega.shape
        nearest, point = np.full(n, np.inf), np.zeros((n, r))
        excess = np.zeros((n, r, r))
        for size in range(1, r + 1):
            for active in itertools.combinations(range(len(planes)), size):
                chosen = planes[list(active)]
                if np.linalg.matrix_rank(chosen) < size:
                    continue
                inverse = np.linalg.pinv(chosen)
                at = -d[:, list(active)] @ inverse.T
                norm = np.linalg.norm(at, axis=1)
                for signs in itertools.product((-1.0, 1.0), repeat=size):
                    step = inverse @ (np.array(signs) * np.linalg.norm(chosen, axis=1))
                    z = omega + (at + 1e-6 * step) @ root.T
                    better = (self.label(z) == which) & (norm < nearest)
                    nearest[better], point[better] = norm[better], at[better]
                    excess[better] = -inverse @ chosen
        log_z, mean = np.full(n, -np.inf), np.zeros((n, r))
        for i in np.flatnonzero(np.isfinite(nearest)):
            hazard, log_z[i], shrink = beyond(nearest[i])
            mean[i] = point[i] / nearest[i] * hazard
            excess[i] *= shrink
        return log_z, mean, excess

    def _prepare(self, omega: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, Frame, np.ndarray]:
        """Matrix B with ``z = omega + B w``, the frame of w, and the offsets of each sample."""
        factor = np.linalg.cholesky(V)
        frame = best_frame(self.normals @ factor)
        return factor @ frame.rotation, frame, omega @ self.normals.T - self.offsets

    def _run(
        self,
        kernel: Callable[[np.ndarray], tuple[int, int]],
        root: np.ndarray,
        omega: np.ndarray,
    ) -> None:
        """Run a kernel; cells that it meets for the first time are looked up and it runs again."""
        missing = np.empty(1 + omega.shape[1])
        while True:
            status, sample = kernel(missing)
            if status == 0:
                return
            if status < 0:
                raise OutOfRegime(
                    "the planes between the labels are so close to parallel in the metric of the "
                    "covariance that an integral needs more than 4096 nodes on one line; raise the "
                    "smallest eigenvalue of the covariance"
                )
            z = omega[sample] + root @ missing[1:]
            self._table[int(missing[0])] = self.label(z[None, :])[0]


def _rules() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss-Legendre rules, by their order."""
    global _RULES
    if _RULES is None:
        from .arrangement_kernels import MOST_NODES

        x, w = np.zeros((2, MOST_NODES + 1, MOST_NODES))
        for order in range(1, MOST_NODES + 1):
            x[order, :order], w[order, :order] = np.polynomial.legendre.leggauss(order)
        _RULES = x, w
    return _RULES


_RULES: tuple[np.ndarray, np.ndarray] | None = None

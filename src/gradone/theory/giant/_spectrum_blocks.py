r"""Spectrum of the feature covariance after one giant step, for second layers of several values.

With :math:`\beta` = width / d, :math:`\rho` = width / n, values of the second layer j with shares
:math:`\pi_j`, the moments :math:`\mu_0^j, \mu_1^j, \mu_2^j` of [OS-3] and E over :math:`\kappa`,
the equations of the ridge readout [OS-4] at the ridge -z become

.. math:: D &= \frac{1}{1+\sum\mu_1^j\mu_1^lV_{jl}+\rho\sum(\mu_2^j)^2\pi_j\tau_j}, \quad
          C_{jl} = \mathbb{E}[\mu_1^j\mu_1^lD], \quad
          S = \mathrm{diag}(c_j\beta\pi_j\tau_j), \\
          \tau_j &= \frac{1}{\mathbb{E}[(\mu_2^j)^2D] + c_j[(I+CS)^{-1}C]_{jj} - z}, \quad
          V = \frac{\rho}{\beta}\,S(I+CS)^{-1}, \quad
          \rho(x) = \sum_j\pi_j\,\mathrm{Im}\,\tau_j(x+i0)/\pi.                         [FS-3]

The means :math:`\mu_0^j(\kappa)` of the neurons make outliers: above the bulk there are as many
eigenvalues beyond x as the operator over :math:`\kappa`

.. math:: H = \sqrt{D}\,\Big[\sum_j n\rho\pi_j|\tau_j|\,\mu_0^j\otimes\mu_0^j
          + |S_j|\,\kappa\mu_1^j\otimes\kappa\mu_1^j\Big]\sqrt{D}                       [FS-4]

has eigenvalues above one. With one value these are [FS-1] and [FS-2].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._spectrum_solver import INSIDE, Bulk

_HEIGHT = 1e-7  # above the real axis, in units of the bound
_LADDER = np.geomspace(10.0, _HEIGHT, 9)
_PRECISION = 1e-8
_ROUGH = 1e-3  # enough on the way down
_MAX_ITER = 4000
_MEMORY = 4  # of Anderson's acceleration
_RANK = 1e-6  # singular values of mu_1 below this share of the largest are dropped
_NEGLIGIBLE = 1e-15  # weight of a node


@dataclass(frozen=True)
class BlockBulk(Bulk):
    """Feature covariance of a student whose second layer has several values."""

    @property
    def bound(self) -> float:
        """Number that no eigenvalue of the bulk exceeds."""
        f = self.fields
        largest = f.scales.max() * f.slope.max(axis=0) ** 2 * (1 + np.sqrt(self.width_ratio)) ** 2
        heavy = f.weights > 1e-12 * f.weights.max()
        top = (largest + f.rest.max(axis=0))[heavy].max()
        return float(top * (1 + np.sqrt(self.ratio)) ** 2)

    @cached_property
    def _kept(self) -> np.ndarray:
        return np.flatnonzero(self.fields.weights > _NEGLIGIBLE)

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Products of the left and of the right factors of mu_1, which has a small rank R.

        Of shape (J, R(R+1)/2) and (R(R+1)/2, K), as symmetric matrices have each product twice;
        means over values and over kappa are products with them. The last array (R, R) says where
        the entries of such a matrix stand.
        """
        left, size, right = np.linalg.svd(self.fields.slope[:, self._kept], full_matrices=False)
        R = int((size > _RANK * size[0]).sum())
        left, right = left[:, :R], size[:R, None] * right[:R]
        i, j = np.triu_indices(R)
        places = np.zeros((R, R), dtype=int)
        places[i, j] = places[j, i] = np.arange(len(i))
        return left[:, i] * left[:, j], right[i] * right[j], places

    def _pairs(self, matrices: np.ndarray) -> np.ndarray:
        """Upper triangles of symmetric matrices (X, R, R), entries beside the diagonal doubled."""
        i, j = np.triu_indices(matrices.shape[-1])
        pairs: np.ndarray = matrices[:, i, j] * np.where(i == j, 1.0, 2.0)
        return pairs

    def _next(self, z: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The right-hand sides of [FS-3]: a new state (X, J + K) of tau and D."""
        f, (over_values, over_kappa, places) = self.fields, self._factors
        tau, D = np.split(state, [len(f.shares)], axis=1)
        rest, unit = f.rest[:, self._kept], np.eye(len(places))
        spread = f.scales * self.width_ratio * f.shares
        weighted = D * f.weights[self._kept]
        C = _times(weighted, over_kappa.T)[:, places]
        S = _times(spread * tau, over_values)[:, places]
        N = np.linalg.solve(unit + C @ S, C)
        bulk = _times(self._pairs(N), over_values.T)
        tau = 1 / (_times(weighted, rest.T) + f.scales * bulk - z[:, None])
        S = _times(spread * tau, over_values)[:, places]
        V = self.ratio / self.width_ratio * np.linalg.solve(unit + S @ C, S)
        own = self.ratio * _times(f.shares * tau, rest)
        return np.hstack([tau, 1 / (1 + _times(self._pairs(V), over_kappa) + own)])

    def _solved(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """State (X, J + K) just above the axis, and the last relative change at each x.

        Continued downwards from far above the axis, where tau = -1/z.
        """
        unit, J = self.bound, len(self.fields.shares)
        state = np.ones((len(x), J + len(self._kept)), dtype=complex)
        state[:, :J] = -1 / (x + 1j * _LADDER[0] * unit)[:, None]
        change = np.zeros(len(x))
        for height in _LADDER:
            precision = _PRECISION if height == _LADDER[-1] else _ROUGH
            state, change = self._settled(x + 1j * height * unit, state, precision)
        return state, change

    def _settled(
        self, z: np.ndarray, state: np.ndarray, precision: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fixed point by damped steps with Anderson's acceleration, for each z by itself."""
        J = len(self.fields.shares)
        state, change = state.copy(), np.full(len(z), np.inf)
        active = np.arange(len(z))
        moves: list[np.ndarray] = []
        gaps: list[np.ndarray] = []
        for _ in range(_MAX_ITER):
            now = state[active]
            gap = self._next(z[active], now) - now
            change[active] = np.abs(gap[:, :J]).max(axis=1) / np.abs(now[:, :J]).max(axis=1)
            going = change[active] > precision
            if not going.any():
                break
            moves, gaps = [m[going] for m in moves], [g[going] for g in gaps]
            active, now, gap = active[going], now[going], gap[going]
            new = _mixed(now, gap, moves, gaps)
            # Traces of resolvents stay in the upper half plane; a step that leaves it is not taken.
            left = (new[:, :J].imag <= 0).any(axis=1)
            new[left] = (now + gap / 2)[left]
            state[active] = new
            moves, gaps = [*moves[-_MEMORY + 1 :], now], [*gaps[-_MEMORY + 1 :], gap]
        return state, change

    def transform(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean of tau, D just above the real axis at each x, and the last relative change."""
        state, change = self._solved(np.asarray(x, dtype=np.float64))
        tau, D = np.split(state, [len(self.fields.shares)], axis=1)
        return tau @ self.fields.shares, D, change

    def is_inside(self, x: np.ndarray) -> np.ndarray:
        """Whether there is density at each x.

        The imaginary part falls with the height above the axis: in proportion to it outside the
        bulk, by its square root at an edge, and not at all inside.
        """
        shares, unit = self.fields.shares, self.bound
        state, _ = self._solved(x)
        lower, _ = self._settled(x + 1j * _HEIGHT / 4 * unit, state, _PRECISION)
        here, below = ((one[:, : len(shares)] @ shares).imag for one in (state, lower))
        inside: np.ndarray = (here * unit > INSIDE) & (2 * below > here)
        return inside

    def strengths(self, x: np.ndarray, n: float) -> np.ndarray:
        """Eigenvalues of [FS-4] at each x, in decreasing order."""
        f, J = self.fields, len(self.fields.shares)
        state, _ = self._solved(x)
        tau, D = state[:, :J].real, state[:, J:].real
        mean = f.mean[:, self._kept]
        mode = f.mode[:, self._kept]
        found = []
        for one, damping in zip(tau, D, strict=True):
            size = f.shares * np.abs(one)
            rows = np.vstack(
                [
                    np.sqrt(n * self.ratio * size)[:, None] * mean,
                    np.sqrt(f.scales * self.width_ratio * size)[:, None] * mode,
                ]
            )
            rows = rows * np.sqrt(f.weights[self._kept] * np.maximum(damping, 0.0))
            found.append(np.linalg.svd(rows, compute_uv=False) ** 2)
        return np.array(found)

    def outliers(self, n: float, low: float, high: float) -> list[float]:
        """Eigenvalues above the bulk, in increasing order."""
        f = self.fields
        largest = 4 * n * self.ratio * float(f.shares @ (f.mean**2 @ f.weights)) + 4 * high
        x = np.geomspace(high * 1.001, largest, 48)
        found: list[float] = []
        for size in self.strengths(x, n).T:
            if size[0] <= 1:
                break
            place = float(np.exp(np.interp(0.0, -np.log(size), np.log(x))))
            for _ in range(3):  # secants of a nearly straight line in logarithms
                near = place * np.array([0.999, 1.001])
                here = np.log(self.strengths(near, n)[:, len(found)])
                slope = (here[1] - here[0]) / np.log(near[1] / near[0])
                place *= float(np.exp(-here.mean() / slope))
            found.append(place)
        return sorted(found)


def _times(rows: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Product of complex rows and a real table, without a complex copy of the table."""
    both = np.concatenate([rows.real, rows.imag]) @ table
    product: np.ndarray = both[: len(rows)] + 1j * both[len(rows) :]
    return product


def _mixed(
    now: np.ndarray, gap: np.ndarray, moves: list[np.ndarray], gaps: list[np.ndarray]
) -> np.ndarray:
    """Damped step, with the combination of the last steps whose gap is smallest."""
    plain: np.ndarray = now + gap / 2
    if not moves:
        return plain
    steps = np.stack([now - m for m in moves], axis=-1)
    changes = np.stack([gap - g for g in gaps], axis=-1)
    adjoint = changes.conj().swapaxes(1, 2)
    gram = adjoint @ changes
    trace = np.trace(gram, axis1=1, axis2=2).real[:, None, None]
    gram += (1e-14 * trace + 1e-300) * np.eye(len(moves))
    share = np.linalg.solve(gram, adjoint @ gap[:, :, None])
    mixed: np.ndarray = plain - ((steps + changes / 2) @ share)[:, :, 0]
    return mixed

r"""Lines of prior means along which the most probable label is followed.

Prior means are :math:`\omega = L u` with u standard normal and :math:`L L^\top = M`. The distance
of z from a plane :math:`\langle n, z\rangle = c`, given the first coordinates of u, is Gaussian:

.. math:: \langle n, z\rangle \mid u_{\le j} \sim N\Bigl(\sum_{i \le j} (n^\top L)_i u_i,\;
          n^\top V n + \sum_{i > j} (n^\top L)_i^2\Bigr)                                    [WL-2]

so what is averaged over the later coordinates varies fast in :math:`u_j` only where that mean is c,
on the scale of that deviation over :math:`|(n^\top L)_j|`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...channels import PosteriorChannel
from ._label_changes import label_changes
from ._label_coordinates import folded_axes, root_of

RADIUS = {1: 7.0, 2: 6.5, 3: 6.0, 4: 5.5}  # of the prior means in u, by the number of coordinates
_SAME = 1e-9
# Lines that look for kinks at the same place on all of them pass through these points.
_PROBES = np.array(
    [[0.37, 1.21, 0.74, 0.53], [0.93, 0.46, 1.37, 0.81],
     [-1.43, -0.85, -0.29, -1.12], [-0.58, -1.31, -0.92, -0.33]]
)  # fmt: skip
_PROBE_LENGTH = 2.0
_COMMON = 0.05  # kinks on two lines that are closer are at the same place, or almost
_TOO_NEAR = 1e-4  # kinks that are closer to the end of a panel, in units of it, do not cut it
_NOTHING = 1e-11  # panels with a chance of error below it are left out
_SCAN = 0.25  # step that looks for curved surfaces, in widths of the posterior
_MOST_STEPS = 2000
_BLOCK = 4096


class Panels(NamedTuple):
    """Intervals on lines, in increasing order on each."""

    line: np.ndarray
    """(n,) number of the line."""
    low: np.ndarray
    """(n,) where they begin."""
    high: np.ndarray
    """(n,) where they end."""


class Kinks(NamedTuple):
    """Places on lines at which the most probable label changes."""

    line: np.ndarray
    """(n,) number of the line."""
    place: np.ndarray
    """(n,) coordinate along it."""


class LabelLines:
    """Lines of prior means of a discrete channel at an overlap matrix.

    Parameters
    ----------
    channel : PosteriorChannel
        Channel of a target that takes finitely many values.
    M : array (r, r)
        Overlap matrix.
    """

    def __init__(self, channel: PosteriorChannel, M: np.ndarray) -> None:
        self.channel, self.V, self.L = channel, np.eye(len(M)) - M, root_of(M)
        self.k = self.L.shape[1]
        self.evaluated = 0  # prior means
        planes, self._is_curved = channel.target.expression.breaks
        normals = np.array([plane.normal for plane in planes]).reshape(-1, len(M))
        self.is_product = not self._is_curved and _are_independent(normals, self.V)
        self._offsets = np.array([plane.offset for plane in planes])
        self._slopes = normals @ self.L
        self._variances = np.maximum(np.einsum("pi,ij,pj->p", normals, self.V, normals), 0.0)
        self.folded = folded_axes(channel.target.expression, self.L)
        spreads = np.einsum("ik,ij,jk->k", self.L, self.V, self.L)
        self._widths = np.sqrt(np.maximum(spreads, 0.0)) / (self.L**2).sum(axis=0)
        self._splits = [np.zeros(0)] * self.k
        for axis in range(self.k - 1):
            self._splits[axis] = self._parallel_kinks(axis)

    def _parallel_kinks(self, axis: int) -> np.ndarray:
        """Kinks along an axis that are at the same place on several lines, or almost."""
        points = np.where(self.folded, np.abs(_PROBES[:, : self.k]), _PROBES[:, : self.k])
        line, at = self._scan(points, axis, self.panels(points, axis, _PROBE_LENGTH))[0]
        order = np.argsort(at)
        line, at = line[order], at[order]
        gaps = np.where(line[1:] != line[:-1], np.diff(at), math.inf)
        found: list[float] = []
        for i in np.argsort(gaps):  # the closest pairs first: those that are parallel exactly
            place = float(at[i] + at[i + 1]) / 2
            if gaps[i] < _COMMON and all(abs(place - x) > _COMMON for x in found):
                found.append(place)
        return np.array(found)

    def _ends(self, known: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the lines along an axis through points whose other coordinates are known."""
        high = np.sqrt(np.maximum(RADIUS[self.k] ** 2 - (known**2).sum(axis=1), 0.0))
        return np.zeros_like(high) if self.folded[axis] else -high, high

    def log_z(self, u: np.ndarray, channel: PosteriorChannel | None = None) -> np.ndarray:
        """Logarithms (m, labels) of the probabilities of the labels, over that of the likeliest."""
        channel = self.channel if channel is None else channel
        self.evaluated += len(u)
        omega = u @ self.L.T
        blocks = range(0, max(len(u), 1), _BLOCK)
        found = [channel.outcomes(omega[b : b + _BLOCK], self.V).log_z for b in blocks]
        log_z = np.concatenate(found)
        return np.asarray(log_z - log_z.max(axis=1, keepdims=True))

    def panels(
        self, points: np.ndarray, axis: int, length: float, *, later: tuple[int, ...] = ()
    ) -> Panels:
        """Panels along an axis, through points (m, k).

        Their length is in units of the scale on which something varies. An average is taken over
        the coordinates `later`.
        """
        from ._label_kernels import panels_on_lines

        known = [i for i in range(self.k) if i != axis and i not in later]
        low, high = self._ends(points[:, known], axis)
        slope = self._slopes[:, axis]
        spread = np.sqrt(self._variances + (self._slopes[:, later] ** 2).sum(axis=1))
        narrow = spread < np.abs(slope)  # what is wider varies no faster than the density of u
        mean = points[:, known] @ self._slopes[narrow][:, known].T
        splits = self._splits[axis]
        centers = [
            (self._offsets[narrow] - mean) / slope[narrow],
            np.broadcast_to(splits, (len(points), len(splits))),
        ]
        widths = [spread[narrow] / np.abs(slope[narrow]), np.full(len(splits), math.inf)]
        if self._is_curved and not later and self._widths[axis] < 1:
            crossings = self._crossings(points, axis, low, high)
            centers.append(crossings)
            widths.append(np.full(crossings.shape[1], self._widths[axis]))
        return Panels(
            *panels_on_lines(
                np.concatenate(centers, axis=1), np.concatenate(widths), low, high, length
            )
        )

    def _crossings(
        self, points: np.ndarray, axis: int, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Where the label of omega itself changes along lines, about, filled up by infinities."""
        count = min(math.ceil((high - low).max() / (_SCAN * self._widths[axis])), _MOST_STEPS)
        x = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, count + 1)
        u = np.repeat(points[:, None, :], count + 1, axis=1)
        u[..., axis] = x
        label = np.asarray(self.channel.target(u @ self.L.T))
        line, step = np.nonzero(label[:, 1:] != label[:, :-1])
        place = np.arange(len(line)) - np.searchsorted(line, line)
        found = np.full((len(points), place.max(initial=-1) + 1), math.inf)
        found[line, place] = (x[line, step] + x[line, step + 1]) / 2
        return found

    def cut_panels(self, points: np.ndarray, axis: int, length: float) -> Panels:
        """Panels along an axis, cut at kinks; those with next to no wrong labels are left out."""
        panels = self.panels(points, axis, length)
        kinks, errors = self._scan(points, axis, panels)
        keys = 4 * RADIUS[self.k] * panels.line + panels.low
        within = np.searchsorted(keys, 4 * RADIUS[self.k] * kinks.line + kinks.place) - 1
        within = np.maximum(within, 0)
        away = np.minimum(kinks.place - panels.low[within], panels.high[within] - kinks.place)
        cut = away > _TOO_NEAR * (panels.high - panels.low)[within]
        owner = np.concatenate([np.flatnonzero(errors > _NOTHING), within[cut]])
        low = np.concatenate([panels.low[errors > _NOTHING], kinks.place[cut]])
        order = np.lexsort((low, owner))
        owner, low = owner[order], low[order]
        high = panels.high[owner]
        again = np.flatnonzero(owner[1:] == owner[:-1])
        high[again] = low[again + 1]
        return Panels(panels.line[owner], low, high)

    def _scan(self, points: np.ndarray, axis: int, panels: Panels) -> tuple[Kinks, np.ndarray]:
        """Kinks along an axis, and the largest chance of error at three points of every panel."""

        def logarithms(line: np.ndarray, x: np.ndarray) -> np.ndarray:
            u = points[line]
            u[:, axis] = x
            return self.log_z(u)

        is_last = np.append(panels.line[1:] != panels.line[:-1], True)  # of its line
        count = len(is_last)
        line = np.concatenate([panels.line, panels.line, panels.line[is_last]])
        middle = (panels.low + panels.high) / 2
        x = np.concatenate([panels.low, middle, panels.high[is_last]])
        logs = logarithms(line, x)
        errors = chance_of_error(logs)
        after = np.append(errors[1:count], 0.0)
        after[is_last] = errors[2 * count :]
        order = np.lexsort((x, line))
        kinks = Kinks(*label_changes(logarithms, line[order], x[order], logs[order]))
        return kinks, np.maximum(np.maximum(errors[:count], errors[count : 2 * count]), after)


def _are_independent(normals: np.ndarray, V: np.ndarray) -> bool:
    """Whether planes that are not parallel are orthogonal in the metric of V."""
    covariances, cosines = (
        gram / np.sqrt(np.multiply.outer(np.diag(gram), np.diag(gram)))
        for gram in (normals @ V @ normals.T, normals @ normals.T)
    )
    return bool(((np.abs(covariances) < _SAME) | (np.abs(cosines) > 1 - _SAME)).all())


def chance_of_error(logs: np.ndarray) -> np.ndarray:
    """Chance (m,) that the most probable of labels is wrong; `logs` as in `LabelLines.log_z`."""
    others = np.exp(logs).sum(axis=1) - 1
    return np.asarray(others / (1 + others))

r"""Posterior of z given a label with Gaussian noise, the linear part integrated in closed form.

With the decomposition :math:`g(z) = h(u) + \langle\beta(u), t\rangle` of
:mod:`~gradone.channels.linear_part` and the prior :math:`z \sim N(\omega, V)`,

.. math::
    y \mid u \sim N(m, D), \qquad m = h + \langle \beta, \omega_t + C(u-\omega_u)\rangle,
    \qquad D = \Delta + \beta^T (V_{tt} - C V_{ut}) \beta, \qquad C = V_{tu} V_{uu}^{-1} [NP-1]

so only u is left, and every answer is a moment of :math:`q = (x, \beta\rho)` with
:math:`u = \omega_u + L x`, :math:`L L^T = V_{uu}` and :math:`\rho = (y - m)/D`:

.. math::
    g_{out} = A\,\mathbb{E}[q \mid y], \qquad
    \partial g_{out} = A\,\big(\mathrm{Cov}[q \mid y]
    - \mathrm{diag}(I, \mathbb{E}[\beta\beta^T/D \mid y])\big) A^T, \qquad
    A = \begin{pmatrix} L^{-T} & -C^T \\ 0 & I \end{pmatrix}                             [NP-2]
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..base.errors import BadData, NotConverged, OutOfRegime
from ..calculus.integrand import Plane
from ..targets.target import Target
from .base import Outcomes, Posterior, PosteriorChannel
from .lattice import REACH, gaussian_lattice, panel_lattice
from .layers import Layers
from .linear_part import linear_part
from .moments import Frame, Moments, prior_frame, sample_moments
from .output_density import OutputDensity, output_density
from .panels import DENSER, LEAST, breaks_by_axis, panel_nodes

_BLOCK = 2**16  # numbers in one array of a block: a few of them fit the cache
_ROTATIONS = 16
_STEPS = tuple(0.7 * 0.8**i for i in range(24))  # steps that are tried for the lattice
_MAX_NODES = 2**14  # most nodes of one sample
_MAX_REMOTE = 2**16  # the same for a sample that needs more than the others
# Relative root-mean-square error of g_out in the posterior of samples, by the dimension of u.
_TOLERANCE = (0.0, 1e-3, 5e-3, 1e-2, 2e-2)
_FAILED = 0.1
_SINGLE = 300.0  # size of labels, in standard deviations, up to which single precision will do
_FEW = 2.5  # effective nodes of a posterior that is not resolved
_PROBES = 96
# Steps are chosen anew when the size of V changes by this factor; for rough outcomes by the second.
_CHANGE, _ROUGH_CHANGE = 1.25, 1.6
_RIM = 1.0  # a posterior closer to the rim of the nodes than this may lie outside
_CHUNK = 2**16  # nodes of one chunk of outcomes
# Radius R of the nodes: what is beyond has R^2 exp(-R^2/2) of E[g g^T].
_OUTCOME_REACH, _ROUGH_REACH, _MORE_REACH = 5.5, 4.5, 0.75  # the last for each halving of the step
_OUTCOME_TOLERANCE, _ROUGH_OUTCOMES = 1.5e-6, 1e-3
_OUTCOME_FAILED = 1e-5  # what is left of E[g g^T] with the most nodes
_MAX_OUTCOME_NODES = (2**19, 2**19, 2**19, 2**17, 2**17)  # by the dimension of u
_COARSEST, _FINER = 0.5, 0.8  # first step, and the factor by which steps shrink
_STEP_PROBES, _WIDER = 8, 1.25  # prior means on which steps are chosen: tails are seen as well
_LEAST_SPREAD = 0.05
_LOWEST = -700.0  # logarithm of the evidence of labels that are listed but have no weight


class NoisyPosterior(PosteriorChannel):
    r"""Posterior channel of labels with Gaussian noise, or with a linear part.

    Parameters
    ----------
    target : Target
        A target with noise, or one whose linear part has a constant coefficient: that part is a
        noise for the rest.
    resolution : int
        Number of times that the step of every rule is halved; -1 for rough outcomes.

    Notes
    -----
    The posterior of samples uses a lattice around each prior mean. Its step is the largest whose
    g_out and derivative change little when it is made smaller, on a part of the samples: by 0.1 %
    for one nonlinear direction, 0.5 % for two, 1 % for three (root mean square). Where the noise is
    so small that this takes many nodes, quadratic functions and those that follow functions of one
    form between their breaks are integrated formula by formula (:mod:`.layers`).
    Outcomes use panels that end at the breaks of the function, with steps that fix
    :math:`\mathbb{E}[g g^T]` to 1e-5.

    Examples
    --------
    The label :math:`z + \xi` at :math:`\omega = 0, V = 1`: Z is the Gaussian of variance 2.

    >>> channel = NoisyPosterior(Target("z", noise=1.0))
    >>> answer = channel.posterior(np.array([1.0]), np.zeros((1, 1)), np.eye(1))
    >>> answer.g.tolist(), answer.dg.tolist(), round(float(answer.log_z[0]), 6)
    ([[0.5]], [[[-0.5]]], -1.515512)
    """

    varies_at_breaks = True

    def __init__(self, target: Target, resolution: int = 0) -> None:
        super().__init__(target, resolution)
        self.is_rough = resolution < 0
        self._outcome_tolerance = _ROUGH_OUTCOMES if self.is_rough else _OUTCOME_TOLERANCE
        self._reach = (
            _ROUGH_REACH if self.is_rough else _OUTCOME_REACH + _MORE_REACH * self.resolution
        )
        self.noise = target.noise
        self.part = linear_part(target.expression)
        planes, _ = target.expression.breaks
        self._planes = tuple(
            Plane(
                tuple(float(c) for c in self.part.frame[: self.part.k] @ plane.normal), plane.offset
            )
            for plane in planes
        )
        self._breaks = [len(breaks) for breaks in breaks_by_axis(self._planes, self.part.k)]
        self._lattice_step: tuple[np.ndarray, float | None] | None = None
        # The last that were chosen.
        self._panel_steps: list[tuple[np.ndarray, list[float] | None]] = []

    def finer(self) -> NoisyPosterior:
        """Channel that halves the steps which this one chooses."""
        new = NoisyPosterior(self.target, self.resolution + 1)
        new._panel_steps = self._panel_steps
        return new

    def check_labels(self, y: np.ndarray) -> None:
        """Raise :class:`~gradone.BadData` unless every label is a finite number."""
        check_finite(y)

    # ---- posterior of samples

    def posterior(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""
        y = np.asarray(y, dtype=np.float64)
        frame = prior_frame(self.part, V)
        means = np.asarray(omega, dtype=np.float64) @ self.part.frame.T
        step = self._chosen_step(y, means, frame, V)
        if step is None:
            assert self._layers is not None
            return self._layers.posterior(y, omega, V)
        return self._with_step(y, means, frame, step / 2**self.resolution)

    @cached_property
    def _layers(self) -> Layers | None:
        """Rule for thin layers around level sets, None if there is none.

        A linear part is a noise of its own, and one nonlinear direction needs no other rule.
        """
        if self.part.k < 2 or not self.noise:
            return None
        try:
            return Layers(self.target, self.resolution)
        except OutOfRegime:
            return None

    def _with_step(
        self, y: np.ndarray, means: np.ndarray, frame: Frame, step: float, *, refine: bool = True
    ) -> Posterior:
        """Posterior with a given step of the nodes, refined where a sample needs it."""
        k, n, size = self.part.k, len(y), self.part.k + self.part.s
        found = Moments(np.empty(n), np.empty((n, size)), np.empty((n, size, size)), np.empty(n))
        todo, reach = np.arange(n), REACH[k]
        while len(todo):
            self._fill(found, todo, y, means, frame, step, reach)
            if k == 0 or not refine or _count(k, step / 2, 1.5 * reach) > _MAX_REMOTE:
                break
            # A posterior at the rim, or on very few nodes, needs a wider and finer rule.
            distance = np.trace(found.second[todo, :k, :k], axis1=1, axis2=2) + k
            todo = todo[(distance > (reach - _RIM) ** 2) | (found.effective[todo] < _FEW)]
            step, reach = step / 2, 1.5 * reach
        back = self.part.frame.T @ frame.scores
        centered = found.second - found.first[:, :, None] * found.first[:, None, :]
        return Posterior(found.log_z, found.first @ back.T, back @ centered @ back.T)

    def _fill(
        self,
        found: Moments,
        todo: np.ndarray,
        y: np.ndarray,
        means: np.ndarray,
        frame: Frame,
        step: float,
        reach: float,
    ) -> None:
        """Write the moments of some samples, block by block."""
        k = self.part.k
        rows = max(1, _BLOCK // max(1, int(_count(k, step, reach))))
        single = self._is_single(y[todo], frame)
        for i, start in enumerate(range(0, len(todo), rows)):
            block = todo[start : start + rows]
            if self._planes and k == 1:
                omega = means[block, :k]
                nodes = panel_lattice(self._planes, omega, frame.root, step, reach)
            else:  # in more dimensions, panels for every sample cost more than a finer lattice
                nodes = gaussian_lattice(k, step, i % _ROTATIONS, reach, single)
            part = sample_moments(self.part, self.noise, frame, y[block], means[block], nodes)
            for array, values in zip(found, part, strict=True):
                array[block] = values

    def _is_single(self, y: np.ndarray, frame: Frame) -> bool:
        """Whether the rounding of single precision is far below the error of the lattice."""
        deviation = np.sqrt(self.noise + self.part.slope**2 * frame.rest[-1:, -1:].sum())
        small = bool(np.abs(y).max() < _SINGLE * deviation)
        return small and self.part.k > 1 and self.resolution == 0

    def _chosen_step(
        self, y: np.ndarray, means: np.ndarray, frame: Frame, V: np.ndarray
    ) -> float | None:
        """Largest step whose g_out changes little when it is made smaller.

        None where a lattice would cost more than the layers around the level sets.
        """
        k = self.part.k
        if k == 0 or not len(y):
            return _STEPS[0]
        if self._lattice_step is not None and _similar(V, self._lattice_step[0]):
            return self._lattice_step[1]
        which = np.unique(np.linspace(0, len(y) - 1, _PROBES).astype(np.int64))
        y, means = y[which], means[which]
        tolerance = _TOLERANCE[k]
        error, chosen = np.inf, _STEPS[0]
        known: dict[float, Posterior] = {}
        scale = float(np.sqrt(np.trace(V) / len(V)))
        most = min(_MAX_NODES, self._layers.worth) if self._layers else _MAX_NODES
        for step, finer in zip(_STEPS, _STEPS[2:], strict=False):
            if _count(k, finer, REACH[k]) > most:
                break
            for h in (step, finer):
                if h not in known:
                    known[h] = self._with_step(y, means, frame, h, refine=False)
            error = _difference(known[step], known[finer], scale)
            chosen = step
            if error < tolerance:
                break
        if error > tolerance and self._layers is not None:
            self._lattice_step = (np.array(V), None)
            return None
        if error > _FAILED:
            raise NotConverged(
                f"the posterior of z for '{self.target.text}' with noise = {self.noise:g} is known "
                f"only to {100 * error:.0f} % with the most nodes allowed: the noise is too small "
                f"for an integral over {k} nonlinear directions. Use a larger noise, or noise = 0."
            )
        self._lattice_step = (np.array(V), chosen)
        return chosen

    # ---- outcomes

    def outcomes(self, omega: np.ndarray, V: np.ndarray, *, curvature: bool = False) -> Outcomes:
        """Every label that may come out at the prior means `omega` (m, r), covariance `V`."""
        omega = np.asarray(omega, dtype=np.float64)
        is_quadratic = self._layers is not None and self._layers.needs_no_nodes
        chosen = None if is_quadratic and self.r > 2 else self._chosen_panels(V)
        if chosen is None:
            assert self._layers is not None
            return self._layers.outcomes(omega, V, curvature=curvature)
        return self._on_panels(omega, V, [h / 2**self.resolution for h in chosen], curvature)

    def _on_panels(
        self, omega: np.ndarray, V: np.ndarray, steps: list[float], curvature: bool = False
    ) -> Outcomes:
        """Outcomes with given steps of the nodes."""
        k, s = self.part.k, self.part.s
        frame = prior_frame(self.part, V)
        means = omega @ self.part.frame.T
        back = self.part.frame.T @ frame.scores
        parts = []
        rows = self._rows(steps)
        for start in range(0, len(omega), rows):
            block = means[start : start + rows]
            nodes = panel_nodes(self._planes, block[:, :k], frame.root, steps, self._reach)
            h, beta = self.part(list(nodes.z.T))
            mean = np.array(np.broadcast_to(h, nodes.owner.shape), dtype=np.float64)
            variance: Any = self.noise
            for a in range(s):
                at = block[nodes.owner, k + a] + nodes.x @ (frame.conditional[a] @ frame.root)
                mean += beta[a] * at
                for b in range(s):
                    variance = variance + frame.rest[a, b] * beta[a] * beta[b]
            parts.append(
                output_density(
                    nodes.owner, len(block), nodes.weight, nodes.x, mean, variance, beta,
                    curvature=curvature, rough=self.resolution == 0,
                )
            )  # fmt: skip
        return _joined(parts, back)

    def _rows(self, steps: list[float]) -> int:
        """Number of prior means whose nodes are treated together."""
        # Lines through the middle of the ball, of which the others have less.
        lines = [
            2 * self._reach / h if not breaks else DENSER * 2 * self._reach / h + LEAST * breaks
            for h, breaks in zip(steps, self._breaks, strict=True)
        ]
        return max(1, int(_CHUNK / math.prod(lines)))

    def _chosen_panels(self, V: np.ndarray) -> list[float] | None:
        """Steps along each coordinate, halved until the mean of g g^T does not change.

        None if they would be too small and there are layers around the level sets.
        """
        k = self.part.k
        change = _ROUGH_CHANGE if self.is_rough else _CHANGE
        steps = [_COARSEST] * k
        for last, chosen in self._panel_steps:
            if _similar(V, last, change):
                return chosen
            if chosen is None:
                continue
            steps = [min(h / _FINER**2, _COARSEST) for h in chosen]  # a bit coarser to begin with
        values, vectors = np.linalg.eigh(np.eye(self.r) - V)
        # Not all at 0 when nothing is known yet: there, symmetry may hide an error.
        spread = vectors * np.sqrt(np.clip(values, _LEAST_SPREAD, 1.0)) @ vectors.T
        count = _STEP_PROBES if k > 1 else 3 * _STEP_PROBES
        omega = _probes(self.r, count // 2 if self.is_rough else count) @ spread

        def second(steps: list[float]) -> np.ndarray:
            out = self._on_panels(omega, V, steps)
            share = out.weight * np.exp(out.log_z)
            J = np.einsum("mk,mki,mkj->ij", share, out.g, out.g)
            return np.append(J / np.trace(J), (share * out.log_z).sum() / len(omega))

        def difference(finer: np.ndarray, coarser: np.ndarray) -> float:
            return float(np.abs(finer - coarser).max())

        # All coordinates together first: while one of them is too coarse, the others look rough.
        value, error = second(steps), np.inf if k else 0.0
        while error > self._outcome_tolerance:
            finer = [_FINER * h for h in steps]
            if math.prod(2 * self._reach / h for h in finer) > _MAX_OUTCOME_NODES[k]:
                if error < _OUTCOME_FAILED:
                    break
                if self._layers is not None and self._layers.has_outcomes:
                    self._panel_steps[:] = [(np.array(V), None)]
                    return None
                raise NotConverged(
                    f"E[g g^T] of '{self.target.text}' with noise = {self.noise:g} is known only "
                    f"to {error:.0e} with the finest nodes allowed: the noise is too small for an "
                    f"integral over the {k} nonlinear directions. Use a larger noise, or noise = 0."
                )
            previous, value = value, second(finer)
            error = difference(value, previous)
            if error > self._outcome_tolerance:
                steps = finer
        for axis in range(k if k > 1 else 0):
            while steps[axis] < _COARSEST:
                coarser = [h / _FINER if a == axis else h for a, h in enumerate(steps)]
                if difference(value, second(coarser)) > self._outcome_tolerance:
                    break
                steps = coarser
        self._panel_steps[:] = [(np.array(V), steps)]
        return steps


def check_finite(y: np.ndarray) -> None:
    """Raise :class:`~gradone.BadData` unless every label is a finite number."""
    bad = np.flatnonzero(~np.isfinite(np.asarray(y, dtype=np.float64)))
    if len(bad):
        raise BadData(
            f"the label {float(np.asarray(y)[bad[0]])!r} in row {bad[0]} is not a finite number; "
            "any finite number may come out of a channel with Gaussian noise. Drop the samples "
            "without a label."
        )


def _difference(answer: Posterior, better: Posterior, scale: float) -> float:
    """Relative difference of two answers; `scale` is the size of the prior deviation.

    By symmetry g_out may be 0: a tenth of its derivative counts as its size then.
    """
    slope = float(np.linalg.norm(better.dg))
    size = max(float(np.linalg.norm(better.g)), 0.1 * scale * slope)
    return max(
        float(np.linalg.norm(better.g - answer.g)) / size,
        float(np.linalg.norm(better.dg - answer.dg)) / (2 * slope),
    )


def _count(k: int, step: float, reach: float) -> float:
    """Number of nodes at a distance in a ball, roughly."""
    return (1.0, 2.0, np.pi, 4.19, 4.93)[k] * (reach / step) ** k


def _similar(V: np.ndarray, other: np.ndarray, factor: float = _CHANGE) -> bool:
    """Whether two covariances are of the same size in every direction, up to a factor."""
    ratios = np.linalg.eigvals(np.linalg.solve(other, V)).real
    return bool(ratios.min() > 1 / factor and ratios.max() < factor)


@lru_cache(maxsize=8)
def _probes(r: int, count: int) -> np.ndarray:
    """Points (count, r) that cover a Gaussian evenly, a bit wider than the standard one."""
    from scipy.special import ndtri

    # Multiples of the powers of 1/p modulo 1, with p^(r + 1) = p + 1: of the golden ratio if r = 1.
    p = max(np.roots([1.0, *[0.0] * (r - 1), -1.0, -1.0]).real)
    quantiles = (0.5 + np.outer(np.arange(1, count + 1), p ** -np.arange(1.0, r + 1))) % 1
    return _WIDER * np.asarray(ndtri(quantiles))


def _joined(parts: list[OutputDensity], back: np.ndarray) -> Outcomes:
    """Outcomes of several chunks, padded to one length."""
    length = max(part.y.shape[1] for part in parts)

    def padded(array: np.ndarray, value: float) -> np.ndarray:
        if array.shape[1] == length:
            return array
        width = [(0, 0)] * array.ndim
        width[1] = (0, length - array.shape[1])
        return np.pad(array, width, constant_values=value)

    y, weight, log_z, g, dg = [], [], [], [], []
    for part in parts:
        seen = part.mass > 0
        mass = np.where(seen, part.mass, 1.0)
        y.append(padded(part.y, 0.0))
        weight.append(padded(np.where(seen, part.step, 0.0), 0.0))
        log_z.append(padded(np.log(mass, out=np.full(mass.shape, _LOWEST), where=seen), _LOWEST))
        share = np.where(seen, 1 / mass, 0.0)[..., None]
        q = share * part.features
        g.append(padded(q @ back.T, 0.0))
        if part.second is not None:
            centered = share[..., None] * part.second - q[..., :, None] * q[..., None, :]
            dg.append(padded(back @ centered @ back.T, 0.0))
    found = Outcomes(*(np.concatenate(rows) for rows in (y, weight, log_z, g)))
    return found._replace(dg=np.concatenate(dg)) if dg else found

r"""Gaussian means that drive the flow, over points in the moving frame.

Fields and labels of a fresh sample are :math:`\lambda = M z + S u`, :math:`y = g(z, \xi) +
\sqrt\Delta\,\zeta` with independent standard normal z, u, :math:`\xi`, :math:`\zeta` and any root S
of :math:`Q - MM^\top`: one set of points serves all times.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...analysis.linear_stage.rules import Update
from ...calculus.hermite import normal_density
from ...calculus.line import gauss_legendre
from ...calculus.sobol import MAX_DIMENSION, SobolSequence, gaussian_points
from ...targets.language.bounds import growth
from ...targets.language.expression import Expression
from ...targets.language.lines import Curved, line_zeros
from ...targets.target import Target
from ...targets.training import TrainedStudent
from ._flow_push import Neurons, Push

_SEED = 20260102
_WIDER = 1.3
_STRIP = 256
_REACH = 9.0  # a standard normal variable is never farther out


class Means(NamedTuple):
    r"""What the flow needs to know of one sample.

    Parameters
    ----------
    with_z : ndarray (p, r)
        E[s z^T].
    with_rest : ndarray (p, p)
        E[s (lambda - M z)^T].
    squares : ndarray (p, p)
        E[s s^T].
    readout, bias : ndarray (p,)
        E[e sigma(lambda_j)] and E[a_j e sigma'(lambda_j)].
    mse : float
        E[(y - f)^2].
    """

    with_z: np.ndarray
    with_rest: np.ndarray
    squares: np.ndarray
    readout: np.ndarray
    bias: np.ndarray
    mse: float


class MeanRule(ABC):
    """A way to compute the means; its cost is that of one evaluation of the flow."""

    is_smooth: bool
    """Whether the computed means are smooth functions of the state."""

    @abstractmethod
    def __call__(self, neurons: Neurons) -> Means:
        """Means at a state."""


def root(matrix: np.ndarray) -> np.ndarray:
    """Symmetric square root; eigenvalues that rounding made negative count as zero.

    Examples
    --------
    >>> root(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[2., 0.],
           [0., 0.]])
    """
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


class SobolMeans(MeanRule):
    """Means over one scramble of a Sobol net, for any student.

    Parameters
    ----------
    push : Push
        The rule.
    target : Target
        What is learned.
    M : ndarray (p, r)
        Overlaps at the start, whose symmetries the points respect.
    scramble : int
        Number of the scramble.
    points : int
        A power of two.
    """

    def __init__(
        self, push: Push, target: Target, M: np.ndarray, *, scramble: int, points: int
    ) -> None:
        p, r, g = push.student.width, target.r, target.joint
        scales = (widening(g),) * g.r + (widening(push.activation.expression),) * p
        scales += (1.0,) * (target.noise > 0)
        # Label noise and the fields' own parts are the same in all copies.
        overlaps = np.pad(M, ((0, 0), (0, target.q)))
        signs = tuple(sign + (1,) * (len(scales) - g.r) for sign in mirrors(g, overlaps))
        cloud, self._weight = cloud_of(scales, signs, scramble, points)
        self._push = push
        self._z, self._u = cloud[:, :r].copy("F"), cloud[:, g.r : g.r + p].copy("F")
        self._y = g(cloud[:, : g.r].copy())
        if target.noise:
            self._y = self._y + math.sqrt(target.noise) * cloud[:, -1]
        # Points cross the kinks one by one: the means jump.
        self.is_smooth = not push.has_jumps

    def __call__(self, neurons: Neurons) -> Means:
        """Means at a state."""
        rest = _mapped(self._u, root(neurons.rest))
        return _over_points(self._push, neurons, self._z, rest, self._y, self._weight)


def widening(function: Expression) -> float:
    """Width of the law of the points: growing functions have their weight in the tails."""
    degree, linear, quadratic = growth(function.tree)
    if quadratic > 0 or linear > 0 or degree > 1:
        return _WIDER / math.sqrt(max(1 - 4 * quadratic, 0.1))
    return 1.0


def mirrors(g: Expression, M: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Sign flips of the variables that change neither a function nor overlaps, as a group.

    Examples
    --------
    >>> mirrors(Expression("z1*z2"), np.zeros((1, 2)))
    ((-1, -1), (1, 1))
    >>> mirrors(Expression("z1*z2"), np.array([[0.0, 0.1]]))
    ((1, 1),)
    """
    group = {(1,) * g.r}
    free = [i for i in range(1, g.r + 1) if not M[:, i - 1].any()]
    for size in range(1, len(free) + 1):
        for flipped in itertools.combinations(free, size):
            if g.parity(*flipped) == "even":
                new = [-1 if i in flipped else 1 for i in range(1, g.r + 1)]
                group |= {tuple(s * t for s, t in zip(signs, new, strict=True)) for signs in group}
    return tuple(sorted(group))


@lru_cache(maxsize=16)
def cloud_of(
    scales: tuple[float, ...], copies: tuple[tuple[int, ...], ...], scramble: int, points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, dimension) and weights with mean zero and unit covariance to all digits.

    What is linear or quadratic in the point is then integrated without error, and what a symmetry
    of target and start forbids is zero: a neuron without overlap does not begin to move by chance.
    """
    rng = np.random.default_rng([_SEED, scramble])
    sequence = SobolSequence(min(len(scales), MAX_DIMENSION), rng)
    cloud = gaussian_points(sequence.draw(max(points // len(copies), 1)))
    # Batches of several samples have more dimensions than a net: the rest is random.
    more = rng.standard_normal((len(cloud), len(scales) - cloud.shape[1]))
    cloud = np.concatenate([cloud, more], axis=1) * scales
    cloud = np.concatenate([cloud * signs for signs in copies])
    weight = np.exp(-0.5 * (cloud**2 @ (1 - np.array(scales) ** -2.0)))
    weight /= weight.sum()
    cloud -= weight @ cloud
    factor = np.linalg.cholesky((cloud.T * weight) @ cloud)
    return np.ascontiguousarray(np.linalg.solve(factor, cloud.T).T), weight


class LineMeans(MeanRule):
    """Means for one neuron and one direction, on panels that end where the push jumps.

    Parameters
    ----------
    push : Push
        The rule, for one neuron; without label noise or plain.
    target : Target
        A function of one variable.
    nodes : int
        Of each panel.
    """

    is_smooth = True

    def __init__(self, push: Push, target: Target, *, nodes: int) -> None:
        self._push, self._nodes = push, nodes
        t, mass = self._panels(push, target)
        # A plain push is linear in the label and its square quadratic: three points do for a noise.
        is_noisy = target.noise > 0 or target.q > 0
        levels, shares = np.polynomial.hermite_e.hermegauss(3 if is_noisy else 1)
        y = target.mean(t[:, None])[:, None]
        if is_noisy:
            spread = np.maximum(target.noise + target.conditional_variance(t[:, None]), 0.0)
            y = y + np.sqrt(spread)[:, None] * levels
        self._z, self._y = np.repeat(t, len(levels)), y.ravel()
        self._mass = np.outer(mass, shares / shares.sum()).ravel()
        self._jumps_at: tuple[float, np.ndarray] | None = None

    def _panels(self, push: Push, target: Target) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and masses in the target's variable."""
        edges = [
            *np.linspace(-_REACH, _REACH, 13),
            *np.clip(target.regression.kinks, -_REACH, _REACH),
        ]
        if not push.is_plain:
            # At these labels a jump appears in the field: the averages over it have a kink there.
            a = push.student.a[0] * (push.student.loss == "square")
            levels = {a * float(push.activation(kink)) for kink in push.activation.kinks}
            if push.student.rule == "plain":
                levels |= set(_update(push.student, push.student.a[0], 0.0).label_breaks)
            for level in sorted(levels):
                try:
                    zeros = line_zeros(lambda t, level=level: target.link(t) - level)  # type: ignore[misc]
                except Curved:
                    zeros = []
                edges += [zero for zero in zeros if abs(zero) < _REACH]
        ends = np.unique(edges)
        x, weight = gauss_legendre(self._nodes)
        length = np.diff(ends)[:, None]
        t = (ends[:-1, None] + length * x).ravel()
        return t, (length * weight).ravel() * normal_density(t)

    def __call__(self, neurons: Neurons) -> Means:
        """Means at a state."""
        m, width = float(neurons.M[0, 0]), math.sqrt(max(float(neurons.rest[0, 0]), 1e-300))
        n = len(self._y)
        jumps = self._jumps(float(neurons.a[0])) - float(neurons.b[0])
        inside = np.clip((jumps - m * self._z[:, None]) / width, -_REACH, _REACH)
        fixed = np.broadcast_to(np.linspace(-_REACH, _REACH, 9), (n, 9))
        edges = np.sort(np.concatenate([fixed, inside], axis=1))
        x, weight = gauss_legendre(self._nodes)
        length = np.diff(edges, axis=1)[..., None]
        u = (edges[:, :-1, None] + length * x).reshape(n, -1)
        mass = (length * weight).reshape(n, -1) * normal_density(u) * self._mass[:, None]
        z, y = (np.repeat(column, u.shape[1]) for column in (self._z, self._y))
        rest = width * u.reshape(-1, 1)
        return _over_points(self._push, neurons, z[:, None], rest, y, mass.ravel())

    def _jumps(self, a: float) -> np.ndarray:
        """Arguments of the activation at which the push jumps, (n, k), padded with infinity."""
        if self._jumps_at is None or self._jumps_at[0] != a:
            s = self._push.student
            inner = 0.0 if s.rule in ("plain", "sam_normalized") else s.inner_eta / s.batch_size
            self._jumps_at = a, _update(s, a, inner).jumps(self._y)
        return self._jumps_at[1]


def _update(student: TrainedStudent, a: float, inner: float) -> Update:
    """The push of one neuron, as the analysis knows it."""
    clip = math.inf if student.clip_norm is None else student.clip_norm
    return Update(
        student.sigma, student.rule, student.loss, a, inner, student.inner_steps,
        student.radius or 0.0, student.loss_scale, student.optimizer, clip,
    )  # fmt: skip


def _over_points(
    push: Push,
    neurons: Neurons,
    z: np.ndarray,
    rest: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
) -> Means:
    """Means over points with weights."""
    found = push(_mapped(z, neurons.M.T) + rest, y, neurons.a, neurons.b)
    moves = found.moves * weight[:, None]
    error = found.error * weight
    return Means(
        with_z=_summed(moves, z),
        with_rest=_summed(moves, rest),
        squares=_summed(moves, found.moves) / push.gain**2,
        readout=np.einsum("n,nj->j", error, found.features),
        bias=neurons.a * np.einsum("n,nj->j", error, found.slopes),
        mse=float((weight * found.misfit**2).sum()),
    )


# Products of long and narrow matrices in strips so short that BLAS does not wake its threads, which
# cost more than they bring. The columns lie one behind the other, so that what is done to each
# number is done along them and not along two or three neurons.


def _strips(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, q) as (k, strip, q), and the rows that are left over."""
    whole = len(x) // _STRIP * _STRIP
    return x[:whole].reshape(-1, _STRIP, x.shape[1]), x[whole:]


def _mapped(x: np.ndarray, A: np.ndarray) -> np.ndarray:
    """The product x A."""
    body, tail = _strips(x)
    found = np.empty((len(x), A.shape[1]), order="F")
    whole = len(x) - len(tail)
    found[:whole] = (body @ A).reshape(-1, A.shape[1])
    found[whole:] = tail @ A
    return found


def _summed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product left^T right."""
    (body, tail), (other, end) = _strips(left), _strips(right)
    return (body.transpose(0, 2, 1) @ other).sum(axis=0) + tail.T @ end

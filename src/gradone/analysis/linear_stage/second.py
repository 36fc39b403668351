r"""The second stage of SGD: what grows from a neuron that has learned a direction.

A neuron with overlap c with the unit vector q has the field c t + sqrt(1 - c^2) w with t = <q, z>
and w ~ N(0, 1) independent of z.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...base.estimate import Estimate, Kind
from ...calculus.coefficients import BlockCoefficients
from ...calculus.expansion import block_coefficients
from ...calculus.hermite import normal_density
from ...calculus.integrand import Integrand, Plane
from ...targets.language.bounds import growth
from ...targets.language.coordinates import rewrite
from ...targets.language.expression import Expression
from ...targets.subspace import Subspace
from .path import decided_sign
from .rules import Update

POINTS = 1 << 18
_WIDTHS = (0.16, 0.08, 0.04)  # of the field that smooths a jump, extrapolated to zero
_SIDE = 1e-9


@dataclass(frozen=True)
class SecondStage:
    r"""Growth of new directions once a neuron points along :math:`\pm q`.

    .. math::
        (K_2)_{kl} = \mathbb{E}[\phi'(\lambda, y)\,z_k z_l]
        - \delta_{kl}\big(\mathbb{E}[\phi\lambda] + \tfrac{\gamma}{2}\mathbb{E}[\phi^2]\big),
        \qquad k, l \perp q \qquad [ES-4]

    Parameters
    ----------
    learned : ndarray, shape (r,)
        The unit vector q.
    frame : ndarray, shape (r - 1, r)
        Orthonormal rows that complete q; the entries below are in this frame.
    drift : tuple of Estimate
        :math:`\mathbb{E}[\phi z_k]`; where it is not zero a new direction needs O(d) steps.
    growth : tuple of tuple of Estimate
        :math:`K_2`.
    gamma, overlap : float
        Step (d times eta), and overlap of the neuron with q.
    note : str
        What a reader should know.

    Notes
    -----
    A positive eigenvalue is necessary, not sufficient: the noise of SGD keeps the first overlap
    below one. Evaluate it at the overlap where the first stage stops, too.
    """

    learned: np.ndarray
    frame: np.ndarray
    drift: tuple[Estimate, ...]
    growth: tuple[tuple[Estimate, ...], ...]
    gamma: float
    overlap: float = 1.0
    note: str = ""

    @cached_property
    def matrix(self) -> np.ndarray:
        """Values of K_2 as an array (r - 1, r - 1)."""
        return np.array([[e.value for e in row] for row in self.growth]).reshape(
            len(self.frame), len(self.frame)
        )

    @property
    def top(self) -> Estimate:
        """Largest eigenvalue of K_2; minus infinity if there is no other direction."""
        if not self.growth:
            return Estimate(-math.inf, note="there is no other direction")
        error = math.hypot(*(e.error for row in self.growth for e in row))
        return Estimate(float(np.linalg.eigvalsh(self.matrix)[-1]), error, self.growth[0][0].kind)

    @property
    def escapes(self) -> bool | None:
        """Whether new directions can grow; None if the errors do not tell."""
        pushes = [decided_sign(e.value, e.error) for e in self.drift]
        if any(pushes):
            return True
        top = self.top
        grows = -1 if math.isinf(top.value) else decided_sign(top.value, top.error)
        return None if grows is None or None in pushes else grows > 0

    @property
    def direction(self) -> Subspace:
        """Directions that grow, in the coordinates of the target."""
        r = self.frame.shape[1]
        if not self.escapes:
            return Subspace.zero(r)
        if any(decided_sign(e.value, e.error) for e in self.drift):
            return Subspace.span(np.array([[e.value for e in self.drift]]) @ self.frame, r)
        values, vectors = np.linalg.eigh(self.matrix)
        return Subspace.span(vectors.T[values > 0] @ self.frame, r)

    def summary(self) -> str:
        """Outcome of the second stage in one sentence."""
        where = Subspace.span(self.learned[None, :]).describe("z")[5:-1]
        if math.isinf(self.top.value):
            return f"from {where}: there is no other direction"
        answer = {
            True: f"can learn {self.direction!r}",
            False: "learns nothing new",
            None: "undecided within the error",
        }[self.escapes]
        return f"from {where} at gamma = {self.gamma:.3g}: top of K2 = {self.top!r}; {answer}"


def second_stage(
    update: Update,
    target: Expression,
    noise: float,
    learned: Sequence[float] | np.ndarray,
    *,
    gamma: float,
    overlap: float = 1.0,
    points: int = POINTS,
) -> SecondStage:
    """Growth of new directions from a learned one [ES-4]; see :class:`SecondStage`."""
    q = np.asarray(learned, dtype=np.float64)
    q = q / np.linalg.norm(q)
    frame = Subspace.span(q[None, :]).complement().basis
    if not len(frame):
        return SecondStage(q, frame, (), (), gamma, overlap, "there is no other direction")
    rows = np.vstack([q[None, :], frame])
    field = _Field(update, rewrite(target, rows), noise, points)
    push, square = field.integral("push", 1, overlap), field.integral("square", 0, overlap)
    slope, note = field.slope(overlap)
    others = range(1, len(rows))
    along = _entry(push, {0: 1})
    loss = (along[0] * overlap, along[1])
    if overlap < 1:  # E[phi lambda] = c E[phi t] + s E[phi w], and E[phi w] = s E[phi']
        inner = _entry(slope, {})
        loss = (loss[0] + (1 - overlap**2) * inner[0], loss[1] + inner[1])
    noise_loss = _entry(square, {})
    shift = (loss[0] + gamma / 2 * noise_loss[0], loss[1] + gamma / 2 * noise_loss[1])
    kind: Kind = max((push.kind, square.kind, slope.kind), key=lambda k: k == "monte_carlo")

    def growth_entry(k: int, m: int) -> Estimate:
        value, error = _entry(slope, {k: 2} if k == m else {k: 1, m: 1})
        if k == m:  # z^2 = He_2 + 1
            mean, spread = _entry(slope, {})
            value, error = value + mean - shift[0], error + spread + shift[1]
        return Estimate(value, error + 1e-13, kind)

    return SecondStage(
        q,
        frame,
        tuple(field.drift(push, k) for k in others),
        tuple(tuple(growth_entry(k, m) for m in others) for k in others),
        gamma,
        overlap,
        note,
    )


def _entry(found: BlockCoefficients, beta: dict[int, int]) -> tuple[float, float]:
    """Mean of the function times He_beta, and its error."""
    index = tuple(beta.get(i, 0) for i in range(found.value.ndim))
    scale = math.sqrt(math.prod(map(math.factorial, index)))
    return float(scale * found.value[index]), float(scale * found.error[index])


def _extrapolated(parts: list[BlockCoefficients]) -> BlockCoefficients:
    """Limit of values at widths h, h/2, h/4 with errors in h and h^2."""
    a, b, c = (part.value for part in parts)
    value = (a - 6 * b + 8 * c) / 3
    error = np.abs(value - (2 * c - b)) + 3 * parts[-1].error + parts[0].error
    return BlockCoefficients(value, error, parts[-1].kind)


class _Field:
    """Means over z (and the noise) of the push of a neuron that has an overlap with z_1."""

    def __init__(self, update: Update, target: Expression, noise: float, points: int) -> None:
        self.update, self.target, self.noise, self.points = update, target, noise, points
        planes, self._is_curved = target.breaks
        extra = (0.0,) if noise else ()
        self._planes = tuple(Plane((*p.normal, *extra), p.offset) for p in planes)
        self._r = target.r + bool(noise)

    def drift(self, push: BlockCoefficients, k: int) -> Estimate:
        """Mean of the push times variable k; exactly 0 where a symmetry of the target says so."""
        others = range(2, self.target.r + 1)
        for size in others:
            for flipped in itertools.combinations(others, size - 1):
                if k + 1 in flipped and self.target.parity(*flipped) == "even":
                    return Estimate(0.0)
        return Estimate(*_entry(push, {k: 1}), push.kind)

    def slope(self, overlap: float) -> tuple[BlockCoefficients, str]:
        """Coefficients of the derivative of the push, jumps included, and a note."""
        if not self.update.has_jumps or overlap < 1:
            return self.integral("slope", 2, overlap), ""
        if self.update.is_plain:
            return self._with_slices(self.integral("slope", 2, 1.0)), ""
        parts = [self.integral("slope", 2, math.sqrt(1 - s * s)) for s in _WIDTHS]
        return _extrapolated(parts), "jumps of the push were smoothed over a field of width -> 0"

    def _with_slices(self, smooth: BlockCoefficients) -> BlockCoefficients:
        """Adds what the derivative has at the kinks: the jump, times the density there.

        If the label jumps on the same plane, the push has two jumps there, one for each side of
        the label. A neuron that moves by m crosses one for <m, z> > 0 and the other for < 0; their
        mean is the part that is linear in m.
        """
        value, error = smooth.value.copy(), smooth.error.copy()
        for kink in self.update.activation.kinks:
            rest = [Plane(p.normal[1:], p.offset - p.normal[0] * kink) for p in self._planes]
            lengths = [float(np.linalg.norm(p.normal)) for p in rest]
            planes = tuple(
                Plane(tuple(w / n for w in p.normal), p.offset / n)
                for p, n in zip(rest, lengths, strict=True)
                if n > 1e-9
            )
            step = Integrand(
                lambda columns, kink=kink: self._jump(kink, columns),  # type: ignore[misc]
                self._r - 1, planes, self._is_curved, False, *growth(self.target.tree),
            )  # fmt: skip
            found = block_coefficients(step, 2, 1e-8, self.points)
            density = float(normal_density(np.array(kink)))
            value[0] += density * found.value
            error[0] += density * found.error
        return BlockCoefficients(value, error, smooth.kind)

    def _jump(self, kink: float, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Jump of the push at a kink, averaged over the two sides of the label."""
        z = np.broadcast_arrays(*columns)
        total = np.zeros(z[0].shape)
        for side in (-_SIDE, _SIDE):
            first = np.full(z[0].shape, kink + side)
            y = self.target(np.stack([first, *z[: self.target.r - 1]], axis=-1))
            if self.noise:
                y = y + math.sqrt(self.noise) * z[-1]
            above, below = (self.update(np.full(y.shape, kink + s), y) for s in (_SIDE, -_SIDE))
            total += (above - below) / 2
        return total

    def integral(self, what: str, degree: int, overlap: float) -> BlockCoefficients:
        """Hermite coefficients in z of the push, its slope or its square, averaged over w."""
        planes, is_curved, points = self._planes, self._is_curved, self.points
        if self.update.has_jumps and overlap == 1.0:
            if self.update.is_plain:
                normal = (1.0,) + (0.0,) * (self._r - 1)
                planes += tuple(Plane(normal, kink) for kink in self.update.activation.kinks)
            else:
                is_curved = True
        elif self.update.has_jumps:
            # Narrow layers, which product rules do not see; each point costs an average over w.
            is_curved, points = True, points >> 2

        def values(columns: Sequence[np.ndarray]) -> np.ndarray:
            z = np.broadcast_arrays(*columns)
            y = self.target(np.stack(z[: self.target.r], axis=-1))
            if self.noise:
                y = y + math.sqrt(self.noise) * z[-1]
            return self._average(what, z[0].ravel(), y.ravel(), overlap).reshape(z[0].shape)

        degree_g, linear, quadratic = growth(self.target.tree)
        integrand = Integrand(
            values, self._r, planes, is_curved, False, 2 * degree_g + 4, 2 * linear, 2 * quadratic
        )
        return block_coefficients(integrand, degree, 1e-8, points)

    def _average(self, what: str, t: np.ndarray, y: np.ndarray, overlap: float) -> np.ndarray:
        if overlap == 1.0:
            if what == "slope":
                return self.update.slope(t, y)
            return self.update(t, y) ** (2 if what == "square" else 1)
        width = math.sqrt(1 - overlap**2)
        row = {"push": 0, "slope": 1, "square": 2}[what]
        cells = 4 if width < 0.3 else 12
        parts = [
            self.update.averages(y[i : i + 8192], mean=overlap * t[i : i + 8192], width=width,
                                 nodes=10, cells=cells)[row]
            for i in range(0, len(t), 8192)
        ]  # fmt: skip
        return np.concatenate(parts) / (width if what == "slope" else 1.0)

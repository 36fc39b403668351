r"""One sample's push on a neuron, for every rule, and its average over the neuron's own field.

A neuron far from the target has a field u ~ N(0, 1) that is independent of the label. Its update is
w <- w + (gamma/d) phi(u, y) x with (:math:`|x|^2 = d`, rho = d times the inner step)

.. math::
    \phi = a\,e(\tilde u)\,\sigma'(\tilde u), \qquad \tilde u = u + \rho\,a\,e(u)\,\sigma'(u),
    \qquad e(u) = -\partial_f \ell(y, a\,\sigma(u)). \qquad [ES-1]

An optimizer without memory makes another push of it: :math:`\phi \min(1, c/|\phi|)` if gradients
are clipped at :math:`c\sqrt d`, :math:`\phi/|\phi|` if they are normalized; Muon is the same for
one sample, and the signs of the coordinates of a gradient along spread-out directions act as
:math:`\sqrt{2/\pi}\,\phi/|\phi|` with the noise of :math:`\phi/|\phi|`.

Everything that the linear stage needs is an average over u at a fixed label: a function of y alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...base.errors import BadData, OutOfRegime, one_of
from ...calculus.hermite import normal_density
from ...calculus.line import gauss_legendre
from ...targets.activation import Activation
from ...targets.losses import Residual, read_loss
from ...targets.optimizers import OPTIMIZERS
from ...targets.training import PLAIN_LOSSES, RULES, Rule

_REACH = 9.0  # a standard normal variable is never farther out
_CELLS = 16
_SCAN = np.linspace(-_REACH, _REACH, 97)
_SIDE = 1e-11  # how far from a kink its two sides are looked at
_HALVINGS = 44


@dataclass(frozen=True)
class Update:
    r"""The push :math:`\phi(u, y)` of one sample on a neuron with field u [ES-1].

    Parameters
    ----------
    activation : Activation
        The function :math:`\sigma`, bias included.
    rule, loss : str
        See :func:`gradone.analysis.escape`.
    readout : float
        The weight a of the neuron in the output.
    inner_step : float
        :math:`\rho`, d times the inner step; for ``"sam"`` its sign is ignored.
    inner_steps : int
        Steps on one sample, for ``"k_steps"`` and ``"look_ahead"``.
    radius : float
        :math:`\sqrt d` times the radius of normalized SAM.
    loss_scale : float
        See :func:`gradone.analysis.escape`.
    optimizer : str
        ``"sgd"``, ``"normalized"``, ``"muon"`` or ``"sign"``.
    clip_norm : float
        Largest gradient, divided by :math:`\sqrt d`.

    Examples
    --------
    An extra-gradient step of a relu looks first where the label would bring the field:

    >>> push = Update(Activation("relu(z)"), "extragradient", "correlation", 1.0, inner_step=0.5)
    >>> push(np.array([0.3, 0.3]), np.array([1.0, -1.0]))
    array([ 1., -0.])
    """

    activation: Activation
    rule: Rule
    loss: str
    readout: float
    inner_step: float = 0.0
    inner_steps: int = 2
    radius: float = 0.0
    loss_scale: float = 1.0
    optimizer: str = "sgd"
    clip_norm: float = math.inf

    def __post_init__(self) -> None:
        one_of("rule", self.rule, RULES)
        read_loss(self.loss)
        if one_of("optimizer", self.optimizer, OPTIMIZERS) in ("rmsprop", "adam"):
            raise OutOfRegime(
                f"'{self.optimizer}' remembers earlier gradients; the linear stage is computed for "
                "'sgd', 'normalized', 'muon' and 'sign'"
            )
        if self.rule != "plain" and self.changes_push:
            raise BadData(
                "clipped, normalized and signed gradients are analyzed for rule='plain' only"
            )
        if not self.clip_norm > 0:
            raise BadData(f"clip_norm must be a number > 0, got {self.clip_norm!r}")
        for name in ("readout", "inner_step", "radius"):
            if not math.isfinite(getattr(self, name)):
                raise BadData(f"{name} must be a finite number, got {getattr(self, name)!r}")
        if self.readout == 0:
            raise BadData("readout must not be 0: a neuron without output receives no gradient")
        if self.radius < 0:
            raise BadData(f"radius must be >= 0, got {self.radius!r}")
        if self.inner_steps < 1:
            raise BadData(f"inner_steps must be at least 1, got {self.inner_steps!r}")

    @cached_property
    def residual(self) -> Residual:
        """The residual e(y, f) of the loss."""
        return Residual(self.loss, self.loss_scale)

    @property
    def changes_push(self) -> bool:
        """Whether the optimizer makes another push of the gradient of a sample."""
        return self.optimizer != "sgd" or self.clip_norm < math.inf

    @property
    def gain(self) -> float:
        """Factor of the drift, which the noise does not have."""
        return math.sqrt(2 / math.pi) if self.optimizer == "sign" else 1.0

    @property
    def is_plain(self) -> bool:
        """Whether the update is the plain gradient of a loss that is affine in the label."""
        if self.loss not in PLAIN_LOSSES or self.changes_push:
            return False
        return self._looks_once

    @property
    def _looks_once(self) -> bool:
        """Whether the gradient is taken where the neuron is, whatever the rule is called."""
        if self.rule == "sam_normalized":
            return self.radius == 0
        if self.rule in ("k_steps", "look_ahead"):
            return self.inner_steps == 1
        return self.rule == "plain" or self.inner_step == 0

    @property
    def rho(self) -> float:
        """Signed inner step: negative for SAM, which climbs before it descends."""
        return -abs(self.inner_step) if self.rule == "sam" else self.inner_step

    @cached_property
    def _slopes(self) -> tuple[Activation, Activation]:
        return self.activation.derivative(), self.activation.derivative(2)

    @property
    def has_jumps(self) -> bool:
        """Whether the push may jump when the field moves at a fixed label."""
        moves = self.rule == "sam_normalized" and not self._looks_once
        return bool(self.activation.kinks) or moves or self._has_moving_jumps

    @property
    def _has_moving_jumps(self) -> bool:
        return self.changes_push or self.residual.has_kinks

    @cached_property
    def label_breaks(self) -> tuple[float, ...]:
        """Labels at which averages of the push over its field may jump or have a kink."""
        outputs = {0.0} | {self.readout * float(self.activation(k)) for k in self.activation.kinks}
        found = {0.0} if self.changes_push else set()
        for normal, offset in self.residual.planes:
            if normal[0]:
                found |= {(offset - normal[1] * f) / normal[0] for f in outputs}
        if self.clip_norm < math.inf:
            sizes = np.abs(self.readout * self._slopes[0](np.array([-_REACH, _REACH])))
            found |= {s * self.clip_norm / size for size in sizes if size > 0 for s in (-1.0, 1.0)}
        return tuple(sorted(found))

    def __call__(self, u: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The push at fields and labels that broadcast against each other."""
        return self._run(u, y)[0]

    def slope(self, u: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative of the push with respect to the field at a fixed label, between jumps."""
        return self._run(u, y)[1]

    def _gradient(self, u: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The plain push a e(u) sigma'(u), and its derivative."""
        first, second = (slope(u) for slope in self._slopes)
        a = self.readout
        if self.loss == "correlation":
            return a * y * first, a * y * second
        if self.loss == "square":
            error = y - a * self.activation(u)
            return a * error * first, a * (error * second - a * first * first)
        output = a * self.activation(u)
        error, change = self.residual(y, output), self.residual.slope(y, output)
        return a * error * first, a * (error * second + a * change * first * first)

    def _run(self, u: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The push, its derivative, and what must not change sign where it is smooth."""
        push, slope = self._gradient(u, y)
        if self._looks_once:
            return *self._effective(push, slope), [push]
        if self.rule == "sam_normalized":
            moved = u - self.radius * np.sign(push)
            return *self._gradient(moved, y), [moved, push]
        if self.rule in ("extragradient", "sam"):
            moved = u + self.rho * push
            final, change = self._gradient(moved, y)
            return final, change * (1 + self.rho * slope), [moved]
        path = []
        for _ in range(self.inner_steps - 1):
            moved, stretch = u + self.rho * push, 1 + self.rho * slope
            more, change = self._gradient(moved, y)
            push, slope = push + more, slope + change * stretch
            path.append(moved)
        return push, slope, path

    def _effective(self, push: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the optimizer makes of a push, and its derivative between jumps."""
        if self.optimizer != "sgd":
            return np.sign(push), np.zeros_like(slope)
        if self.clip_norm < math.inf:
            small = np.abs(push) <= self.clip_norm
            return np.clip(push, -self.clip_norm, self.clip_norm), np.where(small, slope, 0.0)
        return push, slope

    # ---- averages over the field

    def jumps(self, y: np.ndarray) -> np.ndarray:
        """Fields at which the push jumps, one row for each label (n, k), padded with infinity."""
        kinks = np.array(self.activation.kinks)
        fixed = np.broadcast_to(kinks, (len(y), len(kinks)))
        if self.is_plain or not self.has_jumps or (self._looks_once and not self._has_moving_jumps):
            return fixed
        scan = np.sort(np.concatenate([_SCAN + 0.0137, kinks - _SIDE, kinks + _SIDE]))
        rows, roots = [], []
        for sign in self._watched(scan[None, :], y[:, None]):
            row, cell = np.nonzero(np.signbit(sign[:, 1:]) != np.signbit(sign[:, :-1]))
            rows.append((row, cell))
        watched = 0
        for row, cell in rows:
            low, high, label = scan[cell], scan[cell + 1], y[row]
            left = np.signbit(self._watched(low, label)[watched])
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                same = np.signbit(self._watched(middle, label)[watched]) == left
                low, high = np.where(same, middle, low), np.where(same, high, middle)
            roots.append((low + high) / 2)
            watched += 1
        row = np.concatenate([r for r, _ in rows])
        order = np.argsort(row, kind="stable")
        row, root = row[order], np.concatenate(roots)[order]
        counts = np.bincount(row, minlength=len(y))
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        moving = np.full((len(y), int(counts.max(initial=0))), np.inf)
        moving[row, place] = root
        return np.concatenate([fixed, moving], axis=1)

    def _watched(self, u: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Quantities whose zeros are jumps: distances of the inner fields to the kinks."""
        path = self._run(u, y)[2]
        if self._looks_once:
            found = self.residual.breaks(y, self.readout * self.activation(u))
            found = [np.broadcast_to(part, np.broadcast(u, y).shape) for part in found]
            if self.optimizer != "sgd":
                found += path
            elif self.clip_norm < math.inf:
                found.append(np.abs(path[0]) - self.clip_norm)
            return found
        if self.rule == "sam_normalized":
            path, gradient = path[:1], path[1]
            extra = [gradient]
        else:
            extra = []
        return [moved - kink for moved in path for kink in self.activation.kinks] + extra

    def points(
        self, y: np.ndarray, *, mean: np.ndarray | float = 0.0, width: float = 1.0,
        jumps: np.ndarray | None = None, nodes: int = 16, cells: int = _CELLS,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Quadrature over w ~ N(0, 1) of the field u = mean + width w, between jumps of the push.

        Returns
        -------
        tuple of ndarray
            Points w, their weights, and the push there; each (n, k), one row for each label.
        """
        splits = self.jumps(y) if jumps is None else jumps
        inside = np.clip((splits - np.reshape(mean, (-1, 1))) / width, -_REACH, _REACH)
        fixed = np.broadcast_to(np.linspace(-_REACH, _REACH, cells + 1), (len(y), cells + 1))
        edges = np.sort(
            np.concatenate([fixed, np.broadcast_to(inside, (len(y), inside.shape[1]))], 1)
        )
        t, weight = gauss_legendre(nodes)
        length = np.diff(edges, axis=1)[..., None]
        w = (edges[:, :-1, None] + length * t).reshape(len(y), -1)
        mass = (length * weight).reshape(len(y), -1) * normal_density(w)
        return w, mass, self(np.reshape(mean, (-1, 1)) + width * w, y[:, None])

    def averages(
        self, y: np.ndarray, *, order: int = 1, mean: np.ndarray | float = 0.0, width: float = 1.0,
        jumps: np.ndarray | None = None, nodes: int = 16, cells: int = _CELLS,
    ) -> np.ndarray:  # fmt: skip
        r"""Averages over w ~ N(0, 1) of the push at the field u = mean + width w.

        Returns
        -------
        ndarray, shape (order + 2, n)
            :math:`\mathbb{E}[\phi\,\mathrm{He}_j(w)]` for j = 0..order, then
            :math:`\mathbb{E}[\phi^2]`.
        """
        w, mass, push = self.points(
            y, mean=mean, width=width, jumps=jumps, nodes=nodes, cells=cells
        )
        results = []
        before, he = np.zeros_like(w), np.ones_like(w)
        weighted = push * mass
        for j in range(order + 1):
            results.append(self.gain * np.einsum("nk,nk->n", weighted, he))
            before, he = he, w * he - j * before
        return np.stack([*results, np.einsum("nk,nk->n", weighted, push)])

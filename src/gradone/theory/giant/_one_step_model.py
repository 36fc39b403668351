"""One giant step of one target and one student: errors of the readout at any point, with errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...base.errors import BadData
from ...targets.activation import Activation
from ...targets.target import Target
from ._one_step_readout import Fields, Readout, fields, solve_readout
from ._one_step_spike import Spike, activation_moments, spike_of
from ._readout_law import ReadoutLaw, readout_law
from ._smeared import LEVELS

Variant = Literal["gradient", "spiked"]

# Relative change from one resolution of the integrals to the next at which refining stops.
_ENOUGH = 1e-9
# How much an error of the traces can be larger in the errors of the readout.
_AMPLIFICATION = 10.0
# Values that stand for a Gaussian second layer where the effect of their number is measured.
_FEWER_NODES = 16
# Size of c_2 times the step from which on the batch acts on the rows as a random matrix.
_MIXING = 0.1


class KnownBias(UserWarning):
    """A theory is used where simulations are known to lie off it; the text says by how much."""


@dataclass(frozen=True)
class Point:
    """Errors of the readout at one point, with their numerical uncertainty."""

    test: float
    test_error: float
    train: float
    train_error: float
    n_iter: int
    converged: bool
    status: str


class OneStep:
    """Student after one giant step, whose readout can be asked at any number of points.

    Parameters
    ----------
    target : Target
        Target of one direction.
    activation : Activation
        Continuous activation.
    readout : str or mapping
        Second layer before the step, see :func:`readout_law`.
    variant : {"gradient", "spiked"}
        With or without the change of the row norms.
    batch_ratio, step_size : float
        The step.

    Examples
    --------
    >>> model = OneStep(Target("sin(z)"), Activation("tanh(z)"), readout="ones", variant="spiked",
    ...                 batch_ratio=20.0, step_size=3.0)
    >>> point = model.point(readout_ratio=1.6, width_ratio=1.0, ridge=0.1, width=float("inf"))
    >>> round(point.test, 7)
    0.0373113
    """

    def __init__(
        self,
        target: Target,
        activation: Activation,
        *,
        readout: Any,
        variant: Variant,
        batch_ratio: float,
        step_size: float,
    ) -> None:
        if variant not in ("gradient", "spiked"):
            raise BadData(f"variant must be 'gradient' or 'spiked', got {variant!r}")
        self.target, self.activation, self.variant = target, activation, variant
        self.step = {"batch_ratio": batch_ratio, "step_size": step_size}
        layers = [readout_law(readout)]
        if readout == "gaussian":
            layers.append(readout_law(readout, nodes=_FEWER_NODES))
        is_odd = activation.expression.parity(1) == "odd"
        self.layers = [layer.folded() if is_odd else layer for layer in layers]
        self.spikes = [spike_of(target, activation, layer, **self.step) for layer in self.layers]
        self._fields: dict[tuple[int, int], Fields] = {}
        self.level = 0  # coarsest resolution that was of use so far

    @property
    def layer(self) -> ReadoutLaw:
        """Second layer before the step."""
        return self.layers[0]

    @property
    def spike(self) -> Spike:
        """Spike, alignment and bulk."""
        return self.spikes[0]

    @property
    def relative_bias(self) -> float:
        r"""Share by which the risk of a real step differs from the theory, to a factor of two.

        .. math:: 0.15\,\langle c - 1\rangle_+\,(1-\gamma^2) \quad \text{(odd activations)}  [OS-8]

        The noise of the step is not isotropic and is correlated with the spike. Fitted to ten
        settings with c from 1.2 to 2.5 and alignments from 0.55 to 0.88 at d = 300, where the
        factor was 0.05 to 0.21. If the activation is not odd, the batch also acts on the rows as a
        random matrix, and steps with the relu did better than the theory by 1 to 3 % (four
        settings, d = 200 to 400).
        """
        if self.variant == "spiked":
            return 0.0
        if abs(activation_moments(self.activation).second * self.step["step_size"]) > _MIXING:
            return -0.02
        excess = float(self.layer.shares @ (self.spike.scales - 1))
        return 0.15 * max(excess, 0.0) * (1 - self.spike.alignment**2)

    def readout(
        self,
        level: int,
        layer: int,
        /,
        *,
        readout_ratio: float,
        width_ratio: float,
        ridge: float,
        width: float,
    ) -> Readout:
        """Solution at one resolution of the integrals; `layer` 1 is the coarser second layer."""
        if (level, layer) not in self._fields:
            self._fields[level, layer] = fields(
                self.target, self.activation, self.layers[layer], self.spikes[layer],
                row_norms=self.variant == "gradient", level=level,
            )  # fmt: skip
        return solve_readout(
            self._fields[level, layer],
            readout_ratio=readout_ratio, width_ratio=width_ratio, ridge=ridge, width=width,
        )  # fmt: skip

    def point(
        self, *, readout_ratio: float, width_ratio: float, ridge: float, width: float
    ) -> Point:
        """Errors of the readout, refined until the resolution of the integrals does not matter."""
        where = {
            "readout_ratio": readout_ratio,
            "width_ratio": width_ratio,
            "ridge": ridge,
            "width": width,
        }
        coarse = self.readout(self.level, 0, **where)
        for level in range(self.level + 1, LEVELS):
            fine = self.readout(level, 0, **where)
            gaps = abs(fine.test - coarse.test), abs(fine.train - coarse.train)
            if gaps[0] <= _ENOUGH * abs(fine.test) and gaps[1] <= _ENOUGH * abs(fine.test):
                break
            self.level, coarse = level - 1, fine
        rest = _AMPLIFICATION * (fine.error * abs(fine.test) + self.spike.error)
        test_error, train_error = gaps[0] + rest, gaps[1] + rest
        if len(self.layers) > 1:
            other = self.readout(level, 1, **where)
            test_error += abs(fine.test - other.test)
            train_error += abs(fine.train - other.train)
        status = (
            ""
            if fine.converged
            else f"the traces still move by {fine.error:.1e} after {fine.n_iter} iterations; "
            "a larger ridge converges faster"
        )
        return Point(
            fine.test, test_error, fine.train, train_error, fine.n_iter, fine.converged, status
        )

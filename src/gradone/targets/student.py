r"""The student of every dynamics: a two-layer network and how one update of it is made.

.. math:: f(x) = \sum_{j=1}^{p} a_j\,\sigma(\langle w_j, x\rangle + b_j)

Simulations, flows and learners take the same arguments and read them here, once. Nothing here
computes an update: those who do so check each other.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ..base.errors import BadData, did_you_mean
from .activation import Activation
from .sampled import whole_number

Rule = Literal["plain", "extragradient", "sam", "sam_normalized", "k_steps", "look_ahead"]
Loss = Literal["square", "correlation"]
Geometry = Literal["euclidean", "projected", "spherical"]
Start: TypeAlias = Literal["random", "orthogonal"] | tuple[np.ndarray, np.ndarray]

RULES: tuple[Rule, ...] = get_args(Rule)
LOSSES: tuple[Loss, ...] = get_args(Loss)
GEOMETRIES: tuple[Geometry, ...] = get_args(Geometry)

# Which of the optional numbers each rule reads.
_READS: dict[Rule, frozenset[str]] = {
    "plain": frozenset(),
    "extragradient": frozenset({"inner_step_size"}),
    "sam": frozenset({"inner_step_size"}),
    "sam_normalized": frozenset({"radius"}),
    "k_steps": frozenset(),
    "look_ahead": frozenset({"inner_step_size", "interpolation"}),
}


@dataclass(frozen=True)
class Student:
    r"""Two-layer student and the rule of its update; made by :func:`read_student`.

    Parameters
    ----------
    width : int
        Number p of neurons.
    activation : Activation
        The function :math:`\sigma`.
    step_size : float or "auto"
        :math:`\eta`, which multiplies the gradient of the batch mean of (y - f)^2/2.
    rule : str
        With the gradient G(W) of the batch mean (minus the derivative of the loss), the step S is

        - ``"plain"``: S = eta G(W);
        - ``"extragradient"``: S = eta G(W + inner_step_size G(W));
        - ``"sam"``: S = eta G(W - abs(inner_step_size) G(W));
        - ``"sam_normalized"``: S = eta G(W - radius U), U = G(W) over its Frobenius norm;
        - ``"k_steps"``: `inner_steps` plain steps of size eta on the same batch, S their sum;
        - ``"look_ahead"``: `inner_steps` plain steps of size inner_step_size (eta if it is None) on
          the same batch, S = interpolation times their sum.
    loss : str
        ``"square"``: e = y - f; ``"correlation"``: e = y; the gradient of neuron j is the mean of
        a_j e sigma'(lambda_j + b_j) x.
    geometry : str
        ``"euclidean"``: W <- (1 - eta weight_decay) W + S; ``"projected"``: the same, then rows of
        unit norm; ``"spherical"``: S_j is first made orthogonal to w_j. Inner moves are Euclidean
        in every geometry, and move W alone.
    batch_size : int
        Fresh samples for each update.
    readout, bias : tuple of float
        a and b at the start, one for each neuron.
    train_readout, train_bias : float or None
        Their step sizes: a_j += train_readout mean(e sigma(lambda_j)) and b_j += train_bias
        mean(a_j e sigma'(lambda_j)) with the a of before the update; fields and e are those at
        which the last gradient is taken for ``"extragradient"`` and the two kinds of SAM, those
        before the update for the other rules.
    weight_decay : float
        Decay of W, once for each update.
    """

    width: int
    activation: Activation
    step_size: float | Literal["auto"]
    rule: Rule
    inner_step_size: float | None
    inner_steps: int
    radius: float | None
    interpolation: float | None
    loss: Loss
    geometry: Geometry
    batch_size: int
    readout: tuple[float, ...]
    bias: tuple[float, ...]
    train_readout: float | None
    train_bias: float | None
    weight_decay: float

    @property
    def eta(self) -> float:
        """The step size as a number."""
        if self.step_size == "auto":
            raise BadData('step_size="auto" must be replaced by a number first')
        return self.step_size

    @property
    def inner_eta(self) -> float:
        """Signed size of the inner moves: negative for SAM, the step size where none is given."""
        size = self.eta if self.inner_step_size is None else self.inner_step_size
        return -abs(size) if self.rule == "sam" else size

    @property
    def params(self) -> dict[str, Any]:
        """Plain data that name the student in the attributes of a curve."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return named | {"activation": self.activation.text}


def read_student(
    *,
    width: int = 4,
    activation: str | Activation = "relu(z)",
    step_size: float | str = "auto",
    rule: str = "plain",
    inner_step_size: float | None = None,
    inner_steps: int = 2,
    radius: float | None = None,
    interpolation: float | None = None,
    loss: str = "square",
    geometry: str = "euclidean",
    batch_size: int = 1,
    readout: Any = "signs",
    bias: Any = 0.0,
    train_readout: float | None = None,
    train_bias: float | None = None,
    weight_decay: float = 0.0,
    flow: bool = False,
) -> Student:
    """Student from the arguments of a user, all of them checked.

    Parameters
    ----------
    width, step_size, rule, inner_step_size, inner_steps, radius, interpolation, loss, geometry
        See :class:`Student`.
    activation : str
        Function of ``z``, for example ``"tanh(z + 0.2)"``.
    batch_size, train_readout, train_bias, weight_decay
        See :class:`Student`.
    readout : "signs" or array
        ``"signs"`` is 1, -1, 1, ...; an array has one number for each neuron. There is no factor
        1/width: write it here if it is wanted.
    bias : float or array
        One number for all neurons, or one for each.
    flow : bool
        Whether step sizes are in units of a flow, in which many updates make one unit of time: the
        decay may then be of any size.

    Examples
    --------
    >>> student = read_student(width=3, step_size=1e-3, rule="sam", inner_step_size=2e-4)
    >>> student.readout, student.inner_eta
    ((1.0, -1.0, 1.0), -0.0002)
    >>> read_student(step_size=0.1, rule="extragradient")
    Traceback (most recent call last):
    gradone.base.errors.BadData: the rule 'extragradient' needs inner_step_size=...; ...
    """
    width = whole_number("width", width)
    batch_size = whole_number("batch_size", batch_size)
    inner_steps = whole_number("inner_steps", inner_steps)
    named_rule: Any = _one_of("rule", rule, RULES)
    if step_size != "auto":
        step_size = _number("step_size", step_size, hint='; "auto" chooses it')
    optional = {
        "inner_step_size": inner_step_size, "radius": radius, "interpolation": interpolation,
    }  # fmt: skip
    for name, value in optional.items():
        if value is None:
            continue
        if name not in _READS[named_rule]:
            raise BadData(
                f"{name} has no meaning for the rule '{rule}'; leave it out, or choose another rule"
            )
        signed = name == "inner_step_size" and named_rule in ("extragradient", "sam")
        optional[name] = _number(name, value, signed=signed)
    _check_needed(named_rule, optional, automatic=step_size == "auto")
    weight_decay = 0.0 if weight_decay == 0 else _number("weight_decay", weight_decay)
    if step_size != "auto" and not flow:
        check_decay(float(step_size), weight_decay)
    trained: dict[str, float | None] = {
        name: None if value is None else _number(name, value)
        for name, value in (("train_readout", train_readout), ("train_bias", train_bias))
    }
    return Student(
        width=width,
        activation=activation if isinstance(activation, Activation) else Activation(activation),
        step_size=step_size,  # type: ignore[arg-type]
        rule=named_rule,
        inner_steps=inner_steps,
        loss=_one_of("loss", loss, LOSSES),  # type: ignore[arg-type]
        geometry=_one_of("geometry", geometry, GEOMETRIES),  # type: ignore[arg-type]
        batch_size=batch_size,
        readout=_read_readout(readout, width),
        bias=_per_neuron("bias", bias, width),
        weight_decay=weight_decay,
        **optional,
        **trained,
    )


def read_start(init: Any, *, width: int, r: int) -> Start:
    """Start of a run: its name, or the checked overlaps M (width, r) and norms Q (width, width).

    Parameters
    ----------
    init : "random", "orthogonal" or mapping
        ``"random"``: independent rows of W, uniform on the unit sphere; ``"orthogonal"``: M = 0 and
        Q = I; ``{"M": ..., "Q": ...}``: overlaps W W*^T and norms W W^T, Q = I if it is left out.

    Examples
    --------
    >>> M, Q = read_start({"M": [[0.3]]}, width=1, r=1)
    >>> M, Q
    (array([[0.3]]), array([[1.]]))
    >>> read_start({"M": [[1.3]]}, width=1, r=1)
    Traceback (most recent call last):
    gradone.base.errors.BadData: init: Q - M M^T must have no negative eigenvalue, ...
    """
    if not isinstance(init, Mapping):
        name: Any = _one_of("init", init, ("random", "orthogonal"), more=' or {"M": ..., "Q": ...}')
        return name
    if set(init) - {"M", "Q"} or "M" not in init:
        raise BadData(f"init needs the key 'M' and may have 'Q', got {sorted(map(str, init))}")
    M = _matrix("M", init["M"], (width, r))
    Q = _matrix("Q", init.get("Q", np.eye(width)), (width, width))
    scale = float(np.abs(Q).max())
    if np.abs(Q - Q.T).max() > 1e-12 * scale:
        raise BadData("init: Q must be symmetric")
    if (np.diag(Q) <= 0).any():
        raise BadData("init: every neuron must have a norm Q_jj > 0")
    Q = (Q + Q.T) / 2
    lowest = float(np.linalg.eigvalsh(Q - M @ M.T)[0])
    if lowest < -1e-12 * width * scale:
        raise BadData(
            f"init: Q - M M^T must have no negative eigenvalue, got {lowest:.3g}: no weights have "
            "these overlaps; make M smaller or Q larger"
        )
    return M, Q


def check_decay(step_size: float, weight_decay: float) -> None:
    """Refuse a decay that would turn the weights around in one update.

    Examples
    --------
    >>> check_decay(0.5, 3.0)
    Traceback (most recent call last):
    gradone.base.errors.BadData: step_size * weight_decay must be below 1, got 1.5: ...
    """
    if step_size * weight_decay >= 1:
        raise BadData(
            f"step_size * weight_decay must be below 1, got {step_size * weight_decay:g}: "
            "the decay would turn the weights around; use a smaller weight_decay"
        )


def _check_needed(rule: Rule, given: Mapping[str, Any], *, automatic: bool) -> None:
    needed = _READS[rule] - ({"inner_step_size"} if rule == "look_ahead" or automatic else set())
    for name in sorted(needed - ({"radius"} if automatic else set())):
        if given[name] is None:
            raise BadData(f"the rule '{rule}' needs {name}=...; it has no default value")


def _one_of(what: str, given: Any, known: tuple[str, ...], *, more: str = "") -> str:
    if isinstance(given, str) and given in known:
        return given
    raise BadData(
        f"unknown {what} {given!r}; it is one of {', '.join(map(repr, known))}{more}."
        + did_you_mean(str(given), known)
    )


def _number(name: str, value: Any, *, signed: bool = False, hint: str = "") -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and (number > 0 or (signed and number)):
            return number
    what = "other than 0" if signed else "> 0"
    raise BadData(f"{name} must be a finite number {what}, got {value!r}{hint}")


def _per_neuron(name: str, value: Any, width: int) -> tuple[float, ...]:
    try:
        numbers_ = np.asarray(value)
        numbers_ = numbers_.astype(np.float64) if numbers_.dtype.kind in "fiu" else np.empty((0, 0))
    except ValueError:  # ragged
        numbers_ = np.empty((0, 0))
    if numbers_.ndim == 0:
        numbers_ = np.full(width, numbers_)
    if numbers_.shape != (width,) or not np.isfinite(numbers_).all():
        raise BadData(f"{name} needs {width} finite numbers, one for each neuron, got {value!r}")
    return tuple(map(float, numbers_))


def _read_readout(readout: Any, width: int) -> tuple[float, ...]:
    if isinstance(readout, str):
        _one_of("readout", readout, ("signs",), more=" or an array with one number for each neuron")
        return tuple(1.0 if j % 2 == 0 else -1.0 for j in range(width))
    a = _per_neuron("readout", readout, width)
    if not any(a):
        raise BadData("readout must not be 0 for every neuron: no neuron would receive a gradient")
    return a


def _matrix(name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != shape or not np.isfinite(matrix).all():
        raise BadData(f"init: {name} must be finite numbers of shape {shape}, got {value!r}")
    return matrix

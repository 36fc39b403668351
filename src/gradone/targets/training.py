"""How a student is trained: the rule of one update, read once for all dynamics.

Nothing here computes an update: those who do so check each other.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ForwardRef, Literal, TypedDict, get_args

from ..base.errors import BadData, no_such_parameter, one_of
from .activation import Activation
from .losses import LOSSES as LOSSES
from .losses import SCALED, Residual, read_loss
from .optimizers import Clip, Optimizer, Orthogonalize, read_optimizer
from .sampled import whole_number
from .student import Student

Rule = Literal["plain", "extragradient", "sam", "sam_normalized", "k_steps", "look_ahead"]
Geometry = Literal["euclidean", "projected", "spherical"]

RULES: tuple[Rule, ...] = get_args(Rule)
PLAIN_LOSSES = ("square", "correlation")
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


class StudentSettings(TypedDict, total=False):
    """Keywords that stand for a student: see :class:`gradone.Student`."""

    width: int
    activation: str | Activation
    readout: Any
    bias: Any
    init: Any


class Settings(StudentSettings, total=False):
    """Keywords of a student and of its update: see :class:`TrainedStudent`."""

    rule: str
    inner_step_size: float | None
    inner_steps: int
    radius: float | None
    interpolation: float | None
    loss: str
    geometry: str
    train_readout: float | None
    train_bias: float | None
    weight_decay: float


class MomentumSettings(Settings, total=False):
    """Keywords of a student and of its update with momentum: see :class:`TrainedStudent`."""

    momentum: float
    nesterov: bool | str


class OptimizerSettings(MomentumSettings, total=False):
    """Keywords of a student, of its update and of its optimizer: see :class:`TrainedStudent`."""

    loss_scale: float
    optimizer: str
    clip_norm: float | None
    clip: str
    orthogonalize: str
    betas: tuple[float, float]
    schedule: str | None


@dataclass(frozen=True)
class TrainedStudent(Student):
    r"""Student and the rule of its update; made by :func:`read_training`.

    Parameters
    ----------
    width, activation, readout, bias, init
        See :class:`gradone.Student`.
    step_size : float or "auto"
        :math:`\eta`, which multiplies what the optimizer makes of the gradient of the mean loss of
        a batch.
    batch_size : int
        Samples of one update.
    rule : str
        With the gradient G(W) of the batch mean (minus the derivative of the loss), the step S is

        - ``"plain"``: S = eta G(W);
        - ``"extragradient"``: S = eta G(W + inner_step_size G(W));
        - ``"sam"``: S = eta G(W - abs(inner_step_size) G(W));
        - ``"sam_normalized"``: S = eta G(W - radius U), U = G(W) over its Frobenius norm;
        - ``"k_steps"``: `inner_steps` plain steps of size eta on the same batch, S their sum;
        - ``"look_ahead"``: `inner_steps` plain steps of size inner_step_size (eta if it is None) on
          the same batch, S = interpolation times their sum.
    inner_step_size, inner_steps, radius, interpolation : float or int
        Numbers of the rules that look at a batch more than once.
    loss : str
        The gradient of neuron j is the mean of a_j e sigma'(lambda_j + b_j) x with the residual e:

        - ``"square"``: e = y - f; ``"correlation"``: e = y;
        - ``"logistic"``: e = (y - tanh(f/2))/2, ``"smooth_hinge"``: e = y clip(1 - y f, 0, 1), for
          labels -1 and 1;
        - ``"huber"``: e = clip(y - f, -s, s), ``"pseudo_huber"``: e = (y - f) over
          sqrt(1 + (y - f)^2/s^2), with s = `loss_scale`; ``"absolute"``: e = sign(y - f);
        - a formula of the label ``y`` and the output ``f``, such as ``"(y - f)^4/4"``: e is minus
          its derivative by f.
    loss_scale : float
        See ``"huber"``.
    geometry : str
        ``"euclidean"``: W <- (1 - eta weight_decay) W + S; ``"projected"``: the same, then rows of
        unit norm; ``"spherical"``: S_j is first made orthogonal to w_j. Inner moves are Euclidean
        in every geometry, and move W alone.
    train_readout, train_bias : float or None
        Step sizes of a and b; None keeps them fixed. a_j += train_readout mean(e sigma(lambda_j))
        and b_j += train_bias mean(a_j e sigma'(lambda_j)) with the a of before the update; fields
        and e are those at which the last gradient is taken for ``"extragradient"`` and the two
        kinds of SAM, those before the update for the other rules.
    weight_decay : float
        Decay of W, once for each update.
    optimizer : str
        From the gradient G of the batch mean (minus the derivative of the loss) and the buffer V,
        V <- momentum V + clip(G), D = V (with `nesterov` D = clip(G) + momentum V), and
        S = eta Psi(D) with

        - ``"sgd"``: Psi(D) = D;
        - ``"normalized"``: Psi(D) = D over its Frobenius norm;
        - ``"muon"``: Psi(D) = (D D^T)^(-1/2) D, or five Newton-Schulz steps towards it, as
          `orthogonalize` says ("polar" or "newton_schulz");
        - ``"sign"``, ``"rmsprop"``, ``"adam"``: coordinate by coordinate, with the memories `betas`
          (``"rmsprop"`` reads the second only).
    momentum, nesterov : float, bool or "look_ahead"
        Memory of the buffer, in [0, 1). Readout and bias are trained without it. To look ahead is
        to take the gradient at W + eta momentum V, with D = V.
    clip_norm, clip : float or None, str
        Largest Frobenius norm of the gradient: of the batch mean (``clip="batch"``), or of each
        sample before the mean is taken (``"sample"``).
    schedule : str or None
        Factor of all step sizes, a formula of t = step/steps: ``"0.5*(1 + cos(pi*t))"``.
    """

    step_size: float | Literal["auto"] = "auto"
    batch_size: int = 1
    rule: Rule = "plain"
    inner_step_size: float | None = None
    inner_steps: int = 2
    radius: float | None = None
    interpolation: float | None = None
    loss: str = "square"
    geometry: Geometry = "euclidean"
    train_readout: float | None = None
    train_bias: float | None = None
    weight_decay: float = 0.0
    loss_scale: float = 1.0
    optimizer: Optimizer = "sgd"
    momentum: float = 0.0
    nesterov: bool | Literal["look_ahead"] = False
    clip_norm: float | None = None
    clip: Clip = "batch"
    orthogonalize: Orthogonalize = "polar"
    betas: tuple[float, float] = (0.9, 0.999)
    schedule: str | None = None

    @property
    def eta(self) -> float:
        """The step size as a number."""
        if self.step_size == "auto":
            raise BadData('step_size="auto" must be replaced by a number first')
        return self.step_size

    @property
    def rate(self) -> float:
        """Step size of the gradients in the long run: a buffer adds up 1/(1 - momentum) of them."""
        return self.eta / (1 - self.momentum)

    @cached_property
    def residual(self) -> Residual:
        """The residual e(y, f) of the loss."""
        return Residual(self.loss, self.loss_scale)

    @property
    def is_plain_sgd(self) -> bool:
        """Whether a step is eta times a gradient of the batch, without memory or schedule."""
        return (self.optimizer, self.momentum, self.clip_norm, self.schedule) == (
            "sgd", 0.0, None, None,
        )  # fmt: skip

    @property
    def is_plain_gradient(self) -> bool:
        """Whether the drift is a gradient of the square or the correlation loss."""
        bounded = self.optimizer != "sgd" or self.clip_norm is not None
        return self.rule == "plain" and self.loss in PLAIN_LOSSES and not bounded

    @property
    def inner_eta(self) -> float:
        """Signed size of the inner moves: negative for SAM, the step size where none is given."""
        size = self.eta if self.inner_step_size is None else self.inner_step_size
        return -abs(size) if self.rule == "sam" else size

    @property
    def params(self) -> dict[str, Any]:
        """Plain data that name the student in the attributes of a curve."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        init = dict(self.init) if isinstance(self.init, Mapping) else self.init
        return named | {"readout": self.a, "bias": self.b, "init": init}


_OF_STUDENT = tuple(field.name for field in fields(Student))
_OF_TRAINING = tuple(field.name for field in fields(TrainedStudent))
_OF_OPTIMIZER = tuple(OptimizerSettings.__annotations__)  # with those of the classes above it
_OF_OPTIMIZER = tuple(name for name in _OF_OPTIMIZER if name not in Settings.__annotations__)
_PACKS: dict[Any, Any] = {
    f"Unpack[{pack.__name__}]": pack
    for pack in (StudentSettings, Settings, MomentumSettings, OptimizerSettings)
}


def read_training(
    student: Student | None = None, *, caller: Callable[..., Any] | None = None, flow: bool = False,
    optimizers: bool | tuple[str, ...] = False, **settings: Any,
) -> TrainedStudent:  # fmt: skip
    """Student and its update from the arguments of a user, all of them checked.

    Parameters
    ----------
    student : Student, optional
        The network; keywords such as `width` may say it instead.
    caller : callable, optional
        Function whose parameters a message may suggest.
    flow : bool
        Whether step sizes are in units of a flow, in which many updates make one unit of time: the
        decay may then be of any size.
    optimizers : bool or tuple of str
        Whether the caller covers every loss and optimizer; else plain SGD with the square or the
        correlation loss, and those parameters of an optimizer that it names.
    **settings
        Parameters of :class:`TrainedStudent`.

    Examples
    --------
    >>> student = read_training(width=3, step_size=1e-3, rule="sam", inner_step_size=2e-4)
    >>> student.a, student.inner_eta
    ((1.0, -1.0, 1.0), -0.0002)
    >>> read_training(step_size=0.1, rule="extragradient")
    Traceback (most recent call last):
    gradone.base.errors.BadData: the rule 'extragradient' needs inner_step_size=...; ...
    >>> read_training(Student(width=3), width=4)
    Traceback (most recent call last):
    gradone.base.errors.BadData: give width=... in the student or alone, not both
    """
    named = optimizers if isinstance(optimizers, tuple) else ()
    allowed = [
        name
        for name in _OF_TRAINING
        if optimizers is True or name in named or name not in _OF_OPTIMIZER
    ]
    for name in settings:
        if name not in allowed:
            known = parameters_of(caller) if caller else allowed
            owner = getattr(caller, "__name__", "student")
            raise BadData(no_such_parameter(owner, name, known))
    network = {name: settings[name] for name in _OF_STUDENT if name in settings}
    if student is None:
        student = Student(**network)
    elif not isinstance(student, Student):
        raise BadData(f"student must be a gd.Student(width=..., activation=...), got {student!r}")
    elif network:
        raise BadData(f"give {next(iter(network))}=... in the student or alone, not both")
    kept = {name: getattr(student, name) for name in _OF_STUDENT}
    update = {name: value for name, value in settings.items() if name not in _OF_STUDENT}
    if optimizers is not True:
        one_of("loss", update.get("loss", PLAIN_LOSSES[0]), PLAIN_LOSSES)
    return TrainedStudent(**kept, **_checked(update, flow=flow))


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Parameters of a function, with those that its keywords of a student stand for.

    Examples
    --------
    >>> def flow(target, student=None, *, time, **network: Unpack[StudentSettings]): ...
    >>> list(parameters_of(flow))
    ['target', 'student', 'time', 'width', 'activation', 'readout', 'bias', 'init']
    """
    found = dict(inspect.signature(function).parameters)
    more = next((p for p in found.values() if p.kind is p.VAR_KEYWORD), None)
    if more is None or more.annotation not in _PACKS:
        return found
    del found[more.name]
    default = {field.name: field.default for field in fields(TrainedStudent)}
    for name, kind in _PACKS[more.annotation].__annotations__.items():
        text = kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
        found[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default[name], annotation=text
        )
    return found


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


def _checked(update: Mapping[str, Any], *, flow: bool) -> dict[str, Any]:
    """Parameters of an update, each of which has a meaning."""
    found: dict[str, Any] = {field.name: field.default for field in fields(TrainedStudent)}
    found = {name: found[name] for name in found if name not in _OF_STUDENT} | dict(update)
    for name in ("batch_size", "inner_steps"):
        found[name] = whole_number(name, found[name])
    for name, known in (("rule", RULES), ("geometry", GEOMETRIES)):
        found[name] = one_of(name, found[name], known)
    found["loss"] = read_loss(found["loss"])
    found["loss_scale"] = _number("loss_scale", found["loss_scale"])
    if found["loss_scale"] != 1 and found["loss"] not in SCALED:
        raise BadData(f"loss_scale has no meaning for the loss {found['loss']!r}; leave it out")
    found = read_optimizer(found)
    rule, automatic = found["rule"], found["step_size"] == "auto"
    if not automatic:
        found["step_size"] = _number("step_size", found["step_size"], hint='; "auto" chooses it')
    for name in ("inner_step_size", "radius", "interpolation"):
        if found[name] is None:
            continue
        if name not in _READS[rule]:
            raise BadData(
                f"{name} has no meaning for the rule '{rule}'; leave it out, or choose another rule"
            )
        signed = name == "inner_step_size" and rule in ("extragradient", "sam")
        found[name] = _number(name, found[name], signed=signed)
    _check_needed(rule, found, automatic=automatic)
    decay = found["weight_decay"]
    found["weight_decay"] = 0.0 if decay == 0 else _number("weight_decay", decay)
    if not automatic and not flow:
        check_decay(found["step_size"], found["weight_decay"])
    for name in ("train_readout", "train_bias"):
        if found[name] is not None:
            found[name] = _number(name, found[name])
    return found


def _check_needed(rule: Rule, given: Mapping[str, Any], *, automatic: bool) -> None:
    needed = _READS[rule] - ({"inner_step_size"} if rule == "look_ahead" or automatic else set())
    for name in sorted(needed - ({"radius"} if automatic else set())):
        if given[name] is None:
            raise BadData(f"the rule '{rule}' needs {name}=...; it has no default value")


def _number(name: str, value: Any, *, signed: bool = False, hint: str = "") -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and (number > 0 or (signed and number)):
            return number
    what = "other than 0" if signed else "> 0"
    raise BadData(f"{name} must be a finite number {what}, got {value!r}{hint}")

r"""Step sizes that work, from the linear theory of the escape.

A neuron without overlap escapes at the best rate for eta = s d^-q with s, q from
:mod:`gradone.analysis.linear_stage`. A batch of b samples divides the noise by b, so that
eta = b s d^-q takes the same number of samples, as long as

.. math:: \eta\,\Big(\frac db + 1\Big) \sum_j a_j^2\,\mathbb{E}[\sigma'^2] \le \frac12 \qquad [SG-6]

keeps the squared loss from overshooting (the correlation loss: without d/b).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from ..analysis.linear_stage import LinearStage, escape
from ..base.errors import OutOfRegime
from ..base.estimate import Estimate
from ..targets.activation import Activation
from ..targets.target import Target, variance
from ..targets.training import Rule, TrainedStudent

_PATIENCE = 4.0  # run this many times longer than the first direction needs
_LONGEST = 3 * 10**7  # updates that nobody should start by accident
_INNER = (0.1, 0.3)  # inner steps times d/b, radii times sqrt(d/b) that are tried
_STEPS = (0.03, 0.1, 0.3, 1.0)  # steps times d/b that are tried where the rule depends on them
_HALVINGS = 5
_WITHOUT_OPTIMIZER: dict[str, Any] = {
    "optimizer": "sgd", "momentum": 0.0, "nesterov": False, "clip_norm": None, "clip": "batch",
    "schedule": None,
}  # fmt: skip
_SMALLEST = 16  # d from which hitting times make sense
_TYPICAL = 4  # kinds of neurons that are looked at
_OF_DIFFERENCE = ("square", "huber", "pseudo_huber", "absolute")  # losses of y - f


@dataclass(frozen=True)
class _Choice:
    """A linear stage with a step gamma = d eta (one sample) and the speed that it gives."""

    stage: LinearStage
    gamma: float
    inner: float | None

    @property
    def rate(self) -> float:
        """Speed of the linear stage, less what the noise takes away."""
        lead = self.stage.speed if self.stage.exponent == 1 else self.stage.top
        return self.gamma * (lead.value - self.gamma / 2 * self.stage.variance.value)

    @property
    def exponent(self) -> float:
        """Order of the escape, infinite where there is none."""
        exponent = self.stage.exponent
        return math.inf if exponent is None or (exponent == 2 and self.rate <= 0) else exponent

    @property
    def speed(self) -> tuple[float, float]:
        """Larger is faster: the order of the escape first, then the rate."""
        return -self.exponent, self.rate


def chosen_steps(
    target: Target, student: TrainedStudent, d: int
) -> tuple[TrainedStudent, int, list[str]]:
    """Student with numbers for step sizes, number of updates, and what to tell the user.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> blind = read_training(width=1, activation="relu(z)", loss="correlation")
    >>> student, _, notes = chosen_steps(Target("He3(z)"), blind, 1000)
    >>> "rule 'extragradient'" in notes[-1]
    True
    """
    try:
        best = _best(target, student, d)
        notes = _advice(target, student, d, best)
    except OutOfRegime as error:
        best, notes = None, [f"The theory of the escape does not apply: {error}."]
    if student.step_size == "auto":
        gamma = _cautious(target, student) if best is None else _settled(best, d)
        step = gamma * step_unit(student, d)
        if student.optimizer == "sgd":
            step = min(step, largest_step(student, d))
        student, chosen = with_steps(student, d, step, _INNER[0] if best is None else best.inner)
        notes.insert(0, chosen)
    steps, note = _duration(best, student, d)
    return student, steps, notes + note


# ---- the step


def step_unit(student: TrainedStudent, d: int) -> float:
    """The step size that stands for gamma = 1 in the linear stage.

    A batch of b samples divides the noise by b; steps of unit length are those of a gradient of
    length sqrt(d); a buffer adds up 1/(1 - momentum) gradients.
    """
    has_length = student.optimizer in ("normalized", "muon")
    unit = 1 / math.sqrt(d) if has_length else student.batch_size / d
    return unit * (1 - student.momentum)


def with_steps(
    student: TrainedStudent, d: int, step_size: float, inner: float | None = _INNER[0]
) -> tuple[TrainedStudent, str]:
    """Student with its step, with an inner one where its rule needs it, and what was chosen."""
    chosen: dict[str, Any] = {"step_size": step_size}
    load = student.batch_size / d
    if inner is not None and student.rule == "sam_normalized" and student.radius is None:
        chosen["radius"] = inner * math.sqrt(load)
    displaced = student.rule in ("extragradient", "sam")
    if inner is not None and displaced and student.inner_step_size is None:
        chosen["inner_step_size"] = inner * load
    text = ", ".join(f"{name} = {value:.3g}" for name, value in chosen.items())
    return replace(student, **chosen), f"Chosen: {text}."


def _best(target: Target, student: TrainedStudent, d: int) -> _Choice:
    """Fastest escape over the neurons and, where the rule has a free number, over its values."""
    choices = []
    for a, activation, seen in typical_neurons(target, student):
        for inner in _inner_values(student, d):
            stage = stage_of(seen, activation, student.rule, student, a, inner, d)
            choices.append(_Choice(stage, _gamma(stage, student, inner, d), inner))
    return max(choices, key=lambda choice: choice.speed)


def typical_neurons(
    target: Target, student: TrainedStudent
) -> list[tuple[float, Activation, Target]]:
    """Typical neurons: readout, activation with its bias, and the target as they see it.

    With a loss of y - f the other neurons are subtracted from the label: as long as nothing is
    learned they are independent of it, a constant and noise.
    """
    kinds = sorted({pair for pair in zip(student.a, student.b, strict=True) if pair[0]})
    if len(kinds) > _TYPICAL:
        kinds = [kinds[round(i * (len(kinds) - 1) / (_TYPICAL - 1))] for i in range(_TYPICAL)]
    shifted = {b: _with_bias(student.sigma, b) for b in set(student.b)}
    result = []
    for a, b in kinds:
        seen = target
        if student.loss in _OF_DIFFERENCE and student.width > 1:
            mean = noise = 0.0
            for a_other, b_other in zip(student.a, student.b, strict=True):
                mean += a_other * shifted[b_other].hermite(0).value
                noise += a_other**2 * variance(shifted[b_other].expression).value
            mean -= a * shifted[b].hermite(0).value
            noise -= a**2 * variance(shifted[b].expression).value
            text = f"({target.text}) - ({float(mean)!r})" if abs(mean) > 1e-12 else target.text
            seen = Target(text, noise=target.noise + max(noise, 0.0))
        result.append((a, shifted[b], seen))
    return result


def _with_bias(activation: Activation, bias: float) -> Activation:
    if not bias:
        return activation
    return Activation(re.sub(r"\bz1?\b", f"(z + ({bias!r}))", activation.text))


def _inner_values(student: TrainedStudent, d: int) -> tuple[float | None, ...]:
    """Inner steps as the theory takes them: what a sample does to its own field, times d/b."""
    load = d / student.batch_size
    match student.rule:
        case "plain":
            return (None,)
        case "sam_normalized":
            return _INNER if student.radius is None else (student.radius * math.sqrt(load),)
        case "k_steps" | "look_ahead":
            given = student.inner_step_size
            if given is None and student.step_size != "auto":
                given = student.eta
            return _STEPS if given is None else (given * load,)
    return _INNER if student.inner_step_size is None else (student.inner_step_size * load,)


def stage_of(
    target: Target, activation: Activation, rule: Rule, student: TrainedStudent, a: float,
    inner: float | None, d: int,
) -> LinearStage:  # fmt: skip
    clip = student.clip_norm
    if clip is not None:  # of the mean of a batch, whose length is that of a sample over sqrt(b)
        clip *= math.sqrt((student.batch_size if student.clip == "batch" else 1) / d)
    return escape(
        target,
        activation,
        rule=rule,
        loss=student.loss,
        readout=a,
        inner_step=None if rule in ("plain", "sam_normalized") else inner,
        inner_steps=student.inner_steps,
        radius=inner if rule == "sam_normalized" else None,
        loss_scale=student.loss_scale,
        optimizer=student.optimizer,
        clip_norm=clip,
    )


def _gamma(stage: LinearStage, student: TrainedStudent, inner: float | None, d: int) -> float:
    """Step for one sample, times d."""
    if student.step_size != "auto":
        return student.eta / step_unit(student, d)
    if student.rule in ("k_steps", "look_ahead"):  # the step is the inner one
        return float(inner or 0.0) * float(student.interpolation or 1.0)
    if stage.step_size is None:
        return _small(stage.variance.value)
    return float(stage.step_size) * d ** (1 - stage.step_power)


def _settled(best: _Choice, d: int) -> float:
    """Step of a choice, made smaller where its noise would stop the overlap on its way to 1/2."""
    gamma = best.gamma
    depends_on_step = best.stage.update.rule in ("k_steps", "look_ahead")
    if math.isinf(best.exponent) or depends_on_step or d < _SMALLEST:
        return gamma
    for _ in range(_HALVINGS):
        if math.isfinite(_hitting_time(best, gamma, d).value):
            return gamma
        gamma /= 2
    return best.gamma


def _hitting_time(best: _Choice, gamma: float, d: int) -> Estimate:
    return best.stage.hitting_time(d, step_size=gamma * d ** (best.stage.step_power - 1))


def _small(V: float) -> float:
    """Step whose noise moves the squared norm by 4 % in d samples."""
    return 0.2 / math.sqrt(V)


def _cautious(target: Target, student: TrainedStudent) -> float:
    """Small step where the theory is silent, from the sizes of labels and slopes."""
    return _small(target.joint.second_moment().value * curvature(student))


def curvature(student: TrainedStudent) -> float:
    slope = student.sigma.derivative().expression
    return sum(a * a for a in student.a) * slope.second_moment().value


def largest_step(student: TrainedStudent, d: int) -> float:
    """Bound [SG-6]."""
    load = 0.0 if student.loss == "correlation" else d / student.batch_size
    return 0.5 * (1 - student.momentum) / ((load + 1.0) * curvature(student))


# ---- what to say


def _advice(target: Target, student: TrainedStudent, d: int, best: _Choice) -> list[str]:
    """One sentence where another rule learns what this one does not, or much faster."""
    if best.exponent <= 2:
        return []
    optimizer = "" if student.optimizer == "sgd" else f", optimizer '{student.optimizer}'"
    here = f"The rule '{student.rule}'{optimizer} with {student.activation} "
    if math.isinf(best.exponent):
        here += "cannot escape from a random start, according to theory"
    else:
        here += f"needs O(d^{best.exponent - 1}) steps"
    rules: tuple[Rule, ...] = ("extragradient", "sam")
    plain = replace(student, inner_step_size=None, step_size="auto", **_WITHOUT_OPTIMIZER)
    others = [_best(target, replace(plain, rule=rule), d) for rule in rules if rule != student.rule]
    other = max(others, key=lambda choice: choice.speed)
    if other.exponent > 2:
        return [f"{here}; another activation, such as tanh(z + 0.2), may learn more."]
    rule, inner = other.stage.update.rule, (other.inner or 0.0) * student.batch_size / d
    return [
        f"{here}; the rule '{rule}' with inner_step_size = {inner:.2g} escapes in "
        f"O({other.stage.scaling}) steps."
    ]


def _duration(best: _Choice | None, student: TrainedStudent, d: int) -> tuple[int, list[str]]:
    """Number of updates after which the first direction is learned, and some more."""
    steps, note = 20 * d * math.log(d + 1) / student.batch_size, []
    if best is not None and math.isfinite(best.exponent) and d >= _SMALLEST:
        time = _hitting_time(best, student.eta / step_unit(student, d), d)
        has_length = student.optimizer in ("normalized", "muon")
        needed = _PATIENCE * time.value / (1 if has_length else student.batch_size)
        if needed <= _LONGEST:
            steps = needed
        elif math.isfinite(needed):
            note.append(
                f"The theory asks for about {needed:.1g} updates, which is too many for a default. "
                "This run is too short to learn; give steps for a longer one."
            )
        else:
            note.append(f"According to the theory of the escape, {time.note}.")
    return max(int(min(steps, _LONGEST)), 10), note

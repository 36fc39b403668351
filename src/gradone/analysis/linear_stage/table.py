r"""Which rule lets SGD escape, how fast, with which step: the verbs of the linear stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...base.errors import BadData, OutOfRegime
from ...targets.activation import Activation
from ...targets.frame import natural_frame
from ...targets.losses import check_labels
from ...targets.target import Target
from ...targets.training import Rule
from .integrals import moments
from .rules import Update
from .stage import MAX_R, LinearStage


def escape(
    target: Target | str,
    activation: str | Activation = "relu(z)",
    *,
    rule: Rule = "plain",
    loss: str = "square",
    readout: float = 1.0,
    inner_step: float | None = None,
    inner_steps: int = 2,
    radius: float | None = None,
    loss_scale: float = 1.0,
    optimizer: str = "sgd",
    clip_norm: float | None = None,
) -> LinearStage:
    r"""Linear stage of one-pass SGD on a target, from a neuron without overlap [ES-2].

    Parameters
    ----------
    target : Target or str
        What is learned; at most four directions that do not reduce to fewer.
    activation : str
        The function :math:`\sigma`, bias included: ``"tanh(z + 0.2)"``.
    rule : str
        ``"plain"``; ``"extragradient"`` (gradient at w + inner step); ``"sam"`` (at w - inner
        step); ``"sam_normalized"``; ``"k_steps"`` and ``"look_ahead"`` (several steps on one
        sample).
    loss, loss_scale : str, float
        ``"square"``, ``"correlation"``, ``"logistic"``, ``"smooth_hinge"``, ``"huber"``,
        ``"pseudo_huber"``, ``"absolute"`` or a formula of ``y`` and ``f``: see
        :class:`gradone.targets.training.TrainedStudent`.
    readout : float
        Weight a of the neuron in the output; its sign matters.
    inner_step : float
        :math:`\rho`: d times ``inner_step_size``; needed by every rule that looks ahead. A negative
        one turns the extra-gradient into SAM.
    inner_steps : int
        Number of steps on one sample.
    radius : float
        :math:`\sqrt d` times the radius of normalized SAM.
    optimizer : str
        ``"sgd"``, ``"normalized"``, ``"muon"`` (the same, for batches of one sample) or ``"sign"``
        (for directions that are spread over the coordinates). Momentum :math:`\beta` is
        ``"sgd"`` with gamma divided by :math:`1 - \beta`.
    clip_norm : float
        Largest norm of a gradient, divided by :math:`\sqrt d`.

    Returns
    -------
    LinearStage

    Notes
    -----
    The push depends on z through the label only: it is averaged over its field for each label
    first, and what remains is an integral over z. The plain gradient has closed forms,
    :math:`v = a c_1 C_1`, :math:`K = a c_2 C_2` with the Hermite coefficients of the activation
    and the Hermite tensors of the target.

    Examples
    --------
    He3 is invisible to plain SGD with a relu, and easy for an extra-gradient step:

    >>> escape("He3(z)", "relu(z)").scaling
    'stuck'
    >>> stage = escape("He3(z)", "relu(z)", rule="extragradient", inner_step=0.1,
    ...                loss="correlation")
    >>> stage.scaling, round(float(stage.v[0]), 6), round(stage.variance.value, 6)
    ('d', -0.118646, 2.080604)

    So it is for normalized gradients, which look at each sample once:

    >>> stage = escape("He3(z)", "relu(z)", loss="correlation", optimizer="normalized")
    >>> stage.scaling, round(float(stage.v[0]), 5)
    ('d', -0.22091)
    """
    target = target if isinstance(target, Target) else Target(target)
    directions = len(natural_frame(target.joint).rows)
    if directions > MAX_R:
        latent = " and latent variables" if target.q else ""
        raise OutOfRegime(
            f"the target depends on {directions} directions{latent}; the linear stage is computed "
            f"for at most {MAX_R}"
        )
    if isinstance(activation, str):
        activation = Activation(activation)
    update = Update(
        activation,
        rule,
        loss,
        float(readout),
        float(inner_step or 0.0),
        int(inner_steps),
        float(radius or 0.0),
        float(loss_scale),
        optimizer,
        math.inf if clip_norm is None else float(clip_norm),
    )
    check_labels(loss, target)
    needed = {"plain": None, "sam_normalized": "radius"}.get(rule, "inner_step")
    if needed and {"inner_step": inner_step, "radius": radius}[needed] is None:
        raise BadData(f"the rule '{rule}' needs {needed}=...; without it, it is the plain rule")
    found = moments(update, target)
    return LinearStage(target, update, found.drift, found.growth, found.variance)


@dataclass(frozen=True)
class EscapeTable:
    """Linear stages of several rules and readout signs, the fastest first.

    Parameters
    ----------
    stages : tuple of LinearStage
        Sorted by the number of steps they need.
    """

    stages: tuple[LinearStage, ...]

    @property
    def best(self) -> LinearStage:
        """The stage that needs the fewest steps."""
        return self.stages[0]

    def summary(self) -> str:
        """One line for each rule and readout sign."""
        first = self.best
        lines = [f"{first.target.text}  |  {first.update.activation.text}"]
        for stage in self.stages:
            steps = stage.scaling
            if steps == "d^(l-1)" and stage.exponent:
                steps_text = f"d^{stage.exponent - 1}"
            else:
                steps_text = steps
            lines.append(
                f"  {stage.name:<46} {steps_text:<9} |v| = {stage.speed.value:<9.3g} "
                f"k1 = {stage.top.value:<10.3g} V = {stage.variance.value:.3g}"
            )
        return "\n".join(lines)


def escape_table(
    target: Target | str,
    activation: str | Activation = "relu(z)",
    *,
    loss: str = "square",
    rules: Sequence[Rule] = ("plain", "extragradient", "sam"),
    readouts: Sequence[float] = (1.0, -1.0),
    inner_step: float = 0.1,
    inner_steps: int = 2,
    radius: float = 0.3,
) -> EscapeTable:
    """Linear stages of several rules and readout signs, compared.

    Parameters
    ----------
    target, activation, loss, inner_step, inner_steps, radius
        As in :func:`escape`; `inner_step` and `radius` are used by the rules that have one.
    rules : sequence of str
        Rules to compare.
    readouts : sequence of float
        Readout weights to compare.

    Returns
    -------
    EscapeTable
        ``.best`` is the fastest: fewest steps in the limit of large d, then the largest rate.

    Examples
    --------
    A relu wants an extra-gradient step to see He4:

    >>> table = escape_table("He4(z)", "relu(z)", loss="correlation")
    >>> table.best.update.rule, table.best.scaling
    ('extragradient', 'd log d')
    """
    stages = [
        escape(target, activation, rule=rule, loss=loss, readout=readout, inner_step=inner_step,
               inner_steps=inner_steps, radius=radius)
        for rule in rules
        for readout in readouts
    ]  # fmt: skip
    return EscapeTable(tuple(sorted(stages, key=_slowness)))


def _slowness(stage: LinearStage) -> tuple[float, float]:
    """Key that puts the fastest stage first."""
    order = {"d": 1.0, "d log d": 2.0, "undecided": math.inf, "stuck": math.inf}
    power = order.get(stage.scaling, float(stage.exponent or math.inf))
    return power, -stage.rate.value

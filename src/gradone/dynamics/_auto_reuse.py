r"""Step sizes for data that are seen again and again.

A full batch of n samples divides the noise by n, and the step :math:`\eta` is of order 1: it must
not overshoot [SG-6], and one update must not move a neuron by more than about its own length,

.. math:: \eta^2\,\frac db\,\mathbb{E}[y^2] \sum_j a_j^2\,\mathbb{E}[\sigma'^2] \le \frac14.
          \qquad [RV-3]

A sample that is seen a second time has moved its own fields by rho = eta d/b, as if it had been
used twice in a row: what two steps on one sample can see, a second pass can.
"""

from __future__ import annotations

import math

from ..base.errors import OutOfRegime
from ..targets.target import Target
from ..targets.training import TrainedStudent
from ._auto import curvature, largest_step, stage_of, typical_neurons, with_steps


def chosen_reuse(
    target: Target, student: TrainedStudent, d: int
) -> tuple[TrainedStudent, list[str]]:
    """Student with numbers for its step sizes, and what to tell the user.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> student, notes = chosen_reuse(Target("He3(z)"), read_training(width=1, batch_size=300), 100)
    >>> round(student.eta, 2), notes
    (0.5, ['Chosen: step_size = 0.5.'])
    """
    student, chosen = gentle_steps(target, student, d)
    return student, [chosen, *_outlook(target, student, d)]


def gentle_steps(target: Target, student: TrainedStudent, d: int) -> tuple[TrainedStudent, str]:
    """Student with numbers for its step sizes, and the sentence that names them.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> gentle_steps(Target("He3(z)"), read_training(width=1, batch_size=300), 100)[1]
    'Chosen: step_size = 0.5.'
    """
    steepness = curvature(student)
    labels = target.joint.second_moment().value + target.noise
    gentle = 0.5 / math.sqrt(d / student.batch_size * labels * steepness)  # [RV-3]
    return with_steps(student, d, min(gentle, largest_step(student, d)))


def _outlook(target: Target, student: TrainedStudent, d: int) -> list[str]:
    """One sentence if a second pass does not find a direction at once."""
    load = d / student.batch_size
    rule = "k_steps" if student.rule == "plain" else student.rule
    inner = student.eta if rule == "k_steps" else student.inner_eta
    if rule == "sam_normalized":
        inner = float(student.radius or 0.0) / math.sqrt(load)
    scalings = set()
    try:
        for a, activation, seen in typical_neurons(target, student):
            stage = stage_of(seen, activation, rule, student, a, inner * load, d)
            if (scaling := stage.linear_scaling) in ("d", "undecided"):
                return []  # one neuron is enough
            scalings.add(scaling)
    except OutOfRegime as error:
        return [f"The theory of the escape does not apply: {error}."]
    if "d log d" in scalings:
        return [
            "According to the theory of the escape no pass finds a direction at once: overlaps "
            "grow from 1/sqrt(d) by a factor at each step, which takes O(log d) steps."
        ]
    return [
        f"According to the theory of the escape {student.activation} finds no direction of this "
        f"target in a few passes over n = O(d) samples with the rule '{student.rule}'; another "
        "activation, such as tanh(z + 0.2), may find one."
    ]

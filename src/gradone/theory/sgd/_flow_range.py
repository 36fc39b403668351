"""What the flow covers, and what it says of the rest."""

from __future__ import annotations

from ...base.errors import BadData, OutOfRegime
from ...targets.optimizers import COORDINATEWISE
from ...targets.training import TrainedStudent
from ._flow_solution import Limit

MAX_WIDTH = 8
_LONGEST = 0.999  # memory over more updates needs runs that are longer than what fits


def check_flow(student: TrainedStudent, limit: Limit) -> None:
    """Refuse what the flow does not cover.

    Examples
    --------
    >>> from ...targets.training import read_training
    >>> check_flow(read_training(width=9, step_size=0.1), Limit())
    Traceback (most recent call last):
    gradone.base.errors.OutOfRegime: the means are computed for a width of at most 8, got 9; ...
    """
    if student.step_size == "auto":
        raise BadData(
            'step_size must be a number, got "auto": the flow has no d from which a step could '
            "follow; give gamma = eta d, which gradone.analysis.escape(...).step_size "
            "recommends"
        )
    if student.width > MAX_WIDTH:
        raise OutOfRegime(
            f"the means are computed for a width of at most {MAX_WIDTH}, got {student.width}; "
            "gd.dynamics.sgd simulates wider students"
        )
    if student.rule == "sam_normalized" and student.batch_size > 1:
        raise OutOfRegime(
            "the normalized inner step ties the samples of a batch together, which the flow does "
            "not cover; use batch_size=1, or gd.dynamics.sgd"
        )
    if student.orthogonalize != "polar":
        raise OutOfRegime("the flow of Muon is that of orthogonalize='polar'; use gd.dynamics.sgd")
    remembered = student.betas[student.optimizer == "rmsprop" :]
    if student.optimizer in ("rmsprop", "adam") and max(remembered) > _LONGEST:
        raise OutOfRegime(
            f"the flow covers memories betas up to {_LONGEST}, got {max(remembered)}; with longer "
            "ones it tends to plain SGD whose step is divided by the root of the mean square of "
            "the pushes"
        )
    if limit.momentum_rate is not None:
        _check_momentum_rate(student, limit)
    if limit.batch_ratio is not None:
        _check_batch_ratio(student, limit)
    if limit.covariance is not None:
        _check_covariance(student, limit)


def _check_momentum_rate(student: TrainedStudent, limit: Limit) -> None:
    if student.momentum or student.optimizer != "sgd" or student.rule != "plain":
        raise BadData(
            "momentum_rate stands for momentum = 1 - momentum_rate/d with optimizer='sgd' and "
            "rule='plain'; leave momentum out"
        )
    if student.weight_decay or limit.batch_ratio is not None or limit.covariance is not None:
        raise OutOfRegime(
            "momentum_rate is computed without weight_decay, batch_ratio and covariance"
        )
    if student.geometry == "spherical":
        raise BadData("the buffer is not transported; use geometry='projected'")


def _check_batch_ratio(student: TrainedStudent, limit: Limit) -> None:
    if student.batch_size != 1:
        raise BadData("give batch_size, a number of samples, or batch_ratio, samples over d")
    if student.rule != "plain" or student.momentum or student.clip != "batch":
        raise OutOfRegime(
            "batch_ratio is computed for rule='plain' and clip='batch', without momentum"
        )
    if limit.covariance is not None or not limit.second_order:
        raise OutOfRegime(
            "batch_ratio is computed for isotropic inputs, and with second_order=True"
        )


def _check_covariance(student: TrainedStudent, limit: Limit) -> None:
    assert limit.covariance is not None
    if student.optimizer in COORDINATEWISE:
        raise BadData(f"covariance with '{student.optimizer}' needs eigenvectors; leave it out")
    if student.rule != "plain":
        raise OutOfRegime("covariance is computed for rule='plain'")
    mean = float(limit.covariance.eigenvalues @ limit.covariance.fractions)
    bounded = student.optimizer != "sgd" or student.clip_norm is not None
    if bounded and abs(mean - 1) > 1e-9:
        raise BadData(
            f"covariance: the mean eigenvalue must be 1 for bounded gradients, whose length is "
            f"measured in its root, got {mean:g}; divide the eigenvalues by it"
        )

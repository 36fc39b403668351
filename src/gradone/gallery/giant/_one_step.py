"""One giant step of the learner as the theory of one step describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...learners import LEARNERS
from ...targets.target import Target

if TYPE_CHECKING:
    from ...targets.sampling import Sample


def one_step(
    target: Target,
    *,
    d: int,
    batch_ratio: float,
    width_ratio: float,
    step_size: float,
    readout_ratio: float | None = None,
    replicate: int = 0,
    **given: Any,
) -> tuple[Any, Sample]:
    """Fitted learner and its sample: rows of the step, then those of the readout.

    Without biases, symmetric pairs and standardization; `readout_ratio` are the samples of the
    readout per dimension; without it there are two.
    """
    batch = round(batch_ratio * d)
    rest = 2 if readout_ratio is None else round(readout_ratio * d)
    sample = target.sample(batch + rest, d, seed=0, replicate=replicate, dtype="float32")
    learner = LEARNERS["giant_step"](
        round(width_ratio * d),
        step_size=step_size,
        batch_size=batch,
        bias_scale=0.0,
        symmetric=False,
        standardize=False,
        shuffle=False,
        random_state=replicate,
        **{"ridge": 1.0, **given},
    ).fit(sample.X, sample.y)
    return learner, sample

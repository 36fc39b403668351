"""Posterior of the projections given a label, for any target: one file per kind of output."""

from __future__ import annotations

from ..base.errors import OutOfRegime
from ..targets.essential import essential_target
from ..targets.target import Target
from .base import Outcomes, Posterior, PosteriorChannel
from .linear_part import linear_part

__all__ = ["Outcomes", "Posterior", "PosteriorChannel", "posterior_channel"]

MAX_DIRECTIONS = 4


def posterior_channel(target: Target, *, resolution: int = 0) -> PosteriorChannel:
    """Posterior channel of a target, chosen by the kind of its output.

    Parameters
    ----------
    target : Target
        Target with r up to 4.
    resolution : int
        Number of times that the step of every rule inside is halved; -1 allows for rough outcomes,
        to about 0.1 %, where they are faster.
    """
    if target.r > MAX_DIRECTIONS:
        raise OutOfRegime(
            f"the posterior of z is an integral over r = {target.r} directions, at most "
            f"{MAX_DIRECTIONS} can be done. Choose a target of fewer directions, or a learner that "
            "need not know the link, as SpectralDirections or GiantStep."
        )
    target = essential_target(target)
    if target.channel.kind == "discrete":
        from .discrete import DiscreteChannel

        return DiscreteChannel(target, resolution)
    if target.noise or linear_part(target.expression).slope:
        from .noisy import NoisyPosterior
        from .noisy_discrete import NoisyDiscreteChannel, values_and_line

        is_discrete = values_and_line(target) is not None
        return (NoisyDiscreteChannel if is_discrete else NoisyPosterior)(target, resolution)
    from .deterministic import DeterministicPosterior

    return DeterministicPosterior(target, resolution)

"""Targets of one direction or few, in whatever variables they are typed."""

from __future__ import annotations

from ...targets.frame import natural_frame
from ...targets.target import Target
from .._registry import Theory


def directions_used(target: Target) -> int:
    """Number of directions that a target depends on.

    Examples
    --------
    >>> directions_used(Target("tanh(3*z1 - 4*z2)")), directions_used(Target("z1*z3"))
    (1, 2)
    """
    return len(natural_frame(target.joint, target.q).rows) - target.q


def one_direction_obstacle(target: Target) -> str | None:
    """Why a theory of targets of one direction does not cover a target, or None."""
    used = directions_used(target)
    if used > 1:
        return f"the target depends on {used} directions, and the theory of one step covers one"
    if used == 0:
        return "the target is a constant, so there is nothing to learn"
    return None


def one_direction(target: Target) -> Target:
    """The same function as one of z alone, for a target that depends on one direction.

    Noise and the law of the labels stay. The direction is that of the typed linear form with its
    first entry positive.

    Examples
    --------
    >>> one_direction(Target("sin(z2)")), one_direction(Target("tanh(3*z1 - 4*z2)", noise=0.1))
    (Target('sin(z1)'), Target('tanh(5*z1)', noise=0.1))
    """
    if target.r == 1:
        return target
    framed = natural_frame(target.joint, target.q)
    return Target.of(framed.expression, target.noise, latent=target.q)


def in_its_directions(target: Target) -> Target:
    """The same target with no more variables than directions.

    Examples
    --------
    >>> in_its_directions(Target("sin(z2)")), in_its_directions(Target("z1 + z1*z2"))
    (Target('sin(z1)'), Target('z1 + z1*z2'))
    """
    used = directions_used(target)
    return target if used == target.r else one_direction(target)


class OneDirectionTheory(Theory):
    """Theory of targets of one direction."""

    latent = True

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        return one_direction_obstacle(target)

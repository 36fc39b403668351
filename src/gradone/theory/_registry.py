"""Theories: what each one states about itself, and the table in which it is found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.curves import curve
from ..base.errors import OutOfRegime
from ..base.registry import Registry
from ..targets.on_inputs import OnInputs, Situation
from ..targets.sampled import Sampled
from ..targets.target import Target

if TYPE_CHECKING:
    import xarray as xr

THEORIES = Registry("theory", "gradone.theory")


class Theory(ABC):
    """One asymptotic prediction: a formula or a solver that turns a target into curves.

    A theory is a file of this room with a class under ``@THEORIES.add("name")``. Its docstring
    holds the formula with its tag; the same tag stands beside the line of code that computes it.

    Notes
    -----
    :func:`gradone.predict` checks the axes, asks `obstacle` and calls :meth:`predict` with arrays.
    A point whose solver stopped too early comes back with its last iterate, ``converged`` False
    and the reason in ``status``; the caller decides whether that is an error. A theory that cannot
    compute anything at a point raises :class:`gradone.NotConverged`; `blank` says what is missing.
    """

    name: ClassVar[str]
    """Name in the table; set by ``THEORIES.add``."""
    answers: ClassVar[tuple[str, ...]]
    """Variables of the curve, without their errors."""
    axes: ClassVar[tuple[str, ...]]
    """Arguments that become dimensions of the curve: positive numbers, one or many."""
    may_be_zero: ClassVar[tuple[str, ...]] = ()
    """Axes that may be 0: the theory has that limit."""
    may_be_infinite: ClassVar[tuple[str, ...]] = ()
    """Axes that may be infinite."""
    regime: ClassVar[str]
    """Limit in which the prediction is exact, and what it assumes, in one line."""
    cites: ClassVar[tuple[str, ...]]
    """Keys of the references."""
    numerics: ClassVar[int] = 1
    """Version of its numbers, one higher when they may change: stored ones are computed anew."""
    latent: ClassVar[bool] = False
    """Whether the theory covers latent noise inside the link."""
    seconds: ClassVar[float] = 0.02
    """Time of one point on one core, to a factor of a few."""
    kinds: ClassVar[tuple[type[Sampled], ...]] = (Target,)
    """Classes of targets that `obstacle` may be asked about."""
    laws: ClassVar[tuple[Situation, ...]] = ("gaussian", "delocalized")
    """Laws of the inputs that it covers, as :attr:`.OnInputs.situation` names them. Of those two
    it is told the target alone, of others the target on its inputs."""
    leaves_a_start: ClassVar[bool] = False
    """Whether its curves tell when SGD leaves a random start."""
    whitens: ClassVar[bool] = False
    """Whether a covariance is covered by the reduced target, for whoever whitens the inputs."""

    @abstractmethod
    def obstacle(self, target: Any) -> str | None:
        """Why the theory does not cover a target, as a clause without a full stop, or None."""

    def obstacle_of_inputs(self, target: OnInputs) -> str | None:
        """Why the theory does not cover inputs of one of its `laws`, or None."""
        return None

    @abstractmethod
    def predict(self, target: Any, *_: Any, **axes: Any) -> xr.Dataset:
        """Curve of a target that has no obstacle, at arrays of checked axes."""

    def blank(self, target: Any, *_: Any, **axes: Any) -> xr.Dataset:
        """Curve of the form of :meth:`predict` without a number, for points that are given up.

        Here every answer has the axes as its dimensions. A theory that may raise
        :class:`gradone.NotConverged` and whose answers have others writes its own.
        """
        dims = tuple(axis for axis in self.axes if axis in axes)
        shape = tuple(len(axes[axis]) for axis in dims)
        lost = (dims, np.full(shape, np.nan))
        values: dict[str, tuple[Any, Any]] = {}
        for answer in self.answers:
            values |= {answer: lost, f"{answer}_err": lost}
        values["converged"] = (dims, np.zeros(shape, dtype=bool))
        values["status"] = (dims, np.full(shape, ""))
        coords = {axis: axes[axis] for axis in dims}
        return curve(values, coords, source=f"theory:{self.name}", target=target.text)


def obstacle(theory: Theory, target: Sampled) -> str | None:
    """Why a theory does not cover a target of any class, or None.

    Examples
    --------
    >>> from gradone import Sight
    >>> class Example(Theory):
    ...     def obstacle(self, target):
    ...         return None
    ...     def predict(self, target, **axes): ...
    >>> obstacle(Example(), Sight(outer="tanh(h)", inner="He2(z)", exponent=0.5))
    'it covers functions of a few directions, and this is a hierarchical target'
    >>> obstacle(Example(), Target("z")) is None
    True
    """
    if isinstance(target, OnInputs):
        return obstacle(theory, target.target) or _obstacle_of_inputs(theory, target)
    if not isinstance(target, theory.kinds):
        known = " or ".join(kind.kind[1] for kind in theory.kinds)
        return f"it covers {known}, and this is {target.kind[0]}"
    if isinstance(target, Target) and target.q and not theory.latent:
        return "the target has latent noise inside its formula"
    return theory.obstacle(target)


def _obstacle_of_inputs(theory: Theory, target: OnInputs) -> str | None:
    covered = (*theory.laws, "covariance") if theory.whitens else theory.laws
    if target.situation not in covered:
        return target.situation_in_words
    return theory.obstacle_of_inputs(target)


def seen(theory: Theory, target: Sampled) -> tuple[Any, str]:
    """What a theory is told in place of a target on its inputs, and what a reader must know."""
    if not isinstance(target, OnInputs):
        return target, ""
    if target.situation == "covariance" and theory.whitens:
        return target.reduced, target.assumption()
    if target.situation == "delocalized":
        plain, leap = target.target, None
        if theory.leaves_a_start and isinstance(plain, Target):
            from ..analysis.correlation.leap import leap_record

            leap = leap_record(plain.regression).exponent.value
        return plain, target.assumption(leap)
    return (target.target if target.situation == "gaussian" else target), ""


def refusal(theory: Theory, target: Sampled, reason: str) -> OutOfRegime:
    """Error of a theory that does not cover a target; it names the theories that do."""
    others = [
        f"'{name}'"
        for name in THEORIES
        if name != theory.name and not obstacle(THEORIES[name](), target)
    ]
    do = f"Theories that do: {', '.join(others)}." if others else "No other theory does."
    if isinstance(target, OnInputs) and not obstacle(theory, target.target):
        way = "Use directions='random', or simulate." if target.are_axes else "Simulate instead."
        return OutOfRegime(f"'{theory.name}' does not cover these inputs: {reason}. {way} {do}")
    return OutOfRegime(f"'{theory.name}' does not cover this target: {reason}. {do}")

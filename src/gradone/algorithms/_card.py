"""Cards: what each algorithm states about itself, and the table in which it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from ..analysis.plan import Case, PlanRow
from ..base.curves import joined
from ..base.errors import GradoneError
from ..base.registry import Registry, Thing
from ..dynamics import ENGINES
from ..targets.on_inputs import OnInputs, without_inputs
from ..targets.sampled import Sampled
from ..targets.target import Target
from ..theory import THEORIES
from ..theory._registry import obstacle
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr


class _Cards(Registry):
    """Cards by name; an estimator of an installed package gets one of its own."""

    def add(self, name: str) -> Callable[[Thing], Thing]:
        """Decorator that registers a card, or a class with ``fit`` and ``predict``."""
        register = super().add(name)

        def added(thing: Thing) -> Thing:
            is_card = isinstance(thing, type) and issubclass(thing, Algorithm)
            register(thing if is_card else _card_for(thing))
            return thing

        return added


def _card_for(estimator: Any) -> type[Algorithm]:
    from ..learners._foreign import find_class, name_of

    learner = name_of(estimator)
    find_class(learner)
    facts = {"label": estimator.__name__, "color": "", "family": "tables", "learner": learner}
    return type(estimator.__name__, (Algorithm,), {**facts, "__doc__": estimator.__doc__})


ALGORITHMS = _Cards("algorithm", "gradone.algorithms")

Kind = Literal["learning", "gradient", "plateau"]
Shown = Literal["first", "also", "asked"]
_WORDS = {
    "alpha": "n / d",
    "kappa": "log n / log d",
    "time": "time",
    "batch_ratio": "samples of each step / d",
}


class Slider(NamedTuple):
    """A parameter of the theory that a page moves on a logarithmic scale.

    Without a `value` of its own it stands first where the card's ``defaults`` say.
    """

    name: str
    low: float
    high: float
    label: str = ""
    value: float | None = None


class Picture(NamedTuple):
    """The picture of its own that an algorithm has in a report on a target.

    Parameters
    ----------
    kind : {"time", "step", "gradient", "plateau"}
        Recovery of the directions along time or along steps; cosines of gradients; errors along
        log n / log d.
    title, text : str
        What it is about, and what to see.
    places : tuple of float
        Places of the simulations; none means one simulation as long as it takes.
    line : tuple of float
        Places of the theory; none means those of the simulation.
    d : int, optional
        Dimension of the simulations, where it is not that of the report.
    settings : mapping
        Settings of the runs.
    """

    kind: Literal["time", "step", "gradient", "plateau"]
    title: str
    text: str
    places: tuple[float, ...] = ()
    line: tuple[float, ...] = ()
    d: int | None = None
    settings: Mapping[str, Any] = MappingProxyType({})


class Algorithm:
    """One algorithm: up to three faces, and how a run in common terms becomes their arguments.

    A card is a file of this room with a class under ``@ALGORITHMS.add("name")``. Comparisons,
    sweeps, reports, the lab, legends and plans read it; nothing else knows the algorithm by name.

    Notes
    -----
    An algorithm of one's own needs a label, a color, a family and a learner; the rest has defaults.
    """

    name: str
    """Name in the table; set by ``ALGORITHMS.add``."""
    label: str
    """Name for people."""
    color: str
    """Name in the palette, or ``#rrggbb``; theory and simulation have the same."""
    family: ClassVar[str]
    """``bayes``, ``lazy``, ``sgd``, ``giant``, ``depth`` or ``tables``."""
    how: ClassVar[str] = ""
    """A sentence about the settings of a comparison."""
    theory: str = ""
    """Name of the theory that predicts it."""
    engine: ClassVar[str] = ""
    """Name of the engine that simulates it exactly, in few numbers."""
    learner: str = ""
    """Name of the estimator that does it to data."""
    prominence: ClassVar[Shown] = "first"
    """``"first"``: in reports, and chosen when a race opens; ``"also"``: offered in a race;
    ``"asked"``: only in comparisons of all, or if it is named."""
    relatives: ClassVar[tuple[str, ...]] = ()
    """Names of other theories of it, which are drawn in its color."""
    networks: ClassVar[tuple[str, ...]] = ()
    """Its networks in the theory of depth: the first has the curve, all have rows of the plan."""
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Settings of a run that does not choose them."""
    sliders: ClassVar[tuple[Slider, ...]] = ()
    """What a page can move."""
    axis: ClassVar[str] = "alpha"
    """Axis of the picture of its theory; with one pass, ``"time"`` is n/d."""
    own_clock: ClassVar[str] = ""
    """Axis of its theory that counts otherwise than in samples, and along which it is predicted
    too."""
    neurons: ClassVar[int | None] = None
    """Neurons of the network that is watched along time; None for two or four."""
    kind: ClassVar[Kind] = "learning"
    """Curves of one axis and one kind stand on the same picture."""
    picture: ClassVar[Picture | None] = None
    """Its own picture in a report; None if the comparison shows it."""
    takes_many: ClassVar[bool] = True
    """Whether its theory or engine answers at several places of the axis in one call."""
    at_once: ClassVar[bool] = False
    """Whether the whole curve takes less than a second."""
    needs_two_labels: ClassVar[bool] = False
    """Whether its learner is a classifier."""
    with_time_to_spare: ClassVar[bool] = False
    """Whether its theory takes so long that a quick comparison leaves it out."""
    test_samples: ClassVar[int] = 4096
    """Fresh samples on which its learner is measured in a comparison."""

    # ---- what it covers

    def shown(self, target: Sampled) -> Shown:
        """How prominent it is for a target.

        What its theory is not about is no more than offered.
        """
        name = self.theory_for(target)
        kinds = THEORIES[name].kinds if name else ()
        if self.prominence == "first" and name and not isinstance(without_inputs(target), kinds):
            return "also"
        return self.prominence

    def theory_for(self, target: Sampled) -> str:
        """Name of the theory for a target; empty if there is none."""
        return self.theory

    def obstacle(self, target: Sampled) -> str | None:
        """Why its theory does not cover a target, or None."""
        name = self.theory_for(target)
        return obstacle(THEORIES[name](), target) if name else "it has no theory"

    def missing_theory(self, target: Sampled, axis: str) -> str | None:
        """Why there is no curve of the theory along an axis of all samples, or None."""
        if reason := self.obstacle(target):
            return reason
        if self.axis == axis or (self.axis, axis) == ("time", "alpha"):
            return None
        return f"its axis is {_WORDS[self.axis]}"

    def missing_simulation(self, target: Sampled) -> str | None:
        """Why there is no simulation, or None."""
        if self.is_exact_for(target):
            return None
        if not self.learner:
            return "it has no simulation"
        if self.needs_two_labels and not _has_two_labels(target):
            return "it needs labels of two values"
        return None

    def is_exact_for(self, target: Sampled) -> bool:
        """Whether an engine simulates it on a target; else the learner runs on data."""
        return bool(self.engine) and isinstance(target, Target)

    # ---- from common terms to arguments

    def chosen(self, run: Run) -> dict[str, Any]:
        """Settings of a run, with the defaults of the card."""
        return {**self.defaults, **run.settings}

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """Arguments of the theory at the places of a run."""
        return {run.axis: run.places, **self.chosen(run)}

    def engine_arguments(self, run: Run) -> dict[str, Any]:
        """Arguments of the engine at the places of a run."""
        raise NotImplementedError

    def learner_arguments(self, run: Run) -> dict[str, Any]:
        """Parameters of the learner at one place of a run; n and d are told to it by the data.

        Where there is a theory, these are of the network and the training that it is about:
        the same word is the same run.
        """
        return self.chosen(run)

    # ---- curves

    def predicted(self, run: Run) -> xr.Dataset:
        """Curve of the theory along the axis of the run."""
        from ..theory.predict import predict

        name, target = self.theory_for(run.target), run.target
        curves = [
            self.along(
                predict(target, name, on_failure="mark", **self.theory_arguments(part)), part
            )
            for part in self._parts(as_gaussian(run))
        ]
        return joined(curves, run.axis)

    def simulated(self, run: Run) -> xr.Dataset:
        """Curve of the engine along the axis of the run."""
        curves = [self.along(self.watched(part), part) for part in self._parts(run)]
        return joined(curves, run.axis)

    def watched(self, run: Run) -> xr.Dataset:
        """Everything that the engine records in a run."""
        return ENGINES[self.engine].run(run.target, **self.engine_arguments(run))

    def compiled(self, target: Sampled) -> Iterable[Callable[[], object]]:
        """Calls that compile what its faces need for a target, so that others find it on disk."""
        return ()

    def along(self, curve: xr.Dataset, run: Run) -> xr.Dataset:
        """A curve of the theory or the engine along the axis of the run."""
        if run.axis in curve.dims:
            return curve
        kept = set(THEORIES[self.theory].axes) & set(curve.dims) if self.theory else set()
        found = curve.isel({dim: 0 for dim in kept}, drop=True)
        return found.assign_coords({run.axis: run.places[0]}).expand_dims(run.axis)

    def _parts(self, run: Run) -> list[Run]:
        return [run] if self.takes_many else [run.at(place) for place in run.places]

    # ---- the plan

    def needs(self, case: Case) -> Iterable[PlanRow]:
        """Its rows of the plan of a target at given sizes; none by default."""
        return ()


def as_gaussian(run: Run) -> Run:
    """The run on Gaussian inputs, where random directions of others see no difference.

    Starts and steps are chosen for the target on these.
    """
    target = run.target
    if isinstance(target, OnInputs) and target.situation in ("gaussian", "delocalized"):
        return replace(run, target=target.target)
    return run


def in_neurons(settings: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """Settings with the width in neurons; one that was chosen in neurons holds.

    Examples
    --------
    >>> run = Run(Target("z"), d=100)
    >>> in_neurons({"width_ratio": 2.0, "ridge": 1.0}, run)
    {'width': 200, 'ridge': 1.0}
    >>> in_neurons({"width_ratio": 2.0, "width": 30}, run)
    {'width': 30}
    """
    given = dict(settings)
    ratio = given.pop("width_ratio")
    return given if "width" in given else {"width": round(ratio * run.dimension), **given}


def _has_two_labels(target: Sampled) -> bool:
    target = without_inputs(target)
    if not isinstance(target, Target) or target.noise:
        return False
    try:
        return target.channel.kind == "discrete" and len(target.channel.atoms) == 2
    except GradoneError:
        return False

"""One cell of a simulation: a learner fitted on one sample, and what is measured of it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..base.errors import BadData, no_such_parameter
from ..base.seeds import stream
from ..learners import LEARNERS
from ..learners._foreign import is_foreign
from ..learners._trained import shown_name
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled
from ..targets.sampling import Sample
from .foreign import blamed, build_foreign, foreign_directions
from .metrics import Measured, Predictor, measure_directions, measure_many_predictions
from .planted import planted_weights


@dataclass(frozen=True)
class Simulation:
    """What all cells of a simulation share.

    Parameters
    ----------
    target : Target or hierarchical target
        What is learned.
    learner : str
        Name of the learner.
    d : int
        Input dimension.
    seed : int
        Seed of everything random.
    parameters : mapping
        Parameters of the learner.
    test_samples : int
        Number of fresh samples for the errors.
    dtype : str
        ``"float64"`` or ``"float32"``: type of the inputs.
    """

    target: Sampled
    learner: str
    d: int
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    test_samples: int = 4096
    dtype: str = "float64"


@dataclass(frozen=True)
class Fit:
    """What was measured of one fit.

    Parameters
    ----------
    measured : dict of str to Measured
        Quantities with the standard errors of their measurement.
    converged : bool
        Whether the learner says that it came to an end; True if it does not iterate.
    n_iter : int
        Iterations, -1 if the learner does not count any.
    status : str
        What went wrong; empty if nothing did.
    """

    measured: dict[str, Measured]
    converged: bool
    n_iter: int
    status: str = ""


def run_cell(
    simulation: Simulation, *, n: int, replicate: int, ridges: Sequence[float] | None = None
) -> list[Fit]:
    """Fit a learner on n samples of one replicate and measure it.

    The samples depend on (seed, d, replicate) alone: all learners see the same rows, and fewer
    rows are the first of more.

    Parameters
    ----------
    simulation : Simulation
        What all cells share.
    n, replicate : int
        Number of samples and address of the replicate.
    ridges : sequence of float, optional
        Values of the learner's ``ridge``, all from one decomposition where it has ``fit_path``.
        None leaves the ridge as it is, and there is one fit.

    Examples
    --------
    >>> from gradone import Target
    >>> simulation = Simulation(Target("z", noise=0.1), "nothing", d=20)
    >>> run_cell(simulation, n=100, replicate=0)
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown learner 'nothing'. Known: ...
    """
    target, d = simulation.target, simulation.d
    address: dict[str, Any] = {"seed": simulation.seed, "replicate": replicate}
    address["dtype"] = simulation.dtype
    build_learner(simulation, replicate)  # a mistake must not wait for the sample
    sample = target.sample(n, d, **address)
    if isinstance(start := simulation.parameters.get("init"), Mapping):
        rng = stream(simulation.seed, "init", d=d, replicate=replicate, learner="planted")
        weights = planted_weights(start, np.asarray(sample.W_star, float), rng)
        simulation = replace(simulation, parameters={**simulation.parameters, "init": weights})
    if is_foreign(simulation.learner):
        return [_foreign_fit(simulation, sample, n, address)]
    with warnings.catch_warnings():
        from sklearn.exceptions import ConvergenceWarning

        warnings.simplefilter("ignore", ConvergenceWarning)  # it is in `converged`
        fitted = _fitted(simulation, replicate, sample, ridges)
    measured = [_of_training(target, estimator, sample.W_star) for estimator in fitted]
    if hasattr(fitted[0], "predict"):
        del sample  # the fresh samples may need its memory
        fresh = measure_many_predictions(
            target,
            [Predictor(one.predict, getattr(one, "predict_label", None)) for one in fitted],
            d=d,
            test_samples=simulation.test_samples,
            **address,
        )
        measured = [one | more for one, more in zip(measured, fresh, strict=True)]
    return [_fit(estimator, one) for estimator, one in zip(fitted, measured, strict=True)]


def _foreign_fit(simulation: Simulation, sample: Sample, n: int, address: Mapping[str, Any]) -> Fit:
    """Fit of an estimator of somebody else: what it does wrong is told with its name."""
    target, d, replicate = simulation.target, simulation.d, address["replicate"]
    cell = f"n = {n}, d = {d}, replicate {replicate}"
    shown = shown_name(simulation.learner, simulation.parameters)
    with blamed(shown, cell), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its numbers are worth is seen on new samples
        estimator = build_learner(simulation, replicate)
        estimator.fit(sample.X, sample.y)
        predictor = Predictor(estimator.predict, getattr(estimator, "predict_label", None))
        options: Any = {"d": d, "test_samples": simulation.test_samples, **address}
        [found] = measure_many_predictions(target, [predictor], **options)
        rows = foreign_directions(
            estimator,
            simulation.parameters,
            d=d,
            r=len(sample.W_star),
            seed=simulation.seed,
            replicate=replicate,
        )
        if rows is not None:
            found = measure_directions(target, rows, sample.W_star) | found
    count = getattr(estimator, "n_iter_", -1)
    return Fit(found, True, int(count) if np.ndim(count) == 0 and count is not None else -1)


def _fitted(
    simulation: Simulation, replicate: int, sample: Sample, ridges: Sequence[float] | None
) -> list[Any]:
    """Fitted learners, one for each value of the ridge."""
    if ridges is None:
        return [build_learner(simulation, replicate).fit(sample.X, sample.y)]
    kind = LEARNERS[simulation.learner]
    if hasattr(kind, "fit_path"):
        path: list[Any] = build_learner(simulation, replicate).fit_path(sample.X, sample.y, ridges)
        return path
    learners = []
    for ridge in ridges:
        parameters = {**simulation.parameters, "ridge": ridge}
        one = build_learner(replace(simulation, parameters=parameters), replicate)
        learners.append(one.fit(sample.X, sample.y))
    return learners


def _of_training(target: Sampled, estimator: Any, W_star: Any) -> dict[str, Measured]:
    """What a fitted learner shows without new samples: its directions, its training errors."""
    found: dict[str, Measured] = {}
    if hasattr(estimator, "directions_"):
        found |= measure_directions(target, estimator.directions_, W_star)
    for name in ("train_mse", "train_loss"):
        if hasattr(estimator, f"{name}_"):
            found[name] = Measured((), getattr(estimator, f"{name}_"), 0.0)
    return found


def _fit(estimator: Any, measured: dict[str, Measured]) -> Fit:
    converged = bool(getattr(estimator, "converged_", True))
    status = "" if converged else str(getattr(estimator, "status_", "not converged"))
    return Fit(measured, converged, int(getattr(estimator, "n_iter_", -1)), status)


def build_learner(simulation: Simulation, replicate: int) -> Any:
    """Unfitted learner with its parameters, its own random stream and, if it asks, the link."""
    kind = LEARNERS[simulation.learner]
    given = dict(simulation.parameters)
    if is_foreign(simulation.learner):
        address = {"d": simulation.d, "replicate": replicate}
        return build_foreign(simulation.learner, given, seed=simulation.seed, **address)
    known = inspect.signature(kind).parameters
    for name in given:
        if name not in known:
            raise BadData(no_such_parameter(simulation.learner, name, known))
    # Where it has a default the learner also works without the link, and then does so.
    if "channel" in known and known["channel"].default is inspect.Parameter.empty:
        given.setdefault("channel", without_inputs(simulation.target))
    if "random_state" in known:
        cell = {"d": simulation.d, "replicate": replicate, "learner": simulation.learner}
        given.setdefault("random_state", stream(simulation.seed, "init", **cell))
    return kind(**given)

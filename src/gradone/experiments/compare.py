"""The verb ``compare``: algorithms that cover a target, theory and simulation, on one axis."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import look_of
from ..algorithms._cards import Look
from ..algorithms.own import as_card
from ..base.axes import axis_values
from ..base.children import Outcome, run_within
from ..base.curves import curve
from ..base.errors import BadData, OutOfRegime
from ..base.progress import Progress, watcher
from ..targets.hierarchy import HierarchicalTarget
from ..targets.on_inputs import without_inputs
from ..targets.sampled import Sampled, whole_number
from ..targets.target import as_target
from .places import default_places, merged

if TYPE_CHECKING:
    import xarray as xr

    from .entrants import Faces, Field

PRELOAD = ("gradone.experiments._warm",)
"""Modules that children need, imported once."""
PATIENCE = 20.0
"""Seconds of work that one point of a quick curve may take."""
_UNFINISHED = "not begun within the budget"


def compare(
    target: Sampled | str,
    algorithms: Sequence[Any] | None = None,
    *,
    d: int | None = None,
    alpha: float | Sequence[float] | None = None,
    kappa: float | Sequence[float] | None = None,
    replicates: int = 2,
    budget: float = 60.0,
    faces: Faces = "both",
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | bool = True,
    inputs: Any = None,
    directions: Any = "random",
) -> xr.Dataset:
    r"""Theories and simulations of algorithms on one axis, as one curve over ``source``.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        A text is read as a noiseless target.
    algorithms : sequence of str, Algorithm or estimator, optional
        Names of algorithms, as ``gradone list`` shows them; all by default. Anything with
        ``fit(X, y)`` and ``predict(X)`` as well, and :class:`gradone.Algorithm`, which gives it a
        label, a color and a theory.
    d : int, optional
        Dimension of the simulations: 500 by default, 64 for hierarchical targets.
    alpha, kappa : float or sequence of float, optional
        Values of the axis: :math:`\alpha = n/d`, or :math:`\kappa = \log n/\log d` for hierarchical
        targets. By default theories are evaluated at 25 values and simulations at 6, up to beyond
        the last threshold.
    replicates : int
        Of every simulation.
    budget : float
        Seconds of work of each process. Three points of every curve are computed in any case, the
        others as long as there is time; a curve whose points take longer is left out and says so.
    faces : {"both", "theory", "simulation"}
        Which faces of the algorithms to show.
    seed : int
        Seed of everything random.
    workers : int, optional
        Processes; one for each processor by default.
    progress : bool or Progress
        True draws a bar on a terminal.
    inputs, directions
        Law of the inputs and hidden directions, as of :meth:`.Target.on`; theories that do not
        cover them are absent, and say why.

    Returns
    -------
    xarray.Dataset
        ``test_mse``, ``excess_mse``, ``zero_one_error`` and ``cosine2`` (squared cosines of the
        found and the hidden subspace, largest first) over ``source`` and the axis, NaN where a
        source has no number; a source is ``"theory:<algorithm>"`` or ``"simulation:<algorithm>"``.
        Coordinates over ``source``: ``label`` and ``color``, and ``outcome``, what became of each:
        ``"done"``, ``"12 of 25 points within the budget"``, ``"failed: ..."``.
        ``attrs["not_covered"]`` is JSON: the theories and simulations without a curve, and why.

    Notes
    -----
    Theory and simulation of one algorithm have equal parameters: random features of width 2 d and
    ridge 1; one giant step on half of the samples, readout on the others; SGD of two neurons from
    overlaps of :math:`3/\sqrt d`, simulated by their engine. Learners without a theory have their
    default parameters. All work is done in child processes.

    Examples
    --------
    >>> found = compare("z1*z2", ["random_features", "giant_step"], d=100, alpha=[0.5, 2.0],
    ...                 replicates=1, budget=600, progress=False)
    >>> found.source.values.tolist()
    ['theory:random_features', 'simulation:random_features', 'simulation:giant_step']
    >>> json.loads(found.attrs["not_covered"])
    {'theory:giant_step': 'the theory is about a single step, ... depends on 2 directions, ...'}
    """
    from .entrants import axis_of, line_up

    target = as_target(target).on(inputs, directions)
    is_deep = isinstance(without_inputs(target), HierarchicalTarget)
    axis = axis_of(target)
    given = {"alpha": alpha, "kappa": kappa}
    other = "alpha" if is_deep else "kappa"
    if given[other] is not None:
        raise BadData(f"{type(target).__name__} targets are compared along {axis}, not {other}")
    d = whole_number("d", (64 if is_deep else 500) if d is None else d, least=2)
    if not (isinstance(budget, int | float) and 0 < budget < math.inf):
        raise BadData(f"budget is a positive number of seconds, got {budget!r}")
    if given[axis] is None:
        grid, points = default_places(target)
    else:
        grid = points = np.sort(axis_values(axis, given[axis]))
    field = line_up(
        target,
        algorithms,
        d=d,
        grid=grid,
        points=points,
        replicates=whole_number("replicates", replicates),
        seed=whole_number("seed", seed, least=0),
        faces=_checked_faces(faces),
    )
    if not field.tasks:
        reasons = "; ".join(f"{source}: {reason}" for source, reason in field.absent.items())
        raise OutOfRegime(f"there is nothing to compare. {reasons}")
    bar = watcher(progress, "compare")
    try:
        outcomes = run_within(
            field.tasks,
            budget,
            piece_seconds=max(budget, PATIENCE),
            workers=workers,
            preload=PRELOAD,
            progress=lambda board, name: bar.step(board.done, board.known),
        )
    finally:
        bar.close()
    params = {"d": d, "replicates": replicates, "budget": budget, "noise": target.noise}
    return gathered(outcomes, field, target, params=params, seed=seed, own=own_looks(algorithms))


def own_looks(algorithms: Sequence[Any] | None) -> dict[str, Look]:
    """Labels and colors of algorithms that are not known by their name."""
    own = [as_card(given) for given in algorithms or () if not isinstance(given, str)]
    return {card.name: Look(card.label, card.color) for card in own}


def _checked_faces(faces: Any) -> Faces:
    if faces not in ("both", "theory", "simulation"):
        raise BadData(f"faces must be 'both', 'theory' or 'simulation', got {faces!r}")
    return faces


def gathered(
    outcomes: Mapping[str, Outcome],
    field: Field,
    target: Sampled,
    *,
    params: Mapping[str, Any],
    seed: int,
    own: Mapping[str, Look] = MappingProxyType({}),
) -> xr.Dataset:
    """One curve over ``source`` of what the tasks gave; points that are not there are NaN."""
    import xarray as xr

    axis = field.axis
    curves: dict[str, xr.Dataset] = {}
    ends: dict[str, str] = {}
    for source, outcome in outcomes.items():
        ends[source] = outcome_text(outcome)
        if outcome.answers:
            curves[source] = merged(list(outcome.answers.values()), axis)
    empty = xr.Dataset(coords={axis: np.empty(0)})
    parts = [curves.get(source, empty) for source in ends]
    found = _stacked(parts, ends) if parts else empty.expand_dims(source=[])
    found = found.reindex({axis: np.union1d(found[axis].values, field.places)})
    values = {
        str(name): (found[name].dims, found[name].values)
        for name in found.data_vars
        if name not in ("converged", "status")
    }
    whole = curve(
        values,
        {str(dim): found[dim].values for dim in found.dims},
        source="comparison",
        target=target.text,  # type: ignore[attr-defined]
        params=params,
        seed=seed,
    )
    names = [source.partition(":")[2] for source in ends]
    looks = [own[name] if name in own else look_of(name) for name in names]
    whole = whole.assign_coords(
        outcome=("source", list(ends.values())),
        label=("source", [look.label for look in looks]),
        color=("source", [look.color for look in looks]),
    )
    whole.attrs["latex"] = getattr(target, "latex", "")
    whole.attrs["not_covered"] = json.dumps(dict(field.absent))
    whole.attrs["notes"] = json.dumps(
        {name: outcome.notes for name, outcome in outcomes.items() if outcome.notes}
    )
    return whole


def _stacked(parts: Sequence[xr.Dataset], names: Iterable[str]) -> xr.Dataset:
    import xarray as xr

    return xr.concat(
        [part.drop_vars(["converged", "status"], errors="ignore") for part in parts],
        xr.DataArray(list(names), dims="source", name="source"),
        data_vars="all",
        coords="minimal",
        compat="override",
        join="outer",
        combine_attrs="drop",
    )


def outcome_text(outcome: Outcome) -> str:
    """What became of a task, in a few words.

    Examples
    --------
    >>> outcome_text(Outcome(answers={0: 1}, unfinished={1, 2}))
    '1 of 3 points within the budget'
    """
    done, failed, left = len(outcome.answers), len(outcome.failures), len(outcome.unfinished)
    if failed and not done:
        return f"failed: {next(iter(outcome.failures.values()))}"
    if not done:
        return too_slow(outcome) or _UNFINISHED
    parts = []
    if left:
        parts.append(f"{done} of {done + failed + left} points within the budget")
    if failed:
        parts.append(f"{failed} failed: {next(iter(outcome.failures.values()))}")
    return "; ".join(parts) or "done"


def too_slow(outcome: Outcome) -> str:
    """That a point takes too long, if it does."""
    if not outcome.too_slow:
        return ""
    return f"one point takes more than {outcome.too_slow:.0f} s of computing"

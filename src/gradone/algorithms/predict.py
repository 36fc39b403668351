"""The verb ``predict``: a target and the name of a theory or of an algorithm give a curve."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..base.axes import axis_values
from ..base.curves import with_look
from ..base.errors import BadData
from ..base.progress import Progress, watcher
from ..targets.sampled import Sampled
from ..targets.target import as_target
from ..targets.training import parameters_of
from ..theory import THEORIES
from ..theory._registry import refusal
from ..theory.predict import predict as of_theory
from ..theory.predict import settled
from ._card import ALGORITHMS, Algorithm
from ._cards import look_of
from ._pieces import in_pieces
from ._run import Run

if TYPE_CHECKING:
    import xarray as xr


def predict(
    target: Sampled | str,
    name: str,
    *,
    on_failure: Literal["raise", "mark"] = "raise",
    progress: Progress | bool = False,
    inputs: Any = None,
    directions: Any = "random",
    **axes: Any,
) -> xr.Dataset:
    r"""Asymptotic prediction for a target, as a labeled curve.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        A text is read as a noiseless target.
    name : str
        Name of a theory, or of an algorithm that has one; ``gradone list`` shows them.
    on_failure : {"raise", "mark"}
        What to do with points at which a solver did not converge: raise, or return NaN there,
        with ``converged`` False and the reason in ``status``.
    progress : bool or Progress
        True draws a bar on a terminal for what takes over two seconds; the points are then computed
        one after the other. An object is told by ``step(i, total)`` how many are there, and stops
        the work by returning True.
    inputs, directions
        Law of the inputs and hidden directions, as of :meth:`.Target.on`. A theory that does not
        cover them says so; what it assumes about them is in ``attrs["notes"]``.
    **axes
        Of a theory: its axes, numbers or sequences of numbers, and its parameters. Of an
        algorithm, in common terms: ``alpha`` = n/d, or ``kappa`` = log n / log d, of all samples,
        ``d`` where the algorithm chooses by it, and its settings.

    Returns
    -------
    xarray.Dataset
        Each quantity ``q`` with its error ``q_err`` over the axes; ``attrs["source"]`` is
        ``"theory:<name>"``.

    Raises
    ------
    OutOfRegime
        If the theory does not cover the target; the message names those that do.
    NotConverged
        If some point did not converge and `on_failure` is ``"raise"``; the attribute ``last``
        holds the curve with the last iterates.

    Notes
    -----
    Interrupted by Ctrl-C, a prediction with `progress` returns the points that it has; the others
    are NaN with the status ``"interrupted"``.

    Examples
    --------
    A giant step on half of the samples, and a readout on the others:

    >>> step = predict("tanh(z)", "giant_step", alpha=[1.0, 4.0])
    >>> parts = predict("tanh(z)", "one_step", batch_ratio=2.0, readout_ratio=2.0, step_size=1.0,
    ...                 activation="tanh(z)", readout="ones")
    >>> bool(step.test_mse.sel(alpha=4.0) == parts.test_mse.squeeze())
    True
    """
    is_card, target = is_algorithm(name), as_target(target).on(inputs, directions)
    if progress is not False and (axis := _longest(name, axes)):
        found = in_pieces(
            lambda values: predict(target, name, on_failure=on_failure, **axes | {axis: values}),
            axis,
            axis_values(axis, axes[axis], zero=True, infinite=True).tolist(),
            watcher(progress, name),
        )
    elif is_card:
        found = _of_algorithm(target, ALGORITHMS[name](), on_failure, axes)
    else:
        found = of_theory(target, name, on_failure=on_failure, **axes)
    look = look_of(name, "" if is_card else "theory")
    return with_look(found, *look, getattr(target, "latex", ""))


def _longest(name: str, axes: Mapping[str, Any]) -> str:
    """Axis with most values, or an empty text if none has several."""
    known: Sequence[str] = ("alpha", "kappa")
    if name in THEORIES.files:
        known = [*THEORIES[name].axes, *(("kappa",) if is_algorithm(name) else ())]
    sizes = {axis: np.size(axes[axis]) for axis in known if axis in axes}
    best = max(sizes, key=sizes.__getitem__, default="")
    return best if sizes.get(best, 0) > 1 else ""


def is_algorithm(name: str) -> bool:
    """Whether a name is that of an algorithm, whose card decides what is not given.

    A name that is also that of a theory is, if the algorithm has a simulation of that name too:
    the same word is the same run.

    Examples
    --------
    >>> is_algorithm("giant_step"), is_algorithm("random_features"), is_algorithm("one_step")
    (True, True, False)
    """
    if name not in ALGORITHMS:
        return False
    card: Algorithm = ALGORITHMS[name]
    if name not in THEORIES.files:
        return True
    return card.theory == name and bool(card.learner or card.engine)


def options_of(card: Algorithm) -> Callable[..., None]:
    """Function with the parameters of a prediction in common terms, for who reads signatures.

    Examples
    --------
    >>> list(inspect.signature(options_of(ALGORITHMS["giant_step"]())).parameters)
    ['alpha', 'kappa', 'd', 'width_ratio', 'ridge', 'step_size', 'activation']
    """

    def options(**settings: Any) -> None:
        """Nothing: its signature is what counts."""

    first = dict.fromkeys(("alpha", "kappa", card.axis, "d", *(one.name for one in card.sliders)))
    known = {**{name: None for name in first if name not in card.defaults}, **card.defaults}
    kind, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    found = {name: inspect.Parameter(name, kind, default=value) for name, value in known.items()}
    if card.theory == card.name:  # a run in its terms may choose whatever it takes
        for name, one in parameters_of(THEORIES[card.theory].predict).items():
            if name not in ("self", "target"):
                default = known.get(name, one.default)
                found[name] = one.replace(kind=kind, default=None if default is empty else default)
    options.__signature__ = inspect.Signature(list(found.values()))  # type: ignore[attr-defined]
    return options


def _of_algorithm(
    target: Sampled, card: Algorithm, on_failure: str, given: dict[str, Any]
) -> xr.Dataset:
    """Curve of the theory of an algorithm, along the axis that was given."""
    if on_failure not in ("raise", "mark"):
        raise BadData(f"on_failure must be 'raise' or 'mark', got {on_failure!r}")
    if not card.theory_for(target):
        raise BadData(f"'{card.name}' has no theory")
    along = dict.fromkeys(filter(None, ("alpha", "kappa", card.axis, card.own_clock)))
    axes = [axis for axis in along if axis in given]
    if len(axes) != 1:
        raise BadData(f"'{card.name}' is predicted along {' or '.join(along)}; give one of them")
    if reason := card.obstacle(target):
        raise refusal(THEORIES[card.theory_for(target)](), target, reason)
    settings = {name: value for name, value in given.items() if name not in (axes[0], "d")}
    name = axes[0]
    own = {"zero": True, "infinite": True} if name in THEORIES[card.theory].axes else {}
    run = Run(target, name, axis_values(name, given[name], **own), given.get("d"), 0, settings)
    found = settled(card.predicted(run), card.name, on_failure)
    return found.assign_attrs(source=f"theory:{card.name}")

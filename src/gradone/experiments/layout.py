"""The cells of an experiment, and the place of each in the result."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.curves import DIMENSIONS
from ..base.errors import BadData
from ..base.seeds import canonical
from ..targets.sampled import Sampled
from .algorithms import KINDS, LOOK, SAMPLES, WIDTHS, Algorithm, relevant
from .faces import faces_of
from .recipes import DEFAULTS, encoded
from .spec_values import is_axis, values_of
from .target_tables import table_of

if TYPE_CHECKING:
    from .spec import Experiment

_ORDER = ("source", "target", "d", *SAMPLES, *WIDTHS)
Index = int | slice


class Cell(NamedTuple):
    """One cell of an experiment: all that its numbers depend on.

    Parameters
    ----------
    key : str
        Its name, the fingerprint of its text.
    text : str
        Canonical JSON text of the cell (see :mod:`.recipes`).
    algorithm : Algorithm
        What runs.
    target : Target or hierarchical target
        On what.
    arguments : mapping
        With which parameters.
    replicate : int or None
        Which of the random repetitions; a theory has none.
    """

    key: str
    text: str
    algorithm: Algorithm
    target: Sampled
    arguments: Mapping[str, Any]
    replicate: int | None = None


class Placed(NamedTuple):
    """Place of a cell: its position along each outer dimension, a slice where it is constant.

    A cell that makes a path of fits has a place for each of its parts.
    """

    key: str
    place: tuple[Index, ...]
    part: int | None = None


@dataclass(frozen=True)
class Layout:
    """Cells, outer dimensions of the result, and what belongs where.

    Parameters
    ----------
    cells : tuple of Cell
        What is to be computed, each once.
    coords : mapping of str to ndarray
        Outer dimensions and their values; ``replicate`` comes last.
    placed : tuple of Placed
        Cells by place.
    uncovered : tuple of (place, reason)
        Places whose theory does not cover the target.
    looks : mapping of str to (str, str)
        Label and color by source, for those that have their own.
    """

    cells: tuple[Cell, ...]
    coords: Mapping[str, np.ndarray]
    placed: tuple[Placed, ...]
    uncovered: tuple[tuple[tuple[Index, ...], str], ...]
    looks: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class Run(NamedTuple):
    """One algorithm with all its parameters.

    Parameters
    ----------
    algorithm : Algorithm
        What runs.
    source : str
        Its name in the result.
    own, shared : mapping
        Parameters that are given for it, and those of the grid.
    axes : mapping of str to list
        Those of them that vary, and become dimensions of the result.
    fixed : mapping
        Parameters of every cell, whatever the algorithm makes of the others.
    path : str
        Axis that one cell computes as a whole; none if empty.
    look : (str, str)
        Its label and color, if they are not those of its name.
    """

    algorithm: Algorithm
    source: str
    own: Mapping[str, Any]
    shared: Mapping[str, Any]
    axes: Mapping[str, list[Any]]
    fixed: Mapping[str, Any] = {}
    path: str = ""
    look: tuple[str, str] = ("", "")

    def points(self, target: Sampled) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Values along the axes but the path, and the arguments that follow from them."""
        along = self.axes.get(self.path, [])
        whole = {self.path: along if len(along) > 1 else along[0]} if along else {}
        for point in _points({name: v for name, v in self.axes.items() if name != self.path}):
            chosen = {**point, **whole}
            arguments = self.algorithm.arguments(
                {name: chosen.get(name, value) for name, value in self.own.items()},
                {name: chosen.get(name, value) for name, value in self.shared.items()},
            )
            yield point, {**self.algorithm.told(target, arguments), **self.fixed}

    def parts(self) -> Iterator[tuple[int | None, dict[str, Any]]]:
        """Numbers of the parts of a cell, and the value of each along the path."""
        along = self.axes.get(self.path, [])
        if not along:
            yield None, {}
        for number, value in enumerate(along):
            yield number if len(along) > 1 else None, {self.path: value}


def lay_out(experiment: Experiment) -> Layout:
    """Cells of an experiment and their places."""
    runs = list(_runs(experiment))
    targets = [experiment.target_of(given) for given in experiment.targets]
    coords = _coordinates(experiment, runs, targets)
    layout = place_runs(
        runs, targets, coords, replicates=experiment.replicates, seed=experiment.seed
    )
    if not layout.cells:
        reasons = "; ".join(dict.fromkeys(reason for _, reason in layout.uncovered))
        raise BadData(f"'{experiment.name}' has no cell: {reasons}")
    return layout


def place_runs(
    runs: Sequence[Run],
    targets: Sequence[Sampled],
    coords: Mapping[str, np.ndarray],
    *,
    replicates: int,
    seed: int,
) -> Layout:
    """Cells of runs on targets, and their places along the outer dimensions of a result."""
    where = {
        name: {_mark(value): i for i, value in enumerate(values.tolist())}
        for name, values in coords.items()
    }
    cells: dict[str, Cell] = {}
    placed: list[Placed] = []
    uncovered: list[tuple[tuple[Index, ...], str]] = []
    for (i, run), (j, target) in itertools.product(enumerate(runs), enumerate(targets)):
        fixed: dict[str, Index] = {"source": i, "target": j}
        if reason := run.algorithm.reason(target):
            uncovered.append((_place(coords, fixed, {}, where), reason))
            continue
        numbers = range(replicates) if run.algorithm.is_random else [None]
        runs_here = run.algorithm.on(target)
        for point, arguments in run.points(target):
            given = {**run.shared, **run.own, **point}
            places = [(n, _place(coords, fixed, given | part, where)) for n, part in run.parts()]
            for cell in _replicates(runs_here, target, arguments, seed, numbers):
                cells.setdefault(cell.key, cell)
                last = () if cell.replicate is None else (cell.replicate,)
                placed += [Placed(cell.key, (*place, *last), part) for part, place in places]
    looks = {run.source: run.look for run in runs if any(run.look)}
    return Layout(tuple(cells.values()), coords, tuple(placed), tuple(uncovered), looks)


def _runs(experiment: Experiment) -> Iterator[Run]:
    """Algorithms, split by the parameters that are no dimension of a curve."""
    found: list[tuple[Algorithm, dict[str, Any], dict[str, Any], dict[str, list[Any]]]] = []
    looks: list[tuple[str, str]] = []
    for entry in experiment.algorithms:
        [kind] = [kind for kind in KINDS if kind in entry]
        given = {name: value for name, value in entry.items() if name not in (kind, *LOOK)}
        look = (entry.get("label", ""), entry.get("color", ""))
        for algorithm in faces_of(entry):
            is_beside = algorithm.kind == "theory" and "theory_of" in entry
            split = list(_split(algorithm, {} if is_beside else given, experiment.grid))
            found += split
            looks += [look] * len(split)
    labels = _labels([(algorithm, {**s, **o}, axes) for algorithm, o, s, axes in found])
    for (algorithm, own, shared, axes), label, look in zip(found, labels, looks, strict=True):
        yield Run(algorithm, label, own, shared, axes, look=look)


def _split(
    algorithm: Algorithm, own: Mapping[str, Any], grid: Mapping[str, Any]
) -> Iterator[tuple[Algorithm, dict[str, Any], dict[str, Any], dict[str, list[Any]]]]:
    """One algorithm for each choice of its parameters that are no dimension."""
    shared = relevant(algorithm, own, grid)
    given = {**shared, **own}
    axes = {name: values_of(name, given[name]) for name in given if is_axis(name, given[name])}
    texts = {name: values for name, values in axes.items() if name not in DIMENSIONS}
    inner = {name: values for name, values in axes.items() if name in DIMENSIONS}
    for chosen in _points(texts):
        fixed = {name: chosen.get(name, values_of(name, value)[0]) for name, value in given.items()}
        mine, theirs = ({name: fixed[name] for name in part} for part in (own, shared))
        yield algorithm, mine, theirs, inner


def _labels(
    runs: list[tuple[Algorithm, dict[str, Any], dict[str, list[Any]]]],
) -> list[str]:
    """Name of the source of each run; what tells apart those of one name stands in brackets.

    Examples
    --------
    >>> [algorithm] = faces_of({"learner": "giant_step"})
    >>> _labels([(algorithm, {"steps": 1, "d": 10}, {}), (algorithm, {"steps": 2, "d": 10}, {})])
    ['simulation:giant_step(steps=1)', 'simulation:giant_step(steps=2)']
    """
    names = [algorithm.source for algorithm, _, _ in runs]
    labels = []
    for (algorithm, given, axes), name in zip(runs, names, strict=True):
        alike = [run for run, other in zip(runs, names, strict=True) if other == name]
        parts = [algorithm.kind] if len({a.kind for a, _, _ in alike}) > 1 else []
        for parameter in sorted({p for _, one, _ in alike for p in one}):
            values = {_mark(one.get(parameter)) for _, one, _ in alike}
            if len(values) > 1 and parameter in given and parameter not in axes:
                value = given[parameter]
                shown = value if isinstance(value, str) else canonical(encoded(value))
                parts.append(f"{parameter}={shown}")
        labels.append(f"{name}({', '.join(parts)})" if parts else name)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise BadData(f"two algorithms of the spec are the same: {twice}")
    return labels


def _coordinates(
    experiment: Experiment, runs: list[Run], targets: list[Sampled]
) -> dict[str, np.ndarray]:
    """Outer dimensions: the source, the target if there are several, what is given as a list."""
    found: dict[str, list[Any]] = {"source": [run.source for run in runs]}
    if len(targets) > 1:
        found["target"] = [_shown(target) for target in targets]
    for run in runs:
        for name, values in run.axes.items():
            found.setdefault(name, []).extend(values)
    for run in runs:
        # One that has a single value of what is an axis for others stands at that value.
        for name, value in {**run.shared, **run.own}.items():
            if name in found and name not in run.axes and value is not None:
                found[name].append(value)
    order = [*_ORDER, *(name for name in found if name not in _ORDER)]
    coords = {name: _sorted(name, found[name]) for name in order if name in found}
    if any(run.algorithm.is_random for run in runs):
        coords["replicate"] = np.arange(experiment.replicates)
    return coords


def _shown(target: Sampled) -> str:
    noise = f", noise={target.noise:g}" if target.noise else ""
    return f"{target.text}{noise}"  # type: ignore[attr-defined]


def _sorted(name: str, values: list[Any]) -> np.ndarray:
    """Coordinate without repetitions; numbers in increasing order."""
    unique = list({_mark(value): value for value in values}.values())
    if all(isinstance(value, int | float) for value in unique):
        return np.array(sorted(unique))
    if any(value is None for value in unique):
        raise BadData(f"{name} cannot be an axis and absent: give a number in place of 'none'")
    return np.array([str(value) for value in unique])


def _mark(value: Any) -> str:
    return canonical(encoded(value))


def _points(axes: Mapping[str, list[Any]]) -> Iterable[dict[str, Any]]:
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _place(
    coords: Mapping[str, np.ndarray],
    fixed: Mapping[str, Index],
    point: Mapping[str, Any],
    where: Mapping[str, Mapping[str, int]],
) -> tuple[Index, ...]:
    """Position along every outer dimension but the replicate."""
    return tuple(
        fixed[name]
        if name in fixed
        else where[name][_mark(point[name])]
        if point.get(name) is not None
        else slice(None)
        for name in coords
        if name != "replicate"
    )


def _replicates(
    algorithm: Algorithm,
    target: Sampled,
    arguments: dict[str, Any],
    seed: int,
    numbers: Iterable[int | None],
) -> Iterator[Cell]:
    """Cells of one point, which differ by their replicate alone."""
    texts = cell_texts(algorithm, target, arguments, seed, numbers)
    for replicate, text in zip(numbers, texts, strict=True):
        yield Cell(cell_key(text), text, algorithm, target, arguments, replicate)


def cell_texts(
    algorithm: Algorithm,
    target: Sampled,
    arguments: Mapping[str, Any],
    seed: int,
    replicates: Iterable[int | None],
) -> Iterator[str]:
    """Canonical texts of the cells at one point, for replicates by number, or None for a theory.

    Examples
    --------
    >>> [algorithm] = faces_of({"theory": "bayes_amp"})
    >>> from gradone import Target
    >>> next(cell_texts(algorithm, Target("z"), {"alpha": 2.0}, 0, [None]))[:52]
    '{"parameters":{"alpha":2},"recipe":"theory:bayes_amp'
    """
    given = {
        name: value
        for name, value in arguments.items()
        if algorithm.kind != "learner" or name not in DEFAULTS or value != DEFAULTS[name]
    }
    # Keys in the order of canonical(): only the number of the replicate has to be put in.
    before = f'{{"parameters":{canonical(encoded(given))},"recipe":"{algorithm.recipe}"'
    after = f',"target":{canonical(table_of(target))}}}'
    for replicate in replicates:
        address = "" if replicate is None else f',"replicate":{replicate},"seed":{seed}'
        yield before + address + after


def cell_key(text: str) -> str:
    """Name of a cell from its canonical text: its :func:`gradone.base.seeds.fingerprint`.

    Examples
    --------
    >>> from gradone.base.seeds import fingerprint
    >>> cell_key('{"d":100}') == fingerprint({"d": 100.0}).hex()
    True
    """
    return hashlib.blake2b(f"[{text}]".encode(), digest_size=16).hexdigest()

"""Experiments: targets x algorithms x grid x replicates, from TOML, JSON or Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ..base.errors import BadData, did_you_mean
from ..targets.sampled import Sampled
from .algorithms import FAMILIES
from .cell_limits import CellLimits
from .layout import Cell, Layout, lay_out
from .spec_defects import BadSpec, Defect, semantic_defects, spoken
from .spec_text import parse_json, parse_toml, read_spec
from .spec_values import plain
from .target_tables import read_target

SizeName = Literal["small", "paper"]
_FORM = ConfigDict(frozen=True, extra="forbid")
_Whole = Annotated[int, Field(strict=True)]


class Size(BaseModel):
    """What a named size of an experiment changes: the number of replicates, parts of the grid."""

    model_config = _FORM

    replicates: Annotated[_Whole, Field(ge=1)] | None = None
    grid: dict[str, Any] = {}


class Experiment(BaseModel):
    """A sweep: every algorithm on every target, over a grid, with replicates.

    Parameters
    ----------
    name : str
        Name under which the store counts its cells.
    targets : list
        Targets, expressions or names of the zoo, tables with ``text`` or ``zoo`` and ``noise``, or
        tables with the ``kind`` of a hierarchical target and its arguments.
    algorithms : list of tables
        Each names an ``algorithm``, whose theory and learner both run, in common terms; or a
        ``learner``, an ``engine`` or a ``theory``; and may set its parameters.
    grid : table
        Parameters that algorithms share: d; n, alpha = n/d or kappa = log n / log d; width or
        width_ratio; ridge, step_size, and any other. An algorithm that does not have a parameter
        does not depend on it; one that sets it itself is not told.
    replicates, seed : int
        Independent repetitions of everything random, and its seed.
    metrics : list of str, optional
        Quantities that the result keeps; all by default. They do not change what is computed.
    inputs, directions : optional
        Law of the inputs and hidden directions of all targets, as of :meth:`.Target.on`; the
        table of a target may have its own.
    cell_seconds, cell_memory : float, optional
        Wall time and bytes (or a text, ``"2 GB"``) of one cell; by default far beyond what it is
        estimated to need. A cell that takes more is stopped, tried once more alone, and then marked
        as failed; the others go on.
    sizes : table
        ``small`` and ``paper``: other replicates and grids under a name.

    Notes
    -----
    A parameter that is given as a list is an axis: every value is run. A cell is named by what its
    numbers depend on, so a larger grid re-uses a smaller one, and n the same number given as alpha.

    Raises
    ------
    BadSpec
        Lists everything that is wrong.

    Examples
    --------
    >>> experiment = Experiment(
    ...     name="first",
    ...     targets=["sign(z1*z2)"],
    ...     algorithms=[{"theory": "bayes_amp"}, {"learner": "bayes_amp"}],
    ...     grid={"d": 200, "alpha": [2.0, 4.0]},
    ...     replicates=3,
    ... )
    >>> len(experiment.cells())
    8
    >>> Experiment(name="x", targets=["z1*zz"], algorithms=[{"learner": "gaint_step", "d": -1}])
    Traceback (most recent call last):
    gradone.experiments.spec_defects.BadSpec: 2 things are wrong with the spec:
      targets[0]: unknown name 'zz' in the target, column 4: ...
    """

    model_config = _FORM

    name: Annotated[str, Field(min_length=1, max_length=100)]
    targets: Annotated[tuple[Any, ...], Field(min_length=1)]
    algorithms: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    grid: dict[str, Any] = {}
    replicates: Annotated[_Whole, Field(ge=1)] = 1
    seed: Annotated[_Whole, Field(ge=0)] = 0
    metrics: tuple[str, ...] | None = None
    inputs: str | None = None
    directions: Any = "random"
    cell_seconds: Any = None
    cell_memory: Any = None
    sizes: dict[SizeName, Size] = {}

    def __init__(self, **data: Any) -> None:
        given = plain(data)
        defects: list[Defect] = []
        try:
            super().__init__(**given)
        except ValidationError as error:
            defects += map(_of_form, error.errors())
        defects += semantic_defects(given)
        if defects:
            raise BadSpec(defects)

    @field_validator("targets", mode="before")
    @classmethod
    def _as_list(cls, targets: Any) -> Any:
        return [targets] if isinstance(targets, str | dict) else targets

    # ---- from and to text

    @classmethod
    def read(cls, path: str | Path) -> Experiment:
        """Experiment of a file in TOML or JSON; its defects are listed with their lines."""
        content, lines = read_spec(path)
        try:
            return cls(**content)
        except BadSpec as error:
            raise BadSpec(error.defects, Path(path).name, lines) from None

    @classmethod
    def from_toml(cls, text: str) -> Experiment:
        """Experiment of a text in TOML."""
        return cls(**parse_toml(text)[0])

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """Experiment of a text in JSON, such as :meth:`to_json` gives."""
        return cls(**parse_json(text)[0])

    def to_json(self, *, indent: int | None = 2) -> str:
        """Text in JSON that gives the same experiment."""
        return json.dumps(self.model_dump(exclude_defaults=True), indent=indent)

    # ---- what it consists of

    @property
    def limits(self) -> CellLimits:
        """What one cell may use."""
        return CellLimits.read(self.cell_seconds, self.cell_memory)

    def target_of(self, given: Any) -> Sampled:
        """Target that one of `targets` describes, on its inputs."""
        return read_target(given, self.inputs, self.directions)

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Experiment:
        """The experiment with other values of some keys, checked like a new one."""
        return Experiment(**{**self.model_dump(), **(update or {})})

    def sized(self, size: str | None) -> Experiment:
        """The experiment at one of its named sizes; None leaves it as it is.

        Examples
        --------
        >>> e = Experiment(name="e", targets=["z"], algorithms=[{"learner": "spectral_directions"}],
        ...                grid={"d": 100, "n": 500}, sizes={"small": {"grid": {"alpha": 2.0}}})
        >>> e.sized("small").grid
        {'d': 100, 'alpha': 2.0}
        """
        if size is None:
            return self
        known: dict[str, Size] = {name: changes for name, changes in self.sizes.items()}
        if size not in known:
            have = f"It has {', '.join(known)}." if known else "It has none: leave the size out."
            raise BadData(f"'{self.name}' has no size '{size}'. {have}{did_you_mean(size, known)}")
        changed = known[size]
        replaced = {
            name for family in FAMILIES if set(family) & set(changed.grid) for name in family
        }
        kept = {name: value for name, value in self.grid.items() if name not in replaced}
        return self.model_copy(
            update={
                "grid": {**kept, **changed.grid},
                "replicates": changed.replicates or self.replicates,
                "sizes": {},
            }
        )

    @cached_property
    def layout(self) -> Layout:
        """Cells and their places in the result."""
        return lay_out(self)

    def cells(self) -> tuple[Cell, ...]:
        """Everything that is to be computed, each once."""
        return self.layout.cells

    def key(self, cell: Cell) -> str:
        """Name of a cell in a store, 32 hexadecimal digits."""
        return cell.key


def _of_form(error: Any) -> Defect:
    """Defect from an error of pydantic, in our words."""
    where, given = tuple(error["loc"]), error["input"]
    match error["type"]:
        case "extra_forbidden":
            model: Iterable[str] = (Size if where[0] == "sizes" else Experiment).model_fields
            close = did_you_mean(str(where[-1]), model)
            return Defect(where, f"unknown key '{where[-1]}'. Allowed: {', '.join(model)}.{close}")
        case "missing":
            return Defect((), f"'{where[-1]}' is missing")
        case "literal_error":
            names = ["small", "paper"]
            return Defect(where[:-1], f"a size is small or paper.{did_you_mean(where[-2], names)}")
        case "int_type" | "greater_than_equal":
            least = error.get("ctx", {}).get("ge", 0 if where[-1] == "seed" else 1)
            return Defect(where, f"{where[-1]} must be an integer >= {least}, got {given!r}")
        case "too_short" | "string_too_short":
            return Defect(where, f"{where[-1]} is empty")
        case "dict_type" | "model_type" | "tuple_type" | "string_type" as kind:
            form = {"tuple_type": "a list", "string_type": "a text"}.get(kind, "a table")
            return Defect(where, f"{spoken(where)} must be {form}, got {given!r}")
        case _:
            return Defect(where, f"{error['msg']}, got {given!r}")

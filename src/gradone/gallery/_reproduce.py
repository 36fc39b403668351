"""The verb ``reproduce``: a figure of the literature by its name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import BadData
from ..base.progress import Progress, watcher
from ..base.references import cited_keys
from ..charts import Chart, Panels
from ._figure import FIGURES, Claim, GalleryFigure, Size
from ._memo import Memo, cpu_seconds

if TYPE_CHECKING:
    import xarray as xr

    from ..experiments.store import Store


@dataclass(frozen=True)
class Reproduction:
    """A figure made again.

    Parameters
    ----------
    name, size : str
        Which figure, and how much was spent on it.
    picture : Chart or Panels
        What is drawn.
    data : mapping of str to Dataset
        The curves behind it.
    claims : tuple of Claim
        What the literature says, checked on the data.
    sentence : str
        What to see.
    cites : tuple of str
        Keys of the references.
    seconds : float
        CPU time, child processes and remembered pieces included.
    budget : float
        CPU time that it may take.
    """

    name: str
    size: Size
    picture: Chart | Panels
    data: Mapping[str, xr.Dataset]
    claims: tuple[Claim, ...]
    sentence: str
    cites: tuple[str, ...]
    seconds: float
    budget: float

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The panels of the picture."""
        return self.picture.panels

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write ``NAME.pdf`` and ``NAME.png``, the numbers as CSV, and the description as JSON."""
        place = Path(folder)
        files = [
            *self.picture.save(place / f"{self.name}.pdf"),
            *self.picture.save(place / f"{self.name}.png"),
        ]
        return tuple(dict.fromkeys(files))

    def _repr_html_(self) -> str:
        return self.picture._repr_html_()


def names() -> list[str]:
    """Names of the figures.

    Examples
    --------
    >>> "parity-amp" in names()
    True
    """
    return list(FIGURES)


def reproduce(
    name: str,
    size: Size = "small",
    *,
    store: Store | None = None,
    progress: Progress | bool = False,
) -> Reproduction:
    """A figure of the literature: theory and simulation, computed anew.

    Parameters
    ----------
    name : str
        Name of the figure: see :func:`names`.
    size : {"small", "paper"}
        Small figures take at most 100 CPU seconds; those of paper size take dimensions and
        replicates as they are published.
    store : Store, optional
        Remembers pieces, so that an interrupted figure continues where it was.
    progress : bool or Progress
        True draws a bar on a terminal; an object is told the CPU seconds spent, and the budget.

    Returns
    -------
    Reproduction
        With ``charts``, ``data``, ``sentence``, ``claims``, ``seconds`` and ``save(folder)``.
    """
    from threadpoolctl import threadpool_limits

    figure: GalleryFigure = FIGURES[name]()
    if size not in figure.budget:
        raise BadData(f"the size of a figure is {' or '.join(figure.budget)}, got {size!r}")
    watching, budget = watcher(progress, name), float(figure.budget[size])
    memo, start = Memo(store, f"figure {name}"), cpu_seconds()

    def tell() -> None:
        spent = cpu_seconds() - start + memo.seconds
        watching.step(min(spent, 0.99 * budget), budget)

    watching.step(0, budget)
    memo.after = tell
    try:
        with threadpool_limits(1):  # one thread: the CPU time is that of the work
            data = figure.compute(size, memo)
    finally:
        watching.close()
    picture = figure.draw(data)
    origin: dict[str, Any] = {
        "figure": name,
        "command": f"gradone figure {name} --size {size}",
        "gradone_version": version("gradone"),
        "curves": {key: _origin(curve) for key, curve in data.items()},
        "cites": list(cited_keys(figure)),
    }
    return Reproduction(
        name,
        size,
        picture.with_origin(**origin),
        data,
        tuple(figure.claims(data)),
        figure.sentence,
        tuple(figure.cites),
        cpu_seconds() - start + memo.seconds,
        budget,
    )


def _origin(curve: xr.Dataset) -> dict[str, Any]:
    return {
        key: curve.attrs[key] if key == "seed" else str(curve.attrs[key])
        for key in ("source", "target", "params", "seed")
        if key in curve.attrs
    }

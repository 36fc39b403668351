"""How commands show curves: a table in the terminal, CSV, JSON, a picture."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..base.csv_text import csv_text
from ._app import INTERRUPTED

if TYPE_CHECKING:
    import xarray as xr


def _drawable(plot: Path | None) -> Path | None:
    """The file of a picture; one of an unknown kind is refused before any work."""
    if plot is not None:
        from ..charts import check_path

        check_path(plot)
    return plot


AsCsv = Annotated[bool, typer.Option("--csv", help="Print all numbers as comma-separated values.")]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        callback=_drawable,
        help="Draw a .pdf, .svg, .png, .html or .tex file, with its data.",
    ),
]
FAILED = 3  # exit code when some points have no number

# Dimensions that number the parts of one quantity; each part is a column of its own.
_PARTS = ("branch", "neuron", "neuron2", "direction", "direction2")
_FIRST = ("test_mse", "excess_mse", "zero_one_error", "recovery", "cosine2", "overlap_aligned")
_MOST_ROWS = 60
STOPPED = "interrupted"  # base.curves.INTERRUPTED, which loads numpy
_LONG = 14  # letters of a heading in one line


class Column(NamedTuple):
    """Numbers of one part of one quantity, row by row."""

    name: str
    values: list[Any]


def columns(curve: xr.Dataset, names: list[str] | None = None) -> list[Column]:
    """Curve as a table: a row for each point of its axes, a column for each part of a quantity.

    Examples
    --------
    >>> from gradone.base.curves import curve
    >>> found = curve({"q": (("alpha", "direction"), [[1.0, 2.0]]),
    ...                "q_err": (("alpha", "direction"), [[0.0, 0.1]])},
    ...               {"alpha": [0.5], "direction": [1, 2]}, source="theory:example", target="z")
    >>> columns(found)[1:3]
    [Column(name='q[1]', values=[1.0]), Column(name='q[2]', values=[2.0])]
    """
    outer = [str(dim) for dim in curve.sizes if dim not in _PARTS]
    rows = list(itertools.product(*(curve[dim].values.tolist() for dim in outer)))
    table = [Column(dim, [row[i] for row in rows]) for i, dim in enumerate(outer)]
    base = curve[outer].coords.to_dataset() if outer else None
    for name in names or [str(name) for name in curve.data_vars]:
        variable = curve[name]
        inner = [dim for dim in variable.dims if dim in _PARTS]
        if base is not None:
            variable = variable.broadcast_like(base)
        variable = variable.transpose(*outer, *inner)
        flat = variable.values.reshape(len(rows), -1)
        parts = itertools.product(*(curve[dim].values.tolist() for dim in inner))
        for place, part in enumerate(parts):
            label = f"{name}[{','.join(map(str, part))}]" if inner else name
            table.append(Column(label, flat[:, place].tolist()))
    return table


def to_csv(curve: xr.Dataset) -> str:
    """All numbers of a curve as comma-separated values; what has no number is left empty."""
    table = columns(curve)
    rows = zip(*(column.values for column in table), strict=True)
    shown = (["" if _is_nan(value) else value for value in row] for row in rows)
    return csv_text([[column.name for column in table], *shown])


def to_json(curve: xr.Dataset) -> dict[str, Any]:
    """Curve as plain data in the form of ``xarray.Dataset.from_dict``; NaN becomes None."""
    plain: dict[str, Any] = _finite(curve.to_dict())
    return plain


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def give_curve(curve: xr.Dataset, *, as_json: bool, as_csv: bool, plot: Path | None) -> None:
    """Print a curve in the form that was asked for, draw it, and say by the exit code what failed.

    Parameters
    ----------
    curve : xarray.Dataset
        A curve of a theory or of a simulation.
    as_json, as_csv : bool
        Form in place of a table.
    plot : Path, optional
        File of a picture.
    """
    if as_json:
        typer.echo(json.dumps(to_json(curve), indent=2, allow_nan=False))
    elif as_csv:
        typer.echo(to_csv(curve), nl=False)
    else:
        show_curve(curve)
    if plot:
        draw_curve(curve, plot)
    if _stopped(curve):
        raise typer.Exit(INTERRUPTED)
    if has_missing(curve):
        raise typer.Exit(FAILED)


def show_curve(curve: xr.Dataset, most_rows: int = _MOST_ROWS) -> None:
    """Print a curve as a table as wide as the terminal; what does not fit is named."""
    from rich.table import Table
    from rich.text import Text

    from ..base.replicates import mean_over_replicates
    from ._terminal import console, show

    screen = console()
    shown = mean_over_replicates(_without_signs(curve))
    if is_experiment := str(curve.attrs["source"]).startswith("experiment:"):
        shown = _at_the_end(shown)
    count = curve.sizes.get("replicate", 0)
    show(screen, f"{curve.attrs['source']} of {curve.attrs['target']}", style="bold")
    if count:
        show(screen, f"mean ± standard error over {_replicates(curve)}", style="dim")
    axes = [str(dim) for dim in shown.sizes if dim not in _PARTS]
    cells = [
        Column(column.name, [_number(value) for value in column.values])
        for column in columns(shown, [])
        if column.name in axes
    ]
    quantities = _with_errors(shown)
    room = screen.width - sum(_width(column) for column in cells)
    left_out = []
    for column in quantities:
        if _width(column) <= room or column is quantities[0]:  # then the longest name is cut
            room -= _width(column)
            cells.append(column)
        else:
            left_out.append(column.name)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    longest = max(cells, key=_width)
    for column in cells:
        cut = _width(column) - 2 + min(room, 0) if column is longest else None
        table.add_column(_heading(column.name), justify="right", no_wrap=True, max_width=cut)
    rows = list(zip(*(column.values for column in cells), strict=True))
    if is_experiment or "source" in axes:  # not all algorithms have all axes and all places
        parts = zip(*(column.values for column in quantities), strict=True)
        rows = [row for row, part in zip(rows, parts, strict=True) if set(part) != {"-"}]
    for row in rows[:most_rows]:
        table.add_row(*map(Text, row))
    show(screen, table)
    if len(rows) > most_rows:
        how = "; --csv shows all of them" if most_rows == _MOST_ROWS else ""
        show(screen, f"... {len(rows) - most_rows} more rows{how}", style="dim")
    if left_out:
        more = ", ".join(left_out[:6]) + (", ..." if len(left_out) > 6 else "")
        how = " --csv and --json show everything." if most_rows == _MOST_ROWS else ""
        show(screen, f"Also computed: {more}.{how}", style="dim")
    for line in failures(curve):
        show(screen, line, style="red")
    if curve.attrs.get("notes"):
        show(screen, str(curve.attrs["notes"]))


def _at_the_end(curve: xr.Dataset) -> xr.Dataset:
    """Curve at the last value of the axes that its most telling quantity does not have."""
    name = _with_errors(curve.isel({dim: [0] for dim in curve.dims}))[0].name.partition("[")[0]
    other = [dim for dim in curve.dims if dim not in (*_PARTS, *curve[name].dims)]
    return curve.isel({dim: -1 for dim in other}, drop=True)


def _without_signs(curve: xr.Dataset) -> xr.Dataset:
    """Curve in which no mean over replicates mixes signs, which may be arbitrary in each."""
    from ..base.quantities import SIGNED

    signed = [v for v in curve.data_vars if v in SIGNED and "replicate" in curve[v].dims]
    names = {f"{v}{end}": f"|{v}|{end}" for v in signed for end in ("", "_err")}
    return curve.assign({v: abs(curve[v]) for v in signed}).rename(names)


def _replicates(curve: xr.Dataset) -> str:
    """How many replicates there are at the points of a curve."""
    count = curve.sizes["replicate"]
    word = "replicates" if count > 1 else "replicate"
    if not _stopped(curve):
        return f"{count} {word}"
    done = (curve["status"] != STOPPED).sum("replicate").values
    some = f"{done.min()} to {done.max()}" if done.min() < done.max() else f"{done.max()}"
    return f"{some} of {count} {word}"


def failures(curve: xr.Dataset) -> list[str]:
    """What went wrong at the points that have no number, or one that is not final."""
    if "converged" not in curve or bool(curve["converged"].values.all()):
        return []
    stopped = _stopped(curve)
    failed = ~curve["converged"].values
    lines = []
    if stopped:
        failed &= curve["status"].values != STOPPED
        done = failed.size - stopped
        lines = [f"Interrupted: {done} of {failed.size} points were computed."]
    if not failed.any():
        return lines
    lines.append(f"{int(failed.sum())} of {failed.size} points did not converge or failed:")
    texts = [str(text) for text in curve["status"].values[failed]] if "status" in curve else []
    return lines + [f"  {text}" for text in list(dict.fromkeys(filter(None, texts)))[:5]]


def common_mistake(curve: xr.Dataset) -> str:
    """What every point failed of, if it is a mistake of the request; else an empty text.

    A width of 0 is one mistake, not one failure for each replicate.
    """
    texts = {str(text) for text in curve["status"].values.flat} if "status" in curve else set()
    kind, _, reason = texts.pop().partition(": ") if len(texts) == 1 else ("", "", "")
    return reason if kind == "BadData" else ""


def has_missing(curve: xr.Dataset) -> bool:
    """Whether some point has no number at all because its computation failed."""
    from ..base.curves import STATUS

    if "converged" not in curve:
        return False
    failed = ~curve["converged"]
    numbers = [curve[v] for v in curve.data_vars if v not in STATUS]
    full = [v for v in numbers if set(failed.dims) <= set(v.dims)]
    lost = [v.isnull().all([dim for dim in v.dims if dim not in failed.dims]) for v in full]
    return bool(failed.any()) and (not lost or any(bool((part & failed).any()) for part in lost))


def _with_errors(curve: xr.Dataset) -> list[Column]:
    """Columns of text, the most telling quantities first; columns of zeros come last."""
    from ..base.curves import STATUS

    names = [str(v) for v in curve.data_vars if v not in STATUS and not str(v).endswith("_err")]
    names.sort(key=lambda n: _FIRST.index(n.strip("|")) if n.strip("|") in _FIRST else len(_FIRST))
    found: list[tuple[bool, Column]] = []
    for name in names:
        axes = [str(dim) for dim in curve.sizes if dim not in _PARTS]
        values = [c for c in columns(curve, [name]) if c.name not in axes]
        errors = [c for c in columns(curve, [f"{name}_err"]) if c.name not in axes]
        for value, error in zip(values, errors, strict=True):
            cells = [_number(v, e) for v, e in zip(value.values, error.values, strict=True)]
            is_empty = all(_is_nan(v) or abs(v) <= 1e-12 for v in value.values)
            found.append((is_empty and "[" in value.name, Column(value.name, cells)))
    return [column for _, column in sorted(found, key=lambda pair: pair[0])]


def _number(value: Any, error: float = 0.0) -> str:
    """Number with its error where that can be seen in four digits."""
    if _is_nan(value):
        return "-"
    if not isinstance(value, float):
        return str(value)
    if math.isfinite(value) and error > 5e-4 * max(abs(value), 1e-3):
        digits = max(0, min(8, 1 - math.floor(math.log10(error))))
        return f"{value:.{digits}f} ± {error:.{digits}f}"
    return f"{value:.5g}"


def _width(column: Column) -> int:
    return 2 + max(map(len, [*_heading(column.name).split("\n"), *column.values]))


def _heading(name: str) -> str:
    r"""Name in two lines if it is long, so that more columns fit.

    Examples
    --------
    >>> _heading("three_layer_excess_mse"), _heading("test_mse")
    ('three_layer\nexcess_mse', 'test_mse')
    """
    breaks = [i for i, letter in enumerate(name.partition("[")[0]) if letter == "_"]
    if len(name) <= _LONG or not breaks:
        return name
    middle = min(breaks, key=lambda i: abs(i - len(name) / 2))
    return f"{name[:middle]}\n{name[middle + 1 :]}"


def _stopped(curve: xr.Dataset) -> int:
    """Number of points that were not computed because the run was interrupted."""
    return int((curve["status"].values == STOPPED).sum()) if "status" in curve else 0


def draw_curve(curve: xr.Dataset, file: Path) -> None:
    """Save a picture of a curve."""
    from ..charts import draw_first

    draw_first(curve).save(file)

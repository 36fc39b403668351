"""Pictures as files: the picture, its numbers, and the description that draws it again."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.csv_text import csv_text
from ..base.errors import BadData

if TYPE_CHECKING:
    from ._chart import Picture

# No date in a file: the same chart is the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": "gradone"},
    ".svg": {"Date": None, "Creator": "gradone"},
    ".png": {"Software": "gradone"},
}
COLUMNS = ("panel", "series", "kind", "x", "y", "yerr", "z")


def save(picture: Picture, path: Path) -> tuple[Path, ...]:
    """Write the picture, ``.csv`` and ``.json``; returns the files."""
    suffix = check_path(path)
    if suffix == ".html":
        content = picture.to_html().encode()
    elif suffix == ".tex":
        content = picture.to_tex().encode()
    else:
        content = render(picture, suffix)
    description = json.dumps(picture.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
    files = {
        path: content,
        path.with_suffix(".csv"): table(picture).encode(),
        path.with_suffix(".json"): (description + "\n").encode(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    for place, bytes_ in files.items():
        _write(place, bytes_)
    return tuple(files)


def check_path(path: Path) -> str:
    """Ending of the file of a picture, if it can be written.

    Examples
    --------
    >>> check_path(Path("a.tiff"))
    Traceback (most recent call last):
    gradone.base.errors.BadData: a picture ends in .pdf, .svg, .png, .html, .tex; got 'a.tiff'
    """
    suffix = path.suffix.lower()
    if suffix not in (known := [*_METADATA, ".html", ".tex"]):
        raise BadData(f"a picture ends in {', '.join(known)}; got '{path.name}'")
    return suffix


def render(picture: Picture, suffix: str) -> bytes:
    """Bytes of a PDF, SVG or PNG."""
    from ._matplotlib import paper_style

    buffer = io.BytesIO()
    with paper_style():
        picture.figure().savefig(buffer, format=suffix[1:], metadata=_METADATA[suffix])
    return buffer.getvalue()


def svg(picture: Picture) -> str:
    """The picture as an SVG element, without the head of a file."""
    text = render(picture, ".svg").decode()
    return text[text.index("<svg") :]


def table(picture: Picture) -> str:
    """All numbers of a picture, one on each line."""
    return csv_text([COLUMNS, *_lines(picture)])


def _lines(picture: Picture) -> Iterator[tuple[Any, ...]]:
    for panel, chart in enumerate(picture.panels, start=1):
        for one in chart.series:
            head = (panel, one.name, one.kind)
            if one.kind == "heat":
                for y, row in zip(one.y, one.z or (), strict=True):
                    for x, z in zip(one.x, row, strict=True):
                        yield (*head, _text(x), _text(y), "", _text(z))
                continue
            count = max(len(one.x), len(one.y))
            columns = [part or (None,) * count for part in (one.x, one.y, one.yerr)]
            for values in zip(*columns, strict=True):
                yield (*head, *map(_text, values), "")


def _text(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else repr(value)


def _write(path: Path, content: bytes) -> None:
    """Write all or nothing: a killed program leaves the old file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)

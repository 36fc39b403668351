"""``gradone cite``: the references of a target, a paper or a method."""

from __future__ import annotations

import shutil
import sys
from enum import StrEnum
from typing import Annotated

import typer

from ._app import app, wrapped


class Format(StrEnum):
    """How references are written."""

    text = "text"
    bibtex = "bibtex"


@app.command()
def cite(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A target of the zoo, or the key of a paper.")
    ],
    style: Annotated[Format, typer.Option("--format", help="Lines of text, or BibTeX.")] = (
        Format.text
    ),
) -> None:
    """Print the references of a named target or a paper."""
    from ..base import references

    found = references.cite(name, format=style.value)
    is_read = style is Format.text and sys.stdout.isatty()  # a reference in a file is one line
    typer.echo(wrapped(found, shutil.get_terminal_size().columns) if is_read else found)

"""``gradone cite``: the references of a target, a paper or a method."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ._app import app, say


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
    (say if style is Format.text else typer.echo)(found)

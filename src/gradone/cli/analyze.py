"""``gradone analyze``: exponents, classes, thresholds and staircases of a target."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ._app import app
from ._target import find_target


@app.command()
def analyze(
    target: Annotated[
        str,
        typer.Argument(
            metavar="EXPRESSION|ZOO-NAME",
            help="A function of z1 ... z9, or the name of a target of the zoo.",
        ),
    ],
    noise: Annotated[
        float | None, typer.Option("--noise", help="Variance of the label noise.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Tell how hard a target is: exponents, classes, thresholds."""
    from ..analysis.analyze import analyze as verb

    found = verb(find_target(target, noise))
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        typer.echo(found.summary())

"""``gradone analyze``: exponents, classes, thresholds and staircases of a target."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ._app import app
from ._target import AsJson, Noise, TargetName, find_target


@app.command()
def analyze(
    target: TargetName,
    noise: Noise = None,
    budget: Annotated[
        float, typer.Option(help="Seconds of processor time; the rest is undecided.", min=0.01)
    ] = 15.0,
    as_json: AsJson = False,
) -> None:
    """Say how hard a target is: exponents, classes, thresholds."""
    from ..analysis.analyze import analyze as verb

    found = verb(find_target(target, noise), budget=budget)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        typer.echo(found.summary())

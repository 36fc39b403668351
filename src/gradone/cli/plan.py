"""``gradone plan``: what each algorithm learns from the data at hand."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ._app import app
from ._target import AsJson, Directions, Inputs, Noise, TargetName, find_target, read_directions


@app.command()
def plan(
    target: TargetName,
    d: Annotated[int, typer.Option("--d", help="Dimension of the input.")],
    n: Annotated[
        int | None, typer.Option("--n", help="Number of samples; the default is 5 d.")
    ] = None,
    width: Annotated[
        int | None, typer.Option("--width", help="Number of neurons; the default is d.")
    ] = None,
    theory: Annotated[
        bool,
        typer.Option("--theory/--no-theory", help="Ask theories for errors at n; takes seconds."),
    ] = True,
    terms: Annotated[
        bool,
        typer.Option("--terms", help="Also list what is learned by powers of n and width."),
    ] = False,
    noise: Noise = None,
    inputs: Inputs = None,
    directions: Directions = "random",
    as_json: AsJson = False,
) -> None:
    """Rank the algorithms by the data that they need."""
    from ..algorithms.plan import plan as verb

    law = {"inputs": inputs, "directions": read_directions(directions)}
    found = verb(find_target(target, noise), d=d, n=n, width=width, with_theory=theory, **law)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        typer.echo(found.summary() + (f"\n\n{found.learned_terms()}" if terms else ""))

"""``gradone compare``: theories and simulations of algorithms on one axis."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ._app import app
from ._curves import AsCsv, Plot, give_curve
from ._settings import read_value
from ._target import AsJson, Directions, Inputs, Noise, TargetName, find_target, read_directions

_NUMBERS = "A number, a list 1,2,4 or a range start:stop:count."


@app.command()
def compare(
    target: TargetName,
    algorithms: Annotated[
        list[str] | None, typer.Argument(help="Names of algorithms; all of them by default.")
    ] = None,
    d: Annotated[int | None, typer.Option("--d", help="Dimension of the simulations.")] = None,
    alpha: Annotated[
        str | None, typer.Option("--alpha", help=f"Samples per dimension. {_NUMBERS}")
    ] = None,
    kappa: Annotated[
        str | None, typer.Option("--kappa", help="log n / log d, for hierarchical targets.")
    ] = None,
    replicates: Annotated[int, typer.Option("--replicates", help="Number of repetitions.")] = 2,
    budget: Annotated[float, typer.Option("--budget", help="Seconds of work.")] = 60.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    noise: Noise = None,
    inputs: Inputs = None,
    directions: Directions = "random",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
) -> None:
    """Compare algorithms on a target, in theory and simulation."""
    from ..experiments.compare import compare as verb

    given = {"alpha": alpha, "kappa": kappa}
    axes: dict[str, Any] = {
        name: read_value(name, text) for name, text in given.items() if text is not None
    }
    found = verb(
        find_target(target, noise),
        algorithms or None,
        d=d,
        replicates=replicates,
        budget=budget,
        seed=seed,
        inputs=inputs,
        directions=read_directions(directions),
        **axes,
    )
    absent = json.loads(found.attrs["not_covered"])
    ends = dict(zip(found.source.values.tolist(), found.outcome.values.tolist(), strict=True))
    told = {**absent, **{source: end for source, end in ends.items() if end != "done"}}
    notes = "\n".join(f"{source}: {reason}" for source, reason in told.items())
    shown = found if as_json or as_csv else found.assign_attrs(notes=notes)
    give_curve(shown, as_json=as_json, as_csv=as_csv, plot=plot)

"""``gradone predict``: what a theory says about a target."""

from __future__ import annotations

from typing import Annotated

import typer

from ._app import app
from ._curves import AsCsv, Plot, give_curve
from ._settings import OPEN_OPTIONS, read_settings
from ._target import AsJson, Directions, Inputs, Noise, TargetName, find_target, read_directions


@app.command(context_settings=OPEN_OPTIONS)
def predict(
    context: typer.Context,
    target: TargetName,
    theory: Annotated[str, typer.Argument(help="Theory or algorithm; gradone list shows them.")],
    noise: Noise = None,
    inputs: Inputs = None,
    directions: Directions = "random",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
) -> None:
    """Predict by theory what an algorithm attains.

    Axes and parameters of the theory are options: --alpha 0.5:3:20 (start:stop:count), --ridge
    0.1,1 (a list), --activation "tanh(z)". Without them the command says which there are.
    """
    from ..algorithms import ALGORITHMS
    from ..algorithms.predict import is_algorithm, options_of
    from ..algorithms.predict import predict as verb
    from ..theory import THEORIES

    chosen = find_target(target, noise)
    options = options_of(ALGORITHMS[theory]()) if is_algorithm(theory) else THEORIES[theory].predict
    settings = read_settings(context.args, options, theory, besides=["target", "student"])
    law = {"inputs": inputs, "directions": read_directions(directions)}
    found = verb(chosen, theory, on_failure="mark", progress=True, **law, **settings)
    give_curve(found, as_json=as_json, as_csv=as_csv, plot=plot)

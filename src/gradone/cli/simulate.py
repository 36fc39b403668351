"""``gradone simulate``: a learner on samples of a target, measured against the truth."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import typer

from ._app import app
from ._curves import AsCsv, Plot, common_mistake, give_curve
from ._settings import OPEN_OPTIONS, read_settings, read_value
from ._target import AsJson, Directions, Inputs, Noise, TargetName, find_target, read_directions

_NUMBERS = "A number, a list 1,2,4 or a range start:stop:count."


@app.command(context_settings=OPEN_OPTIONS)
def simulate(
    context: typer.Context,
    target: TargetName,
    learner: Annotated[
        str,
        typer.Argument(help="Learner or algorithm (gradone list), or any package.module:Class."),
    ],
    d: Annotated[str, typer.Option("--d", metavar="D", help="Dimension of the input.")],
    alpha: Annotated[
        str | None, typer.Option("--alpha", help=f"Samples per dimension. {_NUMBERS}")
    ] = None,
    n: Annotated[
        str | None, typer.Option("--n", help="Numbers of samples, instead of --alpha.")
    ] = None,
    width_ratio: Annotated[
        str | None, typer.Option("--width-ratio", help=f"Neurons per dimension. {_NUMBERS}")
    ] = None,
    replicates: Annotated[int, typer.Option("--replicates", help="Number of repetitions.")] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    test_samples: Annotated[
        int, typer.Option("--test-samples", help="Number of fresh samples that measure errors.")
    ] = 4096,
    dtype: Annotated[
        str, typer.Option("--dtype", help="Precision: float64 or float32.")
    ] = "float64",
    cell_seconds: Annotated[
        float | None,
        typer.Option("--cell-seconds", metavar="S", help="Time after which a fit is stopped."),
    ] = None,
    cell_memory: Annotated[
        str | None,
        typer.Option("--cell-memory", metavar="2GB", help="Memory above which a fit is stopped."),
    ] = None,
    noise: Noise = None,
    inputs: Inputs = None,
    directions: Directions = "random",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    plot: Plot = None,
) -> None:
    """Run a learner on samples of a target.

    Parameters of the learner are options as well: --ridge 0.1,1 (a list becomes an axis), --steps
    2, --activation "tanh(z)". A fit that fails is shown as failed, with exit code 3.
    """
    from ..algorithms import learner_of
    from ..base.errors import BadData
    from ..experiments.simulate import simulate as verb
    from ..learners import LEARNERS

    kind = LEARNERS[learner_of(learner)]
    if (alpha is None) == (n is None):
        raise BadData("give either --alpha or --n, for example --alpha 1,2,4")
    chosen = find_target(target, noise)
    settings = read_settings(
        context.args, kind, learner, besides=["channel", "random_state"], axes=("ridge", "width")
    )
    if ":" in learner:  # a class of somebody else has parameters of its own
        settings = {"parameters": settings}
    axes: dict[str, Any] = {
        name: read_value(name.replace("_", "-"), text)
        for name, text in (("alpha", alpha), ("n", n), ("width_ratio", width_ratio))
        if text is not None
    }
    # The table says which fits failed, and one mistake of all of them is one message.
    logging.getLogger("gradone.experiments.simulate").setLevel(logging.ERROR)
    found = verb(
        chosen,
        learner,
        d=read_value("d", d),
        replicates=replicates,
        seed=seed,
        test_samples=test_samples,
        dtype=dtype,  # type: ignore[arg-type]
        on_failure="mark",
        cell_seconds=cell_seconds,
        cell_memory=cell_memory,
        inputs=inputs,
        directions=read_directions(directions),
        **axes,
        **settings,
    )
    if mistake := common_mistake(found):
        raise BadData(mistake)
    give_curve(found, as_json=as_json, as_csv=as_csv, plot=plot)

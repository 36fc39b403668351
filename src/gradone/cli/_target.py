"""The arguments that commands on a target share, and how they find it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..targets.hierarchy import HierarchicalTarget
    from ..targets.target import Target


TargetName = Annotated[
    str,
    typer.Argument(
        metavar="EXPRESSION|ZOO-NAME",
        help="A function of z1 ... z9, or the name of a target of the zoo.",
    ),
]
Noise = Annotated[float | None, typer.Option("--noise", help="Variance of the label noise.")]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="LAW",
        help="Law of the inputs: rademacher, uniform, laplace, sphere, gaussian(power_law=0.5).",
    ),
]
Directions = Annotated[
    str,
    typer.Option(
        "--directions", help="Hidden directions: random, axes, eigenvectors, or 0,3 (coordinates)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def find_target(text: str, noise: float | None = None) -> Target | HierarchicalTarget:
    """Target that a user names: a name of the zoo, or an expression.

    Parameters
    ----------
    text : str
        Name or expression.
    noise : float, optional
        Variance of the label noise; by default that of the zoo, or none.
    """
    from ..targets.naming import find_target as find

    return find(text, noise)


def read_directions(text: str) -> str | list[int]:
    """Hidden directions as a word, or as numbers of coordinates.

    Examples
    --------
    >>> read_directions("axes"), read_directions("2,30")
    ('axes', [2, 30])
    """
    parts = text.split(",")
    return [int(part) for part in parts] if all(part.strip().isdigit() for part in parts) else text

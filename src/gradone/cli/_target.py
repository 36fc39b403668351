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

"""The arguments that commands on a target share, and how they find it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

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
    from dataclasses import replace
    from difflib import get_close_matches

    from ..base.errors import TargetSyntaxError
    from ..targets.target import Target
    from ..targets.zoo import zoo

    name = text.strip()
    if name in zoo():
        found: Any = zoo(name)
        return found if noise is None else replace(found, noise=noise)
    try:
        return Target(text, noise=noise or 0.0)
    except TargetSyntaxError:
        # A mistyped name deserves the names that are close, not a lesson on syntax.
        if re.fullmatch(r"[a-z][a-z0-9-]+", name) and get_close_matches(name, zoo(), cutoff=0.7):
            zoo(name)
        raise

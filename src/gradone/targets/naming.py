"""What a user calls a target: a name of the zoo, or an expression."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..base.errors import TargetSyntaxError
from .target import Target
from .zoo import zoo

if TYPE_CHECKING:
    from .hierarchy import HierarchicalTarget


def find_target(text: str, noise: float | None = None) -> Target | HierarchicalTarget:
    """Target that a user names: a name of the zoo, or an expression.

    Parameters
    ----------
    text : str
        Name or expression.
    noise : float, optional
        Variance of the label noise; by default that of the zoo, or none.

    Examples
    --------
    >>> find_target("parity2"), find_target("z1*z2", noise=0.1)
    (Target('sign(z1*z2)'), Target('z1*z2', noise=0.1))
    >>> find_target("partiy2")
    Traceback (most recent call last):
    gradone.base.errors.BadData: no target of the zoo is named 'partiy2'. Did you mean ...
    """
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

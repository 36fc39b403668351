"""The laws of the inputs as attributes: ``gd.inputs.rademacher()``."""

from __future__ import annotations

from typing import Any

from ...base.errors import BadData
from ._law import LAWS


class Inputs:
    """Laws of the inputs by name.

    Examples
    --------
    >>> inputs.rademacher(), inputs.gaussian(power_law=0.5)
    (inputs.rademacher(), inputs.gaussian(power_law=0.5))
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return LAWS[name]
        except BadData as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return list(LAWS)

    def __repr__(self) -> str:
        return f"inputs: {', '.join(LAWS)}"


inputs = Inputs()

"""Curves of the tour that are delivered with the lab: they are there when a page opens.

``make tour`` computes them again; a test compares them with what the code gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

_FILE = "tour_answers.json"
_DIGITS = 10
FINEST = 40
"""Points of a line, as the page asks for them."""


def questions() -> Iterator[dict[str, Any]]:
    """What the pages of the tour ask theories when they are opened.

    Examples
    --------
    >>> next(questions())["theory"]
    'dot_kernel_ridge'
    """
    pages = json.loads(files(__package__).joinpath("static", "tour.json").read_text("utf-8"))
    for page in pages:
        target: dict[str, Any] = {"target": page["target"], "noise": None}
        for theory in page["theories"]:
            own = {
                name: float(value)
                for name, value in page["sliders"].items()
                if name.startswith(f"{theory}.")
            }
            asked = {"theory": theory, "top": float(page["top"]), "sliders": own, "points": FINEST}
            yield {**target, **asked}


def delivered() -> list[dict[str, Any]]:
    """Answers to these questions, in their order."""
    found: list[dict[str, Any]] = json.loads(files(__package__).joinpath(_FILE).read_text("utf-8"))
    return found


def computed(question: dict[str, Any]) -> dict[str, Any]:
    """Answer to one of them, in so many digits as are delivered."""
    from .answers import answer

    found: dict[str, Any] = json.loads(
        json.dumps(answer("predict", question)), parse_float=lambda x: round(float(x), _DIGITS)
    )
    return found


def write() -> None:
    """Compute all answers again."""
    lines = [json.dumps(computed(question)) for question in questions()]
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    Path(__file__).with_name(_FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()

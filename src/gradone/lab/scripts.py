"""Python scripts that make again what the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .contestants import PREDICTED, RACE, RULES

_HEAD = '"""{title}, made again: needs gradone {version}."""\n\n'


def prediction_script(
    target: str,
    noise: float | None,
    theory: str,
    top: float,
    sliders: Mapping[str, float],
    points: int,
) -> str:
    """Script of a curve of a theory.

    Examples
    --------
    >>> print(prediction_script("z1*z2", None, "bayes_amp", 4.0, {}, 8).splitlines()[-2])
    curve = gd.predict(target, "bayes_amp", alpha=places, on_failure="mark")
    """
    from .answers import predicted_places

    axis, known = PREDICTED[theory]
    call = f'gd.predict(target, "{theory}", {axis}=places{{given}}, on_failure="mark")'
    head = "import gradone as gd\n\n"
    if theory == "giant_steps":
        call = "limit_of_giant_steps(target, np.array(places))"
        head = (
            "import numpy as np\n\nimport gradone as gd\n"
            "from gradone.experiments.giant_pair import limit_of_giant_steps\n\n"
        )
    values = {slider.name: slider.value for slider in known} | dict(sliders)
    given = "".join(f", {name}={value!r}" for name, value in values.items())
    return (
        _head(f"Theory '{theory}'")
        + head
        + f"target = {_target(target, noise)}\n"
        + f"places = {predicted_places(axis, top, points)!r}\n"
        + f"curve = {call.format(given=given)}\n"
        + "print(curve)\n"
    )


def run_script(parameters: Mapping[str, Any]) -> str:
    """Script of a run: the same pieces, one after the other."""
    given = {key: value for key, value in parameters.items() if key not in ("client", "quantity")}
    known = RULES if given["view"] == "time" else [who.key for who in RACE]
    given["algorithms"] = [name for name in known if name in given["algorithms"]]
    body = "".join(f"    {key!r}: {value!r},\n" for key, value in given.items())
    return (
        _head("A run of the lab")
        + "from gradone.lab.streams import stream\n\n"
        + f"parameters = {{\n{body}}}\n"
        + "for event in stream(parameters):\n"
        + '    if event["kind"] == "curve":\n'
        + '        for part in event["parts"]:\n'
        + '            for x, y in zip(part["x"], part["y"]):\n'
        + '                print(event["source"], event["seed"], part["quantity"], part["name"], '
        + "x, y)\n"
    )


def _head(title: str) -> str:
    from importlib.metadata import version

    return _HEAD.format(title=title, version=version("gradone"))


def _target(text: str, noise: float | None) -> str:
    from ..targets.zoo import zoo

    name = text.strip()
    if name in zoo() and noise is None:
        return f"gd.zoo({name!r})"
    if name in zoo():
        return f"gd.Target({zoo().entries[name].formula!r}, noise={noise!r})"
    return f"gd.Target({text!r}, noise={noise or 0.0!r})"

"""Python scripts that make again what the page shows, by the public verbs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..theory import THEORIES
from . import neurons
from .contestants import moving, named, predicted
from .predictions import chosen, predicted_curve, run_of
from .streams import race_places

_HEAD = '"""{title}, made again: needs gradone {version}."""\n\nimport gradone as gd\n\n'


def verdict_script(target: str, noise: float | None) -> str:
    """Script of a verdict.

    Examples
    --------
    >>> print(verdict_script("z1*z2", None).splitlines()[4])
    target = gd.Target('z1*z2')
    """
    return (
        _head("The verdict on a target")
        + f"target = {_target(target, noise)}\n"
        + "analysis = gd.analyze(target)\n"
        + "print(analysis.summary())\n"
        + "print(analysis.to_dict())  # every number\n"
    )


def plan_script(target: str, noise: float | None, d: int, n: int | None, width: int | None) -> str:
    """Script of a plan."""
    return (
        _head("A plan")
        + f"target = {_target(target, noise)}\n"
        + f"plan = gd.plan(target, d={d}, n={n}, width={width}, with_theory=True)\n"
        + "print(plan.summary())\n"
    )


def prediction_script(
    target: str,
    noise: float | None,
    theory: str,
    top: float,
    sliders: Mapping[str, float],
    points: int,
) -> str:
    """Script of the curves of theories.

    Examples
    --------
    >>> print(prediction_script("z1*z2", None, "bayes_amp", 4.0, {}, 8).splitlines()[-3])
    curves["bayes_amp"] = gd.predict(target, "bayes_amp", alpha=places, on_failure="mark")
    """
    from ..targets.naming import find_target

    found = find_target(target, noise)
    values = chosen(theory, sliders)
    axis = predicted()[next(iter(values))].axis
    body = ""
    for name, own in values.items():
        where = predicted_curve(found, name, top, own, points)[axis].values.tolist()
        card, run = run_of(found, name, own, where)
        # The name of a theory takes its own arguments, that of an algorithm the common ones.
        arguments = card.theory_arguments(run) if name in THEORIES.files else dict(run.settings)
        given = "".join(f", {k}={v!r}" for k, v in arguments.items() if k != axis)
        call = f'"{name}", {axis}=places{given}, on_failure="mark"'
        body += f"places = {where!r}\n"
        body += f'curves["{name}"] = gd.predict(target, {call})\n'
        body += _GRADIENTS.format(name=name) if card.kind == "gradient" else ""
    return (
        _head("Curves of theories")
        + f"target = {_target(target, noise)}\n"
        + "curves = {}\n"
        + body
        + ("" if "giant = " in body else _DRAWN.format(axis=axis))
    )


_GRADIENTS = """\
# The cosine of each gradient with each direction, over neurons of both signs of the readout.
giant = curves["{name}"]
cosines = (giant.gradient_cosine**2 * giant.share).sum("neuron") ** 0.5
found = cosines.to_dataset(name="gradient").assign_attrs(giant.attrs)
gd.draw(found, x="batch_ratio").save("curves.pdf")
"""
_DRAWN = """\
last = [one.isel(step=-1) if "step" in one.dims else one for one in curves.values()]
gd.draw(*last, x="{axis}").save("curves.pdf")  # y=... draws another quantity
"""


def run_script(parameters: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> str:
    """Script of a run: the same samples, the same numbers."""
    if parameters["view"] == "time":
        return _training_script(parameters)
    return _race_script(parameters, events)


def _race_script(parameters: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> str:
    from ..targets.naming import find_target

    given = parameters
    cards = named(given["algorithms"])
    target = find_target(given["target"], given["noise"])
    first, where = (axis.tolist() for axis in race_places(target, given["top"]))
    lines = (e for e in events if e["kind"] == "curve" and e["source"].startswith("theory:"))
    grid = sorted({x for line in lines for part in line["parts"] for x in part["x"]}) or first
    axis, d, seed = given["axis"], given["d"], given["seed"]
    law = (given.get("inputs", "gaussian"), given.get("directions", "random"))
    on = "" if law == ("gaussian", "random") else f".on({law[0]!r}, {law[1]!r})"
    return (
        _head(f"A race: {', '.join(card.label for card in cards)}")
        + f"target = {_target(given['target'], given['noise'])}{on}\n"
        + f"algorithms = {[card.name for card in cards]!r}\n"
        + f"seeds = range({seed}, {seed + given['seeds']})\n"
        + f"grid = {grid!r}  # of the theories\n"
        + f"places = {where!r}  # of the simulations\n"
        + "theory = gd.compare(\n"
        + f'    target, algorithms, d={d}, {axis}=grid, faces="theory", budget=3600\n'
        + ")\n"
        + "simulation = {\n"
        + "    seed: gd.compare(\n"
        + f'        target, algorithms, d={d}, {axis}=places, faces="simulation",\n'
        + "        replicates=1, seed=seed, budget=3600,\n"
        + "    )\n"
        + "    for seed in seeds\n"
        + "}\n"
        + "picture = gd.draw(theory, *simulation.values())\n"
        + 'picture.save("race.pdf")\n'
    )


def _training_script(parameters: Mapping[str, Any]) -> str:
    from ..targets.naming import find_target

    given, d, first = parameters, parameters["d"], parameters["seed"]
    target: Any = find_target(given["target"], given["noise"])
    body = ""
    for card in [card for card in moving() if card.name in given["algorithms"]]:
        for seed in range(first, first + given["seeds"]):
            arguments = card.engine_arguments(neurons.run_of(card, target, d, seed))
            body += f'runs["{card.name}", {seed}] = gd.dynamics.{card.engine}(\n    target,\n'
            body += _lines(arguments) + ")\n"
            one = f'runs["{card.name}", {seed}]'
            if card.own_clock:
                step = arguments["step_size"] / arguments["width"]
                body += f"{one} = {one}.assign_coords(time={one}.step * {step!r})  # of the flow\n"
            settings = card.theory_arguments(neurons.flow_run(card, target, d, seed, ()))
            body += f'flows["{card.name}", {seed}] = gd.predict(\n    target,\n'
            body += f'    "{card.theory}",\n'
            body += f"    time={one}.time.values[{one}.time >= {neurons.FIRST_TIME}],\n"
            body += _lines({k: v for k, v in settings.items() if k != "time"}) + ")\n"
    return (
        _head("Neurons in time")
        + f"target = {_target(given['target'], given['noise'])}\n"
        + "runs, flows = {}, {}  # the neurons start from overlaps M and norms Q\n"
        + body
        + 'picture = gd.draw("overlap-vs-time", *flows.values(), *runs.values())\n'
        + 'picture.save("neurons.pdf")\n'
    )


def _lines(arguments: Mapping[str, Any]) -> str:
    return "".join(f"    {name}={value!r},\n" for name, value in arguments.items())


def _head(title: str) -> str:
    from importlib.metadata import version

    return _HEAD.format(title=title, version=version("gradone"))


def _target(text: str, noise: float | None) -> str:
    from ..targets.naming import find_target
    from ..targets.zoo import zoo

    name = text.strip()
    if name in zoo() and noise is None:
        return f"gd.zoo({name!r})"
    return f"gd.{find_target(text, noise)!r}"

"""Python scripts that make again what the page shows, by the public verbs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import neurons
from .contestants import PREDICTED, RACE, RULES
from .predictions import arguments, chosen, places
from .streams import race_places, racers

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
        + f"plan = gd.plan(target, d={d}, n={n}, width={width})\n"
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
    >>> print(prediction_script("z1*z2", None, "bayes_amp", 4.0, {}, 8).splitlines()[-2])
    curves["bayes_amp"] = gd.predict(target, "bayes_amp", alpha=places, on_failure="mark")
    """
    from ..targets.naming import find_target

    found = find_target(target, noise)
    values = chosen(theory, sliders)
    axis = PREDICTED[next(iter(values))].axis
    body = ""
    for name, own in values.items():
        given = "".join(f", {k}={v!r}" for k, v in arguments(found, name, own).items())
        call = f'"{PREDICTED[name].theory or name}", {axis}=places{given}, on_failure="mark"'
        body += f'curves["{name}"] = gd.predict(target, {call})\n'
        body += _GRADIENTS if PREDICTED[name].kind == "gradient" else ""
    return (
        _head("Curves of theories")
        + f"target = {_target(target, noise)}\n"
        + f"places = {places(axis, top, points)!r}\n"
        + "curves = {}\n"
        + body
        + "print(curves)\n"
    )


_GRADIENTS = """\
# The cosine of each gradient with each direction, over neurons of both signs of the readout.
giant = curves["giant_steps"]
cosines = (giant.gradient_cosine**2 * giant.share).sum("neuron") ** 0.5
print(cosines)
"""


def run_script(parameters: Mapping[str, Any]) -> str:
    """Script of a run: the same samples, the same numbers."""
    return (_training_script if parameters["view"] == "time" else _race_script)(parameters)


def _race_script(parameters: Mapping[str, Any]) -> str:
    from ..targets.naming import find_target

    given = parameters
    theories, learners = racers(given["algorithms"])
    target = find_target(given["target"], given["noise"])
    grid, where = (axis.tolist() for axis in race_places(target, given["top"]))
    names = [who.label for who in RACE if who.key in given["algorithms"]]
    axis, d, first = given["axis"], given["d"], given["seed"]
    return (
        _head(f"A race: {', '.join(names)}")
        + f"target = {_target(given['target'], given['noise'])}\n"
        + f"seeds = range({first}, {first + given['seeds']})\n"
        + f"grid = {grid!r}  # of the theories\n"
        + f"places = {where!r}  # of the simulations\n"
        + "theory = gd.compare(\n"
        + f"    target, d={d}, {axis}=grid, theories={theories!r}, learners=[], budget=3600\n"
        + ")\n"
        + "simulation = {\n"
        + "    seed: gd.compare(\n"
        + f"        target, d={d}, {axis}=places, theories=[], learners={learners!r},\n"
        + "        replicates=1, seed=seed, budget=3600,\n"
        + "    )\n"
        + "    for seed in seeds\n"
        + "}\n"
        + "print(theory, simulation)\n"
    )


def _training_script(parameters: Mapping[str, Any]) -> str:
    from ..targets.naming import find_target

    given = parameters
    target: Any = find_target(given["target"], given["noise"])
    student = "".join(f", {key}={value!r}" for key, value in neurons.student(target).items())
    seeds = range(given["seed"], given["seed"] + given["seeds"])
    starts = "".join(
        f"    {seed}: {neurons.start(target, given['d'], seed)!r},\n" for seed in seeds
    )
    rules = [rule for rule in RULES if rule in given["algorithms"]]
    return (
        _head("Neurons in time").replace("import gradone", "import json\n\nimport gradone")
        + f"target = {_target(given['target'], given['noise'])}\n"
        + f"starts = {{  # overlaps M and norms Q of the neurons, for each seed\n{starts}}}\n"
        + f"d, runs, flows = {given['d']}, {{}}, {{}}\n"
        + f"for rule in {rules!r}:\n"
        + "    for seed, start in starts.items():\n"
        + "        runs[rule, seed] = gd.dynamics.sgd(\n"
        + f"            target, d=d{student}, rule=rule, init=start, seed=seed,\n"
        + f"            record={neurons.MARKS}, replicates=1, progress=False,\n"
        + "        )\n"
        + f"    run = runs[rule, {given['seed']}]\n"
        + '    made = json.loads(run.attrs["params"])  # with the steps that were chosen\n'
        + '    inner = made["inner_step_size"]\n'
        + "    flows[rule] = gd.predict(\n"
        + f'        target, "sgd_flow", time=run.time.values[run.time >= {neurons.FIRST_TIME}],\n'
        + '        step_size=made["step_size"] * d, rule=rule,\n'
        + "        inner_step_size=None if inner is None else inner * d,\n"
        + f'        init=made["init"]{student}, points={neurons.POINTS},\n'
        + "    )\n"
        + "print(runs, flows)\n"
    )


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

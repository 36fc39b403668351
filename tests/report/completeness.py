"""What is missing in a study: empty pictures, curves without enough points, failures."""

from gradone.algorithms import ALGORITHMS
from gradone.report.curves import fineness

FEWEST = {"theory": 5, "simulation": 3}  # points of a curve, whatever the budget
LIMIT = ("Plateaus in the limit", "simulation")  # the picture of what no simulation can be


def shortcomings(study):
    """Everything in a study that a reader would call missing; an empty list if it is whole."""
    found = [f"no {name}" for name in ("analysis", "plan") if not study.verdicts.get(name)]
    for task, outcome in study.outcomes.items():
        if outcome.failures:
            found.append(f"{task} failed: {next(iter(outcome.failures.values()))}")
        elif not study.answers(task) and not may_wait(study, task):
            found.append(f"{task} has no curve: {study.why_not(task)}")
    for curve in fineness(study):
        least = FEWEST[curve.name.rpartition(", ")[2]]
        if curve.places < least:
            found.append(f"{curve.name} has {curve.places} points")
    panels = study.panels
    if not panels:
        found.append("no picture")
    for panel in panels:
        told = {name for name, _ in panel.missing}
        for kind, face in (("line", "theory"), ("points", "simulation")):
            if longest(panel.chart, kind) >= FEWEST[face] or (panel.title, face) == LIMIT:
                continue
            # Where no theory covers the target, the picture says of each why it does not.
            if face == "simulation" or study.theories or not told:
                found.append(f"{panel.title} has no {face}")
    return found


def may_wait(study, task):
    """A curve that the report may leave out with the command for it: never the main theories."""
    face, _, name = task.partition(":")
    is_extra = face == "theory" and ALGORITHMS[name].with_time_to_spare
    is_told = "with more time: gradone study" in study.why_not(task)
    return is_told and (is_extra or face == "simulation")


def longest(chart, kind):
    """Points of the longest curve of a kind; lines that mark a level are of other kinds."""
    return max((len(one.x) for one in chart.series if one.kind == kind), default=0)

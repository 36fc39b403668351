"""What is missing in a study: empty pictures, curves without enough points, failures."""

from gradone.report.curves import fineness

FEWEST = {"theory": 5, "simulation": 3}  # points of a curve, whatever the budget


def shortcomings(study):
    """Everything in a study that a reader would call missing; an empty list if it is whole."""
    found = [f"no {name}" for name in ("analysis", "plan") if not study.verdicts.get(name)]
    for task, outcome in study.outcomes.items():
        if outcome.failures:
            found.append(f"{task} failed: {next(iter(outcome.failures.values()))}")
        elif not study.answers(task) and "with more time: gradone study" not in study.why_not(task):
            # What takes too long is left out, and the report says how to get it.
            found.append(f"{task} has no curve: {study.why_not(task)}")
    for curve in fineness(study):
        least = FEWEST[curve.name.rpartition(", ")[2]]
        if curve.places < least:
            found.append(f"{curve.name} has {curve.places} points")
    panels = study.panels
    if not panels:
        found.append("no picture")
    found += [f"{panel.title} is empty" for panel in panels if not drawn(panel.chart)]
    return found


def drawn(chart):
    """Whether a chart has a curve, apart from the lines that mark a level."""
    return any(len(one.x) > 2 and len(one.y) > 2 for one in chart.series)
